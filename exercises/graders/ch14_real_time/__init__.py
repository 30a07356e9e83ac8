"""Graders of chapter 14: real-time scheduling."""

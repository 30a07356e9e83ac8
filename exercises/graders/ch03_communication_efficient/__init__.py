"""Graders of chapter 3, a module a level."""

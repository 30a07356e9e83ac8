"""Graders of chapter 9, a module a level."""

"""The graders of chapter 7, a module a level."""

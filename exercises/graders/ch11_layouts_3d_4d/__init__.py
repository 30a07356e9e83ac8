"""Graders of chapter 11: layouts in 3D and 4D."""

"""Graders of chapter 2: data parallelism."""

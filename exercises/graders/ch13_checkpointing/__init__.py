"""Graders of chapter 13: checkpointing and recovery."""

"""Graders of chapter 1: collectives."""

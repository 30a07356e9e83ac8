"""Graders of chapter 12: memory tiers, recomputation and offloading."""

"""The arguments that every training here takes, and what can be wrong with them."""

from __future__ import annotations

from math import inf


def trouble(steps: int = 0, rate: float = 1.0) -> str:
    """What is wrong with these numbers, in words; "" if nothing is."""
    if steps < 0 or not 0 < rate < inf:
        return f"there must be 0 steps or more and a learning rate above 0, got {steps=} and {rate=}"
    return ""

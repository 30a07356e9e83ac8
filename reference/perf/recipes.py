"""Recipes: the bytes that a rank keeps for each parameter while it trains, before anything is shared or sharded.

Idea      Psi parameters trained with Adam in mixed precision have

              2 Psi weights (16 bits) + 2 Psi gradients (16 bits) + 12 Psi: weights, momentum, variance in 32 bits

          bytes, 16 Psi in all. What the optimizer keeps is kappa bytes a parameter: 12 here. Chapter 2 copies all of
          it on every rank (data_parallel/memory.py), chapter 10 cuts it among ranks (zero/memory.py).
"""

from __future__ import annotations

from typing import NamedTuple


class Recipe(NamedTuple):
    """Bytes for each parameter."""

    weights: int
    gradients: int
    optimizer: int


ADAM_MIXED = Recipe(2, 2, 12)
"""Weights and gradients in 16 bits; the optimizer keeps weights, momentum and variance in 32."""

ADAM = Recipe(4, 4, 8)
"""All in 32 bits."""

SGD_MOMENTUM = Recipe(4, 4, 4)
SGD = Recipe(4, 4, 0)

RECIPES = {"adam-mixed": ADAM_MIXED, "adam": ADAM, "sgd-momentum": SGD_MOMENTUM, "sgd": SGD}
"""By the names that programs take."""

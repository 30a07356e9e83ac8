"""Every rank draws its own random numbers, the same ones at every launch, in both worlds."""

from __future__ import annotations

import random
import sys

import numpy as np


def seed_rank(rank: int) -> None:
    """Seed the global generators of `random`, NumPy and (if it is imported) torch with the rank's number."""
    random.seed(rank)
    np.random.seed(rank)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(rank)

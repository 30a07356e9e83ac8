"""Random machines and networks, the best that can be done on them, and checks of who has done it.

The best is found here in other ways than a student would go: by a formula, or for all pairs of nodes at once. Tests
hold it against trying everything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .exercise import Answer, Case, Check, Finding

# Rings on machines that are built of levels --------------------------------------------------------------------------


def machine(rng: np.random.Generator, *sizes: int, step: float = 1e-3) -> np.ndarray:
    """Seconds [P, P] between ranks of a machine of levels, whose ranks are numbered by chance.

    sizes   how many parts a whole has, from the top: (2, 3, 4) is two racks of three nodes of four ranks. A level costs
            more than those inside it, by a whole number of steps, and parts of the same level may cost differently.
    """

    def build(sizes: Sequence[int]) -> np.ndarray:
        if not sizes:
            return np.zeros((1, 1))
        parts = [build(sizes[1:]) for _ in range(sizes[0])]
        height = max(part.max() for part in parts) + int(rng.integers(1, 9))
        whole = np.full((sum(map(len, parts)),) * 2, height)
        begin = 0
        for part in parts:
            whole[begin : begin + len(part), begin : begin + len(part)] = part
            begin += len(part)
        return whole

    seconds = build(sizes) * step
    names = rng.permutation(len(seconds))
    return seconds[np.ix_(names, names)]


def ragged_machine(rng: np.random.Generator, P: int, step: float = 1e-3) -> np.ndarray:
    """The same with parts of all sizes: clusters that are chosen by chance merge, two or three at a time."""
    seconds, clusters, height = np.zeros((P, P)), [[rank] for rank in range(P)], 0
    while len(clusters) > 1:
        height += int(rng.integers(0, 4)) or not height
        rng.shuffle(clusters)
        joined, clusters = clusters[: rng.integers(2, 4)], clusters[2:] if len(clusters) == 2 else clusters
        clusters = clusters[len(joined) :] if len(clusters) >= len(joined) else []
        members = sum(joined, [])
        fresh = np.ix_(members, members)
        seconds[fresh] = np.where(seconds[fresh] == 0, height * step, seconds[fresh])
        clusters.append(members)
    np.fill_diagonal(seconds, 0)
    return seconds

"""Which samples come next: a function of how many were consumed, and of nothing else.

Idea      Not of the step, for its batch may have been smaller than the next one's; and not of the ranks, so that there
          is nothing to redistribute when a rank dies. All that a training keeps of its data is one number, `position`.
Exact     Position p stands for the first p samples of the epochs, one behind the other. A batch ends with its epoch. A
          step whose gradient was not applied has not consumed its samples: they come again, and count once.
"""

from __future__ import annotations

import numpy as np


def next_samples(samples: int, size: int, position: int, seed: int = 0) -> np.ndarray:
    """The samples, int64 [size or fewer], that come after the first `position` ones; fewer at the end of an epoch.

    Each epoch has each sample once, in its own order. Raises ValueError unless samples, size >= 1 and position >= 0.
    """
    if min(samples, size) < 1 or position < 0:
        raise ValueError(f"got {samples=}, {size=}, {position=}: a batch needs a sample, a position starts at 0")
    epoch, place = divmod(position, samples)
    return np.random.default_rng([seed, epoch]).permutation(samples)[place : place + size]

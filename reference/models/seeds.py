"""Seeds: random numbers that depend on nothing but the whole numbers they are asked for with.

Idea      A parallel program equals the serial one only if both draw the same numbers. A global generator hands them out
          in the order in which it is asked, and that order is what a parallel program changes. So whatever is drawn
          here has a generator of its own, made from (seed, step, ...).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


def generator(*numbers: int) -> torch.Generator:
    """A torch generator on the CPU, made from any whole numbers >= 0: generator(seed, step, rank)."""
    mixed = np.random.SeedSequence([len(numbers), *numbers])  # the length, since it takes (1,) and (1, 0) for the same
    return torch.Generator().manual_seed(int(mixed.generate_state(1)[0]))


@contextmanager
def drawn_from(*numbers: int) -> Iterator[None]:
    """What is drawn in this block, by dropout for example, comes from `generator(*numbers)`.

    It is torch's global generator of the CPU that draws, and it is afterwards as it was.
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.set_state(generator(*numbers).get_state())
        yield


@contextmanager
def seeded(*numbers: int) -> Iterator[None]:
    """Modules built in this block are `drawn_from(*numbers)`.

    They are built on the CPU, so that they hold the same bits whatever device they go to. Each call of torch costs some
    microseconds more for that: what does not build anything takes `drawn_from`.
    """
    with torch.device("cpu"), drawn_from(*numbers):
        yield

"""Each virtual rank has its own state of the global random generators, as if it were a process of its own.

Ranks share neither program nor arguments nor messages: those are copied. They do share modules, and what a process has
only once (settings.py).

Processes have their own generators; threads share one. So at every change of rank the states of `random`, of NumPy's
legacy generator and of torch are exchanged. It must be quick, because ranks change some 50,000 times a second:
NumPy can exchange its generator as an object, torch's state is a tensor, and the state of `random` is copied from
memory (`random.getstate` would build 625 Python integers each time).

One thing is lost: NumPy's legacy generator draws normal numbers in pairs and keeps one back, and that one is forgotten
when ranks change. The course's own code uses explicit generators, to which all this does not apply.
"""

from __future__ import annotations

import ctypes
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..seeding import seed_rank

_PYTHON: Any = random._inst  # Any: these two have more than their stubs tell
_NUMPY: Any = np.random
# The state of `random`, seen as memory: in CPython's RandomObject an int, the index, and 624 words follow the header.
_TWISTER = (ctypes.c_char * (4 + 624 * 4)).from_address(id(random._inst) + object.__basicsize__)


def _none() -> None:
    """There is no torch, or it is just being imported."""


class RandomStates:
    """One state of every global generator for each of `ranks` ranks; rank r starts as seeded with r."""

    def __init__(self, ranks: int):
        self._saved: list = [None] * ranks
        self._generators: list = [None] * ranks  # kept alive: a rank that was given up may still be drawing

    def enter(self, rank: int) -> None:
        """Make the generators those of `rank`."""
        saved = self._saved[rank]
        if saved is None:
            self._generators[rank] = np.random.MT19937(0)  # seed_rank seeds it; the system's entropy takes 80 us
            _NUMPY.set_bit_generator(self._generators[rank])
            seed_rank(rank)
        else:
            self._load(saved)
            if saved[-1] is None and "torch" in sys.modules:  # another rank has imported it meanwhile
                sys.modules["torch"].manual_seed(rank)

    def leave(self, rank: int) -> None:
        """Keep the states of `rank` until it runs again."""
        self._saved[rank] = self._save(self._saved[rank])

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Give the caller's own states back at the end."""
        before, numpy_state = self._save(), np.random.get_state(legacy=False)
        try:
            yield
        finally:
            self._load(before)
            np.random.set_state(numpy_state)  # an exchange forgets the second half of a pair of normal numbers

    @staticmethod
    def _save(before: Any = None) -> tuple:
        """The states now; what is still as `before` is not stored anew, which would be memory that is not cached."""
        torch_state = getattr(sys.modules.get("torch"), "get_rng_state", _none)()
        twister = _TWISTER.raw
        if before is not None and before[0] == twister:
            twister = before[0]
        return twister, _PYTHON.gauss_next, _NUMPY.get_bit_generator(), torch_state

    @staticmethod
    def _load(state: tuple) -> None:
        twister, _PYTHON.gauss_next, numpy_generator, torch_state = state
        _TWISTER.raw = twister
        _NUMPY.set_bit_generator(numpy_generator)
        if torch_state is not None:
            sys.modules["torch"].set_rng_state(torch_state)

"""Ranks share nothing: each virtual rank has its own state of the global random generators.

Processes have their own generators; threads share one. So at every change of rank the states of `random`, of NumPy's
legacy generator and of torch are exchanged. It must be quick, because ranks change some 50,000 times a second:
NumPy can exchange its generator as an object, torch's state is a tensor, and the state of `random` is copied from
memory (`random.getstate` would build 625 Python integers each time).
"""

from __future__ import annotations

import ctypes
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from .seeding import seed_rank

_TWISTER = id(random._inst) + object.__basicsize__  # CPython's RandomObject: int index, then 624 words
_TWISTER_SIZE = 4 + 624 * 4


class RandomStates:
    """One state of every global generator for each of `ranks` ranks; rank r starts as seeded with r."""

    def __init__(self, ranks: int):
        self._saved: list = [None] * ranks

    def enter(self, rank: int) -> None:
        """Make the generators those of `rank`."""
        if self._saved[rank] is None:
            np.random.set_bit_generator(np.random.MT19937())
            random.gauss_next = None
            seed_rank(rank)
        else:
            self._load(self._saved[rank])
            if self._saved[rank][-1] is None and "torch" in sys.modules:  # another rank has imported it meanwhile
                sys.modules["torch"].manual_seed(rank)

    def leave(self, rank: int) -> None:
        """Keep the states of `rank` until it runs again."""
        self._saved[rank] = self._save()

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
    def _save() -> tuple:
        torch = sys.modules.get("torch")
        twister = ctypes.string_at(_TWISTER, _TWISTER_SIZE)
        return (
            twister,
            random._inst.gauss_next,
            np.random.get_bit_generator(),
            getattr(torch, "get_rng_state", lambda: None)(),
        )

    @staticmethod
    def _load(state: tuple) -> None:
        twister, random._inst.gauss_next, numpy_generator, torch_state = state
        ctypes.memmove(_TWISTER, twister, _TWISTER_SIZE)
        np.random.set_bit_generator(numpy_generator)
        if torch_state is not None:
            sys.modules["torch"].set_rng_state(torch_state)

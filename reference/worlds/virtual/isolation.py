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
from numpy.random.bit_generator import ISeedSequence

from ..seeding import seed_rank

_PYTHON: Any = random._inst  # Any: these two have more than their stubs tell
_NUMPY: Any = np.random
_get_generator, _set_generator = _NUMPY.get_bit_generator, _NUMPY.set_bit_generator
_MODULES = sys.modules
# The state of `random`, seen as memory: in CPython's RandomObject an int, the index, and 624 words follow the header.
_TWISTER = (ctypes.c_char * (4 + 624 * 4)).from_address(id(random._inst) + object.__basicsize__)


class _Unseeded(ISeedSequence):
    """Words for a generator that is seeded afterwards. To work out any takes longer than to start a rank's thread."""

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:
        """Zeros, in a list: NumPy takes them out one by one."""
        return [0] * n_words


_UNSEEDED: Any = _Unseeded()


class RandomStates:
    """One state of every global generator for each of `ranks` ranks; rank r starts as seeded with r."""

    def __init__(self, ranks: int):
        self._saved: list = [None] * ranks
        self._generators: list = [None] * ranks  # kept alive: a rank that was given up may still be drawing

    def change(self, leaving: int | None, coming: int) -> None:
        """Keep the states of the rank that leaves, if one does, and make the generators those of the one that comes."""
        saved = self._saved
        if leaving is not None:
            saved[leaving] = _save(saved[leaving])
        states = saved[coming]
        if states is None:
            generator = self._generators[coming] = np.random.MT19937(_UNSEEDED)
            _set_generator(generator)
            seed_rank(coming)
        else:
            _load(states)
            if states[-1] is None and "torch" in _MODULES:  # another rank has imported it meanwhile
                _MODULES["torch"].manual_seed(coming)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Give the caller's own states back at the end."""
        before, numpy_state = _save(), np.random.get_state(legacy=False)
        try:
            yield
        finally:
            _load(before)
            np.random.set_state(numpy_state)  # an exchange forgets the second half of a pair of normal numbers


def _save(before: tuple | None = None) -> tuple:
    """The states now; what is still as `before` is not stored anew, which would be memory that is not cached."""
    twister = _TWISTER.raw
    if before is not None and before[0] == twister:
        twister = before[0]
    torch_state = None
    if "torch" in _MODULES and hasattr(_MODULES["torch"], "get_rng_state"):  # else it is just being imported
        torch_state = _MODULES["torch"].get_rng_state()
    return twister, _PYTHON.gauss_next, _get_generator(), torch_state


def _load(states: tuple) -> None:
    _TWISTER.raw, _PYTHON.gauss_next, generator, torch_state = states
    _set_generator(generator)
    if torch_state is not None:
        _MODULES["torch"].set_rng_state(torch_state)

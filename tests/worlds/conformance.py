"""Legal programs, each beside the value that MPI's rules say every rank must return.

A case is a program and its expectation, written once and run in both worlds and at every number of ranks:

    legal = Legal()

    @legal(lambda rank, size: size)
    def the_size(comm):
        return comm.size

    @pytest.mark.parametrize("case, ranks", legal.params())
    def test_legal(case, ranks, world):
        case.check(ranks, world)

Named choices make one case of each combination: `@legal(..., root=[0, 1])` calls program(comm, root) and
expectation(rank, size, root). The rules are those of the MPI 4.1 standard and of mpi4py's documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from reference.worlds import launch

RANKS = (1, 2, 3, 5, 8)


class Case(NamedTuple):
    """One legal program with its arguments, and expected(rank, size, *arguments)."""

    program: Callable
    arguments: tuple
    expected: Callable

    def check(self, ranks: int, world: str) -> None:
        """Run the program and compare what every rank returned."""
        run = launch(self.program, ranks, *self.arguments, world=world)
        assert len(run.results) == ranks
        for rank, got in enumerate(run.results):
            want = self.expected(rank, ranks, *self.arguments)
            assert same(got, want), f"rank {rank} of {ranks} returned\n  {got!r}\nand should have returned\n  {want!r}"


class Legal(list):
    """The cases of one test module; ranks: on how many they run, if a case does not say."""

    def __init__(self, ranks: Iterable[int] = RANKS):
        super().__init__()
        self.ranks = tuple(ranks)

    def __call__(self, expected: Callable, ranks: Iterable[int] = (), **choices: Iterable) -> Callable:
        """Register a program (or several: one for each combination of the choices)."""
        sizes = tuple(ranks) or self.ranks

        def register(program):
            self.extend((Case(program, values, expected), sizes) for values in product(*choices.values()))
            return program

        return register

    def params(self) -> list:
        """What pytest.mark.parametrize("case, ranks", ...) wants."""
        import pytest  # here, because real ranks import this module for its small helpers

        return [
            pytest.param(case, size, id="-".join([case.program.__name__, *map(str, case.arguments), str(size)]))
            for case, sizes in self
            for size in sizes
        ]


def same(got: Any, want: Any) -> bool:
    """Equal in value, and for arrays and tensors in shape and dtype; tuples and lists element by element."""
    if isinstance(want, (tuple, list)):
        return type(got) is type(want) and len(got) == len(want) and all(map(same, got, want))
    if hasattr(want, "dtype"):
        return type(got) is type(want) and got.dtype == want.dtype and same_array(got, want)
    return bool(got == want)


def same_array(got: Any, want: Any) -> bool:
    """Equal shape and elements (NumPy arrays or torch tensors)."""
    return got.shape == want.shape and bool((got == want).all())


def row(*values: float, dtype: Any = float) -> np.ndarray:
    """A short array to send."""
    return np.array(values, dtype)


def split_sizes(total: int, parts: int) -> list[int]:
    """Uneven counts that add up to `total`; the last one is zero when there are several."""
    if parts == 1:
        return [total]
    return [*np.bincount(np.arange(total) % (parts - 1), minlength=parts - 1).tolist(), 0]

"""Fresh random inputs. What an exercise is tried on is new in every run, so no table of answers can pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from .exercise import Case

RANKS = (3, 2, 5, 8, 1)  # three first: the smallest ring in which left and right differ gives the clearest hints


def vectors(ranks: Sequence[int] = RANKS) -> Callable[[np.random.Generator], Iterator[Case]]:
    """Cases with one float64 vector a rank: lengths that P divides, that it does not, shorter than P, and none.

    The easy lengths come first, and long enough for sums.py to tell what a wrong sum is made of. One more
    number of ranks is drawn by chance.
    """

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        for P, n in lengths(rng, ranks):
            yield Case(label(P, n), tuple((rng.standard_normal(n),) for _ in range(P)))

    return cases


def lengths(rng: np.random.Generator, ranks: Sequence[int] = RANKS) -> Iterator[tuple[int, int]]:
    """(P, n): every number of ranks with a length that P divides; some of them with the awkward ones."""
    some = int(rng.choice([4, 6, 7, 9]))
    for length, sizes in (
        (_divisible, (*ranks, some)),
        (_ragged, (*(P for P in ranks if P > 2), some)),
        (_short, (ranks[0], max(ranks))),
        (lambda rng, P: 0, (ranks[0], 1)),
    ):
        for P in sizes:
            yield P, length(rng, P)


def calls(*rows: tuple, names: str) -> Callable[[np.random.Generator], Iterator[Case]]:
    """Cases of a function without a communicator: its arguments as they are, or drawn by calling them with rng."""

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        for row in rows:
            arguments = tuple(each(rng) if callable(each) else each for each in row)
            shown = (f"{name} = {value:.6g}" for name, value in zip(names.split(), arguments, strict=True))
            yield Case(", ".join(shown), (arguments,))

    return cases


def label(P: int, n: int) -> str:
    """How a case is called."""
    return f"{P} rank{'s' * (P > 1)}, n = {n}"


def _divisible(rng, P: int) -> int:
    return P * (P * P + int(rng.integers(2, 20)))


def _ragged(rng, P: int) -> int:
    return _divisible(rng, P) + (int(rng.integers(1, P)) if P > 1 else 1)


def _short(rng, P: int) -> int:
    return int(rng.integers(1, P)) if P > 1 else 1

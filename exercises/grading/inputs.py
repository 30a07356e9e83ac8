"""Fresh random inputs. What an exercise is tried on is new in every run, so no table of answers can pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .exercise import Case

if TYPE_CHECKING:  # a page draws no inputs, and has no NumPy (in_page.py)
    import numpy as np

RANKS = (3, 2, 5, 8, 1)  # three first: the smallest ring in which left and right differ gives the clearest hints

MANY = 5000  # elements: more than anybody tries by hand, or sends in one piece who cuts messages up
LONGEST = 160  # characters of an argument in a label


def vectors(ranks: Sequence[int] = RANKS) -> Callable[[np.random.Generator], Iterator[Case]]:
    """Cases with one float64 vector a rank: lengths that P divides, that it does not, shorter than P, and none.

    The easy lengths come first, and long enough for sums.py to tell what a wrong sum is made of; one of thousands comes
    last. One more number of ranks is drawn by chance.
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
        (lambda rng, P: MANY + _ragged(rng, P), (ranks[0],)),
    ):
        for P in sizes:
            yield P, length(rng, P)


def calls(*rows: tuple | Callable, names: str = "") -> Callable[[np.random.Generator], Iterator[Case]]:
    """Cases of a function without a communicator: its arguments as a tuple, or a function of rng that draws them."""

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        for row in rows:
            arguments = row(rng) if callable(row) else row
            shown = (f"{name} = {_shown(value)}" for name, value in zip(names.split(), arguments, strict=True))
            yield Case(", ".join(shown), (arguments,))

    return cases


def arrays(*rows: tuple, names: str = "") -> Callable[[np.random.Generator], Iterator[Case]]:
    """Cases with one float64 array a rank.

    A row is (ranks, shape, more ...); the shape is n or a tuple. More arguments are the same on all ranks, have
    `names`, and are drawn by calling them with rng if that is possible.
    """

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        for P, shape, *more in rows:
            more = [each(rng) if callable(each) else each for each in more]
            size = f"n = {shape}" if isinstance(shape, int) else f"x of shape {shape}"
            shown = [
                f"{P} rank{'s' * (P > 1)}",
                size,
                *(f"{name} = {value}" for name, value in zip(names.split(), more)),
            ]
            yield Case(", ".join(shown), tuple((rng.standard_normal(shape), *more) for _ in range(P)))

    return cases


def label(P: int, n: int) -> str:
    """How a case is called."""
    return f"{P} rank{'s' * (P > 1)}, n = {n}"


def _shown(value: Any) -> str:
    """A number or a short list as one can read and type it."""
    if isinstance(value, float):
        return _engineering(value)
    text = f"{value:_}" if isinstance(value, int) else repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _engineering(value: float) -> str:
    """Very large and very small numbers in billions, millionths, ...: 2e-6, 300e9."""
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return f"{value:.10g}"
    exponent = 3 * math.floor(round(math.log10(abs(value)), 9) / 3)
    return f"{value / 10.0**exponent:.10g}e{exponent}"


def _divisible(rng, P: int) -> int:
    return P * (P * P + int(rng.integers(2, 20)))


def _ragged(rng, P: int) -> int:
    return _divisible(rng, P) + (int(rng.integers(1, P)) if P > 1 else 1)


def _short(rng, P: int) -> int:
    return int(rng.integers(1, P)) if P > 1 else 1

"""Rounding: how equal is equal, what it may do to a sum over ranks, and no more.

Idea      A computed addition is the exact one times (1 + d), |d| <= u, with u = 2^-24 in float32. In whatever order P
          numbers are added, each passes through at most h additions on its way into the sum, so

              |computed - exact| <= g(h) (|x_1| + ... + |x_P|),    g(h) = h u / (1 - h u)

          and two computed sums are at most the sum of their two allowances apart. h is P - 1 in a ring, about log2 P
          in a tree: `longest_chain` reads it off the schedule. The bound is relative to the sum of magnitudes, not to
          the sum: where numbers cancel, no fixed relative tolerance is right.
Exact     Integers, max and min are exact; float sums are compared with `difference`, which tells rounding from a
          bug.
Left out  Overflow. Products are allowed g(h) |x_1 ... x_P|, if none of the partial products underflows.
Source    Higham, "Accuracy and Stability of Numerical Algorithms" (2nd ed. 2002), sections 3.1 and 4.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from .rounds import Round

SLACK = 1 + 2**-15  # magnitudes are computed in float64, and so rounded themselves


def unit_roundoff(dtype) -> float:
    """u: half the distance from 1 to the next number of this NumPy or torch type; 0 for integers.

    Raises TypeError for complex numbers.
    """
    if str(dtype).startswith("torch."):
        import torch

        if dtype.is_complex:
            raise TypeError(f"no bound is known here for {dtype}: compare real and imaginary parts")
        return torch.finfo(dtype).eps / 2 if dtype.is_floating_point else 0.0
    if np.dtype(dtype).kind == "c":
        raise TypeError(f"no bound is known here for {dtype}: compare real and imaginary parts")
    return float(np.finfo(dtype).eps) / 2 if np.dtype(dtype).kind == "f" else 0.0


def growth(additions: int, dtype) -> float:
    """g(h) = h u / (1 - h u), the relative error of a chain of h additions (Higham 2002, lemma 3.1).

    Raises ValueError if h u >= 1: the type is too coarse for so many additions, and nothing can be promised.
    """
    hu = additions * unit_roundoff(dtype) * SLACK
    if hu >= 1:
        raise ValueError(
            f"{additions} additions in a row in {dtype} (unit roundoff {unit_roundoff(dtype):g}) may lose everything: "
            f"add in a wider type, or along a tree"
        )
    return hu / (1 - hu)


def longest_chain(rounds: Callable[..., Iterator[Round]], P: int, blocks: int | None = None, **options) -> int:
    """h: the most additions that any contribution passes through in this schedule, `rounds(rank, ranks, **options)`."""
    number = P if blocks is None else blocks
    chain = np.zeros((P, number), int)  # of what each rank holds of each block
    for each in zip(*(rounds(rank, P, **options) for rank in range(P)), strict=True):
        before = chain.copy()
        for rank, (_, _, source, (lo, hi), combine, _) in enumerate(each):
            if source >= 0:
                there = np.arange(lo, hi) % number
                theirs = before[source, there]
                chain[rank, there] = 1 + np.maximum(chain[rank, there], theirs) if combine else theirs
    return int(chain.max(initial=0))


def allowance(magnitude, dtype, *additions: int):
    """How far sums computed with chains of these lengths may be apart; with one length, a sum and the exact one.

    magnitude: the sum of the absolute values of what is added (a number or an array), in float64.
    """
    return sum(growth(each, dtype) for each in additions) * np.asarray(magnitude, float)


def difference(result, expected, magnitude, dtype, *additions: int) -> str | None:
    """None if rounding explains every difference; else a message that names the worst element and the numbers.

    result, expected: arrays of one shape, such as that of a schedule and the serial sum; magnitude, dtype, additions
    as in `allowance`. A NaN where the other is none is never explained.
    """
    if unit_roundoff(dtype) > 0:
        result, expected = np.asarray(result, float), np.asarray(expected, float)
    result, expected = np.asarray(result), np.asarray(expected)
    if result.shape != expected.shape:
        return f"the result has shape {result.shape} and {expected.shape} is expected"
    with np.errstate(invalid="ignore"):
        same = (result == expected) | ((result != result) & (expected != expected))
        apart = np.where(same, 0.0, np.abs(result - expected).astype(float))
        allowed = np.where(same, 0.0, allowance(magnitude, dtype, *additions))
    if unit_roundoff(dtype) > 0:
        allowed = allowed + np.spacing(np.abs(expected)) / 2  # what is expected has been rounded to float64
    wrong = ~same & ~((apart <= allowed) & np.isfinite(expected))
    if not wrong.any():
        return None
    ratio = np.where(wrong, np.nan_to_num(apart, nan=np.inf) / np.maximum(allowed, np.finfo(float).tiny), 0.0)
    worst = np.unravel_index(np.argmax(ratio), result.shape)
    place = tuple(int(i) for i in worst)
    return (
        f"{wrong.sum()} of {wrong.size} elements differ by more than rounding explains; the worst is element {place}: "
        f"{result[worst]:.9g} instead of {expected[worst]:.9g}, {apart[worst]:.3g} apart where {allowed[worst]:.3g} is "
        f"allowed"
    )

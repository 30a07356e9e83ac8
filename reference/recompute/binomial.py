"""Binomial checkpointing (revolve): the fewest forward passes for equal links and a fixed number of checkpoints.

Idea      c values of the chain can be stored, the first input among them, and one link at a time can have its record.
          Go k links ahead, store the value there, turn the rest round with the c - 1 checkpoints left, then the k links
          before it, with c again. The best k follows from binomial coefficients, and so does the number of passes:

              beta(c, r) = (c + r)! / (c! r!)      links that c checkpoints serve, none passed more than r times
              t(l, c) = r l - beta(c + 1, r - 1)   passes beyond the l that record; beta(c, r - 1) < l <= beta(c, r)

Before    all n records at once, n forward passes
After     c values and one record; with c = r of about log2(n) / 2 each, n log2(n) / 2 passes: both grow with log n
Exact     The number of passes is the closed form's, and no schedule with so many checkpoints has fewer (the recurrence
          over all k says so: tests/recompute/test_binomial.py).
Left out  Links that differ, and records beside checkpoints: with room left revolve computes every link but the last
          twice. rotor.py has both.
Source    Griewank & Walther, "Algorithm 799: revolve" (2000), proposition 1; Griewank (1992), for the binomials.
Try       list(revolve(10, 3)); extra_forwards(10, 3)
"""

from __future__ import annotations

from math import comb

from .chain import ChainOperation, backward, forward


def reach(c: int, r: int) -> int:
    """beta(c, r): the longest chain that c checkpoints serve if no link is passed more than r times unrecorded."""
    return comb(c + r, c) if c >= 0 and r >= 0 else 0


def extra_forwards(n: int, c: int) -> int:
    """t(n, c): forward passes of single links beyond the n that record, with c checkpoints, the first input included.

    Raises ValueError unless n and c are at least 1.
    """
    _check(n, c)
    r = 0
    while reach(c, r) < n:
        r += 1
    return r * n - reach(c + 1, r - 1)


def revolve(n: int, c: int) -> list[ChainOperation]:
    """The schedule for n links: at most c stored values at a time, a[0] among them, and one link's record.

    Raises ValueError unless n and c are at least 1.
    """
    _check(n, c)
    return _turn_round(0, n, c)


def _check(n: int, c: int) -> None:
    if n < 1 or c < 1:
        raise ValueError(f"a chain has a link and revolve a checkpoint at least, its input; got {n} and {c}")


def _turn_round(s: int, t: int, c: int) -> list[ChainOperation]:
    """Links s to t - 1, from d[t] to d[s]; a[s] is stored, and one of the c."""
    if t - s == 1:
        return [forward(s, "all"), backward(s)]
    k = _ahead(t - s, c)
    go = [forward(s, "input"), *(forward(i) for i in range(s + 1, s + k))]
    return go + _turn_round(s + k, t, max(c - 1, 1)) + _turn_round(s, s + k, c)


def _ahead(n: int, c: int) -> int:
    """How many links to go before the next value is stored."""
    if c == 1:
        return n - 1  # nothing can be stored: the last link's record is made from a[s], then the one's before
    return min(range(1, n), key=lambda k: k + extra_forwards(n - k, c - 1) + extra_forwards(k, c))

"""Zero bubble: the backward pass in two parts, the second of which fills the gaps that the first leaves.

Papers    ZB-H1, ZB-H2: Qi et al., "Zero Bubble Pipeline Parallelism" (2023). ZB-V, V-Half, V-Min: Qi et al., "Pipeline
          Parallelism with Controllable Memory" (2024).
Idea      The stage before waits for I, the gradient for the input; for W, the gradient for the weights, nobody waits
          but the optimizer. So I is done at once and W where the rank would have nothing to do (weight_gradients.py). A
          schedule is then an order of F and I, and a limit of memory.
          H1: that of 1F1B. H2: with twice the warm-up, so that no rank ever waits for a backward pass.
          V: rank r has stages r and 2p - 1 - r, so that micro-batches come back to where they entered; ranks that keep
          much of the one stage keep little of the other, and memory is even.
          V-Half, V-Min: the passes of one micro-batch at fixed distances in time, repeated for every micro-batch. The
          memory is the time between F and W, so the distances set it: the smallest there can be make V-Min.
Price     ZB-H1 keeps as much as 1F1B on its first rank, on every rank; H2 nearly twice that; V-Half and V-Min about a
          half and a third, with bubbles of about a half and two thirds of 1F1B's. V sends twice as many messages.
Holds     as it is told here if F, I and W take equally long and messages no time; bubbles.py has what holds for others.
          ZB-H1's (p - 1)(F + I - W) asks for m >= p and W no longer than F and I.
Letters   p ranks, m micro-batches, r rank.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..schedule import Schedule, check_sizes
from .weight_gradients import Pass, in_gaps


def zb_h1(p: int, m: int) -> Schedule:
    """F and I as in 1F1B; W is put off, by r micro-batches on rank r: each rank keeps p, as rank 0 does in 1F1B."""
    check_sizes(p, m)
    return in_gaps("ZB-H1", in_line(m, [p - 1 - r for r in range(p)]), m, limit=p)


def zb_h2(p: int, m: int) -> Schedule:
    """Twice the warm-up of ZB-H1, so that no rank waits for its first backward pass; every rank keeps 2p - 1."""
    check_sizes(p, m)
    return in_gaps("ZB-H2", in_line(m, [2 * (p - 1 - r) for r in range(p)]), m, limit=2 * p - 1)


def in_line(m: int, warmup: Sequence[int]) -> list[list[Pass]]:
    """One stage a rank; rank r does warmup[r] forward passes, then F and I in turn."""
    return [first * [("F", r)] + m * [("F", r), ("I", r)] for r, first in enumerate(warmup)]


def zb_v(p: int, m: int) -> Schedule:
    """No rank waits, and each keeps what p micro-batches leave in its two stages: as much as rank 0 in 1F1B."""
    check_sizes(p, m)
    return in_gaps("ZB-V", in_v(p, m, [2 * (p - r) - 1 for r in range(p)]), m, limit=2 * p)


def in_v(p: int, m: int, warmup: Sequence[int]) -> list[list[Pass]]:
    """Stages in a V; rank r does warmup[r] forward passes of its first stage. Then they come back: F of both stages in
    turn; F and I of the second, until the first of them comes back once more; from then on F and I of both."""
    orders = []
    for r, first in enumerate(warmup):
        F0, I0, F1, I1 = ((kind, stage) for stage in (r, 2 * p - 1 - r) for kind in "FI")
        orders.append(first * [F0] + r * [F1, F0] + (p - r) * [F1, I1] + m * [F0, I0, F1, I1])
    return orders


def v_half(p: int, m: int) -> Schedule:
    """Half the memory of ZB-V (p // 2 + 1 micro-batches in two stages), for half the bubble of 1F1B."""
    check_sizes(p, m)
    return in_gaps("V-Half", repeated(p, m, (1, 2, 1, 2)), m, limit=2 * (p // 2 + 1))


def v_min(p: int, m: int) -> Schedule:
    """A third of the memory of ZB-V ((p + 1) // 3 + 1 micro-batches in two stages), for two thirds of 1F1B's bubble."""
    check_sizes(p, m)
    turn = 1 if p % 3 else 3  # with 1, F of one stage and I of the other would fall on the same moments
    return in_gaps("V-Min", repeated(p, m, (1, 1, 1, 1), turn), m, limit=2 * ((p + 1) // 3 + 1))


def repeated(p: int, m: int, legs: tuple[int, ...], turn: int = 1, interval: int = 6) -> list[list[Pass]]:
    """Stages in a V; of each rank the order of F and I if every micro-batch takes the same way, one each `interval`.

    Its way has four legs: forward from rank 0 to p - 1 and back, backward likewise. From one rank to the next it takes
    as many units as `legs` says; to turn, `turn` on rank p - 1 and 1 on rank 0. F, I and W of two stages are 6 units.
    """
    orders, time = [[] for _ in range(p)], 0
    for n in range(4 * p):
        kind, stage = ("F", n) if n < 2 * p else ("I", 4 * p - 1 - n)
        orders[min(stage, 2 * p - 1 - stage)] += [(time + interval * i, kind, stage) for i in range(m)]
        time += legs[n // p] if n % p < p - 1 else turn if n != 2 * p - 1 else 1
    return [[(kind, stage) for _, kind, stage in sorted(order)] for order in orders]

"""Zero bubble: the backward pass in two parts, the second of which fills the gaps that the first leaves.

Papers    ZB-H1, ZB-H2: Qi et al., "Zero Bubble Pipeline Parallelism" (2023). ZB-V, V-Half, V-Min: Qi et al., "Pipeline
          Parallelism with Controllable Memory" (2024).
Idea      The stage before waits for I, the gradient for the input; for W, the gradient for the weights, nobody waits
          but the optimizer. So I is done at once and W is put off to where the rank would have nothing to do.
Letters   p ranks, m micro-batches, r rank.
"""

from __future__ import annotations

from collections.abc import Iterator

from .schedule import Action, Schedule, check_sizes, flushed


def zb_h1(p: int, m: int) -> Schedule:
    """1F1B with W put off by r micro-batches on rank r, so that every rank keeps p of them, as rank 0 does in 1F1B."""
    check_sizes(p, m)
    return flushed("ZB-H1", [put_off(r, m, warmup=p - r - 1, lag=r) for r in range(p)])


def zb_h2(p: int, m: int) -> Schedule:
    """Twice the warm-up of ZB-H1, so that no rank waits for its first backward pass; every rank keeps 2p - 1."""
    check_sizes(p, m)
    return flushed("ZB-H2", [put_off(r, m, warmup=2 * (p - r - 1), lag=2 * r) for r in range(p)])


def put_off(stage: int, m: int, warmup: int, lag: int) -> Iterator[Action]:
    """`warmup` forward passes (at most m), then F and I in turn; a W follows the I of the `lag`-th micro-batch after."""
    for i in range(min(warmup, m)):
        yield Action("F", stage, i)
    for i in range(m):
        if warmup + i < m:
            yield Action("F", stage, warmup + i)
        yield Action("I", stage, i)
        if i >= lag:
            yield Action("W", stage, i - lag)
    for i in range(max(m - lag, 0), m):
        yield Action("W", stage, i)

"""The schedules by name, and the plain ones: one stage a rank, the backward pass in one piece.

Papers    GPipe: Huang et al., "GPipe: Efficient Training of Giant Neural Networks using Pipeline Parallelism" (2019).
          1F1B and PipeDream: Narayanan et al., "PipeDream: Generalized Pipeline Parallelism for DNN Training" (2019);
          synchronous as PipeDream-Flush, and PipeDream-2BW: Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN
          Training" (2021).
Idea      GPipe: all forward passes, then all backward passes, in reverse order. 1F1B: as soon as a backward pass can be
          done, do it, so that what was kept for it can be freed. Same bubble, p instead of m micro-batches kept.
          PipeDream: 1F1B that never waits for a flush; it updates after every backward pass and pays in stale weights.
Letters   p ranks, m micro-batches, r rank (= stage here).
Others    interleaved.py (several chunks a rank), zero_bubble.py (split backward passes), dual_pipe.py (both ends).
"""

from __future__ import annotations

from collections.abc import Iterator

from ..schedule import Action, Schedule, check_sizes, flushed


def naive(p: int, m: int = 1) -> Schedule:
    """One micro-batch after the other, each forward and backward through all stages before the next one starts."""
    check_sizes(p, m)
    return flushed("naive", [[Action(kind, r, i) for i in range(m) for kind in "FB"] for r in range(p)])


def gpipe(p: int, m: int) -> Schedule:
    """All forward passes, then all backward passes, last micro-batch first."""
    check_sizes(p, m)
    orders = [
        [*(Action("F", r, i) for i in range(m)), *(Action("B", r, i) for i in reversed(range(m)))] for r in range(p)
    ]
    return flushed("GPipe", orders)


def one_f_one_b(p: int, m: int) -> Schedule:
    """p - r - 1 forward passes to fill the pipeline, then forward and backward in turn, then the backwards left."""
    check_sizes(p, m)
    return flushed("1F1B", [alternating(r, m, warmup=p - r - 1) for r in range(p)])


def alternating(stage: int, m: int, warmup: int) -> Iterator[Action]:
    """`warmup` forward passes (at most m), then one forward and one backward in turn, then the backwards left."""
    warmup = min(warmup, m)
    for i in range(warmup):
        yield Action("F", stage, i)
    for i in range(m - warmup):
        yield Action("F", stage, warmup + i)
        yield Action("B", stage, i)
    for i in range(m - warmup, m):
        yield Action("B", stage, i)


def pipedream(p: int, m: int) -> Schedule:
    """1F1B with an optimizer step of the stage after each of its backward passes; m micro-batches of an endless stream.

    Micro-batch i meets, on stage s, weights that lack the last min(i, p - 1 - s) updates, and their version is kept
    until its backward pass has used it: at most p - s versions.
    """
    check_sizes(p, m)
    return Schedule("PipeDream", _updated(p, m, every=1), weights="stash")


def pipedream_2bw(p: int, m: int, batch: int | None = None) -> Schedule:
    """1F1B with an optimizer step after every `batch` micro-batches (p unless told), and two versions of the weights.

    Raises ValueError if batch < p - 1: a batch would begin before the version that it needs has been made. (The paper
    asks for batch >= p.)
    """
    check_sizes(p, m)
    batch = p if batch is None else batch
    check_sizes(p, batch)
    if batch < p - 1:
        raise ValueError(
            f"batch = {batch} is below p - 1 = {p - 1}: two versions do not suffice then, take a larger one"
        )
    return Schedule("2BW", _updated(p, m, every=batch), weights="double")


def _updated(p: int, m: int, every: int) -> tuple[tuple[Action, ...], ...]:
    """1F1B; a step follows the last backward pass of every `every` micro-batches, and of what is left in the end."""

    def order(r: int) -> Iterator[Action]:
        for action in alternating(r, m, warmup=p - r - 1):
            yield action
            if action.kind == "B" and (action.micro % every == every - 1 or action.micro == m - 1):
                yield Action("S", r, action.micro)

    return tuple(tuple(order(r)) for r in range(p))

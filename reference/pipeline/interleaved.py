"""Several chunks a rank: the bubble shrinks by their number, and more messages and activations pay for it."""

from __future__ import annotations

from collections.abc import Iterator

from .schedule import Action, Schedule, check_sizes, flushed


def groups(p: int, m: int) -> list[range]:
    """The micro-batches in as many groups of at least p as there can be, of nearly equal size, larger ones first."""
    count = max(m // p, 1)
    small, larger = divmod(m, count)
    ends = [0]
    for k in range(count):
        ends.append(ends[-1] + small + (k < larger))
    return [range(a, b) for a, b in zip(ends, ends[1:])]


def interleaved(p: int, m: int, v: int = 2) -> Schedule:
    """Megatron's interleaved 1F1B for any m: rank r has stages r, r + p, r + 2p, ... (v of them)."""
    check_sizes(p, m, v)
    rounds = groups(p, m)
    return flushed("interleaved 1F1B", [_alternating(p, r, v, rounds, _warmup(p, r, v, rounds)) for r in range(p)])


def breadth_first(p: int, m: int, v: int = 2) -> Schedule:
    """Every chunk takes all micro-batches before the next chunk begins; all forward passes before all backward ones."""
    check_sizes(p, m, v)
    return flushed("breadth first", [_alternating(p, r, v, [range(m)], m * v) for r in range(p)])


def depth_first(p: int, m: int, v: int = 2) -> Schedule:
    """Groups of exactly p micro-batches (the last one may be smaller) pass through all chunks before the next one."""
    check_sizes(p, m, v)
    rounds = [range(a, min(a + p, m)) for a in range(0, m, p)]
    return flushed("depth first", [_alternating(p, r, v, rounds, _warmup(p, r, v, rounds)) for r in range(p)])


def _warmup(p: int, r: int, v: int, rounds: list[range]) -> int:
    """Forward passes of rank r before its first backward pass, less one."""
    return (v - 1) * len(rounds[0]) + (2 if v > 1 else 1) * (p - r - 1)


def _alternating(p: int, r: int, v: int, rounds: list[range], warmup: int) -> Iterator[Action]:
    """`warmup` forward passes, then one forward and one backward in turn, then the backwards left."""
    forward = [Action("F", c * p + r, i) for group in rounds for c in range(v) for i in group]
    backward = [Action("B", c * p + r, i) for group in rounds for c in reversed(range(v)) for i in group]
    warmup = min(warmup, len(forward))
    yield from forward[:warmup]
    for f, b in zip(forward[warmup:], backward):
        yield f
        yield b
    yield from backward[len(forward) - warmup :]

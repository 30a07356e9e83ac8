"""Interleaving: several chunks a rank. The bubble shrinks by their number; messages and activations pay for it.

Idea      Rank r has the stages r, r + p, r + 2p, ...: v chunks, each a v-th of its work. To fill the pipeline, and to
          empty it, takes p - 1 passes of a chunk instead of a whole share: the bubble is (p - 1)(F + B)/v.
          Micro-batches go round in groups. Rank 0 does chunk 0 for each of a group, then chunk 1 for each. A
          micro-batch comes round to it p passes later, so a group of p keeps rank 0 busy until then.

              p = 2, m = 4, v = 2, two groups: 2F1 is the forward pass of stage 2 for micro-batch 1
              rank 0  0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 ... 2B2 ... 2B3 0B2 0B3
              rank 1  ... 1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3 ...

          Before its first backward pass the last rank does (v - 1) g + 1 forward passes, g the size of the first group,
          and each rank `lead` more than the next, if there are as many. Lead 1 has the same bubble, as long as messages
          take no time. Lead 2 (Megatron) has each result ready one pass before it is needed, which hides messages of up
          to min(F, B)/v for v >= 2, of up to (F + B)/2 for v = 1; only filling and emptying wait for them. (With many
          chunks and groups of unequal size messages are met more often while it empties: `interleaved_idle`.)
Before    The paper asks for m to be a multiple of p. With a last group of fewer rank 0 may run out of work before its
          micro-batches come round, and the orders may wait for each other for good (p = 4, m = 5 with three chunks;
          p = 5, m = 7 with two). Megatron-Core now takes groups of other sizes, the last of at least p; PyTorch
          floor(m/p) groups, if they divide m.
After     What is needed is not groups of p but of at least p. As many of them as m allows, of nearly equal size, give
          (p - 1)(F + B)/v for every m >= p. With m < p there is one group, and p - m passes are lost in each round.
Sends     p v - 1 boundaries instead of p - 1, which is more than v times as many, and a link from rank p - 1 to rank 0.
Price     Lead 2 keeps more activations: v p + p - 1 of a chunk on rank 0 instead of v p.
          Breadth first: one group of all m, all forward passes first. A rank changes its chunk 2v - 2 times in a step,
          so fully sharded weights are gathered 2v - 1 times, and the gradients of a chunk are done, and can travel,
          while the next chunk computes. All m micro-batches are kept for it. Depth first is Lamy-Poirier's name for
          Megatron's.
Source    Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM" (2021).
          Depth first and breadth first: Lamy-Poirier, "Breadth-First Pipeline Parallelism" (2022).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from ..schedule import Action, Schedule, check_sizes, flushed
from .plain import zigzag
from .record import LOOP, ONE_VERSION, Form, RankCosts, ScheduleRecord, even_peaks, of_all_sizes, require


def interleaved(p: int, m: int, v: int = 2, lead: int | None = None, group: int | None = None) -> Schedule:
    """1F1B with v chunks a rank, for any m.

    lead   forward passes that each rank is ahead of the next; None: 2, but 1 with one chunk, which then is 1F1B
           (with lead 2 it is "eager 1F1B", which hides messages and keeps up to 2p - 1 micro-batches)
    group  the least size of a group of micro-batches, p unless told; larger ones leave time for messages on their way
           from rank p - 1 to rank 0

    Raises ValueError unless lead is 1 or 2 (with 3 the orders may wait for each other) and group >= p.
    """
    check_sizes(p, m, v)
    lead = (2 if v > 1 else 1) if lead is None else lead
    if why := interleaved_refuses(p, m, lead, group):
        raise ValueError(why)
    rounds = groups(m, p if group is None else group)
    warmup = [(v - 1) * len(rounds[0]) + lead * (p - r - 1) for r in range(p)]
    return flushed("interleaved 1F1B", [_order(p, r, v, rounds, warmup[r]) for r in range(p)])


def interleaved_refuses(p: int, m: int, lead: int | None = None, group: int | None = None) -> str:
    """Why there is no interleaved schedule with these; "" if there is one."""
    if lead not in (None, 1, 2):
        return f"lead = {lead} must be 1 or 2"
    return f"group = {group} must be at least p = {p}" if group is not None and group < p else ""


def interleaved_idle(p: int, m: int, v: int, x: RankCosts, lead: int | None = None, group: int | None = None) -> float:
    """Seconds; with lead 2 exact for c <= min(F, B)/v ((F + B)/2 if v = 1), with lead 1 for c = 0, v = 1 or groups of
    p. lead, group: as in `interleaved`. With lead 2, c > 0 and a last group smaller than the first, only as long as
    that has all the backward passes, but for a round, that are left when the forward passes end."""
    sizes = [len(g) for g in groups(m, group or p)]
    if lead == 1 or (lead is None and v == 1):
        require(x.c == 0 or v == 1 or set(sizes) == {p}, "lead 1 with c = 0, v = 1, or groups of p")
        return looped(p, v, sizes, x._replace(c=0.0)) + (zigzag(p, m * v) + 2 * (v - 1)) * x.c
    hidden = min(x.F, x.B) / v if v > 1 else (x.F + x.B) / 2
    require(x.c <= hidden, f"lead 2 with c <= {hidden:g} s, which it hides")
    even = (v - 1) * (sizes[0] - sizes[-1]) <= sizes[-1]
    require(x.c == 0 or even, "c = 0, groups of equal size, or fewer chunks")
    return looped(p, v, sizes, x)


def looped(p: int, v: int, sizes: list[int], x: RankCosts) -> float:
    """To fill the pipeline and to empty it; and v - 1 times what the first rank waits for the first group to come
    round, forward, and the last rank for the last group, backward."""

    def wait(group: int, seconds: float) -> float:
        return max(p * (seconds / v + x.c) - group * seconds / v, 0.0)

    return (p - 1) * ((x.F + x.B) / v + 2 * x.c) + (v - 1) * (wait(sizes[0], x.F) + wait(sizes[-1], x.B))


def interleaved_peaks(p: int, m: int, v: int, lead: int | None = None, group: int | None = None) -> list[float]:
    """Exact everywhere."""
    lead = lead or (2 if v > 1 else 1)
    ahead = (v - 1) * len(groups(m, group or p)[0])
    return [min(ahead + lead * (p - r - 1) + 1, m * v) / v for r in range(p)]


INTERLEAVED_IDLE = Form(interleaved_idle, "(p - 1)(F + B) / v", "m >= p")
INTERLEAVED_PEAKS = Form(interleaved_peaks, "min(v p + p - 2r - 1, m v) / v", "v >= 2, m mod p = 0")
INTERLEAVED = ScheduleRecord(
    name="interleaved 1F1B",
    make=interleaved,
    idea="1F1B with v chunks a rank: the bubble shrinks by v",
    source="Narayanan et al. (2021)",
    elsewhere={"PyTorch": "ScheduleInterleaved1F1B"},
    placement=LOOP,
    weights="flush",
    options=("lead", "group"),
    refuses=interleaved_refuses,
    idle=INTERLEAVED_IDLE,
    span=INTERLEAVED_IDLE,
    peaks=INTERLEAVED_PEAKS,
    versions=ONE_VERSION,
)


def depth_first(p: int, m: int, v: int = 2) -> Schedule:
    """Megatron's own interleaved schedule: groups of exactly p. Raises ValueError unless m is a multiple of p."""
    check_sizes(p, m, v)
    if why := depth_first_refuses(p, m):
        raise ValueError(f"depth first for p = {p}, m = {m}: {why}")
    return replace(interleaved(p, m, v), name="depth first")


def depth_first_refuses(p: int, m: int) -> str:
    """Why there is no depth-first schedule of these sizes; "" if there is one."""
    return f"m must be a multiple of p; take {-(-m // p) * p} micro-batches, or interleaved 1F1B" if m % p else ""


DEPTH_FIRST = ScheduleRecord(
    name="depth first",
    make=depth_first,
    idea="interleaved as Megatron does it, in groups of p",
    source="Narayanan et al. (2021)",
    elsewhere={"Megatron-Core": "forward_backward_pipelining_with_interleaving"},
    placement=LOOP,
    weights="flush",
    options=(),
    refuses=depth_first_refuses,
    idle=INTERLEAVED_IDLE,
    span=INTERLEAVED_IDLE,
    peaks=INTERLEAVED_PEAKS,
    versions=ONE_VERSION,
)


def breadth_first(p: int, m: int, v: int = 2) -> Schedule:
    """Each chunk takes all micro-batches before the next chunk begins; then the same backward. With v = 1: GPipe."""
    check_sizes(p, m, v)
    forward = [[Action("F", c * p + r, i) for c in range(v) for i in range(m)] for r in range(p)]
    return flushed("breadth first", [[*order, *(a._replace(kind="B") for a in reversed(order))] for order in forward])


def breadth_first_idle(p: int, m: int, v: int, x: RankCosts) -> float:
    """Seconds; exact everywhere."""
    return looped(p, v, [m], x)


BREADTH_FIRST_IDLE = Form(breadth_first_idle, "(p - 1)(F + B) / v", "m >= p")
BREADTH_FIRST = ScheduleRecord(
    name="breadth first",
    make=breadth_first,
    idea="GPipe with v chunks a rank: all micro-batches through each in turn",
    source="Lamy-Poirier (2022)",
    elsewhere={"PyTorch": "ScheduleLoopedBFS"},
    placement=LOOP,
    weights="flush",
    options=(),
    refuses=of_all_sizes,
    idle=BREADTH_FIRST_IDLE,
    span=BREADTH_FIRST_IDLE,
    peaks=even_peaks(lambda p, m: m, "m"),
    versions=ONE_VERSION,
)


def groups(m: int, least: int) -> list[range]:
    """0 ... m - 1 in as many runs of at least `least` as there can be (one, if m is less), the larger ones first."""
    count = max(m // least, 1)
    sizes = [m // count + (k < m % count) for k in range(count)]
    ends = [0, *itertools.accumulate(sizes)]
    return [range(a, b) for a, b in itertools.pairwise(ends)]


def _order(p: int, r: int, v: int, rounds: list[range], warmup: int) -> Iterator[Action]:
    """`warmup` forward passes (at most all), then one forward and one backward in turn, then the backwards left."""
    forward = [Action("F", c * p + r, i) for group in rounds for c in range(v) for i in group]
    backward = [Action("B", c * p + r, i) for group in rounds for c in reversed(range(v)) for i in group]
    yield from forward[:warmup]
    for f, b in zip(forward[warmup:], backward):
        yield f
        yield b
    yield from backward[max(len(forward) - warmup, 0) :]


def changes(schedule: Schedule) -> list[int]:
    """Of each rank, how often it turns from one of its stages to another: how often fully sharded weights are gathered
    anew after the first time, if it has room for one stage's at a time."""
    passes = [[action.stage for action in order if action.kind != "S"] for order in schedule]
    return [sum(a != b for a, b in itertools.pairwise(stages)) for stages in passes]

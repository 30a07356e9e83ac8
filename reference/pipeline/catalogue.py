"""All schedules by name: what can be chosen, compared and run. Command lines, the explorer and tests go through it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .interleaved import breadth_first, depth_first, interleaved
from .schedule import Schedule
from .schedules import gpipe, naive, one_f_one_b, pipedream, pipedream_2bw


class Entry(NamedTuple):
    """A schedule that can be chosen.

    function    (p, m), or (p, m, v) where chunks is None
    chunks      stages that each rank has; None: as many as one likes (v)
    idea        what it does, in one sentence
    refuses     (p, m) -> why there is no such schedule, or "" if there is one
    """

    function: Callable[..., Schedule]
    chunks: int | None
    idea: str
    refuses: Callable[[int, int], str] = lambda p, m: ""


SCHEDULES: dict[str, Entry] = {
    "naive": Entry(naive, 1, "one micro-batch after the other"),
    "GPipe": Entry(gpipe, 1, "all forward passes, then all backward passes"),
    "1F1B": Entry(one_f_one_b, 1, "a backward pass as soon as one can be done: p activations kept, not m"),
    "interleaved 1F1B": Entry(interleaved, None, "1F1B with v chunks a rank: the bubble shrinks by v"),
    "depth first": Entry(depth_first, None, "interleaved, p micro-batches at a time through all chunks"),
    "breadth first": Entry(breadth_first, None, "GPipe with v chunks a rank: all micro-batches through each in turn"),
    "PipeDream": Entry(pipedream, 1, "1F1B that updates after every micro-batch and never waits: stale weights"),
    "2BW": Entry(pipedream_2bw, 1, "PipeDream with two versions of the weights: updates every p micro-batches"),
}


def make(name: str, p: int, m: int, v: int | None = None) -> Schedule:
    """The schedule of that name for p ranks, m micro-batches and, where one can choose, v chunks a rank (2 unless told).

    Raises ValueError for a name, or numbers, for which there is none.
    """
    if name not in SCHEDULES:
        raise ValueError(f"there is no schedule {name!r}; choose from {', '.join(SCHEDULES)}")
    entry = SCHEDULES[name]
    if entry.chunks is None:
        return entry.function(p, m, 2 if v is None else v)
    if v not in (None, entry.chunks):
        raise ValueError(f"{name} has {entry.chunks} stage(s) a rank, not {v}: leave v out")
    if p >= 1 and m >= 1 and (why := entry.refuses(p, m)):
        raise ValueError(f"{name} for p = {p}, m = {m}: {why}")
    return entry.function(p, m)

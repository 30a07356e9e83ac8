"""All schedules by name: what can be chosen, compared and run. Command lines, the explorer and tests go through it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from ..schedule import Schedule, check_sizes
from .dual_pipe import dual_pipe, dual_pipe_refuses, dual_pipe_v, dual_pipe_v_refuses
from .interleaved import breadth_first, depth_first, depth_first_refuses, interleaved
from .plain import gpipe, naive, one_f_one_b, pipedream, pipedream_2bw
from .zero_bubble import v_half, v_min, zb_h1, zb_h2, zb_v


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
    "depth first": Entry(depth_first, None, "interleaved as Megatron does it, in groups of p", depth_first_refuses),
    "breadth first": Entry(breadth_first, None, "GPipe with v chunks a rank: all micro-batches through each in turn"),
    "PipeDream": Entry(pipedream, 1, "1F1B that updates after every micro-batch and never waits: stale weights"),
    "2BW": Entry(pipedream_2bw, 1, "PipeDream with two versions of the weights: updates every p micro-batches"),
    "ZB-H1": Entry(zb_h1, 1, "1F1B with W put off into the gaps: p activations kept on every rank"),
    "ZB-H2": Entry(zb_h2, 1, "twice the warm-up, so that no rank ever waits: 2p - 1 activations kept"),
    "ZB-V": Entry(zb_v, 2, "stages in a V: no rank ever waits, with the memory of 1F1B"),
    "V-Half": Entry(v_half, 2, "stages in a V, half of 1F1B's memory for half of its bubble"),
    "V-Min": Entry(v_min, 2, "stages in a V, a third of 1F1B's memory for two thirds of its bubble"),
    "DualPipe": Entry(dual_pipe, 2, "micro-batches from both ends; F and B side by side", dual_pipe_refuses),
    "DualPipeV": Entry(dual_pipe_v, 2, "one half of DualPipe's ranks, with all stages in a V", dual_pipe_v_refuses),
}


def canonical_name(text: str) -> str:
    """The catalogue's name, however it is spelt: "interleaved-1f1b". Raises ValueError for no schedule's."""
    plain = {re.sub(r"[\W_]", "", name.lower()): name for name in SCHEDULES}
    try:
        return plain[re.sub(r"[\W_]", "", text.lower())]
    except KeyError:
        raise ValueError(f"there is no schedule {text!r}; choose from {', '.join(SCHEDULES)}") from None


def stages(name: str, p: int, v: int | None = None) -> int:
    """How many stages `make` gives that schedule: told without making it. Raises ValueError for no schedule's name."""
    name = canonical_name(name)
    if name == "DualPipe":  # each stage is on two ranks
        return p
    return p * (SCHEDULES[name].chunks or (2 if v is None else v))


def make(name: str, p: int, m: int, v: int | None = None) -> Schedule:
    """The schedule of that name, however it is spelt, for p ranks, m micro-batches and v chunks a rank, where one can
    choose (2 unless told).

    Raises ValueError for a name, or numbers, for which there is none.
    """
    name = canonical_name(name)
    entry = SCHEDULES[name]
    check_sizes(p, m, v or 1)
    if entry.chunks is None:
        return entry.function(p, m, 2 if v is None else v)
    if v not in (None, entry.chunks):
        stages = f"{entry.chunks} stage{'s' * (entry.chunks > 1)}"
        raise ValueError(f"{name} has {stages} a rank, not {v}: take {entry.chunks}, or do not choose")
    return entry.function(p, m)

"""All schedules by name: what can be chosen, compared and run. Command lines, the explorer and tests go through it."""

from __future__ import annotations

from ...registry import Registry
from ..schedule import Schedule, check_sizes
from .dual_pipe import DUAL_PIPE, DUAL_PIPE_V
from .interleaved import BREADTH_FIRST, DEPTH_FIRST, INTERLEAVED
from .plain import GPIPE, NAIVE, ONE_F_ONE_B, PIPEDREAM, PIPEDREAM_2BW
from .record import ScheduleRecord
from .zero_bubble import V_HALF, V_MIN, ZB_H1, ZB_H2, ZB_V

SCHEDULES: Registry[ScheduleRecord] = Registry(
    "schedule",
    [
        NAIVE,
        GPIPE,
        ONE_F_ONE_B,
        INTERLEAVED,
        DEPTH_FIRST,
        BREADTH_FIRST,
        PIPEDREAM,
        PIPEDREAM_2BW,
        ZB_H1,
        ZB_H2,
        ZB_V,
        V_HALF,
        V_MIN,
        DUAL_PIPE,
        DUAL_PIPE_V,
    ],
)


def stages(name: str, p: int, v: int | None = None) -> int:
    """How many stages `make` gives that schedule: told without making it. Raises ValueError for no schedule's name."""
    placement = SCHEDULES[SCHEDULES.canonical_name(name)].placement
    return p * (placement.chunks or (2 if v is None else v)) // placement.copies


def make(name: str, p: int, m: int, v: int | None = None) -> Schedule:
    """The schedule of that name, however it is spelt, for p ranks, m micro-batches and v chunks a rank, where one can
    choose (2 unless told).

    Raises ValueError for a name, or numbers, for which there is none.
    """
    record = SCHEDULES[SCHEDULES.canonical_name(name)]
    check_sizes(p, m, v or 1)
    if record.chunks is None:
        return record.make(p, m, 2 if v is None else v)
    if v not in (None, record.chunks):
        stages = f"{record.chunks} stage{'s' * (record.chunks > 1)}"
        raise ValueError(f"{record.name} has {stages} a rank, not {v}: take {record.chunks}, or do not choose")
    return record.make(p, m)

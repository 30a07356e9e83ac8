"""All schedules for one's own numbers: what each takes, what it keeps, and whether that fits."""

from __future__ import annotations

from ..pipeline.analysis.versions import kept_versions
from ..pipeline.schedules.catalogue import SCHEDULES, make
from ..pipeline.simulate import activations, simulate
from .plans import PassSeconds, check_numbers

AGAINST = "what speaks against it"
MOST_PASSES = 512  # forward passes of a schedule; there are fifteen, and a browser takes seconds for as many


def schedule_table(
    p: int,
    m: int,
    v: int,
    F: float,
    I: float,  # noqa: E741
    W: float,
    message: float,
    room: float,
) -> list[dict[str, float | str | None]]:
    """A row for each schedule of the catalogue, the quickest that fits first.

    p ranks, m micro-batches, v chunks a rank where a schedule leaves them open; seconds F, I, W of a rank's whole share
    and of a message; room: how many micro-batches' activations of a rank's whole share it can keep.
    Columns: makespan (s), bubble (share of it), activations (of the worst rank, same unit as room), versions of the
    weights (of the worst rank), and in words what speaks against it. Raises ValueError for numbers that make no sense.
    """
    seconds = PassSeconds("", F, I, W)
    check_numbers({"p": p, "m": m, "v": v}, seconds[1:], message, MOST_PASSES)
    rows = [_row(name, p, m, v, seconds, message, room) for name in SCHEDULES]
    return sorted(rows, key=lambda row: (row[AGAINST] != "", row["makespan (s)"] or 0.0, row["activations"] or 0.0))


def _row(name: str, p: int, m: int, v: int, seconds: PassSeconds, message: float, room: float) -> dict:
    fixed = SCHEDULES[name].chunks
    told = {"schedule": name, "makespan (s)": None, "bubble": None, "activations": None, "versions": None}
    try:
        schedule = make(name, p, m, v if fixed is None else fixed)
        times = simulate(schedule, seconds.costs(schedule, message))
    except ValueError as error:
        return told | {AGAINST: str(error)}
    peak = max(activations(schedule)) * schedule.ranks / schedule.stages
    return {
        "schedule": name,
        "makespan (s)": times.makespan,
        "bubble": f"{times.bubble:.1%}",
        "activations": peak,
        "versions": max(kept_versions(schedule)),
        AGAINST: f"keeps {peak:.3g}, and there is room for {room:g}" if peak > room + 1e-9 else "",
    }

"""What a page is told of one setting of a pipeline: its order, its times at given costs, and the figures about it.

Idea      Simulated by the functions of the chapter, and told in what JSON has. `page_data` is brief, for the hundreds
          of settings that are stored in a page; `worked_out` is for one that the page asks for (live.py).
Sends     A grid has a hundred thousand actions and a million times, so they are written as briefly as they can be told:

          order   one letter per action, for kind and chunk: LETTERS[len(KINDS) * chunk + kind]. Its micro-batch is the
                  next one, 0, 1, 2, ..., unless `micro` lists those of that letter
          times   only where a rank waits: one character per action, "." for none, else its place in a list of seconds.
                  All other times follow: an action starts when the one before it has ended and the rank has waited

          Times are whole numbers of TICK, so that nothing is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..pipeline.analysis import formulas
from ..pipeline.analysis.versions import kept_versions
from ..pipeline.schedule import KINDS, Action, Schedule, needs
from ..pipeline.schedules.catalogue import make
from ..pipeline.schedules.record import NoClosedForm, require
from ..pipeline.simulate import Costs, Times, activations, simulate

TICK = 1 / 24
"""Seconds: F of a rank's whole share takes one second, so halves, thirds and quarters of F and W are whole ticks."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class PassSeconds(NamedTuple):
    """How long the passes of a rank's whole share take, in seconds; `last` more shares are on the last stage."""

    idea: str
    F: float
    I: float  # noqa: E741
    W: float
    last: float = 0.0

    def costs(self, schedule: Schedule, send: float) -> Costs:
        """What each stage costs: a rank's share is cut into as many as the model has stages for each rank."""
        share = schedule.ranks / schedule.stages
        sizes = [share] * (schedule.stages - 1) + [share + self.last]
        F, I, W = ([size * seconds for size in sizes] for seconds in (self.F, self.I, self.W))  # noqa: E741
        return Costs(F, I, W, send=send)

    def whole(self, send: float) -> Costs:
        """What a rank's whole share costs, as closed forms take it. Raises NoClosedForm if stages differ."""
        require(self.last == 0, "stages of equal cost")
        return Costs(self.F, self.I, self.W, send=send)


PASS_SECONDS = {
    "1:1:1": PassSeconds("all three alike: large layers", 1, 1, 1),
    "2:2:1": PassSeconds("near to what is measured with attention and small operations", 1, 1, 0.5),
    "1:2:1": PassSeconds("activations recomputed: I includes another F", 1, 2, 1),
    "1:1:1, last stage x 1.5": PassSeconds("uneven: the last stage also has the output layer", 1, 1, 1, last=0.5),
}
MESSAGE_SECONDS = (0.0, 0.25)
LIMITS = {"p": 64, "m": 512, "v": 8}
MOST_PASSES = 2048  # forward passes that are worked out and drawn in a page


class ExplorerSetting(NamedTuple):
    """A schedule of the catalogue, p ranks, m micro-batches, v chunks a rank."""

    name: str
    p: int
    m: int
    v: int

    def __str__(self) -> str:
        return f"{self.name}.{self.p}.{self.m}.{self.v}"


def page_data(setting: ExplorerSetting) -> dict[str, Any]:
    """What the page gets of one setting, or {"refused": why} if there is no such schedule.

    share       which part of a rank's work one stage is
    stages      of each rank those that it has; order, micro, overlapped: its actions (see above)
    peaks       of each rank, activations in units of what a micro-batch leaves in a rank's whole share
    versions    of each rank, versions of the weights
    peak        the most of them, in closed form; where there is none, its region
    times       one for each of PASS_SECONDS, and in it for each of MESSAGE_SECONDS
    """
    try:
        schedule = make(*setting)
        simulate(schedule)
    except ValueError as error:
        return {"refused": str(error)}
    told = [_letters(order, stages) for order, stages in zip(schedule, schedule.chunks)]
    return _untimed(schedule, setting) | {
        "order": [letters for letters, _ in told],
        "micro": [micro for _, micro in told],
        "overlapped": [sorted(pairs) for pairs in schedule.overlapped],
        "times": [_timed(schedule, setting, work, send) for work in PASS_SECONDS.values() for send in MESSAGE_SECONDS],
    }


def worked_out(name: str, p: int, m: int, v: int, seconds: Sequence[float], send: float) -> dict[str, Any]:
    """What the page asks for of a setting that it does not have: as page_data, at one cost, and nothing packed.

    seconds     F, I, W and `last`, as PassSeconds has them
    ranks       in what is returned: of each rank its actions, (kind, stage, chunk, micro-batch, start, end, side);
                start and end in ticks, side: 1 and 2 of two that are carried out side by side, else 0
    Raises ValueError that names the number which is too large, or makes no sense.
    """
    check_numbers({"p": p, "m": m, "v": v}, seconds, send)
    setting = ExplorerSetting(name, p, m, v)
    schedule = make(*setting)
    work = PassSeconds("", *seconds)
    times = simulate(schedule, work.costs(schedule, send))
    return _untimed(schedule, setting) | _figures(times, setting, work, send) | {"ranks": _placed(schedule, times)}


def check_numbers(sizes: dict[str, int], seconds: Sequence[float], send: float, most: int = MOST_PASSES) -> None:
    """Raise ValueError that names what a reader typed and cannot be: a size, so many passes, or seconds."""
    for letter, value in sizes.items():
        if not (isinstance(value, int) and 1 <= value <= LIMITS[letter]):
            raise ValueError(f"{letter} is a whole number from 1 to {LIMITS[letter]}, got {value}")
    if (passes := math.prod(sizes.values())) > most:
        raise ValueError(f"p m v = {passes:,} forward passes are more than the {most:,} that are worked out in a page")
    if not all(0 <= value < math.inf for value in (*seconds, send)) or not sum(seconds[:3]) > 0:
        told = ", ".join(f"{value:g}" for value in seconds)
        raise ValueError(f"seconds are numbers from 0 on, and one of F, I, W is more: got {told}, a message {send:g}")


def _untimed(schedule: Schedule, setting: ExplorerSetting) -> dict[str, Any]:
    """What does not depend on costs."""
    share = schedule.ranks / schedule.stages
    return {
        "share": share,
        "stages": schedule.chunks,
        "peaks": [round(peak * share, 6) for peak in activations(schedule)],
        "versions": kept_versions(schedule),
        "peak": _closed(lambda: max(formulas.peaks(*setting))),
    }


def _placed(schedule: Schedule, times: Times) -> list[list[tuple]]:
    """Of each rank its actions, as `worked_out` tells them."""
    ranks = []
    for r, (order, starts, ends) in enumerate(zip(schedule, times.starts, times.ends)):
        sides = {k + i: i + 1 for k in (schedule.overlapped[r] if schedule.overlapped else ()) for i in (0, 1)}
        ranks.append(
            [
                (a.kind, a.stage, schedule.chunks[r].index(a.stage), a.micro, start / TICK, end / TICK, sides.get(k, 0))
                for k, (a, start, end) in enumerate(zip(order, starts, ends))
            ]
        )
    return ranks


def _letters(order: Sequence, stages: list[int]) -> tuple[str, dict[str, list[int]]]:
    """The letters of an order, and of each letter its micro-batches if they are not 0, 1, 2, ..."""
    kinds = list(KINDS)
    letters = [LETTERS[len(kinds) * stages.index(action.stage) + kinds.index(action.kind)] for action in order]
    micro = {each: [a.micro for a, letter in zip(order, letters) if letter == each] for each in sorted(set(letters))}
    return "".join(letters), {each: row for each, row in micro.items() if row != list(range(len(row)))}


def _timed(schedule: Schedule, setting: ExplorerSetting, work: PassSeconds, send: float) -> dict[str, Any]:
    """What the page gets of one simulation: whole ticks, and the figures that are shown."""
    costs = work.costs(schedule, send)
    times = simulate(schedule, costs)
    values: list[int] = []
    waits = [_waits(starts, ends, values) for starts, ends in zip(times.starts, times.ends)]
    took = {kind: [ticks(costs.of(kind, s)) for s in range(schedule.stages)] for kind in KINDS}
    return {
        "took": {kind: row if len(set(row)) > 1 else row[0] for kind, row in took.items()},
        "waits": waits,
        "values": values,
        **_figures(times, setting, work, send),
        "makespan": ticks(times.makespan),
    }


def _figures(times: Times, setting: ExplorerSetting, work: PassSeconds, send: float) -> dict[str, Any]:
    return {
        "makespan": times.makespan / TICK,
        "bubble": round(times.bubble, 6),
        "spans": round(times.bubble_of_spans, 6),
        "idle": _closed(lambda: formulas.idle(*setting, work.whole(send))),
        "formula": _closed(lambda: formulas.bubble(*setting, work.whole(send))),
    }


def _closed(form: Callable[[], float]) -> float | str:
    """What a closed form says; where it is not exact, the words with which it says so."""
    try:
        return round(form(), 6)
    except NoClosedForm as error:
        return str(error)


def _waits(starts: list[float], ends: list[float], values: list[int]) -> str:
    """Of one rank's actions the wait before each: ".", or the letter of its place in `values`, which may grow."""
    told, until = [], 0.0
    for start, end in zip(starts, ends):
        waited = ticks(max(start - until, 0.0))
        if waited and waited not in values:
            values.append(waited)
        told.append(LETTERS[values.index(waited)] if waited else ".")
        until = end
    return "".join(told).rstrip(".")


def ticks(seconds: float) -> int:
    """Seconds as a whole number of ticks. Raises ValueError if they are none."""
    whole = round(seconds / TICK)
    if abs(whole * TICK - seconds) > 1e-9 * max(1.0, seconds):
        raise ValueError(f"{seconds} s is no multiple of {TICK} s: take other costs, or a finer TICK")
    return whole


def needed() -> dict[str, list[tuple[str, int]]]:
    """Of each kind of action what it may need: (kind, how many stages further on), of the same micro-batch.

    Found by asking `needs` of a stage in the middle, where backward passes are in one piece and where they are in two.
    """
    found = {
        kind: {(need.kind, need.stage - 1) for name in ("GPipe", "ZB-H1") for need in _needs(kind, name)}
        for kind in KINDS
    }
    return {kind: sorted(pairs) for kind, pairs in found.items()}


def _needs(kind: str, name: str) -> list[Action]:
    return needs(Action(kind, 1, 0), make(name, 3, 1))

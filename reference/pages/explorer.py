"""An explorer of schedules for the page: choose one, see when everything happens, compare, step through.

    Explorer()                                           # as the last line of a cell
    Explorer(names=["GPipe", "1F1B"], ranks=[4], micro_batches=[4, 8])          # smaller

Idea      Nothing is computed in the page. Every setting of a grid is simulated here, by the functions that the chapter
          uses, and the page gets what they return; its script (explorer.js) decodes and draws. A setting for which
          there is no schedule carries the reason, the words of the ValueError.
Sends     A grid has a hundred thousand actions and a million times, so they are written as briefly as they can be told:

          order   one letter per action, for kind and chunk: LETTERS[len(KINDS) * chunk + kind]. Its micro-batch is the
                  next one, 0, 1, 2, ..., unless `micro` lists those of that letter
          times   only where a rank waits: one character per action, "." for none, else its place in a list of seconds.
                  All other times follow: an action starts when the one before it has ended and the rank has waited

          Times are whole numbers of TICK, so that nothing is rounded. All of it is compressed, and unpacked by the page
          (DecompressionStream) with nothing fetched; without JavaScript a reader sees a table and one chart.
"""

from __future__ import annotations

import base64
import gzip
import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from hashlib import sha256
from typing import Any, NamedTuple

from ..pipeline.analysis import formulas
from ..pipeline.analysis.draw import HEIGHTS, LIGHTER, PASS_COLOURS, gantt
from ..pipeline.analysis.versions import kept_versions
from ..pipeline.schedule import KINDS, Action, Schedule, needs
from ..pipeline.schedules.catalogue import SCHEDULES, make
from ..pipeline.schedules.record import NoClosedForm, require
from ..pipeline.simulate import Costs, Times, activations, simulate
from .widget import escaped, widget

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


class ExplorerSetting(NamedTuple):
    """A schedule of the catalogue, p ranks, m micro-batches, v chunks a rank."""

    name: str
    p: int
    m: int
    v: int

    def __str__(self) -> str:
        return f"{self.name}.{self.p}.{self.m}.{self.v}"


class Explorer:
    """All schedules of a grid, to be explored in a page: Jupyter and the book show it.

    names           of schedules (catalogue.py)
    ranks, micro_batches, chunks    the p, m and, for schedules that leave it open, v that can be chosen
    The HTML stands for itself: data, script and style are in it, and nothing is fetched.
    """

    def __init__(
        self,
        names: Iterable[str] = tuple(SCHEDULES),
        ranks: Sequence[int] = (2, 3, 4, 8),
        micro_batches: Sequence[int] = (1, 2, 4, 6, 8, 12, 16, 24),
        chunks: Sequence[int] = (2, 3, 4),
    ):
        self.names, self.ranks, self.micro_batches, self.chunks = list(names), ranks, micro_batches, chunks

    def chunks_of(self, name: str) -> Sequence[int]:
        """The chunks a rank that can be chosen with a schedule."""
        fixed = SCHEDULES[name].chunks
        return self.chunks if fixed is None else [fixed]

    @property
    def settings(self) -> list[ExplorerSetting]:
        """Everything that can be chosen, apart from costs."""
        return [
            ExplorerSetting(name, p, m, v)
            for name in self.names
            for v in self.chunks_of(name)
            for p, m in itertools.product(self.ranks, self.micro_batches)
        ]

    @cached_property
    def plans(self) -> dict[str, dict[str, Any]]:
        """Of each setting what the page gets: see `page_data`."""
        return {str(setting): page_data(setting) for setting in self.settings}

    def head(self) -> dict[str, Any]:
        """What the page gets apart from the plans: what there is to choose, and how to read the plans."""
        return {
            "tick": TICK,
            "letters": LETTERS,
            "kinds": KINDS,
            "colours": PASS_COLOURS,
            "lighter": LIGHTER,
            "heights": HEIGHTS,
            "needs": needed(),
            "works": {name: [work.idea, work.F, work.I, work.W] for name, work in PASS_SECONDS.items()},
            "sends": [f"{send:g}" for send in MESSAGE_SECONDS],
            "ranks": self.ranks,
            "micro_batches": self.micro_batches,
            "schedules": {
                name: {"idea": SCHEDULES[name].idea, "chunks": self.chunks_of(name), "text": SCHEDULES[name].bubble}
                for name in self.names
            },
        }

    def lines(self) -> str:
        """All plans, one a line: its setting, a tab, JSON."""
        return "\n".join(f"{key}\t{json.dumps(told, separators=(',', ':'))}" for key, told in self.plans.items())

    def _repr_html_(self) -> str:
        packed = base64.b64encode(gzip.compress(self.lines().encode(), mtime=0)).decode()
        data = self.head() | {"packed": packed}
        return widget(__file__, "explorer", "explorer of pipeline schedules", data, _instead(self.names))

    def __repr__(self) -> str:
        refused = sum("refused" in told for told in self.plans.values())
        # of what is in the page before it is compressed: another compressor may find other bytes for the same
        told = widget(__file__, "explorer", "", self.head() | {"lines": self.lines()}, _instead(self.names))
        return (
            f"explorer of {len(self.names)} schedules in {len(self.plans) - refused:,} sizes, each with "
            f"{len(PASS_SECONDS) * len(MESSAGE_SECONDS)} costs; {refused} sizes have no schedule "
            f"(page {sha256(told.encode()).hexdigest()[:8]})"
        )


# A plan: what is told of one setting ---------------------------------------------------------------------------------


def page_data(setting: ExplorerSetting) -> dict[str, Any]:
    """What the page gets of one setting, or {"refused": why} if there is no such schedule.

    share       which part of a rank's work one stage is
    stages      of each rank those that it has; order, micro, overlapped: its actions (see above)
    peaks       of each rank, activations in units of what a micro-batch leaves in a rank's whole share
    versions    of each rank, versions of the weights
    peak        the most of them, in closed form; where there is none, its region
    times       one for each of WORKS, and in it for each of SENDS
    """
    try:
        schedule = make(*setting)
        simulate(schedule)
    except ValueError as error:
        return {"refused": str(error)}
    share = schedule.ranks / schedule.stages
    told = [_letters(order, stages) for order, stages in zip(schedule, schedule.chunks)]
    return {
        "share": share,
        "stages": schedule.chunks,
        "order": [letters for letters, _ in told],
        "micro": [micro for _, micro in told],
        "overlapped": [sorted(pairs) for pairs in schedule.overlapped],
        "peaks": [round(peak * share, 6) for peak in activations(schedule)],
        "versions": kept_versions(schedule),
        "peak": _closed(lambda: max(formulas.peaks(*setting))),
        "times": [_timed(schedule, setting, work, send) for work in PASS_SECONDS.values() for send in MESSAGE_SECONDS],
    }


def _letters(order: Sequence, stages: list[int]) -> tuple[str, dict[str, list[int]]]:
    """The letters of an order, and of each letter its micro-batches if they are not 0, 1, 2, ..."""
    kinds = list(KINDS)
    letters = [LETTERS[len(kinds) * stages.index(action.stage) + kinds.index(action.kind)] for action in order]
    micro = {each: [a.micro for a, letter in zip(order, letters) if letter == each] for each in sorted(set(letters))}
    return "".join(letters), {each: row for each, row in micro.items() if row != list(range(len(row)))}


def _timed(schedule: Schedule, setting: ExplorerSetting, work: PassSeconds, send: float) -> dict[str, Any]:
    """What the page gets of one simulation: ticks, and the figures that are shown."""
    costs = work.costs(schedule, send)
    times = simulate(schedule, costs)
    values: list[int] = []
    waits = [_waits(starts, ends, values) for starts, ends in zip(times.starts, times.ends)]
    took = {kind: [ticks(costs.of(kind, s)) for s in range(schedule.stages)] for kind in KINDS}
    return {
        "took": {kind: row if len(set(row)) > 1 else row[0] for kind, row in took.items()},
        "waits": waits,
        "values": values,
        "makespan": ticks(times.makespan),
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


# Without JavaScript --------------------------------------------------------------------------------------------------


def _instead(names: list[str], p: int = 4, m: int = 8) -> str:
    """HTML for readers without JavaScript: the schedules of one size in a table, and 1F1B as text."""
    rows = []
    for name in names:
        try:
            schedule = make(name, p, m)
        except ValueError:
            continue
        times, share = simulate(schedule, PASS_SECONDS["1:1:1"].costs(schedule, 0.0)), schedule.ranks / schedule.stages
        peak, kept = max(activations(schedule)) * share, max(kept_versions(schedule))
        cells = [escaped(name), f"{times.makespan:g}", f"{times.bubble:.1%}", f"{peak:g}", f"{kept}"]
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    heads = ["schedule", "makespan", "bubble", "peak activations", "versions of the weights"]
    chart = escaped("\n".join(gantt(_example(p, m))))
    return (
        f"<p>Here is an explorer of pipeline schedules, which needs JavaScript and a browser of 2023 or later. Without "
        f"them, the schedules on {p} ranks with {m} micro-batches, F = I = W = 1 second, nothing for messages:</p>\n"
        f"<table><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>\n" + "\n".join(rows) + "</table>\n"
        f"<p>1F1B, one line a rank, one column a second:</p>\n<pre>{chart}</pre>"
    )


def _example(p: int, m: int) -> Times:
    return simulate(make("1F1B", p, m))

"""The record of a schedule: what is known of it, next to the function that makes it, with its closed forms.

Idea      A formula is a theorem about an order: it holds for some numbers p, m, v and some costs and not for others.
          Papers seldom say for which. Here each form says it: elsewhere it raises NoClosedForm, with the reason. The
          tests hold each against simulate() over random numbers and costs, and the words that stand for it, too.

What is idle is makespan - m (F + B): seconds from the first start to the last end in which a rank does nothing. All
ranks have equally much to do; only if a pair is quicker than its two passes (DualPipe) they have not, and then it is
the rank that is idle longest. By span: from a rank's own first start to its own last end instead.

Letters: p ranks, r one of them, m micro-batches, v chunks a rank. Seconds of a rank's whole share of the model for one
micro-batch: F, I, W, B = I + W, FB of a pair of F and B side by side; c of a message (0 if p = 1), S of a step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ..schedule import Schedule


class NoClosedForm(ValueError):
    """Here the closed form is not exact: simulate() instead."""


class RankCosts(NamedTuple):
    """Costs of a rank's share of the model, as numbers."""

    F: float
    I: float  # noqa: E741
    W: float
    B: float
    S: float
    c: float
    pair: float


def require(holds: bool, region: str) -> None:
    """Raise NoClosedForm unless `holds`."""
    if not holds:
        raise NoClosedForm(f"the closed form is exact for {region}; simulate() elsewhere")


class Form(NamedTuple):
    """A closed form.

    value   a function; it raises NoClosedForm where it is not exact
    text    the same to be read, where messages and optimizer steps take no time
    where   conditions of the text, between commas; "" for none. `value` may hold for more
    """

    value: Callable
    text: str
    where: str

    def __str__(self) -> str:
        return f"{self.text} for {self.where}" if self.where else self.text


class Placement(NamedTuple):
    """Where stages live.

    chunks      stages of a rank; None: v of them, as many as one likes
    copies      of every parameter, over all ranks
    stages      (r, p, v) -> those of rank r
    boundaries  (p, v) -> cuts between stages on different ranks: each costs an activation and a gradient for every
                micro-batch
    """

    name: str
    chunks: int | None
    copies: int
    stages: Callable[[int, int, int], list[int]]
    boundaries: Callable[[int, int], int]


LINE = Placement("line", 1, 1, lambda r, p, v: [r], lambda p, v: p - 1)
LOOP = Placement("loop", None, 1, lambda r, p, v: [c * p + r for c in range(v)], lambda p, v: p * v - 1 if p > 1 else 0)
V_SHAPE = Placement("V", 2, 1, lambda r, p, v: [r, 2 * p - 1 - r], lambda p, v: 2 * (p - 1))
BOTH_ENDS = Placement("both ends", 2, 2, lambda r, p, v: sorted([r, p - 1 - r]), lambda p, v: p - 1)


@dataclass(frozen=True, kw_only=True)
class ScheduleRecord:
    """All that is known of a schedule, next to the function that makes it.

    No field has a default: one that is forgotten is a TypeError when the module is imported. SCHEDULES in catalogue.py
    lists the records; the command line, the explorer, the search, closed forms, tests and the book ask it.

    name       by which it is chosen
    make       (p, m, **options) -> Schedule; (p, m, v, **options) where the placement leaves the chunks open
    idea       what it does, in one sentence
    source     authors (year), ...: the docstring of the module has the titles; nothing if nobody's in particular
    elsewhere  framework -> what it is called there
    placement  where stages live
    weights    "flush", "stash" or "double", as in Schedule
    options    names of what else can be chosen; `refuses`, `idle` and `peaks` take them
    refuses    (p, m, **options) -> why there is no such schedule, or "" if there is one
    idle       (p, m, v, RankCosts, **options) -> seconds of a step in which each rank is idle
    span       (p, m, v, RankCosts) -> the same, from a rank's own first start to its own last end
    peaks      (p, m, v, **options) -> of each rank the most activations that it keeps, in units of what a micro-batch
               leaves in a rank's share; its text has r
    versions   (p, m) -> of each rank the most versions of its weights that it keeps; its text has r
    """

    name: str
    make: Callable[..., Schedule]
    idea: str
    source: str
    elsewhere: Mapping[str, str]
    placement: Placement
    weights: str
    options: tuple[str, ...]
    refuses: Callable[..., str]
    idle: Form
    span: Form
    peaks: Form
    versions: Form

    @property
    def chunks(self) -> int | None:
        """Stages of a rank; None: as many as one likes."""
        return self.placement.chunks

    @property
    def bubble(self) -> str:
        """The idle seconds to be read; those by span, too, if they are others."""
        return str(self.idle) if self.span is self.idle else f"{self.idle}; by span {self.span}"


def of_all_sizes(p: int, m: int) -> str:
    """`refuses` of a schedule that there is for all p and m."""
    return ""


def even_peaks(peak: Callable[[int, int], float], text: str) -> Form:
    """Of a schedule whose ranks all keep peak(p, m), for all p and m."""
    return Form(lambda p, m, v: [peak(p, m)] * p, text, "")


ONE_VERSION = Form(lambda p, m: [1] * p, "1", "")

"""What an exercise is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Case(NamedTuple):
    """One input. `arguments[rank]` is what the function gets on that rank (after comm, if it takes one)."""

    label: str
    arguments: tuple[tuple, ...]

    @property
    def ranks(self) -> int:
        """How many ranks the case runs on."""
        return len(self.arguments)


@dataclass(frozen=True)
class Answer:
    """What the student's function did with one case. Every list has one entry a rank.

    results     what it returned, as plain data (plain.py)
    arguments   its arguments, as the call left them
    aliased     whether the result is (part of) the memory of an argument
    bytes_sent  how many bytes the rank sent; messages: how many messages; calls: Counter of the names it called
    receivers   the ranks it sent to, in order
    """

    results: list[Any]
    arguments: list[tuple]
    aliased: list[bool]
    bytes_sent: list[int] = field(default_factory=list)
    messages: list[int] = field(default_factory=list)
    calls: list[Counter] = field(default_factory=list)
    receivers: list[list[int]] = field(default_factory=list)


class Finding(NamedTuple):
    """What is wrong: `seen` are the facts, with numbers; `hint` aims at the mistake and does not give the answer."""

    seen: str
    hint: str


Check = Callable[[Case, Answer], Finding | None]


@dataclass(frozen=True)
class Exercise:
    """A function to write: `cases(rng)` makes fresh inputs; the first check that finds something gives the hint.

    `hints` is the ladder that --hints shows, from a nudge to nearly everything; at least two steps.
    """

    cases: Callable[[Any], Iterable[Case]]
    checks: Sequence[Check]
    hints: Sequence[str]

    distributed = False


class Distributed(Exercise):
    """An exercise whose function takes a communicator first and runs on every rank of a case."""

    distributed = True

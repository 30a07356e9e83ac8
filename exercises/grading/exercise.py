"""What an exercise is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

ALPHA, BETA = 2.0**-20, 2.0**-30  # about 1 us and 1 GB/s: powers of two, so that times are exact


class Case(NamedTuple):
    """One input. `arguments[rank]` is what the function gets on that rank (after comm, if it takes one).

    noted: the name of a kind of call of comm whose arguments an Answer keeps, such as "Allgather"
    """

    label: str
    arguments: tuple[tuple, ...]
    noted: str = ""

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
    calls       Counter of the names it called
    sent        its messages in order, each (to, bytes); those to itself are left out, and on real ranks those inside
                MPI's own collectives are not seen
    seconds     when the last rank was through, by the virtual cluster's clock; None on real ranks, whose time varies
    came        its arguments of each call of the kind that the case has noted, as the call left them
    """

    results: list[Any]
    arguments: list[tuple]
    aliased: list[bool]
    calls: list[Counter] = field(default_factory=list)
    sent: list[list[tuple[int, int]]] = field(default_factory=list)
    seconds: float | None = None
    came: list[list] = field(default_factory=list)


class Finding(NamedTuple):
    """What is wrong: `seen` are the facts, with numbers; `hint` aims at the mistake and does not give the answer."""

    seen: str
    hint: str


# A check may say what it knows to be wrong as `known`, a list of Known; tests then see that each earns its hint.
Check = Callable[[Case, Answer], Finding | None]
Known = tuple[Callable[..., Any], str]  # what somebody computes from the arguments who makes this mistake; the hint


@dataclass(frozen=True)
class Exercise:
    """A function to write: `cases(rng)` makes fresh inputs; the first check that finds something gives the hint.

    `hints` is the ladder that --hints shows, from a nudge to nearly everything; at least two steps. `endings` are hints
    for runs that end without an answer, where this exercise knows better than endings.py: {the name of the exception or
    what its text says, "send(" for a call in which a rank waits, or the limit that was met ("cpu", "wall", "memory"):
    the hint, or a function of the case that gives it, or ""}. The first that fits is told.

    in_place: the function is to write into its arguments, or may return them; contract.py then leaves them alone.
    """

    cases: Callable[[Any], Iterable[Case]]
    checks: Sequence[Check]
    hints: Sequence[str]
    endings: Mapping[str, str | Callable[[Case], str]] = field(default_factory=dict)
    in_place: bool = False

    distributed = False


@dataclass(frozen=True)
class Distributed(Exercise):
    """An exercise whose function takes a communicator first and runs on every rank of a case.

    `network(case)` is the network of the virtual cluster; on the one that it is unless told, a message of n bytes takes
    ALPHA + n BETA seconds, in which it holds both ports (gap = inf: the plain alpha-beta model), and adding takes none.
    """

    network: Callable[[Case], Any] | None = None

    distributed = True

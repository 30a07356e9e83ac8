"""The record of an algorithm: all that is known of a schedule, next to its generator.

catalogue.py lists the records. The command line, the automatic choice, what is measured on a real machine, tests,
benchmarks and the tables of the book ask them, so a new all-reduce is in all of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ..networks.network import Link
from .cost import Cost, Volume
from .rounds import Round

Holds = Literal["exactly", "at most", "within a factor of 2"]
MOST_SEGMENTS = 256  # to choose from


@dataclass(frozen=True)
class Algorithm:
    """A schedule of any collective.

    rounds    (rank, ranks, **options) -> its rounds
    blocks    (ranks, **options) -> into how many blocks it cuts the array
    cost      (P, count, itemsize, link, **options) -> its closed form on a uniform network
    """

    rounds: Callable[..., Iterator[Round]]
    blocks: Callable[..., int]
    cost: Callable[..., Cost]


class Option(NamedTuple):
    """What an algorithm has to be told: a keyword of its rounds, blocks, cost and volume.

    name      the keyword
    flag      of the command line, without dashes; options of several algorithms may share one
    meaning   for --help
    default   of the command line; None: there is none, it has to be told
    values    (ranks, elements) -> what can be chosen for so many ranks and an array of so many elements
    rule      (ranks, elements) -> why there are no others
    """

    name: str
    flag: str
    meaning: str
    default: Any
    values: Callable[[int, int], Sequence[Any]]
    rule: Callable[[int, int], str]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Setting:
    """For what an algorithm is sought: P ranks, count elements of itemsize bytes, on a machine of which this is known.

    link      the slowest link; None: nothing is known, what is named will be measured
    groups    sizes of groups of consecutive ranks, nodes or pods, that are nearer to each other than to the rest
    meet      whether messages can meet on links there, so that candidates have to be evaluated, message by message
    """

    P: int
    count: int
    itemsize: int
    link: Link | None
    groups: tuple[int, ...]
    meet: bool


@dataclass(frozen=True, kw_only=True)
class AllreduceRecord(Algorithm):
    """All that is known of an all-reduce.

    No field has a default: one that is forgotten is a TypeError when the module is imported. ALLREDUCE in catalogue.py
    lists the records.

    name        by which it is chosen
    idea        what it does, in one line
    volume      (P, count, itemsize, **options) -> what each rank sends, by a formula and not by the schedule
    holds       (P, count, **options) -> how the time on a uniform network compares with `cost`
    options     what it has to be told
    candidates  (setting) -> the options with which it is worth trying there; none: it is not
    source      authors (year), as in the docstring of its module
    """

    name: str
    idea: str
    volume: Callable[..., Volume]
    holds: Callable[..., Holds]
    options: tuple[Option, ...]
    candidates: Callable[[Setting], list[dict[str, Any]]]
    source: str

    @property
    def make(self) -> Callable[..., Iterator[Round]]:
        """What its name leads to in the tables of the book."""
        return self.rounds

    def some_options(self, ranks: int) -> dict[str, Any]:
        """Options that so many ranks can carry out: the defaults, and of what has none a value in the middle."""

        def value(option: Option) -> Any:
            values = option.values(ranks, MOST_SEGMENTS)
            return values[len(values) // 2] if option.default is None else option.default

        return {option.name: value(option) for option in self.options}


# What several records say ----------------------------------------------------------------------------------------


def one_block(ranks: int, **options: Any) -> int:
    """The array is not cut."""
    return 1


def a_block_each(ranks: int, **options: Any) -> int:
    """A block for each rank."""
    return ranks


def in_segments(ranks: int, segments: int = 1) -> int:
    """A block for each segment. Raises ValueError for less than one."""
    if segments < 1:
        raise ValueError(f"an array cannot be cut into {segments} segments: give 1 or more")
    return segments


def exactly(P: int, count: int, **options: Any) -> Holds:
    """The formula is the time, for any number of ranks and any length."""
    return "exactly"


def at_most(P: int, count: int, **options: Any) -> Holds:
    """The formula is a bound."""
    return "at most"


def always(setting: Setting) -> list[dict[str, Any]]:
    """Worth trying everywhere; it has no options."""
    return [{}]


def never(setting: Setting) -> list[dict[str, Any]]:
    """Not worth trying: there to be compared with."""
    return []


def groups_of(flag: str, name: str, meaning: str) -> Option:
    """The option that says how many consecutive ranks form a group: a divisor of their number."""

    def divisors(ranks: int, elements: int) -> list[int]:
        return [size for size in range(1, ranks + 1) if ranks % size == 0]

    return Option(name, flag, meaning, None, divisors, lambda ranks, elements: f"must divide {ranks}")


def _segment_numbers(ranks: int, elements: int) -> range:
    return range(1, max(1, min(elements, MOST_SEGMENTS)) + 1)


def _no_more_segments(ranks: int, elements: int) -> str:
    few = elements < MOST_SEGMENTS
    return "the largest array has no more elements" if few else f"at most {MOST_SEGMENTS} are offered"


SEGMENTS = Option(
    name="segments",
    flag="segments",
    meaning="into how many segments a tree's array is cut",
    default=8,
    values=_segment_numbers,
    rule=_no_more_segments,
)

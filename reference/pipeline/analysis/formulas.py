"""The costs of a schedule, by its name, without following it: idle time, memory, weights, messages.

Idea      The record of a schedule has its closed forms (schedules/record.py) and says where each is exact: elsewhere,
          and for schedules that there are not, all these functions raise NoClosedForm, with the reason. The tests hold
          each against simulate(), activations(), versions() and messages().
Price     `idle`, `idle_in_span`, `bubble`: seconds in which ranks do nothing. `peaks`: what a rank keeps at most, in
          units of what one micro-batch leaves in a rank's share of the model; 1F1B keeps at most p - r on rank r,
          however many micro-batches, GPipe all m. `most_versions` of its weights that a rank keeps at most.
          `fewest_micro_batches` for a bubble: 4(p - 1) for a fifth, hence the rule m >= 4p. It follows from the
          `efficiency` m/(m + p - 1), which knows nothing of messages, nor of how much slower smaller micro-batches
          compute.
Sends     `boundaries`: cuts between stages on different ranks. Each costs an activation and a gradient for every
          micro-batch. v chunks make p v - 1 of p - 1, more than v times as many; the V shape turns within a rank.
"""

from __future__ import annotations

import math

from ..schedule import check_sizes
from ..schedules.catalogue import SCHEDULES
from ..schedules.record import NoClosedForm, RankCosts, ScheduleRecord, require
from ..simulate import UNIT, Costs


def existing(name: str, p: int, m: int, v: int = 1, **options: int | None) -> ScheduleRecord:
    """The record of a schedule, if there is one of these sizes. Raises NoClosedForm if there is none, ValueError for no
    schedule's name."""
    record = SCHEDULES[SCHEDULES.canonical_name(name)]
    check_sizes(p, m, v)
    if others := [option for option in options if option not in record.options]:
        having = [other.name for other in SCHEDULES.values() if set(others) <= set(other.options)]
        why = f"{', '.join(others)} can be chosen for {' and '.join(having) or 'no schedule'} only"
    elif record.chunks is not None and v not in (1, record.chunks):
        why = f"a rank has {record.chunks} stage{'s' * (record.chunks > 1)}, not {v}: take {record.chunks}"
    else:
        why = record.refuses(p, m, **options)
    if why:
        raise NoClosedForm(f"{record.name} for p = {p}, m = {m}: {why}")
    return record


def idle(name: str, p: int, m: int, v: int = 1, costs: Costs = UNIT, **options: int) -> float:
    """Seconds of a step in which each rank is idle. costs: those of a rank's share; a stage's are costs.chunked(v).

    options: those of the schedule, such as lead and group of interleaved 1F1B. Raises NoClosedForm where
    the closed form is not exact, or there is no such schedule.
    """
    return existing(name, p, m, v, **options).idle.value(p, m, v, rank_costs(p, costs), **options)


def idle_in_span(name: str, p: int, m: int, v: int = 1, costs: Costs = UNIT) -> float:
    """The same from a rank's own first start to its own last end, for the rank where that is longest (zero-bubble
    papers divide by it): steps in a row overlap, and only this is lost. Raises NoClosedForm as `idle` does."""
    return existing(name, p, m, v).span.value(p, m, v, rank_costs(p, costs))


def bubble(name: str, p: int, m: int, v: int = 1, costs: Costs = UNIT, **options: int) -> float:
    """The share of the makespan in which ranks are idle, as Times.bubble. Raises NoClosedForm as `idle` does."""
    x = rank_costs(p, costs)
    require(x.pair == x.F + x.B, "pairs that take as long as their two passes")
    lost = idle(name, p, m, v, costs, **options)
    return lost / (lost + m * (x.F + x.B))


def peaks(name: str, p: int, m: int, v: int = 1, **options: int) -> list[float]:
    """Of each rank the most activations that it keeps, in units of what a micro-batch leaves in a rank's share.

    Raises NoClosedForm as `idle` does.
    """
    return existing(name, p, m, v, **options).peaks.value(p, m, v, **options)


def most_versions(name: str, p: int, m: int) -> list[int]:
    """Of each rank the most versions of its weights that it keeps. 2BW: with batches of p.

    Raises NoClosedForm as `idle` does.
    """
    return existing(name, p, m).versions.value(p, m)


def boundaries(name: str, p: int, v: int = 1) -> int:
    """Cuts between stages on different ranks: one activation and one gradient each for every micro-batch.

    Raises NoClosedForm as `idle` does.
    """
    with_all = 2 * p  # micro-batches, of which there are all schedules that there are with p ranks
    return existing(name, p, with_all, v).placement.boundaries(p, v)


def efficiency(p: int, m: int, v: int = 1) -> float:
    """m/(m + (p - 1)/v): the share of the time in which ranks of GPipe, 1F1B and (m >= p) interleaved 1F1B compute."""
    return m / (m + (p - 1) / v)


def fewest_micro_batches(p: int, share: float, v: int = 1) -> int:
    """The least m with a bubble of at most `share`: (p - 1)(1 - share)/(share v). If v > 1, the least from p on."""
    if not 0 < share < 1:
        raise ValueError(f"share = {share} must be between 0 and 1")
    return max(math.ceil((p - 1) * (1 - share) / (share * v) - 1e-9), p if v > 1 else 1)


def gpipe_makespan(stages: int, m: int, costs: Costs) -> float:
    """Seconds of GPipe with stages of any costs: the sum of all, and m - 1 times the largest F and the largest B.

    1F1B takes at most as long if messages take no time, and less if these are on different stages and m > 1.
    """
    F, B = ([costs.of(kind, s) for s in range(stages)] for kind in "FB")
    return sum(F) + sum(B) + (m - 1) * (max(F) + max(B)) + 2 * (stages - 1) * costs.send


def rank_costs(p: int, costs: Costs) -> RankCosts:
    """The costs as the closed forms take them. Raises NoClosedForm if stages differ."""
    require(all(isinstance(x, float | int | None) for x in costs), "stages of equal cost")
    F, I, W, B, S = (costs.of(kind, 0) for kind in "FIWBS")  # noqa: E741
    return RankCosts(F, I, W, B, S, costs.send if p > 1 else 0.0, costs.of("pair", 0))

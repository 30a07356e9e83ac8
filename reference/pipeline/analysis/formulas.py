"""What a schedule costs, by its name, without following it: idle time, memory, weights, messages.

Idle      `idle`, `idle_in_span` and `bubble`: closed forms from bubbles.py, which says where each is exact.
Memory    `peaks`: what a rank keeps at most, in units of what one micro-batch leaves in a rank's share of the model.
          1F1B keeps at most p - r on rank r, however many micro-batches; GPipe keeps all m.
Weights   `copies` of every parameter over all ranks, and `most_versions` of it that a rank keeps at most.
Messages  `boundaries`: cuts between stages on different ranks. Each costs an activation and a gradient for every
          micro-batch. v chunks make p v - 1 of p - 1, more than v times as many; the V shape turns within a rank.
Choice    `efficiency` m/(m + p - 1), and the `fewest_micro_batches` for a bubble: 4(p - 1) for a fifth, hence the rule
          m >= 4p. It knows nothing of messages, nor of how much slower smaller micro-batches compute.
Check     tests/pipeline/analysis/test_formulas.py: each against simulate(), activations(), versions() and messages().
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from ..schedule import check_sizes
from ..schedules.catalogue import SCHEDULES
from ..schedules.interleaved import groups, interleaved_refuses
from ..simulate import UNIT, Costs
from . import bubbles
from .bubbles import NoClosedForm, RankCosts, require


class Form(NamedTuple):
    """The closed forms of one schedule.

    idle     (p, m, v, Seconds) -> seconds; `text` is the same where messages take no time, to be read
    peaks    (p, m, v) -> of each rank, in units of a micro-batch in a rank's share
    cuts     (p, v) -> boundaries between ranks
    span     as idle, from each rank's own first start to its own last end; None: not other than idle
    copies   of every parameter
    """

    idle: Callable[..., float]
    text: str
    peaks: Callable[[int, int, int], list[float]]
    cuts: Callable[[int, int], int] = lambda p, v: p - 1
    span: Callable[..., float] | None = None
    copies: int = 1


def _falling(p: int, m: int, v: int) -> list[float]:
    return [min(m, p - r) for r in range(p)]


def _flat(peak: Callable[[int, int], float]) -> Callable[[int, int, int], list[float]]:
    return lambda p, m, v: [peak(p, m)] * p


def _interleaved(p: int, m: int, v: int, lead: int | None = None, group: int | None = None) -> list[float]:
    lead = lead or (2 if v > 1 else 1)
    ahead = (v - 1) * len(groups(m, group or p)[0])
    return [min(ahead + lead * (p - r - 1) + 1, m * v) / v for r in range(p)]


def _v_shaped(peak: Callable[[int], float], least: int) -> Callable[[int, int, int], list[float]]:
    def peaks(p: int, m: int, v: int) -> list[float]:
        require(m >= least * p, f"m >= {least}p")
        return [peak(p)] * p

    return peaks


def _v_min(p: int, m: int, v: int) -> list[float]:
    require(p % 3 != 2 and m >= p, "m >= p, and p not of the form 3k + 2, where the ranks differ")
    return [(p + 1) // 3 + 1] * p


def _loops(p: int, v: int) -> int:
    return p * v - 1 if p > 1 else 0


def _turns(p: int, v: int) -> int:
    return 2 * (p - 1)


FORMS: dict[str, Form] = {
    "naive": Form(bubbles.naive, "(p-1) m (F+B)", _flat(lambda p, m: 1)),
    "GPipe": Form(bubbles.gpipe, "(p-1)(F+B)", _flat(lambda p, m: m)),
    "1F1B": Form(bubbles.one_f_one_b, "(p-1)(F+B)", _falling),
    "interleaved 1F1B": Form(bubbles.interleaved, "(p-1)(F+B)/v", _interleaved, _loops),
    "depth first": Form(bubbles.interleaved, "(p-1)(F+B)/v", _interleaved, _loops),
    "breadth first": Form(bubbles.breadth_first, "(p-1)(F+B)/v", _flat(lambda p, m: m), _loops),
    "PipeDream": Form(bubbles.updated, "(p-1)(F+B), once in an endless stream", _falling),
    "2BW": Form(bubbles.updated, "(p-1)(F+B), once in an endless stream", _falling),
    "ZB-H1": Form(bubbles.zb_h1, "(p-1)(F+I-W) for W<=F,I", _flat(min), span=bubbles.zb_h1_span),
    "ZB-H2": Form(
        bubbles.zb_h2,
        "(p-1)F; (p-1)(F+I-2W) by span; W<=F, 2W<=F+I, I<=2W",
        _flat(lambda p, m: min(m, 2 * p - 1)),
        span=bubbles.zb_h2_span,
    ),
    "ZB-V": Form(bubbles.zb_v, "(p-1)F/2; 0 by span; F=I=W", _v_shaped(lambda p: p, 1), _turns, bubbles.zb_v_span),
    "V-Half": Form(bubbles.v_half, "half of 1F1B's; F/2 less if p is odd", _v_shaped(lambda p: p // 2 + 1, 2), _turns),
    "V-Min": Form(bubbles.v_min, "2/3 of 1F1B's, less F/2", _v_min, _turns),
    "DualPipe": Form(bubbles.dual_pipe, "(p/2-1)(FB+B-3W) for F=I", _flat(lambda p, m: p + 1), copies=2),
    "DualPipeV": Form(bubbles.dual_pipe_v, "(p-1)(FB+B-3W)/2 for F=I", _flat(lambda p, m: p + 0.5), _turns),
}


def form(name: str) -> Form:
    """The closed forms of a schedule. Raises ValueError if it has none."""
    if name not in FORMS:
        raise ValueError(f"there are no closed forms for {name!r}, but for {', '.join(FORMS)}")
    return FORMS[name]


def existing(name: str, p: int, m: int, v: int = 1, **options: int | None) -> Form:
    """The closed forms of a schedule that there is. Raises Outside, as they do, where there is none of these sizes."""
    found, entry, why = form(name), SCHEDULES[name], ""
    check_sizes(p, m, v)
    if name == "interleaved 1F1B":
        why = interleaved_refuses(p, **options)
    elif options:
        why = f"{', '.join(options)} can be chosen for interleaved 1F1B only"
    if entry.chunks is not None and v not in (1, entry.chunks):
        why = f"a rank has {entry.chunks} stage{'s' * (entry.chunks > 1)}, not {v}: take {entry.chunks}"
    if why := entry.refuses(p, m) or why:
        raise NoClosedForm(f"{name} for p = {p}, m = {m}: {why}")
    return found


def idle(name: str, p: int, m: int, v: int = 1, costs: Costs = UNIT, **options: int) -> float:
    """Seconds of a step in which each rank is idle. costs: those of a rank's share; a stage's are costs.chunked(v).

    options: lead, group of interleaved 1F1B. Raises Outside where the closed form is not exact, or there is no such
    schedule.
    """
    return existing(name, p, m, v, **options).idle(p, m, v, rank_costs(p, costs), **options)


def idle_in_span(name: str, p: int, m: int, v: int = 1, costs: Costs = UNIT) -> float:
    """The same from a rank's own first start to its own last end, for the rank where that is longest (zero-bubble
    papers divide by it): steps in a row overlap, and only this is lost. Raises Outside as `idle` does."""
    found = existing(name, p, m, v)
    return (found.span or found.idle)(p, m, v, rank_costs(p, costs))


def bubble(name: str, p: int, m: int, v: int = 1, costs: Costs = UNIT, **options: int) -> float:
    """The share of the makespan in which ranks are idle, as Times.bubble. Raises Outside as `idle` does."""
    x = rank_costs(p, costs)
    require(x.pair == x.F + x.B, "pairs that take as long as their two passes")
    lost = idle(name, p, m, v, costs, **options)
    return lost / (lost + m * (x.F + x.B))


def peaks(name: str, p: int, m: int, v: int = 1, **options: int) -> list[float]:
    """Of each rank the most activations that it keeps, in units of what a micro-batch leaves in a rank's share.

    Raises Outside as `idle` does.
    """
    return existing(name, p, m, v, **options).peaks(p, m, v, **options)


def most_versions(name: str, p: int, m: int) -> list[int]:
    """Of each rank the most versions of its weights that it keeps. 2BW: with batches of p.

    Raises Outside as `idle` does.
    """
    existing(name, p, m)
    if name not in ("PipeDream", "2BW"):
        return [1] * p
    require(m > 2 * p, "m > 2p")
    return [p - r if name == "PipeDream" else 2 for r in range(p)]


def boundaries(name: str, p: int, v: int = 1) -> int:
    """Cuts between stages on different ranks: one activation and one gradient each for every micro-batch.

    Raises Outside as `idle` does.
    """
    return existing(name, p, 2 * p, v).cuts(p, v)  # of this m there are all schedules that there are with p ranks


def efficiency(p: int, m: int, v: int = 1) -> float:
    """m/(m + (p - 1)/v): the share of the time in which ranks of GPipe, 1F1B and (m >= p) interleaved 1F1B compute."""
    return m / (m + (p - 1) / v)


def fewest_micro_batches(p: int, share: float, v: int = 1) -> int:
    """The least m with a bubble of at most `share`: (p - 1)(1 - share)/(share v), and at least p if v > 1."""
    if not 0 < share < 1:
        raise ValueError(f"share = {share} must be between 0 and 1")
    return max(math.ceil((p - 1) * (1 - share) / (share * v) - 1e-9), p if v > 1 else 1)


def gpipe_makespan(stages: int, m: int, costs: Costs) -> float:
    """Seconds of GPipe with stages of any costs: the sum of all, and m - 1 times the largest F and the largest B.

    1F1B takes at most as long if messages take no time, and less if these are on different stages.
    """
    F, B = ([costs.of(kind, s) for s in range(stages)] for kind in "FB")
    return sum(F) + sum(B) + (m - 1) * (max(F) + max(B)) + 2 * (stages - 1) * costs.send


def rank_costs(p: int, costs: Costs) -> RankCosts:
    """The costs as the closed forms take them. Raises Outside if stages differ."""
    require(all(isinstance(x, float | int | None) for x in costs), "stages of equal cost")
    F, I, W, B, S = (costs.of(kind, 0) for kind in "FIWBS")  # noqa: E741
    return RankCosts(F, I, W, B, S, costs.send if p > 1 else 0.0, costs.of("pair", 0))

"""A scheduler: a good order for given costs and a given memory, where no named schedule was made for them.

Idea      Simulation is cheap, so try. An order of F and I has few numbers (how many forward passes each rank does
          first; how long a micro-batch takes from rank to rank); each W goes into a gap (weight_gradients.py), which
          may be a little too short (slack). From a good start, change one number at a time as long as it gets better.
          What is found is never worse than a named schedule of that placement that has room: these compete.
Left out  proof that nothing is better, but for `least_span`; small cases the tests compare with all orders there are.
Source    Qi et al., "Zero Bubble (Almost) Pipeline Parallelism" (2023), section 3: heuristics with several settings,
          of which the best is kept; ZB-1p and ZB-2p are what they found with memory for p and for 2p activations.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

from ..schedule import Schedule, check_sizes
from ..simulate import UNIT, Costs, Times, activations, simulate
from .catalogue import SCHEDULES
from .record import LINE, V_SHAPE
from .weight_gradients import Cycle, NoRoom, Pass, in_gaps
from .zero_bubble import in_line, in_v, repeated

PLACEMENTS = {placement.name: placement for placement in (LINE, V_SHAPE)}
SLACKS = (0.0, 0.1, 0.3, 0.6, 0.9)

Measure = Callable[[Times], float]
Numbers = tuple[int, ...]
Found = tuple[float, Schedule | None]


def makespan(times: Times) -> float:
    """From the first start to the last end: what counts if all ranks wait for each other after a step."""
    return times.makespan


def longest_span(times: Times) -> float:
    """The longest time from a rank's first start to its own last end: what counts if no rank waits after a step."""
    return max(times.spans)


def find_schedule(
    p: int,
    m: int,
    costs: Costs = UNIT,
    memory: float = math.inf,
    placement: str = "line",
    kept: float = 1.0,
    measure: Measure = makespan,
) -> Schedule:
    """The best schedule found for p ranks and m micro-batches.

    memory      the most that a rank can keep, as `activations(schedule, kept)` counts: a micro-batch in one stage is 1
    placement   "line": rank r has stage r. "V": rank r has stages r and 2p - 1 - r
    costs, kept of a stage; `kept` is the part of an activation that W still needs when I is done
    measure     what is to be small: makespan, longest_span
    Raises ValueError if not even one micro-batch has room, or for a placement that is not known.
    """
    check_sizes(p, m)
    check_room(memory, placement, kept)

    def judge(schedule: Schedule) -> Found:
        return measure(simulate(schedule, costs)), schedule

    def attempt(orders: list[list[Pass]], slack: float) -> Found:
        try:
            return judge(in_gaps(f"found ({placement})", orders, m, memory, costs, kept, slack))
        except (NoRoom, Cycle):
            return math.inf, None

    named = named_schedules(p, m, placement)
    costs.check(named[0])
    found = [judge(schedule) for schedule in named if max(activations(schedule, kept)) <= memory]
    for (orders, start), slack in itertools.product(_families(p, m, placement, memory), SLACKS):
        found.append(climb(lambda numbers: attempt(orders(numbers), slack), start))  # noqa: B023
    _, best = min(found, key=lambda one: one[0])
    assert best is not None, "one micro-batch alone has room, as check() knows, and so some schedule has"
    return best


def named_schedules(p: int, m: int, placement: str) -> list[Schedule]:
    """Those of the catalogue that update after a flush and have their stages there, as far as there are any."""
    return [
        record.make(p, m)
        for record in SCHEDULES.values()
        if record.placement is PLACEMENTS[placement] and record.weights == "flush" and not record.refuses(p, m)
    ]


def check_room(memory: float, placement: str, kept: float) -> None:
    """Raise ValueError unless one micro-batch has room, in a placement that is known."""
    if placement not in PLACEMENTS:
        raise ValueError(f"placement must be one of {', '.join(PLACEMENTS)}, not {placement!r}")
    if not 0 <= kept <= 1:
        raise ValueError(f"kept = {kept}: W needs between none (0) and all (1) of an activation")
    least = PLACEMENTS[placement].chunks or 1
    if not memory >= least:
        raise ValueError(f"memory = {memory}: one micro-batch alone leaves {least} on a rank, give it that much")


def _families(p: int, m: int, placement: str, memory: float) -> Iterator[tuple[Callable[[Numbers], list], Numbers]]:
    """Orders that depend on some numbers, and the numbers to begin with."""
    room = min(memory, 2 * p)
    if placement == "line":
        yield lambda warmup: in_line(m, warmup), tuple(int(room / p * (p - 1 - r)) for r in range(p))
        if room < p:
            yield lambda warmup: in_line(m, warmup), tuple(min(p - 1 - r, int(room) - 1) for r in range(p))
        return
    yield lambda warmup: in_v(p, m, warmup), tuple(2 * (p - r) - 1 for r in range(p))
    leg = max(1, int(3 * room / p) - 1)  # in p (2 + 2 leg) units a rank begins as many micro-batches as it has room for
    for interval in (6,) if room >= 2 * p / 3 + 2 else (8, 12, 4 * p):  # 4p: one after the other
        yield lambda way: repeated(p, m, way[:4], *way[4:]), (1, leg, 1, leg, 1, interval)


def least_span(p: int, m: int, costs: Costs = UNIT, memory: float = math.inf, kept: float = 1.0) -> float:
    """No schedule with one stage a rank, cut into F, I and W, has a shorter longest span, in seconds.

    When the last rank has done its last I, it keeps at most n activations for W, as many as fit into `memory`. So that
    I ends no sooner than it can begin plus all of its work but n W. Rank 0, which began first, then waits until the
    micro-batch has come back, and has I and W to do. Thus every activation more saves the seconds of one W.
    """
    f, i, w = ([costs.of(kind, s) for s in range(p)] for kind in "FIW")
    n = m if kept == 0 or memory == math.inf else min(m, int((memory - 1) / kept + 1 + 1e-9))
    there_and_back = sum(f[:-1]) + sum(i[:-1]) + 2 * (p - 1) * costs.send
    work = [m * sum(stage) for stage in zip(f, i, w)]
    return max(*work, work[-1] - n * w[-1] + there_and_back + w[0])


def climb(attempt: Callable[[Numbers], Found], numbers: Numbers) -> Found:
    """The best that `attempt` gives when one number after the other is changed a little, as long as that helps."""
    best, helped = attempt(numbers), True
    while helped:
        helped = False
        for k, step in itertools.product(range(len(numbers)), (1, -1, 2, -2)):
            changed = (*numbers[:k], numbers[k] + step, *numbers[k + 1 :])
            if changed[k] >= 0 and (tried := attempt(changed))[0] < best[0] * (1 - 1e-9):
                best, numbers, helped = tried, changed, True
    return best

"""The validator: is this a schedule? If not, the first action that is wrong, why, and what to do about it.

Idea      1. Every micro-batch passes every stage forward once and backward once (B, or I and W), both on one rank.
          2. In a rank's order, an action comes after what it needs on that rank.
          3. An optimizer step comes after the gradients that it applies, and no gradient is forgotten. The copies of a
             stage that lives on several ranks apply the gradients of all of them.
          4. Ranks do not wait for each other in a circle (deadlock.py).
          5. No micro-batch meets two versions of the weights, but as the schedule's `weights` says (versions.py).
          6. If sends are synchronous, they do not deadlock either (deadlock.py).
Exact     Errors name the action in the schedule's own words, its rank, and its place in that rank's order, counted from
          0.
          Times of an order may be wrong although the order is right: `check_times` finds an action that starts too
          early, and times that nobody measured.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import pairwise, zip_longest
from math import isfinite
from numbers import Integral
from typing import NoReturn

from ..schedule import KINDS, WEIGHTS, Action, Schedule, awaited
from ..simulate import Times
from .deadlock import SENDS, stuck, synchronous
from .versions import versions


class InvalidSchedule(ValueError):
    """A schedule that nobody can carry out, or that would train something else."""


def validate(schedule: Schedule, sends: str = "nonblocking") -> None:
    """Raise InvalidSchedule, which says what is wrong, unless the schedule obeys all rules.

    sends: "nonblocking", "grouped" or "blocking": how messages are sent (deadlock.py).
    """
    if sends not in SENDS:
        raise ValueError(f"sends is one of {', '.join(SENDS)}, not {sends!r}")
    for check in (_actions, _once, _complete, _overlapped, _updates):
        check(schedule)
    _raise(stuck(schedule))
    _weights(schedule)
    if sends != "nonblocking":
        _raise(synchronous(schedule, sends))


def check_times(times: Times, send: float = 0.0, tolerance: float = 1e-9) -> None:
    """Raise InvalidSchedule if an action starts before what it needs has ended, and arrived if on another rank; if it
    ends before it starts; if it starts before the one before it on its rank has ended, unless both run side by side; if
    an action has no times, or none that are finite; or if nothing takes any time at all.

    send: seconds that a message takes at least; tolerance: seconds that clocks may differ by.
    """
    schedule, starts, ends = times.schedule, times.starts, times.ends
    _are_times(times)
    for r, order in enumerate(schedule):
        pairs = schedule.overlapped[r] if schedule.overlapped else ()
        for k, action in enumerate(order):
            if ends[r][k] < starts[r][k] - tolerance:
                _fail(r, k, f"{action} ends at {ends[r][k]:g} s, before it starts at {starts[r][k]:g} s")
            for need in awaited(action, schedule):
                q, j = schedule.places[need]
                ready = ends[q][j] + (send if q != r and action.kind != "S" else 0.0)
                if starts[r][k] < ready - tolerance:
                    late = f"it needs {need}, which rank {q} has done at {ends[q][j]:g} s"
                    _fail(
                        r, k, f"{action} starts at {starts[r][k]:g} s, but {late}: it cannot start before {ready:g} s"
                    )
            if k and k - 1 not in pairs and starts[r][k] < ends[r][k - 1] - tolerance:
                before = f"{order[k - 1]} goes on until {ends[r][k - 1]:g} s"
                _fail(r, k, f"{action} starts at {starts[r][k]:g} s, but {before}: a rank does one after the other")


def _are_times(times: Times) -> None:
    """There are a start and an end of each action, all of them finite, and something takes time."""
    for r, (order, begin, end) in enumerate(zip_longest(times.schedule, times.starts, times.ends, fillvalue=())):
        if not len(order) == len(begin) == len(end):
            raise InvalidSchedule(f"rank {r} has {len(order)} actions, {len(begin)} starts and {len(end)} ends")
        for k, seconds in enumerate(zip(begin, end)):
            if not all(map(isfinite, seconds)):
                _fail(r, k, f"{order[k]} goes from {seconds[0]} to {seconds[1]} s: these are no times")
    if any(times.starts) and times.starts == times.ends:
        raise InvalidSchedule("no action takes any time: measure them, or give costs that are not all zero")


def _raise(message: str | None) -> None:
    if message:
        raise InvalidSchedule(message)


def _fail(rank: int, place: int, message: str) -> NoReturn:
    raise InvalidSchedule(f"rank {rank}, place {place}: {message}")


def _actions(schedule: Schedule) -> None:
    """There are ranks, they have actions, and these are actions."""
    if schedule.weights not in WEIGHTS:
        raise InvalidSchedule(f"weights is one of {', '.join(WEIGHTS)}, not {schedule.weights!r}")
    if not schedule.ranks:
        raise InvalidSchedule(f"{schedule.name} has no ranks: give it one order for each")
    for r, order in enumerate(schedule):
        if isinstance(order, str):
            raise InvalidSchedule(f"rank {r}: the order {order!r} is text: write parse({order!r})")
        if not order:
            raise InvalidSchedule(f"rank {r} has no actions: give it a stage, or take it out of the schedule")
        for k, action in enumerate(order):
            if not isinstance(action, Action):
                _fail(r, k, f"{action!r} is no Action: write parse('0F0 0B0'), or Action('F', 0, 0)")
            kind, s, i = action
            if kind not in KINDS or not (isinstance(s, Integral) and isinstance(i, Integral) and s >= 0 <= i):
                _fail(r, k, f"{s}{kind}{i} is no action: write stage, one of {''.join(KINDS)}, micro-batch: 2F0, say")


def _once(schedule: Schedule) -> None:
    """No action is there twice; only a stage that lives on two ranks is updated on both."""
    if len(schedule.places) == sum(map(len, schedule)):
        return
    first: dict[tuple, tuple[int, int]] = {}
    for r, order in enumerate(schedule):
        for k, action in enumerate(order):
            q, j = first.setdefault((*action, r) if action.kind == "S" else action, (r, k))
            if (q, j) != (r, k):
                _fail(r, k, f"{action} is there a second time (the first: rank {q}, place {j}): take one of them out")


def _complete(schedule: Schedule) -> None:
    """Each (stage, micro-batch) has its forward pass, and on the same rank its backward pass."""
    home = schedule.home
    if _all_there(schedule):
        return
    for r, order in enumerate(schedule):  # find the first that is not
        for k, (kind, s, i) in enumerate(order):
            if kind == "F":
                whole, *parts = (schedule.places.get(Action(kind, s, i), (None, 0))[0] for kind in "BIW")
                if [whole, *parts] not in ([r, None, None], [None, r, r]):
                    _backward(schedule, s, i, r, k)
            elif kind != "S" and (s, i) not in home:
                _fail(r, k, f"{s}{kind}{i} has no forward pass: add {s}F{i} before it")
    for i in range(schedule.micro_batches):
        for s in range(schedule.stages):
            if (s, i) not in home:
                sizes = f"{schedule.stages} stages and {schedule.micro_batches} micro-batches, both numbered from 0"
                raise InvalidSchedule(f"{s}F{i} and its backward pass are missing: add them (there are {sizes})")


def _all_there(schedule: Schedule) -> bool:
    """Whether every (stage, micro-batch) has F, and on that rank either B, or I and W."""
    ranks: dict[str, dict[tuple[int, int], int]] = {kind: {} for kind in KINDS}
    for r, order in enumerate(schedule):
        for kind, s, i in order:
            ranks[kind][s, i] = r
    F, B, I, W = (ranks[kind] for kind in "FBIW")  # noqa: E741
    either = len(F) == len(B) + len(I) == schedule.stages * schedule.micro_batches
    return either and F == B | I and I == W


def _backward(schedule: Schedule, s: int, i: int, r: int, k: int) -> None:
    """Say what is wrong with the backward pass of the forward pass at place k of rank r."""
    places, whole, parts = schedule.places, Action("B", s, i), (Action("I", s, i), Action("W", s, i))
    there = [action for action in (whole, *parts) if action in places]
    if not there:
        _fail(r, k, f"{s}F{i} has no backward pass: add {whole}, or {parts[0]} and {parts[1]}, after it")
    if whole in there and len(there) > 1:
        _fail(*places[there[1]], f"{there[1]} is also a part of {whole}: take one of them out")
    if len(there) == 1 and whole not in there:
        _fail(*places[there[0]], f"{there[0]} without {parts[there[0] == parts[0]]} is half a backward pass: add it")
    for action in there:
        if places[action][0] != r:
            _fail(*places[action], f"{action} needs what {s}F{i} left on rank {r} (place {k}): put both on one rank")


def _overlapped(schedule: Schedule) -> None:
    """Side by side run a forward and a backward pass, never three."""
    if schedule.overlapped and len(schedule.overlapped) != schedule.ranks:
        raise InvalidSchedule(f"overlapped has {len(schedule.overlapped)} entries for {schedule.ranks} ranks: one each")
    for r, (order, pairs) in enumerate(zip(schedule, schedule.overlapped)):
        for k in sorted(pairs):
            two = order[k : k + 2] if k >= 0 else ()
            if len(two) < 2 or (two[0].kind == "F") == (two[1].kind == "F") or {"W", "S"} & {a.kind for a in two}:
                words = " and ".join(map(str, two)) or "nothing"
                _fail(r, k, f"side by side are {words}: it must be an F and a B (or I)")
            if k + 1 in pairs:
                _fail(r, k + 1, f"{two[1]} runs beside {two[0]} already: take one of the places out of overlapped")


def _updates(schedule: Schedule) -> None:
    """If there are optimizer steps: on all stages alike, each after the gradients that it applies, none without one."""
    steps = {
        (r, s): {a.micro: k for k, a in enumerate(order) if a.kind == "S" and a.stage == s}
        for r, order in enumerate(schedule)
        for s in schedule.chunks[r]
    }
    usual = Counter(tuple(sorted(own)) for own in steps.values()).most_common(1)[0][0]
    for (r, s), own in steps.items():
        for i in sorted({*own}.difference(usual)):
            _fail(r, own[i], f"{s}S{i} is one step more than other stages have: take it out, or add it to all of them")
        for i in sorted({*usual}.difference(own)):
            raise InvalidSchedule(f"rank {r}: {s}S{i} is missing: add it, as other stages step there too")
        if own:
            _steps_after_gradients(schedule, r, s, own)


def _steps_after_gradients(schedule: Schedule, r: int, s: int, steps: dict[int, int]) -> None:
    """steps: micro-batch -> place of the step of stage s that applies its gradient and those of all before."""
    order, done = schedule.orders[r], sorted(steps)
    for before, after in pairwise(done):
        if steps[before] > steps[after]:
            _fail(r, steps[after], f"{s}S{after} comes before {s}S{before} (place {steps[before]}): put it after")
    for k, action in enumerate(order):
        if action.stage == s and action.kind in "BW":
            n = bisect_left(done, action.micro)
            if n and steps[done[n - 1]] > k:
                early = f"{order[steps[done[n - 1]]]} (place {steps[done[n - 1]]})"
                _fail(r, k, f"the gradient of {action} is there before {early}, which would apply it: put it after")
            if n < len(done) and (j := steps[done[n]]) < k:
                _fail(r, j, f"{order[j]} comes before {action}, whose gradient it applies (place {k}): put it after")
            if n == len(done) and k > steps[done[-1]]:
                _fail(r, k, f"no step applies the gradient of {action}: add {s}S{action.micro} after it")


def _weights(schedule: Schedule) -> None:
    """Both passes of a micro-batch use one version, which exists. (All stages step after the same micro-batches, so
    that with "flush" and "double" it is the same version on all of them.)

    With "double", two versions then suffice: the batch before the last one is through when a batch begins.
    """
    if schedule.weights == "flush":
        if not all(_steps_last(order) for order in schedule):  # else no pass sees an update
            _unchanged(schedule)
        return
    if schedule.splits:
        s, i = min(schedule.splits)
        r, k = schedule.places[Action("I", s, i)]
        _fail(r, k, f'{s}I{i}: with weights "{schedule.weights}" a backward pass is in one part: put {s}B{i} there')
    seen = versions(schedule)
    for r, order in enumerate(schedule):
        done = dict.fromkeys(schedule.chunks[r], 0)
        for k, (kind, s, i) in enumerate(order):
            if kind == "S":
                done[s] += 1
            elif done[s] < seen[s, i]:
                _fail(r, k, f"{order[k]} needs version {seen[s, i]} and is after {done[s]} steps: make batches larger")


def _steps_last(order: tuple[Action, ...]) -> bool:
    """Whether all optimizer steps come after all passes."""
    kinds = [action.kind for action in order]
    return "S" not in kinds[: len(kinds) - kinds.count("S")]


def _unchanged(schedule: Schedule) -> None:
    """No step of a stage stands between the two passes of a micro-batch."""
    for r, order in enumerate(schedule):
        done = dict.fromkeys(schedule.chunks[r], 0)
        at_forward: dict[tuple[int, int], int] = {}
        for k, (kind, s, i) in enumerate(order):
            if kind == "S":
                done[s] += 1
            elif at_forward.setdefault((s, i), done[s]) != done[s]:
                j = schedule.places[Action("F", s, i)][1]
                _fail(r, k, f"{order[k]} meets other weights than {s}F{i} (place {j}): no step may stand between them")

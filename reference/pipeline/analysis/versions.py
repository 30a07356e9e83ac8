"""Versions of the weights: which one each micro-batch meets, and how many of them have to be kept.

Idea      Version n of a stage's weights is what n updates have made of them. A micro-batch's forward and backward pass
          must use the same version, so one that is still used is kept when the next is made.

              flush, stash    the version at the forward pass: as many updates as stand before it in the order
              double          b - 1 for a micro-batch of batch b = 0, 1, ... (and 0 for the first): one batch behind,
                              the same on all stages; a batch is what one update applies

Price     PipeDream: on stage s of p, micro-batch i lacks the last min(i, p - 1 - s) updates, so early stages are staler
          than late ones, and p - s versions are kept. 2BW: two versions everywhere, delay 1.
Source    PipeDream: Narayanan et al., "PipeDream: Generalized Pipeline Parallelism for DNN Training" (2019). 2BW:
          Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN Training" (2021).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from ..schedule import Action, Schedule


def versions(schedule: Schedule) -> dict[tuple[int, int], int]:
    """(stage, micro-batch) -> how many updates of the stage its forward pass has seen, and its backward pass uses."""
    return {
        (s, i): version for order in schedule.orders for kind, s, i, version in _seen(order, schedule) if kind == "F"
    }


def _seen(order: tuple[Action, ...], schedule: Schedule) -> Iterator[tuple[str, int, int, int]]:
    """Of each action of an order its kind, stage and micro-batch, and how many updates of its stage it sees."""
    updates = {s: sorted(a.micro for a in order if a.kind == "S" and a.stage == s) for s in {a.stage for a in order}}
    done = dict.fromkeys(updates, 0)
    for kind, s, i in order:
        if schedule.weights == "double":
            yield kind, s, i, max(bisect_left(updates[s], i) - 1, 0)
        else:
            yield kind, s, i, done[s]
        done[s] += kind == "S"


def kept_versions(schedule: Schedule) -> list[int]:
    """Of each rank, the most versions of one of its stages' weights that exist at one time.

    The latest exists always, an older one until the last action that uses it.
    """
    seen = versions(schedule)
    return [max((_kept(order, s, seen) for s in chunks), default=0) for order, chunks in zip(schedule, schedule.chunks)]


def _kept(order: tuple[Action, ...], stage: int, seen: dict[tuple[int, int], int]) -> int:
    """The most versions of one stage that exist at one time on the rank of this order."""
    actions = [action for action in order if action.stage == stage]
    last_use = {seen[stage, a.micro]: k for k, a in enumerate(actions) if a.kind != "S"}
    latest, alive, most = 0, {0}, 1
    for k, action in enumerate(actions):
        if action.kind == "S":
            latest += 1
            alive.add(latest)
        alive = {version for version in alive if version == latest or last_use.get(version, -1) > k}
        most = max(most, len(alive))
    return most

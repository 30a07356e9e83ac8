"""Transfers on one link that must have arrived when they are needed: scheduled backwards, from the last to the first.

Idea      A transfer of n bytes takes alpha + n beta on the link, one after the other. Begin at the end: the transfer
          with the latest deadline ends there, the one before it ends where it starts or at its own deadline, and so
          on. So each starts as late as it can, and in this order no schedule holds less memory for what has come and
          is not needed yet.

              the link        . a a a . . b b b b c c . . d d d      each letter is a second
              deadlines               a             b c         d     c has the place before b's deadline,
                                                                      so b ends earlier

Before    start = deadline - bytes / bandwidth of each by itself: right only if no two of these overlap
After     start = min(deadline, start of the next) - (alpha + bytes / bandwidth)
Exact     The set can be met if and only if the first start is not before now; equally, if for each deadline all
          transfers up to it fit in the time until then (`lacking`). No order does better than that of the deadlines.
          With release times, before which a transfer cannot start, that holds for transfers that may be interrupted
          (`interrupted`); where they may not, the decision is NP-hard, and `in_order` may miss a deadline in vain.
Left out  Several links; what an interrupted transfer pays when it goes on.
Source    Jackson, "Scheduling a production line to minimize maximum tardiness" (1955): the order of deadlines; Horn,
          "Some simple scheduling algorithms" (1974), with release times; Garey and Johnson (1977) for what is NP-hard.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from ..tiers.tier import Tier


class Due(NamedTuple):
    """A transfer: its bytes, the second at which it is needed, and the one from which on it can start."""

    name: str
    nbytes: int
    deadline: float
    release: float = 0.0


class Reserved(NamedTuple):
    """A transfer's time on the link."""

    due: Due
    start: float
    end: float

    @property
    def late(self) -> float:
        """Seconds after the deadline; negative if early."""
        return self.end - self.due.deadline


def by_itself(dues: Iterable[Due], link: Tier, margin: float = 0.0) -> list[Reserved]:
    """Each as if the link were its own: deadline - bytes / bandwidth - margin. These may overlap."""
    starts = [(due, due.deadline - due.nbytes / link.read - margin) for due in dues]
    return [Reserved(due, start, start + due.nbytes / link.read) for due, start in starts]


def first_come(reserved: Iterable[Reserved], link: Tier) -> list[Reserved]:
    """What becomes of such starts on a link that carries one transfer at a time: who comes while it is busy waits."""
    free, found = 0.0, []
    for due, start, _ in sorted(reserved, key=lambda one: one.start):
        start = max(start, free, due.release)
        free = start + link.reading(due.nbytes)
        found.append(Reserved(due, start, free))
    return found


def backwards(dues: Iterable[Due], link: Tier) -> list[Reserved]:
    """Each as late as possible, all in time, in order; release times are ignored, and starts may lie before 0."""
    following, found = float("inf"), list[Reserved]()
    for due in sorted(dues, key=lambda due: due.deadline, reverse=True):
        end = min(due.deadline, following)
        following = end - link.reading(due.nbytes)
        found.append(Reserved(due, following, end))
    return found[::-1]


def lacking(dues: Iterable[Due], link: Tier, now: float = 0.0) -> float:
    """Seconds by which the link is too slow for some deadline; at most 0 if and only if all can be met.

    The worst deadline counts: all transfers up to it, less the time until then. Release times are ignored.
    """
    total, worst = now, float("-inf")
    for due in sorted(dues, key=lambda due: due.deadline):
        total += link.reading(due.nbytes)
        worst = max(worst, total - due.deadline)
    return worst


def in_order(dues: Iterable[Due], link: Tier, now: float = 0.0) -> list[Reserved]:
    """By deadline, each as soon as the link and its release allow; never interrupted."""
    found = []
    for due in sorted(dues, key=lambda due: due.deadline):
        start = max(now, due.release)
        now = start + link.reading(due.nbytes)
        found.append(Reserved(due, start, now))
    return found


def interrupted(dues: Sequence[Due], link: Tier) -> list[Reserved]:
    """The earliest deadline first at each moment, interrupting the others: pieces, in order of time.

    All are in time if any schedule can have all in time, also with release times. A latency is paid once.
    """
    waiting = sorted(dues, key=lambda due: due.release, reverse=True)
    ready: list[tuple[float, int, float, Due]] = []  # by deadline: what is left, in seconds
    now, found = 0.0, list[Reserved]()
    while waiting or ready:
        if not ready:
            now = max(now, waiting[-1].release)
        while waiting and waiting[-1].release <= now:
            due = waiting.pop()
            heappush(ready, (due.deadline, len(waiting), link.reading(due.nbytes), due))
        deadline, number, left, due = heappop(ready)
        until = min(now + left, waiting[-1].release) if waiting else now + left
        if until > now:
            found.append(Reserved(due, now, until))
        if left > until - now:
            heappush(ready, (deadline, number, left - (until - now), due))
        now = until
    return found


def held(schedule: Sequence[Reserved]) -> int:
    """The most bytes with room reserved at any time: from a transfer's start to its deadline, or to its end if late."""
    come = [(one.start, one.due.nbytes) for one in schedule]
    go = [(max(one.end, one.due.deadline), -one.due.nbytes) for one in schedule]
    most = now = 0
    for _, nbytes in sorted(come + go):  # at one time, who leaves comes first: negative bytes
        now += nbytes
        most = max(most, now)
    return most


def least_bandwidth(dues: Iterable[Due], latency: float = 0.0, now: float = 0.0) -> float:
    """Bytes per second from which on all deadlines can be met, release times aside; infinite if none is enough."""
    seconds, total, least = now, 0, 0.0
    for due in sorted(dues, key=lambda due: due.deadline):
        seconds, total = seconds + latency, total + due.nbytes
        if due.deadline <= seconds:
            return float("inf")
        least = max(least, total / (due.deadline - seconds))
    return least

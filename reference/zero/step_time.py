"""The time of a step of stage 3: a recurrence over the units, with what prefetch hides.

Idea      A unit computes when its weights are there and the unit before it is done. Messages form one queue. With f_i
          and b_i the seconds of a unit's passes, g_i of a gather of its weights, r_i of the reduce-scatter, and a
          prefetch of k units, in the forward pass

              unit i begins             s_i = max(s_(i-1) + f_(i-1), G_i)
              its gather is asked for   a_i = s_(i-k), when the k-th unit before begins (k = 0: s_(i-1) + f_(i-1))
              and has come              G_i = max(queue, a_i) + g_i

          and likewise in the backward pass, from the last unit to the first; there the reduce-scatter of a unit joins
          the queue when its backward pass has ended, and the one before it has.
Price     Without prefetch every gather is exposed. With k = 1 those are hidden that are no longer than the unit before;
          a larger k evens out units of different length, and holds more of them whole.
Exact     Equal to the virtual cluster's clock on equal ranks, blocks and links, without latencies that hold no port
          (gap = inf) and additions (gamma = 0), but for the count of samples, 8 bytes. For k > 1 only if messages of
          two gathers do not take turns, as on 2 ranks, where each is one message.
Left out  The first step, in which the forward pass knows no order and prefetches nothing; the root's weights, and what
          it computes behind the last unit (a head), during which the backward pass's first gather travels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Step(NamedTuple):
    """A step in seconds: how long it takes, and how much of that nothing is computed."""

    seconds: float
    exposed: float


def step(
    forward: Sequence[float],
    backward: Sequence[float],
    gather: Sequence[float],
    reduce: Sequence[float],
    prefetch: int = 1,
    reshard: bool = True,
) -> Step:
    """The time of a step; forward, ..., reduce: seconds of each unit, in the order of the forward pass.

    reshard: units are freed after the forward pass, and gathered again.
    """
    queue = Queue()
    now = _pass(queue, 0.0, forward, gather, [0.0] * len(forward), prefetch, asked=prefetch)
    again = gather[::-1] if reshard else [0.0] * len(gather)
    now = _pass(queue, now, backward[::-1], again, reduce[::-1], prefetch, asked=0)
    seconds = max(now, queue.free)
    return Step(seconds, seconds - sum(forward) - sum(backward))


class Queue:
    """Messages that follow each other; `free`: when all of them have arrived."""

    def __init__(self):
        self.free = 0.0

    def send(self, now: float, seconds: float) -> float:
        """Ask for a message now; when it has arrived."""
        if not seconds:
            return now
        self.free = max(self.free, now) + seconds
        return self.free


def _pass(
    queue: Queue,
    now: float,
    compute: Sequence[float],
    gather: Sequence[float],
    reduce: Sequence[float],
    prefetch: int,
    asked: int,
) -> float:
    """When the last unit has computed, in a pass through units in this order; asked: gathers that begin at once."""
    there = [queue.send(now, seconds) for seconds in gather[:asked]]
    reduced = now
    for i, seconds in enumerate(compute):
        there += [queue.send(now, g) for g in gather[len(there) : i + 1]]
        now = max(now, there[i])
        there += [queue.send(now, g) for g in gather[len(there) : i + 1 + prefetch]]
        now = max(now + seconds, reduced) if reduce[i] else now + seconds
        reduced = queue.send(now, reduce[i])
    return now

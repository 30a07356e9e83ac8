"""Batching: several requests are computed together. More answers a second, and each of them later.

Idea      A network computes b requests in C(b) ticks, far less than b C(1). Requests arrive at least T apart. To wait
          until b are there costs the first of them (b - 1) T. If they come exactly T apart, and C(b) <= b T, the batch
          before is done by then:
              R = (b - 1) T + C(b)
          If they may come later, the oldest must not wait for ever: after W the batch starts with what is there, or as
          soon as the device is free. By then k = floor(W / T) + 1 may be there, at most b. A batch of k leaves up to
          ceil(C(k) / T) waiting, and so on up to K, the largest batch that occurs:
              R = max(W + C(k), C(K) - 1 + C(ceil(C(K) / T)))
Before    requests every 4 ms, C(b) = 5 + b ms: one by one they need 6 ms each, and the queue grows without bound
After     batches of 2 keep up (7 ms for 8) with R = 11 ms; with a deadline of 20 ms, batches of up to 3 are in time
Price     A scan over b.
Exact     `full_batch`: reached by the first request of each batch. `timed_batch`: a bound that some runs reach.
Left out  Requests of different length; batches that others join while they are computed (continuous batching).
Source    The waiting time is that of Triton Inference Server's dynamic batcher (preferred size, maximum queue delay);
          the bounds are worked out here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

Cost = Callable[[int], int]  # C: ticks for a batch of so many requests; never less for more


class Batch(NamedTuple):
    """A batch of a run: when it started and ended, and when its requests arrived."""

    start: int
    end: int
    arrivals: tuple[int, ...]

    @property
    def response(self) -> int:
        """R of its oldest request."""
        return self.end - self.arrivals[0]


def affine(first: int, each: int) -> Cost:
    """C(b) = first + b each: weights are read once, and each request adds its own work."""
    return lambda requests: first + requests * each


def full_batch(T: int, C: Cost, b: int) -> int | None:
    """R of requests that arrive every T ticks, if each batch waits until it has b; None if they pile up."""
    _check(T, b)
    return (b - 1) * T + C(b) if C(b) <= b * T else None


def timed_batch(T: int, C: Cost, b: int, wait: int) -> int | None:
    """R of requests at least T apart, in batches of up to b, of which the oldest waits for others up to `wait` ticks.

    With a `wait` of 0 whatever is there starts as soon as the device is free. None if requests may pile up.
    """
    _check(T, b)
    gathered = min(b, wait // T + 1)
    largest = gathered
    while True:
        left = -(-C(largest) // T)  # arrive while a batch is computed
        if left > b:
            return None
        if left <= largest:
            break
        largest = left
    alone = (wait if b > 1 else 0) + C(gathered)
    return max(alone, C(largest) - 1 + C(left))


def in_time(T: int, D: int, C: Cost) -> list[int]:
    """The batch sizes whose requests, one every T ticks, are answered within D."""
    responses = ((b, full_batch(T, C, b)) for b in range(1, D // T + 2))
    return [b for b, R in responses if R is not None and R <= D]


def throughput(C: Cost, b: int) -> float:
    """Requests a tick that batches of b can bear."""
    return b / C(b)


def simulate_batches(arrivals: Iterable[int], C: Cost, b: int, wait: int | None = None) -> list[Batch]:
    """Compute requests in batches on one device, and return the batches. `arrivals` in order.

    wait: the oldest waits so long for others, None: until the batch is full (what is left at the end is not computed).
    """
    coming, queue, free, found = iter(arrivals), [], 0, []
    arrival = next(coming, None)
    while arrival is not None or len(queue) >= b or (queue and wait is not None):
        ready = max(free, queue[0] + wait) if queue and wait is not None else None
        if len(queue) >= b:
            ready = max(free, queue[b - 1])
        if ready is not None and (arrival is None or ready < arrival):
            taken, queue = tuple(queue[:b]), queue[b:]
            free = ready + C(len(taken))
            found.append(Batch(ready, free, taken))
        elif arrival is not None:
            queue.append(arrival)
            arrival = next(coming, None)
    return found


def _check(T: int, b: int) -> None:
    if T < 1 or b < 1:
        raise ValueError(f"requests at least 1 tick apart, in batches of at least 1, got {T} and {b}")

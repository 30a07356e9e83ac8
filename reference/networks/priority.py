"""Priority: in which order messages leave over one port, when the first that is ready is not the first that is needed.

Idea      The backward pass ends with layer 0, so its gradient is ready last. The next forward pass begins with layer 0,
          so its gradient is needed first. First in, first out is the wrong way round.
          The orders:
            fifo          first in, first out: what a plain queue does, such as the one stream of NCCL
            by_queue      a number for each message, lower first; P0 critical path, P1 large blocks, P2 ordinary, P3
                          auxiliary is the coarse form, the number of the layer the fine one
            weighted      the formula a T_compute + b T_comm_dependent + c CriticalPath, more first. It and the
                          numbers stand in for what one would rather know:
            by_deadline   when it is needed. If chunks cost nothing, no order has a smaller greatest lateness (Horn)
Before    layers 3 2 1 0 one after the other; forward 0 waits for all of them
After     layer 0 overtakes what has not left yet; while forward 0, 1, ... compute, the others come in
Price     A message that has begun cannot be called back, so a large one that matters little holds up a small one that
          matters much: priority inversion. Cut into chunks, it makes way at the next boundary. Every chunk costs alpha,
          so chunks can also be too small. The bytes on the wire are the same in any order.
Left out  Several ports; and that ranks must agree: all start their collectives in one order, so a real scheduler
          decides on one rank, or from numbers that are alike on all.
Source    Jayarajan et al., "Priority-based Parameter Propagation for Distributed DNN Training" (P3, 2019); Peng et al.,
          "A Generic Communication Scheduler for Distributed DNN Training Acceleration" (ByteScheduler, 2019). Jackson
          (1955) and Horn (1974) for what is best: the earliest deadline first.

One message stands for whatever the port does for a gradient; for a ring all-reduce give serve alpha = 2 (P - 1) alpha
and beta = 2 (P - 1) / P beta.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import inf
from typing import Any, NamedTuple


class QueuedMessage(NamedTuple):
    """What is to be sent, and what is known of its use. All times in seconds."""

    name: Hashable
    ready: float  # it cannot leave earlier
    nbytes: float
    queue: int = 2  # the lower, the sooner
    needed: float = inf  # when what waits for it could begin
    compute: float = 0.0  # T_compute: the computation that waits for it
    dependent: float = 0.0  # T_comm_dependent: the communication that waits for it
    critical: float = 0.0  # 1 on the critical path, 0 beside it


class Span(NamedTuple):
    """The port is busy with one message, or one chunk of it, from start to end (s)."""

    name: Hashable
    start: float
    end: float


# Orders: the least value leaves first ---------------------------------------------------------------------------------


def fifo(message: QueuedMessage) -> float:
    """First in, first out."""
    return message.ready


def by_queue(message: QueuedMessage) -> float:
    """The lowest number first."""
    return message.queue


def by_deadline(message: QueuedMessage) -> float:
    """What is needed soonest first."""
    return message.needed


def weighted(a: float = 1.0, b: float = 1.0, c: float = 1.0) -> Callable[[QueuedMessage], float]:
    """The most a T_compute + b T_comm_dependent + c CriticalPath first. c is in seconds: what the path is worth."""
    return lambda message: -(a * message.compute + b * message.dependent + c * message.critical)


# The port -------------------------------------------------------------------------------------------------------------


def serve(
    messages: Sequence[QueuedMessage],
    alpha: float,
    beta: float,
    order: Callable[[QueuedMessage], Any] = fifo,
    chunk: float = inf,
) -> list[Span]:
    """What the port does, span by span: whenever it is free, up to `chunk` bytes of the ready message that is first.

    A chunk of n bytes takes alpha + n beta. Equals leave as they became ready, then as they are listed. The port never
    rests while a message is ready. Raises ValueError for two messages of one name, times, bytes or costs below 0, and
    chunk <= 0.
    """
    if len({message.name for message in messages}) < len(messages):
        raise ValueError(f"each message needs a name of its own, got {[message.name for message in messages]}")
    if not chunk > 0 or alpha < 0 or beta < 0 or any(min(m.ready, m.nbytes) < 0 for m in messages):
        raise ValueError(f"chunk must be > 0, times, bytes and costs >= 0: got {chunk=}, {alpha=}, {beta=}, {messages}")
    left, now, spans = {message: message.nbytes for message in messages}, 0.0, []
    while left:
        now = max(now, min(message.ready for message in left))
        first = min((message for message in left if message.ready <= now), key=lambda m: (order(m), m.ready))
        size = min(chunk, left[first])
        spans.append(Span(first.name, now, now + alpha + size * beta))
        now, left[first] = spans[-1].end, left[first] - size
        if left[first] <= 0:
            del left[first]
    return spans


def finish(spans: Sequence[Span]) -> dict[Hashable, float]:
    """When each message is through."""
    return {span.name: span.end for span in spans}


def lateness(messages: Sequence[QueuedMessage], spans: Sequence[Span]) -> float:
    """By how much the latest message misses its `needed`; negative if all are in time."""
    done = finish(spans)
    return max(done[message.name] - message.needed for message in messages)


# A training step ------------------------------------------------------------------------------------------------------


class Forward(NamedTuple):
    """The next forward pass: when it starts and ends, and for how long it computes nothing because it waits (s)."""

    start: float
    end: float
    exposed: float


def gradient_messages(
    nbytes: Sequence[float], backward: Sequence[float], forward: Sequence[float]
) -> list[QueuedMessage]:
    """The gradients of a backward pass that begins at 0, as messages 0, 1, ... in the order in which they are ready.

    nbytes, backward, forward: of each layer, first layer first; seconds. Layer i is ready when the layers behind it and
    it are through, is needed when the layers before it have been computed again, and all from it on wait for it.
    """
    layers, end = range(len(nbytes)), sum(backward)
    return [
        QueuedMessage(i, sum(backward[i:]), nbytes[i], i, end + sum(forward[:i]), sum(forward[i:]))
        for i in reversed(layers)
    ]


def next_forward(spans: Sequence[Span], backward: Sequence[float], forward: Sequence[float]) -> Forward:
    """The next forward pass: a layer starts when its gradient is through and the layer before it, too."""
    done, end = finish(spans), sum(backward)
    start = now = done[0]  # it was ready when the backward pass ended
    for i, seconds in enumerate(forward):
        now = max(now, done[i]) + seconds
    return Forward(start, now, now - end - sum(forward))

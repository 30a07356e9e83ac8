"""The time of a step of data parallelism: a recurrence over the buckets of gradients.

Idea      A bucket can be summed over the ranks once the backward pass has filled it, and when the bucket before it is
          done. So with tb_k the time at which bucket k is full, and c_k what its all-reduce takes,

              tc_k = max(tb_k, tc_(k-1)) + c_k          T = T_fwd + max(T_bwd, tc_last)        (tb, tc from T_fwd on)

Before    One is told T = max(T_compute, T_comm): too good. Nothing can be sent during the forward pass, nor before the
          first bucket is full, and the last bucket is full when there is nothing left to hide it behind.
Price     With large buckets the first is full late and the last takes long; of small ones each pays the latency again.
          `best_limit` searches the one number that frameworks offer, `best_buckets` all ways to cut the layers.
Exact     Equal to the virtual cluster's clock if the network moves the data and the all-reduces of all ranks keep step:
          equal ranks, blocks and links, and no time for additions (gamma = 0) and none for latencies that hold no port
          (gap = inf), which another bucket's messages could hide. Equal ranks with such take at most this: as if one
          bucket waited for the one before it, which is what the one stream of an NCCL communicator does.
Left out  What communication takes from the computation (cores, memory bandwidth); stragglers (stragglers.py).
Source    Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training" (2020), for buckets and
          overlap; the recurrence is that of one queue with given arrival times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from ..collectives.select import choose, predict
from ..networks.network import Network
from ..networks.priority import Span
from .buckets import assign_buckets
from .layers import Layer

MIB = 2**20


class Step(NamedTuple):
    """A step in seconds: how long it takes, how much of that nothing is computed, when each bucket travels."""

    seconds: float
    exposed: float
    spans: list[Span]


def step(forward: float, backward: Sequence[float], communication: Sequence[float]) -> Step:
    """T from the recurrence. backward, communication: seconds of each bucket, in the order in which they are full.

    backward[k] is computed between the moment when bucket k - 1 is full and that when bucket k is. What is computed
    after the last gradient (frozen layers) is one more entry, with communication 0.
    """
    ready, done, spans = forward, forward, []
    for k, (b, c) in enumerate(zip(backward, communication, strict=True)):
        ready += b
        done = max(ready, done) + c
        spans.append(Span(k, done - c, done))
    return Step(done, done - ready, spans)


def without_overlap(forward: float, backward: Sequence[float], communication: Sequence[float]) -> float:
    """Seconds of a step that computes first and communicates then."""
    return forward + sum(backward) + sum(communication)


def often_claimed(forward: float, backward: Sequence[float], communication: Sequence[float]) -> float:
    """max(T_compute, T_comm): a bound that no step reaches whose last gradient is sent."""
    return max(forward + sum(backward), sum(communication))


def accumulated(K: int, forward: float, backward: Sequence[float], communication: Sequence[float]) -> Step:
    """A step of K micro-batches, of which only the last one communicates; times are those of one micro-batch."""
    return step(K * forward + (K - 1) * sum(backward), backward, communication)


# From layers to buckets -----------------------------------------------------------------------------------------------


def bucket_times(layers: Sequence[Layer], buckets: Sequence[Sequence[int]]) -> tuple[list[float], list[int]]:
    """Backward seconds and bytes of each bucket; buckets hold numbers of layers, layer 0 the first of the model.

    A bucket is full when its earliest layer has been reached, and is sent after those before it: a bucket in the wrong
    place holds up all behind it.
    """
    ready = list(accumulate(layer.backward for layer in reversed(layers)))[::-1]
    full = list(accumulate((max(ready[i] for i in bucket) for bucket in buckets), max, initial=0.0))
    backward = [after - before for before, after in pairwise(full)]
    return backward, [sum(layers[i].nbytes for i in bucket) for bucket in buckets]


def step_of(layers: Sequence[Layer], buckets: Sequence[Sequence[int]], allreduce: Callable[[int], float]) -> Step:
    """The step of a model whose gradients travel in these buckets; allreduce(nbytes) gives seconds."""
    backward, nbytes = bucket_times(layers, buckets)
    rest = sum(layer.backward for layer in layers) - sum(backward)
    forward = sum(layer.forward for layer in layers)
    return step(forward, [*backward, rest], [*map(allreduce, nbytes), 0.0])


def allreduce_time(P: int, network: Network, algorithm: str | None = None, itemsize: int = 4) -> Callable[[int], float]:
    """nbytes -> seconds of an all-reduce over P ranks of this network; the fastest algorithm unless one is named."""

    def seconds(nbytes: int) -> float:
        count = -(-nbytes // itemsize)
        if algorithm is None:
            return choose(P, count, itemsize, network).seconds
        return predict(algorithm, P, count, itemsize, network)

    return seconds


# The best buckets -----------------------------------------------------------------------------------------------------


def by_limit(layers: Sequence[Layer], limit: int) -> list[list[int]]:
    """The buckets that a size limit in bytes makes of the layers that have parameters, last layer first."""
    trained = [i for i, layer in enumerate(layers) if layer.nbytes]
    buckets = assign_buckets([layers[i].nbytes for i in trained], limit)
    return [[trained[i] for i in bucket] for bucket in buckets]


def best_limit(layers: Sequence[Layer], allreduce: Callable[[int], float], limits: Sequence[int] = ()) -> int:
    """The limit in bytes with the shortest step, the smallest of equals; unless told, powers of two are tried."""
    total = sum(layer.nbytes for layer in layers)
    limits = limits or [2**k for k in range(total.bit_length() + 1)]
    return min(limits, key=lambda limit: (step_of(layers, by_limit(layers, limit), allreduce).seconds, limit))


def best_buckets(layers: Sequence[Layer], allreduce: Callable[[int], float]) -> list[list[int]]:
    """The buckets with the shortest step of all that send the layers from the last to the first.

    A bucket that starts earlier never ends later, so the best way to send the last j layers begins with the best way to
    send the last i < j: O(L^2) calls of allreduce for L layers.
    """
    order = [i for i in reversed(range(len(layers))) if layers[i].nbytes]
    ready = list(accumulate(layer.backward for layer in reversed(layers)))[::-1]
    best: list[tuple[float, list]] = [(0.0, [])]  # [j]: when the first j of `order` are done at best, and how

    def after(i: int, j: int) -> tuple[float, list]:
        """With order[i:j] as one bucket behind the best way for the first i."""
        nbytes = sum(layers[k].nbytes for k in order[i:j])
        return max(ready[order[j - 1]], best[i][0]) + allreduce(nbytes), best[i][1] + [order[i:j]]

    for j in range(1, len(order) + 1):
        best.append(min((after(i, j) for i in range(j)), key=lambda way: (way[0], len(way[1]))))
    return best[-1][1]

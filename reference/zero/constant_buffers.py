"""Constant-size buffers (ZeRO-R's C_B): a long gradient is reduced through a buffer whose size the model does not set.

Idea      To copy all gradients into one flat buffer before they are reduced makes one large message of many small ones.
          But that buffer grows with the model: in float32, 4 Psi bytes, twice what gradients in 16 bits take. A message
          need not be that large to be efficient. So the buffer has a fixed number of elements, and is filled, reduced
          and emptied in rounds.

              gradient, cut for P = 3 ranks     a a' b b' | c c' d d' | e e' f f'     shards of n = 4 elements
              buffer of P k elements, k = 2     round 1   a a' c c' e e'              k of each rank's shard
                                                round 2   b b' d d' f f'

Before    a buffer of P n elements and one reduce-scatter
After     a buffer of P k elements and ceil(n / k) reduce-scatters
Price     ceil(n / k) (P - 1) latencies in place of P - 1. The bytes are the same, so a round is efficient as soon as
          k beta itemsize is much more than alpha: that depends on network and ranks, and not on the model.
Exact     A round takes a slice of *each* shard, so every element is summed in the order of the one-shot reduce-scatter:
          equal bits. (Cut from front to end instead, a ring would add up most elements in another order.)
Left out  Two buffers, of which one is filled while the other is reduced (DeepSpeed's overlap_comm).
Source    Rajbhandari et al., "ZeRO" (2020), section 6.2.
"""

from __future__ import annotations

from torch import Tensor

from ..collectives import ring_reduce_scatter
from ..collectives.cost import Cost
from ..collectives.ring import ring_reduce_scatter_cost
from ..networks.network import Link


def shard_length(elements: int, P: int) -> int:
    """n: elements of a rank's shard, ceil(elements / P)."""
    return -(-elements // P)


def rounds(n: int, P: int, size: int) -> list[range]:
    """The slice of every shard that each round takes, for a buffer of `size` elements: k = size // P of each.

    Raises ValueError if the buffer has no room for one element of each shard.
    """
    k = size // P
    if k < 1:
        raise ValueError(f"a buffer of {size} elements cannot hold one element of each of {P} shards: take {P} or more")
    return [range(first, min(first + k, n)) for first in range(0, n, k)]


def reduce_scatter_in_rounds(comm, gradient: Tensor, shard: Tensor, size: int) -> Tensor:
    """Fill this rank's shard with its part of the sum of all ranks' gradients, through a buffer of `size` elements.

    gradient [elements] is left as it is; shard [ceil(elements / P)], zeros behind the end. The buffer has the shard's
    type, so gradients in 16 bits are summed in float32 if the shard is. Returns the shard.
    Raises ValueError for a shard of another length, or a buffer of less than P elements.
    """
    P, n = comm.size, shard_length(len(gradient), comm.size)
    if len(shard) != n:
        raise ValueError(f"a shard of {len(gradient)} elements on {P} ranks has {n}, not {len(shard)}")
    slices = rounds(n, P, size)
    buffer = shard.new_empty(P * len(slices[0])) if slices else shard
    for part in slices:
        message = buffer[: P * len(part)]
        fill(message.view(P, len(part)), gradient, n, part)
        shard[part.start : part.stop] = ring_reduce_scatter(comm, message)
    return shard


def fill(message: Tensor, gradient: Tensor, n: int, part: range) -> None:
    """Copy the same slice of each rank's shard into a row of the message [P, k]; zeros behind the end."""
    for rank, row in enumerate(message):
        own = gradient[rank * n + part.start : rank * n + part.stop]
        row[: len(own)] = own
        row[len(own) :] = 0


# What it costs --------------------------------------------------------------------------------------------------------


def buffer_bytes(elements: int, P: int, size: int, itemsize: int = 4) -> int:
    """Bytes of the buffer: P k elements, k = size // P, but not more than the whole gradient with padding."""
    n = shard_length(elements, P)
    return P * min(size // P, n) * itemsize


def rounds_cost(elements: int, P: int, size: int, itemsize: int, link: Link) -> Cost:
    """The sum of its reduce-scatters: ceil(n / k) (P - 1) alpha + (P - 1) n itemsize (beta + gamma)."""
    slices = rounds(shard_length(elements, P), P, size)
    costs = [ring_reduce_scatter_cost(P, P * len(part), itemsize, link) for part in slices]
    return sum(costs, Cost(0.0, 0.0))


def efficiency(nbytes: float, P: int, link: Link) -> float:
    """The share of a reduce-scatter of this many bytes that is not latency: 1 / (1 + P alpha / (nbytes beta))."""
    moving = nbytes / P * (link.beta + link.gamma)
    return moving / (moving + link.alpha)


def buffer_for(share: float, P: int, link: Link) -> float:
    """Bytes of a buffer whose rounds reach this efficiency: share / (1 - share) P alpha / beta.

    Raises ValueError unless the share is between 0 and 1.
    """
    if not 0 < share < 1:
        raise ValueError(f"an efficiency lies between 0 and 1, not at {share}: latency is never nothing")
    return share / (1 - share) * P * link.alpha / (link.beta + link.gamma)

"""The cost of a collective: the parts of a time, what each rank sends, and the least that both can be.

Idea      A message of n bytes takes alpha + n beta seconds; a rank sends one and receives one at a time; combining
          costs gamma seconds per byte (Hockney 1994; Thakur, Rabenseifner & Gropp 2005). Where the next message need
          not wait until the last one is there, it follows after g + n beta (LogGP: Alexandrov et al. 1995).
          The closed form of each schedule stands below the schedule: `ring_allreduce_cost(P, count, itemsize, link)` in
          ring.py. Here is what they share.
Exact     On a uniform network these are not estimates: the virtual cluster takes exactly this long, for any number of
          ranks and any length, unless the docstring says otherwise. Blocks differ by one element at most, the longer
          ones come first, and the largest of each round lies on the longest way through the schedule.

Letters: P ranks; arrays of `count` elements of `itemsize` bytes, n bytes together, cut into P blocks; n_P is the bytes
of the largest block; link: alpha and g in seconds, beta and gamma in seconds per byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..networks.network import Link
from .rounds import block_bounds


@dataclass(frozen=True)
class Cost:
    """The parts of a time, in seconds; `seconds` is their sum."""

    latency: float
    bandwidth: float
    reduction: float = 0.0

    @property
    def seconds(self) -> float:
        """Latency, bandwidth and reduction terms together."""
        return self.latency + self.bandwidth + self.reduction

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.latency + other.latency,
            self.bandwidth + other.bandwidth,
            self.reduction + other.reduction,
        )


class Volume(NamedTuple):
    """Bytes and messages that each rank sends: int64, shape [P].

    The ranks of an all-reduce that add send 2 (P - 1) n bytes together, at least, whatever the schedule: P - 1
    messages of an element until a rank has its sum, and one more to each of the others. Schedules differ in who sends
    them.
    """

    nbytes: np.ndarray
    messages: np.ndarray


def messages(number: int, nbytes: float, link: Link, combined: bool = False) -> Cost:
    """`number` messages one after the other, of `nbytes` together; combined: all of them are added to what is there."""
    return Cost(number * link.alpha, nbytes * link.beta, nbytes * link.gamma if combined else 0.0)


def in_flight(number: int, nbytes: float, link: Link) -> Cost:
    """`number` messages, of `nbytes` together, that follow each other through a port: number g + n beta + alpha - g.

    The port is free g + n beta after a message has begun, and the message there alpha + n beta after that.
    """
    return Cost(number * link.g + (link.alpha - link.g), nbytes * link.beta) if number else Cost(0.0, 0.0)


def largest_block(P: int, count: int, itemsize: int = 1) -> int:
    """n_P, the bytes of the largest of P blocks: ceil(count / P) * itemsize."""
    return -(-count // P) * itemsize


def block_bytes(blocks: int, count: int, itemsize: int, lo: int, hi: int) -> int:
    """The bytes of the blocks lo, ..., hi - 1 of so many."""
    bounds = block_bounds(count, blocks)
    return int(bounds[hi] - bounds[lo]) * itemsize


def log2_rounds(P: int) -> int:
    """ceil(log2 P): in fewer rounds no rank can hear of all others."""
    return (P - 1).bit_length()


def distances(P: int) -> list[int]:
    """1, 2, 4, ..., below P."""
    return [2**k for k in range(log2_rounds(P))]


# Bounds and bandwidths -------------------------------------------------------------------------------------------

# collective: (latencies in units of ceil(log2 P), bytes in units of n, whether something is combined)
BOUNDS = {
    "broadcast": (1, lambda P: 1.0, False),
    "reduce": (1, lambda P: 1.0, True),
    "scatter": (1, lambda P: (P - 1) / P, False),
    "gather": (1, lambda P: (P - 1) / P, False),
    "allgather": (1, lambda P: (P - 1) / P, False),
    "reduce_scatter": (1, lambda P: (P - 1) / P, True),
    "alltoall": (1, lambda P: (P - 1) / P, False),
    "allreduce": (1, lambda P: 2 * (P - 1) / P, True),
}


def lower_bound(collective: str, P: int, nbytes: int, link: Link) -> Cost:
    """The least that each term can be, whatever the schedule (Chan et al. 2007, table 1); perhaps not all at once.

    Latency: what one rank knows spreads to at most twice as many ranks in a round, if a rank sends its next message
    when the last one is there. With messages in flight fewer latencies will do, and one if g is 0 (Karp, Sahay, Santos
    & Schauser, "Optimal broadcast and summation in the LogP model", 1993). Bandwidth: bytes that some rank must send
    or receive. Reduction: (P - 1) / P n, if the additions are shared evenly. nbytes: the larger of a
    rank's buffers, cut into equal blocks.
    """
    latencies, share, combines = BOUNDS[collective]
    if P == 1:
        return Cost(0.0, 0.0)
    reduction = (P - 1) / P * nbytes * link.gamma if combines else 0.0
    return Cost(latencies * log2_rounds(P) * link.alpha, share(P) * nbytes * link.beta, reduction)


def bus_bandwidth(collective: str, P: int, nbytes: int, seconds: float) -> float:
    """Bus bandwidth in bytes/s as nccl-tests defines it: comparable with a link's speed, if all links are alike.

    nbytes is the size of the larger of a rank's two buffers. Allreduce counts 2 (P - 1) / P of it, reduce-scatter,
    allgather and all-to-all (P - 1) / P, broadcast and reduce all of it (nccl-tests, doc/PERFORMANCE.md). Scatter and
    gather count (P - 1) / P, "sendrecv" all of it: that page does not list them, the programs do (src/scatter.cu,
    gather.cu, sendrecv.cu). All but the last are the bandwidth term of lower_bound. For P = 1 nothing has to move.
    """
    share = 1.0 if collective == "sendrecv" else BOUNDS[collective][1](P)
    return share * nbytes / seconds


# Several messages in one -----------------------------------------------------------------------------------------


def aggregated(sizes: list[int], link: Link) -> tuple[float, float]:
    """Seconds for messages of these bytes in one, and one by one: alpha + sum(n_i) beta, sum(alpha + n_i beta).

    One by one: each begins when the one before it is there, as collectives do that follow each other.
    """
    together = link.alpha + sum(sizes) * link.beta
    return together, together + (len(sizes) - 1) * link.alpha


def finish(ready: list[float], sizes: list[int], link: Link) -> tuple[float, float]:
    """When the last of these messages is through: all in one, which waits for the last to be ready; or each when it is.

    ready: seconds at which message i may leave, ascending. Aggregation saves latencies and loses overlap: it pays if
    messages are ready at about one time.
    """
    one_by_one = 0.0
    for time, size in zip(ready, sizes, strict=True):
        one_by_one = max(one_by_one, time) + link.alpha + size * link.beta
    return max(ready) + aggregated(sizes, link)[0], one_by_one

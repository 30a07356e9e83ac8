"""What a collective costs: closed forms in the alpha-beta-gamma model, beside the algorithms they describe.

Model     A message of n bytes takes alpha + n beta seconds; a rank sends one and receives one at a time; combining
          costs gamma seconds per byte (Hockney 1994; Thakur, Rabenseifner & Gropp 2005).
Exact     For the ring on a uniform network these are not estimates: the virtual cluster takes exactly this long, for
          any number of ranks and any length, because some block of the largest size is under way in every step.
Symbols   P ranks; arrays of `count` elements of `itemsize` bytes, n bytes together, cut into P blocks; n_P is the bytes
          of the largest block; alpha in seconds, beta and gamma in seconds per byte.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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


def largest_block(P: int, count: int, itemsize: int = 1) -> int:
    """n_P, the bytes of the largest of P blocks: ceil(count / P) * itemsize."""
    return -(-count // P) * itemsize


def ring_allgather(P: int, count: int, itemsize: int, alpha: float, beta: float) -> Cost:
    """(P - 1) (alpha + n_P beta). count: elements of the gathered array."""
    return Cost((P - 1) * alpha, (P - 1) * largest_block(P, count, itemsize) * beta)


def ring_reduce_scatter(
    P: int,
    count: int,
    itemsize: int,
    alpha: float,
    beta: float,
    gamma: float = 0.0,
) -> Cost:
    """(P - 1) (alpha + n_P beta + n_P gamma). count: elements of the input."""
    moved = ring_allgather(P, count, itemsize, alpha, beta)
    return moved + Cost(0.0, 0.0, (P - 1) * largest_block(P, count, itemsize) * gamma)


def ring_allreduce(
    P: int,
    count: int,
    itemsize: int,
    alpha: float,
    beta: float,
    gamma: float = 0.0,
) -> Cost:
    """2 (P - 1) (alpha + n_P beta) + (P - 1) n_P gamma: a reduce-scatter and an allgather (Patarasuk & Yuan 2009)."""
    return ring_reduce_scatter(P, count, itemsize, alpha, beta, gamma) + ring_allgather(P, count, itemsize, alpha, beta)


def ring_bytes(P: int, count: int, itemsize: int = 1) -> np.ndarray:
    """Bytes that each rank sends in a ring allreduce (int64, shape [P]): all blocks but one, twice.

    Rank r sends every block but its own in the reduce-scatter, and every block but r + 1 in the allgather.
    If P divides count this is 2 (P - 1) / P n for every rank, else within two elements of it; the ranks together send
    exactly 2 (P - 1) n, and no algorithm can do with less.
    """
    sizes = np.diff(block_bounds(count, P)) * itemsize
    return 2 * count * itemsize - sizes - np.roll(sizes, -1)


def bus_bandwidth(collective: str, P: int, nbytes: int, seconds: float) -> float:
    """Bus bandwidth in bytes/s as nccl-tests defines it: comparable with a link's speed, whatever P.

    nbytes is the size of the larger of a rank's two buffers. Allreduce counts 2 (P - 1) / P of it, reduce-scatter,
    allgather and all-to-all (P - 1) / P, broadcast and reduce all of it (nccl-tests, doc/PERFORMANCE.md). For P = 1
    nothing has to move, and the first four are zero.
    """
    factor = {
        "allreduce": 2 * (P - 1) / P,
        "reduce_scatter": (P - 1) / P,
        "allgather": (P - 1) / P,
        "alltoall": (P - 1) / P,
        "broadcast": 1.0,
        "reduce": 1.0,
    }[collective]
    return factor * nbytes / seconds

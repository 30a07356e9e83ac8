"""The remaining collectives in their plainest good form: barrier, scatter, gather, all-to-all.

Source    barrier: Hensgen, Finkel & Manber, "Two algorithms for barrier synchronization" (1988);
          pairwise exchange: Thakur, Rabenseifner & Gropp (2005).
"""

from __future__ import annotations

from collections.abc import Iterator

from .. import mpi
from ..networks.network import Link
from .cost import Cost, log2_rounds
from .ring import ring_allgather_cost
from .rounds import Round


def dissemination_barrier_rounds(rank, ranks: int) -> Iterator[Round]:
    """ceil(log2 P) rounds of empty messages; round k tells the rank 2^k ahead about 2^k more ranks."""
    distance = 1
    while distance < ranks:
        yield Round((rank + distance) % ranks, (0, 0), (rank - distance) % ranks, (0, 0))
        distance *= 2


def linear_scatter_rounds(rank: int, ranks: int, root: int = 0) -> Iterator[Round]:
    """The root sends block r to rank r, one after the other; there it becomes the only block."""
    if rank == root:
        for other in _others(rank, ranks):
            yield Round(other, (other, other + 1), mpi.PROC_NULL, (0, 0))
    else:
        yield Round(mpi.PROC_NULL, (0, 0), root, (0, 1))


def linear_gather_rounds(rank: int, ranks: int, root: int = 0) -> Iterator[Round]:
    """The root receives block r from rank r, one after the other."""
    if rank == root:
        for other in _others(rank, ranks):
            yield Round(mpi.PROC_NULL, (0, 0), other, (other, other + 1))
    else:
        yield Round(root, (0, 1), mpi.PROC_NULL, (0, 0))


def pairwise_alltoall_rounds(rank, ranks: int) -> Iterator[Round]:
    """P - 1 rounds; in round k rank r sends its block for r + k and receives from r - k."""
    for distance in range(1, ranks):
        to, source = (rank + distance) % ranks, (rank - distance) % ranks
        yield Round(to, (to, to + 1), source, (source, source + 1))


def _others(rank: int, ranks: int) -> list[int]:
    return [(rank + distance) % ranks for distance in range(1, ranks)]


# What it costs ----------------------------------------------------------------------------------------------------


def dissemination_barrier_cost(P: int, count: int, itemsize: int, link: Link) -> Cost:
    """ceil(log2 P) alpha (Hensgen, Finkel & Manber 1988)."""
    return Cost(log2_rounds(P) * link.alpha, 0.0)


def pairwise_alltoall_cost(P: int, count: int, itemsize: int, link: Link) -> Cost:
    """(P - 1) (alpha + n / P beta). count: elements that one rank sends, its own block included."""
    return ring_allgather_cost(P, count, itemsize, link)

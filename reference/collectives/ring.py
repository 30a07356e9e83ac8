"""Ring reduce-scatter, allgather and allreduce: the algorithm that moves large gradients.

Idea      Cut the array into P blocks. Every rank passes one block to its right neighbour in every step: all links carry
          bytes at once. In the first P - 1 steps each block travels once around and collects the sum
          (reduce-scatter); in P - 1 more it travels around once more, finished (allgather).

              P = 3. Of each block: how many ranks' numbers it is the sum of; a dot: handed on
              rank       0    1    2
              start    111  111  111
              round 1  12.  .12  2.1
              round 2  3..  .3.  ..3
              round 3  3.3  33.  .33
              round 4  333  333  333

Before    every rank sends its whole array to one that adds:   that one receives (P - 1) n bytes
After     every rank sends and receives, on average            2 (P - 1) / P n bytes: the least, if ranks add
Sends     Each rank 2 (P - 1) messages of about n / P bytes
Price     2 (P - 1) (alpha + n_P beta) + (P - 1) n_P gamma, n_P bytes in the largest block
Left out  Several rings at once over several links, pipelining inside a block.
Source    Patarasuk & Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations" (2009).
Try       mpirun -n 8 python -m reference.ring_allreduce
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .. import mpi
from ..networks.network import Link
from .cost import Cost, Volume, largest_block, messages
from .record import AllreduceRecord, a_block_each, always, exactly
from .request import RoundsRequest
from .rounds import Blocks, Round, before, block_bounds, execute, one, steps


def ring_reduce_scatter_rounds(rank, ranks: int) -> Iterator[Round]:
    """P - 1 rounds; in the end block r, combined over all ranks, is at rank r."""
    right, left = (rank + 1) % ranks, (rank - 1) % ranks
    out = one((rank - 1) % ranks)
    for _ in range(ranks - 1):
        come = one(before(out[0], ranks))
        yield Round(right, out, left, come, combine=True)
        out = come  # what has come goes on


def ring_allgather_rounds(rank, ranks: int) -> Iterator[Round]:
    """P - 1 rounds; in the end block r, which only rank r had, is everywhere."""
    right, left = (rank + 1) % ranks, (rank - 1) % ranks
    out = one(rank)
    for _ in range(ranks - 1):
        come = one(before(out[0], ranks))
        yield Round(right, out, left, come)
        out = come


def ring_allreduce_rounds(rank, ranks: int) -> Iterator[Round]:
    """2 (P - 1) rounds: a reduce-scatter, and an allgather of what it left."""
    yield from ring_reduce_scatter_rounds(rank, ranks)
    yield from ring_allgather_rounds(rank, ranks)


# What it costs ----------------------------------------------------------------------------------------------------


def ring_reduce_scatter_cost(P: int, count: int, itemsize: int, link: Link) -> Cost:
    """(P - 1) (alpha + n_P beta + n_P gamma). count: elements of the input."""
    return messages(P - 1, (P - 1) * largest_block(P, count, itemsize), link, combined=True)


def ring_allgather_cost(P: int, count: int, itemsize: int, link: Link) -> Cost:
    """(P - 1) (alpha + n_P beta). count: elements of the gathered array."""
    return messages(P - 1, (P - 1) * largest_block(P, count, itemsize), link)


def ring_allreduce_cost(P: int, count: int, itemsize: int, link: Link) -> Cost:
    """2 (P - 1) (alpha + n_P beta) + (P - 1) n_P gamma: a reduce-scatter and an allgather (Patarasuk & Yuan 2009)."""
    return ring_reduce_scatter_cost(P, count, itemsize, link) + ring_allgather_cost(P, count, itemsize, link)


def ring_bytes(P: int, count: int, itemsize: int = 1) -> np.ndarray:
    """Bytes that each rank sends in a ring allreduce (int64, shape [P]): all blocks but one, twice.

    Rank r sends every block but its own in the reduce-scatter, and every block but r + 1 in the allgather.
    If P divides count this is 2 (P - 1) / P n for every rank, else within two elements of it; the ranks together send
    exactly 2 (P - 1) n, and no algorithm can do with less as long as ranks do the adding.
    """
    return twice_around(np.diff(block_bounds(count, P)) * itemsize)


def twice_around(sizes: np.ndarray) -> np.ndarray:
    """Bytes that each rank of a ring sends, int64 [P], if block r has sizes[r] bytes."""
    return 2 * sizes.sum() - sizes - np.roll(sizes, -1)


def ring_allreduce_volume(P: int, count: int, itemsize: int = 1) -> Volume:
    """2 n - n_r - n_(r + 1) bytes in 2 (P - 1) messages."""
    return Volume(ring_bytes(P, count, itemsize), np.full(P, 2 * (P - 1)))


RING = AllreduceRecord(
    name="ring",
    idea="each block travels once around and collects the sum, and once more to tell it",
    rounds=ring_allreduce_rounds,
    blocks=a_block_each,
    cost=ring_allreduce_cost,
    volume=ring_allreduce_volume,
    holds=exactly,
    options=(),
    candidates=always,
    source="Patarasuk and Yuan (2009)",
)


# Carried out ------------------------------------------------------------------------------------------------------


def ring_reduce_scatter(comm, x, op=mpi.SUM):
    """Combine x over the ranks and return this rank's block of the result: a view of x, which is scratch otherwise.

    x: one-dimensional contiguous array or tensor, of one length on all ranks, cut into P blocks as numpy.array_split
    does it: lengths differ by at most one element, the longer ones first.
    """
    blocks = Blocks(x, comm.size)
    execute(comm, ring_reduce_scatter_rounds(comm.rank, comm.size), blocks, op=op)
    return blocks[comm.rank, comm.rank + 1]


def ring_allgather(comm, x):
    """Fill x with every rank's block, in place, and return it; on entry rank r has put its own into block r of P."""
    execute(comm, ring_allgather_rounds(comm.rank, comm.size), Blocks(x, comm.size))
    return x


def ring_allreduce(comm, x, op=mpi.SUM):
    """Combine x over the ranks, in place, and return it.

    x: one-dimensional contiguous array or tensor, of one length on all ranks. All ranks get the same bits, because
    each block is combined once and then copied.
    """
    execute(comm, ring_allreduce_rounds(comm.rank, comm.size), Blocks(x, comm.size), op=op)
    return x


def start_ring_allreduce(comm, x, op=mpi.SUM) -> RoundsRequest:
    """ring_allreduce that returns at once; x holds the result when the request is complete."""
    return RoundsRequest(steps(comm, ring_allreduce_rounds(comm.rank, comm.size), Blocks(x, comm.size), op=op))

"""Bruck's allgather and all-to-all: ceil(log2 P) rounds for any number of ranks.

Idea      allgather   in round k pass on all blocks that you have, 1, 2, 4, ..., to the rank that many places behind
          all-to-all  write the number of places that a block has to travel in binary; in round k all blocks whose bit k
                      is set travel 2^k places at once, in one message
Price     allgather   ceil(log2 P) alpha + about (P - 1) / P n beta: as few bytes as the ring in far fewer rounds
          all-to-all  ceil(log2 P) (alpha + about n / 2 beta): fewer rounds than P - 1, but each block travels often
Source    Bruck, Ho, Kipnis, Upfal & Weathersby, "Efficient algorithms for all-to-all communications in multiport
          message-passing systems" (1997).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .. import mpi
from ..networks.network import Link
from .cost import Cost, block_bytes, distances, largest_block, log2_rounds, messages
from .rounds import Blocks, Round, carry_out, plan


def bruck_allgather_rounds(rank, ranks: int) -> Iterator[Round]:
    """Rounds with distance 1, 2, 4, ...: rank r has the blocks r, r + 1, ... and asks the next for those after them."""
    distance = 1
    while distance < ranks:
        blocks = min(distance, ranks - distance)
        behind, ahead = (rank - distance) % ranks, (rank + distance) % ranks
        yield Round(behind, (rank, rank + blocks), ahead, (ahead, ahead + blocks))
        distance *= 2


def bruck_alltoall_rounds(rank, ranks: int) -> Iterator[Round]:
    """Rounds with distance 1, 2, 4, ..., each of one message: the packed blocks, 0, 1, ..., whose way has that bit."""
    distance = 1
    while distance < ranks:
        blocks = (np.arange(ranks) & distance).astype(bool).sum().item()
        yield Round((rank + distance) % ranks, (0, blocks), (rank - distance) % ranks, (0, blocks))
        distance *= 2


def bruck_alltoall_steps(comm, send, recv) -> Iterator[list]:
    """All-to-all of arrays whose length is a multiple of P: pack, exchange, unpack in every round."""
    P, r = comm.size, comm.rank
    ways = [(r + way) % P for way in range(P)]
    work, tag = send.reshape(P, -1)[ways], mpi.fresh_tag(comm)  # row w: the block that has w places to go
    for number, each in enumerate(bruck_alltoall_rounds(r, P)):
        rows = [way for way in range(P) if way >> number & 1]
        outgoing = work[rows].reshape(-1)
        incoming = _like(outgoing)
        posts = plan([each], Blocks(outgoing, len(rows)), Blocks(incoming, len(rows)))
        yield from carry_out(comm, posts, outgoing, incoming, tag=tag)
        work[rows] = incoming.reshape(len(rows), -1)
    recv.reshape(P, -1)[[(r - way) % P for way in range(P)]] = work  # what came w places came from rank r - w


def _like(array):
    return np.empty_like(array) if isinstance(array, np.ndarray) else array.new_empty(array.shape)


# What it costs ----------------------------------------------------------------------------------------------------


def bruck_allgather_cost(P: int, count: int, itemsize: int, link: Link) -> Cost:
    """ceil(log2 P) alpha + (P - 1) / P n beta and at most ceil(log2 P) elements more (Bruck et al. 1997)."""
    sizes = [block_bytes(P, count, itemsize, 0, min(d, P - d)) for d in distances(P)]
    return messages(len(sizes), sum(sizes), link)


def bruck_alltoall_cost(P: int, count: int, itemsize: int, link: Link) -> Cost:
    """ceil(log2 P) alpha + n / P beta times the set bits of 1, ..., P - 1: log2 P n / 2 beta for powers of two."""
    bits = sum(way.bit_count() for way in range(P))
    return messages(log2_rounds(P), bits * largest_block(P, count, itemsize), link)

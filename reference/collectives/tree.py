"""Binomial trees: broadcast, reduce, scatter and gather in ceil(log2 P) rounds, for messages whose latency counts.

Idea      In every round each rank that has the message passes it on: 1, 2, 4, ... ranks have it. A reduction is the
          same tree with time turned round. A scatter hands on half of what is left, a gather is a scatter backwards.
Price     broadcast ceil(log2 P) (alpha + n beta); reduce the same + n gamma in every round;
          scatter, gather ceil(log2 P) alpha + about (P - 1) / P n beta
Left out  Pipelining: cut into segments, a tree can do better for large messages (binary_tree.py, chain.py).
Source    Thakur, Rabenseifner & Gropp, "Optimization of collective communication operations in MPICH" (2005).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..networks.network import Link
from .cost import Cost, Volume, block_bytes, log2_rounds, messages
from .record import AllreduceRecord, always, exactly, one_block
from .rounds import Round, backwards, peer_if, where


def binomial_broadcast_rounds(rank, ranks: int, root: int = 0) -> Iterator[Round]:
    """Rounds with distance 1, 2, 4, ...: who has the message sends it that far ahead. The array is one block."""
    me, distance = (rank - root) % ranks, 1
    while distance < ranks:
        sends = (me < distance) & (me + distance < ranks)
        receives = (distance <= me) & (me < 2 * distance)
        ahead, behind = (rank + distance) % ranks, (rank - distance) % ranks
        yield Round(peer_if(sends, ahead), (0, 1), peer_if(receives, behind), (0, 1))
        distance *= 2


def binomial_reduce_rounds(rank, ranks: int, root: int = 0) -> Iterator[Round]:
    """The broadcast backwards: who received there sends here, and what comes is combined."""
    yield from backwards(binomial_broadcast_rounds(rank, ranks, root), combine=True)


def binomial_allreduce_rounds(rank, ranks: int) -> Iterator[Round]:
    """Reduce to rank 0, then broadcast from there."""
    yield from binomial_reduce_rounds(rank, ranks)
    yield from binomial_broadcast_rounds(rank, ranks)


def binomial_scatter_rounds(rank, ranks: int, root: int = 0) -> Iterator[Round]:
    """The root sends half of all blocks to the rank half-way round, and both go on alike; rank r ends with block r.

    On its way a rank also holds the blocks of those to which it passes them on.
    """
    me = (rank - root) % ranks
    distance = 1 << max(ranks - 1, 0).bit_length()
    while distance > 1:
        distance //= 2
        sends = (me % (2 * distance) == 0) & (me + distance < ranks)
        receives = me % (2 * distance) == distance
        ahead, behind = (rank + distance) % ranks, (rank - distance) % ranks
        out = where(me + 2 * distance < ranks, distance, ranks - me - distance)  # how many ranks are there to serve
        come = where(me + distance < ranks, distance, ranks - me)
        yield Round(peer_if(sends, ahead), (ahead, ahead + out), peer_if(receives, behind), (rank, rank + come))


def binomial_gather_rounds(rank, ranks: int, root: int = 0) -> Iterator[Round]:
    """The scatter backwards: block r of rank r, ever more of them in a message, on their way to the root."""
    yield from backwards(binomial_scatter_rounds(rank, ranks, root), combine=False)


# What it costs ----------------------------------------------------------------------------------------------------


def binomial_broadcast_cost(P: int, count: int, itemsize: int, link: Link) -> Cost:
    """ceil(log2 P) (alpha + n beta)."""
    return messages(log2_rounds(P), log2_rounds(P) * count * itemsize, link)


def binomial_reduce_cost(P: int, count: int, itemsize: int, link: Link) -> Cost:
    """ceil(log2 P) (alpha + n beta + n gamma)."""
    return messages(log2_rounds(P), log2_rounds(P) * count * itemsize, link, combined=True)


def binomial_scatter_cost(P: int, count: int, itemsize: int, link: Link) -> Cost:
    """ceil(log2 P) alpha + (n - n_P) beta from root 0, within P elements from another. So does a gather."""
    return messages(log2_rounds(P), block_bytes(P, count, itemsize, 1, P), link)


def binomial_allreduce_cost(P: int, count: int, itemsize: int, link: Link) -> Cost:
    """2 ceil(log2 P) (alpha + n beta) + ceil(log2 P) n gamma: a reduce and a broadcast."""
    return binomial_reduce_cost(P, count, itemsize, link) + binomial_broadcast_cost(P, count, itemsize, link)


def binomial_allreduce_volume(P: int, count: int, itemsize: int = 1) -> Volume:
    """n up for every rank but 0, and n down for each child: the 2^k > r with r + 2^k < P."""
    powers = 2 ** np.arange(log2_rounds(P))
    rank = np.arange(P)[:, None]
    number = ((powers > rank) & (rank + powers < P)).sum(axis=1) + (np.arange(P) > 0)
    return Volume(number * count * itemsize, number)


BINOMIAL_TREE = AllreduceRecord(
    name="binomial tree",
    idea="whole arrays up a binomial tree to rank 0, and the sum down again",
    rounds=binomial_allreduce_rounds,
    blocks=one_block,
    cost=binomial_allreduce_cost,
    volume=binomial_allreduce_volume,
    holds=exactly,
    options=(),
    candidates=always,
    source="Thakur, Rabenseifner and Gropp (2005)",
)

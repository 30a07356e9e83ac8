"""Binomial trees: broadcast, reduce, scatter and gather in ceil(log2 P) rounds, for messages whose latency counts.

Source    Thakur, Rabenseifner & Gropp, "Optimization of collective communication operations in MPICH" (2005).
Idea      In every round each rank that has the message passes it on: 1, 2, 4, ... ranks have it. A reduction is the
          same tree with time turned round. A scatter hands on half of what is left, a gather is a scatter backwards.
Time      broadcast ceil(log2 P) (alpha + n beta); reduce the same + n gamma in every round;
          scatter, gather ceil(log2 P) alpha + about (P - 1) / P n beta                                       (cost.py)
Left out  pipelining: cut into segments, a tree can do better for large messages (binary_tree.py, chain.py).
"""

from __future__ import annotations

from collections.abc import Iterator

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

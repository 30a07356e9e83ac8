"""Binomial trees: broadcast and reduce in ceil(log2 P) rounds, for messages whose latency counts.

Source    Thakur, Rabenseifner & Gropp, "Optimization of collective communication operations in MPICH" (2005).
Idea      In every round each rank that has the message passes it on: 1, 2, 4, ... ranks have it. A reduction is the
          same tree with time turned round.
Time      ceil(log2 P) (alpha + n beta), for the reduction + n gamma in every round.
"""

from __future__ import annotations

from collections.abc import Iterator

from .. import mpi
from .rounds import Round


def binomial_broadcast_rounds(rank: int, ranks: int, root: int = 0) -> Iterator[Round]:
    """Rounds with distance 1, 2, 4, ...: who has the message sends it that far ahead."""
    me, everything, nothing = (rank - root) % ranks, (0, ranks), (0, 0)
    distance = 1
    while distance < ranks:
        if me < distance and me + distance < ranks:
            yield Round((rank + distance) % ranks, everything, mpi.PROC_NULL, nothing)
        elif distance <= me < 2 * distance:
            yield Round(mpi.PROC_NULL, nothing, (rank - distance) % ranks, everything)
        distance *= 2


def binomial_reduce_rounds(rank: int, ranks: int, root: int = 0) -> Iterator[Round]:
    """The broadcast backwards: who received there sends here, and what comes is combined."""
    for there in reversed(list(binomial_broadcast_rounds(rank, ranks, root))):
        yield Round(there.source, there.recv, there.to, there.send, combine=True)


def tree_allreduce_rounds(rank: int, ranks: int) -> Iterator[Round]:
    """Reduce to rank 0, then broadcast from there."""
    yield from binomial_reduce_rounds(rank, ranks)
    yield from binomial_broadcast_rounds(rank, ranks)

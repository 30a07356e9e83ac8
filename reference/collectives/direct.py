"""Direct exchange: every rank talks to every other, with all its messages under way at once.

Source    Thakur, Rabenseifner & Gropp (2005), pairwise exchange; the order r + 1, r + 2, ...
          keeps two senders from meeting at one receiver.
Idea      Rank r wants the sum of the blocks r: let everybody send theirs to it. No message depends on another, so all
          are posted together, and whoever is late holds up nobody but himself.
Time      P - 1 rounds of a block each way, as the ring; while a block comes in, the one before it is added.
          On real machines often the fastest for large messages: two waits instead of 2 (P - 1).
"""

from __future__ import annotations

from collections.abc import Iterator

from .rounds import Round


def direct_reduce_scatter_rounds(rank, ranks: int) -> Iterator[Round]:
    """P - 1 rounds posted together; in the end block r, combined over all ranks, is at rank r."""
    for distance in range(1, ranks):
        to, source = (rank + distance) % ranks, (rank - distance) % ranks
        yield Round(to, (to, to + 1), source, (rank, rank + 1), combine=True, wait=distance == ranks - 1)


def direct_allgather_rounds(rank, ranks: int) -> Iterator[Round]:
    """P - 1 rounds posted together; in the end block r, which only rank r had, is everywhere."""
    for distance in range(1, ranks):
        to, source = (rank + distance) % ranks, (rank - distance) % ranks
        yield Round(to, (rank, rank + 1), source, (source, source + 1), wait=distance == ranks - 1)


def direct_allreduce_rounds(rank, ranks: int) -> Iterator[Round]:
    """A direct reduce-scatter, and a direct allgather of what it left."""
    yield from direct_reduce_scatter_rounds(rank, ranks)
    yield from direct_allgather_rounds(rank, ranks)


def direct_alltoall_rounds(rank, ranks: int) -> Iterator[Round]:
    """The pairwise exchange with all its rounds posted together."""
    for distance in range(1, ranks):
        to, source = (rank + distance) % ranks, (rank - distance) % ranks
        yield Round(to, (to, to + 1), source, (source, source + 1), wait=distance == ranks - 1)

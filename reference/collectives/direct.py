"""Direct exchange: every rank talks to every other, with all its messages under way at once.

Idea      Rank r wants the sum of the blocks r: let everybody send theirs to it. No message depends on another, so all
          are posted together. (Each rank needs a block from every other, so a rank that is late holds up all.)
Price     Each way P - 1 blocks, as the ring, but one latency: (P - 1) (g + n_P beta) + alpha - g. While a block comes
          in, the one before it is added.
          Two waits instead of the ring's 2 (P - 1).
Source    Thakur, Rabenseifner & Gropp (2005), pairwise exchange; the order r + 1, r + 2, ...
          keeps two senders from meeting at one receiver.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..networks.network import Link
from .cost import Cost, Volume, in_flight, largest_block
from .record import AllreduceRecord, Holds, Setting, a_block_each
from .rounds import Round, block_bounds

MOST_EVALUATED = 128  # ranks; their 32,512 messages, where some meet on links, take about a second to be timed


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


# What it costs ----------------------------------------------------------------------------------------------------


def direct_reduce_scatter_cost(P: int, count: int, itemsize: int, link: Link) -> Cost:
    """(P - 1) (g + n_P beta) + alpha - g + n_P gamma: only the last addition is not hidden behind a message.

    More if an addition takes longer than a message.
    """
    if P == 1:
        return Cost(0.0, 0.0)
    size = largest_block(P, count, itemsize)
    message, addition = link.g + size * link.beta, size * link.gamma
    exposed = addition + (P - 2) * max(0.0, addition - message)
    return direct_allgather_cost(P, count, itemsize, link) + Cost(0.0, 0.0, exposed)


def direct_allgather_cost(P: int, count: int, itemsize: int, link: Link) -> Cost:
    """(P - 1) (g + n_P beta) + alpha - g. count: elements of the output. Exact if P divides it."""
    return in_flight(P - 1, (P - 1) * largest_block(P, count, itemsize), link)


def direct_alltoall_cost(P: int, count: int, itemsize: int, link: Link) -> Cost:
    """(P - 1) (g + n / P beta) + alpha - g. count: elements that one rank sends, its own block included."""
    return direct_allgather_cost(P, count, itemsize, link)


def direct_allreduce_cost(P: int, count: int, itemsize: int, link: Link) -> Cost:
    """2 (P - 1) (g + n_P beta) + 2 (alpha - g) + n_P gamma: a reduce-scatter, with what is said there; an allgather.

    Exact if P divides count. Else ranks begin the allgather out of step: whoever is a moment late finds the ports of
    the others taken for a whole message, and it takes up to half as long again (on 2 to 64 ranks; test_cost.py). A
    network whose messages share its links would not mind.
    """
    scattered = direct_reduce_scatter_cost(P, count, itemsize, link)
    return scattered + direct_allgather_cost(P, count, itemsize, link)


def direct_allreduce_volume(P: int, count: int, itemsize: int = 1) -> Volume:
    """n - n_r to the owners of the other blocks, then (P - 1) n_r: all of them get this rank's; 2 (P - 1) messages."""
    sizes = np.diff(block_bounds(count, P)) * itemsize
    return Volume(count * itemsize + (P - 2) * sizes, np.full(P, 2 * (P - 1)))


def _holds(P: int, count: int) -> Holds:
    return "within a factor of 2" if count % P else "exactly"


def _candidates(setting: Setting) -> list[dict]:
    """Not with uneven blocks: the ranks get out of step, and the formula promises too much.

    Nor if each of very many messages would have to be looked at.
    """
    uneven = setting.link is not None and setting.count % setting.P > 0
    return [] if uneven or (setting.meet and setting.P > MOST_EVALUATED) else [{}]


DIRECT = AllreduceRecord(
    name="direct",
    idea="every rank sends each block to the rank that adds it, which sends the sum to all; all messages at once",
    rounds=direct_allreduce_rounds,
    blocks=a_block_each,
    cost=direct_allreduce_cost,
    volume=direct_allreduce_volume,
    holds=_holds,
    options=(),
    candidates=_candidates,
    source="Thakur, Rabenseifner and Gropp (2005)",
)

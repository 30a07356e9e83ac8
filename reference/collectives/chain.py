"""Broadcast of large messages: a pipelined chain, and a scatter followed by an allgather.

Idea      A binomial tree sends all n bytes ceil(log2 P) times in a row. A chain cuts them into S segments and
          works like a bucket brigade: while a rank passes one segment on, it receives the next. Or: scatter the
          array, so that every rank has one block, and let an allgather bring them together.
Price     chain (P - 2 + S) (alpha + n_S beta), which nears n beta for large n
          scatter-allgather (ceil(log2 P) + P - 1) alpha + about 2 (P - 1) / P n beta
Source    van de Geijn, "On global combine operations" (1994); Thakur, Rabenseifner & Gropp (2005).
"""

from __future__ import annotations

from collections.abc import Iterator

from ..networks.network import Link
from .cost import Cost, largest_block, messages
from .ring import ring_allgather_cost, ring_allgather_rounds
from .rounds import Round, peer_if, where
from .tree import binomial_scatter_cost, binomial_scatter_rounds


def chain_broadcast_rounds(rank, ranks: int, root: int = 0, segments: int = 1) -> Iterator[Round]:
    """P - 2 + S rounds; in round t the rank at place m passes on segment t - m and receives the one after it."""
    me = (rank - root) % ranks
    for t in range(ranks - 2 + segments if ranks > 1 else 0):
        out, come = t - me, t - me + 1
        sends = (me < ranks - 1) & (out >= 0) & (out < segments)
        receives = (me > 0) & (come >= 0) & (come < segments)
        out, come = where(sends, out, 0), where(receives, come, 0)
        ahead, behind = (rank + 1) % ranks, (rank - 1) % ranks
        yield Round(peer_if(sends, ahead), (out, out + 1), peer_if(receives, behind), (come, come + 1))


def scatter_allgather_broadcast_rounds(rank, ranks: int, root: int = 0) -> Iterator[Round]:
    """A binomial scatter, so that rank r has block r, then a ring allgather."""
    yield from binomial_scatter_rounds(rank, ranks, root)
    yield from ring_allgather_rounds(rank, ranks)


# What it costs ----------------------------------------------------------------------------------------------------


def chain_broadcast_cost(P: int, count: int, itemsize: int, link: Link, segments: int = 1) -> Cost:
    """(P - 2 + S) alpha + ((P - 2) n_S + n) beta for P > 1: the first segment goes all the way, the others follow."""
    if P == 1:
        return Cost(0.0, 0.0)
    nbytes = (P - 2) * largest_block(segments, count, itemsize) + count * itemsize
    return messages(P - 2 + segments, nbytes, link)


def scatter_allgather_broadcast_cost(P: int, count: int, itemsize: int, link: Link) -> Cost:
    """A binomial scatter and a ring allgather; from a root other than 0 within 2 P elements."""
    return binomial_scatter_cost(P, count, itemsize, link) + ring_allgather_cost(P, count, itemsize, link)

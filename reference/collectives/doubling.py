"""Recursive doubling and halving: log2 P rounds between partners whose numbers differ in one bit.

Idea      doubling  in round k exchange everything you have with rank XOR 2^k: what you know doubles
          halving   exchange halves instead, keep combining what remains yours: it halves
          halving-doubling (Rabenseifner): a reduce-scatter by halving, an allgather by doubling
          If P is no power of two, the first pairs of neighbours act as one: the odd one of a pair hands its array to
          the even one, looks on, and is told the result.

              halving-doubling, P = 4. Of each block: how many ranks' numbers it is the sum of; a dot: handed on
              rank        0     1     2     3
              start    1111  1111  1111  1111
              round 1  22..  22..  ..22  ..22
              round 2  4...  .4..  ..4.  ...4
              round 3  44..  44..  ..44  ..44
              round 4  4444  4444  4444  4444

Price     recursive doubling log2 P (alpha + n beta + n gamma) for a power of two: the fewest rounds
          halving-doubling   2 log2 P alpha + 2 (P - 1) / P n beta + (P - 1) / P n gamma for a power of two: as few
                             bytes as possible, and twice the least latency; a fold adds 2 (alpha + n beta) + n gamma
Source    Rabenseifner, "Optimization of collective reduction operations" (2004); Thakur, Rabenseifner & Gropp (2005).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..networks.network import Link
from .cost import Cost, Volume, block_bytes, distances, messages
from .record import AllreduceRecord, always, exactly, one_block
from .rounds import Round, block_bounds, peer_if, where


class Fold(NamedTuple):
    """How P ranks act as `core`, the largest power of two that is not more than P (fields of one rank, or of all).

    extra     pairs of neighbours that act as one: ranks 0 and 1, 2 and 3, ...
    paired    whether the rank is in such a pair; spare: whether it is the one of the two that looks on
    place     the rank's (or its pair's) number among the core
    """

    core: int
    extra: int
    paired: Any
    spare: Any
    place: Any

    @property
    def acts(self):
        """Whether the rank takes part between the fold in and the fold out."""
        return self.spare ^ True

    def first(self, place):
        """The first rank at a place of the core; also the first of its blocks, if there is one block a rank."""
        return place + where(place < self.extra, place, self.extra)


def core(ranks: int) -> int:
    """The largest power of two that is not more than `ranks`."""
    return 1 << (ranks.bit_length() - 1)


def fold(rank, ranks: int) -> Fold:
    """The fold of `ranks` ranks, as seen by `rank`."""
    extra = ranks - core(ranks)
    paired = rank < 2 * extra
    return Fold(core(ranks), extra, paired, paired & (rank % 2 == 1), where(paired, rank // 2, rank - extra))


def _in(rank, f: Fold, send: tuple, recv: tuple, combine: bool) -> Iterator[Round]:
    """The spare ranks hand their blocks to their neighbours."""
    if f.extra:
        gives, takes = peer_if(f.spare, rank - 1), peer_if(f.paired & (rank % 2 == 0), rank + 1)
        yield Round(gives, send, takes, recv, combine)


def _out(rank, f: Fold, send: tuple, recv: tuple) -> Iterator[Round]:
    """The spare ranks are told the result."""
    if f.extra:
        tells, hears = peer_if(f.paired & (rank % 2 == 0), rank + 1), peer_if(f.spare, rank - 1)
        yield Round(tells, send, hears, recv)


def _halving(f: Fold, start: Callable) -> Iterator[Round]:
    """Combine halves, until place m has the blocks from start(m) to start(m + 1)."""
    distance = f.core // 2
    while distance:
        mine = f.place & -distance
        other = mine ^ distance
        peer = peer_if(f.acts, f.first(f.place ^ distance))
        theirs, ours = (start(other), start(other + distance)), (start(mine), start(mine + distance))
        yield Round(peer, theirs, peer, ours, combine=True)
        distance //= 2


def _doubling(f: Fold, start: Callable) -> Iterator[Round]:
    """Exchange all one has, beginning with the blocks from start(m) to start(m + 1) at place m, until all have all."""
    distance = 1
    while distance < f.core:
        mine = f.place & -distance
        other = mine ^ distance
        peer = peer_if(f.acts, f.first(f.place ^ distance))
        yield Round(peer, (start(mine), start(mine + distance)), peer, (start(other), start(other + distance)))
        distance *= 2


def recursive_doubling_allreduce_rounds(rank, ranks: int) -> Iterator[Round]:
    """floor(log2 P) exchanges of the whole array, which is one block; a fold in and out if P is no power of two."""
    f, everything, distance = fold(rank, ranks), (0, 1), 1
    yield from _in(rank, f, everything, everything, combine=True)
    while distance < f.core:
        peer = peer_if(f.acts, f.first(f.place ^ distance))
        yield Round(peer, everything, peer, everything, combine=True)
        distance *= 2
    yield from _out(rank, f, everything, everything)


def halving_doubling_allreduce_rounds(rank, ranks: int) -> Iterator[Round]:
    """Rabenseifner's all-reduce: halving, then doubling, on as many blocks as the fold's core has ranks."""
    f = fold(rank, ranks)
    everything = (0, f.core)
    yield from _in(rank, f, everything, everything, combine=True)
    yield from _halving(f, lambda place: place)
    yield from _doubling(f, lambda place: place)
    yield from _out(rank, f, everything, everything)


def recursive_halving_reduce_scatter_rounds(rank, ranks: int) -> Iterator[Round]:
    """Halving on P blocks; in the end block r, combined over all ranks, is at rank r."""
    f = fold(rank, ranks)
    yield from _in(rank, f, (0, ranks), (0, ranks), combine=True)
    yield from _halving(f, f.first)
    yield from _out(rank, f, (rank + 1, rank + 2), (rank, rank + 1))


def recursive_doubling_allgather_rounds(rank, ranks: int) -> Iterator[Round]:
    """Doubling on P blocks; in the end block r, which only rank r had, is everywhere."""
    f = fold(rank, ranks)
    yield from _in(rank, f, (rank, rank + 1), (rank + 1, rank + 2), combine=False)
    yield from _doubling(f, f.first)
    yield from _out(rank, f, (0, ranks), (0, ranks))


# What it costs ----------------------------------------------------------------------------------------------------


def _folded(P: int) -> bool:
    return core(P) != P


def recursive_doubling_allgather_cost(P: int, count: int, itemsize: int, link: Link) -> Cost:
    """log2 P alpha + (P - 1) / P n beta for powers of two; else the fold adds two messages, of n_P and of n bytes."""
    extra = P - core(P)
    sizes = [block_bytes(P, count, itemsize, 0, d + min(d, extra)) for d in distances(core(P))]
    if extra:
        sizes += [block_bytes(P, count, itemsize, 1, 2), count * itemsize]
    return messages(len(sizes), sum(sizes), link)


def recursive_halving_reduce_scatter_cost(P: int, count: int, itemsize: int, link: Link) -> Cost:
    """log2 P alpha + (P - 1) / P n (beta + gamma) for powers of two; a fold adds messages of n and of n_P bytes."""
    extra = P - core(P)
    sizes = [block_bytes(P, count, itemsize, 0, d + min(d, extra)) for d in distances(core(P))]
    if not extra:
        return messages(len(sizes), sum(sizes), link, combined=True)
    combined = messages(len(sizes) + 1, sum(sizes) + count * itemsize, link, combined=True)
    return combined + messages(1, block_bytes(P, count, itemsize, 1, 2), link)


def recursive_doubling_allreduce_cost(P: int, count: int, itemsize: int, link: Link) -> Cost:
    """floor(log2 P) (alpha + n beta + n gamma); if P is no power of two, the fold adds 2 (alpha + n beta) + n gamma."""
    n, k, folded = count * itemsize, core(P).bit_length() - 1, _folded(P)
    return messages(k + folded, (k + folded) * n, link, combined=True) + messages(folded, folded * n, link)


def halving_doubling_allreduce_cost(P: int, count: int, itemsize: int, link: Link) -> Cost:
    """2 log2 P alpha + 2 (P - 1) / P n beta + (P - 1) / P n gamma for powers of two (Rabenseifner 2004).

    Else with the largest power of two for P, and the fold's 2 (alpha + n beta) + n gamma more.
    """
    folded, n = _folded(P), count * itemsize
    sizes = [block_bytes(core(P), count, itemsize, 0, d) for d in distances(core(P))] + [n] * folded
    return messages(len(sizes), sum(sizes), link, combined=True) + messages(len(sizes), sum(sizes), link)


def _with_fold(P: int, nbytes: np.ndarray, number: int, n: int) -> Volume:
    """What the core sends at each place, by rank: of a pair the even rank sends n more, the odd one only n."""
    f = fold(np.arange(P), P)
    sent = np.where(f.spare, n, nbytes[f.place] + f.paired * n)
    return Volume(sent, np.where(f.spare, 1, number + f.paired))


def recursive_doubling_allreduce_volume(P: int, count: int, itemsize: int = 1) -> Volume:
    """floor(log2 P) n; with a fold n more for even ranks of pairs, and only n for odd ones.

    More than 2 (P - 1) n together: all ranks do all additions.
    """
    k, n = core(P).bit_length() - 1, count * itemsize
    return _with_fold(P, np.full(core(P), k * n), k, n)


def halving_doubling_allreduce_volume(P: int, count: int, itemsize: int = 1) -> Volume:
    """At place m of the core n - n_m while halving; while doubling the aligned 1, 2, 4, ... blocks around block m."""
    C, n = core(P), count * itemsize
    bounds, place = block_bounds(count, C) * itemsize, np.arange(C)
    sent = n - np.diff(bounds)
    for distance in distances(C):
        first = place & -distance
        sent = sent + bounds[first + distance] - bounds[first]
    return _with_fold(P, sent, 2 * len(distances(C)), n)


RECURSIVE_DOUBLING = AllreduceRecord(
    name="recursive doubling",
    idea="whole arrays, exchanged with partners 1, 2, 4, ... ranks away",
    rounds=recursive_doubling_allreduce_rounds,
    blocks=one_block,
    cost=recursive_doubling_allreduce_cost,
    volume=recursive_doubling_allreduce_volume,
    holds=exactly,
    options=(),
    candidates=always,
    source="Thakur, Rabenseifner and Gropp (2005)",
)
HALVING_DOUBLING = AllreduceRecord(
    name="halving-doubling",
    idea="halves, quarters, ... exchanged and added until each rank has its part of the sum, and the same backwards",
    rounds=halving_doubling_allreduce_rounds,
    blocks=core,
    cost=halving_doubling_allreduce_cost,
    volume=halving_doubling_allreduce_volume,
    holds=exactly,
    options=(),
    candidates=always,
    source="Rabenseifner (2004)",
)

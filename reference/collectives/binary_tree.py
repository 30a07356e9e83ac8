"""Pipelined binary trees: all-reduce with one tree, and with two at once in which nobody is idle.

Idea      Cut the array into S segments and let them follow each other up a binary tree, and down again. In one tree
          about half of the ranks are leaves that send once and never receive a contribution, while most inner ranks
          receive twice. So take a second tree in which leaves and inner ranks have changed places, and give each tree
          half of the array.
          A rank has at most two children, over both trees, and at most one parent in each. Paint the edges in two
          colours so that nobody sends, or receives, twice in one colour: even rounds belong to one colour, odd ones to
          the other, and in every round a rank sends one segment at most and receives one at most.

              P = 4, S = 1. Tree 0: 0 above 2, 2 above 1 and 3; tree 1: 3 above 1, 1 above 0 and 2. A pair of digits:
              of how many ranks the half of each tree is the sum; a dot: handed on
              rank      0   1   2   3
              start    11  11  11  11
              round 1  1.  .2  21  11
              round 2  1.  .3  3.  .1
              round 3  4.  .3  ..  .1
              round 4  4.  ..  ..  .4
              round 5  4.  .4  ..  .4
              round 6  4.  .4  4.  .4
              round 7  4.  .4  44  44
              round 8  44  44  44  44

Price     With R(S) = h + 2 (S - 1) rounds each way, h about 2 log2 P, segments of n_S bytes:
          at most 2 R(S) (alpha + n_S beta) + R(S) n_S gamma: near 4 n beta with one tree, 2 n beta with two
Left out  Beginning the way down before the way up has ended. With it one tree would still cost 3 n beta: that many
          bytes an inner rank sends, and receives.
Source    Sanders, Speck & Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan" (2009);
          Jeaugey, "Massively scale your deep learning training with NCCL 2.4" (2019) uses their idea across nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import sqrt
from typing import NamedTuple

import numpy as np

from .. import mpi
from ..networks.network import Link
from .cost import Cost, Volume, largest_block, messages
from .record import SEGMENTS, AllreduceRecord, Setting, at_most, in_segments
from .rounds import Round, backwards, block_bounds, peer_if, where


class Edges(NamedTuple):
    """What every rank does in the rounds of one colour, on the way up: arrays of shape [P].

    to, source       the parent to send to, the child to receive from; PROC_NULL for none
    out, come        the trees (0 or 1) that these two edges belong to
    sends, receives  the first round in which they are used; from then on in every second one
    """

    to: np.ndarray
    out: np.ndarray
    sends: np.ndarray
    source: np.ndarray
    come: np.ndarray
    receives: np.ndarray


def parent(place: int, ranks: int) -> int | None:
    """The parent in the in-order binary tree: clear the lowest set bit and set the next one, if that rank exists."""
    if place == 0:
        return None
    bit = place & -place
    above = (place ^ bit) | (bit << 1)
    return above if above < ranks else place ^ bit


def tree_parents(ranks: int, tree: int) -> list[int | None]:
    """Every rank's parent. Tree 1 is tree 0 mirrored, or shifted by one if P is odd: leaves become inner ranks."""
    place = [[r, ranks - 1 - r if ranks % 2 == 0 else (r - 1) % ranks][tree] for r in range(ranks)]
    rank_at = {p: r for r, p in enumerate(place)}
    above = (parent(p, ranks) for p in place)
    return [None if p is None else rank_at[p] for p in above]


@cache
def paint(ranks: int, trees: int) -> tuple[tuple[Edges, ...], int]:
    """The edges of one or two trees by colour, and h, the rounds in which the first segment is everywhere."""
    edges = [
        (tree, child, up)
        for tree in range(trees)
        for child, up in enumerate(tree_parents(ranks, tree))
        if up is not None
    ]
    colour, start = _colours(edges), _starts(edges, _colours(edges))
    by_colour = []
    for c in (0, 1):  # a rank sends over one edge of a colour at most, and receives over one: an entry each
        to, source = np.full(ranks, mpi.PROC_NULL), np.full(ranks, mpi.PROC_NULL)
        out, come, sends, receives = np.zeros((4, ranks), int)
        for edge in edges:
            tree, child, up = edge
            if colour[edge] == c:
                to[child], out[child], sends[child] = up, tree, start[edge]
                source[up], come[up], receives[up] = child, tree, start[edge]
        by_colour.append(Edges(to, out, sends, source, come, receives))
    return tuple(by_colour), max(start.values(), default=-1) + 1


def _colours(edges: list) -> dict:
    """A colour, 0 or 1, for every edge, so that no rank sends or receives over two edges of one colour.

    Every end has at most two edges, so they form paths and rings of even length: go along and alternate.
    """
    at: dict = {}
    for edge in edges:
        at.setdefault(("child", edge[1]), []).append(edge)
        at.setdefault(("parent", edge[2]), []).append(edge)
    colour: dict = {}
    for first in edges:
        way = [] if first in colour else [(first, 0)]
        while way:
            edge, c = way.pop()
            colour[edge] = c
            neighbours = at["child", edge[1]] + at["parent", edge[2]]
            way += [(other, 1 - c) for other in neighbours if other not in colour]
    return colour


def _starts(edges: list, colour: dict) -> dict:
    """The round in which each edge carries the first segment: one of its colour, after those from further down."""
    below: dict = {}
    for edge in edges:
        below.setdefault((edge[0], edge[2]), []).append(edge)
    start: dict = {}

    def visit(edge) -> int:  # as deep as the tree, about log2 P
        after = max((visit(other) for other in below.get((edge[0], edge[1]), [])), default=-1) + 1
        start[edge] = after + (after - colour[edge]) % 2
        return start[edge]

    for edge in edges:
        if edge not in start:
            visit(edge)
    return start


def tree_reduce_rounds(rank, ranks: int, segments: int, trees: int) -> Iterator[Round]:
    """The way up: h + 2 (S - 1) rounds in which segments flow to the roots. Blocks: S for each tree."""
    colours, height = paint(ranks, trees)
    for t in range(height + 2 * (segments - 1) if height else 0):
        e = Edges(*(field[rank] for field in colours[t % 2]))
        out, come = (t - e.sends) // 2, (t - e.receives) // 2
        sends = (e.to != mpi.PROC_NULL) & (out >= 0) & (out < segments)
        receives = (e.source != mpi.PROC_NULL) & (come >= 0) & (come < segments)
        out = where(sends, e.out * segments + out, 0)
        come = where(receives, e.come * segments + come, 0)
        yield Round(peer_if(sends, e.to), (out, out + 1), peer_if(receives, e.source), (come, come + 1), combine=True)


def binary_tree_allreduce_rounds(rank, ranks: int, segments: int = 1, trees: int = 1) -> Iterator[Round]:
    """Up one tree and down again, in segments. Blocks: segments."""
    yield from tree_reduce_rounds(rank, ranks, segments, trees)
    yield from backwards(tree_reduce_rounds(rank, ranks, segments, trees), combine=False)


def double_tree_allreduce_rounds(rank, ranks: int, segments: int = 1) -> Iterator[Round]:
    """Half of the array goes up and down one tree, half the other, at the same time. Blocks: 2 * segments."""
    yield from binary_tree_allreduce_rounds(rank, ranks, segments, trees=2)


# What it costs ----------------------------------------------------------------------------------------------------

MOST_SEGMENTS = 1000  # that best_segments names: without latency, more would gain 0.5 % on 64 ranks, 1.1 % on 4,096


def binary_tree_blocks(ranks: int, segments: int = 1, trees: int = 1) -> int:
    """A block for each segment of each tree. Raises ValueError for less than one."""
    return in_segments(ranks, segments) * trees


def double_tree_blocks(ranks: int, segments: int = 1) -> int:
    """Two halves, each in segments."""
    return binary_tree_blocks(ranks, segments, trees=2)


def tree_rounds(P: int, segments: int, trees: int) -> int:
    """R(S) = h + 2 (S - 1): the rounds in which S segments flow up one tree, or each of two."""
    height = paint(P, trees)[1]
    return height + 2 * (segments - 1) if height else 0


def binary_tree_allreduce_cost(
    P: int, count: int, itemsize: int, link: Link, segments: int = 1, trees: int = 1
) -> Cost:
    """At most 2 R (alpha + n_S beta) + R n_S gamma, R = tree_rounds(P, S, 1), n_S the bytes of the largest segment."""
    rounds, size = tree_rounds(P, segments, trees), largest_block(segments * trees, count, itemsize)
    return messages(rounds, rounds * size, link, combined=True) + messages(rounds, rounds * size, link)


def double_tree_allreduce_cost(P: int, count: int, itemsize: int, link: Link, segments: int = 1) -> Cost:
    """At most 2 R (alpha + n_2S beta) + R n_2S gamma with two trees at once (Sanders, Speck & Träff 2009)."""
    return binary_tree_allreduce_cost(P, count, itemsize, link, segments, trees=2)


def best_segments(P: int, count: int, itemsize: int, link: Link, trees: int = 2) -> int:
    """The number of segments S that makes 2 R(S) (alpha + n_S beta) + R(S) n_S gamma least, up to rounding.

    With R(S) = h - 2 + 2 S and n_S = n / (trees S) its derivative vanishes where
    4 alpha S^2 = (h - 2) n / trees (2 beta + gamma).
    """
    height = paint(P, trees)[1]
    if link.alpha == 0:
        return min(max(1, count // trees), MOST_SEGMENTS)
    S = sqrt(max(height - 2, 0) * count * itemsize / trees * (2 * link.beta + link.gamma) / (4 * link.alpha))
    return min(max(1, round(S)), max(1, count // trees), MOST_SEGMENTS)


def binary_tree_allreduce_volume(P: int, count: int, itemsize: int = 1, segments: int = 1, trees: int = 1) -> Volume:
    """In each tree its share of n once up, and once down for each child, in `segments` messages each."""
    bounds = block_bounds(count, segments * trees) * itemsize
    nbytes, number = np.zeros((2, P), np.int64)
    for tree in range(trees):
        share = bounds[(tree + 1) * segments] - bounds[tree * segments]
        for child, up in enumerate(tree_parents(P, tree)):
            if up is not None:
                for rank in (child, up):
                    nbytes[rank] += share
                    number[rank] += segments
    return Volume(nbytes, number)


def double_tree_allreduce_volume(P: int, count: int, itemsize: int = 1, segments: int = 1) -> Volume:
    """Half of n in each of the two trees."""
    return binary_tree_allreduce_volume(P, count, itemsize, segments, trees=2)


def _candidates(setting: Setting, trees: int) -> list[dict]:
    """With the best number of segments, which only a known link can tell."""
    if setting.link is None:
        return []
    return [{"segments": best_segments(setting.P, setting.count, setting.itemsize, setting.link, trees)}]


BINARY_TREE = AllreduceRecord(
    name="binary tree",
    idea="segments follow each other up a binary tree, and down again",
    rounds=binary_tree_allreduce_rounds,
    blocks=binary_tree_blocks,
    cost=binary_tree_allreduce_cost,
    volume=binary_tree_allreduce_volume,
    holds=at_most,
    options=(SEGMENTS,),
    candidates=lambda setting: _candidates(setting, trees=1),
    source="Sanders, Speck and Träff (2009)",
)
DOUBLE_TREE = AllreduceRecord(
    name="double tree",
    idea="two binary trees at once, each with half of the array: a leaf of one is an inner rank of the other",
    rounds=double_tree_allreduce_rounds,
    blocks=double_tree_blocks,
    cost=double_tree_allreduce_cost,
    volume=double_tree_allreduce_volume,
    holds=at_most,
    options=(SEGMENTS,),
    candidates=lambda setting: _candidates(setting, trees=2),
    source="Sanders, Speck and Träff (2009)",
)

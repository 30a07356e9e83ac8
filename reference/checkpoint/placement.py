"""Placement: on which nodes the copies of a node's state lie, and with what probability one is left after failures.

Idea      m copies of each of N states; a node keeps its own. Cut the nodes into groups of m, and let each node have
          the copies of its whole group: then only the loss of a whole group loses anything. In a ring, where a node's
          copies lie on the next m - 1 nodes, there are N sets of m neighbours that must not be lost together, in place
          of N/m:

              groups of 2    {0 1} {2 3} {4 5}                   3 pairs lose a state
              ring           0-1-2-3-4-5-0                       6 pairs do

          If m does not divide N, the last m + (N mod m) nodes form a ring of their own, and the rest are groups.
          What fails at once is a node, with all of its ranks, so a rank's copies lie on ranks of other nodes.
Exact     All failures of k nodes are taken to be equally likely. Nodes of one rack, or on one power supply, fail
          together more often: then number nodes so that those of a group share nothing.
Source    Wang et al., "GEMINI: Fast Failure Recovery in Distributed Training with In-Memory Checkpoints" (SOSP 2023):
          algorithm 1 and corollary 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from math import comb

MOST_SETS = 200_000  # that are looked at one by one

Holders = Sequence[tuple[int, ...]]  # of each node or rank: who has a copy of its state, itself first


def in_groups(nodes: int, copies: int) -> list[tuple[int, ...]]:
    """Who holds a copy of each node's state, itself first: groups of `copies`, and a ring at the end if need be.

    Raises ValueError for less than two copies, or more copies than nodes.
    """
    _check(nodes, copies)
    whole = nodes // copies - (nodes % copies > 0)  # groups; what is left is a ring
    first = whole * copies
    groups = [range(start, start + copies) for start in range(0, first, copies)]
    own = [(node, *(other for other in group if other != node)) for group in groups for node in group]
    return own + [tuple(first + holder for holder in held) for held in _ring(nodes - first, copies)]


def in_a_ring(nodes: int, copies: int) -> list[tuple[int, ...]]:
    """The same with the next `copies` - 1 nodes as holders. Raises ValueError as `in_groups` does."""
    _check(nodes, copies)
    return _ring(nodes, copies)


def _ring(nodes: int, copies: int) -> list[tuple[int, ...]]:
    return [tuple((node + step) % nodes for step in range(copies)) for node in range(nodes)]


def _check(nodes: int, copies: int) -> None:
    if not 2 <= copies <= nodes:
        raise ValueError(f"{copies} copies on {nodes} nodes: take at least 2, and at most one a node")


def of_ranks(node_of: Sequence[int], by_node: Holders) -> list[tuple[int, ...]]:
    """Who holds a copy of each rank's state, itself first: on each node that holds its node's, one rank in turn.

    node_of    the node of each rank, such as (0, 0, 1, 1)
    by_node    who holds what of the nodes, counted in the order of their numbers
    Raises ValueError if that are more or fewer nodes.
    """
    nodes = sorted(set(node_of))
    if len(nodes) != len(by_node):
        raise ValueError(f"the ranks are on {len(nodes)} nodes, and there is a placement for {len(by_node)}")
    ranks = [[rank for rank, node in enumerate(node_of) if node == number] for number in nodes]
    found = []
    for rank, number in enumerate(node_of):
        node = nodes.index(number)
        place = ranks[node].index(rank)
        others = [ranks[other][place % len(ranks[other])] for other in by_node[node][1:]]
        found.append((rank, *others))
    return found


def across_nodes(node_of: Sequence[int], size: int) -> list[tuple[int, ...]]:
    """Groups of at least `size` ranks, each on a node of its own: for parity, which bears few losses in a group.

    All nodes must have the same number of ranks; the groups are as equal as that allows.
    Raises ValueError if they have not, or if there are fewer nodes than `size`.
    """
    nodes = sorted(set(node_of))
    ranks = [[rank for rank, node in enumerate(node_of) if node == number] for number in nodes]
    if len({len(own) for own in ranks}) > 1:
        raise ValueError(f"nodes of {sorted({len(own) for own in ranks})} ranks: groups across nodes need equal ones")
    count = len(nodes) // size if size else 0
    if not count:
        raise ValueError(f"a group of {size} ranks on {len(nodes)} nodes would have two on one: take fewer")
    cuts = [len(nodes) * part // count for part in range(count + 1)]
    return [
        tuple(ranks[node][place] for node in range(low, high))
        for low, high in pairwise(cuts)
        for place in range(len(ranks[0]))
    ]


# What is left after failures -----------------------------------------------------------------------------------------


def lost(holders: Holders, failed: Iterable[int]) -> list[int]:
    """Those of whose state no copy is left when these have failed."""
    gone = set(failed)
    return [owner for owner, held in enumerate(holders) if gone.issuperset(held)]


def recovery_probability(holders: Holders, failed: int) -> float:
    """The probability that every state has a copy left when so many fail at once; every set of them is tried.

    Raises ValueError if there are more than `MOST_SETS`.
    """
    sets = comb(len(holders), failed)
    if sets > MOST_SETS:
        raise ValueError(f"{sets:,} ways to lose {failed} of {len(holders)} are too many to try: group_probability")
    deadly = {frozenset(held) for held in holders}
    fine = sum(not any(map(frozenset(gone).issuperset, deadly)) for gone in combinations(range(len(holders)), failed))
    return fine / sets


def group_probability(nodes: int, copies: int, failed: int) -> float:
    """The same for groups, in closed form, if `copies` divides `nodes`: inclusion and exclusion over lost groups.

        1/C(N, k) sum_j (-1)^j C(N/m, j) C(N - m j, k - m j)

    Raises ValueError if it does not divide.
    """
    if nodes % copies:
        raise ValueError(f"{nodes} nodes cannot be cut into groups of {copies}")
    groups = nodes // copies
    terms = (
        (-1) ** j * comb(groups, j) * comb(nodes - copies * j, failed - copies * j)
        for j in range(min(groups, failed // copies) + 1)
    )
    return sum(terms) / comb(nodes, failed)


def group_bound(nodes: int, copies: int, failed: int) -> float:
    """Corollary 1 of the paper, at most `group_probability`: only its first two terms."""
    if failed < copies:
        return 1.0
    return max(0.0, 1 - nodes // copies * comb(nodes - copies, failed - copies) / comb(nodes, failed))

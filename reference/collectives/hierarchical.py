"""All-reduce on two levels: inside the nodes, then across them, then inside again; and on a two-dimensional torus.

Idea      Links inside a node are faster than those between nodes. A reduce-scatter inside first leaves each of the L
          ranks of a node with one L-th of the array to reduce across the nodes: all network cards work, and only n / L
          bytes a rank cross. The one-leader form sends all n bytes through one rank of a node.
          Rows instead of nodes, columns instead of the network: the same schedule. An all-reduce along X and then one
          along Y is right too, and sends more: nearly twice as much on a large grid.
Sends     each rank 2 (L - 1) / L n bytes inside and 2 (N - 1) / N n / L across N nodes: 2 (P - 1) / P n together
Source    Rabenseifner (2004); Jia et al., "Highly scalable deep learning training system with mixed-precision" (2018)
          for the leader form; Mikami et al., "Massively distributed SGD" (2018) for the torus.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..networks.network import Link
from .cost import Cost, Volume, block_bytes
from .doubling import HALVING_DOUBLING, RECURSIVE_DOUBLING
from .record import AllreduceRecord, Holds, Option, Setting, a_block_each, at_most, exactly, groups_of, never
from .ring import (
    RING,
    ring_allgather_rounds,
    ring_allreduce_cost,
    ring_allreduce_rounds,
    ring_reduce_scatter_rounds,
    twice_around,
)
from .rounds import Round, block_bounds, within
from .tree import (
    binomial_allreduce_cost,
    binomial_allreduce_volume,
    binomial_broadcast_rounds,
    binomial_reduce_rounds,
)

# how the nodes may reduce among themselves
ACROSS = {record.name: record for record in (RING, RECURSIVE_DOUBLING, HALVING_DOUBLING)}


def nodes_of(ranks: int, ranks_per_node: int) -> int:
    """The number of nodes. Raises ValueError if the ranks do not fill whole ones."""
    if ranks_per_node < 1 or ranks % ranks_per_node:
        raise ValueError(
            f"{ranks} ranks cannot be cut into groups of {ranks_per_node}: choose a divisor of {ranks}, or a flat "
            f"algorithm"
        )
    return ranks // ranks_per_node


def hierarchical_allreduce_rounds(rank, ranks: int, ranks_per_node: int, across: str = "ring") -> Iterator[Round]:
    """Ring reduce-scatter in the node, all-reduce of each rank's part `across` the nodes, ring allgather in the node.

    Nodes are ranks_per_node = L consecutive ranks. Blocks: L times those of `across`.
    Raises ValueError if the ranks do not fill whole nodes, KeyError if `across` is not in ACROSS.
    """
    nodes, L = nodes_of(ranks, ranks_per_node), ranks_per_node
    node, local, outer = rank // L, rank % L, ACROSS[across]
    parts = outer.blocks(nodes)
    yield from within(ring_reduce_scatter_rounds(local, L), lambda g: node * L + g, each=parts)
    yield from within(outer.rounds(node, nodes), lambda g: g * L + local, first=local * parts)
    yield from within(ring_allgather_rounds(local, L), lambda g: node * L + g, each=parts)


def leader_allreduce_rounds(rank, ranks: int, ranks_per_node: int, across: str = "ring") -> Iterator[Round]:
    """Reduce to the first rank of the node, all-reduce `across` these leaders, broadcast in the node.

    Blocks: those of `across`. Raises ValueError if the ranks do not fill whole nodes.
    """
    nodes, L = nodes_of(ranks, ranks_per_node), ranks_per_node
    node, local, outer = rank // L, rank % L, ACROSS[across]
    parts = outer.blocks(nodes)
    yield from within(binomial_reduce_rounds(local, L), lambda g: node * L + g, each=parts)
    yield from within(outer.rounds(node, nodes), lambda g: g * L, active=local == 0)
    yield from within(binomial_broadcast_rounds(local, L), lambda g: node * L + g, each=parts)


def torus_allreduce_rounds(rank, ranks: int, width: int) -> Iterator[Round]:
    """On rows of X = width ranks: reduce-scatter along X, all-reduce of n / X bytes along Y, allgather along X."""
    yield from hierarchical_allreduce_rounds(rank, ranks, width)


def x_then_y_allreduce_rounds(rank, ranks: int, width: int) -> Iterator[Round]:
    """The order to compare with: all-reduce of everything along X, then of everything along Y. P blocks."""
    height, y, x = nodes_of(ranks, width), rank // width, rank % width
    yield from within(ring_allreduce_rounds(x, width), lambda g: y * width + g, each=height)
    yield from within(ring_allreduce_rounds(y, height), lambda g: g * width + x, each=width)


# What it costs ----------------------------------------------------------------------------------------------------


def leader_blocks(ranks: int, ranks_per_node: int, across: str = "ring") -> int:
    """Those that `across` wants for so many nodes."""
    return ACROSS[across].blocks(nodes_of(ranks, ranks_per_node))


def hierarchical_blocks(ranks: int, ranks_per_node: int, across: str = "ring") -> int:
    """L times those that `across` wants for so many nodes."""
    return ranks_per_node * leader_blocks(ranks, ranks_per_node, across)


def hierarchical_allreduce_cost(
    P: int,
    count: int,
    itemsize: int,
    link: Link,
    ranks_per_node: int = 1,
    across: str = "ring",
    outside: Link | None = None,
    ranks_per_nic: int = 1,
) -> Cost:
    """Ring reduce-scatter and allgather among L ranks, with an all-reduce of n / L bytes across N nodes in between.

    2 (L - 1) (alpha + n_L beta) + (L - 1) n_L gamma + what `across` takes for N ranks and n_L bytes with alpha and
    beta of `outside` (those of the node unless given). If ranks_per_nic ranks share a network card, the messages of a
    round follow each other through it, and the last of s takes alpha + n beta + (s - 1) (g + n beta). Exact if L N
    divides count and every rank has a card, or messages share it fairly; else at most this: in turns, the first of a
    round are there while the last are under way, and go on.
    """
    nodes, L = nodes_of(P, ranks_per_node), ranks_per_node
    parts = ACROSS[across].blocks(nodes)
    part = block_bytes(L * parts, count, 1, 0, parts)
    between = _across(nodes, part, itemsize, link, across, outside, ranks_per_nic)
    return ring_allreduce_cost(L, part * L, itemsize, link) + between


def leader_allreduce_cost(
    P: int,
    count: int,
    itemsize: int,
    link: Link,
    ranks_per_node: int = 1,
    across: str = "ring",
    outside: Link | None = None,
) -> Cost:
    """Binomial reduce and broadcast among L ranks, with an all-reduce of all n bytes across N leaders in between."""
    nodes = nodes_of(P, ranks_per_node)
    between = _across(nodes, count, itemsize, link, across, outside)
    return binomial_allreduce_cost(ranks_per_node, count, itemsize, link) + between


def _across(
    nodes: int, count: int, itemsize: int, link: Link, across: str, outside: Link | None, share: int = 1
) -> Cost:
    """Among the nodes; `share` messages go through one card."""
    own = link if outside is None else outside
    last = Link(own.alpha + (share - 1) * own.g, share * own.beta, link.gamma, own.gap)
    return ACROSS[across].cost(nodes, count, itemsize, last)


def torus_allreduce_cost(P: int, count: int, itemsize: int, link: Link, width: int = 1) -> Cost:
    """2 (X + Y - 2) alpha + 2 (P - 1) / P n beta on rows of X = width ranks; at most, exact if P divides count."""
    return hierarchical_allreduce_cost(P, count, itemsize, link, width)


def x_then_y_allreduce_cost(P: int, count: int, itemsize: int, link: Link, width: int = 1) -> Cost:
    """At most 2 (X + Y - 2) alpha + 2 ((X - 1) / X + (Y - 1) / Y) n beta: two all-reduces of everything."""
    height = nodes_of(P, width)
    row, column = block_bytes(P, count, 1, 0, height) * width, block_bytes(P, count, 1, 0, width) * height
    return ring_allreduce_cost(width, row, itemsize, link) + ring_allreduce_cost(height, column, itemsize, link)


def _groups(blocks: int, count: int, each: int) -> np.ndarray:
    """The elements of every `each` blocks of so many."""
    return np.diff(block_bounds(count, blocks)[::each])


def hierarchical_allreduce_volume(
    P: int, count: int, itemsize: int = 1, ranks_per_node: int = 1, across: str = "ring"
) -> Volume:
    """A ring's volume inside, and what `across` sends of the rank's part of n."""
    nodes, L = nodes_of(P, ranks_per_node), ranks_per_node
    parts = _groups(hierarchical_blocks(P, L, across), count, ACROSS[across].blocks(nodes))
    outer = [ACROSS[across].volume(nodes, int(part), itemsize) for part in parts]
    nbytes = twice_around(parts * itemsize) + np.stack([each.nbytes for each in outer], axis=1)
    return Volume(nbytes.ravel(), (2 * (L - 1) + np.stack([each.messages for each in outer], axis=1)).ravel())


def leader_allreduce_volume(
    P: int, count: int, itemsize: int = 1, ranks_per_node: int = 1, across: str = "ring"
) -> Volume:
    """A binomial tree's volume inside, and for leaders what `across` sends of all n bytes."""
    nodes, L = nodes_of(P, ranks_per_node), ranks_per_node
    inside, outer = binomial_allreduce_volume(L, count, itemsize), ACROSS[across].volume(nodes, count, itemsize)
    nbytes, number = np.tile(inside.nbytes, nodes), np.tile(inside.messages, nodes)
    nbytes[::L] += outer.nbytes
    number[::L] += outer.messages
    return Volume(nbytes, number)


def torus_allreduce_volume(P: int, count: int, itemsize: int = 1, width: int = 1) -> Volume:
    """Rings along X and Y: 2 (P - 1) n together."""
    return hierarchical_allreduce_volume(P, count, itemsize, width)


def x_then_y_allreduce_volume(P: int, count: int, itemsize: int = 1, width: int = 1) -> Volume:
    """2 (X - 1) / X n along X and 2 (Y - 1) / Y n along Y: more than the least, since whole columns do the same."""
    height = nodes_of(P, width)
    row, column = (twice_around(_groups(P, count, each) * itemsize) for each in (height, width))
    return Volume((column[:, None] + row).ravel(), np.full(P, 2 * (width + height - 2)))


# Records ----------------------------------------------------------------------------------------------------------

NODE = groups_of("group", "ranks_per_node", "ranks of a node (hierarchical, leader) or of a row (torus, x then y)")
ROW = NODE._replace(name="width")
BETWEEN = Option(
    name="across",
    flag="across",
    meaning="how nodes all-reduce among themselves",
    default="ring",
    values=lambda ranks, elements: tuple(ACROSS),
    rule=lambda ranks, elements: "is one of",
)


def _exactly_if_even(P: int, count: int, **options) -> Holds:
    return "at most" if count % P else "exactly"


def _candidates(setting: Setting) -> list[dict]:
    """With each size of a group that divides P; what is to be measured, with a ring across."""
    sizes = [size for size in setting.groups if 1 < size < setting.P and setting.P % size == 0]
    return [{"ranks_per_node": L, "across": across} for L in sizes for across in (ACROSS if setting.link else ["ring"])]


HIERARCHICAL = AllreduceRecord(
    name="hierarchical",
    idea="reduce-scatter in the node, all-reduce of each rank's part across the nodes, allgather in the node",
    rounds=hierarchical_allreduce_rounds,
    blocks=hierarchical_blocks,
    cost=hierarchical_allreduce_cost,
    volume=hierarchical_allreduce_volume,
    holds=_exactly_if_even,
    options=(NODE, BETWEEN),
    candidates=_candidates,
    source="Rabenseifner (2004)",
)
LEADER = AllreduceRecord(
    name="leader",
    idea="reduce to one rank a node, all-reduce among these, broadcast in the node",
    rounds=leader_allreduce_rounds,
    blocks=leader_blocks,
    cost=leader_allreduce_cost,
    volume=leader_allreduce_volume,
    holds=exactly,
    options=(NODE, BETWEEN),
    candidates=lambda setting: _candidates(setting) if setting.link else [],
    source="Jia et al. (2018)",
)
TORUS = AllreduceRecord(
    name="torus",
    idea="the hierarchical one on a grid: along rows, along columns, along rows again",
    rounds=torus_allreduce_rounds,
    blocks=a_block_each,
    cost=torus_allreduce_cost,
    volume=torus_allreduce_volume,
    holds=_exactly_if_even,
    options=(ROW,),
    candidates=never,
    source="Mikami et al. (2018)",
)
X_THEN_Y = AllreduceRecord(
    name="x then y",
    idea="an all-reduce along the rows of a grid and one along its columns: to compare with",
    rounds=x_then_y_allreduce_rounds,
    blocks=a_block_each,
    cost=x_then_y_allreduce_cost,
    volume=x_then_y_allreduce_volume,
    holds=at_most,
    options=(ROW,),
    candidates=never,
    source="",
)

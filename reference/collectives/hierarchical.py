"""All-reduce on two levels: inside the nodes, then across them, then inside again; and on a two-dimensional torus.

Sources   Rabenseifner (2004); Jia et al., "Highly scalable deep learning training system with mixed-precision" (2018)
          for the leader form; Mikami et al., "Massively distributed SGD" (2018) for the torus.
Idea      Links inside a node are faster than those between nodes. A reduce-scatter inside first leaves each of the L
          ranks of a node with one L-th of the array to reduce across the nodes: all network cards work, and only n / L
          bytes a rank cross. The one-leader form sends all n bytes through one rank of a node.
Torus     Rows instead of nodes, columns instead of the network: the same schedule. An all-reduce along X and then one
          along Y is right too, and sends nearly twice as much.
Sends     each rank 2 (L - 1) / L n bytes inside and 2 (N - 1) / N n / L across N nodes: 2 (P - 1) / P n together
"""

from __future__ import annotations

from collections.abc import Iterator

from .doubling import core, halving_doubling_allreduce_rounds, recursive_doubling_allreduce_rounds
from .ring import ring_allgather_rounds, ring_allreduce_rounds, ring_reduce_scatter_rounds
from .rounds import Round, within
from .tree import binomial_broadcast_rounds, binomial_reduce_rounds

# how the nodes may reduce among themselves: a schedule, and the number of blocks that it wants for so many nodes
ACROSS = {
    "ring": (ring_allreduce_rounds, lambda nodes: nodes),
    "recursive doubling": (recursive_doubling_allreduce_rounds, lambda nodes: 1),
    "halving-doubling": (halving_doubling_allreduce_rounds, core),
}


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
    node, local, (outer, blocks) = rank // L, rank % L, ACROSS[across]
    parts = blocks(nodes)
    yield from within(ring_reduce_scatter_rounds(local, L), lambda g: node * L + g, each=parts)
    yield from within(outer(node, nodes), lambda g: g * L + local, first=local * parts)
    yield from within(ring_allgather_rounds(local, L), lambda g: node * L + g, each=parts)


def leader_allreduce_rounds(rank, ranks: int, ranks_per_node: int, across: str = "ring") -> Iterator[Round]:
    """Reduce to the first rank of the node, all-reduce `across` these leaders, broadcast in the node.

    Blocks: those of `across`. Raises ValueError if the ranks do not fill whole nodes.
    """
    nodes, L = nodes_of(ranks, ranks_per_node), ranks_per_node
    node, local, (outer, blocks) = rank // L, rank % L, ACROSS[across]
    yield from within(binomial_reduce_rounds(local, L), lambda g: node * L + g, each=blocks(nodes))
    yield from within(outer(node, nodes), lambda g: g * L, active=local == 0)
    yield from within(binomial_broadcast_rounds(local, L), lambda g: node * L + g, each=blocks(nodes))


def torus_allreduce_rounds(rank, ranks: int, width: int) -> Iterator[Round]:
    """On rows of X = width ranks: reduce-scatter along X, all-reduce of n / X bytes along Y, allgather along X."""
    yield from hierarchical_allreduce_rounds(rank, ranks, width)


def x_then_y_allreduce_rounds(rank, ranks: int, width: int) -> Iterator[Round]:
    """The order to compare with: all-reduce of everything along X, then of everything along Y. P blocks."""
    height, y, x = nodes_of(ranks, width), rank // width, rank % width
    yield from within(ring_allreduce_rounds(x, width), lambda g: y * width + g, each=height)
    yield from within(ring_allreduce_rounds(y, height), lambda g: g * width + x, each=width)

"""Trees of switches: nodes, pods and a core, the networks that most clusters have.

Idea      Ranks below one switch of level 0 form a node, nodes below one switch of level 1 a pod, and so on. A message
          climbs to the lowest level that its two ends share and down again. Each group has `uplinks` cables to the
          level above; the one that a message takes is chosen by its destination (destination-modulo routing, as static
          fat-tree routing does), so two messages may or may not meet on a cable.
Price     alpha + n beta of the slowest link of the way (network.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise, repeat
from math import inf

from .network import GAP, Route, check_cost, check_gap


def _is_count(value: float) -> bool:
    return 1 <= value < inf and value == int(value)


@dataclass(frozen=True)
class Level:
    """One level of switches: `ranks` below each (inf: all), alpha, beta and gap of its links (Route), cables up."""

    ranks: float
    alpha: float
    beta: float
    uplinks: int = 1
    gap: float = GAP

    def __post_init__(self):
        check_gap(self.gap)
        check_cost("alpha", self.alpha)
        check_cost("beta", self.beta)
        if not (self.ranks == inf or _is_count(self.ranks)):
            raise ValueError(f"ranks below a switch are a whole number of at least 1, or inf for all, got {self.ranks}")
        if not _is_count(self.uplinks):
            raise ValueError(f"uplinks are a whole number of at least 1, got {self.uplinks}")


@dataclass(frozen=True)
class SwitchTree:
    """A tree of levels, innermost first, and `gamma`, the seconds it takes to reduce one byte."""

    levels: tuple[Level, ...]
    gamma: float = 0.0
    name: str = "network"

    def __post_init__(self):
        check_cost("gamma", self.gamma)
        sizes = [level.ranks for level in self.levels]
        if not sizes or any(outer % inner for inner, outer in pairwise(sizes) if outer != inf):
            raise ValueError(f"each level must hold a whole number of the level below, got sizes {sizes}")

    def node(self, rank: int) -> int:
        """The number of the node that holds `rank`: what Split_type(COMM_TYPE_SHARED) groups by."""
        return int(rank // self.levels[0].ranks)

    def among(self, ranks: Sequence[int]) -> SwitchTree:
        """The network as a group sees it that consists of these ranks, numbered 0, 1, ... in this order.

        A level stays if its switches hold equally many of them, one after the other; else it is left out, and the
        group counts as spread over the next one.
        """
        levels = []
        for level in self.levels:
            groups = [len(list(run)) for _, run in groupby(rank // level.ranks for rank in ranks)]
            if len(set(groups)) == 1 and len(groups) == len({rank // level.ranks for rank in ranks}):
                levels.append(replace(level, ranks=inf if len(groups) == 1 else groups[0]))
                if len(groups) == 1:
                    break
        return SwitchTree(tuple(levels), self.gamma, self.name)

    def route(self, source: int, dest: int) -> Route:
        """The way from one rank to another. A message to oneself costs nothing."""
        if source == dest:
            return Route(0.0, 0.0)
        links, alpha, beta, gap = [], 0.0, 0.0, 0.0
        for depth, level in enumerate(self.levels):
            here, there = source // level.ranks, dest // level.ranks
            # the slowest link of the way decides
            alpha, beta, gap = max(alpha, level.alpha), max(beta, level.beta), max(gap, level.gap)
            if here == there:
                return Route(alpha, beta, tuple(links), gap)
            cable = dest % level.uplinks
            links += [(depth, "up", here, cable), (depth, "down", there, cable)]
        raise ValueError(f"ranks {source} and {dest} are not on one network: it holds {self.levels[-1].ranks} ranks")


def uniform(alpha: float = 1e-6, beta: float = 1e-10, gamma: float = 0.0, gap: float = GAP) -> SwitchTree:
    """Every pair of ranks is alike: alpha seconds and beta seconds per byte (1 us and 10 GB/s unless told)."""
    return SwitchTree((Level(inf, alpha, beta, gap=gap),), gamma, "uniform")


def two_level(
    ranks_per_node: int,
    alpha: float = 1e-6,
    beta: float = 1e-11,
    alpha_out: float = 5e-6,
    beta_out: float = 4e-11,
    nics: int = 1,
    gamma: float = 0.0,
    gap: float = GAP,
) -> SwitchTree:
    """Nodes of `ranks_per_node` ranks: (alpha, beta) inside, (alpha_out, beta_out) between, through `nics` cards.

    Unless told: 100 GB/s inside and one card of 25 GB/s (200 Gbit/s) a node, the shape of a node with NVLink.
    """
    inside, between = Level(ranks_per_node, alpha, beta, nics, gap), Level(inf, alpha_out, beta_out, gap=gap)
    return SwitchTree((inside, between), gamma, "two-level")


def fat_tree(
    ranks_per_node: int,
    nodes_per_pod: int,
    alphas: tuple[float, float, float] = (1e-6, 5e-6, 8e-6),
    betas: tuple[float, float, float] = (1e-11, 4e-11, 4e-11),
    nics: int = 1,
    oversubscription: float = 1.0,
    gamma: float = 0.0,
    gap: float = GAP,
) -> SwitchTree:
    """Nodes in pods under one core: a pod has nodes_per_pod * nics / oversubscription cables to the core.

    The three alphas and betas hold inside a node, inside a pod, and across the core. With oversubscription 1 the tree
    is full: it has as many cables above a pod as below (Al-Fares, Loukissas & Vahdat 2008).
    """
    if not 0 < oversubscription < inf:
        raise ValueError(f"oversubscription must be above 0 and finite, got {oversubscription}")
    for name, value in (("ranks_per_node", ranks_per_node), ("nodes_per_pod", nodes_per_pod), ("nics", nics)):
        if not _is_count(value):
            raise ValueError(f"{name} must be a whole number of at least 1, got {value}")
    cables = int(nodes_per_pod * nics / oversubscription)
    if cables < 1:
        raise ValueError(f"{nodes_per_pod} nodes x {nics} cards / {oversubscription} leave no cable to the core")
    pod = ranks_per_node * nodes_per_pod
    sizes, uplinks = (ranks_per_node, pod, inf), (nics, cables, 1)
    if not len(alphas) == len(betas) == len(sizes):
        raise ValueError(f"a fat tree has 3 alphas and 3 betas, got {len(alphas)} and {len(betas)}")
    levels = tuple(map(Level, sizes, alphas, betas, uplinks, repeat(gap)))
    return SwitchTree(levels, gamma, "fat tree")

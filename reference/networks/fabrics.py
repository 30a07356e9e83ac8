"""Fabrics: who is joined to whom by how many cables, and what that buys.

Idea      Three numbers, all counted in cables, say most of what a fabric is good for.
          degree      cables at one node: what it costs in ports
          diameter    cables on the longest of the shortest ways: what latency adds up to
          bisection   cables cut when the ranks are halved where that cuts fewest: what traffic from all to all shares
Before    4,096 ranks in one ring:         2 cables at each, diameter 2,048, bisection 2
After     in a torus of 16 x 16 x 16:      6 cables at each, diameter    24, bisection 512
          in a hypercube:                 12 cables at each, diameter    12, bisection 2,048
Left out  What a cable carries (network.py: alpha and beta) and which way a message takes among several (paths.py).
Source    Dally & Towles, "Principles and Practices of Interconnection Networks" (2004): the words, torus, hypercube;
          Leiserson (1985) and Al-Fares, Loukissas & Vahdat (2008): fat tree; Kim, Dally, Scott & Abts (2008):
          dragonfly; NVIDIA's white papers on DGX-1 (2017) and DGX A100 (2020).

A fabric is {node: {neighbour: cables}}, the same in both directions. Ranks are the numbers 0, ..., P-1, switches have
names such as ("core", 3). In the fabrics without switches a rank stands for a router with all that hangs on it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations
from math import comb, prod
from typing import NamedTuple

import numpy as np

Fabric = dict[Hashable, dict[Hashable, int]]
HALVINGS = 100_000  # more are not tried


def wired(P: int, cables: Iterable[tuple[Hashable, Hashable, int]]) -> Fabric:
    """The fabric of the ranks 0, ..., P-1 and these (node, node, how many cables). Raises ValueError if P < 1."""
    if P < 1:
        raise ValueError(f"a fabric needs at least 1 rank, and at least 1 along each axis, got {P} in all")
    fabric: Fabric = {rank: {} for rank in range(P)}
    for a, b, number in cables:
        fabric.setdefault(a, {})[b] = fabric.setdefault(b, {})[a] = number
    return fabric


# Ranks joined to ranks ----------------------------------------------------------------------------------------------


def fully_connected(P: int) -> Fabric:
    """A cable between every two of P ranks."""
    return wired(P, ((a, b, 1) for a, b in combinations(range(P), 2)))


def torus(sides: Sequence[int]) -> Fabric:
    """A grid of sides[0] x sides[1] x ... ranks, the last axis running fastest, each axis closed to a ring.

    The k-ary n-cube, if all n sides are k. Along a side of 2 the way round is the way back: one cable, not two.
    """
    P = prod(sides) if min(sides, default=1) > 0 else 0
    steps = [prod(sides[axis + 1 :]) for axis in range(len(sides))]
    return wired(
        P,
        (
            (rank, rank + ((at + 1) % side - at) * step, 1)
            for side, step in zip(sides, steps, strict=True)
            for rank in range(P)
            if (at := rank // step % side) + 1 < side or side > 2
        ),
    )


def ring(P: int) -> Fabric:
    """The torus with one axis."""
    return torus([P])


def hypercube(dimensions: int) -> Fabric:
    """2 ** dimensions ranks, joined where their numbers differ in one bit: the torus whose sides are all 2."""
    return torus([2] * dimensions)


def dragonfly(a: int, h: int) -> Fabric:
    """Groups of a routers, all joined; each has h cables to other groups; a h + 1 groups, a cable between every two.

    So 3 hops lead anywhere, however many groups there are (Kim et al. 2008): to the router of the own group that has
    the cable, across, and on to the router that is meant. Router s of group g is rank g a + s.
    """
    if a < 1 or h < 1:
        raise ValueError(f"a dragonfly needs a >= 1 routers in a group and h >= 1 cables at each, got a = {a}, h = {h}")
    ports, groups = a * h, a * h + 1
    inside = [(g * a + s, g * a + t, 1) for g in range(groups) for s, t in combinations(range(a), 2)]
    across = [  # port p of a group leads to the group p + 1 further on, which sees it as its port ports - 1 - p
        (g * a + p // h, (g + 1 + p) % groups * a + (ports - 1 - p) // h, 1) for g, p in np.ndindex(groups, ports)
    ]
    return wired(a * groups, inside + across)


def hybrid_cube_mesh() -> Fabric:
    """The NVLinks of a DGX-1 with eight V100: two quads, joined like two faces of a cube.

    Six NVLinks at a GPU are not enough for seven others: 12 of the 28 pairs have none, 8 have two. As `nvidia-smi topo
    -m` prints it there, NV1 for one and NV2 for two.
    """
    quad = [(0, 1, 1), (0, 2, 1), (0, 3, 2), (1, 2, 2), (1, 3, 1), (2, 3, 2)]
    across = [(0, 4, 2), (1, 5, 2), (2, 6, 1), (3, 7, 1)]
    return wired(8, quad + [(a + 4, b + 4, number) for a, b, number in quad] + across)


# Ranks joined to switches -------------------------------------------------------------------------------------------


def nvswitch(P: int = 8, switches: int = 6, cables: int = 2) -> Fabric:
    """Every rank joined to every switch. Unless told, the DGX A100: 8 GPUs, 12 NVLinks at each, 2 to each NVSwitch.

    Any GPU reaches any other with all of its 12 links. There are no quads in it, though it is often drawn with them.
    """
    return wired(P, ((rank, ("switch", s), cables) for rank in range(P) for s in range(switches)))


def fat_tree(k: int) -> Fabric:
    """The fat tree of Al-Fares et al. (2008): k ** 3 / 4 ranks on switches of k ports, as many cables up as down.

    k pods of k/2 edge switches, with k/2 ranks each, and k/2 aggregation switches; (k/2) ** 2 core switches above.
    """
    if k < 2 or k % 2:
        raise ValueError(f"a switch of a fat tree needs k/2 ports up and k/2 down, got k = {k}")
    h = k // 2
    cables: list[tuple[Hashable, Hashable, int]] = []
    for pod, i, j in np.ndindex(k, h, h):
        cables.append(((pod * h + i) * h + j, ("edge", pod, i), 1))
        cables.append((("edge", pod, i), ("aggregation", pod, j), 1))
        cables.append((("aggregation", pod, i), ("core", i * h + j), 1))
    return wired(k**3 // 4, cables)


# What it buys -------------------------------------------------------------------------------------------------------


class Summary(NamedTuple):
    """What a fabric costs and what it buys: the last four are counted in cables, degree is the most at any node."""

    ranks: int
    switches: int
    cables: int
    degree: int
    diameter: int
    bisection: int


def summary(fabric: Fabric, halved: int | None = None) -> Summary:
    """All the numbers of a fabric. halved: its bisection, if known by formula; else it is searched for."""
    P, cut = len(ranks(fabric)), bisection(fabric) if halved is None else halved
    return Summary(P, len(fabric) - P, links(fabric), degree(fabric), diameter(fabric), cut)


def ranks(fabric: Fabric) -> list[int]:
    """The nodes that are no switches: 0, ..., P-1."""
    return [node for node in fabric if isinstance(node, int)]


def links(fabric: Fabric) -> int:
    """How many cables there are."""
    return sum(sum(cables.values()) for cables in fabric.values()) // 2


def degree(fabric: Fabric) -> int:
    """The most cables at one node, rank or switch."""
    return max(sum(cables.values()) for cables in fabric.values())


def diameter(fabric: Fabric) -> int:
    """Cables on the way between the two ranks that are farthest apart. Raises ValueError if some are not joined."""
    from scipy.sparse.csgraph import shortest_path

    P = len(ranks(fabric))
    farthest = shortest_path(_matrix(fabric), unweighted=True, indices=range(P))[:, :P].max()
    if np.isinf(farthest):
        raise ValueError("no way leads from some ranks to some others: the fabric is in pieces")
    return int(farthest)


def bisection(fabric: Fabric) -> int:
    """The fewest cables that can be cut to halve the ranks (to within one): every halving is tried.

    That is all there is: the problem is NP-hard (Garey, Johnson & Stockmeyer 1976). Known by formula: 2 for a ring of 3
    or more, 2 P / k for a torus whose longest side k > 2 is even, P / 2 for a hypercube and for a fat tree ("full
    bisection bandwidth": a cable for each rank of a half), floor(P / 2) ceil(P / 2) fully connected.
    Raises ValueError if there are too many halvings.
    """
    P, cables = len(ranks(fabric)), _matrix(fabric)
    sizes = {P // 2, P - P // 2}  # of the side that rank 0 is not on
    if (number := sum(comb(P - 1, size) for size in sizes)) > HALVINGS:
        raise ValueError(f"{P} ranks can be halved in {number:,} ways, too many to try: for most there is a formula")
    return min(_cut(cables, P, list(side)) for size in sizes for side in combinations(range(1, P), size))


def _cut(cables: np.ndarray, P: int, side: list[int]) -> int:
    """The fewest cables between these ranks and the others, with each switch on the better side: a minimum cut."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    others = np.delete(np.arange(P), side)
    if len(cables) == P:
        return int(cables[np.ix_(np.array(side, int), others)].sum())
    flow = np.pad(cables, (0, 2))  # two more nodes: one that all comes from, one that all goes to
    flow[-2, side] = flow[others, -1] = cables.sum()
    return int(maximum_flow(csr_array(flow), len(flow) - 2, len(flow) - 1).flow_value)


def _matrix(fabric: Fabric) -> np.ndarray:
    """int32 [nodes, nodes]: the cables between every two nodes, in the order of the dictionary: the ranks are first."""
    number = {node: i for i, node in enumerate(fabric)}
    matrix = np.zeros((len(fabric), len(fabric)), np.int32)
    for a, cables in fabric.items():
        matrix[number[a], [number[b] for b in cables]] = list(cables.values())
    return matrix

"""Topology: find out by measuring which ranks are near each other, and make a network of it.

Idea      A program cannot see the wires, but a stopwatch can: a message within a node is quicker. So time every pair
          of ranks with a small and with a large message; where the times fall into classes that lie far apart, ranks
          that reach each other within the nearest class form a node, nodes within the next one a rack, and so on.
          In NCCL the same comes first whenever a communicator is made, but links are looked up and not timed: PCIe tree
          and NUMA nodes at the operating system, NVLinks and NVSwitches at the driver (src/graph/xml.cc), the bandwidth
          of each kind of link in a table (topo.h). Then the path of every pair is rated by the farthest kind of link on
          it (paths.cc), and among paths of one kind by the narrowest link: PATH_TYPES, rate_path.
Before    ranks in whatever order the launcher gave them, alpha and beta from a data sheet
After     alpha, beta = probe(comm)
          groups = levels(alpha / nbytes + beta)                what a byte of a message of nbytes takes
          network, order = as_network(alpha, beta, groups)      for choose(P, count, itemsize, network)   (select.py)
          comm.Split(0, int(np.argsort(order)[comm.rank]))      the same ranks, numbered node by node  (placement.py)
Left out  Cables: one pair at a time meets no other (with together=True it does). Directions: half a round trip is
          taken for either. Wires that are no tree: of a torus `levels` sees only that all of it hangs together.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf

import numpy as np

from .. import mpi
from .switch_tree import Level, SwitchTree

Partition = list[list[int]]

PATH_TYPES = {  # NCCL's, from near to far: topoPathTypeStr in src/graph/topo.cc (2026), in our words
    "LOC": "the same GPU",
    "NVL": "NVLink, direct or through NVSwitches",
    "NVB": "NVLink by way of another GPU",
    "C2C": "the link between the chips of a superchip",
    "PIX": "one PCIe switch at most",
    "PXB": "several PCIe switches, not the CPU",
    "P2C": "GPU to network card: C2C to the CPU, then PCIe",
    "PXN": "GPU to network card: NVLink to the GPU beside the card, then PCIe",
    "PHB": "PCIe through the CPU (its host bridge), within a NUMA node",
    "SYS": "the link between NUMA nodes",
    "NET": "the network",
    "DIS": "no way",
}  # `nvidia-smi topo -m` prints X, NV# (with the number of links), PIX, PXB, PHB, SYS, and NODE for what is PHB here


# Rating -----------------------------------------------------------------------------------------------------------

PARTS = ("GPU", "NVS", "PCI", "CPU", "NIC")  # NVS: an NVSwitch; PCI: a PCIe switch; CPU: a NUMA node; NIC: a card


def rate_path(nodes: Sequence[str], bandwidths: Sequence[float]) -> tuple[str, float, int]:
    """How NCCL rates a path: its farthest kind of link (of PATH_TYPES), its narrowest link (bytes/s), its links.

    nodes: what the path passes, of PARTS, from a GPU to a GPU or a card; bandwidths: of the links between them.
    Source: ncclTopoSetPaths in src/graph/paths.cc, 2.30.7 (June 2026). C2C, and P2C and PXN, are left out.
    Raises ValueError for unknown parts, bandwidths that are not one a link, and what leaves a GPU but not by NVLink.
    """
    if len(nodes) < 2 or len(bandwidths) != len(nodes) - 1 or not set(nodes) <= set(PARTS):
        raise ValueError(f"a path is two or more of {PARTS}, with a bandwidth between each two, got {nodes}")
    kinds = [_kind(*ends) for ends in pairwise(nodes)]
    if "GPU" in nodes[1:-1]:
        if set(kinds) != {"NVL"}:
            raise ValueError(f"a path leads through a GPU by NVLinks only, got {nodes}")
        kinds.append("NVB")
    return max(kinds, key=list(PATH_TYPES).index), min(bandwidths), len(kinds) - ("NVB" in kinds)


def _kind(one: str, other: str) -> str:
    """The kind of a link, of PATH_TYPES."""
    ends = {one, other}
    if ends <= {"GPU", "NVS"}:
        return "NVL"
    if "CPU" in ends:
        return "SYS" if ends == {"CPU"} else "PHB"
    return "PXB" if ends == {"PCI"} else "PIX"


def nearness(rating: tuple[str, float, int]) -> tuple[int, float, int]:
    """A key for min: of two paths NCCL takes that of the nearer kind, then the wider, then that of fewer links."""
    kind, bandwidth, links = rating
    return list(PATH_TYPES).index(kind), -bandwidth, links


# Measuring --------------------------------------------------------------------------------------------------------


def tournament(P: int) -> list[list[tuple[int, int]]]:
    """Every pair of P ranks once, in P - 1 turns of disjoint pairs, or P turns with one rank idle if P is odd.

    The circle method of sport schedules: all but the last sit in a circle, and the pairs face each other across it.
    """
    last = P - 1 + P % 2  # of an even number: the last one is nobody if P is odd
    turns = [[(t, last)] + [((t + k) % last, (t - k) % last) for k in range(1, (last + 1) // 2)] for t in range(last)]
    return [[(min(pair), max(pair)) for pair in turn if max(pair) < P] for turn in turns]


def probe(
    comm, nbytes: tuple[int, int] = (8, 2**20), repeat: int = 5, together: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """alpha (s) and beta (s/byte) of every pair, float [P, P] each, symmetric, 0 on the diagonal, alike on all ranks.

    Ping-pong with a small and a large message, each `repeat` times; the quickest counts, for whatever disturbs a
    message makes it slower, and in the first one waits for the other. n bytes take alpha + n beta, half a round trip.
    One pair at a time, P (P - 1) / 2 after each other: what a pair gets when it has the machine to itself.
    together=True: a tournament (P - 1 turns, or P if P is odd), in which all disjoint pairs are timed at once; those
    that meet on a cable share it, so their alpha and beta grow. All ranks must call it.
    Raises ValueError for impossible sizes and for one rank.
    """
    if not 0 <= nbytes[0] < nbytes[1] or repeat < 2:
        raise ValueError(f"two sizes, 0 <= small < large, and repeat >= 2, got nbytes = {nbytes}, repeat = {repeat}")
    if comm.size == 1:
        raise ValueError("one rank sends no messages, so there is nothing to measure: start with mpirun -n 2 or more")
    own, seconds = np.zeros((2, 2, comm.size, comm.size))
    pairs = [pair for turn in tournament(comm.size) for pair in turn]
    last = pairs[0][0]
    comm.gather(None, root=last)  # when it has heard of all, nothing else is under way
    for a, b in pairs:
        if not together:
            _hand_over(comm, last, (a, b))
        if comm.rank in (a, b):
            trips = [_half_trip(comm, a + b - comm.rank, comm.rank == a, size, repeat) for size in nbytes]
            own[:, a, b] = own[:, b, a] = trips if comm.rank == a else 0.0
        last = a
    comm.bcast(None, root=last)  # until the last pair is through, the others keep quiet
    comm.Allreduce(own, seconds)
    (small, large), (first, second) = nbytes, seconds
    beta = np.where(second > first, (second - first) / (large - small), second / large)  # noise can hide the slope
    return np.where(first > small * beta, first - small * beta, first), beta


def _hand_over(comm, last: int, pair: tuple[int, int]) -> None:
    """Pass the baton from a rank that is through to the next pair: no barrier, for that would not quite be over yet."""
    # whoever has the baton knows that the last pair is through; `last` itself need not send it to itself
    for rank in pair:
        if comm.rank == last != rank:
            comm.Send(np.empty(0, np.uint8), rank)
        elif comm.rank == rank != last:
            comm.Recv(np.empty(0, np.uint8), last)


def _half_trip(comm, peer: int, serves: bool, nbytes: int, repeat: int) -> float:
    """The quickest of some ping-pongs with a peer, halved, in seconds."""
    buffer, best = np.zeros(nbytes, np.uint8), inf
    for _ in range(repeat):
        start = mpi.wtime(comm)
        for sends in (serves, not serves):
            comm.Send(buffer, peer) if sends else comm.Recv(buffer, peer)
        best = min(best, (mpi.wtime(comm) - start) / 2)
    return best


# Levels -----------------------------------------------------------------------------------------------------------


def levels(distance, gap: float = 2.0) -> list[Partition]:
    """The hierarchy in distances [P, P]: partitions of the ranks, nodes first, each coarser than the one before it.

    distance: symmetric and > 0 off the diagonal, for example alpha / n + beta, or either alone. The distances of all
    pairs are sorted and cut wherever the next one is at least `gap` times as long; the groups of a level are the ranks
    that hang together through pairs below a cut (connected components). So one pair that came out too slow neither
    splits a node nor makes a level. What differs by less than `gap` is one level, and may well be: a rack and the
    core of a full fat tree have the same bandwidth.
    Raises ValueError if it is no such matrix or gap <= 1.
    """
    from scipy.sparse.csgraph import connected_components

    d = np.asarray(distance, float)
    if d.ndim != 2 or len(d) < 2 or d.shape != d.T.shape or not np.allclose(d, d.T, atol=0) or gap <= 1:
        raise ValueError(f"distances must be a symmetric matrix [P, P], P > 1, got shape {d.shape}; and gap {gap} > 1")
    pairs = np.sort(d[np.triu_indices(len(d), 1)])
    if pairs[0] <= 0:
        raise ValueError(f"distances must be > 0 off the diagonal, but the least is {pairs[0]}")
    found: list[Partition] = []
    for longest in [*pairs[:-1][pairs[1:] >= gap * pairs[:-1]], pairs[-1]]:
        number, label = connected_components(d <= longest)
        if not found or number < len(found[-1]):
            found.append([np.flatnonzero(label == group).tolist() for group in range(number)])
    return found


def nodes(distance, gap: float = 2.0) -> Partition:
    """The innermost groups."""
    return levels(distance, gap)[0]


def common_level(partitions: Sequence[Partition]) -> np.ndarray:
    """int [P, P]: the innermost level on which two ranks are in one group: 0 in a node, -1 for a rank and itself."""
    label = _labels(partitions)
    return (label[:, :, None] != label[:, None, :]).sum(axis=0) - np.eye(label.shape[1], dtype=int)


def path_types(partitions: Sequence[Partition], names: Sequence[str] | None = None) -> np.ndarray:
    """str [P, P]: the kind of path between every two ranks, by the level found; LOC on the diagonal.

    names: one a level, such as ("NVL", "NET"). A stopwatch sees levels and not wires, so unless told they are numbers.
    Raises ValueError if there are not as many names as levels.
    """
    names = [f"L{depth}" for depth in range(len(partitions))] if names is None else list(names)
    if len(names) != len(partitions):
        raise ValueError(f"{len(partitions)} levels were found, so {len(partitions)} names are needed, got {names}")
    return np.array([*names, "LOC"])[common_level(partitions)]  # -1 is the last


def as_network(
    alpha, beta, partitions: Sequence[Partition], gamma: float = 0.0, uplinks: Sequence[int] | None = None
) -> tuple[SwitchTree, np.ndarray]:
    """The machine as a SwitchTree, and the order of the ranks, int [P], that makes every group consecutive.

    alpha, beta [P, P]: of each level their medians count. gamma (s/byte) and uplinks, the cables of a group of each
    level (1 unless told), are not in them. In the network, rank order[i] sits at slot i.
    Raises ValueError if the groups of a level are not of one size, which a SwitchTree cannot say.
    """
    sizes = [sorted({len(group) for group in partition}) for partition in partitions]
    if any(len(different) > 1 for different in sizes):
        raise ValueError(f"a SwitchTree has groups of one size on each level, but these are of sizes {sizes}")
    ranks = [*(different[0] for different in sizes[:-1]), inf]
    found = [
        Level(size, *_medians(alpha, beta, partitions, depth), uplinks[depth] if uplinks else 1)
        for depth, size in enumerate(ranks)
    ]
    return SwitchTree(tuple(found), gamma, "measured"), np.lexsort(_labels(partitions))


def describe(alpha, beta, partitions: Sequence[Partition], names: Sequence[str] | None = None) -> str:
    """A table to read, like that of `nvidia-smi topo -m`: the kind of path of every pair, and what each kind costs."""
    types, shared = path_types(partitions, names), common_level(partitions)
    rows = [["", *map(str, range(len(types)))], *([str(rank), *row] for rank, row in enumerate(types.tolist()))]
    lines = ["".join(f"{cell:>5}" for cell in row) for row in rows]
    for depth, partition in enumerate(partitions):
        a, b = _medians(alpha, beta, partitions, depth)
        sizes = " or ".join(map(str, sorted({len(group) for group in partition})))
        speed = f"alpha {a * 1e6:.3g} us, {1e-9 / b:.3g} GB/s"
        lines.append(f"{types[shared == depth][0]:>5}: {speed}, groups of {sizes} ranks: {len(partition)}")
    return "\n".join(lines)


def _medians(alpha, beta, partitions: Sequence[Partition], depth: int) -> tuple[float, float]:
    """alpha and beta of the pairs whose innermost common group is on this level."""
    own = common_level(partitions) == depth
    return float(np.median(np.asarray(alpha)[own])), float(np.median(np.asarray(beta)[own]))


def _labels(partitions: Sequence[Partition]) -> np.ndarray:
    """int [levels, P]: the number of each rank's group."""
    label = np.empty((len(partitions), sum(map(len, partitions[0]))), int)
    for depth, partition in enumerate(partitions):
        for number, group in enumerate(partition):
            label[depth, group] = number
    return label

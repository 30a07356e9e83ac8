"""The virtual cluster held against an outside simulator: the same messages on the same ports and cables, in SMPI.

Idea      A case is what each rank posts, group by group, and waits for. The virtual cluster carries that out; so does
          benchmarks/smpi.c under SimGrid's SMPI, on a platform with a link for each port and cable of our network.
          benchmarks/smpi.py runs both and keeps what SMPI says in chapters/data/smpi.csv, a test compares.
Exact     SMPI is told to be neutral: no eager messages (both thresholds 0), factors of bandwidth and latency 1, no cost
          of calls. What is left of its own is a header of 16 bytes a message. Ours is the gap: g = 16 beta.
Source    Casanova, Giersch, Legrand, Quinson & Suter, "Versatile, scalable, and accurate simulation of distributed
          applications and platforms" (2014); Degomme et al., "Simulating MPI applications: the SMPI approach" (2017).
Try       apt-get install libsimgrid-dev && python benchmarks/smpi.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations
from math import inf
from typing import Any

import numpy as np

from .. import mpi
from ..collectives.catalogue import ALLREDUCE, ALLTOALL
from ..collectives.rounds import Blocks, Round, plan
from ..networks import Level, SwitchTree
from .launch import launch

HEADER = 16  # bytes that SMPI adds to a message
UNIT = 1e-6  # SMPI's second is our microsecond: its clock has a fixed precision
Group = list[tuple[str, int, int]]  # ("s" or "r", the other rank, bytes), posted together and waited for; ("c", ns, 0)
SETTINGS = {
    "smpi/simulate-computation": "no",
    "smpi/async-small-thresh": "0",
    "smpi/send-is-detached-thresh": "0",
    "smpi/bw-factor": "0:1",
    "smpi/lat-factor": "0:1",
    "network/crosstraffic": "0",
}


@dataclass(frozen=True)
class Case:
    """What P ranks of a network do; groups(rank) is what one of them posts."""

    name: str
    network: SwitchTree
    P: int
    groups: Callable[[int], list[Group]]

    def seconds(self, sharing: str) -> float:
        """How long it takes on the virtual cluster."""
        return launch(carry_out, self.P, self.groups, network=self.network, sharing=sharing, timeout=inf).seconds


def carry_out(comm, groups: Callable[[int], list[Group]]) -> None:
    """Post each group of this rank and wait for it."""
    memory = np.zeros(max((n for group in groups(comm.rank) for *_, n in group), default=0), np.uint8)
    for group in groups(comm.rank):
        requests = []
        for what, peer, nbytes in group:
            if what == "c":
                mpi.sleep(comm, peer * 1e-9)
            else:
                call = comm.Isend if what == "s" else comm.Irecv
                requests.append(call((memory if what == "s" else np.empty_like(memory))[:nbytes], peer))
        mpi.waitall(requests)


def trace(groups: list[Group]) -> str:
    """What one rank does, for benchmarks/smpi.c: w waits, c sleeps."""
    lines = []
    for group in groups:
        lines += [
            f"c {peer * 1e-9 / UNIT}" if what == "c" else f"{what} {peer} {nbytes}" for what, peer, nbytes in group
        ]
        lines.append("w")
    return "\n".join(lines) + "\n"


def platform(network: SwitchTree, P: int) -> str:
    """The network as a platform file of SimGrid: hosts h0, h1, ..., a link for each port and cable, all routes.

    A link has its bandwidth, shared by all who use it; latency is of the route, and nobody waits for it.
    """
    ways = {pair: network.route(*pair) for pair in permutations(range(P), 2)}
    links = {f"{side}{rank}": network.levels[0].beta for rank in range(P) for side in ("out", "in")}
    links |= {_name(link): network.levels[link[0] + 1].beta for way in ways.values() for link in way.links}
    latencies = sorted({way.alpha - way.holds(0) for way in ways.values()})
    lines = [f'<host id="h{rank}" speed="1Gf"/>' for rank in range(P)]
    lines += [_link(name, UNIT / beta, 0.0) for name, beta in links.items()]
    lines += [_link(f"latency{number}", 1e30, value / UNIT, "FATPIPE") for number, value in enumerate(latencies)]
    for (source, dest), way in ways.items():
        latency = f"latency{latencies.index(way.alpha - way.holds(0))}"
        names = [f"out{source}", latency, *map(_name, way.links), f"in{dest}"]
        crossed = "".join(f'<link_ctn id="{name}"/>' for name in names)
        lines.append(f'<route src="h{source}" dst="h{dest}" symmetrical="NO">{crossed}</route>')
    head = "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
    return (
        f'{head}<platform version="4.1"><zone id="all" routing="Full">\n' + "\n".join(lines) + "\n</zone></platform>\n"
    )


def _name(link: tuple) -> str:
    return "-".join(map(str, link)).replace(".0", "")


def _link(name: str, bandwidth: float, latency: float, policy: str = "SHARED") -> str:
    return f'<link id="{name}" bandwidth="{bandwidth!r}Bps" latency="{latency!r}s" sharing_policy="{policy}"/>'


# The cases --------------------------------------------------------------------------------------------------------


def _level(ranks: float, latency: float, beta: float, uplinks: int = 1) -> Level:
    """With SMPI's header as the gap."""
    return Level(ranks, latency + HEADER * beta, beta, uplinks, HEADER * beta)


UNIFORM = SwitchTree((_level(inf, 5e-6, 1e-10),))
ONE_CARD = SwitchTree((_level(8, 1e-6, 1e-11), _level(inf, 5e-6, 4e-11)))
HALF_CORE = SwitchTree((_level(2, 1e-6, 1e-11), _level(8, 5e-6, 4e-11, 2), _level(inf, 8e-6, 4e-11)))
KIB, MIB = 2**10, 2**20


def scheduled(rounds: Callable[..., Iterator[Round]], P: int, nbytes: int, blocks: int, **options: Any) -> Callable:
    """The groups of a schedule for an array of so many bytes."""
    array = Blocks(np.empty(nbytes, np.uint8), blocks)

    def groups(rank: int) -> list[Group]:
        return [
            [
                *(("r", source, last - first) for source, first, last, _ in receives),
                *(("s", to, last - first) for to, first, last in sends),
            ]
            for receives, sends in plan(rounds(rank, P, **options), array, array)
        ]

    return groups


def _allreduce(name: str, network: SwitchTree, P: int, nbytes: int, late: float = 0.0, **options: Any) -> Case:
    """late: nanoseconds by which each rank begins after the one before it."""
    record = ALLREDUCE[name]
    groups = scheduled(record.rounds, P, nbytes, record.blocks(P, **options), **options)
    words = [name, *(f"{key.replace('_', ' ')} {value}" for key, value in options.items() if key != "ranks_per_node")]
    title = f"{', '.join(words)}, {_size(nbytes)}" + (f", {late:g} ns late each" if late else "")
    return Case(title, network, P, lambda rank: [[("c", int(late * rank), 0)], *groups(rank)] if late else groups(rank))


def _alltoall(name: str, network: SwitchTree, P: int, nbytes: int) -> Case:
    """nbytes: for each pair of ranks."""
    groups = scheduled(ALLTOALL[name].rounds, P, nbytes * P, P)
    return Case(f"all-to-all, {name}, {_size(nbytes)} a pair", network, P, groups)


def _size(nbytes: int) -> str:
    number, rest = divmod(nbytes, MIB if nbytes >= MIB else KIB if nbytes >= KIB else 1)
    return f"{number} {'MiB' if nbytes >= MIB else 'KiB' if nbytes >= KIB else 'B'}" + (f" + {rest} B" if rest else "")


def _incast(network: SwitchTree, P: int, nbytes: int) -> Case:
    def groups(rank: int) -> list[Group]:
        return [[("s", 0, nbytes)] if rank else [("r", source, nbytes) for source in range(1, P)]]

    return Case(f"incast, {_size(nbytes)} each", network, P, groups)


def _in_flight(network: SwitchTree, number: int, nbytes: int) -> Case:
    def groups(rank: int) -> list[Group]:
        return [[("r" if rank else "s", 1 - rank, nbytes)] * number]

    return Case(f"{number} messages in flight, {_size(nbytes)}", network, 2, groups)


def _shifts(network: SwitchTree, P: int, distance: int, nbytes: int) -> Case:
    def groups(rank: int) -> list[Group]:
        return [[("r", (rank - distance) % P, nbytes), ("s", (rank + distance) % P, nbytes)]] * 20

    return Case(f"20 shifts by {distance}, {_size(nbytes)}", network, P, groups)


def cases() -> dict[str, list[Case]]:
    """By network."""
    return {
        "16 ranks, all alike": [
            _allreduce("ring", UNIFORM, 16, MIB),
            _allreduce("recursive doubling", UNIFORM, 16, 64 * KIB),
            _allreduce("halving-doubling", UNIFORM, 16, MIB),
            _allreduce("binomial tree", UNIFORM, 16, 64 * KIB),
            _allreduce("binary tree", UNIFORM, 16, MIB, segments=8),
            _allreduce("double tree", UNIFORM, 16, MIB, segments=8),
            _allreduce("direct", UNIFORM, 16, MIB),
            _allreduce("direct", UNIFORM, 16, MIB + 1),
            _allreduce("direct", UNIFORM, 16, MIB, late=10),
            _alltoall("pairwise", UNIFORM, 16, 64 * KIB),
            _alltoall("direct", UNIFORM, 16, 64 * KIB),
            _incast(UNIFORM, 16, 64 * KIB),
            _incast(UNIFORM, 16, 8),
            _in_flight(UNIFORM, 64, 8),
        ],
        "4 nodes of 8 ranks with one card": [
            _allreduce("ring", ONE_CARD, 32, MIB),
            _allreduce("recursive doubling", ONE_CARD, 32, 64 * KIB),
            _allreduce("hierarchical", ONE_CARD, 32, 32 * KIB, ranks_per_node=8),
            _allreduce("hierarchical", ONE_CARD, 32, MIB, ranks_per_node=8),
            _allreduce("leader", ONE_CARD, 32, 32 * KIB, ranks_per_node=8),
            _allreduce("leader", ONE_CARD, 32, MIB, ranks_per_node=8),
            _alltoall("direct", ONE_CARD, 32, 16 * KIB),
        ],
        "fat tree, pods of 4 nodes of 2 ranks, half of the cables to the core": [
            _allreduce("ring", HALF_CORE, 32, MIB),
            _allreduce("halving-doubling", HALF_CORE, 32, MIB),
            _allreduce("double tree", HALF_CORE, 32, MIB, segments=8),
            _alltoall("direct", HALF_CORE, 32, 16 * KIB),
            _shifts(HALF_CORE, 32, 5, 64 * KIB),
        ],
    }

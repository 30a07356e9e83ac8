"""Machines as data: accelerators, and the levels of network that join them.

Idea      Neighbouring ranks share a node. A level of network joins so many ranks in a row: NVLink the 8 of a node,
          InfiniBand everybody (ranks = 0). A group of ranks spans the levels up to the first that joins all of it.
          `Cluster.path` says what one rank of a group gets there: the slowest of the levels crossed. Of a level above
          the lowest, each rank has its own share, so members of a group that sit in the same unit below share the sum
          of theirs: 8 ranks of a node with one port of 25 GB/s each form rings of 200 GB/s out of it.
Price     `matmul`, `attention`, `unfused`, `memory_efficiency` and a level's `efficiency` are what software reaches
          of the data sheet. published.py says which of them were fitted on which published runs.
Try       a machine of your own: five lines in data/clusters.toml, or in a file of yours.
"""

from __future__ import annotations

import itertools
import math
import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from ..perf.accelerators import Accelerator
from ..perf.accelerators import accelerator as known_accelerator


class NetworkLevel(NamedTuple):
    """A level of the network: it joins `ranks` ranks in a row (0: all), each with so many bytes per second one way.

    latency: seconds of a message. efficiency: the share of the bandwidth that collectives reach.
    """

    name: str
    ranks: int
    bandwidth: float
    latency: float = 5e-6
    efficiency: float = 1.0


class GroupPath(NamedTuple):
    """What a group gets: seconds that its rounds wait for messages to begin, and bytes per second that a ring carries.

    latency: of a ring's n - 1 rounds; of a single message, one.
    """

    latency: float
    bandwidth: float

    def gather(self, n: int, nbytes: float) -> float:
        """Seconds of an all-gather or a reduce-scatter of so many bytes, all shards together, by a ring of n."""
        return self.latency + (n - 1) / n * nbytes / self.bandwidth if n > 1 else 0.0

    def reduce(self, n: int, nbytes: float) -> float:
        """Seconds of an all-reduce: a reduce-scatter and an all-gather."""
        return 2 * self.gather(n, nbytes)

    def send(self, nbytes: float) -> float:
        """Seconds of one message."""
        return self.latency + nbytes / self.bandwidth


class Cluster(NamedTuple):
    """A machine: its accelerators and its network, lowest level first.

    memory             bytes of an accelerator
    matmul             share of the peak that products of matrices reach
    attention          the same for the kernel of flash attention
    memory_efficiency  share of the bandwidth of its memory that everything else reaches
    price              of an accelerator for an hour; 0: unknown
    fp8                products of matrices, but for the head's, are done in 8 bits
    unfused            how many times the bytes of compiled kernels those of separate operations move
    """

    name: str
    accelerator: Accelerator
    ranks_per_node: int
    levels: tuple[NetworkLevel, ...]
    memory: float
    matmul: float = 0.7
    attention: float = 0.4
    memory_efficiency: float = 0.8
    price: float = 0.0
    source: str = ""
    fp8: bool = False
    unfused: float = 2.14

    @property
    def product_rate(self) -> float:
        """FLOPs per second that products of matrices reach in a layer."""
        peak = self.accelerator.fp8 if self.fp8 and self.accelerator.fp8 else self.accelerator.flops
        return peak * self.matmul

    def path(self, *axes: tuple[int, int]) -> GroupPath:
        """What a rank gets in the group of these axes, each (size, stride): ranks so far apart."""
        latency, bandwidth, inside = 0.0, math.inf, 1
        size, span = math.prod(n for n, _ in axes), max(n * stride for n, stride in axes)
        for level in self.levels:
            reach = level.ranks if level.ranks and level.ranks < span else span
            members = math.prod(max(1, min(n, reach // stride)) for n, stride in axes)
            if members > inside:
                latency += (members / inside - 1) * level.latency
                bandwidth = min(bandwidth, inside * level.bandwidth * level.efficiency)
            if reach == span or members == size:
                break
            inside = members
        return GroupPath(latency, bandwidth)

    def message(self, stride: int) -> GroupPath:
        """What a single message gets between two ranks that are `stride` apart, if all send at the same time."""
        reached = next((x for x in self.levels if not x.ranks or stride < x.ranks), self.levels[-1])
        return GroupPath(reached.latency, reached.bandwidth * reached.efficiency)


def read_clusters(text: str) -> dict[str, Cluster]:
    """The machines in a text like data/clusters.toml, by name. Raises ValueError for what cannot be."""
    found = {}
    for name, given in tomllib.loads(text).items():
        try:
            device = known_accelerator(given.pop("accelerator"))._replace(**given.pop("replace", {}))
            levels = tuple(NetworkLevel(**level) for level in given.pop("levels"))
            found[name] = Cluster(name, device, levels=levels, **{"memory": device.memory} | given)
        except (KeyError, TypeError) as error:
            raise ValueError(f"machine {name!r}: {error}; it needs an accelerator, ranks_per_node, levels") from None
        _check(found[name])
    return found


def _check(machine: Cluster) -> None:
    ranks = [level.ranks for level in machine.levels]
    if not ranks or ranks[-1] != 0 or any(not 0 < a < (b or math.inf) for a, b in itertools.pairwise(ranks)):
        raise ValueError(f"machine {machine.name!r}: levels join more and more ranks, the last all (0), got {ranks}")
    shares = [machine.matmul, machine.attention, machine.memory_efficiency, *(x.efficiency for x in machine.levels)]
    if not all(0 < share <= 1 for share in shares):
        raise ValueError(f"machine {machine.name!r}: efficiencies are above 0 and at most 1, got {shares}")


@cache
def clusters() -> dict[str, Cluster]:
    """All machines of data/clusters.toml, by name."""
    return read_clusters((files(__package__) / "data" / "clusters.toml").read_text())


def cluster(name: str) -> Cluster:
    """The machine of this name. Raises ValueError, with all names, if there is none."""
    known = clusters()
    if name.lower() not in known:
        raise ValueError(f"no machine is called {name!r}; there are: {', '.join(known)}")
    return known[name.lower()]

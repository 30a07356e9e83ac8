"""Affinity: which processors a rank runs on, and so which memory is near.

A machine with several sockets, or a socket with several memory controllers, is NUMA (non-uniform memory access): every
processor reaches all memory, but that of another node through a slower link between them (UPI, Infinity Fabric), which
all share. Linux gives a page to the node of the processor that first touches it. So a rank that starts on node 0, fills
its arrays and is then moved to node 1 reads over that link from then on. The cure: bind each rank to the processors of
one node before it touches its memory, and start its threads (OpenMP, torch) after that.

    mpirun -bind-to core ...                 MPICH; it does not bind unless told. Also -bind-to numa, -map-by numa
    mpirun --bind-to core --map-by numa ...  Open MPI, which does bind unless told --bind-to none
    numactl --cpunodebind=0 --membind=0 ...  one process: processors and memory of node 0
    numastat -p PID                          on which nodes its memory lies; plain `numastat`: misses of each node
    nvidia-smi topo -m                       which GPU and network card is near which node (of 8 GPUs often 0-3 near
                                             node 0); CUDA_VISIBLE_DEVICES then gives each rank a near one

`bind` does the same from inside, where the launcher cannot be told. On this machine, for 4 ranks:

    python -m reference.perf.affinity 4

Left out  Binding memory, moving pages, caches shared by some of the cores: hwloc knows them all.
Source    Lameter, "NUMA: An Overview", ACM Queue (2013); Linux, Documentation/ABI/stable/sysfs-devices-node.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby
from pathlib import Path

import numpy as np

from .. import mpi

NODES = "/sys/devices/system/node"  # where Linux tells


def parse_cpus(text: str) -> list[int]:
    """Linux's lists of processors: "0-3,8" is [0, 1, 2, 3, 8]; nothing is []. Raises ValueError for anything else."""
    cpus = []
    for part in filter(None, text.strip().split(",")):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            raise ValueError(f"{part!r} in {text!r} is neither a number nor a range such as 0-3")
        cpus += range(first, last + 1)
    return cpus


def spell_cpus(cpus: Iterable[int]) -> str:
    """The inverse: [0, 1, 2, 3, 8] is "0-3,8", and [] is "none"."""
    runs = [[cpu for _, cpu in run] for _, run in groupby(enumerate(sorted(cpus)), lambda pair: pair[1] - pair[0])]
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs) or "none"


def allowed_cpus() -> list[int]:
    """The processors this process may run on; all of the machine where the system does not tell (macOS)."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [*range(os.cpu_count() or 1)]


def numa_nodes(root: str | Path = NODES) -> dict[int, list[int]]:
    """The processors of each NUMA node; one node of all there are if the machine does not tell.

    Hardware threads of one core follow each other (Linux often numbers them 0 and 24, say), so that stretches of the
    list are whole cores, if it divides evenly. A node may have memory only: then its list is empty.
    """
    lists = {int(path.parent.name[4:]): parse_cpus(path.read_text()) for path in Path(root).glob("node[0-9]*/cpulist")}
    if not lists:
        return {0: [*range(max(os.cpu_count() or 1, allowed_cpus()[-1] + 1))]}
    return {node: sorted(lists[node], key=lambda cpu: (_core(Path(root), cpu), cpu)) for node in sorted(lists)}


def _core(root: Path, cpu: int) -> int:
    """The first hardware thread of the core that this one belongs to."""
    siblings = root.parent / "cpu" / f"cpu{cpu}" / "topology" / "thread_siblings_list"
    return min(parse_cpus(siblings.read_text())) if siblings.exists() else cpu


def numa_distance(root: str | Path = NODES) -> np.ndarray:
    """int [nodes, nodes]: how far the memory of each node is from each other, 10 from itself, as the firmware says."""
    lines = {int(path.parent.name[4:]): path.read_text() for path in Path(root).glob("node[0-9]*/distance")}
    return np.array([[int(entry) for entry in lines[node].split()] for node in sorted(lines)] or [[10]])


def processor_share(nodes: Mapping[int, Sequence[int]], local_rank: int, local_ranks: int) -> list[int]:
    """The processors for one of the `local_ranks` ranks on this machine; nodes as `numa_nodes` gives them.

    Fewer ranks than nodes: each gets whole nodes. Else no rank is spread over two: every node takes one rank, each
    further rank goes where most processors are left for it, and the ranks of a node divide its processors. If there are
    more ranks than processors, ranks share one. Neighbouring ranks are on one node. Raises ValueError.
    """
    if not 0 <= local_rank < local_ranks:
        raise ValueError(f"local_rank must be from 0 to {local_ranks - 1}, got {local_rank} of {local_ranks} ranks")
    lists = [list(nodes[node]) for node in sorted(nodes) if nodes[node]]
    if not lists:
        raise ValueError(f"no processor to share in {dict(nodes)}: is this process allowed any of them?")
    if local_ranks < len(lists):
        return [*chain(*_part(lists, local_rank, local_ranks))]
    ranks = [1] * len(lists)  # on each node
    for _ in range(local_ranks - len(lists)):
        ranks[max(range(len(lists)), key=lambda i: len(lists[i]) / (ranks[i] + 1))] += 1
    return [_part(cpus, i, here) for cpus, here in zip(lists, ranks) for i in range(here)][local_rank]


def _part(items: list, number: int, parts: int) -> list:
    """Part `number` of `parts` nearly equal stretches, none of them empty: some are the same if there are too few."""
    first, last = (step * len(items) // parts for step in (number, number + 1))
    return items[first : max(last, first + 1)]


def bind(comm, root: str | Path = NODES) -> list[int]:
    """Bind this rank to its share of its machine, and return the processors it may run on now. Collective.

    Pass the world: what the ranks of a machine may use, all together, is dealt anew, so calling twice changes nothing.
    Bound are the thread that calls and those it starts later. To undo: os.sched_setaffinity(0, before). Raises
    NotImplementedError on the virtual cluster, and where the system has no such call.
    """
    if not isinstance(comm, mpi.Comm):
        raise NotImplementedError(
            "bind() is for ranks that are processes; those of the virtual cluster are threads of one process, which "
            "take turns. Use launch(..., world='mpi') or mpirun"
        )
    if not hasattr(os, "sched_setaffinity"):
        raise NotImplementedError(f"bind() needs sched_setaffinity, which {sys.platform} does not have: run on Linux")
    here = comm.Split_type(mpi.COMM_TYPE_SHARED, key=comm.rank)
    usable = set().union(*here.allgather(allowed_cpus()))
    local_rank, local_ranks = here.rank, here.size
    here.Free()
    os.sched_setaffinity(0, processor_share(_usable(numa_nodes(root), usable), local_rank, local_ranks))
    return allowed_cpus()


def _usable(nodes: Mapping[int, Sequence[int]], usable: set[int]) -> dict[int, list[int]]:
    """The nodes without the processors that the job may not use (cgroups, a batch system, taskset)."""
    return {node: [cpu for cpu in cpus if cpu in usable] for node, cpus in nodes.items()}


def _count(text: str) -> int:
    """ "8" -> 8. Raises ArgumentTypeError for what is no number of ranks."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of ranks: 1 or more")
    return int(text)


def parser(exit_on_error: bool = True) -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(
        "python -m reference.perf.affinity", description=main.__doc__, exit_on_error=exit_on_error
    )
    p.add_argument("ranks", type=_count, nargs="?", default=2, help="how many ranks on this machine (default: 2)")
    return p


def main(argv: Sequence[str] | None = None) -> None:
    """Print the nodes of this machine, and how ranks would be bound to them."""
    ranks = parser().parse_args(argv).ranks
    nodes = numa_nodes()
    near = _usable(nodes, set(allowed_cpus()))
    for (node, cpus), row in zip(nodes.items(), numa_distance().tolist()):
        print(f"node {node}: processors {spell_cpus(cpus)}; allowed {spell_cpus(near[node])}; distances {row}")
    for rank in range(ranks):
        print(f"rank {rank} of {ranks}: processors {spell_cpus(processor_share(near, rank, ranks))}")


if __name__ == "__main__":
    main()

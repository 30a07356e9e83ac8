"""Flat ring against hierarchical all-reduce on several machines: bytes over each machine's cable, and time.

    python benchmarks/several_machines.py                    # on 4 nodes x 2 ranks of namespaces.py, made for it
    mpirun -f hosts -n 8 python benchmarks/several_machines.py --here --card eth0          # on your own machines

The nodes are asked of MPI (Split_type). The same ranks are then put in two orders: node by node, as mpirun places them,
and round-robin over the nodes (mpirun -ppn 1), where each hop of a ring crosses. A ping-pong inside a node and one
between two nodes give the two-level model its alphas and betas; everything else is predicted from the schedules: the
bytes that leave a node by `traffic`, the time by `evaluate`. Measured are the counter of the node's card, and the time
of each algorithm in turns with the others: median and quartiles of the slowest rank.
Exit status: 0, also where there can be no such cluster, which is then said; 1 if a sum was wrong; 2 for bad input.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reference import cli, mpi
from reference.collectives import ALLREDUCE, allreduce
from reference.collectives.evaluate import evaluate
from reference.collectives.placed import placed, traffic
from reference.networks import SwitchTree, two_level
from reference.perf.measure import Spread, measure
from reference.ring_allreduce import check_message_sizes, in_bytes
from reference.verify import compare

HERE = Path(__file__).resolve()
SIZES = [2**12, 2**20, 2**24]  # bytes
LARGE = 2**23  # bytes
SECONDS_A_SIZE = 8.0
MPI = "MPI's own"


class Shape(NamedTuple):
    """N nodes of L ranks; this rank is number `local` of node `node`."""

    N: int
    L: int
    node: int
    local: int


class Order(NamedTuple):
    """Ranks in some order: `comm` numbers them so, and number i sits at slot slots[i] of the network."""

    comm: Any
    slots: np.ndarray


# The machine -----------------------------------------------------------------------------------------------------


def shape(comm) -> Shape:
    """What MPI says about nodes. Raises BadInput unless there are several, with equally many ranks, several each."""
    here = comm.Split_type(mpi.COMM_TYPE_SHARED, key=comm.rank)
    first = comm.allgather(here.bcast(comm.rank))  # each node is known by its first rank
    nodes = sorted(set(first))
    sizes = [first.count(rank) for rank in nodes]
    if len(nodes) < 2 or min(sizes) < 2 or min(sizes) < max(sizes):
        raise cli.BadInput(f"wanted: 2 nodes or more with equally many ranks, 2 or more; MPI sees nodes of {sizes}")
    found = Shape(len(nodes), here.size, nodes.index(first[comm.rank]), here.rank)
    here.Free()
    return found


def orders(comm, at: Shape) -> dict[str, Order]:
    """The two orders of the same ranks. Slots of the network are numbered node by node."""
    i = np.arange(comm.size)
    return {
        "node by node": Order(comm.Split(0, at.node * at.L + at.local), i),
        "round-robin": Order(comm.Split(0, at.local * at.N + at.node), i % at.N * at.L + i // at.N),
    }


def between_two(comm, other: int, nbytes: int, both_at_once: bool = False, repeat: int = 4) -> float:
    """Seconds that a message takes between ranks 0 and `other`: half of the way there and back, the median.

    both_at_once: seconds for two messages, one each way. The other ranks sleep meanwhile: they would take the cores,
    of which there may be fewer than ranks.
    """
    x, y, times = np.zeros(nbytes, np.uint8), np.empty(nbytes, np.uint8), []
    if comm.rank in (0, other):
        peer = other - comm.rank
        for _ in range(repeat + 1):
            start = time.perf_counter()
            if both_at_once:
                comm.Sendrecv(x, peer, 0, y, peer, 0)
            elif comm.rank == 0:
                comm.Send(x, peer)
                comm.Recv(y, peer)
            else:
                comm.Recv(y, peer)
                comm.Send(x, peer)
            times.append((time.perf_counter() - start) / (1 if both_at_once else 2))
    done = comm.Ibarrier()
    while not done.Test():
        time.sleep(1e-3)
    return comm.bcast(float(np.median(times[1:])) if times else None)


def line(comm, other: int) -> tuple[float, float]:
    """alpha (s), the time of 4 bytes, and beta (s/byte), what each byte of a large message adds to it.

    Not a least-squares line: a token bucket lets the first 128 KiB through at once.
    """
    alpha = between_two(comm, other, 4, repeat=50)
    return alpha, (between_two(comm, other, LARGE) - alpha) / LARGE


def model(comm, L: int) -> SwitchTree:
    """The two-level network whose numbers are measured here; comm is in the order node by node. Adding is free."""
    return two_level(L, *line(comm, 1), *line(comm, L))


def both_ways(comm, other: int) -> float:
    """How many times as long two large messages take, one each way, as one of them; the model says 1."""
    return between_two(comm, other, LARGE, both_at_once=True) / between_two(comm, other, LARGE)


# What is compared -------------------------------------------------------------------------------------------------


def options_of(L: int) -> dict[str, dict[str, int]]:
    """The algorithms from the book's code, with their options."""
    return {"ring": {}, "hierarchical": {"ranks_per_node": L}, "leader": {"ranks_per_node": L}}


def predicted_seconds(name: str, how: dict, order: Order, count: int, network: SwitchTree) -> float:
    """By the two-level model, all messages on the clock."""
    algorithm, P = ALLREDUCE[name], len(order.slots)
    rounds = placed(algorithm.rounds, order.slots)
    return evaluate(rounds, P, count, 4, network, algorithm.blocks(P, **how), **how).seconds


def predicted_crossing(name: str, how: dict, order: Order, count: int, L: int) -> float:
    """Bytes that leave a node, for each byte of the array; the largest of all nodes."""
    algorithm, P = ALLREDUCE[name], len(order.slots)
    w, node = traffic(algorithm.rounds, P, count, 4, algorithm.blocks(P, **how), **how), order.slots // L
    leaving = np.where(node[:, None] != node, w, 0).sum(axis=1)
    return np.bincount(node, leaving).max() / (4 * count)


def programs(order: Order, L: int, count: int) -> dict[str, Callable[[], Any]]:
    """The calls to measure. The array is zero, so that it may be summed again and again."""
    x, y = np.zeros(count, np.float32), np.empty(count, np.float32)
    calls = {
        name: lambda n=name, h=how: allreduce(order.comm, x, algorithm=n, **h) for name, how in options_of(L).items()
    }
    return calls | {MPI: lambda: order.comm.Allreduce(x, y)}


def right(order: Order, L: int, count: int) -> bool:
    """Whether every algorithm gives the sum of what the ranks have, on all ranks; small whole numbers, so exactly."""
    values, ok = np.resize(np.arange(7), count).astype(np.float32), True
    for name, how in options_of(L).items():
        x = values * (order.comm.rank + 1)
        allreduce(order.comm, x, algorithm=name, **how)
        ok &= bool(compare(x, values * np.float32(sum(range(1, order.comm.size + 1)))))
    return order.comm.allreduce(ok, op=mpi.LAND)


def counted_crossing(comm, call: Callable[[], Any], nbytes: int, card: str) -> float:
    """Bytes that a node's card sent during the call, for each byte of the array; the largest of all nodes.

    Headers are in it, and the acknowledgements of what came in: some per cent more than the schedule's bytes.
    """
    counter = Path(f"/sys/class/net/{card}/statistics/tx_bytes")
    comm.Barrier()
    before = int(counter.read_text())
    comm.Barrier()
    call()
    comm.Barrier()
    return comm.allreduce((int(counter.read_text()) - before) / nbytes, op=mpi.MAX)


# The report, in lines that fit a phone ----------------------------------------------------------------------------


def three(value: float) -> str:
    """Three digits: 0.512, 5.12, 51.2, 512, 5120."""
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def as_model(network: SwitchTree) -> str:
    """The measured numbers of the model."""
    rows = [
        f"{name:8} alpha {level.alpha * 1e6:3.0f} us, 1/beta {1e-9 / level.beta:.2f} GB/s"
        for name, level in zip(("inside:", "between:"), network.levels)
    ]
    return "\n".join(rows)


def as_row(name: str, took: Spread, model: float | None, ring: Spread) -> str:
    """Median, quartiles, the model's time (ms), and the median as a multiple of the ring's."""
    low, median, high = (three(1e3 * each) for each in took)
    foreseen = three(1e3 * model) if model else "-"
    return f"{name:12}{median:>6}{f'{low}..{high}':>13}{foreseen:>6}{took.median / ring.median:5.2f}"


def report_crossing(say, found: dict[str, Order], L: int, nbytes: int, card: str) -> None:
    """The table of bytes that leave a node."""
    say(f"\nbytes that leave a node, in arrays\n{in_bytes(nbytes):13}{'node by node':>13}{'round-robin':>15}")
    say(f"{'':13}{'model':>6}{'card':>7}{'model':>8}{'card':>7}")
    calls = {name: programs(order, L, nbytes // 4) for name, order in found.items()}
    for name in [*options_of(L), MPI]:
        cells = []
        for how, order in found.items():
            own = options_of(L).get(name)
            cells.append("-" if own is None else f"{predicted_crossing(name, own, order, nbytes // 4, L):.2f}")
            cells.append(f"{counted_crossing(order.comm, calls[how][name], nbytes, card):.2f}")
        say(f"{name:13}{cells[0]:>6}{cells[1]:>7}{cells[2]:>8}{cells[3]:>7}")


def report_times(say, found: dict[str, Order], L: int, nbytes: int, network: SwitchTree, repeat: int | None) -> None:
    """The tables of times for one size."""
    calls = {
        (how, name): call for how, order in found.items() for name, call in programs(order, L, nbytes // 4).items()
    }
    comm = found["node by node"].comm
    if repeat is None:
        once = sum(time.median for time in measure(comm, list(calls.values()), 1))
        repeat = int(np.clip(SECONDS_A_SIZE / once, 5, 50))
    times = dict(zip(calls, measure(comm, list(calls.values()), repeat)))
    for how, order in found.items():
        say(f"\n{f'{in_bytes(nbytes)}, {how}':30}{'model':>6} /ring")
        for name in [*options_of(L), MPI]:
            own = options_of(L).get(name)
            foreseen = None if own is None else predicted_seconds(name, own, order, nbytes // 4, network)
            say(as_row(name, times[how, name], foreseen, times[how, "ring"]))


# Programs ---------------------------------------------------------------------------------------------------------


def parser() -> cli.Parser:
    """The command line."""
    p = cli.Parser("benchmarks/several_machines.py", description=__doc__.splitlines()[0])
    p.add_argument("--here", action="store_true", help="measure on the ranks that mpirun has started")
    p.add_argument("--card", default="e0", help="network card whose bytes are counted (default: e0)")
    p.add_argument("--size", type=cli.nbytes, nargs="+", default=SIZES, help="bytes (default: 4 KiB to 16 MiB)")
    p.add_argument("--repeat", type=int, help="measurements of each (default: 5 to 50, about 8 s a size)")
    p.add_argument("--nodes", type=int, default=4, help="of the cluster to make (default: 4)")
    p.add_argument("--slots", type=int, default=2, help="ranks a node (default: 2)")
    p.add_argument("--rate", default="1gbit", help="of its cables (default: 1gbit)")
    return p


def run(comm, options: argparse.Namespace) -> int:
    """Measure on the ranks there are; rank 0 prints."""
    say = partial(print, flush=True) if comm.rank == 0 else lambda text: None
    check_message_sizes(comm, options.size, "float32", options.repeat)
    at = shape(comm)
    found = orders(comm, at)
    one = found["node by node"].comm
    lacking = not Path(f"/sys/class/net/{options.card}").exists()
    cli.agree(comm, cli.BadInput(f"no network card {options.card!r}; name one with --card") if lacking else None)
    ok = all(right(order, at.L, 1000 + at.N) for order in found.values())
    say(f"{at.N} nodes x {at.L} ranks, float32, {cli.library()}\nsums: {'right' if ok else 'WRONG'}")
    network = model(one, at.L)
    say(as_model(network))
    say(f"{in_bytes(LARGE)} each way at once: {both_ways(one, at.L):.2f} x one way")
    report_crossing(say, found, at.L, max(options.size), options.card)
    say("\ntimes in ms: median, quartiles")
    for nbytes in options.size:
        report_times(say, found, at.L, nbytes, network, options.repeat)
    return 0 if ok else 1


def main() -> int:
    """On the ranks of mpirun, or make a cluster and start them."""
    if "--here" in sys.argv:
        return cli.main(run, parser())
    try:
        options = parser().parse_args()
    except cli.BadInput as bad:
        print(f"benchmarks/several_machines.py: {bad}", file=sys.stderr)
        return 2
    cluster = [sys.executable, str(HERE.parent / "namespaces.py")]
    can = subprocess.run([*cluster, "true"], capture_output=True, text=True)
    if can.returncode:
        print(f"skipped: {can.stderr.strip()}")
        return 0 if can.returncode == 2 else 1
    cluster += ["--nodes", str(options.nodes), "--slots", str(options.slots), "--rate", options.rate]
    ranks = ["mpirun", "-n", str(options.nodes * options.slots), sys.executable, str(HERE), "--here", *sys.argv[1:]]
    return subprocess.run([*cluster, *ranks]).returncode


if __name__ == "__main__":
    sys.exit(main())

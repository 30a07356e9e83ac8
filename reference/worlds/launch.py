"""launch(): run a program on every rank of one of the two worlds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import cloudpickle

from ..perf.networks import Network, uniform
from .communicator import Communicator, Context
from .engine import Engine
from .real import run_on_job
from .run import Run


@dataclass(frozen=True)
class Slow:
    """A fault: rank `rank` takes `factor` times as long for every computation (virtual cluster only)."""

    rank: int
    factor: float


def launch(
    program: Callable[..., Any],
    ranks: int,
    *args: Any,
    world: str = "virtual",
    network: Network | None = None,
    faults: Sequence[Slow] = (),
    buffered: bool = False,
    timeout: float = 60.0,
) -> Run:
    """Run program(comm, *args) once on each of `ranks` ranks and return what came of it.

    world     "virtual": ranks in this process, on a simulated `network` (uniform() unless told), with a clock each.
              "mpi": real ranks, processes under mpirun; network, faults and buffered do not apply
    faults    Slow(rank, factor), ...
    buffered  Send returns at once, as MPI may do for small messages; else it waits for the receive, as MPI may do too
    timeout   seconds of real time after which the launch is ended

    The program, what it closes over and the arguments are copied for every rank (cloudpickle). Rank r starts with the
    global random generators seeded with r (torch's too, if it is imported by then). Modules, and what is global in
    them, are shared by virtual ranks.

    Raises ValueError for impossible arguments, and a LaunchError (errors.py) when the program does not end well.
    """
    if ranks < 1:
        raise ValueError(f"a launch needs at least 1 rank, got {ranks}")
    if inspect.isgeneratorfunction(program):
        raise ValueError(f"{program.__name__} is a generator (it has a `yield`): calling it would run nothing of it")
    if timeout <= 0:
        raise ValueError(f"timeout must be positive, got {timeout}")
    if world == "mpi":
        if network is not None or faults or buffered:
            raise ValueError("network, faults and buffered belong to the virtual cluster; real ranks have their own")
        return run_on_job(program, ranks, args, timeout)
    if world != "virtual":
        raise ValueError(f"world is 'virtual' or 'mpi', got {world!r}")
    return _run_virtual(program, ranks, args, network or uniform(), faults, buffered, timeout)


def _run_virtual(program, ranks, args, network, faults, buffered, timeout) -> Run:
    bad = [fault for fault in faults if not 0 <= fault.rank < ranks or fault.factor <= 0]
    if bad:
        raise ValueError(f"{bad[0]} does not fit a launch of {ranks} ranks with positive factors")
    engine = Engine(ranks, network, {fault.rank: fault.factor for fault in faults}, buffered)
    world = Context("world", range(ranks), "world")
    engine.contexts[world.key] = world
    copies = cloudpickle.dumps((program, args))

    def life(rank: int) -> Callable[[], Any]:
        def run() -> Any:
            own_program, own_args = cloudpickle.loads(copies)
            return own_program(Communicator(engine, engine.ranks[rank], world), *own_args)

        return run

    engine.run([life(rank) for rank in range(ranks)], timeout)
    done = engine.ranks
    return Run(
        results=[rank.result for rank in done],
        seconds=max(rank.clock for rank in done),
        bytes_sent=[rank.bytes_sent for rank in done],
        messages=[rank.messages for rank in done],
        calls=[rank.calls for rank in done],
        timeline=engine.timeline,
    )

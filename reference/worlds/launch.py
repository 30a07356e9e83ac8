"""launch(): run a program on every rank of one of the two worlds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import cloudpickle

from ..networks import Network, uniform
from ..networks.network import check_cost
from .faults import Fault, Slow, check_faults, slowness
from .programs import (
    MOST_REAL_RANKS,
    check_program,
    check_routes,
    check_timeout,
    checked_ranks,
    checked_result,
)
from .real.holder import run_on_job
from .run import Run
from .sentry import MOST_RANKS
from .virtual.communicator import Communicator, Context
from .virtual.engine import Engine
from .virtual.faulty import FaultyEngine

SHARING = "fifo", "fair"


def launch(
    program: Callable[..., Any],
    ranks: int,
    *args: Any,
    world: str = "virtual",
    network: Network | None = None,
    faults: Sequence[Fault] = (),
    detection: float | Callable[[int, int], float] = 1e-3,
    buffered: bool = False,
    sharing: str = "fifo",
    overhead: float = 0.0,
    timeout: float = 60.0,
) -> Run:
    """Run program(comm, *args) once on each of `ranks` ranks and return what came of it.

    world     "virtual": ranks in this process, on a simulated `network` (uniform() unless told), with a clock each.
              "mpi": real ranks, processes under mpirun; network, faults and buffered do not apply
    faults    what goes wrong: Kill(rank, at=0.5), Slow(rank, factor), ... (faults.py). Virtual cluster only
    detection seconds from the death of a rank until another one learns of it: a number, or detection(other, dead)
    sharing   what becomes of messages that meet on a port or link. "fifo": first come, first served, one at a time
              (networks/booking.py); "fair": they share its bandwidth (virtual/fair.py). Virtual cluster only
    overhead  seconds for which a rank's processor is busy with each send and each receive that it posts: LogGP's o. The
              virtual cluster's own collectives pay it beside the rank. evaluate() and closed forms count it as part of
              alpha: an exchange that is waited for takes 2 o more. Virtual cluster only
    buffered  Send returns at once, as MPI may do for small messages; else it waits for the receive, as MPI may do too
    timeout   seconds of real time after which the launch is ended; math.inf is allowed

    The program, what it closes over and the arguments are copied for every rank (cloudpickle). Rank r starts with the
    global random generators seeded with r (torch's too, if it is imported by then). Virtual ranks are threads of this
    process and share what a process has once: modules and what is global in them, the current directory, os.environ,
    warning filters, the recursion limit, torch's default dtype. What a program changes of these other ranks see, and
    the launch puts it back at its end (settings.py); modules stay as they are.

    The time-out holds in every case. Code of C that keeps the Python interpreter to itself (`7**20_000_000`, a regular
    expression that backtracks for ever) cannot be ended alone: on the virtual cluster it ends *this process*, a
    notebook's kernel too, some 5 seconds after the time-out, with a report of every rank's line on stderr. Until then
    Ctrl-C has no effect, and a second one ends the process at once (watchdog.py). Real ranks just raise TimedOut.

    Raises ValueError for impossible arguments, TypeError for what is no network (networks/network.py), and a
    LaunchError (errors.py) when the program does not end well.
    """
    check_program(program)
    check_timeout(timeout)
    if world == "mpi":
        if network is not None or faults or buffered or sharing != "fifo" or overhead:
            raise ValueError(
                "network, faults, buffered, sharing and overhead belong to the virtual cluster; real ranks have their "
                "own"
            )
        ranks = checked_ranks(ranks, MOST_REAL_RANKS, "they are processes of this machine. Use the virtual cluster")
        return run_on_job(program, ranks, args, timeout)
    if world != "virtual":
        raise ValueError(f"world is 'virtual' or 'mpi', got {world!r}")
    ranks = checked_ranks(ranks, MOST_RANKS, "each is a thread. collectives.evaluate() times far more, without any")
    engine = _engine(ranks, network or uniform(), faults, detection, (buffered, sharing, overhead))
    return _run_virtual(program, args, engine, timeout)


def _engine(ranks: int, network: Any, faults: Sequence[Fault], detection: Any, how: tuple[bool, str, float]) -> Engine:
    """The virtual cluster that was asked for: the plain one, unless something is to go wrong."""
    _, sharing, overhead = how
    if sharing not in SHARING:
        raise ValueError(f"sharing is one of {', '.join(SHARING)}, got {sharing!r}")
    check_cost("overhead", overhead)
    check_routes(network, ranks)
    check_faults(faults, ranks)
    if not callable(detection):
        check_cost("detection", detection)
    if all(isinstance(fault, Slow) for fault in faults):
        return Engine(ranks, network, slowness(faults), *how)
    return FaultyEngine(ranks, network, faults, detection, *how)


def _run_virtual(program: Callable, args: tuple, engine: Engine, timeout: float) -> Run:
    ranks = len(engine.ranks)
    world = Context("world", range(ranks), "world")
    engine.contexts[world.key] = world
    copies = cloudpickle.dumps((program, args))

    def life(rank: int) -> Callable[[], Any]:
        def run() -> Any:
            own_program, own_args = cloudpickle.loads(copies)
            return checked_result(own_program(Communicator(engine, engine.ranks[rank], world), *own_args))

        return run

    engine.run([life(rank) for rank in range(ranks)], timeout)
    done = engine.ranks
    return Run(
        results=[None if rank.index in engine.deaths else rank.result for rank in done],
        seconds=max(rank.clock for rank in done),
        bytes_sent=[rank.bytes_sent for rank in done],
        messages=[rank.messages for rank in done],
        calls=[Counter(rank.calls) for rank in done],
        record=engine.record,
        killed=dict(engine.deaths),
    )

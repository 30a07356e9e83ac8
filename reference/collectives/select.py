"""All-reduce that chooses its algorithm: by size, number of ranks, and what is known of the network.

Idea      There is a formula for the time of every algorithm, so ask many of them and take the least. Where two meet is
          computed, for this network and this number of ranks; it is no constant of nature. The "256 KB" or "10 MB"
          below which one "should use a tree" come without a machine.
          On the virtual cluster its network is known, and the formulas are those of its clock; on real ranks a Fit of
          this machine (fit.py) is.
          On any other network than a uniform one the schedules themselves are timed (evaluate.py), contention included;
          where ranks form nodes, the hierarchical one is a candidate. It is none on a uniform network, where it or a
          torus may still be quicker than all that are asked: 35 ranks as 5 x 7, for one.
Price     k small arrays reduced one by one cost k latencies; copied into one buffer, they cost one (cost.aggregated).
          That takes two copies, and the first waits for the last to be ready; what could have been sent meanwhile is
          overlap lost (cost.finish). So frameworks aggregate up to a limit: buckets.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np

from .. import mpi
from ..networks.network import Network, check_network, group_sizes, levels_of, slowest_link
from . import fit
from .algorithms import collective, find, flat
from .catalogue import ALLREDUCE
from .evaluate import evaluate
from .planned import Plan, plan_allreduce, reduce_planned
from .record import Setting


class Choice(NamedTuple):
    """An algorithm with its options, and the time predicted for it in seconds."""

    algorithm: str
    options: dict[str, Any]
    seconds: float


def candidates(P: int, count: int, itemsize: int, machine: Network | fit.Fit) -> Iterator[tuple[str, dict[str, Any]]]:
    """The algorithms worth asking, each with the best options for it: what their records say."""
    if isinstance(machine, fit.Fit):
        yield from ((name, machine.options.get(name, {})) for name in machine.lines)
        return
    meet = len(levels_of(machine)) != 1
    setting = Setting(P, count, itemsize, slowest_link(machine, P), group_sizes(machine, P), meet)
    for record in ALLREDUCE.values():
        yield from ((record.name, options) for options in record.candidates(setting))


def predict(algorithm: str, P: int, count: int, itemsize: int, machine: Network | fit.Fit, **options) -> float:
    """Seconds for an all-reduce of count elements of itemsize bytes on P ranks of this machine."""
    schedule = find(ALLREDUCE, algorithm)
    if isinstance(machine, fit.Fit):
        return machine.seconds(algorithm, P, count, itemsize)
    if len(levels_of(machine)) == 1:
        return schedule.cost(P, count, itemsize, slowest_link(machine, P), **options).seconds
    blocks = schedule.blocks(P, **options)
    return evaluate(schedule.rounds, P, count, itemsize, machine, blocks, **options).seconds


def choose(P: int, count: int, itemsize: int, machine: Network | fit.Fit) -> Choice:
    """The fastest candidate. Where schedules are evaluated this takes milliseconds to seconds; it is remembered.

    Raises TypeError for what is neither a network nor a Fit.
    """
    if isinstance(machine, fit.Fit):
        return _least(P, count, itemsize, machine)
    check_network(machine)
    try:
        hash(machine)
    except TypeError:  # as of a dataclass that is not frozen
        machine = _Itself(machine)
    return _choose_on_network(P, count, itemsize, cast(Hashable, machine))


@dataclass(frozen=True, eq=False)
class _Itself:
    """A network that has no hash, as a key: equal to itself alone, as long as it is the same object."""

    network: Network

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.network is other.network

    def __hash__(self) -> int:
        return id(self.network)


@lru_cache(maxsize=256)
def _choose_on_network(P: int, count: int, itemsize: int, key: Hashable) -> Choice:
    """The choice, remembered: every rank of a launch asks for the same one."""
    return _least(P, count, itemsize, key.network if isinstance(key, _Itself) else cast(Network, key))


def _least(P: int, count: int, itemsize: int, machine: Network | fit.Fit) -> Choice:
    asked = [
        Choice(name, options, predict(name, P, count, itemsize, machine, **options))
        for name, options in candidates(P, count, itemsize, machine)
    ]
    return min(asked, key=lambda choice: choice.seconds)


def crossover(
    first: str, second: str, P: int, machine: Network | fit.Fit, itemsize: int = 4, limit: int = 2**40
) -> int | None:
    """The bytes from which on `second` is at least as fast as `first`; None if there are none up to `limit`.

    `first` is meant to be the one for small messages: the two lines are taken to cross once at most.
    """

    def faster(count: int) -> bool:
        a, b = (
            predict(name, P, count, itemsize, machine, **_options(name, P, count, itemsize, machine))
            for name in (first, second)
        )
        return b <= a

    high = 1
    while not faster(high):
        if high * itemsize >= limit:
            return None
        high = min(2 * high, limit // itemsize)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if faster(middle) else (middle, high)
    return high * itemsize


def _options(name: str, P: int, count: int, itemsize: int, machine: Network | fit.Fit) -> dict[str, Any]:
    """The best options of one algorithm; none if it is not among the candidates."""
    own = [options for candidate, options in candidates(P, count, itemsize, machine) if candidate == name]
    return min(own or [{}], key=lambda options: predict(name, P, count, itemsize, machine, **options))


def known(comm) -> Network | fit.Fit:
    """What is known of the machine that a communicator runs on.

    On the virtual cluster its network. On real ranks a Fit, measured at the first call on this communicator (all ranks
    must make it) and kept with it.
    """
    if (network := mpi.network(comm)) is not None:
        return network
    kept = mpi.kept(comm)
    if "fit" not in kept:
        kept["fit"] = fit.calibrate(comm, allreduce)
    return kept["fit"]


def _plan(comm, x, algorithm: str | None, machine: Network | fit.Fit | None, options: dict[str, Any]) -> Plan:
    """The plan that is kept with the communicator; on real ranks the first call may measure the machine."""
    own, key = mpi.kept(comm), (len(x), x.dtype, x.device, algorithm, id(machine), *options.items())
    if (plan := own.get(key)) is None:
        if algorithm is None:
            asked = known(comm) if machine is None else machine
            algorithm, options, _ = choose(comm.size, len(x), x.itemsize, asked)
        # the machine is kept beside the plan, so that its id is not given to another one
        plan = own[key] = plan_allreduce(comm, x, algorithm, options), machine
    return plan[0]


@collective
def allreduce(
    comm,
    x,
    op=mpi.SUM,
    algorithm: str | None = None,
    machine: Network | fit.Fit | None = None,
    tag: int | None = None,
    blocking: bool = False,
    **options,
):
    """Combine x over the ranks, in place, and return it; all ranks get the same bits.

    x: contiguous array or tensor of any shape, of one length on all ranks. op: an MPI operation or your own function of
    two arrays (operations.py). algorithm: a name in ALLREDUCE, with its options (segments, ranks_per_node, across,
    width); else the fastest one for `machine`: a Network, a Fit, or by default what is known of the one that comm
    runs on. tag: that of the collective which this is a part of (rounds.carry_out). blocking: set by a plain call,
    which may wait in the middle; not by `allreduce.start`.
    On real ranks the first call on a communicator measures for some seconds, unless machine or algorithm is given: all
    ranks must make it (or begin it, with `allreduce.start`) at one point of the program.
    Raises ValueError for an unknown algorithm or an array that is not contiguous, TypeError for what is no array.
    """
    elements = flat(x)
    if algorithm is not None:
        find(ALLREDUCE, algorithm)  # for one rank, too
    elif options:
        raise ValueError(f"{', '.join(options)}: an option of which algorithm? Name it with algorithm=...")
    if comm.size > 1:
        yield from reduce_planned(comm, _plan(comm, elements, algorithm, machine, options), elements, op, tag, blocking)
    return x


@collective
def allreduce_together(comm, arrays: Sequence, op=mpi.SUM, **how) -> Generator[list, None, Any]:
    """Combine each of the arrays over the ranks, in place, with one all-reduce, and return them.

    arrays: contiguous, of one type, the same shapes on all ranks. how: algorithm, machine, ... as for `allreduce`.
    Raises TypeError if their types differ.
    """
    views = [flat(each) for each in arrays]
    kinds = {str(view.dtype) for view in views}
    if len(kinds) > 1:
        found = ", ".join(sorted(kinds))
        raise TypeError(f"only arrays of one type can share a buffer, not of {found}: make a call for each type")
    if views:
        joined = np.concatenate(views) if isinstance(views[0], np.ndarray) else sys.modules["torch"].cat(views)
        yield from allreduce.driver(comm, joined, op, **how)
        first = 0
        for view in views:
            view[:] = joined[first : first + len(view)]
            first += len(view)
    return arrays

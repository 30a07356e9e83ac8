"""Every algorithm of every collective: MPI's definition in both worlds, in as many bytes as it should take.

A `Case` is one call. `complaints` carries out many in one launch and names those that are wrong; planted mistakes show
that it does. What a launch showed is kept (`played`) for test_cost.py and test_evaluate.py, which look at other sides.
"""

from collections import defaultdict
from dataclasses import replace
from functools import cache, reduce
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import mpi
from reference.collectives import algorithms, bruck, cost
from reference.collectives.algorithms import ALLREDUCE
from reference.collectives.doubling import core
from reference.collectives.rounds import block_bounds
from reference.collectives.select import allreduce
from reference.worlds import LaunchError, launch, networks

TABLES = {
    "allreduce": ALLREDUCE,
    "reduce_scatter": algorithms.REDUCE_SCATTER,
    "allgather": algorithms.ALLGATHER,
    "broadcast": algorithms.BROADCAST,
    "reduce": algorithms.REDUCE,
    "scatter": algorithms.SCATTER,
    "gather": algorithms.GATHER,
    "alltoall": algorithms.ALLTOALL,
    "barrier": algorithms.BARRIER,
}
ROOTED = ("broadcast", "reduce", "scatter", "gather")
REDUCING = ("allreduce", "reduce_scatter", "reduce")
ACROSS = ("ring", "recursive doubling", "halving-doubling")
# powers of two: no sum of these is ever rounded, so times of the two worlds' formulas can be compared exactly
ALPHA, BETA, GAMMA = 2.0**-18, 2.0**-32, 2.0**-34
NETWORK = networks.uniform(ALPHA, BETA, GAMMA)
STALE = 77  # what is in memory that the collective has to fill, and beside it


class Case(NamedTuple):
    """One call of a collective on arrays of n elements."""

    collective: str
    algorithm: str
    n: int
    options: tuple = ()
    root: int | None = None
    dtype: str = "float64"
    op: str = "SUM"

    def __str__(self):
        more = [f"{key}={value}" for key, value in self.options] + [f"root={self.root}"] * (self.root is not None)
        return f"{self.collective} {self.algorithm!r} of {self.n} {self.dtype} {self.op} {' '.join(more)}".rstrip()

    @property
    def keywords(self) -> dict[str, Any]:
        return dict(self.options) | ({} if self.root is None else {"root": self.root})

    @property
    def schedule(self) -> algorithms.Algorithm:
        return TABLES[self.collective][self.algorithm]

    def blocks(self, P: int) -> int:
        return self.schedule.blocks(P, **dict(self.options))


# Cases -------------------------------------------------------------------------------------------------------------


def divisors(P):
    return [d for d in range(1, P + 1) if P % d == 0]


def variants(collective, algorithm, P, few=False):
    """All options of an algorithm, or a few telling ones."""
    groups = divisors(P)[len(divisors(P)) // 2 :][:1] if few else divisors(P)
    if algorithm in ("binary tree", "double tree", "chain"):
        return [(("segments", S),) for S in ((5,) if few else (1, 2, 5))]
    if algorithm in ("hierarchical", "leader"):
        return [(("ranks_per_node", L), ("across", across)) for L in groups for across in ACROSS]
    if algorithm in ("torus", "x then y"):
        return [(("width", X),) for X in groups]
    return [()]


def cases(P, lengths, few=False, collectives=tuple(TABLES)):
    """Every algorithm with its options, roots first, middle and last, and each of the lengths."""
    for collective in collectives:
        roots = sorted({0, P // 2, P - 1})[:: 2 if few else 1] if collective in ROOTED else [None]
        for n in {"barrier": [0], "alltoall": sorted({n // P * P for n in lengths})}.get(collective, lengths):
            for algorithm in TABLES[collective]:
                for options in variants(collective, algorithm, P, few):
                    yield from (Case(collective, algorithm, n, options, root) for root in roots)


def uneven(P):
    """A length that P > 1 does not divide; nor does any other number of blocks up to it."""
    return 3 * P + P // 2


# One call ----------------------------------------------------------------------------------------------------------


def table(P, case):
    """What every rank contributes: whole numbers, small enough for every type and operation to be exact."""
    low, high = (1, 3) if case.op == "PROD" else (0, 10) if case.dtype == "uint8" else (-9, 10)
    return np.random.default_rng(case.n).integers(low, high, (P, case.n)).astype(case.dtype)


def serial(rows, op):
    """The rows combined one after the other, in their own type."""
    return reduce({"SUM": np.add, "PROD": np.multiply, "MAX": np.maximum, "MIN": np.minimum}[op], rows)


class Call:
    """One call, prepared for a rank: `function(comm, *arguments, **keywords)`, to be judged when it has returned."""

    def __init__(self, comm, case, to=np.asarray):
        self.comm, self.case, self.to = comm, case, to
        P, r, n = comm.size, comm.rank, case.n
        self.function = allreduce if case.collective == "allreduce" else getattr(algorithms, case.collective)
        self.keywords = {"algorithm": case.algorithm, **case.keywords}
        if case.collective in REDUCING:
            self.keywords["op"] = getattr(mpi, case.op)
        self.rows = table(P, case)
        bounds = block_bounds(n, P)
        self.own = slice(*bounds[r : r + 2])
        entry = np.full(n, STALE, case.dtype)
        valid = {"broadcast": slice(n * (r == case.root)), "scatter": slice(n * (r == case.root))}
        valid |= {"allgather": self.own, "gather": self.own, "alltoall": slice(0)}
        given = valid.get(case.collective, slice(n))
        source = self.gathered(bounds) if case.collective in ("allgather", "gather") else self.rows[r]
        entry[given] = source[given]
        self.memory = to(np.concatenate([np.full(1, STALE, case.dtype), entry, np.full(1, STALE, case.dtype)]))
        self.x = self.memory[1 : n + 1]
        self.sent = to(self.rows[r].copy()) if case.collective == "alltoall" else None
        self.arguments = () if case.collective == "barrier" else (self.x,)
        if case.collective == "alltoall":
            self.arguments = self.sent, self.x
        self.wanted = self.definition(bounds)

    def gathered(self, bounds):
        """Block r of rank r, one after the other."""
        return np.concatenate([self.rows[r][slice(*bounds[r : r + 2])] for r in range(len(self.rows))])

    def definition(self, bounds):
        """What MPI says that x holds in the end, and which part of it is told; None for nothing."""
        case, root = self.case, self.comm.rank == self.case.root
        if case.collective == "barrier" or (case.collective in ("reduce", "gather") and not root):
            return None
        if case.collective in REDUCING:
            total = serial(self.rows, case.op)
            return total[self.own] if case.collective == "reduce_scatter" else total
        if case.collective == "alltoall":
            return np.concatenate([row.reshape(len(self.rows), -1)[self.comm.rank] for row in self.rows])
        if case.collective in ("broadcast", "scatter"):
            return self.rows[case.root] if case.collective == "broadcast" else self.rows[case.root][self.own]
        return self.gathered(bounds)

    def carry_out(self):
        return self.judge(self.function(self.comm, *self.arguments, **self.keywords))

    def start(self):
        return self.function.start(self.comm, *self.arguments, **self.keywords)

    def judge(self, result):
        """What is wrong with it, in words; nothing if it is right."""
        part = self.x[self.own] if self.case.collective in ("reduce_scatter", "scatter") else self.x
        faults = []
        if self.wanted is not None:
            if result.dtype != self.x.dtype or result.tolist() != self.wanted.tolist():
                faults.append(f"returns {result.tolist()} instead of {self.wanted.tolist()}")
            if part.tolist() != result.tolist():
                faults.append("what it returns is not in the array")
        if self.case.collective not in ("barrier", "reduce_scatter", "scatter") and result is not self.x:
            faults.append("does not return the array itself")
        if self.memory[[0, -1]].tolist() != [STALE, STALE]:
            faults.append("changes memory beside the array")
        if self.sent is not None and self.sent.tolist() != self.rows[self.comm.rank].tolist():
            faults.append("changes what it sends")
        return "; ".join(faults)


def play(comm, calls, aligned):
    """Carry out the cases one after the other; for each its faults and the seconds it took on this rank's clock.

    If aligned, case k begins on all ranks at second k.
    """
    found = []
    for second, case in enumerate(calls):
        if aligned:
            mpi.sleep(comm, second - mpi.wtime(comm))
        else:
            comm.Set_name(str(case))
        found.append((Call(comm, case).carry_out(), mpi.wtime(comm) - second))
    return found


class Played(NamedTuple):
    """What was seen of one case: faults of all ranks, and per rank the seconds, bytes and messages."""

    faults: str
    seconds: list[float]
    bytes_sent: list[int]
    messages: list[int]


def observe(P, calls, world="virtual", network=NETWORK) -> dict[Case, Played]:
    """Carry out the cases in one launch."""
    virtual = world == "virtual"
    run = launch(play, P, calls, virtual, world=world, **({"network": network} if virtual else {}))
    sent = defaultdict(lambda: ([0] * P, [0] * P))
    for event in run.timeline.of(kind="send"):
        nbytes, messages = sent[str(calls[int(event.start)]) if virtual else event.group]
        nbytes[event.rank] += event.nbytes
        messages[event.rank] += 1
    return {
        case: Played(
            "; ".join(f"rank {r} {fault}" for r, (fault, _) in enumerate(per_rank) if fault),
            [seconds for _, seconds in per_rank],
            *sent[str(case)],
        )
        for case, per_rank in zip(calls, zip(*run.results))
    }


def volume(P, case):
    """Bytes that all ranks together have to send."""
    sizes, itemsize = np.diff(block_bounds(case.n, P)), np.dtype(case.dtype).itemsize
    everything, extra = case.n * itemsize, P - core(P)
    folded = extra * everything + int(sizes[1 : 2 * extra : 2].sum()) * itemsize + (core(P) - 1) * everything
    hops = [int(way).bit_count() for way in range(P)]  # ones in the number of places between the ends of a way
    name = case.collective, case.algorithm
    if case.collective == "allreduce":
        return cost.total_bytes(case.algorithm, P, everything, **dict(case.options))
    if name in (("reduce_scatter", "recursive halving"), ("allgather", "recursive doubling")):
        return folded
    if name == ("alltoall", "bruck"):
        return sum(hops) * everything
    if case.collective in ("scatter", "gather") or case.algorithm == "scatter-allgather":
        scattered = sum(hops[(r - case.root) % P] * int(size) * itemsize for r, size in enumerate(sizes))
        return scattered + (case.algorithm == "scatter-allgather") * (P - 1) * everything
    return (P - 1) * everything


def complaints(P, calls, seen=None) -> list[str]:
    """Every case that gives a wrong result, moves a wrong number of bytes, or does not end, with what is wrong."""
    try:
        seen = seen or observe(P, calls)
    except LaunchError as error:  # of which case is not always plain: try each alone
        return [f"{calls[0]}: {error.cause}"] if len(calls) == 1 else sum((complaints(P, [c]) for c in calls), [])
    found = {
        case: [one.faults] * bool(one.faults)
        + [f"{sum(one.bytes_sent)} bytes instead of {volume(P, case)}"] * (sum(one.bytes_sent) != volume(P, case))
        for case, one in seen.items()
    }
    return [f"{case}: {'; '.join(wrong)}" for case, wrong in found.items() if wrong]


VIRTUAL = (*range(1, 10), 12, 13, 16, 17)


@cache
def played(P, world="virtual") -> dict[Case, Played]:
    """All cases for this number of ranks, in one launch."""
    calls = [*cases(P, [uneven(P)], few=P > 9), *cases(P, sorted({0, 1, P - 1, 2 * P}) if P <= 9 else [], few=True)]
    return observe(P, list(dict.fromkeys(calls)), world)


# Results -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", VIRTUAL)
def test_every_collective_is_what_mpi_says(ranks):
    assert complaints(ranks, list(cases(ranks, [uneven(ranks)])), played(ranks)) == []

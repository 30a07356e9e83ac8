"""Every algorithm of every collective: MPI's definition in both worlds, in as many bytes as it should take.

A `Case` is one call. `complaints` carries out many in one launch and names those that are wrong; planted mistakes show
that it does. What a launch showed is kept (`played`) for test_cost.py and test_evaluate.py, which look at other sides.
"""

import time
from collections import defaultdict
from dataclasses import replace
from functools import cache, reduce
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import mpi
from reference.collectives import algorithms, bruck, catalogue
from reference.collectives.catalogue import ALLREDUCE
from reference.collectives.doubling import core
from reference.collectives.record import Algorithm
from reference.collectives.rounds import block_bounds
from reference.collectives.select import allreduce
from reference.worlds import LaunchError, launch, networks

TABLES = {
    "allreduce": ALLREDUCE,
    "reduce_scatter": catalogue.REDUCE_SCATTER,
    "allgather": catalogue.ALLGATHER,
    "broadcast": catalogue.BROADCAST,
    "reduce": catalogue.REDUCE,
    "scatter": catalogue.SCATTER,
    "gather": catalogue.GATHER,
    "alltoall": catalogue.ALLTOALL,
    "barrier": catalogue.BARRIER,
}
ROOTED = ("broadcast", "reduce", "scatter", "gather")
REDUCING = ("allreduce", "reduce_scatter", "reduce")
ACROSS = ("ring", "recursive doubling", "halving-doubling")
# powers of two: no sum of these is ever rounded, so times of the two worlds' formulas can be compared exactly
ALPHA, BETA, GAMMA, GAP = 2.0**-18, 2.0**-32, 2.0**-34, 2.0**-22
NETWORK = networks.uniform(ALPHA, BETA, GAMMA, GAP)
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
    def schedule(self) -> Algorithm:
        return TABLES[self.collective][self.algorithm]

    def blocks(self, P: int) -> int:
        return self.schedule.blocks(P, **dict(self.options))


# Cases -------------------------------------------------------------------------------------------------------------


def divisors(P):
    return [d for d in range(1, P + 1) if P % d == 0]


def variants(collective, algorithm, P, few=False):
    """All options of an algorithm, or a few telling ones."""
    if (collective, algorithm) == ("broadcast", "chain"):
        return [(("segments", S),) for S in ((5,) if few else (1, 2, 5))]
    options = ALLREDUCE[algorithm].options if collective == "allreduce" else ()
    return list(product(*([(option.name, value) for value in some(option, P, few)] for option in options)))


def some(option, P, few):
    """Values of an option: of numbers a few, or one in the middle; of names all."""
    values = option.values(P, 5)
    if isinstance(values, range):
        return (5,) if few else (1, 2, 5)
    return values[len(values) // 2 :][:1] if few and not isinstance(option.default, str) else values


def cases(P, lengths, few=False, collectives=tuple(TABLES)):
    """Every algorithm with its options, roots first, middle and last, and each of the lengths."""
    for collective in collectives:
        roots = sorted({0, P // 2, P - 1})[:: 2 if few else 1] if collective in ROOTED else [None]
        for n in {"barrier": [0], "alltoall": sorted({n // P * P for n in lengths})}.get(collective, lengths):
            for algorithm in TABLES[collective]:
                for options in variants(collective, algorithm, P, few):
                    yield from (Case(collective, algorithm, n, options, root) for root in roots)


def uneven(P):
    """A length that P > 1 does not divide."""
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


def observe(P, calls, world="virtual", **options) -> dict[Case, Played]:
    """Carry out the cases in one launch."""
    virtual = world == "virtual"
    run = launch(play, P, calls, virtual, world=world, **({"network": NETWORK} | options if virtual else options))
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
        return int(ALLREDUCE[case.algorithm].volume(P, case.n, itemsize, **dict(case.options)).nbytes.sum())
    if name in (("reduce_scatter", "recursive halving"), ("allgather", "recursive doubling")):
        return folded
    if name == ("alltoall", "bruck"):
        return sum(hops) * everything
    if case.collective in ("scatter", "gather") or case.algorithm == "scatter-allgather":
        scattered = sum(hops[(r - case.root) % P] * int(size) * itemsize for r, size in enumerate(sizes))
        return scattered + (case.algorithm == "scatter-allgather") * (P - 1) * everything
    return (P - 1) * everything


def complaints(P, calls, see=observe, **options) -> list[str]:
    """Every case that gives a wrong result, moves a wrong number of bytes, or does not end, with what is wrong."""
    try:
        return told(P, see(P, calls, **options))
    except LaunchError as error:  # of which case is not always plain: try each alone
        alone = [f"{calls[0]}: {error.cause}"]
        return alone if len(calls) == 1 else [line for case in calls for line in complaints(P, [case], **options)]


def told(P, seen: dict[Case, Played]) -> list[str]:
    """The cases with a wrong result or a wrong number of bytes."""
    found = {
        case: [one.faults] * bool(one.faults)
        + [f"{sum(one.bytes_sent)} bytes instead of {volume(P, case)}"] * (sum(one.bytes_sent) != volume(P, case))
        for case, one in seen.items()
    }
    return [f"{case}: {'; '.join(wrong)}" for case, wrong in found.items() if wrong]


VIRTUAL, REAL = (*range(1, 10), 12, 13), (1, 2, 3, 5, 8)


def all_calls(P, world="virtual"):
    """What is carried out on so many ranks: all options for some numbers of ranks, few for the others."""
    more = sorted({0, P // 2, 2 * P}) if P < 5 else [2 * P] if P % 2 == 0 and P < 9 else []
    all_options = (1, 2, 3, 4, 6, 8) if world == "virtual" else (1, 2, 3)
    calls = [*cases(P, [uneven(P)], few=P not in all_options), *cases(P, more, few=True)]
    return list(dict.fromkeys(calls))


def played(P, world="virtual") -> dict[Case, Played]:
    """All of them in one launch, which serves all tests."""
    return _played(P, world)


@cache
def _played(P, world):
    return observe(P, all_calls(P, world), world)


# Right -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", VIRTUAL)
def test_every_collective_is_what_mpi_says(ranks):
    assert complaints(ranks, all_calls(ranks), see=lambda P, calls: played(P)) == []


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", REAL)
def test_every_collective_is_what_mpi_says_on_real_ranks(ranks):
    assert told(ranks, played(ranks, "mpi")) == []


def differs_from_mpi(comm, case):
    """Whether MPI's own call gives something else."""
    call = Call(comm, case)
    ours = call.function(comm, *call.arguments, **call.keywords)
    mine, out, part = call.rows[comm.rank], np.zeros(case.n), np.zeros(case.n // comm.size)
    match case.collective:
        case "allreduce":
            comm.Allreduce(mine, out)
        case "reduce_scatter":
            comm.Reduce_scatter(mine, part)
        case "allgather":
            comm.Allgather(mine[call.own].copy(), out)
        case "broadcast":
            out = mine.copy()
            comm.Bcast(out, case.root)
        case "reduce":
            comm.Reduce(mine, out, root=case.root)
        case "scatter":
            comm.Scatter(mine, part, case.root)
        case "gather":
            comm.Gather(mine[call.own].copy(), out, case.root)
        case "alltoall":
            comm.Alltoall(mine, out)
    theirs = part if case.collective in ("reduce_scatter", "scatter") else out
    return call.wanted is not None and ours.tolist() != theirs.tolist()


@pytest.mark.mpi
def test_mpis_own_calls_give_the_same():
    def program(comm):
        return [str(case) for case in cases(comm.size, [4 * comm.size], few=True) if differs_from_mpi(comm, case)]

    assert launch(program, 6, world="mpi").results == [[]] * 6


@st.composite
def any_call(draw):
    P = draw(st.integers(1, 9))
    collective = draw(st.sampled_from(list(TABLES)))
    algorithm = draw(st.sampled_from(list(TABLES[collective])))
    unit = {"alltoall": P, "barrier": 41}.get(collective, 1)
    return P, Case(
        collective,
        algorithm,
        draw(st.integers(0, 40)) // unit * unit,
        draw(st.sampled_from(variants(collective, algorithm, P))),
        draw(st.integers(0, P - 1)) if collective in ROOTED else None,
        draw(st.sampled_from(["float64", "float32", "float16", "int32", "int64", "uint8"])),
        draw(st.sampled_from(["SUM", "PROD", "MAX", "MIN"])),
    )


@given(any_call(), st.booleans())
def test_any_call(drawn, buffered):
    P, case = drawn
    assert complaints(P, [case], buffered=buffered) == []


# Under way, and on part of the ranks -------------------------------------------------------------------------------


def wrong(calls, requests):
    return [str(call.case) for call, request in zip(calls, requests) if call.judge(request.result)]


def all_at_once(comm):
    """Every algorithm under way, waited for in another order on every rank."""
    calls = [Call(comm, case) for case in cases(comm.size, [uneven(comm.size)], few=True)]
    requests = [call.start() for call in calls]
    mpi.waitall(requests[comm.rank :] + requests[: comm.rank])
    return wrong(calls, requests)


def advanced_by_test(comm):
    """Two of a kind under way, tested in another order on every other rank, beside one that blocks."""
    faults = []
    for case in cases(comm.size, [uneven(comm.size)], few=True):
        calls = [Call(comm, case), Call(comm, case)]
        requests = [call.start() for call in calls]
        faults += [str(case)] * bool(Call(comm, case).carry_out())
        while sum(request.Test() for request in requests[:: (-1) ** comm.rank]) < 2:
            mpi.sleep(comm, 1e-5)  # else real ranks that share a core hold up each other
        faults += wrong(calls, requests)
    return faults


def some_wait_in_between(comm, case):
    """Every third rank completes one before it starts the next; the others have two under way."""
    calls, requests = [Call(comm, case), Call(comm, case)], []
    for call in calls:
        requests.append(call.start())
        if comm.rank % 3 == 0:
            requests[-1].Wait()
    mpi.waitall(requests)
    return wrong(calls, requests)


@pytest.mark.parametrize("program", [all_at_once, advanced_by_test])
def test_nonblocking_calls_do_not_mix(program, world):
    ranks = 6 if world == "virtual" else 4
    assert launch(program, ranks, world=world).results == [[]] * ranks


@pytest.mark.parametrize("collective, algorithm", [(c, a) for c in TABLES for a in TABLES[c]])
def test_nonblocking_calls_do_not_mix_whoever_is_ahead(collective, algorithm):
    options, root = variants(collective, algorithm, 6, few=True)[0], 5 if collective in ROOTED else None
    case = Case(collective, algorithm, 0 if collective == "barrier" else 18, options, root)
    assert launch(some_wait_in_between, 6, case).results == [[]] * 6


def test_groups_and_copies_of_them_do_not_mix(world):
    def program(comm):
        half = comm.Split(comm.rank % 2)
        calls = [Call(part, c) for part in (half, half.Dup()) for c in cases(half.size, [uneven(half.size)], few=True)]
        requests = [call.start() for call in calls]
        mpi.waitall(requests[:: (-1) ** half.rank])
        return wrong(calls, requests)

    assert launch(program, 5, world=world).results == [[]] * 5


def test_waitany_names_every_collective_once():
    def program(comm):
        requests = [allreduce.start(comm, np.ones(n), algorithm="ring") for n in (3, 0, 5)]
        return sorted(mpi.waitany(requests) for _ in requests), mpi.waitany(requests) == mpi.UNDEFINED

    assert launch(program, 3).results == [([0, 1, 2], True)] * 3


def test_waitall_takes_collectives_and_messages_in_any_order():
    def program(comm):
        x, y = np.ones(4), np.full(4, 2.0)
        requests = [allreduce.start(comm, x, algorithm="ring"), allreduce.start(comm, y, algorithm="ring")]
        requests.append(comm.Isend(x.copy(), comm.rank))
        requests.append(comm.Irecv(np.empty(4), comm.rank))
        mpi.waitall(requests[:: (-1) ** comm.rank])
        return x.tolist() + y.tolist()

    assert launch(program, 3).results == [[3.0] * 4 + [6.0] * 4] * 3


def left_too_early(ranks, world="virtual", **options):
    """Pairs (left, late): barriers from which a rank was let go before the late one had come."""

    def program(comm):
        clock = time.perf_counter if isinstance(comm, mpi.Comm) else lambda: mpi.wtime(comm)
        times = []
        for late in range(comm.size):
            mpi.sleep(comm, 1e-3 * (comm.rank == late))
            entered = clock()
            algorithms.barrier(comm)
            times.append((entered, clock()))
        return times

    times = launch(program, ranks, world=world, **options).results
    return [(r, late) for late in range(ranks) for r in range(ranks) if times[r][late][1] < times[late][late][0]]


@pytest.mark.parametrize("ranks", [1, 2, 5, 8])
def test_nobody_leaves_a_barrier_before_all_have_come(ranks, world):
    assert left_too_early(ranks, world) == []


# Planted mistakes --------------------------------------------------------------------------------------------------


MISTAKES = {
    "a round left out": lambda each: [],
    "a round twice": lambda each: [each, each],
    "combined instead of replaced, or replaced instead of combined": lambda each: [
        each._replace(combine=not each.combine)
    ],
    "received one block further": lambda each: [each._replace(recv=(each.recv[0] + 1, each.recv[1] + 1))],
}


def with_mistake(rounds, mistake, number):
    """The schedule with a mistake in one of its rounds, on all ranks."""

    def mistaken(rank, ranks, **options):
        for i, each in enumerate(rounds(rank, ranks, **options)):
            yield from mistake(each) if i == number else [each]

    return mistaken


def busy_rounds(rounds, P, options):
    """The numbers of the rounds in which some message is sent."""
    of_all = zip(*(rounds(rank, P, **options) for rank in range(P)))
    return [i for i, each in enumerate(of_all) if any(one.to != mpi.PROC_NULL for one in each)]


@pytest.mark.parametrize("collective, algorithm", [(c, a) for c in TABLES if c != "barrier" for a in TABLES[c]])
def test_planted_mistakes_are_seen_and_named(collective, algorithm, monkeypatch):
    P = 4 if variants(collective, algorithm, 4) != [()] else 5  # two nodes of two; or folded
    healthy = Case("broadcast", "binomial tree" if algorithm != "binomial tree" else "chain", 2, root=0)
    options = variants(collective, algorithm, P, few=True)[0]
    case = Case(collective, algorithm, 20, options, P - 1 if collective in ROOTED else None)
    right, missed = case.schedule, []
    numbers = busy_rounds(right.rounds, P, case.keywords)
    for i, (what, mistake) in enumerate(MISTAKES.items()):
        number = numbers[i * (len(numbers) - 1) // 3]
        rounds = with_mistake(right.rounds, mistake, number)
        table = ALLREDUCE._records if collective == "allreduce" else TABLES[collective]
        monkeypatch.setitem(table, algorithm, replace(right, rounds=rounds))
        if (collective, algorithm) == ("alltoall", "bruck"):
            monkeypatch.setattr(bruck, "bruck_alltoall_rounds", rounds)
            monkeypatch.setattr(bruck, "_like", lambda array: np.full_like(array, STALE))
        found = complaints(P, [healthy, case])
        if not found or not all(line.startswith(f"{collective} {algorithm!r} ") for line in found):
            missed.append(f"{what}, round {number}: {found}")
    assert missed == []


def test_a_barrier_without_one_of_its_rounds_is_seen(monkeypatch):
    right = catalogue.BARRIER["dissemination"]
    for number in range(3):
        rounds = with_mistake(right.rounds, MISTAKES["a round left out"], number)
        monkeypatch.setitem(catalogue.BARRIER, "dissemination", replace(right, rounds=rounds))
        assert left_too_early(6, buffered=True)  # else who sends waits for the receive: that alone would hold it up


# What is refused ---------------------------------------------------------------------------------------------------


CALLS = {
    "allreduce": allreduce,
    **{name: getattr(algorithms, name) for name in ("broadcast", "reduce", "scatter", "gather", "allgather")},
    "reduce_scatter": algorithms.reduce_scatter,
    "alltoall": lambda comm, x, **keywords: algorithms.alltoall(comm, x, np.empty(4), **keywords),
}


def refused(error, message, call, ranks=2):
    """Whether all ranks refuse the call with that error and a message that holds this text."""

    def program(comm):
        with pytest.raises(error) as raised:
            call(comm)
        return message in str(raised.value)

    return launch(program, ranks).results == [True] * ranks


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("name", [*CALLS, "barrier"])
def test_an_unknown_algorithm_is_refused_with_the_names_there_are(name, ranks):
    arguments = () if name == "barrier" else (np.empty(4),)
    function = algorithms.barrier if name == "barrier" else CALLS[name]
    known = ", ".join(TABLES[name])
    assert refused(ValueError, known, lambda comm: function(comm, *arguments, algorithm="fastest"), ranks)


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("name", CALLS)
def test_what_is_no_contiguous_array_is_refused(name, ranks):
    assert refused(ValueError, "not contiguous", lambda comm: CALLS[name](comm, np.empty(8)[::2]), ranks)
    assert refused(ValueError, "not contiguous", lambda comm: CALLS[name](comm, np.empty((2, 2)).T), ranks)
    assert refused(TypeError, "not list", lambda comm: CALLS[name](comm, [1.0, 2.0]), ranks)


@pytest.mark.parametrize("root", [-1, 2])
@pytest.mark.parametrize("name", ROOTED)
def test_a_root_that_is_no_rank_is_refused(name, root):
    message = f"root is rank {root}, but there are ranks 0 to 1"
    assert refused(ValueError, message, lambda comm: CALLS[name](comm, np.empty(4), root=root))


@pytest.mark.parametrize("algorithm", catalogue.ALLTOALL)
@pytest.mark.parametrize("lengths", [(3, 3), (4, 2)])
def test_an_alltoall_of_what_cannot_be_shared_out_is_refused(algorithm, lengths):
    def call(comm):
        algorithms.alltoall(comm, *map(np.empty, lengths), algorithm=algorithm)

    assert refused(ValueError, "multiple of 2", call)


@pytest.mark.parametrize("group", [0, 3])
@pytest.mark.parametrize("algorithm", ["hierarchical", "leader", "torus", "x then y"])
def test_nodes_that_are_not_whole_are_refused(algorithm, group):
    options = {"width" if algorithm in ("torus", "x then y") else "ranks_per_node": group}
    message = f"4 ranks cannot be cut into groups of {group}"
    assert refused(ValueError, message, lambda comm: allreduce(comm, np.ones(4), algorithm=algorithm, **options), 4)


@pytest.mark.parametrize("more", [4, -4])
@pytest.mark.parametrize("algorithm", ALLREDUCE)
def test_ranks_with_arrays_of_different_lengths_do_not_hang(algorithm, more):
    options = dict(variants("allreduce", algorithm, 4, few=True)[0])
    with pytest.raises(LaunchError):
        launch(lambda comm: allreduce(comm, np.ones(12 + more * comm.rank), algorithm=algorithm, **options), 4)

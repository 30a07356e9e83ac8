"""What real ranks under ULFM run in the tests: cases one after the other, each of which loses a rank.

Started by test_ulfm.py: `mpirun --with-ft ulfm -n P python -m tests.recovery.ranks_that_die FILE all`, or, for the last
case alone, `FILE spawn`. Rank 0 of the survivors writes a line of JSON into FILE after each case. NumPy alone: eight
imports of torch would take a minute.
"""

import json
import os
import signal
import sys
import threading
import time

import numpy as np

from reference import mpi
from reference.collectives import ring_allreduce
from reference.recovery.problem import SmallNet
from reference.recovery.replicated import serially, train_replicated
from reference.recovery.sharded import Holding, begin, take_steps, train_sharded
from reference.recovery.shrink import leave, lost_a_rank, shrink, survive
from reference.recovery.spare import join, replaced, survive_with_spares

SIZE, RATE, STEPS = 20, 0.02, 25  # of 96 samples: 5 epochs, of 5 batches each
CALLS = "Allreduce Allgatherv Reduce_scatter Sendrecv Isend Irecv Bcast allgather bcast Agree Barrier".split()
PROBLEM = SmallNet()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Mortal(mpi.Intracomm):
    """A communicator whose rank is killed (SIGKILL) as it enters its n-th call; 0: never."""

    def __new__(cls, comm, at: int = 0):
        return super().__new__(cls, comm)

    def __init__(self, comm, at: int = 0):
        self.left = at


def counted(name: str):
    def call(self, *args, **kwargs):
        self.left -= 1
        if self.left == 0:
            die()
        return getattr(mpi.Intracomm, name)(self, *args, **kwargs)

    return call


for name in CALLS:
    setattr(Mortal, name, counted(name))


def rule(ranks: int) -> tuple[int, float]:
    return SIZE, RATE


def off(state) -> float:
    """By how much weights and losses are off those of one rank alone."""
    alone = serially(PROBLEM, [SIZE] * STEPS, [RATE] * STEPS)
    return float(max(np.abs(state.w - alone.w).max(), np.abs(np.subtract(state.losses, alone.losses)).max()))


# The cases: each takes a communicator and returns (what to tell, the survivors' communicator) -----------------------


def in_the_middle_of_a_ring(comm):
    """Rank 1 dies in its third round of an all-reduce of messages: without Revoke the far ranks would wait on."""
    seen = None
    try:
        ring_allreduce(Mortal(comm, 5 if comm.rank == 1 else 0), np.arange(1000.0))
        comm.Barrier()
    except mpi.Exception as error:
        seen = lost_a_rank(error)
    shrunk = shrink(comm)
    return {"noticed": shrunk.comm.allgather(seen), "before": shrunk.before}, shrunk.comm


def replicated(comm):
    """The last rank dies in its 9th step."""
    state, left = train_replicated(Mortal(comm, 10 if comm.rank == comm.size - 1 else 0), PROBLEM, STEPS, rule)
    return {"off": off(state), "counts": sorted(set(state.counts.tolist()))}, left


def sharded(comm):
    """Rank 0 dies within a step; its shard is with rank 1."""
    last, left = train_sharded(Mortal(comm, 20 if comm.rank == 0 else 0), PROBLEM, STEPS, rule)
    return {"off": off(last), "position": last.position}, left


def at_any_instant(comm):
    """A timer kills rank 1 wherever it then is: in MPI's own all-reduce of 8 MB, or next to it."""
    big, sums = np.ones(10**6), np.empty(10**6)
    if comm.rank == 1:
        threading.Timer(0.1 + 0.1 * np.random.default_rng(3).random(), die).start()

    def work(comm):
        until, whole = time.monotonic() + 0.3, True
        while comm.allreduce(time.monotonic() < until, mpi.LAND):
            comm.Allreduce(big, sums)
            whole &= bool((sums == comm.size).all())
        return whole

    whole, left = survive(comm, work)
    return {"whole": whole}, left


def with_a_spare(comm):
    """All but one train; a member dies, and the spare takes its place, with state from the others."""
    held = Holding() if comm.rank == comm.size - 1 else None
    teams = []

    def work(team):
        nonlocal held
        team = Mortal(team, 15 if team.rank == 1 and not teams and held is None else 0)
        teams.append(team.size)
        held = held or begin(team, PROBLEM)
        take_steps(team, PROBLEM, held, STEPS, rule)
        return off(held.versions[-1])

    found, left = survive_with_spares(comm, work, 1, comm.size - 1)
    return {"off": found, "teams": teams}, left


def with_a_new_process(comm):
    """A rank dies, and a process is started for it, which has no state."""
    if comm.rank == 1:
        die()
    size = comm.size
    try:
        comm.Barrier()
    except mpi.Exception as error:
        assert lost_a_rank(error)
    shrunk = shrink(comm).comm
    held = begin(shrunk, PROBLEM)
    take_steps(shrunk, PROBLEM, held, 5, rule)
    full = replaced(shrunk, [sys.executable, "-m", __spec__.name], size - shrunk.size)
    take_steps(full, PROBLEM, held, STEPS, rule)
    return {"off": off(held.versions[-1])}, full


CASES = [in_the_middle_of_a_ring, replicated, sharded, with_a_spare, at_any_instant, with_a_new_process]


def main() -> None:
    comm, (path, only) = join(), sys.argv[1:] or ("", "")
    if comm is not None:
        take_steps(comm, PROBLEM, Holding(), STEPS, rule)
        return leave(comm)
    comm = mpi.world()
    for case in [case for case in CASES if (case is with_a_new_process) == (only == "spawn")]:
        start, ranks = time.monotonic(), comm.size
        told, comm = case(comm)
        comm = mpi.Intracomm(comm)  # whose rank is not to be killed
        told |= {"case": case.__name__, "ranks": [ranks, comm.size], "seconds": time.monotonic() - start}
        if comm.rank == 0:
            with open(path, "a") as file:
                file.write(json.dumps(told) + "\n")
    leave(comm)


if __name__ == "__main__":
    main()

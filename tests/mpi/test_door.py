"""The one door: it starts no MPI by itself, and its helpers work on both kinds of objects."""

import subprocess
import sys
import time

import numpy as np
import pytest

from reference import mpi
from reference.perf.pace import pace
from reference.worlds import launch

QUIET = """
import sys
from reference import mpi
from reference.perf.pace import pace
from reference.worlds import launch
launch(lambda comm: comm.allreduce(1), 3)
from mpi4py import MPI
print(MPI.Is_initialized(), "torch" in sys.modules)
"""


def test_the_virtual_cluster_starts_neither_mpi_nor_torch():
    done = subprocess.run([sys.executable, "-c", QUIET], capture_output=True, text=True, timeout=60 * pace())
    assert done.stdout.split() == ["False", "False"], done.stdout + done.stderr


@pytest.mark.mpi
def test_the_table_of_calls_is_what_both_worlds_offer():
    def lacking(comm):
        others = "requests messages windows datatypes operations statuses".split()
        names = " ".join(calls for kind, calls in mpi.API.items() if kind not in others).split()
        comms = [comm, comm.Create_cart([comm.size])]
        missing = [name for name in names if not any(hasattr(type(c), name) or name in vars(c) for c in comms)]
        buffer = np.zeros(1)
        request = comm.Isend(buffer, comm.rank)
        things = {
            "requests": comm.Recv_init(buffer, comm.rank),
            "messages": comm.Mprobe(comm.rank),
            "windows": mpi.win_allocate_shared(comm, 8),
            "datatypes": mpi.DOUBLE,
            "operations": mpi.SUM,
            "statuses": mpi.Status(),
        }
        things["messages"].Recv(buffer)
        request.Wait()
        for kind, thing in things.items():
            missing += [name for name in mpi.API[kind].split() if not hasattr(thing, name)]
        things["requests"].Free()
        things["windows"].Free()
        return missing

    for world in ("virtual", "mpi"):
        assert launch(lacking, 2, world=world).results == [[], []]


@pytest.mark.parametrize("world", ["virtual", "mpi"])
def test_compute_and_sleep_take_their_time(world):
    def program(comm):
        before = mpi.wtime(comm)
        mpi.compute(comm, 0.002)
        mpi.sleep(comm, 0.003)
        return mpi.wtime(comm) - before >= 0.005 - 1e-9

    assert launch(program, 2, world=world).results == [True, True]


def test_no_requests_are_nothing_to_wait_for():
    mpi.waitall([])
    assert mpi.waitany([]) == mpi.UNDEFINED


@pytest.mark.parametrize("world", ["virtual", "mpi"])
def test_wait_returns_when_the_message_is_there(world):
    def late(comm):
        x = np.zeros(1)
        if comm.rank == 0:
            mpi.wait(comm.Irecv(x, 1))
        else:
            mpi.sleep(comm, 0.01)
            comm.Send(x + 7, 0)
        return x[0]

    assert launch(late, 2, world=world).results[0] == 7


@pytest.mark.mpi
def test_wait_leaves_the_core_to_others():
    def late(comm):
        x, start, worked = np.zeros(1), time.perf_counter(), time.process_time()
        if comm.rank == 0:
            mpi.wait(comm.Irecv(x, 1))
        else:
            time.sleep(0.2)
            comm.Send(x, 0)
        return time.process_time() - worked, time.perf_counter() - start

    worked, waited = launch(late, 2, world="mpi").results[0]
    assert worked < waited / 2

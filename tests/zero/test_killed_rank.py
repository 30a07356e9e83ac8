"""A real rank of stage 3 that is killed in a gather: who died is told, and nobody waits for it or is left."""

import os
import signal
import sys
import time

import pytest
import torch

from reference.models import MLP, loss_sum
from reference.perf.pace import pace
from reference.worlds import RankDied, processes
from reference.zero.stage3 import Stage3

from .. import programs
from ..worlds.real.test_job import running_job, start, what_is_left
from .training import my_batch

pytestmark = pytest.mark.mpi
SOON = 10.0  # seconds from the death to the end of all; the launch's time-out and the program's are far longer

TRAINER = """
import os, pathlib, runpy, signal, time
from reference import mpi
from reference.zero.units import Unit

comm, wait, gathers = mpi.world(), Unit.wait, []
(folder := pathlib.Path(__file__).parent).joinpath(f"pid{comm.rank}").write_text(str(os.getpid()))

def wait_or_die(unit):
    gathers.extend([unit.name] * bool(unit.coming))
    if comm.rank == 1 and len(gathers) == 5:
        folder.joinpath("death").write_text(str(time.monotonic()))
        os.kill(os.getpid(), signal.SIGKILL)
    wait(unit)

Unit.wait = wait_or_die
runpy.run_module("reference.train", run_name="__main__", alter_sys=True)
"""


@pytest.mark.usefixtures("own_job")
@pytest.mark.parametrize("ranks, dies", [(2, "before it begins"), (3, "before it ends")])
def test_the_rank_is_named_and_the_others_do_not_wait(tmp_path, ranks, dies):
    """The others wait in the gather that this rank does not begin, or in one that comes after the one it began."""

    def program(comm):
        module = MLP((64, 16, 13, 10)).double()
        stage = Stage3(comm, module, torch.optim.SGD)

        def die(*_):
            assert bool(stage.units[1].coming) == (dies == "before it ends")
            (tmp_path / "death").write_text(str(time.monotonic()))
            os.kill(os.getpid(), signal.SIGKILL)

        if comm.rank == 1:
            setattr(stage.units[1], "start_gather" if dies == "before it begins" else "wait", die)
        for step in range(2):
            stage.backward(*loss_sum(module, my_batch("mlp", comm, step)))
            stage.step()

    job = running_job()
    pids, memory = [*job.pids, *job.groups], processes.shared_memory(job.pids)
    with pytest.raises(RankDied) as info:
        start(program, ranks)
    assert time.monotonic() - float((tmp_path / "death").read_text()) < SOON * pace()
    assert info.value.cause.startswith("rank 1 was killed by SIGKILL")
    assert [status.state for status in info.value.roll_call] == ["waiting", "failed", "waiting"][:ranks]
    assert {status.call for status in info.value.roll_call if status.state == "waiting"} == {"Wait(Iallgather())"}
    assert what_is_left(pids, job, memory) == []


def test_the_trainer_ends_with_what_mpirun_says_of_the_process(tmp_path):
    """mpirun knows no ranks: MPICH's and Open MPI's both name the process."""
    (tmp_path / "trainer.py").write_text(TRAINER)
    done = programs.run([sys.executable, str(tmp_path / "trainer.py")], 2, "--zero", "3", "--steps", "3")
    assert time.monotonic() - float((tmp_path / "death").read_text()) < SOON * pace()
    pids = [int((tmp_path / f"pid{rank}").read_text()) for rank in range(2)]
    assert done.returncode > 0 and str(pids[1]) in done.stdout + done.stderr
    assert "ZeRO stage 3" in done.stdout and "verified" not in done.stdout
    processes.wait_gone(pids)
    assert not any(map(processes.exists, pids))

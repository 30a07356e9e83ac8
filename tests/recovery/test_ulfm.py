"""Real ranks that are killed (SIGKILL), under Open MPI with ULFM: a job for many cases, each of which loses a rank.

A second job starts a process for the dead one: Open MPI 5.0.11 does not always manage that after several deaths.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from reference.perf.pace import pace
from reference.recovery import openmpi

from . import ranks_that_die

SECONDS = 30  # for a job, on a machine like the one that limits were made for
OFF = 1e-12  # what another order of additions may change in float64
pytestmark = [
    pytest.mark.mpi,
    pytest.mark.skipif(not openmpi.installed(), reason="no Open MPI here: make .openmpi installs it"),
]


@pytest.fixture(scope="module")
def told(tmp_path_factory) -> dict[str, dict]:
    """What each case told, as far as the jobs came; each job has a time limit of its own."""
    told = {"": {"stderr": ""}}
    for ranks, which in ((8, "all"), (3, "spawn")):
        file = tmp_path_factory.mktemp("ulfm") / "told"
        program = [sys.executable, "-m", ranks_that_die.__name__, str(file), which]
        command = openmpi.command_line(ranks, program, SECONDS * pace())
        environment = {**os.environ, **openmpi.SETTINGS}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=2 * SECONDS * pace())
        told[""]["stderr"] += done.stderr
        assert which == "spawn" or done.returncode == 0, done.stderr
        lines = file.read_text().splitlines() if file.exists() else []
        told |= {case["case"]: case for case in map(json.loads, lines)}
    return told


@pytest.mark.parametrize("case", [case.__name__ for case in ranks_that_die.CASES])
def test_ranks_go_on_when_one_is_killed(told, case):
    assert case in told, told[""]["stderr"]
    before, after = told[case]["ranks"]
    assert after == before - (case != "with_a_new_process")


@pytest.mark.parametrize("case", ["replicated", "sharded", "with_a_spare", "with_a_new_process"])
def test_the_result_is_that_of_one_rank_on_the_same_batches(told, case):
    assert told[case]["off"] < OFF


def test_all_ranks_hear_of_a_death_in_the_middle_of_a_ring(told):
    assert told["in_the_middle_of_a_ring"]["noticed"] == [True] * 7
    assert told["in_the_middle_of_a_ring"]["before"] == [0, 2, 3, 4, 5, 6, 7]


def test_each_sample_counts_once_an_epoch(told):
    assert told["replicated"]["counts"] == [ranks_that_die.STEPS // 5]


def test_the_spare_joins_a_team_of_the_same_size(told):
    assert told["with_a_spare"]["teams"] == [4, 4]


def test_an_all_reduce_that_returns_is_whole(told):
    assert told["at_any_instant"]["whole"]


def test_mpich_ends_all_ranks_when_one_is_killed():
    """Fail-stop: nobody gets to the line behind the barrier, and mpirun says so at once."""
    program = "import os; from reference import mpi; comm = mpi.world(); comm.rank == 1 and os.kill(os.getpid(), 9); "
    program += "comm.Barrier(); print('went on')"
    command = ["mpirun", "-n", "3", sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS * pace(), cwd=Path.cwd())
    assert done.returncode != 0
    assert "went on" not in done.stdout

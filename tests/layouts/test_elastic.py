"""`--elastic`: ranks die while reference.train trains, and its losses stay those of the serial program."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from reference import cli
from reference import train as program
from reference.perf.pace import pace
from reference.recovery import openmpi
from reference.supervise import newest_step
from reference.worlds import Kill, RankFailed, launch


def trained(ranks, *arguments, faults=(), capsys):
    """What rank 0 printed, as JSON, of a training in which ranks die; and each rank's exit status."""

    def on_each(comm):
        return program.run(comm, cli.parse(comm, program.parser(), [*arguments, "--elastic"]))

    statuses = launch(on_each, ranks, faults=faults).results
    return statuses, capsys.readouterr().out


SMALL = ["--steps", "5", "--batch", "12", "--rate", "0.1"]


@pytest.mark.parametrize("dead", [{1: 60}, {0: 45}, {2: 50, 0: 75}])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_the_others_go_on_from_memory(dead, optimizer, capsys):
    faults = [Kill(rank, after=calls) for rank, calls in dead.items()]
    rate = ["--rate", "0.01"] if optimizer == "adam" else []
    statuses, said = trained(3, *SMALL, *rate, "--optimizer", optimizer, "--json", faults=faults, capsys=capsys)
    found = json.loads(said)
    assert statuses == [None if rank in dead else 0 for rank in range(3)]
    assert sum(map(len, found["lost"])) == len(dead)
    assert found["losses_equal"] and len(found["losses"]) == 5 and found["ranks"] == 3 - len(dead)


@pytest.mark.parametrize("layout", [[], ["--zero", "2"], ["--zero", "3"]])
def test_the_others_go_on_from_a_checkpoint(layout, tmp_path, capsys):
    options = [*SMALL, *layout, "--checkpoint", str(tmp_path), "--every", "2", "--json"]
    statuses, said = trained(3, *options, faults=[Kill(1, after=110)], capsys=capsys)
    found = json.loads(said)
    assert statuses == [0, None, 0] and found["lost"] == [[1]]
    assert found["losses_equal"] and found["checkpoint"]["resumed"] in (2, 4)


def test_what_is_said_and_larger_shares_take_more_micro_batches(capsys):
    options = [*SMALL, "--micro-batches", "2"]
    _, said = trained(3, *options, faults=[Kill(2, after=60)], capsys=capsys)
    assert "elastic; processes of the ranks, to kill: " in said
    assert "rank 2 died: 2 go on after step " in said and "verified: the same bits on all ranks" in said


REFUSED = [
    (["--stages", "2"], "--elastic is for data parallelism, and for --zero 1, 2 and 3 without more"),
    (["--zero", "1"], "--elastic with --zero: say with --checkpoint where dead ranks' shards are read from"),
    (["--zero", "2", "--offload", "optimizer"], "--elastic is for data parallelism"),
]


@pytest.mark.parametrize(("options", "told"), REFUSED)
def test_what_cannot_survive_is_refused(options, told, capsys):
    with pytest.raises(RankFailed, match=told):
        trained(2, *options, capsys=capsys)


@pytest.mark.mpi
def test_ranks_that_cannot_survive_are_told_how():
    def on_each(comm):
        return program.run(comm, cli.parse(comm, program.parser(), ["--elastic"]))

    with pytest.raises(RankFailed, match=r"--elastic: MPICH Version: +\S+ ends all ranks if one dies.* --with-ft ulfm"):
        launch(on_each, 2, world="mpi")


@pytest.mark.mpi
@pytest.mark.skipif(not openmpi.installed(), reason="no Open MPI here: make .openmpi installs it")
@pytest.mark.parametrize("layout", [[], ["--zero", "2"], ["--zero", "3"]])
def test_a_real_rank_is_killed_and_the_others_go_on(layout, tmp_path):
    """As a reader does it: the process is one of those that the program names, and gets SIGKILL.

    Shards of ZeRO come back from a checkpoint, so there the rank dies only when one of a later step has been saved.
    """
    options = ["--elastic", *SMALL, "--steps", "40", *layout]
    if layout:
        options += ["--checkpoint", str(tmp_path), "--every", "2"]
    command = openmpi.command_line(3, [sys.executable, "-u", "-m", "reference.train", *options], 60 * pace())
    job = subprocess.Popen(command, env=os.environ | openmpi.SETTINGS, stdout=subprocess.PIPE, text=True)
    said = ""
    for line in job.stdout:
        said += line
        if "to kill: " in line:
            while layout and newest_step(tmp_path) < 2:
                time.sleep(0.001)
            os.kill(int(line.split()[-1]), signal.SIGKILL)
    assert job.wait(60 * pace()) == 0, said
    step = int(re.search(r"rank 2 died: 2 go on after step (\d+)", said)[1])
    assert "verified: the same bits on all ranks" in said
    assert not layout or (2 <= step < 40 and step % 2 == 0 and newest_step(tmp_path) == 40)

"""The supervisor: which deaths it cures, how long it waits, with how many ranks it starts again, when it gives up."""

import contextlib
import shutil
import signal
import subprocess
import sys
import time

import psutil
import pytest
import torch

from reference import supervise
from reference.checkpoint import everything, load, newest, read_manifest

from . import programs
from .crashes import Alone

COMMAND = ["mpirun", "-n", "4", "train", "--checkpoint", "run"]


class Job:
    """Jobs that end with these statuses, each after so many checkpoints in all."""

    def __init__(self, folder, *ends):
        self.folder, self.ends, self.started, self.slept = folder, list(ends), [], []

    def run(self, command):
        self.started.append(list(command))
        status, step = self.ends.pop(0)
        if step is not None:
            path = self.folder / f"step-{step:08}"
            path.mkdir(exist_ok=True)
            (path / "manifest.json").touch()
        return status

    def supervised(self, *options):
        chosen = supervise.parser().parse_args(options)
        command = [*COMMAND[:-1], str(self.folder)]
        return supervise.supervise(command, chosen, self.run, self.slept.append)


def test_a_job_that_gets_on_may_die_as_often_as_it_will(tmp_path, capsys):
    job = Job(tmp_path, *((9, step) for step in range(10)), (0, None))
    assert job.supervised("--restarts", "1") == 0
    assert job.slept == [1.0] * 10, "each death is the first since a checkpoint"
    said = capsys.readouterr().err.splitlines()
    assert "died with status 9" in said[0] and "newest checkpoint: step 0; starting again in 1 s (1 of 1)" in said[0]
    assert said[-1] == "reference.supervise: the job is done, after 10 restarts"
    assert {len(line.split("\n")) for line in said} == {1} and len(said) == 11


def test_a_job_that_does_not_get_on_is_given_up_after_longer_and_longer_waits(tmp_path, capsys):
    job = Job(tmp_path, *[(-9, None)] * 9)
    assert job.supervised("--restarts", "8", "--back-off", "0.5") == 128 + 9
    assert job.slept == [0.5, 1, 2, 4, 8, 16, 32, 60] and not job.ends
    said = capsys.readouterr().err
    assert (
        "died with signal 9" in said and "no checkpoint; 9 deaths in a row without a new checkpoint: giving up" in said
    )


def test_a_checkpoint_without_a_manifest_is_none(tmp_path):
    (tmp_path / "step-00000007").mkdir()
    assert supervise.newest_step(tmp_path) == -1
    (tmp_path / "step-00000007" / "manifest.json").touch()
    (tmp_path / "step-00000010.1").mkdir()
    (tmp_path / "step-00000010.1" / "manifest.json").touch()
    assert supervise.newest_step(tmp_path) == 10 and supervise.newest_step(None) == -1


@pytest.mark.parametrize("status, starts", [(0, 1), (2, 1), (1, 2)])
def test_what_another_try_does_not_cure_is_not_tried_again(tmp_path, status, starts):
    job = Job(tmp_path, (status, 3), (status, None))
    assert job.supervised() == status and len(job.started) == starts


def test_the_ranks_that_are_left(tmp_path, capsys):
    job = Job(tmp_path, (9, 1), (9, 2), (9, 3), (0, None))
    assert job.supervised("--sizes", "3,2") == 0
    assert [command[2] for command in job.started] == ["4", "3", "2", "2"]
    assert job.started[1] == ["mpirun", "-n", "3", "train", "--checkpoint", str(tmp_path)]
    assert "starting again in 1 s, with 3 ranks (1 of 5)" in capsys.readouterr().err
    with pytest.raises(ValueError, match="--sizes needs a command with -n"):
        supervise.supervise(["train"], supervise.parser().parse_args(["--sizes", "2"]), job.run, job.slept.append)


def test_the_folder_that_a_command_names():
    assert supervise.folder_of(COMMAND).name == "run"
    assert supervise.folder_of(["x", "--checkpoint=there/run"]).parts == ("there", "run")
    assert supervise.folder_of(["x"]) is None


def ended(pid):
    """Whether a process is no more, or only its name is; it may take a moment."""
    for _ in range(100):
        with contextlib.suppress(psutil.NoSuchProcess):
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                time.sleep(0.02)
                continue
        return True
    return False


def test_as_it_is_typed(tmp_path):
    """A job kills itself once, leaving a child behind, and is done the second time."""
    script = tmp_path / "job.py"
    script.write_text(
        "import os, pathlib, signal, subprocess, sys\n"
        "once = pathlib.Path(sys.argv[1])\n"
        "if once.exists(): sys.exit(0)\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        "once.write_text(str(child.pid))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    once = tmp_path / "once"
    command = [sys.executable, "-m", "reference.supervise", "--back-off", "0", "--", sys.executable, script, once]
    done = programs.run(list(map(str, command)), 0)
    assert done.returncode == 0 and "signal 9" in done.stderr and "done, after 1 restart\n" in done.stderr
    assert ended(int(once.read_text()))
    done = programs.run([sys.executable, "-m", "reference.supervise"], 0)
    assert done.returncode == 2 and done.stderr.startswith("reference.supervise: say after -- what to run")
    done = programs.run([sys.executable, "-m", "reference.supervise", "--", "/nowhere/mpirun"], 0)
    assert done.returncode == 2 and "/nowhere/mpirun" in done.stderr and done.stderr.count("\n") == 1


def ranks_of(folder):
    """The processes of a training that saves there: its ranks, neither their mpirun nor its supervisor."""
    words = ((p, p.info["cmdline"] or []) for p in psutil.process_iter(["cmdline"]))
    return [p for p, of in words if of[1:3] == ["-m", "reference.train"] and str(folder) in of]


def weights_in(folder):
    """What the newest checkpoint in a folder has."""
    manifest = read_manifest(newest(folder))
    tensors = {name: torch.empty(of.shape, dtype=of.torch_dtype) for name, of in manifest.tensors.items()}
    load(Alone(), folder, {name: everything(of) for name, of in tensors.items()})
    return manifest.step, tensors


@pytest.mark.long
@pytest.mark.mpi
def test_ranks_of_a_real_job_are_killed_at_will(tmp_path):
    """Four times, by SIGKILL, one of them all at once: the weights of a job that nobody has killed."""
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    train = [programs.MPIRUN, "-n", "3", sys.executable, "-m", "reference.train", "--batch", "30", "--resume"]

    def job(folder, steps):
        return [*train, "--steps", str(steps), "--every", "50", "--checkpoint", str(folder)]

    assert programs.run(job(killed, 1), 0).returncode == 0  # from here both have the same measured machine
    shutil.copytree(killed, whole)
    assert programs.run(job(whole, 1000), 0).returncode == 0
    command = [sys.executable, "-m", "reference.supervise", "--back-off", "0.1", "--", *job(killed, 1000)]
    there = subprocess.Popen(command, cwd=programs.HERE, stderr=subprocess.PIPE, text=True)
    for kills in range(4):
        before = supervise.newest_step(killed)
        while supervise.newest_step(killed) == before and there.poll() is None:
            time.sleep(0.01)
        for rank in ranks_of(killed)[: 3 if kills == 2 else 1]:
            rank.kill()
    said = there.communicate(timeout=200)[1]
    assert there.returncode == 0 and said.count("starting again") >= 3, said
    (steps, found), (as_many, aim) = weights_in(killed), weights_in(whole)
    assert steps == as_many == 1000 and all(torch.equal(found[name], aim[name]) for name in aim)


def test_who_ends_the_supervisor_ends_the_job(tmp_path):
    pid = tmp_path / "pid"
    code = f"import os, pathlib, time; pathlib.Path({str(pid)!r}).write_text(str(os.getpid())); time.sleep(60)"
    command = [sys.executable, "-m", "reference.supervise", "--", sys.executable, "-c", code]
    there = subprocess.Popen(command, cwd=programs.HERE)
    while not (pid.exists() and pid.read_text()):
        time.sleep(0.02)
    there.send_signal(signal.SIGTERM)
    assert there.wait(20) == 128 + signal.SIGTERM
    assert ended(int(pid.read_text()))

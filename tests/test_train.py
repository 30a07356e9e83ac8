"""The data-parallel trainer, as an experimenter types it."""

import json
import sys
from functools import partial

import pytest
import torch

from reference.models import MLP, digits, train

from . import programs

run = partial(programs.run, "reference.train")


def test_two_ranks_train_as_one_does():
    """They share batches of 51 and cut their parts again; the serial program's losses to rounding."""
    options = ["--steps", "6", "--batch", "51", "--micro-batches", "2", "--bucket", "4KiB", "--order", "ready"]
    found, model = json.loads(run(2, *options, "--json").stdout), MLP()
    alone = train(model, digits(), torch.optim.SGD(model.parameters(), 0.3), 6, 51)
    assert found["ranks"] == 2 and found["losses"] == pytest.approx(alone, rel=1e-5)
    assert 0 < found["off_serial"] < 1e-5 and 0 < found["accuracy"] <= 1


def test_what_is_printed():
    done = run(0, "--steps", "6", "--model", "gpt", "--optimizer", "adam", "--rate", "1e-3", "--compress", "top-k")
    assert done.returncode == 0, done.stderr
    assert "gpt, 120,576 parameters, 1 rank" in done.stdout and "step    5  loss" in done.stdout
    assert "\nverified: the same bits" in done.stdout and "mpirun -n 2" in done.stdout


@pytest.mark.parametrize(
    "arguments, says", [(["--batch", "0"], "--batch must be"), (["--rate", "nan"], "--rate"), (["--model", "x"], "gpt")]
)
def test_bad_input_is_told_once(arguments, says):
    done = run(0, *arguments)
    assert done.returncode == 2 and says in done.stderr and done.stderr.count("python -m reference.train:") == 1


def test_gradients_that_are_not_summed_are_found_out(tmp_path):
    """A planted mistake: the weights drift apart, and the check names where."""
    planted = tmp_path / "planted.py"
    planted.write_text(
        "import sys\n"
        "from functools import partial\n"
        "from reference import cli, train as program\n"
        "program.Replica = partial(program.Replica, communicate=lambda comm, index, flat: comm.Ibarrier())\n"
        "sys.exit(cli.main(program.run, program.parser(), ['--steps', '2']))\n"
    )
    done = programs.run([sys.executable, str(planted)], 2)
    assert done.returncode != 0 and "Diverged" in done.stderr and "[1]" in done.stderr

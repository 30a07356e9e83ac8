"""The data-parallel trainer, as an experimenter types it."""

import json
import sys
from functools import partial

import pytest

from . import programs

run = partial(programs.run, "reference.train")
SHORT = ["--steps", "6", "--batch", "50"]


def test_more_ranks_train_as_one_does():
    """3 ranks share batches of 50 and cut their parts again; alone, the same losses to rounding."""
    many = json.loads(run(3, *SHORT, "--micro-batches", "2", "--bucket", "4KiB", "--order", "ready", "--json").stdout)
    alone = json.loads(run(0, *SHORT, "--json").stdout)
    assert (many["ranks"], alone["ranks"], alone["off_serial"]) == (3, 1, 0)
    assert many["losses"] == pytest.approx(alone["losses"], rel=1e-5) and 0 < many["off_serial"] < 1e-5
    assert many["losses"][-1] < many["losses"][0] and 0 < many["accuracy"] <= 1


def test_what_is_printed():
    done = run(0, *SHORT, "--model", "gpt", "--optimizer", "adam", "--rate", "1e-3")
    assert done.returncode == 0, done.stderr
    assert "gpt, 120,576 parameters, 1 rank" in done.stdout and "step    5  loss" in done.stdout
    assert "\nverified: the same bits" in done.stdout and "mpirun -n 2" in done.stdout


@pytest.mark.parametrize(
    "arguments, says", [(["--batch", "0"], "--batch must be"), (["--rate", "nan"], "--rate"), (["--model", "x"], "gpt")]
)
def test_bad_input_is_told_once(arguments, says):
    done = run(0, *arguments)
    assert done.returncode == 2 and says in done.stderr and done.stderr.count("python -m reference.train:") == 1


def test_a_rank_that_trains_on_something_else_is_found_out(tmp_path):
    """A planted mistake: gradients that are not averaged. The weights drift apart, and the check names where."""
    planted = tmp_path / "planted.py"
    planted.write_text(
        "import sys\n"
        "from reference import cli, mpi, train as program\n"
        "from reference.data_parallel import replica\n"
        "replica.start_allreduce = lambda comm, index, flat: comm.Ibarrier()\n"
        "sys.exit(cli.main(program.run, program.parser(), ['--steps', '2']))\n"
    )
    done = programs.run([sys.executable, str(planted)], 2)
    assert done.returncode != 0 and "Diverged" in done.stderr and "rank(s) [1]" in done.stderr

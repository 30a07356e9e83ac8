"""The trainer, as an experimenter types it: data-parallel, and in pipelines."""

import json
import sys
from functools import partial

import pytest
import torch

from reference import cli
from reference import train as program
from reference.models import MLP, digits, train

from . import programs

run = partial(programs.run, "reference.train")


@pytest.mark.mpi
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


@pytest.mark.mpi
def test_a_pipeline_trains_as_one_rank_does(tmp_path):
    """4 stages on 2 ranks, uneven micro-batches; a step beside its simulation, and as a timeline."""
    options = ["--stages", "2", "--schedule", "zb-v", "--steps", "3", "--batch", "51", "--rate", "0.1"]
    done = run(2, *options, "--json", "--timeline", str(tmp_path / "step.json"))
    found, model = json.loads(done.stdout), MLP((64, 32, 32, 32, 10))
    alone = train(model, digits(), torch.optim.SGD(model.parameters(), 0.1), 3, 51)
    assert found["losses"] == pytest.approx(alone, rel=1e-5) and found["verified"] and found["stages"] == 4
    assert found["measured"]["peaks"] == found["simulated"]["peaks"] == [4, 4]
    assert found["measured"]["makespan"] > 0 and 0 < found["simulated"]["bubble"] < 1
    events = json.loads((tmp_path / "step.json").read_text())["traceEvents"]
    assert {event["pid"] for event in events} == {0, 1} and "3W3" in {event["name"] for event in events}


def test_what_a_pipeline_prints():
    done = run(0, "--steps", "2", "--stages", "1", "--schedule", "PipeDream", "--model", "gpt")
    assert done.returncode == 0, done.stderr
    assert "1 rank with 1 stage, 2 micro-batches, PipeDream" in done.stdout
    assert "simulated  a step" in done.stdout and "(messages take no time)" in done.stdout
    assert "of next bytes guessed right" in done.stdout
    assert "\nverified: the same bits" in done.stdout and "gradients are late" in done.stdout


@pytest.mark.mpi
@pytest.mark.parametrize(
    "ranks, arguments, says",
    [
        (0, ["--batch", "0"], "--batch must be"),
        (0, ["--model", "x"], "gpt"),
        (2, ["--stages", "3"], "a pipeline of 3 ranks, and 2 are running: start 3"),
        (2, ["--stages", "2", "--timeline", "/nowhere/x.json"], "--timeline /nowhere/x.json cannot be written"),
    ],
)
def test_bad_input_is_told_once(ranks, arguments, says):
    done = run(ranks, *arguments)
    assert done.returncode == 2 and says in done.stderr and done.stderr.count("python -m reference.train:") == 1


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["--rate", "nan"], "--rate"),
        (["--stages", "1", "--schedule", "2F2B"], "there is no schedule '2F2B'; choose from naive, GPipe, 1F1B"),
        (["--stages", "1", "--micro-batches", "0"], "--micro-batches must be at least 1"),
        (["--stages", "1", "--chunks", "4", "--layers", "2"], "4 stages and a model of 3 layers"),
        (["--stages", "1", "--chunks", "2", "--schedule", "GPipe"], "GPipe has 1 stage"),
        (["--stages", "1", "--compress", "bf16"], "--compress is for data parallelism alone: leave out --stages"),
        (["--stages", "1", "--bucket", "1MiB", "--order", "ready"], "--bucket and --order are for data parallelism"),
        (["--timeline", "x"], "--timeline is for pipelines: say with --stages"),
        (["--schedule", "DualPipe"], "--schedule is for pipelines: say with --stages how many ranks make one"),
    ],
)
def test_what_makes_no_sense_is_bad_input(arguments, says):
    with pytest.raises(cli.BadInput) as told:
        options = program.parser().parse_args(arguments)
        program.check(options)
        program.chosen(1, options)
    assert says in str(told.value)


@pytest.mark.mpi
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

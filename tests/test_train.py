"""The trainer, as an experimenter types it: data-parallel, and in pipelines."""

import json
import re
import sys
from functools import partial
from pathlib import Path

import pytest
import torch

from reference import cli
from reference import train as program
from reference.compression import CODECS
from reference.models import MLP, digits, train
from reference.worlds import RankFailed, launch

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
    assert "\nnothing verified: one rank has no other" in done.stdout and "compressed by top-k" in done.stdout
    assert "mpirun -n 2" in done.stdout


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
    assert "\nnothing verified: one rank has no other" in done.stdout and "gradients are late" in done.stdout


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


def virtually(ranks, *arguments):
    """The exit status of every rank of a virtual cluster."""

    def on_each(comm):
        return program.run(comm, cli.parse(comm, program.parser(), list(arguments)))

    return launch(on_each, ranks).results


@pytest.mark.parametrize(
    "text, says", [(None, "No such file"), ("", "of which there are 0 bytes"), ("short", "5 bytes")]
)
def test_a_novel_that_is_not_there_is_told(monkeypatch, tmp_path, text, says):
    novel = tmp_path / "novel.txt"
    if text is not None:
        novel.write_text(text)
    monkeypatch.setattr("reference.models.data.NOVEL", novel)
    with pytest.raises(RankFailed, match="no data for --model gpt: ") as told:
        virtually(2, "--model", "gpt")
    assert says in str(told.value) and str(novel) in str(told.value)


@pytest.mark.parametrize(
    "how",
    [
        [],
        ["--optimizer", "adam", "--model", "gpt"],
        ["--compress", "power-sgd"],
        ["--stages", "2"],
        ["--stages", "2", "--schedule", "PipeDream"],
    ],
    ids=" ".join,
)
def test_a_training_that_diverges_is_not_verified(capsys, how):
    assert virtually(2, "--rate", "1e30", "--steps", "3", "--batch", "8", *how) == [1, 1]
    last = capsys.readouterr().out.splitlines()[-1]
    assert re.fullmatch(r"NOT VERIFIED: loss is (nan|inf) (from|in) step [012]( on)?; try a smaller --rate", last)


@pytest.mark.parametrize("how", ["bf16", "top-k"])
def test_a_gradient_that_cannot_be_encoded_is_told(how):
    with pytest.raises(
        RankFailed, match=rf"BadInput: --compress {how}, step [12]: .* {how}.* NaN .*; try a smaller --rate"
    ):
        virtually(2, "--rate", "1e30", "--steps", "3", "--batch", "8", "--compress", how)


@pytest.mark.parametrize("how", CODECS)
def test_every_codec_can_be_chosen(capsys, how):
    assert virtually(2, "--steps", "2", "--batch", "8", "--rate", "0.01", "--compress", how.replace(" ", "-")) == [0, 0]
    assert f"by {how}" in capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize("how", [[], ["--stages", "2"]], ids=" ".join)
def test_json_without_a_number_is_json(capsys, how):
    assert virtually(2, "--rate", "1e30", "--steps", "3", "--batch", "8", "--json", *how) == [1, 1]
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert found["verified"] is False and found["losses"][-1] is None and found["off_serial"] is None
    assert "loss is" in found["why"]


def test_losses_that_may_differ_are_not_called_verified(capsys):
    assert virtually(2, "--steps", "2", "--batch", "8", "--compress", "top-k") == [0, 0]
    last = capsys.readouterr().out.splitlines()[-1]
    assert re.fullmatch(r"verified: the same bits on all ranks; not verified: losses off .*, for .* by top-k", last)


def test_results_are_printed_though_the_timeline_cannot_be_written(capsys):
    arguments = ["--steps", "2", "--batch", "8", "--stages", "2", "--timeline", "/dev/full"]
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here, as on macOS")
    assert virtually(2, *arguments) == [1, 1]
    said = capsys.readouterr()
    assert "\nverified: the same bits" in said.out and "could not be written: No space left" in said.err


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

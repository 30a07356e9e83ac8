"""The trainer, as an experimenter types it: data-parallel, in pipelines, with layers or sequences shared."""

import json
import re
from functools import partial
from pathlib import Path

import pytest
import torch

from reference import train as program
from reference.compression import CODECS
from reference.data_parallel.replica import Replica
from reference.layouts import data_parallel
from reference.layouts.layout import OPTIMIZERS
from reference.models import GPT, MLP, Config, batch, digits, gradients, text, train
from reference.worlds import RankFailed

from . import programs

run, virtually = partial(programs.run, "reference.train"), partial(programs.on_ranks, program)


@pytest.mark.mpi
def test_two_ranks_train_as_one_does():
    """They share batches of 51 and cut their parts again; the serial program's losses to rounding."""
    options = ["--steps", "6", "--batch", "51", "--micro-batches", "2", "--bucket", "4KiB", "--order", "ready"]
    found, model = json.loads(run(2, *options, "--json").stdout), MLP()
    alone = train(model, digits(), torch.optim.SGD(model.parameters(), 0.3), 6, 51)
    assert found["ranks"] == 2 and found["losses"] == pytest.approx(alone, rel=1e-5)
    assert 0 < found["off_serial"] < 1e-5 and 0 < found["accuracy"] <= 1


def test_what_is_printed(capsys):
    arguments = ["--model", "gpt", "--optimizer", "adam", "--rate", "1e-3", "--compress", "top-k"]
    assert virtually(1, "--steps", "6", *arguments) == [0]
    said = capsys.readouterr().out
    assert "gpt, 120,576 parameters, 1 rank" in said and "step    5  loss" in said
    assert "\nnothing verified: one rank has no other" in said and "compressed by top-k" in said
    assert "mpirun -n 2" in said


@pytest.mark.mpi
def test_a_pipeline_trains_as_one_rank_does(tmp_path, capsys):
    """4 stages on 2 ranks, uneven micro-batches; a step beside its simulation, and as a timeline."""
    options = ["--stages", "2", "--schedule", "zb-v", "--steps", "3", "--batch", "51", "--rate", "0.1"]
    timeline = str(tmp_path / "step.json")
    assert programs.on_ranks(program, 2, *options, "--json", "--timeline", timeline, world="mpi") == [0, 0]
    found, model = json.loads(capsys.readouterr().out), MLP((64, 32, 32, 32, 10))
    alone = train(model, digits(), torch.optim.SGD(model.parameters(), 0.1), 3, 51)
    assert found["losses"] == pytest.approx(alone, rel=1e-5) and found["verified"] and found["stages"] == 4
    assert found["measured"]["peaks"] == found["simulated"]["peaks"] == [4, 4]
    assert found["measured"]["makespan"] > 0 and 0 < found["simulated"]["bubble"] < 1
    events = json.loads((tmp_path / "step.json").read_text())["traceEvents"]
    assert {event["pid"] for event in events} == {0, 1} and "3W3" in {event["name"] for event in events}


def test_what_a_pipeline_prints(capsys):
    assert virtually(1, "--steps", "2", "--stages", "1", "--schedule", "PipeDream", "--model", "gpt") == [0]
    said = capsys.readouterr().out
    assert "1 rank with 1 stage, 2 micro-batches, PipeDream" in said
    assert "simulated  a step" in said and "(messages take no time)" in said
    assert "of next bytes guessed right" in said
    assert "\nnothing verified: one rank has no other" in said and "gradients are late" in said


def test_a_training_is_saved_and_goes_on(tmp_path, capsys):
    common = ["--checkpoint", str(tmp_path), "--batch", "12", "--rate", "0.1", "--every", "2"]
    assert virtually(2, *common, "--steps", "3", "--resume", "--mtbf", "1h", "--keep", "1") == [0, 0]
    said = capsys.readouterr().out
    assert f"checkpoints in {tmp_path}, none yet: from the beginning\n" in said
    assert f"\nsaved 3 times in {tmp_path}; a save takes " in said
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000003"]
    assert virtually(1, *common, "--steps", "4", "--resume", "--json") == [0]
    found = json.loads(capsys.readouterr().out)
    assert found["verified"] and len(found["losses"]) == 4
    assert found["checkpoint"]["resumed"] == 3 and found["checkpoint"]["saves"] == 1
    assert virtually(1, *common, "--steps", "4", "--resume", "3") == [0]
    said = capsys.readouterr().out
    assert f"resumed after step 3 of {tmp_path}: 2 ranks, another layout\n" in said
    assert {path.name for path in tmp_path.iterdir()} >= {"given-up.step-00000004", "step-00000004"}
    assert virtually(2, *common, "--steps", "4", "--resume", "--stages", "2", "--layers", "2") == [
        0,
        0,
    ]
    assert "resumed after step 4" in capsys.readouterr().out  # there is no step left


def test_ranks_that_may_die_name_their_processes(capsys):
    """What becomes of the others when one dies: tests/layouts/test_elastic.py."""
    assert virtually(2, "--steps", "2", "--batch", "12", "--elastic") == [0, 0]
    assert "elastic; processes of the ranks, to kill: " in capsys.readouterr().out


GPT_OPTIONS = ["--model", "gpt", "--layers", "1", "--steps", "2", "--batch", "4"]
SHARED = [  # ranks, options, the model's heads, what is said of the layout
    (4, ["--tensor", "2"], {}, "2 groups of 2 ranks, each with 1/2 of each layer (tensor parallelism)\n"),
    (
        3,
        ["--tensor", "3", "--pad", "--overlap"],
        {},
        "\n3 ranks, each with 1/3 of each layer (tensor parallelism) with",
    ),
    (2, ["--tensor", "2", "--sequence-parallel", "--kv-heads", "1"], {"kv_heads": 1}, ") with sequence parallelism\n"),
    (4, ["--context", "2"], {}, "2 groups of 2 ranks, each with 32 of 64 tokens (context parallelism), zigzag, ring\n"),
    (
        2,
        ["--context", "2", "--attention", "ulysses", "--tokens", "striped", "--heads", "8"],
        {"heads": 8},
        "striped, ul",
    ),
]


@pytest.mark.parametrize("ranks, how, heads, says", SHARED, ids=[" ".join(how) for _, how, _, _ in SHARED])
def test_a_gpt_whose_layers_or_sequences_are_shared_trains_as_one_rank_does(capsys, ranks, how, heads, says):
    assert virtually(ranks, *GPT_OPTIONS, *how) == [0] * ranks
    said = capsys.readouterr().out
    assert says in said and "\nverified: the same bits on all ranks; losses off the serial program's by" in said
    model = GPT(Config(layers=1, **heads))
    losses = train(model, text(), torch.optim.SGD(model.parameters(), 0.1), 2, 4)
    assert all(f"step {step:4}  loss {loss:.4f}\n" in said for step, loss in enumerate(losses))


@pytest.mark.parametrize("steps", ["30", pytest.param("130", marks=pytest.mark.long)])
def test_a_gpt_is_verified_after_all_its_steps(capsys, steps):
    """As the README has them, without a --rate. Control: with 0.3, the mlp's, its losses jump, and rounding grows."""
    options = ["--model", "gpt", "--zero", "1", "--batch", "4", "--steps", steps]
    assert virtually(2, *options) == [0, 0]
    if steps == "130":
        assert virtually(2, *options, "--rate", "0.3") == [1, 1]
        assert "NOT VERIFIED: losses are not the serial program's" in capsys.readouterr().out


@pytest.mark.parametrize("model", program.MODELS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_usual_rate_teaches_each_model(capsys, model, optimizer):
    options = ["--model", model, "--optimizer", optimizer, "--steps", "50", "--batch", "8", "--json"]
    assert virtually(1, *options) == [0]
    losses = json.loads(capsys.readouterr().out)["losses"]
    assert sum(losses[-5:]) / 5 < 0.95 * losses[0]


ZERO = [  # ranks, options, what is said of the layout
    (3, ["--zero", "1"], "\n3 ranks, each with 1/3 of the optimizer's state (ZeRO stage 1)\n"),
    (2, ["--zero", "2", "--micro-batches", "2", "--clip", "0.3", "--bucket", "4KiB"], "of gradients and optimizer"),
    (2, ["--zero", "3", "--clip", "0.3", "--micro-batches", "2"], "1/2 of weights, gradients and optimizer state"),
    (4, ["--zero", "3", "--shard-groups", "2"], "\n2 groups of 2 ranks, each with 1/2 of weights, gradients and"),
    (2, ["--zero", "2", "--offload", "optimizer"], "(ZeRO stage 2), its optimizer in the host's tier"),
    (3, ["--zero", "2", "--offload", "optimizer", "--clip", "0.3", "--optimizer", "sgd"], "its optimizer in the host"),
    (2, ["--zero", "3", "--offload", "all", "--clip", "0.3"], "(ZeRO stage 3), weights and optimizer in files"),
    (2, ["--clip", "0.3"], "mlp, 2,410 parameters, 2 ranks"),
]


@pytest.mark.parametrize("ranks, how, says", ZERO, ids=[" ".join(how) for _, how, _ in ZERO])
def test_zero_and_clipping_train_as_one_rank_does(capsys, ranks, how, says):
    """Gradients of the first steps are longer than 0.3: who clips otherwise, or not at all, has other losses."""
    assert virtually(ranks, "--steps", "5", "--batch", "13", *how) == [0] * ranks
    said = capsys.readouterr().out
    assert says in said and "\nverified: the same bits on all ranks; losses off the serial program's by" in said
    model, losses = MLP(), []
    optimizer = torch.optim.SGD(model.parameters(), 0.3)
    for step in range(5):
        losses.append(gradients(model, batch(digits(), 13, step)))
        if "--clip" in how:
            assert torch.nn.utils.clip_grad_norm_(model.parameters(), 0.3) > 0.3
        optimizer.step()
    assert all(f"step {step:4}  loss {loss:.4f}\n" in said for step, loss in enumerate(losses))


MESH = [  # ranks, options, what is said of the layout
    (
        8,
        ["--stages", "2", "--tensor", "2", "--data", "2", "--zero", "1", "--recompute", "--clip", "0.3"],
        "\nmesh dp 2 x pp 2 x cp 1 x tp 2, outermost first, 4 micro-batches, 1F1B, ZeRO stage 1 among 2\nrecomp",
    ),
    (
        4,
        ["--context", "2", "--tensor", "2", "--mesh", "tp-dp-pp-cp", "--zero", "3"],
        "\nmesh tp 2 x dp 1 x pp 1 x cp 2, outermost first, 1 micro-batch, ZeRO stage 3 among 2\n",
    ),
]


@pytest.mark.parametrize("ranks, how, says", MESH, ids=[" ".join(how) for _, how, _ in MESH])
def test_a_mesh_trains_as_one_rank_does(capsys, ranks, how, says):
    assert virtually(ranks, *GPT_OPTIONS, "--batch", "8", *how) == [0] * ranks
    said = capsys.readouterr().out
    assert says in said and "\nverified: the same bits on all ranks; losses off the serial program's by" in said


RECOMPUTED = [  # ranks, options
    (2, ["--layers", "4", "--recompute", "sqrt"]),
    (2, ["--recompute"]),
    (2, ["--layers", "3", "--recompute", "every:2", "--stages", "2"]),
    (2, ["--recompute", "--stages", "2", "--schedule", "ZB-H1"]),
    (2, ["--recompute", "selective", "--tensor", "2"]),
    (2, ["--recompute", "selective", "--context", "2"]),
    (2, ["--recompute", "full", "--zero", "3"]),
    (4, ["--recompute", "selective", "--stages", "2", "--tensor", "2"]),
]


@pytest.mark.parametrize("ranks, how", RECOMPUTED, ids=[" ".join(how) for _, how in RECOMPUTED])
def test_recomputation_trains_as_one_rank_does_that_keeps_everything(capsys, ranks, how):
    assert virtually(ranks, *GPT_OPTIONS, "--steps", "2", "--batch", "8", *how) == [0] * ranks
    said = capsys.readouterr().out
    words = how[how.index("--recompute") + 1 :][:1]
    assert f"\nrecomputation: {words[0] if words and words[0][0] != '-' else 'full'}\n" in said
    assert "\nverified: the same bits on all ranks; losses off the serial program's by" in said


@pytest.mark.mpi
def test_zero_on_real_ranks(capsys):
    arguments = ["--zero", "3", "--model", "gpt", "--layers", "1", "--steps", "2", "--batch", "4", "--json"]
    assert programs.on_ranks(program, 2, *arguments, world="mpi") == [0, 0]
    found = json.loads(capsys.readouterr().out)
    assert found["verified"] and found["layout"] == "ZeRO"


def test_layers_chunks_and_the_seed_are_what_was_asked_for(capsys):
    assert virtually(1, "--steps", "2", "--layers", "5") == [0]
    size = sum(p.numel() for p in MLP((64, 32, 32, 32, 32, 10)).parameters())
    assert f"mlp, {size:,} parameters, 1 rank" in capsys.readouterr().out
    assert virtually(1, "--steps", "2", "--stages", "1", "--chunks", "3", "--json") == [0]
    found = json.loads(capsys.readouterr().out)
    assert found["stages"] == 3 and found["schedule"] == "interleaved 1F1B"
    assert virtually(1, "--steps", "2", "--seed", "7", "--json") == [0]
    model = MLP(seed=7)
    alone = train(model, digits(), torch.optim.SGD(model.parameters(), 0.3), 2, 64, seed=7)
    assert json.loads(capsys.readouterr().out)["losses"] == pytest.approx(alone, rel=1e-5)


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["--batch", "0"], "--batch must be"),
        (["--model", "x"], "gpt"),
        (["--stages", "3"], "a pipeline of 3 ranks, and 2 are running: start 3"),
        (["--stages", "2", "--timeline", "/nowhere/x.json"], "--timeline /nowhere/x.json cannot be written"),
        (["--tensor", "2"], "--tensor 2 cuts the layers of a GPT: take --model gpt, got --model mlp"),
        (["--context", "2", "--model", "cnn"], "--context 2 cuts sequences: take --model gpt, got --model cnn"),
        (
            ["--tensor", "2", "--stages", "2", "--model", "gpt"],
            "--stages 2 x --tensor 2: a copy of the model of 4",
        ),
    ],
)
def test_bad_input_is_refused_on_every_rank(arguments, says):
    with pytest.raises(RankFailed) as info:
        virtually(2, *arguments)
    assert [type(error).__name__ for error in info.value.errors.values()] == ["BadInput", "BadInput"]
    assert all(says in str(error) for error in info.value.errors.values())


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
        ["--tensor", "2", "--model", "gpt"],
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


@pytest.mark.parametrize(
    "ranks, how, who",
    [(2, [], [1]), (4, ["--model", "gpt", "--layers", "1", "--tensor", "2"], [2, 3])],
)
def test_gradients_that_are_not_summed_are_found_out(monkeypatch, ranks, how, who):
    """A planted mistake: the weights drift apart, and the check names where."""

    def silent(*arguments, **how):
        return Replica(*arguments, **how | {"communicate": lambda comm, index, flat: comm.Ibarrier()})

    monkeypatch.setattr(data_parallel, "Replica", silent)
    with pytest.raises(RankFailed, match=rf"Diverged.*{re.escape(str(who))}"):
        virtually(ranks, "--steps", "2", *how)

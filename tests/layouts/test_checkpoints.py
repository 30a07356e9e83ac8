"""Trainings that are saved and go on, in every layout: to the last bit in the same one, to rounding in another."""

import errno
import shutil
from collections import Counter

import pytest
import torch

from reference import cli, mpi
from reference import train as program
from reference.checkpoint import TrainingState
from reference.checkpoint.files import Files
from reference.collectives.fit import Fit
from reference.failures.interval import daly
from reference.layouts import checkpoints, data_parallel, held
from reference.layouts.checkpoints import Checkpoints
from reference.models import GPT, Config, batch_indices, digits, text, train
from reference.worlds import RankFailed, launch

GPT1 = ["--model", "gpt", "--layers", "1", "--batch", "4", "--optimizer", "adam", "--rate", "1e-2"]
MLP = ["--batch", "12", "--optimizer", "adam", "--rate", "1e-2"]


def trained(comm, folder, *arguments):
    """The losses, this rank's weights in the end, and whether it went on in the layout that had saved."""
    options = program.parser().parse_args([*arguments, "--checkpoint", str(folder)])
    kind = program.check_arguments(options)
    saved = Checkpoints(comm, options)
    layout = program.made(kind, comm.size, options)
    saved.attach(layout)
    model = layout.build(options.seed + comm.rank)
    done = layout.train(comm, model, text() if options.model == "gpt" else digits())
    return done.losses, {name: w.detach().clone() for name, w in model.named_parameters()}, saved.same_layout


def on(ranks, folder, *arguments, **how):
    return launch(trained, ranks, folder, *arguments, **how).results


def same_bits(one, other):
    return all(
        a[0] == b[0] and all(torch.equal(a[1][name], b[1][name]) for name in a[1])
        for a, b in zip(one, other, strict=True)
    )


FEW = [
    (3, MLP, ["--order", "ready", "--bucket", "4KiB", "--clip", "0.5"]),
    (3, MLP, ["--compress", "one-bit"]),
    (2, MLP, ["--compress", "qsgd"]),
    (2, MLP, ["--compress", "power-sgd"]),
    (2, MLP, ["--stages", "2", "--schedule", "ZB-V"]),
    (4, MLP, ["--stages", "2", "--schedule", "DualPipe"]),
    (2, MLP, ["--stages", "2", "--schedule", "PipeDream"]),
    (3, MLP, ["--zero", "1"]),
    (2, MLP, ["--zero", "2", "--offload", "optimizer", "--clip", "0.5"]),
    (4, MLP, ["--zero", "3", "--shard-groups", "2"]),
    (2, MLP, ["--zero", "3", "--offload", "all"]),
    (2, GPT1, ["--context", "2"]),
    (4, GPT1, ["--tensor", "2", "--zero", "1", "--clip", "0.5"]),
]
MORE = [
    (3, MLP, ["--optimizer", "sgd"]),
    *((2, MLP, ["--compress", codec]) for codec in ("top-k", "random-k", "int8", "bf16", "sign", "terngrad")),
    (2, MLP, ["--stages", "2", "--schedule", "2BW"]),
    (4, MLP, ["--stages", "2"]),
    (3, MLP, ["--zero", "3", "--clip", "0.5"]),
    (2, GPT1, ["--zero", "2", "--offload", "optimizer"]),
    (4, GPT1, ["--tensor", "2", "--order", "ready"]),
    (3, GPT1, ["--tensor", "3", "--pad"]),
    (2, GPT1, ["--tensor", "2", "--sequence-parallel"]),
    (4, GPT1, ["--tensor", "2", "--stages", "2"]),
    (4, GPT1, ["--context", "2", "--zero", "2"]),
    (4, GPT1, ["--tensor", "2", "--zero", "3"]),
    (4, GPT1, ["--stages", "2", "--zero", "1"]),
    (4, GPT1, ["--stages", "2", "--context", "2"]),
]
CASES = [*FEW, *(pytest.param(*case, marks=pytest.mark.long) for case in MORE)]


@pytest.mark.parametrize("ranks, common, layout", CASES, ids=lambda value: " ".join(value) if value in (MLP,) else None)
def test_the_same_layout_goes_on_to_the_last_bit(tmp_path, ranks, common, layout):
    """Saved after 2 of 4 steps; from there the same weights and losses follow as without a stop."""
    whole = on(ranks, tmp_path, *common, *layout, "--steps", "4", "--every", "2", "--keep", "3")
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["step-00000000", "step-00000002", "step-00000004"]
    resumed = on(ranks, tmp_path, *common, *layout, "--steps", "4", "--resume", "2")
    assert resumed[0][2], "it is the same layout"
    assert same_bits(whole, resumed)


WAY = [
    (2, []),
    (4, ["--tensor", "2", "--zero", "1"]),
    (3, ["--zero", "3"]),
    (2, ["--stages", "2", "--schedule", "1F1B"]),
    (2, ["--context", "2"]),
    (2, ["--zero", "3", "--offload", "all"]),
    (3, ["--tensor", "3", "--pad"]),
]


def test_a_training_goes_on_in_any_other_layout(tmp_path):
    """One step in each of seven, of which each goes on from the one before: the serial program's training."""
    serial = GPT(Config(layers=2))
    optimizer = torch.optim.Adam(serial.parameters(), 1e-2)
    losses = train(serial, text(), optimizer, len(WAY), 4)
    common = [*GPT1[:2], "--batch", "4", "--optimizer", "adam", "--rate", "1e-2"]
    for k, (ranks, layout) in enumerate(WAY):
        resume = ["--resume"] if k else []
        found = on(ranks, tmp_path, *common, *layout, "--steps", str(k + 1), *resume)
        assert all(one[0] == pytest.approx(losses[: k + 1], rel=1e-5) for one in found)
    for name, weight in serial.named_parameters():
        off = (found[0][1][name] - weight).abs()
        assert off.median() < 1e-6, name  # the largest says little: Adam divides by gradients that are nearly 0


@pytest.mark.mpi
def test_on_real_ranks(tmp_path):
    """The algorithm of each all-reduce is that of the run that saved, though the machine is not measured again."""

    def measured(comm, *arguments):
        if "--resume" not in arguments:
            lines = {"ring": (1e-5, 1e-9), "recursive doubling": (2e-5, 1e-9)}
            mpi.kept(comm)["fit"] = Fit(2, 1e-5, 1e-9, 0.0, lines, {}, ())
        found = trained(comm, *arguments)
        return *found, mpi.kept(comm)["fit"].lines

    common = [str(tmp_path), *MLP, "--steps", "4", "--every", "2", "--keep", "3"]
    whole = launch(measured, 2, *common, world="mpi").results
    resumed = launch(measured, 2, *common, "--resume", "2", world="mpi").results
    assert same_bits(whole, resumed)
    assert resumed[0][3] == whole[0][3]


def test_compressed_sums_lose_nothing_on_another_number_of_ranks(tmp_path):
    """All errors, also of the way down, are one rank's then: their sum is what it was."""
    kept = []

    def errors(comm, *arguments):
        found = {}
        put_back, taken = held.put_back_unsent, checkpoints.unsent

        def recording(replica, *more):
            put_back(replica, *more)
            found["after"] = taken(replica, comm.rank)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(checkpoints, "put_back_unsent", recording)
            patch.setattr(checkpoints, "unsent", lambda replica, rank: found.setdefault("last", taken(replica, rank)))
            trained(comm, *arguments)
        return found

    for codec in ("top-k", "one-bit", "power-sgd"):
        folder = tmp_path / codec
        arguments = [folder, *MLP, "--compress", codec, "--every", "3"]
        on(3, *arguments, "--steps", "3")
        before = on_disk(folder)
        after = launch(errors, 1, *arguments, "--steps", "4", "--resume").results[0]["after"]
        total = sum(total_error(tensors) for tensors in before)
        assert total.norm() > 0.01 and torch.allclose(total_error(after), total, atol=1e-6), codec
        kept.append(codec)
    assert len(kept) == 3


def on_disk(folder):
    """What each rank had not sent, in the newest checkpoint."""
    from reference.checkpoint import everything, load, newest, read_manifest

    manifest = read_manifest(newest(folder))
    tensors = {
        name: torch.empty(of.shape, dtype=of.torch_dtype) for name, of in manifest.tensors.items() if "compress" in name
    }

    def read(comm):
        load(comm, folder, {name: everything(of) for name, of in tensors.items()})
        return tensors

    tensors = launch(read, 1).results[0]
    return [
        {n: of for n, of in tensors.items() if n.startswith(f"rank{rank}.")} | {"ranks": manifest.ranks}
        for rank in range(manifest.ranks)
    ]


def total_error(tensors):
    """All errors of a rank as one vector; those of the way down, of its block, at the place of the block."""
    found = [of for name, of in sorted(tensors.items()) if name != "ranks" and "error" in name]
    ups = {name: of for name, of in tensors.items() if name.endswith(".up")}
    for name, up in ups.items():
        rank = int(name.removeprefix("rank").partition(".")[0])
        down, whole = tensors[name[:-2] + "down"], up.clone()
        ranks = tensors.get("ranks", 1)
        sizes = [len(up) // ranks + (k < len(up) % ranks) for k in range(ranks)]
        first = sum(sizes[:rank])
        whole[first : first + len(down)] += down
        found.append(whole)
    return torch.cat([of.flatten() for of in found])


def test_no_sample_is_repeated_and_none_is_skipped(tmp_path, monkeypatch):
    """Each sample once in an epoch of 3 batches, though a step is lost, and taken again on other ranks."""
    taken = Counter()

    def counting(data, size, step, seed, rank, ranks):
        mine = batch_indices(len(data.y), size, step, seed).tensor_split(ranks)[rank]
        taken.update((step, int(sample)) for sample in mine)
        return data._replace(x=data.x[mine], y=data.y[mine])

    monkeypatch.setattr(data_parallel, "batch", counting)
    arguments = [tmp_path, "--batch", "479", "--every", "1", "--keep", "9"]
    on(2, *arguments, "--steps", "2")
    lost = {key: taken.pop(key) for key in list(taken) if key[0] == 1}  # the job dies in step 1, the second one
    shutil.rmtree(tmp_path / "step-00000002")
    on(3, *arguments, "--steps", "3", "--resume")
    assert len(lost) == 479 and set(taken.values()) == {1}
    assert sorted(sample for _, sample in taken) == list(range(1437))


# When -----------------------------------------------------------------------------------------------------------------


def test_the_interval_is_dalys_for_what_a_save_costs():
    """On a clock that the test turns: a step takes 1 s, a save 0.5 s, and the job fails every 100 s."""

    class Comm:
        rank, size, kept = 0, 1, {}

        def bcast(self, x, root=0):
            return x

    clock = [0.0]
    saved = object.__new__(Checkpoints)
    saved.comm, saved.costs, saved.last, saved.last_at = Comm(), [0.5], 0, 0.0
    saved.chosen = program.parser().parse_args(["--every", "auto", "--mtbf", "100", "--checkpoint", "x"])
    at, saves = 1, []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints.mpi, "wtime", lambda comm: clock[0])
        for step in range(1, 60):
            clock[0] += 1.0
            if step == at:
                due, at = saved._due(step)
                if due:
                    saves.append(step)
                    clock[0] += 0.5
                    saved.last, saved.last_at = step, clock[0]
    interval = daly(0.5, 100)
    assert interval == pytest.approx(9.5) and all(abs(b - a - interval) <= 0.5 for a, b in zip([0, *saves], saves))
    assert len(saves) == 6


@pytest.mark.parametrize("text, found", [("90", 90), ("90s", 90), ("1.5m", 90), ("2h", 7200), ("2d", 172800)])
def test_times_as_they_are_typed(text, found):
    assert checkpoints.seconds(text) == found


# Refused --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two_checkpoints(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    on(2, folder, *MLP, "--steps", "4", "--every", "2", "--keep", "2")
    on(2, folder / "other", *MLP, "--steps", "4", "--every", "4", "--keep", "1")
    return folder


def refusal(folder, *arguments, ranks=2):
    with pytest.raises(RankFailed) as told:
        on(ranks, folder, *MLP, "--steps", "6", *arguments)
    assert [type(error) for error in told.value.errors.values()] == [cli.BadInput] * ranks
    said = {str(error) for error in told.value.errors.values()}
    assert len(said) == 1 and "\n" not in min(said)
    return min(said)


def flip(path):
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    "damage, says",
    [
        (flip, "is damaged: bytes"),
        (lambda path: path.write_bytes(path.read_bytes()[:-7]), "it was cut off"),
        (lambda path: path.unlink(), "is missing"),
        (
            lambda path: shutil.copy(path.parents[1] / "other" / path.parent.name / path.name, path),
            "belongs to another checkpoint",
        ),
        (lambda path: flip(path.parent / "manifest.json"), "is damaged: its checksum"),
    ],
    ids=["a byte", "the end", "the file", "of two checkpoints", "the manifest"],
)
def test_a_damaged_checkpoint_is_refused_on_all_ranks_and_the_one_before_it_loads(
    tmp_path, two_checkpoints, damage, says
):
    folder = tmp_path / "run"
    shutil.copytree(two_checkpoints, folder)
    damage(folder / "step-00000004" / "rank00001.safetensors")
    said = refusal(folder, "--resume")
    assert says in said and str(folder / "step-00000004") in said
    assert "Go back to step 2 with --resume 2, or move step-00000004 away" in said
    assert on(2, folder, *MLP, "--steps", "3", "--resume", "2")[0][2]
    assert (folder / "given-up.step-00000004").is_dir()


@pytest.mark.parametrize(
    "arguments, says",
    [
        ([], "has a checkpoint of step 4: go on with --resume, or name another folder"),
        (["--resume", "--batch", "13"], "has a training with --batch 12, not --batch 13: say --batch 12, or name"),
        (["--resume", "--optimizer", "sgd"], "has a training with --optimizer adam, not --optimizer sgd"),
        (["--resume", "3"], "--resume 3: there is no checkpoint of step 3 in"),
    ],
)
def test_another_training_is_refused(two_checkpoints, arguments, says):
    assert says in refusal(two_checkpoints, *arguments)


def test_a_full_drive_is_told_on_all_ranks_and_the_checkpoint_before_is_whole(tmp_path, monkeypatch):
    write, here = Files.write, []

    def full(self, path, pieces, sync=True):
        here.append(path)
        if "step-00000002" in str(path) and "rank00001" in str(path):
            raise OSError(errno.ENOSPC, "No space left on device")
        write(self, path, pieces, sync)

    monkeypatch.setattr(Files, "write", full)
    said = refusal(tmp_path, "--every", "2")
    assert "step-00000002/rank00001.safetensors cannot be written: No space left" in said
    assert "The checkpoint step-00000000 is whole" in said and "bytes to write, and" in said
    monkeypatch.undo()
    assert on(2, tmp_path, *MLP, "--steps", "3", "--every", "2", "--resume")[0][2]


# Planted mistakes -----------------------------------------------------------------------------------------------------


def no_moments(patch):
    portions = TrainingState.portions
    patch.setattr(
        TrainingState, "portions", lambda self: {name: of for name, of in portions(self).items() if "model" in name}
    )


@pytest.mark.parametrize(
    "layout, plant",
    [
        ([], no_moments),
        (["--compress", "one-bit"], lambda patch: patch.setattr(checkpoints, "unsent", lambda *of: {})),
        (["--zero", "2"], lambda patch: patch.setattr(held.HeldState, "load", lambda self, *of: self.state.load(*of))),
        ([], lambda patch: None),
    ],
    ids=["no moments", "errors forgotten", "weights do not follow their shards", "nothing"],
)
def test_what_is_forgotten_is_found_out(tmp_path, monkeypatch, request, layout, plant):
    common = [*MLP, *layout, "--every", "2", "--keep", "3"]
    whole = on(2, tmp_path, *common, "--steps", "4")
    shutil.rmtree(tmp_path / "step-00000004")
    plant(monkeypatch)
    shutil.rmtree(tmp_path / "step-00000002")
    on(2, tmp_path, *common, "--steps", "2", "--resume")
    resumed = on(2, tmp_path, *common, "--steps", "4", "--resume")
    assert same_bits(whole, resumed) == (request.node.callspec.id == "nothing")

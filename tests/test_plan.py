"""The planner, as somebody types it who has accelerators and a model."""

import json
import subprocess
import sys
from functools import partial

import pytest

from reference import plan as program
from reference.planner.architecture import architecture
from reference.planner.cluster import cluster
from reference.planner.predict import predict
from reference.planner.search.exhaustive import exhaustive
from reference.planner.search.space import LayoutSpace
from reference.planner.spec import LayoutSpec

from . import programs

run = partial(programs.run, "reference.plan")


@pytest.fixture
def printed(capsys):
    """printed(*arguments) is what the program prints."""

    def on_one_rank(*arguments):
        assert programs.on_ranks(program, 1, *arguments) == [0]
        return capsys.readouterr().out

    return on_one_rank


@pytest.fixture
def told(printed):
    """told(*arguments) is its JSON."""
    return lambda *arguments: json.loads(printed(*arguments, "--json"))


SMALL = ("--model", "gpt-1.7b", "--accelerators", "16", "--global-batch", "32")


def test_as_typed():
    done = run(0, "--model", "gpt-175b", "--machine", "dgx-a100", "--accelerators", "1024", "--global-batch", "1536")
    assert done.returncode == 0, done.stderr
    text = done.stdout
    assert "gpt-175b (174.6B) on 1,024 accelerators of dgx-a100, 80 GB each" in text
    for framework in ("Megatron-Core:", "torchtitan:"):
        assert f"\n{framework}\n  torchrun --nnodes 128 --nproc-per-node 8" in text
    rows = text.split("limit\n")[1].split("\n\n")[0].splitlines()
    seconds = [float(row.split()[8]) for row in rows]
    assert len(rows) == 10 and seconds == sorted(seconds)
    assert len({tuple(row.split()[:4]) for row in rows}) == 10, "a row for each choice of degrees"


def test_what_it_prints_is_what_the_search_finds(told):
    found = told(*SMALL, "--top", "3")
    space = LayoutSpace(architecture("gpt-1.7b"), cluster("dgx-a100"), 16, 32)
    best = exhaustive(space, 3).best
    assert [one["seconds"] for one in found["best"]] == [one.seconds.total for one in best]
    first = found["best"][0]
    again = predict(space.model, space.machine, LayoutSpec(**first["layout"]), 32)
    assert again.seconds.total == first["seconds"] == pytest.approx(sum(first["terms"].values()))
    assert again.held.total == first["bytes"] == pytest.approx(sum(first["kinds"].values()))
    assert found["layouts"] == space.size() and set(found["commands"]) == {"Megatron-Core", "torchtitan"}


def test_every_option_changes_what_it_says(told, printed, tmp_path):
    plain = told(*SMALL)
    assert len(plain["best"]) > len(told(*SMALL, "--top", "2")["best"]) == 2
    assert told(*SMALL, "--machine", "DGX-H100")["best"][0]["seconds"] < plain["best"][0]["seconds"]
    assert told(*SMALL, "--length", "4096")["best"][0]["seconds"] > 2 * plain["best"][0]["seconds"]
    tight = told(*SMALL, "--memory", "8GB")
    assert all(one["bytes"] <= 8e9 for one in tight["best"]) and max(one["bytes"] for one in plain["best"]) > 8e9
    without = told("--model", "gpt-1.7b", "--accelerators", "16")
    assert without["global_batch"] * without["length"] == program.TOKENS
    models, machines = tmp_path / "models.toml", tmp_path / "machines.toml"
    models.write_text("[mine]\nlayers = 4\nwidth = 512\nheads = 8\nvocabulary = 1000\nlength = 256\n")
    machines.write_text(
        '[old]\naccelerator = "V100 SXM"\nranks_per_node = 4\nlevels = [{ name = "PCIe", ranks = 0, bandwidth = 1e10 }]'
    )
    text = printed("--models", str(models), "--model", "mine", "--machines", str(machines), "--machine", "old",
                   "--accelerators", "4", "--global-batch", "4")  # fmt: skip
    assert "mine (0.0B) on 4 accelerators of old, 16 GB each" in text


def test_nothing_fits_says_what_is_missing_and_what_would_fit():
    done = run(0, "--model", "gpt-1t", "--accelerators", "64")
    assert done.returncode == 2 and not done.stdout and len(done.stderr.splitlines()) == 1
    assert "nothing fits into 80 GB: the layout that needs least" in done.stderr
    assert " more; 256 accelerators would do: " in done.stderr


def test_it_starts_without_torch_numpy_or_mpi():
    """Half of the time of a start would be theirs. MPI is loaded by the command line, which all programs share."""
    loaded = "import sys, reference.planner.search.nearest, reference.planner.command_lines; "
    told = "print(sorted({'torch', 'numpy', 'scipy', 'mpi4py'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", loaded + told], capture_output=True, text=True).stdout == "[]\n"

"""The memory calculator, as an experimenter types it."""

import json
from functools import partial

import pytest

from reference import memory as program
from reference.zero import observed

from . import programs

run = partial(programs.run, "reference.memory")


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


def total(held):
    return sum(held[kind] for kind in program.KINDS)


def test_exercise_9_3_as_typed():
    """E0-33: 332.5 GB for each rank; the program says it, and that no number of ranks helps stage 2."""
    done = run(0, "--parameters", "70e9", "--ranks", "16", "--stage", "2", "--recipe", "adam")
    assert done.returncode == 0, done.stderr
    rows = {line.split("  ")[0]: line.split() for line in done.stdout.splitlines()}
    assert rows["total"][1:5] == ["315", "GB", "332.5", "GB"] and rows["optimizer"][1:5] == ["35", "GB", "35", "GB"]
    assert "It does not fit: 345.6 GB at the peak (reduce), of 80 GB." in done.stdout
    assert "Stage 3 fits on 32 ranks. Stage 2 fits on no number of ranks: each needs 293.4 GB and more." in done.stdout
    assert "A step sends 525 GB from each rank." in done.stdout


def test_bad_input_is_one_line_and_status_2():
    done = run(0, "--ranks", "6", "--shard-group", "4")
    assert done.returncode == 2 and not done.stdout
    assert done.stderr == "python -m reference.memory: --shard-group 4 must divide the 6 --ranks\n"


def test_json_holds_what_the_table_holds(told, printed):
    arguments = ("--parameters", "6.4B", "--ranks", "64", "--stage", "3", "--units", "32")
    found, text = told(*arguments), printed(*arguments)
    assert found["parameters"] == 6.4e9 and found["fits"] and found["peak"]["total"] == total(found["peak"])
    assert total(found["at_the_step"]) == 6.4e9 * 16 / 64 and "1.6 GB" in text and "It fits" in text
    assert found["sent_a_step"]["total"] == 3 * 63 / 64 * 12.8e9
    drawn = [line.split()[0] for line in text.splitlines() if "#" in line]
    assert drawn == [kind for kind in program.KINDS if found["peak"][kind]]


def test_every_option_changes_what_it_says(told):
    def found(*more):
        return told("--parameters", "64e6", "--ranks", "8", "--units", "16", *more)

    plain = found()
    assert total(found("--stage", "0")["at_the_step"]) == 16 * 64e6
    assert found("--bytes", "4,4,4")["recipe"] == {"weights": 4, "gradients": 4, "optimizer": 4}
    assert total(found("--recipe", "sgd")["at_the_step"]) == 64e6
    active = found("--width", "1024", "--tokens", "2048")
    assert active["peak"]["activations"] == 16 * 34 * 1024 * 2048
    again = found("--width", "1024", "--tokens", "2048", "--recompute")
    assert 16 * 2 * 1024 * 2048 < again["peak"]["activations"] < active["peak"]["activations"] / 4
    assert found("--keep-gathered")["peak"]["gathered"] > 10 * plain["peak"]["gathered"] / 2
    assert found("--prefetch", "0")["peak"]["gathered"] < plain["peak"]["gathered"]
    assert total(found("--shard-group", "4")["at_the_step"]) == 2 * total(plain["at_the_step"])
    assert found("--second-copy", "4")["at_the_step"]["weights"] == 2 * 64e6 / 8 + 2 * 64e6 / 4
    assert total(found("--offload", "optimizer")["second_tier"]) == 14 * 64e6 / 8
    assert found("--micro-batches", "4")["sent_a_step"]["total"] == 4 * plain["sent_a_step"]["total"]
    assert (
        found("--micro-batches", "4", "--whole-gradients")["sent_a_step"]["total"] == 3 * plain["sent_a_step"]["total"]
    )
    assert found("--device", "v100 sxm")["memory"] == 16e9


def test_what_a_second_tier_holds_is_shown(printed):
    arguments = ("--parameters", "1B", "--offload", "all")
    assert "second tier" in printed(*arguments) and "second tier" not in printed(*arguments[:2])


def test_the_formulas_are_checked_by_a_run(printed, monkeypatch):
    arguments = ("--check", "--ranks", "3", "--stage", "2")
    assert "equal to the byte on every rank" in printed(*arguments)
    monkeypatch.setitem(observed.STAGE, 2, observed.STAGE[1])
    assert programs.on_ranks(program, 1, *arguments) == [1], "a stage that keeps whole gradients"

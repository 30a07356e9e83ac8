"""The memory of ZeRO: the paper's tables, the formulas as a limit, and the moments of a step."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from reference.perf.recipes import ADAM, ADAM_MIXED, Recipe
from reference.zero.memory import (
    KINDS,
    Held,
    Setting,
    at_step,
    between,
    bytes_a_parameter,
    check,
    largest_model,
    moments,
    peak,
    ranks_needed,
    second_tier,
    states,
)

DATA = Path(__file__).parents[2] / "chapters/data"
GROUPS = (10, 7, 16)


def rows(name):
    return [{key: float(value) for key, value in row.items()} for row in csv.DictReader((DATA / name).open())]


def digit(printed):
    """What a one in the last digit is worth: the paper rounds some of its numbers and cuts others off."""
    return 10.0 ** -len(f"{printed:g}".partition(".")[2])


@pytest.mark.parametrize("row", rows("zero_memory.csv"), ids=str)
def test_table_1_of_the_paper_is_the_formula(row):
    for stage in (1, 2, 3):
        printed = row[f"stage{stage}_GB"]
        assert abs(states(row["parameters_B"], stage, int(row["ranks"])) - printed) < digit(printed)


@pytest.mark.parametrize("row", rows("zero_largest.csv"), ids=str)
def test_table_2_of_the_paper_is_the_formula(row):
    """32 GB a rank; the paper rounds what one rank's share can be, and multiplies by the model-parallel degree."""
    for stage in range(4):
        found = row["model_parallel"] * largest_model(32.0, stage, int(row["gpus"] / row["model_parallel"]))
        assert found == pytest.approx(row[f"stage{stage}_B"], rel=0.025)


@pytest.mark.parametrize("stage", range(4))
@pytest.mark.parametrize("recipe", [ADAM_MIXED, ADAM, Recipe(2, 2, 4)])
def test_where_P_divides_every_group_a_rank_owns_what_the_formula_says(stage, recipe):
    for P in (1, 2, 4):
        setting = Setting((8, 16, 4), P, stage, recipe)
        assert at_step(setting).total == states(28, stage, P, recipe) == 28 * bytes_a_parameter(stage, P, recipe)


def test_padding_is_what_a_rank_holds_too_much():
    for P in (3, 5, 64):
        over = at_step(Setting(GROUPS, P, 3)).total - states(sum(GROUPS), 3, P)
        assert over == pytest.approx(16 * sum(-(-g // P) - g / P for g in GROUPS)) and over > 0
    assert at_step(Setting((10,), 64, 3)).total == 16, "more ranks than elements: one each"
    assert at_step(Setting((10,), 3, 3, elements=(6,))).weights == 12, "shards by rows may be larger"


def test_a_hybrid_shard_is_cut_among_the_ranks_of_its_group():
    assert at_step(Setting((64,), 32, 3, shard_group=8)) == at_step(Setting((64,), 8, 3))


def test_between_steps_shards_have_no_gradients_and_what_is_offloaded_is_elsewhere():
    plain, moved, gone = (Setting(GROUPS, 4, 3, offload=name) for name in ("none", "optimizer", "all"))
    owned = at_step(plain)
    assert between(plain) == owned._replace(gradients=0)
    assert between(moved) == Held(weights=owned.weights) and second_tier(moved) == owned._replace(weights=0)
    assert between(gone) == Held() and second_tier(gone) == owned
    assert between(Setting(GROUPS, 4, 2, offload="optimizer")) == Held(weights=2 * (12 + 8 + 16))


def test_a_second_copy_of_the_weights_costs_its_share_of_them():
    plain, copied = (at_step(Setting((64, 32), 16, 3, secondary=ranks)) for ranks in (0, 8))
    assert copied.weights - plain.weights == 2 * 96 // 8 and copied[1:] == plain[1:]


# Moment by moment -----------------------------------------------------------------------------------------------------


def by_name(setting):
    return {(moment.what, moment.group): moment.held for moment in moments(setting)}


def test_units_of_stage_3_are_gathered_one_ahead_and_freed():
    held = by_name(Setting((8, 8, 8, 8), 4, 3))
    assert [held["forward", i].gathered for i in range(4)] == [32, 32, 32, 16]
    assert [held["backward", i].gathered for i in range(4)] == [16, 32, 32, 32]
    held = by_name(Setting((8, 8, 8, 8), 4, 3, prefetch=0))
    assert {held[what, i].gathered for what in ("forward", "backward") for i in range(4)} == {16}


def test_the_root_is_whole_from_the_forward_to_the_backward_pass():
    plain, rooted = (by_name(Setting((8, 8), 4, 3, root=root)) for root in (0, 6))
    for what in [("forward", 0), ("forward", 1), ("backward", 1), ("reduce", 0)]:
        assert rooted[what].gathered - plain[what].gathered == 2 * 8, "padded"
    assert rooted["reduce", None].buckets == 2 * 6 + 2 * 8 and ("reduce", None) not in plain
    assert at_step(Setting((8, 8), 4, 3, root=6)) == at_step(Setting((8, 8, 6), 4, 3))


def test_units_that_stay_gathered_pile_up_to_the_whole_model():
    held = by_name(Setting((8, 8, 8, 8), 4, 3, reshard=False))
    assert [held["forward", i].gathered for i in range(4)] == [32, 48, 64, 64]
    assert [held["backward", i].gathered for i in range(4)] == [16, 32, 48, 64]


def test_gradients_of_stage_2_leave_shards():
    """Gradients of a group as they are made, the vector into which they are packed, one that is under way."""
    held = by_name(Setting((8, 8, 8), 4, 2, waiting=0))
    told = [(held[what, i].gradients, held[what, i].buckets) for i in (2, 1, 0) for what in ("backward", "reduce")]
    assert told == [(0, 16), (4, 32), (4, 32), (8, 32), (8, 32), (12, 32)]
    assert held["optimizer", None] == at_step(Setting((8, 8, 8), 4, 2)) == Held(48, 12, 72)
    more = by_name(Setting((8, 8, 8), 4, 2))
    assert [more["reduce", i].buckets for i in (2, 1, 0)] == [32, 48, 48]


def test_gradients_of_stages_0_and_1_have_memory_that_stays():
    for stage in (0, 1):
        setting = Setting((8, 8, 8), 4, stage)
        assert {(held.gradients, held.buckets) for held in by_name(setting).values()} == {(48, 0)}
    wider = by_name(Setting((8, 8, 8), 4, 1, reduced=4, waiting=0))
    assert [wider["reduce", i].gradients for i in (2, 1, 0)] == [56, 64, 72] and wider["reduce", 1].buckets == 32
    assert wider["optimizer", None].gradients == 48 + 4 * 6


def test_weights_may_be_rounded_from_the_optimizers_copy():
    """No shard of 16 bits, gradients in 32: other kinds, and 16 bytes a parameter again."""
    setting = Setting((8, 8), 4, 3, reduced=4, rounded=True)
    assert at_step(setting) == Held(0, 16, 48) and at_step(setting).total == states(16, 3, 4)


def test_a_gradient_may_be_wider_once_it_is_packed():
    held = by_name(Setting((8,), 4, 2, reduced=4))
    assert held["reduce", 0].buckets == 2 * 8 + 4 * 8 and held["optimizer", None].gradients == 8


def test_activations_pile_up_and_are_freed():
    held = by_name(Setting((8, 8, 8), 4, 1, activations=(5, 6, 7)))
    assert [held["forward", i].activations for i in range(3)] == [5, 11, 18]
    assert [held["backward", i].activations for i in range(3)] == [5, 11, 18]
    assert held["optimizer", None].activations == 0


def test_one_unit_for_the_whole_model_saves_little_at_the_peak():
    many, one = (peak(Setting(groups, 16, 3)).held.total for groups in ((32,) * 128, (4096,)))
    states_alone = states(4096, 3, 16)
    assert states_alone < many < 1.1 * states_alone and one == 5 * states_alone


def test_the_peak_is_the_largest_moment():
    setting = Setting(GROUPS, 3, 3, activations=(1000, 0, 0))
    assert peak(setting).held.total == max(moment.held.total for moment in moments(setting))
    assert set(KINDS) == set(Held._fields)


# What is asked of the formulas ----------------------------------------------------------------------------------------


def test_exercise_9_3_is_answered_per_rank():
    """E0-33: 70B parameters, float32 Adam, stage 2, 16 ranks: 332.5 GB on each rank, not 20.8 GB."""
    assert states(70e9, 2, 16, ADAM) == 332.5e9
    assert states(70e9, 3, 16, ADAM) == 70e9, "not even stage 3 comes below that"
    exact = at_step(Setting((70 * 10**9,), 16, 2, ADAM))
    assert exact.total == 332.5e9


@pytest.mark.parametrize("stage", range(4))
@pytest.mark.parametrize("parameters", [1e9, 7e9, 70e9])
def test_the_ranks_that_are_needed_are_the_least(stage, parameters):
    P = ranks_needed(parameters, 80e9, stage)
    if P is None:
        assert states(parameters, stage, 10**9) > 80e9
    else:
        assert states(parameters, stage, P) <= 80e9 and (P == 1 or states(parameters, stage, P - 1) > 80e9)


@pytest.mark.parametrize(
    "setting, said",
    [
        (Setting((), 2, 1), "at least 1 parameter"),
        (Setting((3, 0), 2, 1), "at least 1 parameter"),
        (Setting((3,), 0, 1), "at least 1 rank"),
        (Setting((3,), 2, 2, root=3), "a root is for stage 3"),
        (Setting((3,), 2, 4), "the stage is 0, 1, 2 or 3, got 4"),
        (Setting((3,), 6, 3, shard_group=4), "a shard group is of a number of ranks that divides 6, got 4"),
        (Setting((3,), 6, 3, secondary=4), "a second copy is of"),
        (Setting((3,), 6, 2, secondary=2), "for stage 3, got stage 2"),
        (Setting((3,), 6, 2, offload="disk"), "one of none, optimizer, all"),
        (Setting((3,), 6, 2, offload="all"), "offload 'all' needs stage 3, got 2"),
        (Setting((3,), 6, 0, offload="optimizer"), "needs stage 1, got 0"),
        (Setting((3,), 6, 2, activations=(1, 2)), "an entry for each of 1 groups"),
    ],
)
def test_settings_that_make_no_sense_are_refused(setting, said):
    with pytest.raises(ValueError, match=said):
        check(setting)


def test_the_modules_that_a_page_asks_need_no_numpy():
    code = (
        "import sys, reference.zero.memory, reference.zero.volume; print({'numpy', 'torch', 'mpi4py'} & {*sys.modules})"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"

"""Sizing: equal units, what fits, and what would."""

import pytest

from reference.perf.recipes import ADAM
from reference.zero.memory import peak
from reference.zero.sizing import (
    at_stage,
    equal_units,
    fits,
    least_ranks,
    least_stage,
    model_setting,
    size_text,
    verdict,
)

GB = 10**9


def test_units_are_equal_but_for_one():
    assert equal_units(10, 4) == (3, 3, 2, 2) and sum(equal_units(7 * 10**9, 96)) == 7 * 10**9
    with pytest.raises(ValueError, match="units are from 1 to 3, got 4"):
        equal_units(3, 4)


def test_a_layer_keeps_34_bytes_of_a_value_or_its_input():
    kept, again = (model_setting(640, 4, 3, units=8, width=16, tokens=5, recompute=how) for how in (False, True))
    assert kept.kept == [34 * 16 * 5] * 8 and kept.working == 0
    assert again.kept == [2 * 16 * 5] * 8 and again.working == 34 * 16 * 5


def test_what_fits_is_at_the_border():
    setting = model_setting(7 * GB, 64, 3)
    most = peak(setting).held.total
    assert fits(setting, most) and not fits(setting, most - 1)
    for memory in (20 * GB, 30 * GB, 40 * GB, 200 * GB):
        stage = least_stage(setting, memory)
        assert fits(at_stage(setting, stage), memory)
        assert stage == 0 or not fits(at_stage(setting, stage - 1), memory)
    for stage in range(4):
        ranks = least_ranks(setting, stage, 40 * GB)
        assert ranks is None or fits(at_stage(setting, stage, ranks), 40 * GB)
        assert ranks in (None, 1) or not fits(at_stage(setting, stage, ranks // 2), 40 * GB)


def test_another_stage_has_nothing_that_is_for_one_only():
    setting = model_setting(10**6, 8, 3)._replace(root=500, secondary=4, offload="all", shard_group=4)
    assert peak(at_stage(setting, 1)).held.total > 0 and at_stage(setting, 1).parameters == setting.parameters


@pytest.mark.parametrize(
    "arguments, memory, said",
    [
        ((7 * GB, 64, 3), 80 * GB, ["It fits: ", "Stage 1 fits as well."]),
        ((7 * GB, 64, 1), 80 * GB, ["It fits: "]),
        ((7 * GB, 64, 1), 20 * GB, ["It does not fit: ", "On 64 ranks stage 2 fits"]),
        ((70 * GB, 16, 2, ADAM), 80 * GB, ["It does not fit: ", "Stage 3 fits on 32 ranks.", "on no number of ranks"]),
        ((7 * GB, 4, 3, ADAM, 1), 20 * GB, ["It does not fit: ", "No stage fits on any number of ranks: "]),
    ],
)
def test_the_verdict(arguments, memory, said):
    told = " ".join(verdict(model_setting(*arguments), memory))
    assert all(words in told for words in said), told
    assert not told.startswith("It fits") or "does not" not in told


@pytest.mark.parametrize(
    "name, given", [("ranks", (8, 0, 3)), ("parameters", (0, 8, 3)), ("tokens", (8, 8, 3, ADAM, 1, 1, -1))]
)
def test_numbers_that_make_no_sense(name, given):
    with pytest.raises(ValueError, match=f"{name} are"):
        model_setting(*given)


def test_sizes_as_text():
    assert [size_text(n) for n in (5, 1500, 332.5e9, 1.6e15)] == ["5 B", "1.5 kB", "332.5 GB", "1.6 PB"]

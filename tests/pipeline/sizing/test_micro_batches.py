"""Size and number of micro-batches: the best of all, by the simulator and by the closed form, within memory."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.pipeline.schedules.plain import gpipe, one_f_one_b
from reference.pipeline.sizing.micro_batches import affine, best_count, choose, least_seconds, step_seconds, table

FIXED = st.floats(0.01, 10)


@given(st.integers(2, 8), FIXED, FIXED, st.sampled_from([gpipe, one_f_one_b]))
def test_the_simulator_agrees_with_the_closed_form(p, fixed, slope, schedule):
    rows = table(24, p, affine(fixed, slope), schedule)
    assert [row.b for row in rows] == [1, 2, 3, 4, 6, 8, 12, 24] and all(row.b * row.m == 24 for row in rows)
    whole = 3 * fixed, 3 * slope * 24
    for row in rows:
        assert row.seconds == pytest.approx(step_seconds(p, row.m, *whole))
        assert row.bubble == pytest.approx((p - 1) / (row.m + p - 1))
        assert row.seconds >= least_seconds(p, *whole) * (1 - 1e-9)
    assert choose(24, p, affine(fixed, slope), schedule).seconds == min(row.seconds for row in rows)
    assert step_seconds(p, best_count(p, *whole), *whole) == pytest.approx(least_seconds(p, *whole))


def test_in_numbers():
    """Eight stages, 128 samples of 6 ms a stage and pass, 4 ms for a pass as such: 37 micro-batches, so 32 of 4."""
    costs = affine(fixed=0.004, slope=0.006)
    assert best_count(8, 3 * 0.004, 3 * 0.006 * 128) == pytest.approx(36.7, abs=0.1)
    seconds = {row.m: round(row.seconds, 2) for row in table(128, 8, costs)}
    assert seconds == {128: 4.05, 64: 3.41, 32: 3.28, 16: 3.59, 8: 4.5, 4: 6.47, 2: 10.48, 1: 18.53}
    assert choose(128, 8, costs)[:2] == (4, 32)
    assert best_count(8, 0.0, 1.0) == inf and choose(128, 8, affine(0.0, 0.006)).m == 128  # nothing speaks against it


def test_memory_limits_the_size_and_not_the_number():
    """1F1B keeps 8 micro-batches on the first of 8 stages, GPipe all 128 samples, however they are cut."""
    how = {"weights": 20.0, "kept": 1.0}
    assert {row.nbytes for row in table(128, 8, affine(1, 1), gpipe, **how)} == {148.0}
    assert [row.nbytes for row in table(128, 8, affine(1, 1), **how)] == [28, 36, 52, 84, 148, 148, 148, 148]
    free = choose(128, 8, affine(1.0, 0.1), **how)
    tight = choose(128, 8, affine(1.0, 0.1), **how, memory=40.0)
    assert (free.b, tight.b) == (16, 2) and tight.seconds > free.seconds
    with pytest.raises(ValueError, match=r"128 of 1 sample\(s\) a rank still needs 28, 20 of them for weights"):
        choose(128, 8, affine(1, 1), **how, memory=27.0)


@pytest.mark.parametrize("batch", [0, -3, 2.0])
def test_a_batch_has_samples(batch):
    with pytest.raises(ValueError, match=rf"batch \(samples\) must be a whole number of at least 1, got {batch}"):
        choose(batch, 4, affine(1.0, 1.0))


def test_messages_speak_for_fewer_by_their_latency_only():
    quick, slow = (choose(64, 4, affine(0.0, 1.0, alpha=alpha)) for alpha in (0.0, 0.5))
    assert quick.m == 64 and slow.m < 64
    assert choose(64, 4, affine(0.0, 1.0, beta=0.5)).m == 64


def test_four_times_p_is_a_rule_for_one_price_of_a_pass():
    """m / p of the best m, for what a batch takes in units of what a micro-batch wastes; 4 where that is about 16 p.

    What m = 4 p loses there: the optimum is flat, so within a factor of 16 it loses little.
    """
    best = {ratio: best_count(8, 1.0, ratio) / 8 for ratio in (16, 64, 16 * 64 / 7, 1024, 4096)}
    assert list(best.values()) == pytest.approx([1.32, 2.65, 4.0, 10.6, 21.2], rel=0.01)
    lost = {ratio: step_seconds(8, 32, 1.0, ratio) / least_seconds(8, 1.0, ratio) - 1 for ratio in best}
    assert list(lost.values()) == pytest.approx([0.325, 0.032, 0.0, 0.072, 0.133], abs=0.001)

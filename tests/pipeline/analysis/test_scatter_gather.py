"""Scatter/gather and interleaving with the numbers of the paper: GPT-3 on 12 nodes of 8 A100, t = 8, p = 12."""

import math

import pytest

from reference.networks.links import link
from reference.pipeline.analysis.published import read_rows
from reference.pipeline.analysis.scatter_gather import best_chunks, plain, scatter_gather, step_seconds
from reference.pipeline.schedules.interleaved import interleaved
from reference.pipeline.simulate import Costs, simulate

BOUNDARY = 2048 * 12288 * 2  # bytes: s h in 16 bits
SLOW, FAST = link("InfiniBand HDR").bandwidth, link("NVLink 3").bandwidth
BEFORE, AFTER = plain(BOUNDARY, SLOW), scatter_gather(BOUNDARY, 8, SLOW, FAST)
FLOP = 96 * 2048 * 96 * 12288**2 * (1 + 2048 / (6 * 12288) + 51200 / (16 * 96 * 12288))  # of a sequence, equation (3)
SHARE = FLOP / 96 / 165e12  # seconds on one of 96 GPUs at 165 TFLOP/s


def gain(m, v, message):
    return step_seconds(12, m, 1, SHARE, message) / step_seconds(12, m, v, SHARE, message) - 1


def test_a_message_is_five_times_quicker():
    assert pytest.approx([2.013, 0.398], abs=1e-3) == [1e3 * BEFORE, 1e3 * AFTER]
    assert scatter_gather(BOUNDARY, 1, SLOW, FAST) == BEFORE
    assert scatter_gather(BOUNDARY, 8, SLOW, math.inf) == BEFORE / 8


def test_a_step_in_which_every_pass_waits_for_its_message():
    p, m, v, F, B, c = 3, 6, 2, 1.0, 2.0, 0.25
    times = simulate(interleaved(p, m, v), Costs(F=F / v + c, B=B / v + c))
    assert times.makespan == step_seconds(p, m, v, F + B, c)


def test_its_gain_is_the_same_for_any_batch_and_grows_with_chunks():
    """Measured: 11 to 12 % for batches of 12 to 60 (figure 18); the paper does not say for how many chunks."""
    found = {
        v: step_seconds(12, 12, v, SHARE, BEFORE) / step_seconds(12, 12, v, SHARE, AFTER) - 1 for v in (1, 2, 4, 8)
    }
    assert found == pytest.approx({1: 0.017, 2: 0.035, 4: 0.069, 8: 0.135}, abs=1e-3)
    assert found[4] == pytest.approx(step_seconds(12, 60, 4, SHARE, BEFORE) / step_seconds(12, 60, 4, SHARE, AFTER) - 1)
    rows = [row for row in read_rows("megatron") if row["source"] == "figure 18"]
    by = {(row["scatter_gather"], row["batch"]): row["tflops"] for row in rows}
    measured = [by["yes", m] / by["no", m] - 1 for m in (12, 24, 36, 48, 60)]
    assert all(found[4] < gained < found[8] for gained in measured)
    assert max(measured) - min(measured) < 0.02


def test_interleaving_gains_less_the_larger_the_batch():
    """Measured (figure 12): 45, 23, 16, 10, 8 %, between what two and four chunks would give."""
    batches = (12, 24, 36, 48, 60)
    assert [gain(m, 2, AFTER) for m in batches] == pytest.approx([0.309, 0.181, 0.128, 0.098, 0.079], abs=1e-3)
    assert [gain(m, 4, AFTER) for m in batches] == pytest.approx([0.540, 0.292, 0.198, 0.148, 0.117], abs=1e-3)
    rows = [row for row in read_rows("megatron") if row["source"] == "figure 12"]
    by = {(row["interleaved"], row["batch"]): row["tflops"] for row in rows}
    for m in batches:
        assert gain(m, 2, AFTER) < by["yes", m] / by["no", m] - 1 < gain(m, 4, AFTER)


def test_without_it_large_batches_are_better_not_interleaved():
    """As the paper says, without showing it."""
    assert [gain(m, 4, BEFORE) > 0 for m in (12, 60, 384, 1536)] == [True, True, False, False]
    assert gain(384, 2, AFTER) > 0 > gain(384, 2, BEFORE)
    choices = (1, 2, 4, 8)
    assert [best_chunks(12, m, SHARE, BEFORE, choices) for m in (12, 60, 384, 1536)] == [8, 4, 1, 1]
    assert [best_chunks(12, m, SHARE, AFTER, choices) for m in (12, 60, 384, 1536)] == [8, 8, 2, 1]
    v = best_chunks(12, 60, SHARE, AFTER, range(1, 97))
    assert v == round(math.sqrt(11 * SHARE / (2 * AFTER * 60))) == 7

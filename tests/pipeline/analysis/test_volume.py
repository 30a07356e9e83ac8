"""Bytes of pipelines: as the executor sends them, by formula, and beside those of tensor parallelism."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.collectives.ring import ring_allreduce
from reference.models import GPT, TINY, Data, text
from reference.mpi import compute
from reference.networks import uniform
from reference.networks.links import link
from reference.perf.roofline import device
from reference.pipeline.analysis.published import read_rows
from reference.pipeline.analysis.validate import validate
from reference.pipeline.analysis.volume import (
    boundary,
    contiguous,
    crossings,
    cyclic,
    one_at_a_time,
    pipeline_bytes,
    pipeline_seconds,
    scatter_gather,
    send_whole,
    sent,
    step_with_messages,
    tensor_bytes,
    tensor_seconds,
)
from reference.pipeline.schedules import make
from reference.pipeline.schedules.interleaved import interleaved
from reference.pipeline.schedules.plain import gpipe, one_f_one_b
from reference.pipeline.simulate import Costs, simulate
from reference.worlds import launch

from ..programs import run


@pytest.mark.parametrize("name, p, m, v, b, s", [("1F1B", 3, 4, 1, 2, 8), ("interleaved 1F1B", 2, 2, 2, 2, 16)])
def test_the_executor_sends_b_s_h_for_each_cut_and_micro_batch(name, p, m, v, b, s):
    """Beside what a step with empty micro-batches sends: counts, the loss, the tied weight's sums."""
    gpt = lambda: GPT(TINY._replace(layers=4, length=s), seed=1)  # noqa: E731
    data, schedule, n = text(s), make(name, p, m, v), boundary(b, s, TINY.width, itemsize=4)
    batches = [Data(data.x[b * i : b * i + b], data.y[b * i : b * i + b]) for i in range(m)]
    empty = [Data(batch.x[:0], batch.y[:0]) for batch in batches]
    assert sum(sent(schedule, n)) == pipeline_bytes(p, m, n, v) == 2 * (p * v - 1) * m * n
    first = batches, empty  # shapes are agreed here
    both, rest = (run(schedule, gpt, *first, last).bytes_sent for last in (batches, empty))
    assert [b - a for a, b in zip(rest, both)] == sent(schedule, n)


@given(st.integers(1, 6), st.integers(1, 8), st.integers(1, 3))
def test_bytes_by_formula(p, m, v):
    schedule = make("interleaved 1F1B", p, m, v) if v > 1 else gpipe(p, m)
    each = sent(schedule, 1.0)
    assert sum(each) == pipeline_bytes(p, m, 1.0, v)
    assert max(each) <= 2 * m * v
    assert pipeline_bytes(4, m, 1.0, v) / pipeline_bytes(4, m, 1.0) == pytest.approx((4 * v - 1) / 3)


@given(st.integers(1, 6), st.integers(1, 12), st.integers(1, 3))
def test_dealing_layers_out_in_turn_sends_more_and_is_no_faster(p, layers, m):
    p = min(p, layers)
    found = {}
    for place in (contiguous, cyclic):
        schedule = one_at_a_time(place(layers, p), m)
        validate(schedule)
        assert sum(sent(schedule, 1.0)) == 2 * m * crossings(place(layers, p))
        found[place] = crossings(place(layers, p)), simulate(schedule)
    assert found[contiguous][0] == p - 1 and found[cyclic][0] == (layers - 1 if p > 1 else 0)
    for _, times in found.values():
        assert times.makespan == 3 * layers * m and 1 - times.bubble == pytest.approx(1 / p)


def test_tensor_against_pipeline():
    """80 layers of width 8,192, one sequence of 4,096 tokens a micro-batch, 8 ranks: what share of a step is lost.

    To messages within a machine and between machines, if layers are cut; to bubble and messages between machines, for
    8, 32 and 128 micro-batches, if the model is cut between layers.
    """
    n = boundary(1, 4096, 8192)
    assert n / 1e6 == pytest.approx(67.1, abs=0.05)
    assert tensor_bytes(8, 80, 1, n) / 1e9 == pytest.approx(37.6, abs=0.05)
    assert max(sent(one_f_one_b(8, 1), n)) / 1e9 == pytest.approx(0.134, abs=0.001)
    flops = 3 * 4096 * 80 * (24 * 8192**2 + 4 * 8192 * 2048)
    seconds = flops / device("H100 SXM", 0.5).flops
    within, between = ((1e-6, 1 / link(name).bandwidth) for name in ("NVLink 4", "InfiniBand NDR"))
    ideal = {m: m * seconds / 8 for m in (8, 32, 128)}
    assert seconds / 8 == pytest.approx(0.417, abs=0.001)
    share = lambda step, m: round(1 - ideal[m] / step, 3)  # noqa: E731
    tensor = [share(tensor_seconds(8, 80, 32, seconds, n, *how), 32) for how in (within, between)]
    assert tensor == [0.174, 0.645]
    pipeline = [share(pipeline_seconds(8, m, seconds, n, *between), m) for m in ideal]
    assert pipeline == [0.47, 0.184, 0.057]  # of which the bubble is 0.467, 0.179 and 0.052


def test_tensor_seconds_are_those_of_the_virtual_cluster():
    """Three layers whose sums go round a ring, two micro-batches."""

    def program(comm):
        for _ in range(2):
            compute(comm, 3.0 / comm.size)
            for _ in range(3 * 4):
                ring_allreduce(comm, np.ones(8, np.float32))

    run = launch(program, 4, network=uniform(0.01, 0.001))
    assert run.seconds == pytest.approx(tensor_seconds(4, 3, 2, 3.0, 32, 0.01, 0.001))
    assert run.bytes_sent[0] == tensor_bytes(4, 3, 2, 32)
    assert tensor_seconds(1, 3, 2, 3.0, 32, 0.01, 0.001) == 6.0 and tensor_bytes(1, 3, 2, 32) == 0


# Scatter/gather, with the numbers of the paper: GPT-3 on 12 nodes of 8 A100, t = 8, p = 12


BOUNDARY = 2048 * 12288 * 2  # bytes: s h in 16 bits
SLOW, FAST = link("InfiniBand HDR").bandwidth, link("NVLink 3").bandwidth
BEFORE, AFTER = send_whole(BOUNDARY, SLOW), scatter_gather(BOUNDARY, 8, SLOW, FAST)
FLOP = 96 * 2048 * 96 * 12288**2 * (1 + 2048 / (6 * 12288) + 51200 / (16 * 96 * 12288))  # of a sequence, equation (3)
SHARE = FLOP / 96 / 165e12  # seconds on one of 96 GPUs at 165 TFLOP/s


def best_chunks(p, m, share, message, choices):
    """The v of `choices` with the shortest step."""
    return min(choices, key=lambda v: step_with_messages(p, m, v, share, message))


def gain(m, v, message):
    return step_with_messages(12, m, 1, SHARE, message) / step_with_messages(12, m, v, SHARE, message) - 1


def test_a_message_is_five_times_quicker():
    assert pytest.approx([2.013, 0.398], abs=1e-3) == [1e3 * BEFORE, 1e3 * AFTER]
    assert scatter_gather(BOUNDARY, 1, SLOW, FAST) == BEFORE
    assert scatter_gather(BOUNDARY, 8, SLOW, math.inf) == BEFORE / 8


def test_a_step_in_which_every_pass_waits_for_its_message():
    p, m, v, F, B, c = 3, 6, 2, 1.0, 2.0, 0.25
    times = simulate(interleaved(p, m, v), Costs(F=F / v + c, B=B / v + c))
    assert times.makespan == step_with_messages(p, m, v, F + B, c)


def test_its_gain_is_the_same_for_any_batch_and_grows_with_chunks():
    """Measured: 11 to 12 % for batches of 12 to 60 (figure 18); the paper does not say for how many chunks."""
    found = {
        v: step_with_messages(12, 12, v, SHARE, BEFORE) / step_with_messages(12, 12, v, SHARE, AFTER) - 1
        for v in (1, 2, 4, 8)
    }
    assert found == pytest.approx({1: 0.017, 2: 0.035, 4: 0.069, 8: 0.135}, abs=1e-3)
    assert found[4] == pytest.approx(
        step_with_messages(12, 60, 4, SHARE, BEFORE) / step_with_messages(12, 60, 4, SHARE, AFTER) - 1
    )
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

"""Bytes of pipelines: as the executor sends them, by formula, and beside those of tensor parallelism."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.collectives.ring import ring_allreduce
from reference.models import GPT, TINY, Data, text
from reference.mpi import compute
from reference.networks.links import link
from reference.networks.network import uniform
from reference.perf.roofline import device
from reference.pipeline.analysis.validate import validate
from reference.pipeline.analysis.volume import (
    boundary,
    contiguous,
    crossings,
    cyclic,
    one_at_a_time,
    pipeline_bytes,
    pipeline_seconds,
    sent,
    tensor_bytes,
    tensor_seconds,
)
from reference.pipeline.schedules import make
from reference.pipeline.schedules.plain import gpipe, one_f_one_b
from reference.pipeline.simulate import simulate
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


@settings(max_examples=40)
@given(st.integers(1, 6), st.integers(1, 8), st.integers(1, 3))
def test_bytes_by_formula(p, m, v):
    schedule = make("interleaved 1F1B", p, m, v) if v > 1 else gpipe(p, m)
    each = sent(schedule, 1.0)
    assert sum(each) == pipeline_bytes(p, m, 1.0, v)
    assert max(each) <= 2 * m * v
    assert pipeline_bytes(4, m, 1.0, v) / pipeline_bytes(4, m, 1.0) == pytest.approx((4 * v - 1) / 3)


@settings(max_examples=40)
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

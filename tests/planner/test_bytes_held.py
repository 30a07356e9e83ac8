"""Memory of a layout: the formulas of Korthikanti et al. (2022) and of ZeRO, whose figures are outputs of formulas."""

from __future__ import annotations

import pytest

from reference.planner.architecture import architecture
from reference.planner.bytes_held import alive, held, layer_activations
from reference.planner.cluster import cluster
from reference.planner.spec import LayoutSpec
from reference.zero.memory import states

DGX = cluster("dgx-a100")
GIB = 2**30
# Figure 1: model, stages, chunks, micro-batch, GiB of activations on the first rank without and with the remedies.
FIGURE_1 = [
    ("gpt-22b", 1, 1, 4, 59.25, 9.5625),
    ("gpt-175b", 8, 3, 1, 66.84375, 12.3515625),
    ("gpt-530b", 35, 3, 1, 114.0234375, 23.076171875),
    ("gpt-1t", 64, 1, 1, 131.25, 26.5625),
]
# Figure 7: percent of what tensor parallelism alone keeps: sequence parallel, selective, both, full. Read from a plot.
FIGURE_7 = {
    "gpt-22b": (66.84, 49.42, 16.18, 7.64),
    "gpt-175b": (62.04, 56.53, 18.49, 8.71),
    "gpt-530b": (58.31, 62.04, 20.27, 9.42),
}


@pytest.mark.parametrize("name, stages, chunks, b, plain, both", FIGURE_1)
def test_figure_1_of_korthikanti(name, stages, chunks, b, plain, both):
    model = architecture(name)
    spec = LayoutSpec(1, 8, stages, chunks=chunks, micro_batch=b, flash=False, sequence_parallel=False)
    for layout, printed in (
        (spec, plain),
        (spec._replace(sequence_parallel=True, recompute="selective"), both),
    ):
        layers = model.layers / stages * alive(layout, 4 * stages)
        assert layers * layer_activations(model, layout, 2048) / GIB == pytest.approx(printed, rel=1e-6)


@pytest.mark.parametrize("name", FIGURE_7)
def test_figure_7_of_korthikanti(name):
    model, plain = architecture(name), LayoutSpec(tensor=8, flash=False, sequence_parallel=False)
    remedies = [
        plain._replace(sequence_parallel=True),
        plain._replace(recompute="selective"),
        plain._replace(sequence_parallel=True, recompute="selective"),
        plain._replace(recompute="full"),
    ]
    whole = layer_activations(model, plain, 2048)
    percent = [100 * layer_activations(model, layout, 2048) / whole for layout in remedies]
    assert percent == pytest.approx(FIGURE_7[name], abs=0.15)


@pytest.mark.parametrize("stage", range(4))
def test_states_are_those_of_zero(stage):
    model, spec = architecture("llama2-7b"), LayoutSpec(data=64, zero=stage)
    got = held(model, spec, DGX, 64)
    assert got.weights + got.gradients + got.optimizer == pytest.approx(
        states(model.parameters() - model.width, stage, 64)
    )


def test_the_last_stage_holds_the_head_and_the_first_the_most_micro_batches():
    small, model = architecture("gpt-1.7b"), architecture("llama3-8b")
    many = held(model, LayoutSpec(stages=4), DGX, 64)
    assert many.logits == 0 and many.activations > 0  # the first: four micro-batches alive
    one = held(model, LayoutSpec(stages=4, recompute="full"), DGX, 1)
    assert one.logits > 0  # the last: one micro-batch, so logits decide
    assert held(small, LayoutSpec(), DGX, 1).logits == 2048 * 51200 * 14


def test_context_and_data_shard_the_optimizer_alike():
    model = architecture("llama3-8b")
    by_data, by_both = LayoutSpec(data=8, zero=1), LayoutSpec(data=4, context=2, zero=1)
    a, b = held(model, by_data, DGX, 8), held(model, by_both, DGX, 8)
    assert a.optimizer == b.optimizer and b.activations == a.activations / 2

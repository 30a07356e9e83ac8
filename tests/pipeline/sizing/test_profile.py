"""Profiles: the layers add up to the model, and what is cut by them is balanced."""

import pytest
import torch

from reference.models import CNN, GPT, MLP, TINY, Data, cross_entropy_sum, text
from reference.networks import uniform
from reference.perf.meter import Meter
from reference.perf.recipes import ADAM, ADAM_MIXED
from reference.perf.roofline import device
from reference.pipeline.runtime.executor import Pipeline
from reference.pipeline.schedules.plain import one_f_one_b
from reference.pipeline.simulate import simulate
from reference.pipeline.sizing.micro_batches import choose
from reference.pipeline.sizing.partition import cut_costs, equal_counts, partition
from reference.pipeline.sizing.profile import profile, stopwatch, transformer
from reference.pipeline.stages import cut
from reference.worlds import launch

CORE = device("CPU core")
TOKENS = torch.arange(64).view(2, 32)
CASES = {
    "MLP": (MLP((64, 48, 32, 10)), torch.ones(16, 64)),
    "CNN": (CNN((8, 16), batch_norm=True), torch.ones(16, 64)),
    "GPT": (GPT(TINY), TOKENS),
}


@pytest.mark.parametrize("name", CASES)
def test_the_layers_add_up_to_the_model(name):
    model, x = CASES[name]
    for weight in model.parameters():
        weight.grad = torch.zeros_like(weight)  # as after the first micro-batch
    with Meter(None, CORE, model) as meter:
        y = model(x)
        forward, kept = meter.total.seconds, meter.live["activations"]
        y.backward(torch.ones_like(y))
    for weight in model.parameters():
        weight.grad = None
    layers = profile(model, x, CORE)
    assert sum(layer.forward for layer in layers) == pytest.approx(forward)
    backward = meter.by_label["backward"].seconds
    assert sum(layer.backward for layer in layers) == pytest.approx(backward, rel=0.05)  # a tied weight's two are added
    unsaved = sum(layer.sent for layer in layers[:-1:2]) if name == "MLP" else 0  # a ReLU saves its output
    assert sum(layer.kept for layer in layers) == kept + unsaved and layers[-1].sent == y.nbytes
    tied = model.head.weight.numel() if name == "GPT" else 0
    assert sum(layer.weights for layer in layers) == (sum(w.numel() for w in model.parameters()) + tied) * sum(ADAM)
    assert all(weight.grad is None for weight in model.parameters())


def test_a_stopwatch_sees_the_time_that_passes():
    """On the virtual cluster a rank's clock is charged by the Meter, so the stopwatch gives what the profile gives."""
    model, x = CASES["MLP"]

    def program(comm):
        with Meter(comm, CORE):
            return stopwatch(comm, model, x, repeat=2)

    watched, reckoned = launch(program, 1).results[0], profile(model, x, CORE)
    for a, b in zip(watched, reckoned, strict=True):
        assert a[:2] == pytest.approx(b[:2]) and a[2:] == b[2:]


def gemma(tokens=32768):
    """The shape of Gemma 3 4B (2025): 34 blocks of width 2560, five of six looking back 1,024 tokens; 262,144 words."""
    keys = [tokens / 2 if i % 6 == 5 else 1024 for i in range(34)]
    return transformer(2560, keys, 262144, tokens, device("H100 SXM", 0.5).flops)


def test_a_transformer_by_formula_has_the_flops_of_the_meter():
    config = TINY._replace(layers=1, width=64, tied=False)
    x = torch.zeros(2, 32, dtype=torch.long)
    counted = [layer.forward for layer in profile(GPT(config), x, CORE._replace(bandwidth=float("inf")))]
    reckoned = transformer(64, [32], 256, 64, CORE.flops)  # flops.py counts the whole square of scores
    assert [layer.forward for layer in reckoned] == pytest.approx(counted)
    assert reckoned[1].weights == 16 * (12 * 64**2 + 13 * 64) == profile(GPT(config), x, CORE, ADAM_MIXED)[1].weights
    assert reckoned[1].backward == 2 * reckoned[1].forward and reckoned[1].sent == 2 * 64 * 64


def test_equal_numbers_of_layers_are_no_equal_stages():
    """A head of 8 blocks, and blocks that see the whole sequence beside others: the step falls by a quarter."""
    layers = gemma()
    block = layers[1].forward
    assert [round(layers[i].forward / block, 2) for i in (0, 1, 6, -1)] == [0.0, 1.0, 1.94, 8.0]
    found = {}
    for name, ends in (("equal", equal_counts(36, 4)), ("cost", partition(layers, 4).ends)):
        times = simulate(one_f_one_b(4, 16), cut_costs(layers, ends))
        found[name] = ends, round(times.makespan, 2), round(times.bubble, 3)
    assert found["equal"] == ((9, 18, 27, 36), 10.03, 0.379)
    assert found["cost"] == ((12, 22, 32, 36), 7.49, 0.169)  # equal stages: 3 / 19 = 0.158


def test_a_layer_is_the_limit_of_all_cuts():
    """On 8 stages the head alone is a third above the mean: no cut helps, only a head that is cut itself."""
    layers = gemma()
    cut8 = partition(layers, 8)
    head = layers[-1].forward + layers[-1].backward
    mean = sum(layer.forward + layer.backward for layer in layers) / 8
    assert cut8.sizes[-1] == 1 and cut8.seconds == pytest.approx(head) and head / mean == pytest.approx(1.37, abs=0.01)


@pytest.mark.parametrize("name", CASES)
def test_the_profile_and_the_cut_speak_of_the_same_layers(name):
    model, x = CASES[name]
    stages = cut(model, partition(profile(model, x, CORE), 2).ends)
    torch.testing.assert_close(stages[1].eval()(stages[0].eval()(x)), model.eval()(x))
    model.train()


def test_the_step_is_the_one_that_the_profile_promised():
    """From the profile by the cut to the executor: six blocks and a large head, 1F1B on four ranks.

    Within 1 %: the first micro-batch has no gradients to add to. The cut by cost saves a fifth.
    """
    gpt = lambda: GPT(TINY._replace(layers=6, vocabulary=1024, tied=False), seed=1)  # noqa: E731
    data, schedule = text(32), one_f_one_b(4, 8)
    batches = [Data(data.x[4 * i : 4 * i + 4], data.y[4 * i : 4 * i + 4]) for i in range(8)]
    layers = profile(gpt(), batches[0].x, CORE, loss=lambda logits: cross_entropy_sum(logits, batches[0].y))

    def program(comm, ends):
        with Meter(comm, CORE):
            pipeline = Pipeline(comm, schedule, {comm.rank: cut(gpt(), ends)[comm.rank]})
            pipeline.step(batches)
        return pipeline.times().makespan

    found = {}
    for ends in (equal_counts(8, 4), partition(layers, 4).ends):
        found[ends] = launch(program, 4, ends, network=uniform(0, 0)).results[0]
        assert found[ends] == pytest.approx(simulate(schedule, cut_costs(layers, ends)).makespan, rel=0.01)
    assert list(found) == [(2, 4, 6, 8), (3, 5, 7, 8)]
    assert list(found.values()) == pytest.approx([12.29e-3, 9.89e-3], rel=0.01)


def test_small_micro_batches_are_dear_where_each_operation_has_a_price():
    """Launching takes 5 us, and a model this small nothing else: one micro-batch of 16 is best, and not 4 p = 8."""
    gpt, x = GPT(TINY), text(32).x
    gpu = device("A100 SXM", 0.8, overhead=5e-6)
    found = {b: profile(gpt, x[:b], gpu) for b in (1, 2, 4, 8, 16)}
    each = {b: sum(layer.forward + layer.backward for layer in layers) / b for b, layers in found.items()}
    assert each[1] / each[16] == pytest.approx(15, rel=0.1)
    ends = partition(found[4], 2).ends
    assert choose(16, 2, lambda b: cut_costs(found[b], ends))[:2] == (16, 1)

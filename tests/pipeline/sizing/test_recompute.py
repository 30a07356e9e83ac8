"""Store or recompute: what a layer keeps, the cheapest of all choices, and what a step costs then."""

from itertools import product
from math import inf

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from reference.models.gpt import Block, Config
from reference.networks.links import link
from reference.perf.meter import Meter
from reference.perf.roofline import device
from reference.pipeline.schedules.plain import gpipe, one_f_one_b
from reference.pipeline.simulate import activations, simulate
from reference.pipeline.sizing.partition import LayerProfile, cut_costs, partition
from reference.pipeline.sizing.profile import transformer
from reference.pipeline.sizing.recompute import (
    adaptive,
    break_even,
    cheapest,
    layer_bytes,
    plans,
    recompute_factor,
    recomputing,
)

RATE = device("H100 SXM", 0.5).flops
whole = st.integers(0, 9).map(float)
LAYERS = st.lists(
    st.builds(LayerProfile, forward=whole, backward=whole, kept=whole, sent=whole), min_size=1, max_size=7
)


class Dropout(nn.Module):
    """As on a GPU: the mask is a byte an element. (Torch's own on the CPU multiplies by a mask of the input's type.)"""

    def forward(self, x):
        return torch.native_dropout(x, 0.1, True)[0]


class Scores(nn.Module):
    """Attention whose scores are kept: softmax, dropout and its mask, as before kernels that fuse them."""

    def __init__(self, attention):
        super().__init__()
        self.attention, self.dropout = attention, Dropout()

    def forward(self, x):
        a, (b, s, h) = self.attention, x.shape
        q, k, v = a.qkv(x).view(b, s, a.heads, 3 * h // a.heads).transpose(1, 2).chunk(3, dim=-1)
        y = self.dropout((q @ k.transpose(-1, -2)).softmax(-1)) @ v
        return a.out(y.transpose(1, 2).reshape(b, s, h))


@pytest.mark.parametrize("b, s, h, a", [(2, 64, 64, 4), (1, 128, 64, 8)])
def test_a_layer_keeps_what_korthikanti_says(b, s, h, a):
    """Counted by the Meter on our block in bfloat16. More: each token's mean and deviation, and each head's sum."""
    block = Block(Config(length=s, width=h, heads=a)).bfloat16()
    block.dropout = Dropout()
    x = torch.ones(b, s, h, dtype=torch.bfloat16, requires_grad=True)

    def kept():
        with Meter(module=block) as meter:
            y = block(x)
            nbytes = meter.live["activations"]
        del y  # alive until here
        return nbytes / (s * b * h)

    assert kept() == pytest.approx(34, rel=0.02) and layer_bytes(b, s, h, a, scores=False) == 34 * s * b * h
    block.attention = Scores(block.attention)
    assert kept() == pytest.approx(34 + 5 * a * s / h, rel=0.003)
    assert layer_bytes(b, s, h, a) == s * b * h * (34 + 5 * a * s / h)


def test_published_memory():
    """GPT-3's layer, s = 2,048: 2.9 GB a sequence, of which scores are 70 % of the bytes and 3 % of the FLOPs."""
    assert layer_bytes(1, 2048, 12288, 96) == pytest.approx(2.87e9, rel=0.01)
    scores = 1 - layer_bytes(1, 2048, 12288, 96, scores=False) / layer_bytes(1, 2048, 12288, 96)
    assert scores == pytest.approx(0.70, abs=0.005)
    flops = 4 * 2048 / (24 * 12288 + 4 * 2048)
    assert flops == pytest.approx(0.027, abs=0.001)


@pytest.mark.parametrize("schedule", [gpipe, one_f_one_b])
def test_recomputing_all_costs_a_third(schedule):
    layers = [LayerProfile(1.0, 2.0, kept=10.0, sent=1.0)] * 8
    ends = partition(layers, 4).ends
    order = schedule(4, 12)
    live = activations(order)
    found = plans(layers, ends, live, memory=max(live) * 2 + 10)
    assert {len(plan.layers) for plan in found} == {2}
    everything = [plan._replace(seconds=2.0) for plan in found]
    once, again = simulate(order, cut_costs(layers, ends)), simulate(order, recomputing(layers, ends, everything))
    assert again.makespan / once.makespan == pytest.approx(4 / 3) == recompute_factor(1.0, 2.0)


def test_growth_as_it_was_measured():
    """A layer of a model of 22 B: 7.7 ms and 11.9 ms, with recomputing 27.2 ms (Korthikanti et al. 2022, table 4)."""
    assert recompute_factor(7.7, 11.9) == pytest.approx(27.2 / 19.6, rel=0.005)


@given(LAYERS, st.integers(1, 4), st.integers(0, 120))
def test_the_cheapest_of_all_choices(layers, live, room):
    largest = max(layer.kept for layer in layers)

    def price(choice):
        held = live * sum(layer.sent if again else layer.kept for layer, again in zip(layers, choice))
        fits = held + (largest if any(choice) else 0) <= room
        return sum(layer.forward for layer, again in zip(layers, choice) if again) if fits else inf

    best = min(map(price, product([False, True], repeat=len(layers))))
    plan = cheapest(layers, live, room)
    assert (inf if plan is None else plan.seconds) == best
    if plan:
        again = [i in plan.layers for i in range(len(layers))]
        assert price(again) == best and plan.kept == sum(x.sent if r else x.kept for x, r in zip(layers, again))


def test_scores_are_recomputed_first():
    """GPT-3's layer in two parts: 70 % of the bytes come back for 3 % of the FLOPs."""
    sbh, scores = layer_bytes(1, 2048, 12288, 96, scores=False), 5 * 96 * 2048**2
    parts = [LayerProfile(24 * 12288, 0.0, kept=sbh, sent=sbh / 17), LayerProfile(4 * 2048, 0.0, kept=scores, sent=0.0)]
    assert cheapest(parts, live=8, room=8 * sbh + scores).layers == (1,)
    assert cheapest(parts, live=8, room=8 * sbh + scores - 1).layers == (0, 1)


def gpt(blocks=64):
    """Width 4,096, 4,096 tokens, 32,768 words: 13.4 billion parameters."""
    return transformer(4096, [2048] * blocks, 32768, 4096, RATE)


def test_the_first_stages_recompute_and_the_others_wait_unless_they_take_layers_over():
    """Eight ranks of 48 GB, where the first would need 64.7: steps in units of one without a limit."""
    layers, p, order = gpt(), 8, one_f_one_b(8, 32)
    live, ends = activations(order), partition(layers, p).ends
    step = lambda ends, found: simulate(order, recomputing(layers, ends, found)).makespan  # noqa: E731
    nothing = plans(layers, ends, live, inf)
    assert not any(plan.layers for plan in nothing)
    some = plans(layers, ends, live, 48e9)
    assert [len(plan.layers) for plan in some] == [5, 3, 2, 1, 0, 0, 0, 0]
    moved = adaptive(layers, p, live, 48e9)
    found = plans(layers, moved.ends, live, 48e9)
    assert moved.sizes == [8, 8, 8, 8, 8, 8, 9, 9] and [len(plan.layers) for plan in found] == [3, 3, 2, 1, 0, 0, 0, 0]
    once = step(ends, nothing)
    assert step(ends, some) / once == pytest.approx(1.082, abs=0.001)
    assert step(moved.ends, found) / once == pytest.approx(1.044, abs=0.001)


def test_what_does_not_fit_at_all_is_told_in_numbers():
    layers = gpt(8)
    with pytest.raises(
        ValueError, match=r"stage 0, layers 0 to 4, does not fit into 1e\+10 bytes, 2 micro-batches alive"
    ):
        plans(layers, (5, 10), [2, 1], 10e9)
    with pytest.raises(ValueError, match=r"cannot be cut into 2 stages that fit: even if all is recomputed, with 2, 1"):
        adaptive(layers, 2, [2, 1], 10e9)
    assert cheapest(layers, 1, 0.0) is None


def test_what_cannot_be():
    layers = gpt(8)
    for call in (lambda live: plans(layers, (5, 10), live, inf), lambda live: adaptive(layers, 2, live, inf)):
        with pytest.raises(ValueError, match="live has 1 entries and must have 2, one for each stage"):
            call([2])
    with pytest.raises(ValueError, match=r"ends = \(5, 8\) must end with 10, the number of layers"):
        plans(layers, (5, 8), [2, 1], inf)
    with pytest.raises(ValueError, match="layers must be a whole number of at least 1, got 0"):
        adaptive([], 2, [2, 1], inf)


def test_sending_away_beats_recomputing_where_sequences_are_long():
    """Width 4,096, an H100 at half its peak: 147 GB/s at 8K tokens, more than PCIe has; 47 GB/s at 128K."""
    needed = {s: break_even(4096, s / 2, RATE) / 1e9 for s in (8192, 32768, 131072)}
    assert list(needed.values()) == pytest.approx([146.6, 102.6, 46.6], abs=0.1)
    pcie = link("PCIe 5 x16").bandwidth / 1e9
    assert needed[131072] < pcie < needed[32768]
    block = transformer(4096, [65536], 1, 131072, RATE)[1]  # the same by seconds and bytes
    assert block.kept / block.forward / 1e9 == pytest.approx(needed[131072])


def test_activations_of_a_long_sequence():
    """128K tokens, 32 layers of width 4,096: 584 GB, 18 GB a layer; 34 GB if each layer keeps its output only."""
    layer = layer_bytes(1, 131072, 4096, 32, scores=False)
    assert (layer / 1e9, 32 * layer / 1e9) == pytest.approx((18.25, 584), abs=0.5)
    outputs = 32 * 2 * 131072 * 4096
    assert outputs / 1e9 == pytest.approx(34.4, abs=0.1)

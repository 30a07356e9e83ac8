"""What each method sends: the formulas against what the virtual cluster has counted, in bytes, messages and seconds."""

from math import inf

import pytest
import torch

from reference.models.gpt import GPT, Config
from reference.networks import Link, uniform
from reference.sequence_parallel.gather_kv import gather_attention
from reference.sequence_parallel.layouts import contiguous
from reference.sequence_parallel.ring_attention import ring_attention
from reference.sequence_parallel.ulysses import ulysses_attention
from reference.sequence_parallel.usp import grid, usp_attention
from reference.sequence_parallel.volume import (
    METHODS,
    LayerShape,
    activation_bytes,
    block_flops,
    cheapest,
    exposed,
    gather,
    least_block,
    megatron_sp,
    overlapped,
    passing_bytes,
    ring,
    tensor_parallel,
    ulysses,
    usp,
    weight_gradients,
)
from reference.worlds import launch

from .serial import inputs

LINK = Link(3e-6, 2e-9)
CODE = {"ring": ring_attention, "gather": gather_attention, "ulysses": ulysses_attention}


def passes(comm, name, layer, backward, dtype=torch.float32):
    """A forward pass, and a backward one."""
    inside = 2 if name == "usp" else 1
    layout = contiguous(layer.s, comm.size // inside)
    q, k, v, do = (
        layout.split(inside).shard(tensor, comm.rank, 2)
        for tensor in inputs(layer.a, layer.g, layer.s, layer.h // layer.a, layer.b, dtype)
    )
    q, k, v = (tensor.requires_grad_() for tensor in (q, k, v))
    if name == "usp":
        o = usp_attention(*grid(comm, inside), q, k, v, layout, checked=False)
    else:
        o = CODE[name](comm, q, k, v, layout, checked=False)
    if backward:
        o.backward(do)


@pytest.mark.parametrize("name, ranks, groups", [
    ("ring", 4, 2), ("ring", 3, 4), ("gather", 4, 1), ("gather", 3, 4), ("ulysses", 4, 4), ("ulysses", 4, 2),
    ("usp", 4, 1), ("usp", 4, 4), ("ring", 1, 4), ("ulysses", 1, 1),
])  # fmt: skip
def test_bytes_and_messages_are_the_formula(name, ranks, groups):
    layer = LayerShape(b=2, s=24, h=4 * 4, a=4, g=groups, P=ranks, itemsize=4)
    traffic = usp(layer, 2) if name == "usp" else METHODS[name](layer)
    network = uniform(LINK.alpha, LINK.beta)
    there, both = (launch(passes, ranks, name, layer, backward, network=network) for backward in (False, True))
    assert there.bytes_sent == [traffic.forward] * ranks and both.bytes_sent == [traffic.nbytes] * ranks
    assert there.messages == [traffic.forward_messages] * ranks
    assert both.messages == [traffic.forward_messages + traffic.backward_messages] * ranks
    if name in ("gather", "ulysses"):  # rounds one after the other; a ring and its sums overlap
        assert both.seconds == pytest.approx(traffic.seconds(LINK), rel=1e-9)
    if name == "ring":
        assert there.seconds == pytest.approx(overlapped(0.0, 0.0, layer, LINK), rel=1e-9)


def test_sums_of_half_precision_travel_in_float32():
    layer = LayerShape(b=1, s=16, h=8, a=2, g=1, P=4, itemsize=2)
    for name in ("ring", "gather"):
        run = launch(passes, 4, name, layer, True, torch.bfloat16)
        assert run.bytes_sent == [METHODS[name](layer).nbytes] * 4
    assert ring(layer).backward == 3 * ring(layer).forward


def test_what_is_often_claimed():
    """E0-13: P = 8, in units of b s d. An all-gather delivers all keys: only an all-to-all falls with P."""
    layer = LayerShape(b=1, s=1024, h=64, a=8, g=8, P=8)
    unit = layer.x
    assert gather(layer).forward / unit == ring(layer).forward / unit == 1.75
    assert ulysses(layer).forward / unit == 4 * (7 / 8) / 8 == 0.4375
    assert tensor_parallel(layer).forward / 2 / unit == 1.75  # one of its two all-reduces
    assert megatron_sp(layer).forward == tensor_parallel(layer).forward == tensor_parallel(layer).backward
    again = 6 * 7 / 8  # each half of two all-reduces, and both inputs again; besides, biases and norms without s
    assert again < megatron_sp(layer).backward / unit < again + 0.02
    for method in (gather, ulysses):
        more = method(layer._replace(P=4)).forward / method(layer).forward
        assert more == pytest.approx(6 / 7 if method is gather else 2 * 6 / 7)
    grouped = layer._replace(g=1)
    assert gather(grouped).forward * 8 == gather(layer).forward


def test_where_each_wins():
    long, short = LayerShape(1, 131072, 4096, 32, 8, 8), LayerShape(1, 1024, 4096, 32, 8, 8)
    fast, slow = Link(1e-6, 1 / 400e9), Link(20e-6, 1 / 25e9)
    assert cheapest(long, slow) == "ulysses" and cheapest(long._replace(P=64), slow) in ("gather", "ring")
    assert cheapest(long._replace(g=1), fast) in ("gather", "ring", "ulysses")
    assert cheapest(short._replace(g=1), slow) in ("gather", "ring")  # fewer messages
    assert cheapest(long._replace(a=31, g=31), slow) in ("gather", "ring")  # 8 does not divide 31 heads


def test_the_least_block():
    layer = LayerShape(1, 65536, 4096, 32, 32, 8)
    assert least_block(layer, flops=312e12, beta=1 / 300e9) == 1040  # F / B, as in the paper (table 2: A100 NVLink)
    assert least_block(layer._replace(g=8), 312e12, 1 / 300e9) == 260
    c = least_block(layer, 312e12, 1 / 300e9)
    at = layer._replace(s=int(8 * c))
    compute = 4 * at.b * c**2 * at.h / 312e12
    assert overlapped(compute, compute, at, Link(0.0, 1 / 300e9)) == pytest.approx(8 * compute)


def test_activations_of_a_128k_sequence():
    """A width of 4,096: 18.3 GB in one layer without the scores and 2.8 TB with them; a part of it on each rank."""
    layer = LayerShape(b=1, s=131072, h=4096, a=32, g=32, P=1)
    assert activation_bytes(layer) == pytest.approx(18.27e9, rel=1e-3)
    assert activation_bytes(layer, blockwise=False) == pytest.approx(2767e9, rel=1e-3)
    shared = layer._replace(P=16)
    for blockwise in (True, False):
        assert activation_bytes(shared, "ring", blockwise) * 16 == activation_bytes(layer, blockwise=blockwise)
        assert activation_bytes(layer, "tensor parallelism", blockwise) == activation_bytes(layer, blockwise=blockwise)
    assert activation_bytes(shared, "tensor parallelism") > 10 / 34 * activation_bytes(layer)
    keys = 2 * layer.x  # k and v of all tokens
    assert [passing_bytes(shared, name) / keys for name in ("gather", "ring", "ulysses")] == [1, 2 / 16, 2 / 16]


def test_what_a_ring_hides():
    """Long enough, a ring waits for nothing, where Ulysses waits for fewer bytes; too short, it is the other way."""
    link, flops = Link(10e-6, 1 / 50e9), 400e12
    long, short = LayerShape(1, 1048576, 4096, 32, 8, 8), LayerShape(1, 8192, 4096, 32, 8, 8)
    assert exposed(long, "ring", link, flops) == 0 < exposed(long, "ulysses", link, flops)
    assert exposed(short, "ring", link, flops) > 0
    for layer in (long, short):
        at_once = ring(layer).forward_messages * link.alpha + ring(layer).forward * link.beta
        assert exposed(layer, "ring", link, flops) < at_once == exposed(layer, "gather", link, flops)
        assert ulysses(layer).forward < ring(layer).forward
        block = block_flops(layer) / flops
        waited = overlapped(block, block, layer, link) - 8 * block
        assert exposed(layer, "ring", link, flops) == pytest.approx(waited, abs=1e-12)


def test_gradients_of_the_weights():
    model = GPT(Config(width=16, heads=2, layers=1))
    parameters = sum(weight.numel() for weight in model.parameters())
    assert weight_gradients(parameters, 4) == 1.5 * 4 * parameters and weight_gradients(parameters, 1) == 0
    assert inf > weight_gradients(parameters, 1000) > 1.99 * 4 * parameters

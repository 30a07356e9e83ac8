"""What is computed again, gathered and added up: the model's counts against torch's own, and closed forms."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
    set_checkpoint_early_stop,
)
from torch.utils.flop_counter import FlopCounterMode

from reference.planner.architecture import Architecture
from reference.planner.cluster import cluster
from reference.planner.spec import LayoutSpec
from reference.planner.step_seconds import layer_seconds, stage_parameters, step_seconds

SMALL = Architecture("small", 4, 32, 4, 2, 96, 64, 16, gated=True)
DGX = cluster("dgx-a100")
FAST = DGX._replace(levels=tuple(level._replace(latency=0.0) for level in DGX.levels))


class Products(nn.Module):
    """The matrices of a layer in the order of the forward pass; attention is a sum, so that products alone count."""

    def __init__(self, h: int, kv: int, f: int):
        super().__init__()
        sizes = {"q": (h, h), "k": (h, kv), "v": (h, kv), "o": (h, h), "gate": (h, f), "up": (h, f), "down": (f, h)}
        self.w = nn.ModuleDict({name: nn.Linear(*size, bias=False) for name, size in sizes.items()})

    def forward(self, x):
        w = self.w
        mixed = w["q"](x) * (w["k"](x) * w["v"](x)).repeat(1, 2)
        y = x + w["o"](mixed)
        return y + w["down"](nn.functional.silu(w["gate"](y)) * w["up"](y))


def every_second(ctx, func, *args, **kwargs):
    """torchtitan's policy: the result of every other product is kept (parallelize_llama.py @9dec370)."""
    every_second.count[ctx.is_recompute] += func == torch.ops.aten.mm.default
    keep = func == torch.ops.aten.mm.default and every_second.count[ctx.is_recompute] % 2
    return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE


def computed_again(early_stop: bool, selective: bool = False) -> float:
    """Weights of the products that torch computes a second time for the backward pass of a layer."""
    layer, x = Products(SMALL.width, SMALL.kv_width, SMALL.feed_forward), torch.randn(3, SMALL.width)
    x.requires_grad_()
    options = {"context_fn": lambda: create_selective_checkpoint_contexts(every_second)} if selective else {}
    every_second.count = {False: 0, True: 0}
    with set_checkpoint_early_stop(early_stop), FlopCounterMode(display=False) as counter:
        checkpoint(layer, x, use_reentrant=False, **options).sum().backward()
    return counter.get_total_flops() / (2 * 3) - 3 * SMALL.layer_matrices


@pytest.mark.parametrize(
    "stop, recompute, selective", [(False, "full", False), (True, "full", False), (True, "operations", True)]
)
def test_products_computed_again_are_those_that_torch_computes(stop, recompute, selective):
    quick = DGX._replace(
        accelerator=DGX.accelerator._replace(bandwidth=1e30), attention=1.0
    )  # products alone take time
    model = SMALL._replace(length=1)
    spec = LayoutSpec(recompute=recompute, early_stop=stop)
    layer = layer_seconds(model, spec, quick)
    again = layer.recompute - (layer.attention[0] if recompute == "full" else 0)
    assert again / layer.matmul[0] == pytest.approx(computed_again(stop, selective) / model.layer_matrices, rel=1e-9)


def test_early_stop_leaves_out_the_last_product_and_the_sum_behind_it():
    spec = LayoutSpec(tensor=2, recompute="full")
    full, stops = (layer_seconds(SMALL, spec._replace(early_stop=stop), DGX) for stop in (False, True))
    down = SMALL.width * SMALL.feed_forward / SMALL.layer_matrices * full.matmul[0]
    assert full.recompute == pytest.approx(full.forward)
    assert full.recompute - stops.recompute == pytest.approx(down + full.tensor[0] / 4)


def test_adding_gradients_up_takes_bytes_of_each_micro_batch_but_the_first():
    spec = LayoutSpec(data=2, stages=2, sum_bytes=18)
    sums = [step_seconds(SMALL, spec, DGX, batch).sums for batch in (2, 4, 8)]
    parameters = 2 * SMALL.layer_parameters + SMALL.embedding
    once = 18 * parameters / (DGX.accelerator.bandwidth * DGX.memory_efficiency)
    assert sums == pytest.approx([0, once, 3 * once])
    assert step_seconds(SMALL, spec._replace(sum_bytes=0), DGX, 8).sums == 0


@pytest.mark.parametrize("zero, stages, share", [(0, 1, 4), (1, 2, 4), (2, 1, 1), (2, 2, 1), (3, 1, 1), (3, 2, 4)])
def test_where_zero_sums_each_micro_batch_over_the_ranks_only_a_share_is_added_up(zero, stages, share):
    """4 replicas: in a pipeline ZeRO 3 keeps whole gradients until the last micro-batch, as _zero says."""
    spec = LayoutSpec(data=4, stages=stages, zero=zero, sum_bytes=6)
    parameters = stage_parameters(SMALL, spec) * share / 4
    added = 6 * parameters / (DGX.accelerator.bandwidth * DGX.memory_efficiency)
    assert step_seconds(SMALL, spec, DGX, 12).sums == pytest.approx(2 * added)


def test_pieces_leave_one_piece_of_each_message_or_what_the_product_is_too_short_for():
    spec = LayoutSpec(tensor=8, async_tensor=True)
    model = SMALL._replace(width=8192, heads=64, kv_heads=8, feed_forward=28672, length=8192)
    message = FAST.path((8, 1)).gather(8, 2 * model.length * model.width)
    assert layer_seconds(model, spec, FAST).tensor == pytest.approx((4 * message / 8,) * 2)
    quick = FAST._replace(accelerator=DGX.accelerator._replace(flops=1e30))  # products hide nothing
    assert layer_seconds(model, spec, quick).tensor == pytest.approx((4 * message,) * 2)
    waits = spec._replace(async_tensor=False, overlap_tensor=False)
    assert layer_seconds(model, waits, FAST).tensor == pytest.approx((4 * message,) * 2)
    eight_bits = layer_seconds(model, waits._replace(gather_bytes=1), FAST).tensor
    assert eight_bits == pytest.approx((3 * message,) * 2)


def test_a_ring_that_waits_shows_all_its_hops_and_gradients_come_home():
    """c - 1 hops of keys and values each way, c of gradients in 32 bits; copied heads are as wide as queries."""
    spec = LayoutSpec(context=4, overlap_context=False)
    hop = 4 * (SMALL.length / 4) * SMALL.kv_width / FAST.path((4, 1)).bandwidth
    assert layer_seconds(SMALL, spec, FAST).context == pytest.approx((3 * hop, (3 + 2 * 4) * hop))
    repeated = layer_seconds(SMALL, spec._replace(repeat_heads=True), FAST).context
    assert repeated == pytest.approx((2 * 3 * hop, 2 * 11 * hop))
    hidden = layer_seconds(SMALL, LayoutSpec(context=4), FAST._replace(attention=1e-9)).context
    assert hidden == pytest.approx((0, 2 * hop))  # the last hop has nothing to travel behind

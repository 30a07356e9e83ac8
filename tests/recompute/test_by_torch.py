"""Torch's own choices on our scale: its gradients, what its policies keep, what its partitioner lets cross."""

import pytest
import torch

from reference.perf.meter import Meter
from reference.recompute.by_torch import ATTENTION, MATMULS, checkpointed, partitioned, selective
from reference.recompute.graph import recorded

from .block import DEVICE, block, expected


def again(forward):
    """How often each forward operation is computed, with the gradients that come out."""
    made, x, dy = block()
    names = [vertex.name for vertex in recorded(made, x, DEVICE, dy, forward).vertices]
    return {name: names.count(name) for name in ("addmm", "gelu", "scaled_dot_product_flash_attention_for_cpu")}


@pytest.mark.parametrize(
    "kept, products, attention", [(None, 7, 2), (MATMULS, 4, 2), (ATTENTION, 7, 1), (MATMULS + ATTENTION, 4, 1)]
)
def test_a_policy_keeps_what_it_names(kept, products, attention):
    """Of four products the last one is never computed again: nothing in the backward pass reads it."""
    made = [block()[0]]
    found = again(checkpointed(made) if kept is None else selective(made, kept))
    assert found == {"addmm": products, "gelu": 2, "scaled_dot_product_flash_attention_for_cpu": attention}


def test_the_partitioner_lets_fewer_bytes_cross_and_has_the_same_gradients():
    made, x, dy = block()
    kept = {}
    for budget in (1.0, 0.3):
        forward = partitioned([made], x, budget)
        with Meter(device=DEVICE, module=made) as meter:
            y = forward(x)
            kept[budget] = meter.live["activations"] - y.nbytes
        found = torch.autograd.grad(y, [x, *made.parameters()], dy)
        assert all(torch.equal(a, b) for a, b in zip(found, expected().values()))
        del y, found
    assert kept[0.3] < 0.4 * kept[1.0]

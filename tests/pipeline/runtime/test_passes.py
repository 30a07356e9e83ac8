"""The passes of one stage: what they keep, free and repeat."""

import pytest
import torch
from torch import nn

from reference.models import Config
from reference.models.gpt import Block
from reference.perf.meter import Meter
from reference.pipeline.runtime.passes import Latest, Passes

SHAPE = (2, 64, 64)


def block():
    return Block(Config(length=64, width=64, heads=2, dropout=0.1))


def passes(stage, splits=(), recompute=(), last=1):
    """Those of stage 0, at the beginning of a step."""
    found = Passes(Latest({0: stage}, {}), last, lambda x, y: (x * y).sum(), splits, recompute, seed=3)
    found.begin(7, [torch.ones(()), torch.ones(())])
    return found


def live(splits=(), recompute=()):
    """Bytes of activations after F, after I or B, and after W, in units of the block's input."""
    stage, found = block(), []
    x, dy = (torch.zeros(SHAPE) for _ in range(2))
    with Meter(module=stage) as meter:
        mine = passes(stage, splits, recompute)
        mine.forward(0, 0, x.requires_grad_())
        found.append(meter.live["activations"])
        mine.backward(0, 0, dy)
        found.append(meter.live["activations"])
        if splits:
            mine.backward_for_weights(0, 0)
        found.append(meter.live["activations"])
    assert not mine.kept and mine.peak == 1
    return [nbytes / x.nbytes for nbytes in found]


def test_what_is_kept_is_freed_as_soon_as_it_can_be():
    after_forward, after_backward, _ = live()
    assert after_forward > 20 and after_backward == pytest.approx(0, abs=1e-3)
    after_forward, after_input, after_weights = live(splits={(0, 0)})
    assert after_forward > 20 and after_weights == pytest.approx(0, abs=1e-3)
    assert 15 < after_input < 16.1  # x and dy of the layers with matrices


def test_a_recomputed_stage_keeps_nothing_but_its_input():
    assert live(recompute={0}) == pytest.approx([0, 0, 0], abs=1e-3)
    after_forward, after_input, after_weights = live(splits={(0, 0)}, recompute={0})
    assert (after_forward, after_weights) == pytest.approx((0, 0), abs=1e-3) and 15 < after_input < 16.1


@pytest.mark.parametrize("splits", [(), {(0, 0), (0, 1)}])
def test_a_repeated_pass_is_the_same_and_different_ones_differ(splits):
    """Dropout masks follow from seed, step, stage and micro-batch; the global generator stays as it was."""
    stage, before = block(), torch.get_rng_state()
    found = []
    for recompute in ((), {0}):
        mine, stage_x = passes(stage, splits, recompute), [torch.ones(SHAPE).requires_grad_() for _ in range(2)]
        y = [mine.forward(0, i, x) for i, x in enumerate(stage_x)]
        dx = [mine.backward(0, i, torch.ones(SHAPE)) for i in (1, 0)]
        assert not torch.equal(*y) and not torch.equal(*dx)
        found.append(y + dx)
    assert all(torch.equal(kept, again) for kept, again in zip(*found))
    assert torch.equal(torch.get_rng_state(), before)


def test_the_last_stage_ends_with_the_loss():
    stage = nn.Linear(3, 1, bias=False)
    mine = passes(stage, last=0)
    assert mine.forward(0, 0, torch.ones(1, 3)).item() == pytest.approx(stage.weight.sum().item())
    assert mine.backward(0, 0, torch.tensor(0.25)) is None  # nobody wants the gradient for the data
    assert stage.weight.grad.tolist() == [[0.25] * 3]


def test_an_input_that_was_not_used_has_zeros_for_a_gradient():
    class Constant(nn.Linear):
        def forward(self, x):
            return self.bias + 0.0

    mine = passes(Constant(2, 2))
    mine.forward(0, 0, torch.ones(2, requires_grad=True))
    assert mine.backward(0, 0, torch.ones(2)).tolist() == [0.0, 0.0]


def test_updates_are_counted():
    stage = nn.Linear(1, 1)
    weights = Latest({0: stage}, {0: torch.optim.SGD(stage.parameters(), lr=1.0)})
    weights.begin()
    stage.weight.grad = torch.ones(1, 1)
    before = stage.weight.item()
    weights.forward(0, 0, torch.ones(1))
    weights.update(0)
    weights.forward(0, 1, torch.ones(1))
    assert stage.weight.item() == pytest.approx(before - 1) and weights.seen == {(0, 0): 0, (0, 1): 1}

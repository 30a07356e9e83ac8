"""Checkpointing by hand: the bits of keeping everything and of torch's, with dropout, several inputs and outputs."""

from functools import partial

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint as torch_checkpoint
from torch.utils.flop_counter import FlopCounterMode

from reference.perf.meter import Meter
from reference.recompute import checkpoint
from reference.recompute.checkpoint import GlobalRandom

WAYS = {
    "ours": checkpoint,
    "torch, reentrant": partial(torch_checkpoint, use_reentrant=True),
    "torch": partial(torch_checkpoint, use_reentrant=False),
}


class Pair(nn.Module):
    """Two tensors and a number in, three tensors out: one of them of whole numbers, one that nobody uses."""

    def __init__(self):
        super().__init__()
        self.left, self.right, self.drop = nn.Linear(6, 6), nn.Linear(6, 6), nn.Dropout(0.3)

    def forward(self, x, y, factor):
        x, y = self.drop(torch.tanh(self.left(x))), self.drop(self.right(y) * factor)
        return x * y, x.argmax(-1), x + y


def made(seed=3):
    torch.manual_seed(seed)
    model = nn.ModuleList([Pair(), Pair()])
    return model, torch.randn(4, 6, requires_grad=True), torch.randn(4, 6)


def gradients(way=None):
    """Of two such pairs, one after the other; and where the generator is afterwards."""
    model, x, y = made()
    torch.manual_seed(5)
    a, picked, _ = way(model[0], x, y, 2.0) if way else model[0](x, y, 2.0)
    b, _, c = way(model[1], a, x, 0.5) if way else model[1](a, x, 0.5)
    (b * a + c).sum().backward()
    return [picked, x.grad, *(w.grad for w in model.parameters()), torch.rand(2)]


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_gradients_have_the_bits_of_keeping_everything(way):
    assert all(map(torch.equal, gradients(), gradients(way)))


def test_without_its_random_state_they_have_not():
    assert not all(map(torch.equal, gradients(), gradients(partial(checkpoint, random=()))))


def test_dropout_that_leaves_the_generator_elsewhere_is_no_dropout_of_the_first_pass():
    """torch agrees: preserve_rng_state=False is wrong in the same places."""
    torchs = gradients(partial(torch_checkpoint, use_reentrant=True, preserve_rng_state=False))
    assert all(map(torch.equal, torchs, gradients(partial(checkpoint, random=()))))


def kept(way):
    """Bytes of activations between forward and backward, and at the peak."""
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(8, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 8))
    x = torch.randn(16, 8, requires_grad=True)
    with Meter(module=layers) as meter:
        y = way(layers, x)
        between = meter.live["activations"]
        y.sum().backward()
    return between, meter.peak["activations"]


def test_bytes_are_torchs():
    """With use_reentrant=False torch stops computing again at the last tensor that is needed: it never makes y."""
    everything, ours = kept(lambda layers, x: layers(x)), kept(checkpoint)
    assert ours[0] == 16 * 8 * 4 < everything[0] / 4  # y; x was there before
    assert ours == kept(WAYS["torch, reentrant"])
    assert kept(WAYS["torch"])[0] == ours[0] and ours[1] - 2 * ours[0] <= kept(WAYS["torch"])[1] < ours[1]


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_only_without_dropout_and_not_reentrant_is_the_last_product_left_out(dropout):
    """Products of a GPT's block, 12 h^2 weights: torch stops before the last 4 h^2, a third, unless a mask follows."""
    h, n = 8, 5
    made = [nn.Linear(h, k * h) for k in (3, 1, 4)] + [nn.Linear(4 * h, h)]

    def block(x):
        q, k, v = made[0](x).chunk(3, -1)
        y = x + made[1](q * k * v)  # attention is a product of elements, so that products of matrices alone count
        return y + nn.functional.dropout(made[3](nn.functional.gelu(made[2](y))), dropout)

    def weights(way):
        with FlopCounterMode(display=False) as counter:
            way(block, torch.randn(n, h, requires_grad=True)).sum().backward()
        return counter.get_total_flops() / (2 * n * h * h)

    once = weights(lambda block, x: block(x))
    again = {name: weights(way) - once for name, way in WAYS.items()}
    assert once == 36 and again == {"ours": 12, "torch, reentrant": 12, "torch": 12 if dropout else 8}


def test_autocast_is_as_it_was():
    found = []
    for way in (None, checkpoint):
        model, x, _ = made()
        with torch.autocast("cpu", torch.bfloat16):
            y = way(model[0].left, x) if way else model[0].left(x)
        y.float().square().sum().backward()
        found.append([y, x.grad, model[0].left.weight.grad])
    assert found[0][0].dtype is torch.bfloat16 and all(map(torch.equal, *found))


def test_an_input_that_was_changed_in_place_is_noticed():
    layer, x = nn.Linear(3, 3), torch.ones(2, 3)
    y = checkpoint(layer, x)
    x.add_(1)
    with pytest.raises(RuntimeError, match="changed in place after its forward pass"):
        y.sum().backward()


def test_checkpoints_inside_of_checkpoints():
    found = []
    for way in (lambda f, x: f(x), checkpoint):
        model, x, y = made()
        torch.manual_seed(1)

        def inner(x, way=way, model=model, y=y):
            return way(lambda x: model[0](x, y, 1.0)[0], x)

        way(lambda x, inner=inner: inner(x).tanh(), x).sum().backward()
        found.append([x.grad, *(w.grad for w in model[0].parameters())])
    assert all(map(torch.equal, *found))


def test_weights_below_an_input_without_gradient_are_trained():
    layer = nn.Linear(2, 2)
    checkpoint(layer, torch.ones(1, 2)).sum().backward()
    assert layer.weight.grad is not None and (layer.weight.grad == 1).all()


def test_frozen_weights_and_no_grad_mode():
    layer, x = nn.Linear(2, 2).requires_grad_(False), torch.ones(1, 2, requires_grad=True)
    checkpoint(layer, x).sum().backward()
    assert torch.equal(x.grad, layer.weight.sum(0, keepdim=True)) and layer.weight.grad is None
    with torch.no_grad():
        assert not checkpoint(layer, x).requires_grad


def test_a_second_backward_pass_is_refused():
    y = checkpoint(nn.Linear(2, 2), torch.ones(1, 2)).sum()
    y.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="one backward pass for each forward pass"):
        y.backward()


def test_the_global_generator_goes_back():
    source = GlobalRandom()
    state, first = source.state(), torch.rand(2)
    source.restore(state)
    assert torch.equal(torch.rand(2), first)

"""The backward pass in two parts: the same gradients, half of the products each, and what is kept between them."""

from collections import deque
from contextlib import nullcontext

import pytest
import torch
from torch import nn
from torch.autograd.graph import get_gradient_edge

from reference.models import GPT, MLP, TINY, Config, digits, text
from reference.models.gpt import Block
from reference.perf.meter import Meter
from reference.pipeline.runtime.split_backward import backward_for_weights, deferred


def in_two_parts(model, x, between=lambda: None):
    """I, then `between`, then W; the gradient for x."""
    queue = deque()
    with deferred(model, queue):
        y = model(x).sum()
    torch.autograd.backward(y)
    del y
    between()
    backward_for_weights(queue)
    return x.grad


class Table(nn.Module):
    """Tokens, positions and twice the same layer."""

    def __init__(self):
        super().__init__()
        self.token, self.layer = nn.Embedding(8, 4), nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(self.layer(self.token(x)).relu())


def models():
    yield "mlp", MLP((64, 8, 10)), digits().x[:3].requires_grad_()
    yield "frozen front", _frozen(MLP((64, 8, 8, 10)), "0."), digits().x[:3].requires_grad_()
    yield "frozen bias", _frozen(MLP((64, 8, 10)), "2.bias"), digits().x[:3].requires_grad_()
    yield "tokens, a layer used twice", Table(), torch.arange(4)
    yield "tied gpt", GPT(TINY), text(8).x[:2]
    yield "batch norm", nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Tanh()), torch.rand(5, 4)
    yield "one vector", MLP((4, 4, 4)), torch.rand(4, requires_grad=True)
    yield "convolution", nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten()), torch.rand(2, 1, 5, 5, requires_grad=True)


def _frozen(model, name):
    for n, parameter in model.named_parameters():
        parameter.requires_grad_(not n.startswith(name))
    return model


@pytest.mark.parametrize("name, model, x", list(models()))
def test_the_same_gradients(name, model, x):
    model(x).sum().backward()
    expected = {n: p.grad for n, p in model.named_parameters()}
    dx, x.grad = x.grad, None
    model.zero_grad()
    found = in_two_parts(model, x)
    assert (found is None and dx is None) or torch.equal(found, dx)
    for n, parameter in model.named_parameters():
        assert (parameter.grad is None) == (expected[n] is None)
        if parameter.grad is not None:
            torch.testing.assert_close(parameter.grad, expected[n])


def test_no_other_name_will_do():
    with deferred(layer := nn.Linear(4, 4), deque()), pytest.raises(TypeError, match="something else than one tensor"):
        layer(other=torch.rand(2, 4))


def test_the_first_part_leaves_the_weights_alone():
    model, seen = MLP((64, 8, 10)), []
    in_two_parts(model, digits().x[:3].requires_grad_(), lambda: seen.extend(p.grad for p in model.parameters()))
    assert seen == [None] * 4 and all(p.grad is not None for p in model.parameters())


@pytest.mark.parametrize("what", ["input", "weight"])
def test_what_has_been_changed_since_is_noticed(what):
    """As in an ordinary backward pass: gradients of other numbers than those of the forward pass are none."""
    model, queue = nn.Linear(4, 4), deque()
    x = torch.rand(2, 4, requires_grad=True).clone()
    with deferred(model, queue):
        y = model(x).sum()
    with torch.no_grad():
        (x if what == "input" else model.weight).mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


class Named(nn.Module):
    """Its layer is given `input` by name."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(input=x)


def test_a_layer_is_given_its_input_by_name():
    for layer in (nn.Linear(4, 4), nn.Conv1d(4, 4, 1)):
        x = torch.rand(4, 4)
        layer(x).sum().backward()
        expected, layer.weight.grad = layer.weight.grad, None
        in_two_parts(Named(layer), x)
        torch.testing.assert_close(layer.weight.grad, expected)


@pytest.mark.parametrize(
    "layer, inputs", [(nn.GRU(4, 4), 1), (nn.Bilinear(4, 4, 4), 2)], ids=["gives more", "takes more"]
)
def test_what_cannot_be_split_says_so(layer, inputs):
    name = type(layer).__name__
    with deferred(layer, deque()), pytest.raises(TypeError, match=f"backward pass of {name} cannot be in two parts"):
        layer(*[torch.rand(3, 4)] * inputs)


@pytest.mark.parametrize("times", [1, 2])
def test_in_mixed_precision(times):
    """Under autocast products are in 16 bits, and gradients as torch rounds them, in the weights' 32."""
    model, x = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4)), torch.rand(5, 8, requires_grad=True)

    def gradients(backward):
        model.zero_grad()
        x.grad = None
        for _ in range(times):
            queue = deque()
            with torch.autocast("cpu", torch.bfloat16), backward(queue):
                y = model(x).float().sum()
            y.backward()
            backward_for_weights(queue)
        return [x.grad, *(weight.grad for weight in model.parameters())]

    expected, found = gradients(lambda queue: nullcontext()), gradients(lambda queue: deferred(model, queue))
    for ours, right in zip(found, expected):
        assert ours.dtype == torch.float32
        torch.testing.assert_close(ours, right, rtol=0.01, atol=0.01)


def test_hooks_of_parameters_are_called():
    """Once a layer, when its gradient is there: data parallelism and the meter live on them."""
    model, seen = MLP((64, 8, 10)), []
    for name, parameter in model.named_parameters():
        parameter.register_post_accumulate_grad_hook(lambda p, name=name: seen.append((name, p.grad is not None)))
    in_two_parts(model, digits().x[:3].requires_grad_(), lambda: seen.append("W"))
    assert seen == ["W", *((name, True) for name in ("2.weight", "2.bias", "0.weight", "0.bias"))]


def test_hooks_of_gradients_are_called_each_time():
    model, seen = nn.Linear(4, 4), []
    model.weight.register_hook(lambda gradient: seen.append(gradient.shape))
    for _ in range(2):
        in_two_parts(model, torch.rand(3, 4))
    assert seen == [(4, 4), (4, 4)]


def test_without_the_queue_a_module_is_as_before():
    model = MLP((64, 8, 10))
    with pytest.raises(RuntimeError), deferred(model, deque()):
        model(digits().x[:3, :5])
    assert not any("forward" in vars(layer) for layer in model.modules())
    model(digits().x[:3]).sum().backward()
    assert model[0].weight.grad is not None


def test_each_part_has_half_of_the_products():
    """Of a linear layer: dx = dy W and dW = dy^T x have as many FLOPs; attention's own products are all in I."""
    x = torch.rand(8, 64, requires_grad=True)
    model = nn.Sequential(nn.Linear(64, 64, bias=False), nn.ReLU(), nn.Linear(64, 64, bias=False))
    flops = parts(model, x)
    product = 2 * 8 * 64 * 64
    assert flops["B"] // product == 4 and flops["I"] // product == 2 and flops["W"] == 2 * product
    assert flops["I"] + flops["W"] == flops["B"]
    again = parts(model, x)  # when .grad is there already, products are added to it
    assert again["I"] == flops["I"] and again["W"] == pytest.approx(2 * product, rel=0.01)


def parts(model, x):
    """FLOPs of B, I and W."""
    flops = {}
    with Meter() as meter:
        with meter.label("F"):
            y = model(x).sum()
        with meter.label("B"):
            torch.autograd.backward(y)
    flops["B"] = meter.by_label["B"].flops
    queue = deque()
    with Meter() as meter:
        with meter.label("F"), deferred(model, queue):
            y = model(x).sum()
        with meter.label("I"):
            torch.autograd.backward(y)
        with meter.label("W"):
            backward_for_weights(queue)
    return flops | {kind: meter.by_label[kind].flops for kind in "IW"}


def test_what_a_block_keeps_from_one_part_to_the_next():
    """x and dy of each layer with a matrix, 7 and 9 times b s h numbers, and nothing else; in place of the graph."""
    assert kept(dropout=0.0) == pytest.approx((16, 16), abs=0.1)
    assert kept(dropout=0.1) == pytest.approx((30, 16), abs=0.1)  # the graph has masks, and attention's scores


def kept(dropout, b=2, s=128, h=256):
    """Numbers that live after F and after I, in units of b s h: all from the block's input to the gradient given."""
    block, queue = Block(Config(length=s, width=h, heads=h // 32, dropout=dropout)), deque()
    with Meter(module=block) as meter:
        x = torch.zeros(b, s, h).requires_grad_()
        with deferred(block, queue):
            y = block(x)
        end, dy = get_gradient_edge(y), torch.ones_like(y)
        del y
        after_forward = meter.live["activations"] - dy.nbytes
        torch.autograd.backward(end, dy)
        del end
        unit = x.nbytes
        x = dy = None
        return after_forward / unit, meter.live["activations"] / unit

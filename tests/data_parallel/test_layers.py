"""What layers send and compute: against torch's own counts of parameters and FLOPs."""

import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from reference.data_parallel.layers import convolution, gpt, linear, timed, vgg16
from reference.models.gpt import GPT, Config


def counted(module, x):
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        module(x)
    return sum(p.numel() for p in module.parameters()), counter.get_total_flops()


def test_a_layer_has_the_parameters_and_the_flops_of_torch():
    conv = convolution("conv", 3, 8, 10)
    assert (conv.parameters, conv.flops) == counted(nn.Conv2d(3, 8, 3, padding=1), torch.ones(1, 3, 10, 10))
    full = linear("fc", 12, 5)
    assert (full.parameters, full.flops) == counted(nn.Linear(12, 5), torch.ones(1, 12))


def test_vgg16_is_that_of_the_paper():
    shapes = vgg16()
    assert len(shapes) == 16 and sum(shape.parameters for shape in shapes) == 138_357_544
    assert sum(shape.flops for shape in shapes) == pytest.approx(30.94e9, rel=1e-3)


def test_a_gpt_is_that_of_the_models():
    h, L, V, s = 32, 2, 256, 16
    model = GPT(Config(vocabulary=V, length=s, width=h, heads=4, layers=L, tied=True))
    shapes = gpt(h, L, V, s)
    with sdpa_kernel(SDPBackend.MATH):  # the one whose matrix products torch counts on the CPU
        parameters, flops = counted(model, torch.zeros(1, s, dtype=torch.int64))
    positions_and_last_norm = s * h + 2 * h
    assert sum(shape.parameters for shape in shapes) + positions_and_last_norm == pytest.approx(parameters, rel=0.01)
    assert sum(shape.flops for shape in shapes) == pytest.approx(flops, rel=0.01)


def test_seconds_and_bytes():
    (layer,) = timed([linear("fc", 10, 10)], samples=4, flops_per_second=100.0)
    assert layer == ("fc", 440, 8.0, 16.0)
    assert linear("fc", 10, 10).flops_per_byte == pytest.approx(3 * 200 / 440)

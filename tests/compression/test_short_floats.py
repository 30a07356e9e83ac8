"""Shorter floats and powers: relative errors, and what is out of range."""

import pytest
import torch

from reference.compression import bf16, fp16, logarithmic, roundtrip, scaled_fp16, stochastic_rounding
from reference.models import generator

X = torch.randn(1000, generator=generator(1))


@pytest.mark.parametrize("codec, u", [(fp16(), 2**-11), (bf16(), 2**-8), (scaled_fp16(), 2**-11 * 1.001)])
def test_each_element_is_rounded_to_its_own_digits(codec, u):
    assert ((roundtrip(codec, X) - X).abs() <= u * X.abs() + 2**-25).all()


def test_fp16_refuses_what_it_cannot_hold_and_a_scale_or_bf16_helps():
    x = torch.tensor([70_000.0, 1.0])
    with pytest.raises(ValueError, match="fp16 holds at most 65504, but an element is 70000: use scaled_fp16 or bf16"):
        fp16().encode(x)
    assert roundtrip(fp16(), torch.tensor([65_519.0])).item() == 65_504
    for codec in (scaled_fp16(), bf16()):
        assert torch.allclose(roundtrip(codec, x), x, rtol=0.004)
    with pytest.raises(ValueError, match="bf16 holds at most"):
        bf16().encode(torch.tensor([3.4e38]))


def test_fp16_loses_what_is_tiny_and_a_scale_of_the_chunk_keeps_it():
    x = 1e-9 * X
    assert roundtrip(fp16(), x).count_nonzero() == 0
    assert torch.allclose(roundtrip(scaled_fp16(), x), x, rtol=2**-10, atol=0)
    assert torch.allclose(roundtrip(scaled_fp16(), 1e38 * X[:10]), 1e38 * X[:10], rtol=2**-10)
    outlier = torch.cat([torch.full((256,), 1e30), x[:256]])
    assert torch.allclose(roundtrip(scaled_fp16(chunk=256), outlier), outlier, rtol=2**-10, atol=0)
    assert fp16().nbytes(1000) == bf16().nbytes(1000) == 2000 and scaled_fp16(chunk=256).nbytes(1000) == 2016


def test_a_logarithm_sends_powers_of_the_base_times_the_largest():
    x = torch.tensor([8.0, -4.0, 3.0, 0.0, -0.25])
    y = roundtrip(logarithmic(4), x, generator(1))  # 8, 4, 2, 1, 1/2, 1/4, 1/8 and 0
    assert y[[0, 1, 3, 4]].tolist() == [8, -4, 0, -0.25] and y[2] in (2, 4)
    assert logarithmic(4).nbytes(5) == 4 + 3


def test_a_wide_range_wants_a_logarithm_and_equal_sizes_a_grid():
    wide, even = 10 ** torch.linspace(-4, 0, 1000), torch.rand(1000, generator=generator(2)) + 1
    # relative error of the elements, root mean square, at 4 bits each
    relative = {
        name: [float((codec.variance(x) / x**2).mean().sqrt()) for x in (wide, even)]
        for name, codec in {"log": logarithmic(4), "linear": stochastic_rounding(4)}.items()
    }
    assert relative["log"][0] < relative["linear"][0] / 2 and relative["linear"][1] < relative["log"][1] / 2

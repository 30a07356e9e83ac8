"""One bit for each element: by hand, and which two numbers are nearest."""

import pytest
import torch

from reference.compression import one_bit, roundtrip, scaled_sign, stochastic_sign
from reference.compression.signs import sign
from reference.models import generator

X = torch.tensor([0.3, -0.7, 1.1, -0.2, 0.05])


def test_two_levels_by_hand():
    assert set(roundtrip(stochastic_sign(), X, generator(1)).abs().tolist()) == {X.abs().max().item()}
    mean = 2.35 / 5
    assert roundtrip(scaled_sign(), X).tolist() == pytest.approx([mean, -mean, mean, -mean, mean])
    up, down = 1.45 / 3, -0.9 / 2
    assert roundtrip(one_bit(), X).tolist() == pytest.approx([up, down, up, down, up])
    assert roundtrip(one_bit(), torch.tensor([1.0, 2.0, 3.0])).tolist() == [2.0, 2.0, 2.0]  # no negative ones


def test_the_two_means_are_at_least_as_near_as_one_scale():
    for seed in range(20):
        x = torch.randn(50, generator=generator(seed)) + 0.5
        errors = [(roundtrip(codec, x) - x).square().sum() for codec in (one_bit(), scaled_sign())]
        assert errors[0] <= errors[1]
        norm1, norm2 = x.abs().sum(), x.square().sum()
        assert errors[1] == pytest.approx(float(norm2 - norm1**2 / 50), rel=1e-4)  # delta = ||x||_1^2 / (d ||x||_2^2)


def test_a_vote_has_no_scale_and_never_all_bits_set():
    """Bytes of 255 alone would stand for a vector that could not be encoded (reduce.py)."""
    assert roundtrip(sign(), 1e-9 * X).tolist() == [1, -1, 1, -1, 1]
    for d in range(1, 18):
        assert not (sign().encode(torch.ones(d)) == 255).all()

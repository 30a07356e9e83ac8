"""What every codec promises, tested for all of them: bytes, bias, variance, contraction, and what is refused."""

import pytest
import torch

from reference.compression import Codec, damped, importance_sampling, qsgd, random_k, roundtrip, top_k
from reference.compression.study import codecs
from reference.models import generator

ALL = [*codecs(), damped(qsgd(1)), damped(random_k(0.1))]
BY_HISTORY = importance_sampling(0.1, torch.linspace(0, 1, 61), floor=0.2)  # the weights fix d = 61


def each(codecs):
    return pytest.mark.parametrize("codec", codecs, ids=lambda codec: codec.name)


def draws(codec: Codec, x: torch.Tensor, number: int) -> torch.Tensor:
    rng = generator(1)
    return torch.stack([roundtrip(codec, x, rng) for _ in range(number)]).double()


@pytest.mark.parametrize("d", [1, 2, 9, 300, 1000])
@each(ALL)
def test_the_wire_is_all_the_receiver_needs_and_as_long_as_the_formula_says(codec, d):
    x = torch.randn(d, generator=generator(d))
    before = x.clone()
    wire = codec.encode(x, generator(1))
    assert wire.dtype == torch.uint8 and wire.shape == (codec.nbytes(d) or len(wire),)
    assert torch.equal(x, before)
    y = codec.decode(wire, d)
    assert y.shape == (d,) and y.dtype == torch.float32
    x.zero_()  # the wire is no view of x
    inside = torch.cat([wire.new_zeros(3), wire, wire.new_zeros(5)])[3 : 3 + len(wire)]  # of a larger buffer
    assert torch.equal(codec.decode(inside, d), y)


@pytest.mark.parametrize("d", [1, 10, 300])
@each([codec for codec in ALL if codec.contraction])
def test_zero_stays_zero(codec, d):
    assert roundtrip(codec, torch.zeros(d), generator(1)).count_nonzero() == 0


@each([codec for codec in [*ALL, BY_HISTORY] if codec.random])
def test_mean_and_variance_are_those_of_the_formulas(codec):
    d, N = 61, 400
    rng = generator(7)  # elements of 0.3 to 1: none so small that N draws would not see it
    x = ((0.3 + 0.7 * torch.rand(d, generator=rng)) * torch.randn(d, generator=rng).sign()).double()
    C, variance = draws(codec, x.float(), N), codec.variance(x.float()).double()
    mean = x if codec.unbiased else x * codec.contraction(d)  # damped: delta is the factor, too
    assert ((C.mean(0) - mean).abs() < 5 * (variance / N).sqrt() + 1e-6).all()  # five standard errors
    squares = (C - mean).square().sum(1)
    assert (squares.mean() - variance.sum()).abs() < 5 * squares.std() / N**0.5 + 1e-6


VECTORS = {
    "normal": torch.randn(61, generator=generator(5)),
    "one large": torch.nn.functional.one_hot(torch.tensor(3), 61).float(),
    "all equal": torch.full((61,), -0.7),
    "wide range": 10 ** torch.linspace(-6, 2, 61),
    "few": torch.randn(61, generator=generator(6)) * (torch.arange(61) < 4),
}


@pytest.mark.parametrize("vector", VECTORS)
@each([codec for codec in [*ALL, BY_HISTORY] if codec.contraction])
def test_the_error_is_within_the_bound_of_the_contraction(codec, vector):
    x = VECTORS[vector]
    errors = (draws(codec, x, 30 if codec.random else 1) - x).square().sum(1)
    chance = 5 * errors.std() / len(errors) ** 0.5 if codec.random else 0
    norm = x.double().square().sum()
    assert errors.mean() - chance <= (1 - codec.contraction(len(x))) * norm * (1 + 1e-6) + 1e-12 * norm  # rounding


def test_the_bound_of_some_contractions_is_reached():
    x = torch.ones(61)
    for codec in (top_k(10), damped(random_k(10))):
        assert (draws(codec, x, 1) - x).square().sum() == pytest.approx((1 - codec.contraction(61)) * 61, rel=1e-6)


def test_divided_by_1_plus_omega_random_k_is_the_choice_of_k_elements_as_they_are():
    x = torch.arange(1.0, 11)
    codec = damped(random_k(3))
    y = roundtrip(codec, x, generator(2))
    assert y.count_nonzero() == 3 and torch.allclose(y[y != 0], x[y != 0])
    assert codec.contraction(10) == pytest.approx(0.3) and not codec.unbiased
    with pytest.raises(ValueError, match="top-k 3 is not an unbiased codec"):
        damped(top_k(3))


@each(ALL)
def test_float64_travels_as_float32(codec):
    x = torch.randn(50, generator=generator(3))
    ours, theirs = (roundtrip(codec, each, generator(4)) for each in (x.double(), x))
    assert ours.dtype == theirs.dtype == torch.float32
    assert len(codec.encode(x.double(), generator(4))) == len(codec.encode(x, generator(4)))
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


@each(ALL)
def test_what_cannot_be_encoded_is_refused(codec):
    rng = generator(1)
    for bad in ("nan", "inf", "-inf"):
        with pytest.raises(ValueError, match="1 of 2 elements are NaN or infinite"):
            codec.encode(torch.tensor([1.0, float(bad)]), rng)
    with pytest.raises(ValueError, match="1 of 2 elements are NaN or infinite"):
        codec.encode(torch.tensor([1.0, 1e300], dtype=torch.float64), rng)  # no float32
    with pytest.raises(TypeError, match=r"float64, not torch.bfloat16: call x.float\(\)"):
        codec.encode(torch.ones(3, dtype=torch.bfloat16), rng)
    for wrong in (torch.ones(2, 3), torch.ones(0)):
        with pytest.raises(ValueError, match="d >= 1, not shape"):
            codec.encode(wrong, rng)
    if codec.random:
        with pytest.raises(ValueError, match=r"needs a torch\.Generator"):
            codec.encode(torch.ones(3))
    if codec.nbytes(1000) is not None:
        with pytest.raises(ValueError, match="bytes for 1000 elements, got 1: of another codec"):
            codec.decode(torch.zeros(1, dtype=torch.uint8), 1000)

"""Quantisers: the levels, the scales, the bytes."""

import math

import pytest
import torch

from reference.compression import (
    int8,
    qsgd,
    qsgd_elias,
    roundtrip,
    stochastic_rounding,
    terngrad,
)
from reference.compression.quantize import stochastic_round
from reference.models import generator

X = torch.tensor([0.3, -0.7, 1.1, -0.2, 0.05])


def test_stochastic_rounding_leaves_whole_numbers_and_goes_up_with_the_fraction():
    y = torch.tensor([-3.0, 0.0, 5.0, -1.25, 2.75]).repeat(4000, 1)
    z = stochastic_round(y, generator(1))
    assert torch.equal(z[:, :3], y[:, :3])
    assert set(z[:, 3].tolist()) == {-2.0, -1.0} and set(z[:, 4].tolist()) == {2.0, 3.0}
    assert ((z - y)[:, 3:].mean(0).abs() < 5 * (0.1875 / 4000) ** 0.5).all()


@pytest.mark.parametrize(
    "codec, levels, scale",
    [
        (qsgd(4), 4, X.norm()),
        (terngrad(), 1, 1.1),
        (stochastic_rounding(4), 7, 1.1),
        (int8(), 127, 1.1),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_what_comes_out_is_on_the_grid_next_to_what_went_in(codec, levels, scale):
    y = roundtrip(codec, X, generator(1))
    numbers = y * levels / scale
    assert torch.allclose(numbers, numbers.round(), atol=1e-4) and numbers.abs().max() <= levels + 1e-4
    assert (y - X).abs().max() <= scale / levels * (0.5 if codec.name == "int8" else 1) + 1e-6


def test_bytes_of_levels_and_scales():
    d = 1000
    assert qsgd(1).nbytes(d) == terngrad().nbytes(d) == 4 + 250  # three levels: 2 bits
    assert qsgd(4).nbytes(d) == 4 + 500  # nine levels: 4 bits
    assert stochastic_rounding(4).nbytes(d) == 4 + 500 and int8(chunk=256).nbytes(d) == 4 * 4 + 1000


def test_an_outlier_spoils_only_its_own_chunk():
    x = torch.full((512,), 0.01)
    x[0] = 100.0
    whole, chunks = (roundtrip(int8(chunk), x) for chunk in (None, 256))
    assert whole[1:].count_nonzero() == 0
    assert chunks[1:256].count_nonzero() == 0 and torch.allclose(chunks[256:], x[256:])


@pytest.mark.parametrize("s", [1, 4, 64])
def test_the_bound_of_qsgd_holds_and_few_of_its_elements_are_not_0(s):
    x = torch.randn(900, generator=generator(2))
    ratio = float(qsgd(s).variance(x).sum() / x.square().sum())
    assert ratio <= 1 - qsgd(s).contraction(900) == min(900 / (4 * s * s), 30 / s) <= min(900 / s**2, 30 / s)
    sent = sum(int(roundtrip(qsgd(s), x, generator(3, i)).count_nonzero()) for i in range(20)) / 20
    assert sent <= s * (s + math.sqrt(900))


def test_elias_sends_the_same_vector_in_a_wire_that_grows_with_the_square_root_of_d():
    nbytes = []
    for d in (10_000, 160_000):
        x = torch.randn(d, generator=generator(4))
        wire = qsgd_elias(1).encode(x, generator(5))
        assert torch.equal(qsgd_elias(1).decode(wire, d), roundtrip(qsgd(1), x, generator(5)))
        nbytes.append(len(wire))
    assert 3 < nbytes[1] / nbytes[0] < 6, "16 times as many elements, and somewhat longer gaps"
    assert nbytes[1] < qsgd(1).nbytes(160_000) / 40

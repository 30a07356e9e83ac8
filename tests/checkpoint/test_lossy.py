"""Lossy compression: the bound holds for every element, special values come back; and what a bound does to Adam."""

import math

import numpy as np
import pysz
import pytest
import torch
import zfpy
from hypothesis import given
from hypothesis import strategies as st

from reference.checkpoint.lossy import compress, decode_cells, decompress, encode_cells

FLOATS = st.one_of(
    st.floats(width=32),
    st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 1e-45, -1e-40, 3.4e38, 1.0, -1.0]),
)
BOUNDS = st.floats(1e-7, 0.5)


def within(x, back, bound, relative):
    x64, back64 = x.double(), back.double()
    most = bound * x64.abs() if relative else torch.full_like(x64, bound)
    same = (x == back) | (x.isnan() & back.isnan())
    return bool((same | ((back64 - x64).abs() <= most)).all())


@given(st.lists(FLOATS, max_size=30), BOUNDS, st.booleans(), st.sampled_from([torch.float32, torch.float64]))
def test_each_element_comes_back_within_the_bound(values, bound, relative, dtype):
    x = torch.tensor(values, dtype=dtype)
    back = decompress(compress(x, bound, relative))
    assert back.dtype == dtype and back.shape == x.shape and within(x, back, bound, relative)


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("bound", [1e-2, 1e-4, 1e-6])
def test_weights_in_fewer_bytes(bound, relative):
    x = 0.02 * torch.randn(20, 1000, generator=torch.Generator().manual_seed(1))
    packed = compress(x, bound, relative)
    assert within(x, decompress(packed), bound, relative) and packed.nbytes < 0.75 * x.nbytes
    assert packed.nbytes < compress(x, bound / 100, relative).nbytes


def test_it_costs_about_the_entropy_of_the_cells():
    """Normal numbers: h = log2(sigma sqrt(2 pi e) / (2 eps)) bits an element; the coder takes up to a fifth more."""
    sigma, eps, n = 1.0, 1e-3, 100_000
    x = sigma * torch.randn(n, generator=torch.Generator().manual_seed(0))
    bits = 8 * compress(x, eps).nbytes / n
    entropy = math.log2(sigma * math.sqrt(2 * math.pi * math.e) / (2 * eps))
    assert entropy < bits < 1.2 * entropy


def test_smooth_data_costs_less():
    x = torch.linspace(0, 100, 50_000).sin()
    noise = x[torch.randperm(len(x), generator=torch.Generator().manual_seed(0))]
    assert compress(x, 1e-4).nbytes < 0.3 * compress(noise, 1e-4).nbytes


@given(st.lists(st.integers(-(2**62), 2**62), max_size=20))
def test_cells_come_back(numbers):
    cells = np.array(numbers, dtype=np.int64)
    if np.abs(np.diff(cells.astype(object))).max(initial=0) < 2**62:  # so that folded differences fit
        assert np.array_equal(decode_cells(encode_cells(cells), len(cells)), cells)


def test_what_is_refused():
    for bound in (0, -1, math.inf, math.nan):
        with pytest.raises(ValueError, match="positive number"):
            compress(torch.zeros(1), bound)


# ZFP and SZ, where they are installed -------------------------------------------------------------------------------


def test_zfp_keeps_an_absolute_bound_and_no_relative_one():
    x = 0.02 * torch.randn(20_000, generator=torch.Generator().manual_seed(1)).numpy()
    coded = zfpy.compress_numpy(x, tolerance=1e-3)
    back = zfpy.decompress_numpy(coded)
    assert np.abs(back - x).max() <= 1e-3 and (np.abs(back - x) / np.abs(x)).max() > 1e-3
    assert compress(torch.from_numpy(x), 1e-3).nbytes < len(coded)  # it uses less than a tenth of what it may err


def test_sz_takes_as_many_bytes_for_weights_as_we_do():
    x = 0.02 * torch.randn(200_000, generator=torch.Generator().manual_seed(1)).numpy()
    config = pysz.szConfig()
    config.errorBoundMode, config.absErrorBound = pysz.szErrorBoundMode.ABS, 1e-3
    coded = pysz.sz.compress(x, config)[0]
    assert compress(torch.from_numpy(x), 1e-3).nbytes == pytest.approx(coded.nbytes, rel=0.1)


# What a resumed training stands --------------------------------------------------------------------------------------


def adam_step(m, v, lr=1e-3):
    return lr * m / (v.sqrt() + 1e-8)


def test_an_absolute_bound_on_second_moments_makes_huge_steps():
    """Moments of small gradients: v = 1e-10 becomes 0, and the step m / 1e-8 is a thousand times as large."""
    g = 1e-5 * torch.randn(1000, generator=torch.Generator().manual_seed(0)).double()
    m, v = g, g.square() + 1e-11
    right = adam_step(m, v)
    absolute = adam_step(m, decompress(compress(v, 1e-8)))
    relative = adam_step(m, decompress(compress(v, 1e-2, relative=True)))
    assert absolute.abs().max() > 100 * right.abs().max()
    assert ((relative - right).abs() <= 0.0101 / 2 * right.abs() + 1e-12).all()  # half of the relative error of v

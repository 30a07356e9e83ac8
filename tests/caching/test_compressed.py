"""When compression is faster, by the sum of seconds and not by a lowered ratio; errors within what was promised."""

import time

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reference import compression
from reference.caching.compressed import (
    affine,
    dequantize,
    derated,
    measured,
    most_bandwidth,
    of_codec,
    pipelined,
    quantize,
    sent,
    speedup,
    sz,
    transfer_seconds,
    zfp,
)

WEIGHTS = 0.02 * torch.randn(20_000, generator=torch.Generator().manual_seed(0))
POSITIVE = st.floats(0.1, 100)


@given(POSITIVE, st.floats(1.1, 50), POSITIVE, POSITIVE)
def test_it_pays_below_one_bandwidth_whatever_the_bytes(nbytes, ratio, encode, decode):
    limit = most_bandwidth(ratio, encode, decode)
    for factor, pays in ((0.9, True), (1.1, False)):
        seconds = transfer_seconds(nbytes, factor * limit, ratio, encode, decode)
        assert (seconds < nbytes / (factor * limit)) == pays


@given(POSITIVE, st.floats(1.1, 50), POSITIVE, POSITIVE, POSITIVE)
def test_speedup_is_the_quotient_of_the_seconds(nbytes, ratio, encode, decode, bandwidth):
    before = nbytes / bandwidth
    overhead = (nbytes / encode + nbytes / decode) / before
    right = before / transfer_seconds(nbytes, bandwidth, ratio, encode, decode)
    assert speedup(1.0, ratio, overhead) == pytest.approx(right)


def test_e1_29_an_overhead_of_time_is_added():
    # 25 GB in 125 ms, to 0.5 GB in 2.5 ms, and 100 ms of encoding and decoding
    assert speedup(1.0, 50, 0.8) == pytest.approx(125 / (2.5 + 100)) == pytest.approx(1.22, abs=0.005)
    assert derated(1.0, 50, 0.8) == pytest.approx(10)  # as printed: ten times as fast
    assert derated(1.0, 50, 0.9756) == pytest.approx(1.22, abs=0.005)  # the delta it would need


@given(POSITIVE, st.floats(1.1, 50), POSITIVE, POSITIVE, POSITIVE, st.integers(1, 100))
def test_chunks_overlap(nbytes, ratio, encode, decode, bandwidth, chunks):
    whole = transfer_seconds(nbytes, bandwidth, ratio, encode, decode)
    slowest = max(nbytes / encode, nbytes / (ratio * bandwidth), nbytes / decode)
    took = pipelined(nbytes, bandwidth, ratio, encode, decode, chunks)
    assert slowest * (1 - 1e-9) <= took <= whole * (1 + 1e-9)
    assert took == pytest.approx(slowest + (whole - slowest) / chunks)


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=50), st.integers(1, 16))
def test_quantised_numbers_are_within_half_a_step(numbers, bits):
    x = torch.tensor(numbers, dtype=torch.float64)
    q = quantize(x, bits)
    assert ((dequantize(q) - x).abs() <= q.step / 2 * (1 + 1e-6) + 1e-9).all()
    assert int(q.numbers.max()) <= 2**bits - 1


def test_e1_28_equal_numbers_come_back_and_outliers_cost_all_others():
    assert torch.equal(dequantize(quantize(torch.full((5,), 0.3))), torch.full((5,), 0.3))
    assert not quantize(torch.full((5,), 0.3), bits=12).numbers.any()
    formula = (torch.full((5,), 0.3) - 0.3) / (torch.tensor(0.3) - 0.3) * 255
    assert formula.isnan().all()  # as printed: 0 / 0
    outlier = torch.cat([WEIGHTS, torch.tensor([10.0])])
    plain, spoilt = (float((dequantize(quantize(x)) - x)[:-1].abs().max()) for x in (WEIGHTS, outlier))
    assert spoilt > 20 * plain
    by_chunks = of_codec(compression.int8())
    back = by_chunks.decode(by_chunks.encode(outlier), len(outlier))
    assert float((back - outlier)[:16_000].abs().max()) < 2 * plain  # an outlier spoils its own chunk only


@pytest.mark.parametrize("bad", [torch.zeros(0), torch.tensor([float("nan")]), torch.tensor([1.0, float("inf")])])
def test_what_has_no_range_is_refused(bad):
    with pytest.raises(ValueError, match="finite numbers"):
        quantize(bad)


@pytest.mark.parametrize(
    "method, ratio, error",
    [
        (of_codec(compression.bf16()), (2, 2), 0.1 * 2**-8),
        (of_codec(compression.int8()), (3.9, 4), 0.1 / 127),
        (affine(), (3.9, 4), 0.2 / 255 / 2),
        (zfp(1e-3), (2, 6), 1e-3),
        (sz(1e-3), (4, 9), 1e-3),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_methods_keep_their_bounds(method, ratio, error):
    run = measured(method, WEIGHTS, repeat=1)
    assert ratio[0] <= run.ratio <= ratio[1] and run.error <= error and min(run.encode, run.decode) > 0


def test_sent_takes_the_sum_of_its_parts():
    bandwidth = WEIGHTS.nbytes / 0.05
    begin = time.perf_counter()
    plain = sent(None, WEIGHTS, bandwidth)
    assert 0.05 <= plain <= time.perf_counter() - begin
    assert sent(of_codec(compression.bf16()), WEIGHTS, bandwidth) >= 0.025

"""The roofline: the slower of arithmetic and memory decides, and the ridge is where they change places."""

import pytest

from reference.perf.roofline import Device, device

ROOF = Device(flops=100.0, bandwidth=10.0, overhead=0.5)


@pytest.mark.parametrize("flops, nbytes, seconds", [(200, 1, 2.5), (1, 20, 2.5), (100, 10, 1.5), (0, 0, 0.5)])
def test_the_longer_of_the_two_counts_and_the_overhead_on_top(flops, nbytes, seconds):
    assert ROOF.seconds(flops, nbytes) == seconds


def test_below_the_ridge_memory_is_the_limit_and_above_it_arithmetic():
    assert ROOF.ridge == 10.0
    assert [ROOF.reached(intensity) for intensity in (1, 5, 10, 20)] == [10, 50, 100, 100]


def test_a_product_of_matrices_and_a_sum_on_an_h100():
    """In bf16: of n x n matrices 2 n^3 FLOPs and 6 n^2 bytes, n / 3 FLOPs a byte; adding two vectors, 1/6."""
    h100 = device("H100 SXM")
    assert h100.ridge == pytest.approx(295, abs=0.5)
    assert h100.reached(512 / 3) < h100.flops == h100.reached(1024 / 3)
    n = 10**9
    assert h100.seconds(n, 6 * n) == pytest.approx(1.79e-3, rel=1e-3)
    assert h100.reached(1 / 6) / h100.flops < 6e-4


def test_an_accelerator_with_an_efficiency():
    whole, half = device("H100 SXM"), device("H100 SXM", efficiency=0.5, overhead=5e-6)
    assert half == Device(whole.flops / 2, whole.bandwidth, 5e-6)
    assert device("H100 SXM", fp8=True).flops == pytest.approx(2 * whole.flops, rel=1e-3)


def test_what_is_impossible_is_refused():
    for efficiency in (0.0, 1.2, 50):
        with pytest.raises(ValueError, match=rf"\(0, 1\], got {efficiency}"):
            device("H100 SXM", efficiency)
    with pytest.raises(ValueError, match="no fp8 rate for A100 SXM"):
        device("A100 SXM", fp8=True)
    with pytest.raises(ValueError, match="no accelerator"):
        device("abacus")

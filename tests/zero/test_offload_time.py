"""Queues in a row, by hand; what a tier must carry, and the efficiencies of a paper. The clock: test_offload.py."""

import pytest

from reference.zero.offload_time import (
    OFFLOAD,
    OPTIMIZER,
    OffloadTimes,
    bandwidth_to_hide,
    delayed_steps,
    efficiency,
    offload_step,
    tokens_to_hide,
)


def test_early_steps_are_hidden_and_so_is_all_that_a_fast_tier_does():
    times, full = OffloadTimes(*[[1.0, 1.0, 1.0]] * 5), [2.0, 4.0, 6.0]
    early, at_once, clipped = (
        offload_step(3.0, full, times, *how).seconds for how in ((True,), (False,), (False, True))
    )
    assert (early, at_once, clipped) == (3 + 6 + 5, 3 + 6 + 1 + 5, 3 + 6 + 2 + 3 + 1 + 1)
    assert offload_step(3.0, full, OffloadTimes(*[[0.0] * 3] * 5)).exposed == 0
    assert delayed_steps(3.0, full, times, 5)[-1] == 3 + 6 + 1 + 3
    slow_host = times._replace(step=[5.0] * 3)
    assert delayed_steps(3.0, full, slow_host, 5)[-1] == pytest.approx(1 + 3 * 5 + 1 + 1, abs=2)


def test_what_a_tier_must_carry():
    """With 2,000 tokens a rank and 4 FLOP a weight and token, at 100 TFLOP/s, gradients of 2 bytes need 25 GB/s."""
    assert bandwidth_to_hide(OFFLOAD, 2000, 100e12) == pytest.approx(25e9)
    assert tokens_to_hide(OFFLOAD, 25e9, 100e12) == pytest.approx(2000)
    assert bandwidth_to_hide(OFFLOAD, 2000, 100e12, P=8) == pytest.approx(25e9 / 8)
    with pytest.raises(ValueError, match="nothing computes while"):
        tokens_to_hide(OPTIMIZER, 25e9, 100e12)


def test_the_efficiencies_of_the_paper():
    """ZeRO-Infinity: 70 TFLOP/s reached without traffic, batch 1 and 2 of 1,024 tokens, FLOP with recomputation."""
    assert efficiency(8, 8, 1024, 70e9, 70e12) == pytest.approx(0.5, abs=0.01)  # parameters and gradients
    assert efficiency(32, 8, 2048, 1500e9, 70e12) == pytest.approx(0.9, abs=0.02)  # optimizer state

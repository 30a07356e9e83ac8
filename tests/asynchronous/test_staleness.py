"""Late gradients: the stability limit, asynchrony as momentum, damping and compensation."""

from math import pi

import numpy as np
import pytest
import torch

from reference.asynchronous.staleness import (
    DAMPED,
    PLAIN,
    asynchronous_descent,
    compensated,
    delayed_descent,
    effective_momentum,
    largest_rate,
)


@pytest.mark.parametrize("delay", [0, 1, 2, 3, 7, 20])
def test_the_limit_is_where_descent_turns_unstable(delay):
    """A hundredth below it the swings die out, a hundredth above they grow; also for another curvature."""
    for curvature in (1.0, 4.0):
        limit, steps = largest_rate(curvature, delay), 4000 * (delay + 1)
        below, above = (np.abs(delayed_descent(curvature, f * limit, delay, steps)) for f in (0.99, 1.01))
        assert below[-50:].max() < 1e-3 and above[-50:].max() > 1e3


def test_the_limit_in_numbers():
    assert largest_rate(1, 0) == pytest.approx(2) and largest_rate(1, 1) == pytest.approx(1)
    assert largest_rate(1, 7) == pytest.approx(0.209, abs=1e-3)
    assert largest_rate(1, 1000) == pytest.approx(pi / 2000, rel=1e-3)
    roots = np.roots([1, -1, 0, largest_rate(1, 2)])  # z^3 = z^2 - eta a: at the limit the largest is on the circle
    assert max(abs(roots)) == pytest.approx(1)


def test_asynchrony_is_momentum():
    """The mean of many runs moves as the heavy ball with momentum 1 - 1/P and learning rate eta / P."""
    P, rate, steps = 8, 0.1, 60
    w = asynchronous_descent(1.0, rate, P, steps, runs=20_000)
    mean, mu = w.mean(0), effective_momentum(P)
    ball = [mean[0], mean[1]]
    for _ in range(1, steps):
        ball.append(ball[-1] + mu * (ball[-1] - ball[-2]) - rate / P * ball[-1])
    assert mu == 0.875 and mean.min() < -0.1  # it overshoots, which descent without delay never does at this rate
    np.testing.assert_allclose(mean, ball, atol=5 * w.std(0).max() / 20_000**0.5 + 1e-3)
    assert np.array_equal(w[:5], asynchronous_descent(1.0, rate, P, steps, runs=20_000)[:5])


def test_damping_shortens_and_compensation_turns():
    g, moved = torch.tensor([1.0, -2.0, 0.0]), torch.tensor([0.5, 0.5, 9.0])
    assert PLAIN.apply(g, 3, None) is g
    assert torch.equal(DAMPED.apply(g, 3, None), g / 4) and torch.equal(DAMPED.apply(g, 0, None), g)
    fixed = compensated(0.1)
    assert fixed.remembers and not DAMPED.remembers
    assert fixed.apply(g, 3, moved).tolist() == pytest.approx([1.05, -1.8, 0.0])
    with pytest.raises(ValueError, match=">= 0"):
        compensated(-1.0)

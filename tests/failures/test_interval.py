"""The checkpoint interval: formulas against the optimum, the expected time against its recursion, exercise 25.4."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import lambertw

from reference.failures import (
    account,
    daly,
    daly_higher_order,
    exact,
    expected_seconds,
    slowdown,
    wasted,
    young,
)

HOUR, DAY, WEEK = 1.0, 24.0, 168.0


@given(st.floats(1e-3, 3.0))
def test_the_exact_interval_has_the_smallest_expected_time(cost):
    best = minimize_scalar(lambda interval: slowdown(interval, cost, 1.0), bounds=(1e-3, 2), method="bounded")
    assert slowdown(exact(cost, 1.0), cost, 1.0) <= best.fun * (1 + 1e-12)
    assert exact(cost, 1.0) == pytest.approx(best.x, abs=1e-4)


@given(st.floats(1e-6, 20.0), st.floats(1e-3, 1e6))
def test_the_exact_interval_is_lamberts_function(part, mtbf):
    assert exact(part * mtbf, mtbf) == pytest.approx(mtbf * (1 + lambertw(-math.exp(-1 - part)).real), rel=1e-7)


def test_the_restart_does_not_change_the_best_interval():
    for restart in (0.0, 0.3, 5.0):
        times = [slowdown(exact(0.1, 1.0) * factor, 0.1, 1.0, restart) for factor in (0.9, 1.0, 1.1)]
        assert times[1] < times[0] and times[1] < times[2]


def test_higher_order_is_the_series_of_the_exact_interval():
    """T / M = s - s^2 / 3 + s^3 / 36, s = sqrt(2 C / M): Young is 2C/3 too long, Daly's first order C/3 too short."""
    for part in (1e-3, 1e-4, 1e-5):
        s, right = math.sqrt(2 * part), exact(part, 1.0)
        assert daly_higher_order(part, 1.0) == pytest.approx(s - s**2 / 3 + s**3 / 36, rel=1e-12)
        assert abs(daly_higher_order(part, 1.0) - right) < 0.02 * s**4
        assert young(part, 1.0) - right == pytest.approx(2 / 3 * part, rel=s)
        assert right - daly(part, 1.0) == pytest.approx(1 / 3 * part, rel=s)


def test_long_checkpoints_have_no_interval_by_formula():
    assert daly(0.5, 1.0) == daly_higher_order(2.0, 1.0) == 1.0
    assert daly(0.49, 1.0) < 1 and daly_higher_order(1.99, 1.0) < 1
    assert 0.99 < exact(5.0, 1.0) < exact(50.0, 1.0) <= 1.0


def test_the_expected_time_satisfies_its_recursion():
    """A segment succeeds, or runs until the failure, restarts and begins anew; a restart can fail like a segment."""
    M, C, R, T = 3.0, 0.2, 0.5, 1.1
    rng = np.random.default_rng(0)

    def segment(seconds, after):
        before_failure = rng.exponential(M, 200_000)
        failed = before_failure < seconds
        return np.where(failed, before_failure, seconds).mean(), failed.mean() * after, failed.mean()

    def solve(seconds, after=None):  # after: expected seconds of what follows a failure; None: nothing but itself
        ran, then, failed = segment(seconds, after or 0.0)
        return (ran + then) / (1 - failed)

    restart = solve(R)
    assert solve(T + C, restart) / T == pytest.approx(slowdown(T, C, M, R), rel=0.01)


def test_without_failures_only_checkpoints_cost():
    assert expected_seconds(100.0, 10.0, 1.0, 1e12) == pytest.approx(110.0)
    assert expected_seconds(100.0, 10.0, 0.0, 1e12) == pytest.approx(100.0)
    assert slowdown(1e6, 1.0, 1.0) == math.inf


def test_the_optimum_is_flat():
    """Twice or half of Young's interval: 1.25 times the loss to first order, here with M = 10,000 C."""
    cost, mtbf = 1.0, 1e4
    loss = [wasted(young(cost, mtbf) * factor, cost, mtbf) for factor in (0.5, 1.0, 2.0)]
    assert loss[0] / loss[1] == pytest.approx(1.25, abs=0.02)
    assert loss[2] / loss[1] == pytest.approx(1.25, abs=0.02)


@given(st.floats(0.05, 3.0), st.floats(0.0, 0.5), st.floats(0.0, 2.0))
def test_an_account_adds_up(interval, cost, restart):
    spent = account(1000.0, interval, cost, 1.0, restart)
    assert min(spent) >= -1e-9
    assert spent.work + spent.saving + spent.lost + spent.restarting == pytest.approx(1000.0)
    assert spent.overhead == pytest.approx(wasted(interval, cost, 1.0, restart))


def test_half_a_cycle_is_lost_with_a_failure():
    spent = account(1e6, 1.0, 0.1, 1000.0)
    assert spent.lost / spent.failures == pytest.approx(1.1 / 2, rel=1e-3)


def test_bad_values_are_refused():
    for function in (young, daly, daly_higher_order, exact):
        for cost, mtbf in ((0.0, 1.0), (1.0, 0.0), (-1.0, 1.0), (math.nan, 1.0), (1.0, math.inf)):
            with pytest.raises(ValueError, match="seconds above 0"):
                function(cost, mtbf)
    with pytest.raises(ValueError, match="interval and mtbf are above 0"):
        slowdown(0.0, 1.0, 1.0)


# What is often claimed ------------------------------------------------------------------------------------------------


def test_e1_31_the_formula_with_minus_c_is_dalys_first_order():
    """C = 30 min, M = 24 h: 4.40 h is not Young's interval (4.90 h), the optimum is 4.57 h, and it hardly matters."""
    C, M = HOUR / 2, DAY
    assert [round(formula(C, M), 3) for formula in (young, daly, daly_higher_order, exact)] == [
        4.899,
        4.399,
        4.571,
        4.571,
    ]
    assert [round(slowdown(formula(C, M), C, M), 4) for formula in (young, daly, exact)] == [1.2359, 1.2355, 1.2353]


def test_e1_53_a_week_of_exercise_25_4():
    """A cycle is work and checkpoint, 4.9 h: 34 checkpoints, 31 after the failures; and the work lost counts, too."""
    C, M, T = HOUR / 2, DAY, 4.4
    assert pytest.approx(38.2, abs=0.05) == WEEK / T  # what is claimed: as if a checkpoint took no time
    assert pytest.approx(34.3, abs=0.05) == WEEK / (T + C)
    assert pytest.approx(0.102, abs=5e-4) == C / (T + C)
    spent = account(WEEK, T, C, M)
    assert spent.failures == 7
    assert round(spent.checkpoints) == 31
    assert spent.saving == pytest.approx(15.45, abs=0.01)
    assert spent.lost == pytest.approx(16.57, abs=0.01)
    assert spent.lost / spent.failures == pytest.approx((T + C) / 2, rel=0.05)  # 2.4 h lost, before any restart
    assert spent.overhead == pytest.approx(0.19, abs=0.005)  # and not 0.113

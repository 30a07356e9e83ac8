"""Several levels of checkpoints: the closed form is the optimum, and the simulation agrees."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from reference.failures.interval import wasted
from reference.failures.multilevel import Nested, best, kinds, loss, mean_cost, storages
from reference.failures.simulate import simulate

HOUR = 3600.0
COSTS, MTBF, RESTARTS = (5.0, 60.0), (4 * HOUR, 48 * HOUR), (60.0, 300.0)


def test_one_level_is_youngs_interval():
    plan = best([30.0], [3 * HOUR])
    assert plan.interval == pytest.approx(math.sqrt(2 * 30 * 3 * HOUR))
    assert plan.loss == pytest.approx(math.sqrt(2 * 30 / (3 * HOUR)))


def test_mean_cost_counts_each_checkpoint_once():
    assert mean_cost((5, 60), (1, 12)) == pytest.approx((11 * 5 + 60) / 12)
    assert mean_cost((1, 10, 100), (1, 2, 6)) == pytest.approx((3 * 1 + 2 * 10 + 100) / 6)


def test_the_plan_is_the_best_of_its_neighbours():
    plan = best(COSTS, MTBF, RESTARTS)
    for n in range(1, 40):
        found = minimize_scalar(loss, args=((1, n), COSTS, MTBF, RESTARTS), bounds=(10, 1e5), method="bounded")
        assert plan.loss <= found.fun * (1 + 1e-9)
    assert plan.every == (1, 12)


def test_with_many_multiples_levels_are_nearly_independent():
    """Each level then has its own Young interval, of what it costs more than the level below."""
    costs, mtbf = (1.0, 401.0), (1 * HOUR, 1000 * HOUR)
    plan = best(costs, mtbf, most=1000)
    assert plan.interval == pytest.approx(math.sqrt(2 * 1 * mtbf[0]), rel=0.02)
    assert plan.interval * plan.every[1] == pytest.approx(math.sqrt(2 * 400 * mtbf[1]), rel=0.02)


def test_three_levels_divide_each_other():
    plan = best((1.0, 10.0, 100.0), (HOUR, 10 * HOUR, 1000 * HOUR), most=40)
    assert plan.every[0] == 1 and plan.every[2] % plan.every[1] == 0 and plan.every[2] > 40 > plan.every[1] > 1


def test_failures_have_their_rates():
    failures = kinds(MTBF, np.random.default_rng(0))
    some = [next(failures) for _ in range(6000)]
    seconds = sum(failure.gap for failure in some)
    for level, mean in enumerate(MTBF):
        assert seconds / sum(failure.needs == level for failure in some) == pytest.approx(mean, rel=0.1)


def test_two_levels_lose_half_of_what_one_loses_also_when_simulated():
    plan = best(COSTS, MTBF, RESTARTS)
    together = 1 / sum(1 / mean for mean in MTBF)
    alone = best(COSTS[1:], [together], RESTARTS[1:])
    overhead = []
    for one, costs, restarts in ((plan, COSTS, RESTARTS), (alone, COSTS[1:], RESTARTS[1:])):
        failures = kinds(MTBF, np.random.default_rng(1))
        if len(costs) == 1:
            failures = (failure._replace(needs=0) for failure in failures)
        spent = simulate(1500 * together, one.interval, storages(one, costs, restarts), failures)
        overhead.append(spent.overhead)
    assert overhead[0] == pytest.approx(plan.loss / (1 + plan.loss), rel=0.08)
    assert overhead[1] == pytest.approx(wasted(alone.interval, 60.0, together, 300.0), rel=0.05)
    assert overhead[0] < 0.6 * overhead[1]


def test_bad_values_are_refused():
    with pytest.raises(ValueError, match="one of each"):
        best([1.0, 2.0], [3.0])
    assert isinstance(best([1.0], [3.0]), Nested)

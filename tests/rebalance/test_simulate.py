"""On a cluster that throttles and stutters: what a controller gains, and that it comes to rest."""

import numpy as np
import pytest

from reference.rebalance import AT_ONCE, Controller, Limits, MoveCost
from reference.rebalance.simulate import Heat, congested, jitter, oracle, simulate, static, steady, throttled

STEPS, P, UNITS = 1000, 8, 256
EVEN = [UNITS // P] * P
COST = MoveCost(pause=20)  # seconds; a balanced step takes 32
SEEDS = pytest.mark.parametrize("seed", range(3))


@pytest.fixture(scope="module")
def runs():
    """Totals by seed: one rank throttled for half of the time, one that stutters, all with noise."""
    found = {}
    for seed in range(3):
        trace = congested(throttled(steady(STEPS, [1.0] * P), 3, 200, 700, 0.5), 5, 0.005, 5, 0.4, seed)
        noise = jitter(STEPS, P, 0.05, seed)

        def train(limits, cost=COST, trace=trace, noise=noise):
            return simulate(trace, Controller(EVEN, limits, cost), noise, horizon=500)

        found[seed] = {
            "static": static(trace, EVEN, noise),
            "careful": train(Limits()),
            "at once": train(AT_ONCE),
            "no hysteresis": train(Limits(high=0.05, low=0.05, patience=1)),
            "at once, free": train(AT_ONCE, MoveCost()),
            "oracle": oracle(trace, UNITS, noise),
        }
    return found


@SEEDS
def test_between_static_and_oracle(runs, seed):
    total = {name: run.total for name, run in runs[seed].items()}
    assert total["oracle"] < total["careful"] < total["at once"] < total["static"]
    assert (total["static"] - total["careful"]) / (total["static"] - total["oracle"]) > 0.7


@SEEDS
def test_few_moves_and_few_turns(runs, seed):
    assert runs[seed]["careful"].moves <= 6 and runs[seed]["careful"].reversals <= 16
    assert runs[seed]["at once"].moves > 100 and runs[seed]["at once"].reversals > 200


@SEEDS
def test_shares_add_up_in_every_step(runs, seed):
    for run in runs[seed].values():
        assert (run.shares.sum(axis=1) == UNITS).all() and run.shares.min() >= 1
        assert len(run.seconds) == STEPS


@SEEDS
def test_no_trace_no_moves(seed):
    """Noise alone moves nothing, whatever its seed; without thresholds it does all the time."""
    trace, noise = steady(STEPS, [1.0] * P), jitter(STEPS, P, 0.05, seed)
    careful = simulate(trace, Controller(EVEN, Limits(), COST), noise)
    assert careful.moves == 0 and careful.total == pytest.approx(static(trace, EVEN, noise).total)
    hasty = simulate(trace, Controller(EVEN, AT_ONCE, MoveCost()), noise)
    assert hasty.moves > 100 and hasty.total > careful.total


@pytest.mark.parametrize("deviation, seed", [(0.0, 0), (0.05, 0), (0.05, 1), (0.05, 2)])
def test_a_rank_that_heats_up_makes_hasty_controllers_oscillate(deviation, seed):
    """With its full share it heats up, throttles, cools down and heats up again. Whoever gives it back what it had
    keeps this going; with a little less it stays cool. An interval alone does not help, two thresholds do.
    """
    trace, noise, heats, runs = steady(STEPS, [1.0] * P), jitter(STEPS, P, deviation, seed), [], []
    for limits in (Limits(high=1e9), Limits(), AT_ONCE, AT_ONCE._replace(interval=100)):
        heats.append(Heat(3))
        runs.append(simulate(trace, Controller(EVEN, limits, COST), noise, heats[-1], horizon=500))
    off, careful, at_once, only_interval = runs
    assert off.moves == 0 and careful.turns(3) == 0 and careful.moves <= 2
    assert at_once.turns(3) >= 8 and only_interval.turns(3) >= 4
    assert careful.total < at_once.total < off.total and careful.total < only_interval.total < off.total
    assert heats[1].times == 1 and min(heats[0].times, heats[2].times, heats[3].times) >= 3


ONE_AT_5, ONE_AT_20 = Limits(high=0.05), Limits(low=0.2)


@SEEDS
def test_the_lower_threshold_finishes_what_the_upper_began(seed):
    """Half of the ranks throttled: a tenth of the units is not enough, and one threshold at 20 % stops half-way."""
    trace, noise = steady(STEPS, [1.0] * P), jitter(STEPS, P, 0.05, seed)
    for rank in range(4):
        trace = throttled(trace, rank, 200, 700, 0.5)
    best, doing_nothing = oracle(trace, UNITS, noise).total, static(trace, EVEN, noise).total
    two, one = (
        (doing_nothing - simulate(trace, Controller(EVEN, limits, COST), noise, horizon=500).total)
        / (doing_nothing - best)
        for limits in (Limits(), ONE_AT_20)
    )
    assert 0.6 < one < two - 0.05


def test_the_upper_threshold_stops_the_swing():
    """A rank with a bad fan, no noise: one threshold at 5 % swings in spite of patience and interval."""
    trace, found = steady(1500, [1.0] * P), {}
    for limits in (ONE_AT_5, ONE_AT_20, Limits()):
        heat = Heat(3)
        run = simulate(trace, Controller(EVEN, limits, COST), heat=heat, horizon=500)
        found[limits] = run.turns(3), heat.times
    assert found[ONE_AT_20] == found[Limits()] == (0, 1)
    assert found[ONE_AT_5][0] >= 8 and found[ONE_AT_5][1] >= 4


def test_traces():
    trace = throttled(steady(6, [1, 2]), 1, 2, 4, 0.5)
    assert trace.tolist() == [[1, 2]] * 2 + [[1, 1]] * 2 + [[1, 2]] * 2
    burst = congested(steady(1000, [1, 1]), 0, 0.01, 5, 0.4, seed=1)
    slow = burst[:, 0] < 1
    assert set(burst[slow, 0]) == {0.4} and (burst[:, 1] == 1).all()
    begins = np.flatnonzero(slow & ~np.r_[False, slow[:-1]])
    assert all(slow[first : first + 5].all() for first in begins) and 3 < len(begins) < 20
    noise = jitter(4000, 2, 0.05)
    assert noise.std() == pytest.approx(0.05, rel=0.05) and noise.mean() == pytest.approx(1, abs=0.005)


def test_the_careful_one_in_a_case_by_hand():
    """No noise: 10 steps of patience at 2 s, one move, the rest at 18/16 s."""
    trace = steady(50, [1, 1, 1, 0.5]) * 16
    run = simulate(trace, Controller([16] * 4, Limits(interval=1000), MoveCost(pause=3)))
    assert run.shares[9].tolist() == [16] * 4 and run.shares[10].tolist() == [18, 18, 18, 10]
    assert run.total == pytest.approx(10 * 2 + 3 + 40 * 20 / 16)
    assert (run.moves, run.moved, run.reversals) == (1, 6, 0)


def test_heat():
    heat, seen = Heat(1, inertia=10), []
    for _ in range(100):
        seen.append(heat.speeds(np.ones(2))[1])
        heat.worked(1.0)
    assert seen[0] == 1 and 0.5 in seen and seen.index(0.5) == 22  # 1 - 0.9^n > 0.9
    assert 1.0 in seen[30:]

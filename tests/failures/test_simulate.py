"""The simulated job: equal to the formula where its assumptions hold, and different where they do not."""

from itertools import chain, islice

import numpy as np
import pytest

from reference.failures import exact, wasted
from reference.failures.interval import account, young
from reference.failures.simulate import Failed, Storage, bursts, exponential, nodes, simulate, weibull


def rng(seed=0):
    return np.random.default_rng(seed)


def at(*times, needs=0):
    """Failures at these instants, and none afterwards."""
    gaps = np.diff([0.0, *times])
    return chain((Failed(float(gap), needs) for gap in gaps), [Failed(1e12)])


# One failure, by hand -------------------------------------------------------------------------------------------------


def test_without_failures():
    spent = simulate(100, 10, Storage(cost=1), at())
    assert tuple(spent) == (100, 10, 0, 0, 0, 10)
    assert simulate(95, 10, Storage(cost=1), at()).checkpoints == 10  # the last is shorter


def test_a_failure_at_work_loses_what_no_checkpoint_holds():
    spent = simulate(30, 10, Storage(cost=1, restart=2), at(15.0))  # 10 + 1, then 4 of work
    assert (spent.work, spent.saving, spent.restarting, spent.failures) == (30, 3, 2, 1)
    assert spent.lost == pytest.approx(4)


def test_a_failure_during_a_checkpoint_loses_the_segment_and_the_checkpoint():
    assert simulate(30, 10, Storage(cost=1, restart=2), at(10.5)).lost == pytest.approx(10.5)


def test_a_failure_during_a_restart_starts_it_again():
    spent = simulate(30, 10, Storage(cost=1, restart=2), at(15.0, 16.5))
    assert spent.restarting == pytest.approx(1.5 + 2)
    assert spent.lost == pytest.approx(4)


def test_a_checkpoint_counts_when_it_is_complete():
    """Ready to go on after 1 s, written after 3 more: a failure in between takes the checkpoint before."""
    background = Storage(cost=1, write=3)
    assert simulate(30, 10, background, at(13.0)).lost == pytest.approx(13)
    assert simulate(30, 10, background, at(15.0)).lost == pytest.approx(4)


def test_a_write_under_way_holds_up_the_next_checkpoint():
    spent = simulate(30, 10, Storage(cost=1, write=20), at())
    assert sum(spent[:4]) == pytest.approx(11 + 20 + 1 + 20 + 1 + 20)  # each write is waited for, the last one, too


def test_an_unreadable_checkpoint_costs_the_one_before():
    losses = {round(simulate(30, 10, Storage(1), at(25.0), unreadable=0.5, seed=seed).lost) for seed in range(20)}
    assert losses == {3, 14, 25}  # none, the newest, and both are unreadable


def test_a_failure_destroys_the_lower_levels():
    levels = [Storage(1, restart=1), Storage(3, restart=5, every=2)]  # 10+1, 10+3, 10+1, ...
    assert simulate(40, 10, levels, at(40.0, needs=0)).lost == pytest.approx(5)  # back to the third, at 35
    spent = simulate(40, 10, levels, at(40.0, needs=1))
    assert spent.lost == pytest.approx(16 + 1) and spent.restarting == 5  # back to the second, and the first is gone
    assert simulate(40, 10, levels, at(20.0, needs=1)).lost == pytest.approx(20)  # back to the beginning


def test_the_interval_may_follow_what_has_happened():
    spent = simulate(30, lambda seconds, failures: 5 if failures else 10, Storage(1), at(15.0))
    assert spent.checkpoints == 1 + 4


def test_bad_values_are_refused():
    for levels, unreadable in (([Storage(1, every=2)], 0.0), (Storage(1), 1.0)):
        with pytest.raises(ValueError, match="every=1"):
            simulate(10, 1, levels, at(), unreadable)
    with pytest.raises(ValueError, match="again"):
        next(bursts(1.0, 0.9, 5.0, rng()))


# Many failures --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["exponential", "weibull", "bursts", "nodes"])
def test_failures_have_the_mean_that_was_asked_for(kind):
    failures = {
        "exponential": exponential(10, rng()),
        "weibull": weibull(10, 0.7, rng()),
        "bursts": bursts(10, 0.5, 5, rng()),
        "nodes": nodes(10, 0.7, 50, rng(), age=2000),
    }[kind]
    assert np.mean(list(islice(failures, 20_000))) == pytest.approx(10, rel=0.05)


def test_a_job_that_begins_later_sees_the_same_failures():
    early, late = (np.cumsum(list(islice(nodes(10, 0.7, 5, rng(7), age=age), 60))) for age in (0, 100))
    assert late[:30] == pytest.approx((early[early >= 100] - 100)[:30])


def test_many_old_nodes_fail_like_one_constant_rate():
    """Deviation over mean of the gaps: 1.46 for one node (shape 0.7), and 1, that of chance, for 200 together."""
    alone, together = (np.array(list(islice(nodes(10, 0.7, count, rng(1), age=3000), 10_000))) for count in (1, 200))
    assert alone.std() / alone.mean() == pytest.approx(1.46, rel=0.05)
    assert together.std() / together.mean() == pytest.approx(1.0, rel=0.05)


def test_new_nodes_with_a_falling_rate_fail_more_often_at_first():
    def first(age):
        return np.mean(list(islice(nodes(10, 0.7, 200, rng(2), age=age), 100)))

    assert first(0) < 0.5 * first(5000)


@pytest.mark.parametrize("restart", [0.0, 3.0])
@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_the_formula_holds_for_a_constant_rate(factor, restart):
    """2,000 failures: averages are within some 2 %."""
    C, M = 0.5, 24.0
    T = factor * exact(C, M)
    spent = simulate(2000 * M, T, Storage(C, restart), exponential(M, rng(3)))
    assert spent.overhead == pytest.approx(wasted(T, C, M, restart), rel=0.03)
    expected = account(sum(spent[:4]), T, C, M, restart)
    for got, right in zip(spent, expected):
        assert got == pytest.approx(right, rel=0.06)


def test_the_formula_overestimates_failures_that_come_in_bursts():
    """The same mean, but half of the failures follow an hour after another: less is lost, and T may be longer."""
    C, M = 0.5, 24.0
    best = exact(C, M)
    at_best, longer = (
        simulate(2000 * M, factor * best, Storage(C), bursts(M, 0.5, 1.0, rng(4))).overhead for factor in (1.0, 1.4)
    )
    assert at_best < 0.9 * wasted(best, C, M)
    assert longer < at_best


def test_e1_31_what_blocks_counts_and_not_what_is_written():
    """5 s block, 300 s are written in the background: the interval of 300 s is far too long, and that of 5 s right."""
    M = 3.1 * 3600
    background = Storage(cost=5, write=300)
    blocking, writing = (
        simulate(1500 * M, young(cost, M), background, exponential(M, rng(5))).overhead for cost in (5, 300)
    )
    assert blocking < 0.07 < 0.12 < writing
    assert blocking == pytest.approx(wasted(young(5, M), 5, M) + 300 / M, rel=0.1)  # a failure also loses the write


def test_pit_12_an_interval_that_follows_the_failures_finds_its_way():
    """It begins as if there were a failure in 300 h, there is one in 24: it comes within a tenth of the best."""
    C, M = 0.5, 24.0
    guess = 300.0
    fixed = simulate(1000 * M, young(C, guess), Storage(C), exponential(M, rng(6))).overhead
    follows = simulate(
        1000 * M,
        lambda seconds, failures: young(C, (seconds + guess) / (failures + 1)),
        Storage(C),
        exponential(M, rng(6)),
    ).overhead
    assert follows < 1.1 * wasted(exact(C, M), C, M) < 1.5 * wasted(exact(C, M), C, M) < fixed

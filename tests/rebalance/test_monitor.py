"""Speeds are measured while a rank works, and not while it waits."""

import numpy as np
import pytest
import torch

from reference.data_parallel.stragglers import proportional
from reference.mpi import compute, wtime
from reference.rebalance import Monitor, gathered, imbalance, target, variation
from reference.rebalance.monitor import agreed
from reference.worlds import Slow, launch


def test_a_constant_speed_is_found_at_once_and_a_new_one_after_some_half_lives():
    monitor = Monitor(half_life=4)
    assert monitor.speed == 0
    monitor.record(16, 2.0)
    assert (monitor.speed, monitor.latest) == (8.0, 2.0)
    for _ in range(40):
        monitor.record(16, 4.0)
    assert monitor.speed == pytest.approx(4.0, rel=1e-3)


def test_half_life():
    """After four steps at another speed, per second of work, the old steps count half of what they did."""
    monitor = Monitor(half_life=4)
    for _ in range(200):
        monitor.record(1, 1.0)
    before = monitor._seconds
    for _ in range(4):
        monitor.record(0, 0.0)
    assert monitor._seconds == pytest.approx(before / 2)


def test_bad_measurements_are_refused():
    for arguments in ((-1, 1.0), (1, -1.0), (1, 0.0)):
        with pytest.raises(ValueError, match="units of work"):
            Monitor().record(*arguments)
    with pytest.raises(ValueError, match="half_life"):
        Monitor(0)


def work(comm, units, waits):
    """One step: work, then meet. With `waits` the stopwatch also runs while this rank waits for the others."""
    monitor = Monitor()
    start = wtime(comm)
    compute(comm, units[comm.rank] * 1.0)
    if waits:
        comm.Barrier()
    monitor.record(units[comm.rank], wtime(comm) - start)
    return gathered(comm, monitor)


@pytest.mark.parametrize("units", [[4, 4, 4, 4], [6, 4, 5, 1], [1, 2, 3, 4]])
def test_waiting_makes_all_ranks_look_alike(units):
    faults = [Slow(3, 2.0)]
    right = launch(work, 4, units, False, faults=faults).results
    assert all(np.array_equal(speeds, right[0]) for speeds in right)
    assert right[0] == pytest.approx([1, 1, 1, 0.5])
    wrong = launch(work, 4, units, True, faults=faults).results[0]
    assert wrong / wrong.sum() == pytest.approx(np.array(units) / sum(units), rel=1e-3)
    assert target(sum(units) * 8, wrong) == [8 * n for n in units]  # "nothing to do", whatever the speeds


def test_a_rank_that_did_nothing_is_named_on_every_rank():
    def program(comm):
        monitor = Monitor()
        if comm.rank != 1:
            monitor.record(1, 1.0)
        with pytest.raises(ValueError, match=r"rank\(s\) \[1\]"):
            gathered(comm, monitor)
        return True

    assert launch(program, 3).results == [True] * 3


def test_shares_that_differ_between_ranks_are_refused():
    def program(comm):
        agreed(comm, [2, 2])
        with pytest.raises(ValueError, match="the shares must be alike"):
            agreed(comm, [2, 2 + comm.rank])
        return True

    assert launch(program, 2).results == [True] * 2


@pytest.mark.parametrize("P, sigma", [(4, 0.247), (8, 0.176), (64, 0.062)])
def test_variation_of_speeds_overlooks_one_slow_rank_of_many_and_never_goes_away(P, sigma):
    speeds = [1.0] * (P - 1) + [0.5]
    assert variation(speeds) == pytest.approx(sigma, abs=1e-3)  # above 20 % for 4 ranks, below for 8
    even = [16] * P
    assert imbalance(even, speeds) == pytest.approx(2 * (P - 0.5) / P - 1)  # 75 % to 98 %: above
    shares = proportional(16 * P, speeds)
    assert variation(speeds) == pytest.approx(sigma, abs=1e-3) and imbalance(shares, speeds) < 0.06


def test_imbalance_is_the_step_over_the_perfect_step():
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        speeds = torch.rand(5, generator=generator).add(0.1).tolist()
        shares = torch.randint(1, 20, (5,), generator=generator).tolist()
        step = max(n / v for n, v in zip(shares, speeds))
        assert imbalance(shares, speeds) == pytest.approx(step / (sum(shares) / sum(speeds)) - 1)

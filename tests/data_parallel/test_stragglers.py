"""The slowest rank decides: how slow it is, and what helps; on the virtual cluster with a rank that is slow."""

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import expon, norm

from reference.data_parallel import stragglers
from reference.data_parallel.average import average_gradients
from reference.data_parallel.stragglers import part, proportional, rebalanced, with_spares, work_until
from reference.models.seeds import generator
from reference.mpi import compute, wtime
from reference.worlds import Slow, launch, networks

FREE = networks.uniform(0.0, 0.0)


@pytest.mark.parametrize("P, spares", [(1, 0), (8, 0), (8, 2), (1000, 0), (1000, 50)])
def test_the_wait_is_that_of_the_formula_and_of_a_simulation(P, spares):
    formula = stragglers.exponential_wait(P, 1.0, 0.25, spares)
    assert stragglers.expected_wait(expon(1.0, 0.25).isf, P, spares) == pytest.approx(formula, rel=1e-4)
    times = 1.0 + np.random.default_rng(0).exponential(0.25, (2000, P))
    assert with_spares(times, spares).seconds.mean() == pytest.approx(formula, rel=0.02)


def test_the_slowest_of_many_is_slow():
    """Times of 1 s with a deviation of 0.1 s: 8 ranks wait 1.14 s on average, 1,000 ranks 1.32, 100,000 ranks 1.44."""
    waits = [stragglers.expected_wait(norm(1.0, 0.1).isf, P) for P in (1, 8, 1000, 100_000)]
    assert waits == pytest.approx([1.0, 1.142, 1.324, 1.438], abs=1e-3)
    delays = [stragglers.exponential_wait(P, 1.0, 0.1) for P in (8, 1000, 100_000)]
    assert delays == pytest.approx([1.272, 1.749, 2.209], abs=1e-3)


def test_who_is_dropped():
    times = np.array([[1.0, 3.0, 2.0], [5.0, 4.0, 4.0]])
    all_of_them, two = with_spares(times), with_spares(times, spares=1)
    assert all_of_them.seconds.tolist() == [3.0, 5.0] and all_of_them.used.all()
    assert two.seconds.tolist() == [2.0, 4.0] and two.used.tolist() == [[1, 0, 1], [0, 1, 1]]


@given(st.integers(0, 12), st.lists(st.floats(0.1, 10), min_size=1, max_size=3))
def test_no_other_shares_are_done_sooner(samples, speeds):
    found = proportional(samples, speeds)
    assert sum(found) == samples and min(found) >= 0
    others = [way for way in product(range(samples + 1), repeat=len(speeds)) if sum(way) == samples]

    def end(way):
        return max(n / speed for n, speed in zip(way, speeds))

    assert end(found) <= min(map(end, others)) * (1 + 1e-12)


def test_shares_by_hand():
    assert proportional(40, [1, 1, 1, 1 / 3]) == [12, 12, 12, 4] and proportional(5, [1, 1, 1]) == [2, 2, 1]
    assert [part("abcdefgh", [3, 0, 5], rank) for rank in range(3)] == ["abc", "", "defgh"]
    with pytest.raises(ValueError, match="above 0"):
        proportional(3, [1, 0])
    with pytest.raises(ValueError, match="of 3 ranks 0 to 2 can be spares, not 3"):
        with_spares(np.ones((1, 3)), 3)
    with pytest.raises(ValueError, match="spares, not -1"):
        stragglers.expected_wait(norm.isf, 8, -1)

    def idle(comm):
        with pytest.raises(ValueError, match="has done something"):
            rebalanced(comm, 40, 10 * comm.rank, float(comm.rank))

    launch(idle, 2)


def samples_of(n=40):
    """x [n, 3], of which rank r's quarter has mean r: what is left out can be seen in the average."""
    return torch.randn(n, 3, generator=generator(0)) * 0.1 + torch.arange(4.0).repeat_interleave(n // 4)[:, None]


def mean_of(comm, mine):
    """The mean over all ranks' samples, as gradients are averaged."""
    weight = torch.zeros(3, requires_grad=True)
    (weight * mine).sum().backward()
    average_gradients(comm, [weight], len(mine))
    return weight.grad


def test_a_slow_rank_gets_less_and_the_average_stays_right():
    """Rank 2 takes three times as long: 30 s for 10 samples, after one step 12 s, and the mean stays that of all."""

    def program(comm):
        x, shares, seconds, means = samples_of(), [10] * 4, [], []
        for _ in range(2):
            comm.Barrier()
            start = wtime(comm)
            mine = part(x, shares, comm.rank)
            compute(comm, float(len(mine)))
            own = wtime(comm) - start
            means.append(mean_of(comm, mine))
            seconds.append(wtime(comm) - start)
            shares = rebalanced(comm, len(x), len(mine), own)
        return seconds, means, shares

    run = launch(program, 4, faults=[Slow(2, 3.0)], network=FREE)
    for seconds, means, shares in run.results:
        assert seconds == pytest.approx([30.0, 12.0]) and shares == [12, 12, 4, 12]
        for mean in means:
            torch.testing.assert_close(mean, samples_of().mean(0))


def done_in_3_seconds(comm, samples):
    """What this rank has come to and what is left; a sample takes 1 s, on a slow rank more. Nobody goes on alone."""

    def work(x):
        compute(comm, 1.0)
        done.append(x)

    done = []
    left = work_until(comm, 3.0, samples, work)
    comm.Barrier()
    return done, left


def test_until_a_time_nobody_waits_and_what_is_left_is_lost_unless_it_is_put_back():
    def own_samples(comm):
        """Ranks with data of their own, one step: what is left is thrown away."""
        done, left = done_in_3_seconds(comm, part(samples_of(), [10] * 4, comm.rank))
        return mean_of(comm, torch.stack(done)), (len(done), len(left)), wtime(comm)

    def one_queue(comm):
        """Up to 12 a step from the queue that all have, until all has been done: what is left is put back."""
        queue, seen, steps = list(samples_of()), [], 0
        while queue:
            done, left = done_in_3_seconds(comm, queue[:12][comm.rank :: 4])
            queue = [x for others in comm.allgather(left) for x in others] + queue[12:]
            seen, steps = seen + done, steps + 1
        return mean_of(comm, torch.stack(seen)), len(seen), wtime(comm) / steps

    own, queue = (launch(program, 4, faults=[Slow(2, 3.0)], network=FREE) for program in (own_samples, one_queue))
    quarters = samples_of().split(10)
    biased = torch.cat([quarter[:n] for quarter, n in zip(quarters, (3, 3, 1, 3))])
    for mean, numbers, seconds in own.results:
        assert sum(numbers) == 10 and seconds == pytest.approx(3.0)
        torch.testing.assert_close(mean, biased.mean(0))
    for mean, _, seconds in queue.results:
        assert seconds <= 3.0 + 1e-9
        torch.testing.assert_close(mean, samples_of().mean(0))
    assert [number for _, number, _ in queue.results] == [13, 12, 4, 11] and own.results[2][1] == (1, 9)


def test_each_rank_that_has_any_does_at_least_one():
    assert launch(lambda comm: work_until(comm, 0.0, "abc"[: comm.rank], print), 3).results == [[], [], ["b"]]


def test_dropping_the_slowest_forgets_its_data():
    """Four ranks with data of their own; the one that is always slow is never heard: counting right does not help."""
    times = np.tile([1.0, 1.0, 3.0, 1.0], (5, 1))
    steps = with_spares(times, spares=1)
    assert steps.seconds.max() == 1.0 and not steps.used[:, 2].any()

    def program(comm):
        mine = part(samples_of(), [10] * 4, comm.rank)
        return mean_of(comm, mine if steps.used[0, comm.rank] else mine[:0])

    heard = torch.cat([quarter for rank, quarter in enumerate(samples_of().split(10)) if rank != 2])
    mean = launch(program, 4).results[0]
    torch.testing.assert_close(mean, heard.mean(0))  # divided by the 30 that came, and yet not
    assert ((mean - samples_of().mean(0)).abs() > 0.1).all()  # that of all 40

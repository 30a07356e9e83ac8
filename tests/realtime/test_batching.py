"""Batches: what is said of the oldest request is what a run shows, and nothing in a run is above the bounds."""

from itertools import accumulate, product
from random import Random

import pytest

from reference.realtime.batching import affine, full_batch, in_time, simulate_batches, throughput, timed_batch


def arrivals(T: int, number: int, rng: Random, gaps: float):
    """Requests at least T apart, a share of the gaps longer."""
    t = rng.randint(0, T)
    for _ in range(number):
        yield t
        t += T + (rng.randint(0, 2 * T) if rng.random() < gaps else 0)


def test_by_hand():
    """One every 4 ticks, C(b) = 5 + b: alone they need 6; two of them are ready after 4, and done after 7 more."""
    C = affine(5, 1)
    assert [full_batch(4, C, b) for b in (1, 2, 3, 4)] == [None, 11, 16, 21]
    assert in_time(4, 20, C) == [2, 3] and in_time(4, 10, C) == []
    assert [round(throughput(C, b), 2) for b in (1, 2, 8)] == [0.17, 0.29, 0.62]
    run = simulate_batches(range(0, 40, 4), C, 2)
    assert run[0] == (4, 11, (0, 4)) and {batch.response for batch in run} == {11}


def test_a_full_batch_responds_as_said_or_requests_pile_up():
    compared = 0
    for seed in range(300):
        rng = Random(seed)
        T, b, C = rng.randint(1, 8), rng.randint(1, 9), affine(rng.randint(1, 12), rng.randint(1, 5))
        responses = [batch.response for batch in simulate_batches(range(0, 30 * b * T, T), C, b)]
        if (R := full_batch(T, C, b)) is None:
            assert responses[-1] > responses[0]
        else:
            assert set(responses) == {R}
            compared += 1
    assert compared > 100


def test_no_batch_with_a_timeout_is_above_the_bound():
    reached = held = 0
    for seed in range(1200):
        rng = Random(seed)
        T, b, wait = rng.randint(1, 8), rng.randint(1, 6), rng.choice((0, rng.randint(0, 30)))
        C = affine(rng.randint(1, 12), rng.randint(1, 5))
        R = timed_batch(T, C, b, wait)
        if R is None:
            assert C(b) > b * T
            continue
        runs = [simulate_batches(arrivals(T, 50, rng, gaps), C, b, wait) for gaps in (0, 0.2, 0.5) * 2]
        worst = max(batch.response for run in runs for batch in run)
        assert worst <= R, (T, b, wait, C(0), C(1))
        assert all(len(batch.arrivals) <= b for run in runs for batch in run)
        held, reached = held + 1, reached + (worst == R)
    assert held > 400 and reached > 80


@pytest.mark.parametrize(("wait", "worst"), [(0, 12), (4, 12), (8, 16), (12, 21)])
def test_how_far_the_bound_is_from_the_worst_of_all_arrivals(wait, worst):
    """What the page says of its table: 1 ms too much for short waits, and reached from 8 on."""
    C, seen = affine(5, 1), 0
    for gaps in product(range(4, 11), repeat=5):
        run = simulate_batches(accumulate(gaps, initial=0), C, 4, wait)
        seen = max(seen, *(batch.response for batch in run))
    assert seen == worst and timed_batch(4, C, 4, wait) == worst + (wait < 8)


def test_a_planted_mistake_is_seen():
    """That the oldest waits, and then its batch is computed: it forgets the batch that is under way."""
    C, T, b, wait = affine(8, 1), 3, 4, 2
    run = simulate_batches([0, 3, 6, 9, 12, 15, 18], C, b, wait)
    forgot = wait + C(b)
    assert forgot < max(batch.response for batch in run) <= timed_batch(T, C, b, wait)


def test_what_cannot_keep_up_and_what_cannot_be():
    assert timed_batch(2, affine(5, 2), 3, 0) is None  # each request alone takes its whole share
    overloaded = simulate_batches(range(0, 200, 2), affine(5, 2), 3, 0)
    assert overloaded[-1].response > 2 * overloaded[0].response
    assert timed_batch(10, affine(3, 1), 1, 100) == 4 + 4 - 1  # nobody waits for a batch of one
    assert simulate_batches([], affine(1, 1), 2) == []
    with pytest.raises(ValueError, match="got 0 and 2"):
        full_batch(0, affine(1, 1), 2)

"""Shares add up, follow speed, move a little at a time and to near ranks first."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.rebalance import limited, reassigned, target, transfers
from reference.rebalance.monitor import busy

SPEEDS = st.lists(st.floats(0.05, 10), min_size=1, max_size=6)


def test_by_hand():
    assert target(64, [1, 1, 1, 0.5]) == [19, 18, 18, 9]
    assert target(8, [1, 1, 1, 0.5]) == [3, 2, 2, 1]
    assert target(4, [1, 1, 1, 0.01]) == [1, 1, 1, 1]  # one unit at least, to be measured by
    assert limited([16, 16, 16, 16], [19, 18, 18, 9], 0.05) == [17, 17, 17, 13]
    with pytest.raises(ValueError, match="cannot give each"):
        target(2, [1, 1, 1])


@given(st.integers(0, 40), SPEEDS)
def test_targets_add_up(more, speeds):
    units = len(speeds) + more
    found = target(units, speeds)
    assert sum(found) == units and min(found) >= 1


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=2, max_size=6), st.floats(0.01, 1))
def test_a_limited_move_adds_up_stays_in_between_and_is_limited(pairs, fraction):
    shares, goal = [a for a, _ in pairs], [b for _, b in pairs]
    shares[0] += max(0, sum(goal) - sum(shares))
    goal[0] += max(0, sum(shares) - sum(goal))
    found = limited(shares, goal, fraction)
    assert sum(found) == sum(shares)
    assert all(min(a, b) <= n <= max(a, b) for a, n, b in zip(shares, found, goal))
    moved = sum(max(n - a, 0) for a, n in zip(shares, found))
    assert moved <= max(1, int(fraction * sum(shares)))
    for _ in range(200):
        if shares == goal:
            break
        before, shares = shares, limited(shares, goal, fraction)
        assert shares != before  # so the goal is reached
    assert shares == goal


def test_bad_moves():
    for bad in (([1, 1], [1, 2], 0.1), ([1, 1], [2, 0], 0.0), ([1, 1], [2, 0], 1.5)):
        with pytest.raises(ValueError, match="fraction"):
            limited(*bad)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=6), st.integers(1, 3))
def test_transfers_lead_to_the_goal_with_the_fewest_units_and_near_ranks_first(pairs, ranks_per_node):
    shares, goal = [a for a, _ in pairs], [b for _, b in pairs]
    shares[0] += max(0, sum(goal) - sum(shares))
    goal[0] += max(0, sum(shares) - sum(goal))
    nodes = [rank // ranks_per_node for rank in range(len(shares))]
    moves = transfers(shares, goal, nodes)
    owner = np.repeat(np.arange(len(shares)), shares)
    after = reassigned(owner, moves)
    assert np.bincount(after, minlength=len(shares)).tolist() == goal
    assert (after != owner).sum() == sum(max(b - a, 0) for a, b in zip(shares, goal))
    across = sum(move.units for move in moves if nodes[move.source] != nodes[move.dest])
    gain = Counter()
    for node, a, b in zip(nodes, shares, goal):
        gain[node] += b - a
    assert across == sum(max(n, 0) for n in gain.values())  # no node could do with less from outside


def test_nobody_gives_what_it_has_not():
    with pytest.raises(ValueError, match="cannot give 3"):
        reassigned(np.array([0, 0, 1]), [(0, 1, 3)])


def test_e1_58_the_inverted_formula_gives_the_slow_rank_more():
    """size_i = base perf_avg / perf_i, for throughputs: doing nothing would be better."""
    perf, base = np.array([1, 1, 1, 0.5]), 1.0
    inverted, right = base * perf.mean() / perf, base * perf / perf.mean()
    assert inverted.tolist() == [0.875, 0.875, 0.875, 1.75] and inverted.sum() == 4.375
    assert right.sum() == pytest.approx(4)
    assert busy(inverted, perf).max() == 3.5 and busy([1] * 4, perf).max() == 2.0
    assert busy(right, perf).max() == pytest.approx(8 / 7)  # 1.143
    again = inverted / inverted.sum() * 4  # made to add up, it is still worse than nothing
    assert busy(again, perf).max() == pytest.approx(3.2)


@pytest.mark.parametrize("seed", range(3))
def test_e1_58_with_any_speeds_that_differ(seed):
    perf = np.random.default_rng(seed).uniform(0.3, 1, 8)
    steps = [busy(sizes * 8 / sizes.sum(), perf).max() for sizes in (perf, np.ones(8), 1 / perf)]
    assert steps[0] < steps[1] < steps[2]


def test_e1_58_right_if_perf_means_seconds_a_unit_and_the_sizes_are_made_to_add_up():
    seconds = 1 / np.array([1, 1, 1, 0.5])
    sizes = seconds.mean() / seconds
    assert sizes.sum() == pytest.approx(4.375) and busy(sizes * 4 / 4.375, 1 / seconds).max() == pytest.approx(8 / 7)

"""Revolve: as many forward passes as the closed form says, which no schedule with so many checkpoints beats."""

from functools import cache

import pytest

from reference.recompute.binomial import extra_forwards, reach, revolve
from reference.recompute.chain import check


@cache
def fewest(n, c):
    """Extra forward passes by the recurrence over all places for the next checkpoint."""
    if c == 1:
        return n * (n - 1) // 2
    return min((k + fewest(n - k, c - 1) + fewest(k, c) for k in range(1, n)), default=0)


@pytest.mark.parametrize("c", [1, 2, 3, 5, 8])
def test_the_closed_form_is_the_least_and_the_schedule_has_it(c):
    for n in range(1, 31):
        operations = revolve(n, c)
        check(n, operations)
        assert sum(one.kind == "forward" for one in operations) - n == extra_forwards(n, c) == fewest(n, c)


@pytest.mark.parametrize("n, c", [(1, 1), (7, 1), (10, 3), (24, 4), (40, 40)])
def test_at_most_c_values_are_stored_and_one_record(n, c):
    stored, recorded, most = set(), set(), 0
    for kind, i, keep in revolve(n, c):
        if kind == "forward" and keep == "input":
            stored.add(i)
        elif kind == "forward" and keep == "all":
            recorded.add(i)
            assert len(recorded) == 1
        elif kind == "backward":
            stored.discard(i)
            recorded.discard(i)
        most = max(most, len(stored))
    assert most <= c


def test_links_that_r_passes_reach():
    assert [reach(3, r) for r in range(-1, 4)] == [0, 1, 4, 10, 20]
    assert extra_forwards(10, 3) == 2 * 10 - reach(4, 1) == 15
    assert extra_forwards(10, 10) == 9  # every link but the last is computed twice


@pytest.mark.parametrize("n, c", [(0, 1), (1, 0)])
def test_there_is_nothing_to_turn_round(n, c):
    for function in (revolve, extra_forwards):
        with pytest.raises(ValueError, match="a link and revolve a checkpoint"):
            function(n, c)

"""Placement by an integer programme: the best of all placements, and what is lost where a line of it is missing."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds, milp

from reference.linear_programme import ConstraintRows
from reference.planner.devices import loads, place


def every(seconds, memory, limits, edges=()):
    """All placements that fit: {devices: their loads}."""
    N, D = np.shape(seconds)
    found = {}
    for device in product(range(D), repeat=N):
        held = np.bincount(device, weights=memory, minlength=D)
        if (held <= limits).all():
            found[device] = loads(device, seconds, edges)
    return found


numbers = st.integers(0, 9)


@given(st.data())
def test_it_finds_the_best_of_all_placements(data):
    N, D = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3))
    seconds = data.draw(st.lists(st.lists(numbers, min_size=D, max_size=D), min_size=N, max_size=N))
    memory, limits = (data.draw(st.lists(numbers, min_size=n, max_size=n)) for n in (N, D))
    edges = data.draw(st.lists(st.tuples(st.integers(0, N - 1), st.integers(0, N - 1), numbers), max_size=4))
    possible = every(seconds, memory, limits, edges)
    if not possible:
        with pytest.raises(ValueError, match="no placement fits"):
            place(seconds, memory, limits, edges)
        return
    found = place(seconds, memory, limits, edges)
    assert found.seconds == pytest.approx(min(load.max() for load in possible.values()), abs=1e-6)
    np.testing.assert_array_equal(found.load, possible[found.device])


# Four operators in a chain on two equal devices: the ends are large, and the two in the middle exchange much.
SECONDS = np.array([[4, 4], [3, 3], [3, 3], [4, 4]])
MEMORY, LIMITS = [6, 1, 1, 6], [8, 8]
EDGES = [(0, 1, 1), (1, 2, 9), (2, 3, 1)]


def busiest(device):
    """Seconds of the busiest device, by the full costs."""
    return loads(device, SECONDS, EDGES).max()


def test_the_busiest_device_is_done_soonest():
    best = place(SECONDS, MEMORY, LIMITS, EDGES)
    assert best.seconds == busiest(best.device) == 11
    assert sorted(best.load) == [5, 11]  # three operators and an end, and their exchange


def test_both_ends_of_an_edge_pay():
    """Apart: 1 + 3 and 5 + 3 seconds; together on the first device 7."""
    assert place([[1, 9], [6, 5]], [0, 0], [1, 1], [(0, 1, 3)]).seconds == 7
    assert place([[6, 5], [1, 9]], [0, 0], [1, 1], [(0, 1, 3)]).seconds == 7


def test_e1_10_without_one_device_each_nothing_is_placed():
    x, T, rows = np.arange(8).reshape(4, 2), 8, ConstraintRows()
    for j in range(2):
        rows.add([T, *x[:, j]], [1, *-SECONDS[:, j]], 0, np.inf)
        rows.add(x[:, j], MEMORY, -np.inf, LIMITS[j])
    found = milp(np.eye(9)[T], integrality=np.ones(9), bounds=Bounds(0, np.inf), constraints=rows.constraint(9))
    assert not found.x.any()


def test_e1_10_memory_is_a_limit_of_each_device():
    whole = place(SECONDS, MEMORY, [sum(LIMITS)] * 2, EDGES)
    assert np.bincount(whole.device, weights=MEMORY, minlength=2).max() == 12 > max(LIMITS)
    assert whole.seconds == 10


def test_e1_10_without_edges_those_who_exchange_much_are_parted():
    blind = place(SECONDS, MEMORY, LIMITS)
    assert blind.seconds == 7 and blind.device[1] != blind.device[2]
    assert busiest(blind.device) >= 16


def test_e1_10_the_least_sum_is_not_the_least_maximum():
    found = every([[2, 3], [2, 3], [2, 3]], [0, 0, 0], [1, 1])
    summed = min(found, key=lambda device: found[device].sum())
    assert (found[summed].max(), place([[2, 3], [2, 3], [2, 3]], [0, 0, 0], [1, 1]).seconds) == (6, 4)


@pytest.mark.parametrize(
    "arguments, told",
    [
        (([[1, 2]], [1, 1], [1, 1]), r"seconds is \[operators, devices\]: got \(1, 2\)"),
        (([], [], [1]), r"seconds is \[operators, devices\]"),
        (([[1, -2]], [1], [1, 1]), "at least 0"),
        (([[1, 2]], [1], [1, 1], [(0, 1, 1)]), r"edge \(0, 1, 1\) names an operator that is not among 0 to 0"),
        (
            ([[1, 2]], [3], [1, 1]),
            "no placement fits: operators of 3 bytes together, the largest 3, on devices of 1, 1",
        ),
    ],
)
def test_what_is_refused(arguments, told):
    with pytest.raises(ValueError, match=told):
        place(*arguments)

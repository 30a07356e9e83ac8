"""The recorded curve: its points are still what the methods give, and no method beats Checkmate at the same bytes."""

import pytest

from reference.recompute.curve import by_policies, graph, two_blocks
from reference.recompute.rematerialize import plan_cost


def test_points_of_policies_are_as_recorded():
    found = {point[:2]: point for point in two_blocks()}
    for point in by_policies():
        assert found[point[:2]].peak == point.peak
        assert found[point[:2]].seconds == pytest.approx(point.seconds, rel=1e-9)


def test_plans_take_what_is_recorded_of_them():
    whole = graph()
    plans = [point for point in two_blocks() if point.order]
    assert {point.method for point in plans} == {"Checkmate", "Checkmate, rounded"}
    for point in plans:
        cost = plan_cost(whole, point.order)
        assert cost.peak == point.peak and cost.seconds == pytest.approx(point.seconds, rel=1e-9)


def test_nobody_is_quicker_with_fewer_bytes_and_the_bound_is_one():
    points = two_blocks()
    best = [point for point in points if point.method == "Checkmate"]
    assert {point.method for point in points} >= {"full checkpoints", "selective", "min-cut partitioner", "keep all"}
    for plan in best:
        rivals = [point for point in points if point.peak <= plan.peak and "bound" not in point.method]
        assert all(point.seconds >= plan.seconds * (1 - 1e-9) for point in rivals)
        bounds = [point for point in points if "bound" in point.method and point.peak >= plan.peak]
        assert all(point.seconds <= plan.seconds * (1 + 1e-6) for point in bounds[-1:])

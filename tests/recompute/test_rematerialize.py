"""Plans carried out: the peak is the one predicted, to the byte, and gradients have autograd's bits."""

import pytest
import torch

from reference.perf.meter import Meter
from reference.recompute.checkmate import checkmate, least_plan, rounded
from reference.recompute.graph import OperationGraph, Vertex
from reference.recompute.rematerialize import carry_out, live_bytes, plan_cost, steps

from .block import DEVICE, block, expected, graph


def plans():
    """Everything once; the fewest bytes; the quickest within the fewest, and within the mean; a rounded one."""
    least, full = least_plan(graph()), range(len(graph()))
    fewest, all_ = plan_cost(graph(), least).peak, plan_cost(graph(), full).peak
    middle = (fewest + all_) // 2
    return full, least, checkmate(graph(), fewest), checkmate(graph(), middle), rounded(graph(), middle).order


def test_bytes_seconds_and_bits():
    costs = []
    for order in plans():
        with Meter(device=DEVICE, module=block()[0]) as meter:
            found = carry_out(graph(), order, meter)
        cost = plan_cost(graph(), order)
        assert meter.peak["activations"] == cost.peak
        assert meter.total.seconds == pytest.approx(cost.seconds, rel=1e-9)
        assert found.keys() == expected().keys()
        assert all(torch.equal(found[name], expected()[name]) for name in found)
        costs.append(cost)
    full, least, within_least, middle, half = costs
    assert least.peak == within_least.peak < middle.peak < full.peak
    assert full.seconds < middle.seconds < within_least.seconds <= least.seconds and middle.seconds <= half.seconds


def test_when_a_value_goes():
    chain = OperationGraph([Vertex("a", (), 1, 4), Vertex("b", (0,), 2, 3), Vertex("c", (0, 1), 3, 2, working=5)])
    assert [step.drops for step in steps(chain, [0, 1, 2])] == [(), (), (0, 1, 2)]
    assert [step.drops for step in steps(chain, [0, 1, 0, 2])] == [(), (0,), (), (0, 1, 2)]
    assert list(live_bytes(chain, [0, 1, 0, 2])) == [(1, 4, 4), (3, 7, 3), (4, 7, 7), (7, 14, 0)]
    assert plan_cost(chain, [0, 1, 2]) == (6, 14, 3)


@pytest.mark.parametrize("order, why", [([1], "vertex 1, b, reads .0."), ([0, 1], "never computes vertices .2.")])
def test_plans_that_are_wrong(order, why):
    chain = OperationGraph([Vertex("a", (), 1, 4), Vertex("b", (0,), 2, 3), Vertex("c", (0, 1), 3, 2)])
    with pytest.raises(ValueError, match=why):
        plan_cost(chain, order)


def test_only_recorded_graphs_can_be_carried_out():
    with pytest.raises(ValueError, match="no recorded calls"):
        carry_out(OperationGraph([Vertex("a", (), 1, 4)]), [0])

"""Schedules that cut the backward pass in two: drawn small cases; the published bubbles and memory as theorems."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch.distributed.pipelining.schedules import ScheduleZBVZeroBubble

from reference.pipeline.analysis.draw import gantt, picture
from reference.pipeline.analysis.validate import validate
from reference.pipeline.schedule import Action
from reference.pipeline.schedules.plain import one_f_one_b
from reference.pipeline.schedules.weight_gradients import Cycle, NoRoom, in_gaps
from reference.pipeline.schedules.zero_bubble import v_half, v_min, zb_h1, zb_h2, zb_v
from reference.pipeline.simulate import UNIT, Costs, activations, simulate
from tests.pipeline.torch_orders import torch_schedule

seconds = st.integers(1, 9)


def bubbles(schedule, costs=UNIT):
    """(makespan, longest span of a rank) beyond the seconds in which every rank computes."""
    times = simulate(schedule, costs)
    assert max(times.busy) - min(times.busy) < 1e-9
    return times.makespan - times.busy[0], max(times.spans) - times.busy[0]


def test_h1_is_the_figure():
    assert picture(zb_h1(4, 8)) == [
        "F0 F1 F2 F3 I0 W0 F4 I1 W1 F5 I2 W2 F6 I3 W3 F7 I4 W4 I5 W5 I6 W6 I7 W7",
        "F0 F1 F2 I0 F3 I1 W0 F4 I2 W1 F5 I3 W2 F6 I4 W3 F7 I5 W4 I6 W5 I7 W6 W7",
        "F0 F1 I0 F2 I1 F3 I2 W0 F4 I3 W1 F5 I4 W2 F6 I5 W3 F7 I6 W4 I7 W5 W6 W7",
        "F0 I0 F1 I1 F2 I2 F3 I3 W0 F4 I4 W1 F5 I5 W2 F6 I6 W3 F7 I7 W4 W5 W6 W7",
    ]


def test_h2_is_the_figure():
    assert gantt(simulate(zb_h2(3, 6))) == [
        "F0 F1 F2 F3 F4 I0 W0 F5 I1 I2 W1 W2 I3 I4 W3 W4 I5 W5 .. ..",
        ".. F0 F1 F2 I0 F3 I1 F4 I2 W0 F5 I3 I4 W1 W2 I5 W3 W4 W5 ..",
        ".. .. F0 I0 F1 I1 F2 I2 F3 I3 F4 I4 W0 F5 I5 W1 W2 W3 W4 W5",
    ]


def test_v_is_the_figure():
    assert gantt(simulate(zb_v(2, 4))) == [
        "0F0 0F1 0F2 3F0 3I0 3W0 3F1 3I1 3W1 0F3 0I0 0W0 3F2 3I2 3W2 0I1 0W1 3F3 3I3 0I2 3W3 0I3 0W2 0W3 ...",
        "... 1F0 2F0 1F1 2F1 2I0 2W0 1F2 1I0 1W0 2F2 2I1 2W1 1F3 1I1 1W1 2F3 2I2 1I2 2I3 1I3 2W2 1W2 2W3 1W3",
    ]


def test_min_is_the_figure():
    assert gantt(simulate(v_min(3, 3))) == [
        "0F0 0F1 ... ... ... 5F0 5I0 0F2 5W0 ... ... 5F1 5I1 0I0 5W1 0W0 ... 5F2 5I2 0I1 5W2 0W1 ... 0I2 0W2",
        "... 1F0 ... ... 4F0 1F1 ... 4I0 4W0 ... 4F1 1F2 1I0 4I1 1W0 4W1 4F2 1I1 1W1 4I2 4W2 ... 1I2 1W2 ...",
        "... ... 2F0 3F0 ... ... 2F1 ... 3I0 3F1 2I0 3W0 2F2 2W0 3I1 3F2 2I1 3W1 2W1 ... 3I2 2I2 3W2 2W2 ...",
    ]


@pytest.mark.parametrize("schedule", [zb_h1, zb_h2, zb_v, v_half, v_min])
@given(p=st.integers(1, 8), m=st.integers(1, 18))
def test_any_sizes_are_valid(schedule, p, m):
    validate(schedule(p, m))


@given(p=st.integers(1, 8), more=st.integers(0, 12), F=seconds, I=seconds, W=seconds)
def test_h1_theorem(p, more, F, I, W):  # noqa: E741
    m = p + more
    schedule = zb_h1(p, m)
    assert bubbles(schedule, Costs(F, I, W))[0] == (p - 1) * max(F + I - W, F, I)  # W <= F, I: F + I - W, as published
    assert activations(schedule) == [p] * p
    for r, order in enumerate(schedule):
        lags = [Action("I", r, i + r) in order[: order.index(Action("W", r, i))] for i in range(m - r)]
        assert all(lags), "W of micro-batch i comes after I of micro-batch i + r"


@given(p=st.integers(1, 8), more=st.integers(0, 12), F=seconds, I=seconds, W=seconds)
def test_h2_theorem(p, more, F, I, W):  # noqa: E741
    m = 2 * p - 1 + more
    schedule = zb_h2(p, m)
    bubble, span = bubbles(schedule, Costs(F, I, W))
    assert span == (p - 1) * max(F + I - 2 * W, I - F, 0)  # none if F = I = W
    assert bubble >= max((p - 1) * F, span)  # the last rank starts late
    assert activations(schedule) == [2 * p - 1] * p


@given(p=st.integers(2, 10), more=st.integers(0, 20))
def test_v_theorems(p, more):
    m = p + more
    full = 3 * 2 * (p - 1)  # the bubble of 1F1B, in seconds of one pass of one of two stages
    bubble, span = bubbles(zb_v(p, m))
    assert bubble == p - 1 and (span == 0 or m < 2 * p)
    assert activations(zb_v(p, m)) == [2 * p] * p
    assert bubbles(v_half(p, m))[0] == full / 2 - p % 2
    assert max(activations(v_half(p, m))) == 2 * (p // 2 + 1)
    assert bubbles(v_min(p, m))[0] == full * 2 / 3 - 1
    assert max(activations(v_min(p, m))) == 2 * ((p + 1) // 3 + 1)


def test_against_1f1b():
    """p = 8, m = 24, in a rank's own units: more memory, less bubble."""
    p, m, chunks = 8, 24, UNIT.chunked(2)
    shares = {
        "1F1B": (bubbles(one_f_one_b(p, m))[0], max(activations(one_f_one_b(p, m)))),
        "ZB-H1": (bubbles(zb_h1(p, m))[0], max(activations(zb_h1(p, m)))),
        "ZB-H2": (bubbles(zb_h2(p, m))[1], max(activations(zb_h2(p, m)))),
        "ZB-V": (bubbles(zb_v(p, m), chunks)[1], max(activations(zb_v(p, m))) / 2),
        "V-Half": (bubbles(v_half(p, m), chunks)[1], max(activations(v_half(p, m))) / 2),
        "V-Min": (bubbles(v_min(p, m), chunks)[1], max(activations(v_min(p, m))) / 2),
    }
    assert shares == {
        "1F1B": (21, 8),
        "ZB-H1": (7, 8),
        "ZB-H2": (0, 15),
        "ZB-V": (0, 8),
        "V-Half": (10.5, 5),
        "V-Min": (13.5, 4),
    }


@pytest.mark.parametrize("p, m", [(2, 4), (4, 8), (4, 13), (8, 24)])
def test_v_does_as_torch_does(p, m):
    ours, theirs = zb_v(p, m), torch_schedule(ScheduleZBVZeroBubble, p, m)
    without_w = lambda schedule: [[action for action in order if action.kind in "FI"] for order in schedule]  # noqa: E731
    assert without_w(ours) == without_w(theirs)
    assert bubbles(ours) == bubbles(theirs)
    assert activations(ours) == activations(theirs)


def test_memory_that_does_not_suffice():
    order = [("F", 0)] * 3 + [("F", 0), ("I", 0)] * 4
    with pytest.raises(NoRoom, match="name: rank 0 has no room for 0F2, it keeps 2 of 2 already"):
        in_gaps("name", [order], 4, limit=2)


def test_orders_that_wait_for_each_other():
    orders = [[("F", 0), ("I", 0)] * 2, [("F", 1), ("F", 1), ("I", 1), ("I", 1)]]
    with pytest.raises(Cycle, match=r"name: .* rank 0 with 0I0 for 1I0, rank 1 with 1F1 for 0F1"):
        in_gaps("name", orders, 2, limit=9)


@pytest.mark.parametrize("schedule", [zb_h1, zb_h2, zb_v, v_half, v_min])
def test_no_sizes(schedule):
    with pytest.raises(ValueError, match="at least 1, got 0"):
        schedule(4, 0)


@pytest.mark.parametrize("p", [2, 3, 4, 8])
def test_h2_and_v_let_no_rank_wait_that_has_begun_from_2p_minus_1_micro_batches_on(p):
    """What their one-line ideas say; with fewer micro-batches, or a W that is shorter, ranks do wait."""
    for kind in (zb_h2, zb_v):
        assert simulate(kind(p, 2 * p - 1)).bubble_of_spans == simulate(kind(p, 4 * p + 1)).bubble_of_spans == 0
        assert simulate(kind(p, 2 * p - 2)).bubble_of_spans > 0
        assert simulate(kind(p, 4 * p), Costs(2, 2, 1)).bubble_of_spans > 0

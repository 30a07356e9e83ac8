"""The plain schedules: each drawn once, then what is true of them for any p and m."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.pipeline.analysis.draw import gantt, picture
from reference.pipeline.analysis.validate import InvalidSchedule, check_times, validate
from reference.pipeline.schedule import Action, Schedule
from reference.pipeline.schedules.plain import gpipe, naive, one_f_one_b, pipedream, pipedream_2bw
from reference.pipeline.simulate import Costs, Times, activations, simulate

PLAIN = [naive, gpipe, one_f_one_b, pipedream, pipedream_2bw]
sizes = st.tuples(st.integers(1, 8), st.integers(1, 20))
seconds = st.floats(0.125, 8).map(lambda x: round(x * 8) / 8)  # eighths: sums are exact


def test_naive_is_the_figure():
    assert gantt(simulate(naive(p=3, m=2))) == [
        "F0 .. .. .. .. .. .. B0--- F1 .. .. .. .. .. .. B1---",
        ".. F0 .. .. .. B0--- .. .. .. F1 .. .. .. B1--- .. ..",
        ".. .. F0 B0--- .. .. .. .. .. .. F1 B1--- .. .. .. ..",
    ]


def test_gpipe_is_the_figure():
    assert gantt(simulate(gpipe(p=3, m=4))) == [
        "F0 F1 F2 F3 .. .. .. .. .. .. B3--- B2--- B1--- B0---",
        ".. F0 F1 F2 F3 .. .. .. B3--- B2--- B1--- B0--- .. ..",
        ".. .. F0 F1 F2 F3 B3--- B2--- B1--- B0--- .. .. .. ..",
    ]


def test_1f1b_is_the_figure():
    assert picture(one_f_one_b(p=3, m=4)) == [
        "F0 F1 F2 B0 F3 B1 B2 B3",
        "F0 F1 B0 F2 B1 F3 B2 B3",
        "F0 B0 F1 B1 F2 B2 F3 B3",
    ]
    assert gantt(simulate(one_f_one_b(p=3, m=4))) == [
        "F0 F1 F2 .. .. .. .. B0--- F3 B1--- .. B2--- .. B3---",
        ".. F0 F1 .. .. B0--- F2 B1--- F3 B2--- .. B3--- .. ..",
        ".. .. F0 B0--- F1 B1--- F2 B2--- F3 B3--- .. .. .. ..",
    ]


def test_pipedream_and_2bw_are_the_figures():
    assert picture(pipedream(p=3, m=4)) == [
        "F0 F1 F2 B0 S0 F3 B1 S1 B2 S2 B3 S3",
        "F0 F1 B0 S0 F2 B1 S1 F3 B2 S2 B3 S3",
        "F0 B0 S0 F1 B1 S1 F2 B2 S2 F3 B3 S3",
    ]
    assert picture(pipedream_2bw(p=2, m=5)) == [
        "F0 F1 B0 F2 B1 S1 F3 B2 F4 B3 S3 B4 S4",
        "F0 B0 F1 B1 S1 F2 B2 F3 B3 S3 F4 B4 S4",
    ]


@pytest.mark.parametrize("make", PLAIN)
@pytest.mark.parametrize("p, m", [(1, 1), (2, 1), (1, 3), (4, 3), (5, 9)])
def test_plain_schedules_are_valid(make, p, m):
    schedule = make(p, m)
    validate(schedule)
    assert (schedule.ranks, schedule.stages, schedule.micro_batches) == (p, p, m)
    assert schedule.chunks == [[r] for r in range(p)]


@pytest.mark.parametrize("make", PLAIN)
@pytest.mark.parametrize("p, m", [(0, 4), (4, 0), (-1, 4), (2, 1.5)])
def test_sizes_that_cannot_be(make, p, m):
    with pytest.raises(ValueError, match="whole number of at least 1"):
        make(p, m)


@given(sizes, seconds, seconds)
def test_makespan_and_bubble(size, F, B):
    """(m + p - 1)(F + B) for GPipe and 1F1B alike (E0-15): 1F1B does not shrink the bubble."""
    p, m = size
    costs = Costs(F=F, B=B)
    for make in (gpipe, one_f_one_b):
        times = simulate(make(p, m), costs)
        assert times.makespan == (m + p - 1) * (F + B)
        assert times.bubble == pytest.approx((p - 1) / (m + p - 1))
        assert times.busy == [m * (F + B)] * p
    times = simulate(naive(p, m), costs)
    assert times.makespan == m * p * (F + B) and times.bubble == pytest.approx((p - 1) / p)


@given(sizes)
def test_peak_activations(size):
    """Per rank m for GPipe and min(m, p - r) for 1F1B; over all ranks m p and, if m >= p, p (p + 1) / 2 (E0-16)."""
    p, m = size
    assert activations(gpipe(p, m)) == [m] * p
    assert activations(one_f_one_b(p, m)) == activations(pipedream(p, m)) == [min(m, p - r) for r in range(p)]
    assert activations(naive(p, m)) == [1] * p
    if m >= p:
        assert sum(activations(one_f_one_b(p, m))) == p * (p + 1) / 2


@given(sizes)
def test_the_slots_of_gpipe(size):
    """E0-14: with F = B = 1, forward passes fill slots 1 ... m+p-1 and backward passes m+p ... 2m+2p-2, in reverse."""
    p, m = size
    times = simulate(gpipe(p, m), Costs(F=1, B=1))
    slot = {action: start + 1 for order, own in zip(times.schedule, times.starts) for action, start in zip(order, own)}
    forward = {slot[a] for a in slot if a.kind == "F"}
    backward = {slot[a] for a in slot if a.kind == "B"}
    assert forward == set(range(1, m + p)) and backward == set(range(m + p, 2 * m + 2 * p - 1))
    assert slot["B", p - 1, m - 1] == m + p and slot["B", 0, 0] == 2 * m + 2 * p - 2
    assert len(range(m + p, 2 * m + p - 1)) == m - 1  # "M+P to 2M+P-2": too few for the m backward passes of a stage


def test_a_drawing_that_no_machine_can_follow():
    """E3-21: stages that begin backward right after their own last forward; 3B3 is needed first, in slot 8."""
    p = m = 4
    order = gpipe(p, m)
    drawn = [[r + k for k in range(2 * m)] for r in range(p)]  # starts: F0 ... F3 B3 ... B0 without a pause
    drawn = Times(Schedule("drawn", tuple(own[:-1] for own in order)), drawn, [[s + 1 for s in own] for own in drawn])
    assert drawn.makespan == 11
    with pytest.raises(InvalidSchedule, match=r"rank 0, place 4: 0B3 starts at 4 s, but it needs 1B3, .* at 6 s"):
        check_times(drawn)
    times = simulate(order, Costs(F=1, B=1))
    check_times(times)
    assert times.makespan == 14 == 2 * (m + p - 1)
    assert [times.starts[r][4] + 1 for r in reversed(range(p))] == [8, 9, 10, 11]


@given(sizes, st.data())
def test_pipedream_updates_after_every_backward_pass(size, data):
    p, m = size
    batch = data.draw(st.integers(max(p - 1, 1), m + p))
    for schedule, every in ((pipedream(p, m), 1), (pipedream_2bw(p, m, batch), batch)):
        validate(schedule)
        for r, order in enumerate(schedule):
            updates = [k for k, action in enumerate(order) if action.kind == "S"]
            last = [i for i in range(m) if i % every == every - 1 or i == m - 1]
            assert [order[k] for k in updates] == [Action("S", r, i) for i in last]
            assert [order[k - 1] for k in updates] == [Action("B", r, i) for i in last]
        plain = [[a for a in order if a.kind != "S"] for order in schedule]
        assert plain == [[a for a in order if a.kind != "S"] for order in one_f_one_b(p, m)]


def test_2bw_needs_batches_that_are_long_enough():
    validate(pipedream_2bw(4, 20, batch=3))
    with pytest.raises(ValueError, match="batch = 2 is below p - 1 = 3"):
        pipedream_2bw(4, 20, batch=2)

"""Records: bad input is refused with its numbers, and what follows from the times is exact."""

from fractions import Fraction

import pytest

from reference.realtime import PeriodicTask, Segment, hyperperiod
from reference.realtime.tasks import checked, on_time, utilisation


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ({"execution": 0, "period": 5}, "execution is 0"),
        ({"execution": 1, "period": 0}, "period is 0"),
        ({"execution": 1, "period": 5, "deadline": -1}, "deadline is -1"),
        ({"execution": 1, "period": 5, "offset": -2}, "offset is -2"),
        ({"execution": 1, "period": 5, "jitter": -2}, "jitter is -2"),
        ({"execution": 3, "period": 5, "deadline": 2}, "deadline of 2 is below the 3"),
        ({"execution": 6, "period": 5}, "deadline of 5 is below the 6"),
        ({"execution": 0.5, "period": 5}, "smaller tick"),
        ({"execution": 3, "period": 9, "body": (Segment(2), Segment(2))}, "segments take 4"),
        ({"period": 9, "body": (Segment(2), Segment(0))}, "at least 1 tick"),
        ({"period": 9, "body": (Segment(4), Segment(4, on=None), Segment(4))}, "below the 12 ticks"),
    ],
)
def test_times_that_no_task_can_have_are_refused(what, words):
    with pytest.raises(ValueError, match=f"planner.*{words}"):
        PeriodicTask("planner", **what)


def test_what_follows_from_a_body():
    task = PeriodicTask("t", period=20, body=(Segment(2), Segment(5, on=None), Segment(3, preemptive=False, on="gpu")))
    assert (task.execution, task.suspension, task.longest, task.deadline) == (5, 5, 10, 20)
    assert not task.preemptive
    assert task.utilisation == Fraction(1, 4)
    assert [segment.on for segment in task.on("cpu1").segments] == ["cpu1", None, "gpu"]


def test_sums_are_exact():
    tasks = [PeriodicTask("a", 1, 3), PeriodicTask("b", 1, 6), PeriodicTask("c", 1, 2)]
    assert utilisation(tasks) == 1  # not 0.9999...
    assert hyperperiod(tasks) == 6
    assert PeriodicTask("d", 1, 4, 2).density == Fraction(1, 2)


def test_names_are_needed_and_differ():
    with pytest.raises(ValueError, match="at least one"):
        checked([])
    with pytest.raises(ValueError, match="several are called a"):
        checked([PeriodicTask("a", 1, 3), PeriodicTask("a", 1, 4)])


def test_a_verdict_is_true_only_if_it_is_proved():
    task = PeriodicTask("a", 1, 3)
    assert on_time([task], [3], "test")
    assert not on_time([task], [4], "test") and "4 ticks, and its deadline is 3" in on_time([task], [4], "test").because
    assert "no bound" in on_time([task], [None], "test").because

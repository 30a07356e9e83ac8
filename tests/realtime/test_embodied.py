"""Exercise 9.6: a placement that is in time by analysis and in simulation, and the load beyond which none exists."""

from fractions import Fraction

import pytest

from reference.realtime import FixedPriority, Segment, embodied, simulate
from reference.realtime.tasks import PeriodicTask

MS = embodied.TICKS


def test_e0_36_a_slice_as_long_as_the_deadline_leaves_control_no_time():
    control, planning, perception = embodied.robot(Fraction(1, 100))  # hardly any load
    assert embodied.in_time([control, planning, perception], 10 * MS), "blocked by what the others have: little"
    control, planning, perception = embodied.robot(Fraction(1, 2))
    assert not embodied.in_time([control, perception], 10 * MS)
    assert embodied.in_time([control, perception], 1 * MS)


def test_the_load_that_each_number_of_devices_bears():
    assert [embodied.largest_load(devices) for devices in (1, 2, 3, 4)] == [
        Fraction(568, 1000),
        Fraction(781, 1000),
        Fraction(5, 4),
        Fraction(5, 4),
    ]


def test_beyond_the_largest_no_job_is_in_time_even_alone():
    assert embodied.placement(embodied.robot(Fraction(5, 4)), 3, MS) == (0, 1, 2)
    with pytest.raises(ValueError, match="not schedulable, because its deadline"):
        embodied.robot(Fraction(1251, 1000) + Fraction(1, 100))


@pytest.mark.parametrize("devices", [1, 2, 3])
def test_what_is_found_is_in_time_in_simulation_too(devices):
    tasks = embodied.robot(embodied.largest_load(devices))
    places = embodied.placement(tasks, devices, MS)
    for device in set(places):
        on = [task for task, place in zip(tasks, places) if place == device]
        run = simulate([in_kernels(task, MS) for task in on], FixedPriority(on), until=200 * MS)
        assert all(job.finish is not None and job.finish <= job.deadline for job in run.jobs if job.deadline <= run.end)


def in_kernels(task, kernel):
    """The task as kernels that nobody interrupts."""
    pieces = [kernel] * (task.execution // kernel) + [task.execution % kernel] * (task.execution % kernel > 0)
    body = tuple(Segment(ticks, preemptive=False) for ticks in pieces)
    return PeriodicTask(task.name, period=task.period, deadline=task.deadline, body=body)

"""The timing of a drive, as data: what is released when, and the bounds that follow."""

from reference.realtime.driving import schedule


def test_the_first_tenth_of_a_second_is_the_figure():
    assert dict(schedule.releases(101)) == {
        0: ["camera", "radar", "odometer"],
        20: ["odometer"],
        40: ["odometer"],
        50: ["radar"],
        60: ["odometer"],
        80: ["odometer"],
        100: ["camera", "radar", "odometer"],
    }


def test_bounds_are_sums_of_what_is_waited_for():
    assert schedule.age_bound() == 100 + 60 + 30 + 10
    assert schedule.stop_bound("perception") == schedule.stop_bound("planning") == 300 + 20 + 10
    assert schedule.stop_bound("control") == 100 + 20
    assert schedule.age_bound() + schedule.SENSORS["camera"].period <= schedule.PLAN_SILENCE, (
        "one picture may be missed"
    )


def test_the_stated_load_fits_and_the_next_size_is_a_quarter():
    assert schedule.perception_time(schedule.STATED_LOAD, 64) <= 0.8 * schedule.DEADLINE["perception"]
    fine, coarse = (schedule.perception_time(8, size) - schedule.CALL for size in (64, 32))
    assert fine == 4 * coarse

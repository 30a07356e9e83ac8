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


def test_after_the_cloud_there_is_time_for_an_own_answer_and_the_standby_waits_for_that_and_is_in_time():
    patience = schedule.offload_job(schedule.STATED_LOAD).patience
    own = schedule.perception_time(schedule.STATED_LOAD, 32)
    assert own <= schedule.OWN_ANSWER
    assert patience + own < schedule.TAKEOVER < schedule.DEADLINE["perception"]
    assert schedule.takeover_bound() == 100 + 55
    assert schedule.team(cloud=True, standby=True) == (4, 5) and schedule.team(False, True) == (None, 4)
    assert [schedule.team(*each).size for each in ((False, False), (True, False), (True, True))] == [4, 5, 6]

"""A drive: exact times on the virtual cluster; on real ranks that it comes to its end, and that faults stop the car."""

import json

import pytest

from reference import drive as program
from reference.realtime.driving import schedule

from . import programs


@pytest.fixture
def told(capsys):
    """told(*arguments) is (exit status, what the program found), on the virtual cluster."""

    def on_virtual_ranks(*arguments):
        (status, *rest) = programs.on_ranks(program, 4, *arguments, "--json")
        assert set(rest) <= {status}
        return status, json.loads(capsys.readouterr().out)

    return on_virtual_ranks


def test_under_the_stated_load_nothing_is_late_and_every_time_is_the_tables(told):
    status, found = told("--seconds", "3")
    perception, planning, control = found["stages"].values()
    assert status == 0 and found["promised"] and found["late"] == 0
    assert [stage["jobs"] for stage in (perception, planning, control)] == [30, 30, 150]
    assert perception["worst"] == pytest.approx(schedule.perception_time(4, 64), abs=0.5)  # and the message's time
    assert planning["worst"] == pytest.approx(schedule.PLAN, abs=0.1)
    assert control["worst"] == pytest.approx(schedule.COMMAND, abs=0.1)
    assert found["age"]["worst"] <= found["age"]["bound"] == 200
    assert found["stops"] == {"control": None, "vehicle": None} and found["gap"] > 0


def test_the_car_stops_before_the_obstacle(told):
    _, found = told("--seconds", "12")
    assert 2 < found["gap"] < 25 and found["speed"] < 1


def test_too_many_cameras_are_late_once_and_then_seen_coarsely(told):
    status, found = told("--load", "8", "--seconds", "2")
    assert status == 0 and not found["promised"]
    assert found["stages"]["perception"]["late"] == 1
    assert [size for _, size in found["resolutions"]] == [64, 32]


WATCHDOG = {"perception": "control", "planning": "control", "control": "vehicle"}


@pytest.mark.parametrize("stage", WATCHDOG)
def test_a_silent_stage_stops_the_car_within_the_bound(told, stage):
    _, found = told("--fault", f"silent:{stage}@1.5", "--seconds", "4")
    stop = found["stops"][WATCHDOG[stage]]
    (silence,) = found["silences"]
    assert 0 < stop - silence["start"] <= silence["bound"] == schedule.stop_bound(stage)
    assert found["speed"] == 0 and found["gap"] > 10


def test_a_late_stage_is_counted_and_one_that_is_far_too_late_stops_the_car(told):
    _, found = told("--fault", "slow:planning@1-2", "--seconds", "3")
    assert found["stages"]["planning"]["late"] == 10 and found["stops"]["control"] is None
    _, found = told("--fault", "slow:perception@1-2", "--seconds", "3")
    assert found["stages"]["perception"]["late"] >= 5 and found["stages"]["perception"]["skipped"] > 0
    assert found["stops"]["control"] is not None
    sizes = [size for _, size in found["resolutions"]]
    assert sizes[:3] == [64, 32, 16]


def test_slow_motion_stretches_periods_and_not_the_accelerator(told):
    _, found = told("--slow-motion", "4", "--seconds", "1")
    assert found["stages"]["perception"]["worst"] == pytest.approx(schedule.perception_time(4, 64) / 4, abs=0.5)


def test_a_promise_that_is_not_kept_is_an_exit_status(monkeypatch, told):
    monkeypatch.setitem(schedule.DEADLINE, "planning", 10)
    status, found = told("--seconds", "1")
    assert status == 1 and found["late"] == 10


def test_virtual_ranks_in_one_process_and_a_timeline(capsys, tmp_path):
    path = tmp_path / "drive.json"
    assert programs.on_ranks(program, 1, "--virtual", "--seconds", "1", "--timeline", str(path)) == [0]
    assert "promised: no deadline missed at a load of 4; missed or skipped: 0" in capsys.readouterr().out
    events = json.loads(path.read_text())
    named = [event["name"] for event in (events["traceEvents"] if isinstance(events, dict) else events)]
    assert named.count("perception") == 10 and named.count("control") == 50


@pytest.mark.mpi
def test_real_ranks_drive_and_stop_when_perception_falls_silent(capsys):
    """No time is asserted: a busy machine is late."""
    arguments = ["--seconds", "2", "--slow-motion", "3", "--fault", "silent:perception@0.5", "--json"]
    assert programs.on_ranks(program, 4, *arguments, world="mpi") == [0] * 4
    found = json.loads(capsys.readouterr().out)
    assert program.report.first_stop(found) is not None
    told = found["stages"]["control"]
    assert told["jobs"] + told["skipped"] == 100, "each message of the odometer was answered or counted"
    assert found["stages"]["perception"]["jobs"] <= 6

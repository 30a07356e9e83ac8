"""The pace of the machine: a slow one makes limits longer, a fast one leaves them, and nothing makes them endless."""

import itertools
import time

import pytest

from reference.perf import pace as module
from reference.perf.pace import MOST, SECONDS, VARIABLE, calibration_seconds, cpu_pace, pace


@pytest.fixture(autouse=True)
def afresh(monkeypatch):
    """No value from the environment, none from before, and none that stays."""
    monkeypatch.delenv(VARIABLE, raising=False)
    for each in (pace, cpu_pace):
        each.cache_clear()
    yield
    for each in (pace, cpu_pace):
        each.cache_clear()


def takes(monkeypatch, *seconds):
    """Lets calibration_seconds() take these seconds, in turn."""
    turns = itertools.cycle(seconds)
    monkeypatch.setattr(module, "calibration_seconds", lambda *_: next(turns))


@pytest.mark.parametrize("slower, expected", [(0.1, 1.0), (1.0, 1.0), (3.0, 3.0), (1000.0, MOST), (1e-9, 1.0)])
def test_limits_become_longer_on_a_slow_machine_and_never_shorter(monkeypatch, slower, expected):
    takes(monkeypatch, slower * SECONDS)
    assert pace() == pytest.approx(expected)


def test_one_disturbance_is_not_the_pace(monkeypatch):
    takes(monkeypatch, *(factor * SECONDS for factor in (2, 1, 50, 2, 2)))
    assert pace() == pytest.approx(2)


def test_it_is_measured_once(monkeypatch):
    takes(monkeypatch, 2 * SECONDS)
    first = pace()
    takes(monkeypatch, 5 * SECONDS)
    assert pace() == first


@pytest.mark.parametrize("wall, cpu, expected", [(6, 1, 1), (6, 2, 2), (2, 3, 2), (1, 0.5, 1)])
def test_what_else_runs_costs_time_and_hardly_any_computing(monkeypatch, wall, cpu, expected):
    slower = {time.perf_counter: wall, time.process_time: cpu}
    monkeypatch.setattr(module, "calibration_seconds", lambda clock: slower[clock] * SECONDS)
    assert cpu_pace() == pytest.approx(expected)


def test_calibrating_takes_the_time_on_the_clock():
    ticks = iter([10.0, 10.5])
    assert calibration_seconds(lambda: next(ticks)) == 0.5
    assert calibration_seconds() > 0


@pytest.mark.parametrize("given, expected", [("1", 1.0), ("2.5", 2.5), ("20", 20.0), (" 3 ", 3.0)])
def test_the_environment_knows_better(monkeypatch, given, expected):
    takes(monkeypatch, 7 * SECONDS)
    monkeypatch.setenv(VARIABLE, given)
    assert pace() == expected


def test_an_empty_variable_is_none(monkeypatch):
    takes(monkeypatch, 7 * SECONDS)
    monkeypatch.setenv(VARIABLE, "")
    assert pace() == pytest.approx(7)


@pytest.mark.parametrize("given", ["0.5", "0", "-1", "21", "nan", "inf", "fast", "1,5"])
def test_what_is_no_pace_is_refused(monkeypatch, given):
    monkeypatch.setenv(VARIABLE, given)
    with pytest.raises(ValueError, match=f"{VARIABLE} is a number from 1 to 20, got '{given}'"):
        pace()

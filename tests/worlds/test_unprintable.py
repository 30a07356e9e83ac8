"""Exceptions that cannot be shown, or carried, end a launch with a report as any other does."""

import time

import numpy as np
import pytest

from reference.perf.pace import pace
from reference.worlds import Deadlock, LaunchError, RankFailed, TimedOut, launch
from reference.worlds.spelling import LONGEST, error_text, shown
from reference.worlds.virtual import report

pytestmark = pytest.mark.usefixtures("own_job_of_the_module")


class NoText(ValueError):
    """Its text fails."""

    def __str__(self):
        raise TypeError("no text")


class NoTextEither(ValueError):
    """Its text fails with what fails likewise."""

    def __str__(self):
        raise NoText


class Leaves(ValueError):
    """Its text ends the program."""

    def __str__(self):
        raise SystemExit


class NotText(ValueError):
    """Its text is a number."""

    def __str__(self):
        return 5


class Enormous(ValueError):
    """Ten million characters."""

    def __str__(self):
        return "x" * 10**7


class Endless(ValueError):
    """Its text is never finished."""

    def __str__(self):
        while True:
            time.sleep(0.001)


class Masked(type):
    """A class of classes that does not tell their names."""

    def __getattribute__(cls, name):
        if name in ("__name__", "__qualname__", "__module__"):
            raise TypeError
        return super().__getattribute__(name)


class NoName(ValueError, metaclass=Masked):
    """Its class fails to tell its name, and it its text."""

    def __str__(self):
        raise TypeError


class NotItself(ValueError):
    """Arrives as another thing than it was."""

    def __reduce__(self):
        return str, ("not an exception",)


class NotAtAll(ValueError):
    """Cannot travel."""

    def __reduce__(self):
        raise TypeError("not me")


class NoRepr:
    """An object that fails to describe itself."""

    def __repr__(self):
        raise TypeError


SAID = [
    (NoText("x"), "NoText (its text cannot be shown: __str__ raised TypeError: no text)"),
    (NoTextEither("x"), "NoTextEither (its text cannot be shown: __str__ raised NoText)"),
    (Leaves("x"), "Leaves (its text cannot be shown: __str__ raised SystemExit)"),
    (
        NotText("x"),
        "NotText (its text cannot be shown: __str__ raised TypeError: __str__ returned non-string (type int))",
    ),
    (NoName("x"), "NoName (its text cannot be shown: __str__ raised TypeError)"),
    (KeyError(NoRepr()), "KeyError (its text cannot be shown: __str__ raised TypeError)"),
    (ValueError("x\ny"), "ValueError: x\ny"),
    (ValueError(), "ValueError"),
]


@pytest.mark.parametrize("error, text", SAID, ids=[text.split()[0] for _, text in SAID])
def test_any_exception_becomes_text(error, text):
    assert error_text(error) == text


def test_enormous_texts_are_cut():
    assert len(error_text(Enormous())) < LONGEST + 100 and error_text(Enormous()).endswith("characters in all)")


def test_values_in_calls_are_not_asked_for_their_text():
    assert [shown(value) for value in (3, "sum", [1, 2], np.int64(4), NoRepr())] == "3|sum|[1, 2]|4|<NoRepr>".split("|")


@pytest.mark.parametrize(
    "name, others_wait",
    [
        ("NoText", True),
        *((name, False) for name in "NoText NoTextEither Leaves NotText Enormous NotItself NotAtAll".split()),
    ],
)
def test_a_launch_ends_at_once_whatever_is_raised(name, others_wait, world):
    error = globals()[name]

    def program(comm):
        if comm.rank == 1 or not others_wait:
            raise error("planted")
        comm.Recv(np.empty(1), 1)

    start = time.monotonic()
    with pytest.raises(RankFailed) as info:
        launch(program, 2, world=world, timeout=60)
    assert time.monotonic() - start < 30 * pace()
    raised = info.value.errors[1]
    assert isinstance(raised, BaseException) and (world == "mpi" or type(raised) is error)
    assert error_text(error("planted"))[:LONGEST].partition("\n")[0] in info.value.cause
    assert info.value.roll_call[1].state == "failed" and error_text(error())[:5] in info.value.roll_call[1].call
    assert 'raise error("planted")' in info.value.details


def test_a_text_that_is_never_finished_does_not_outlive_the_time_out(world):
    def program(comm):
        if comm.rank == 1:
            raise Endless
        comm.Recv(np.empty(1), 1)

    with pytest.raises(TimedOut, match=r"(?s)rank   1  running.*in __str__\s*time\.sleep\(0\.001\)"):
        launch(program, 2, world=world, timeout=0.5)


@pytest.mark.parametrize("name", ["failure", "roll_call", "deadlock_cause", "unreceived"])
def test_a_report_that_fails_is_reported(name, monkeypatch):
    def fails(*_):
        raise RecursionError("planted in the report")

    def program(comm):
        if name == "failure":
            raise ValueError
        if name == "unreceived":
            return
        comm.Recv(np.empty(1), 1 - comm.rank)

    monkeypatch.setattr(report, name, fails)
    with pytest.raises(LaunchError, match="its report could not be made: RecursionError: planted") as info:
        launch(program, 2, timeout=60)
    assert type(info.value) is LaunchError and "planted in the report" in info.value.details


def test_a_time_out_whose_report_fails_is_reported(monkeypatch):
    def fails(*_):
        raise KeyError("planted")

    def program(comm):
        while True:
            time.sleep(0.01)

    monkeypatch.setattr(report, "time_out_cause", fails)
    with pytest.raises(LaunchError, match="its report could not be made: KeyError: 'planted'"):
        launch(program, 2, timeout=0.2)


def test_a_deadlock_in_a_call_whose_argument_cannot_be_shown():
    class Root(int):
        def __repr__(self):
            raise TypeError

        __str__ = __format__ = __repr__

    with pytest.raises(Deadlock, match="rank 0 calls Bcast"):
        launch(lambda comm: comm.Bcast(np.ones(1), Root(0)) if comm.rank == 0 else None, 2, timeout=60)

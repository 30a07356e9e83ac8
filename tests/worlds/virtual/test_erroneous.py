"""Erroneous programs on the virtual cluster: each ends within seconds with a roll call and the likely cause.

Real MPI leaves these programs undefined (MPI 4.1, section 2.8), so they run in the virtual world only.
"""

import inspect
import re
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from reference import mpi
from reference.perf.pace import pace
from reference.worlds import (
    CollectiveMismatch,
    Deadlock,
    LaunchError,
    RankFailed,
    TimedOut,
    Truncation,
    TypeMismatch,
    UnreceivedMessages,
    launch,
)

SOON = 60.0 * pace()  # seconds; a guard against hanging, reports come much faster


def report_of(program: Callable, ranks: int, error: type, **options) -> LaunchError:
    """Launch a program that must end with just this error; check what holds for every report."""
    threads, start = threading.active_count(), time.perf_counter()
    with pytest.raises(LaunchError) as caught:
        launch(program, ranks, **{"timeout": 2 * SOON} | options)
    report = caught.value
    assert type(report) is error, report
    assert time.perf_counter() - start < SOON
    assert threading.active_count() <= threads, "the launch left threads behind"
    assert [status.rank for status in report.roll_call] == list(range(ranks))
    assert all(str(status) in str(report) for status in report.roll_call)
    assert report.cause in str(report)
    return report


def place(program: Callable, code: str) -> str:
    """ "file:line" of the first line of the program that contains `code`."""
    lines, start = inspect.getsourcelines(program)
    body = next(n for n, line in enumerate(lines) if line.lstrip().startswith("def "))
    number = next(n for n, line in enumerate(lines) if n > body and code in line) + start
    return f"{program.__module__.rpartition('.')[2]}.py:{number}"


def says(text: str, *patterns: str) -> bool:
    """Whether all patterns occur in the text."""
    missing = [pattern for pattern in patterns if not re.search(pattern, text, re.IGNORECASE)]
    assert not missing, f"{missing} not in:\n{text}"
    return True


class Line(NamedTuple):
    """What the roll call must say of one rank: its state, words of its call, and the code it stands at."""

    state: str
    words: tuple[str, ...] = ()
    code: str = ""


class Wrong(NamedTuple):
    """An erroneous program and its report: the error, words of the cause, and a line for each rank."""

    program: Callable
    error: type
    cause: tuple[str, ...]
    roll: list[Line]
    group: str
    options: dict


WRONG: list[Wrong] = []


def wrong(error, cause, roll, group="world", **options):
    """Register an erroneous program beside its report. Words are regular expressions, in any order."""

    def register(program):
        WRONG.append(Wrong(program, error, cause, roll, group, options))
        return program

    return register


def right_left(comm):
    return (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size


def stuck(call, peer, code, *words):
    return Line("waiting", (call, rf"\b{peer}\b", *words), code)


# Messages that wait for each other -------------------------------------------------------------------------------

SAFE_SENDS = ("send", "buffer", "Sendrecv|Isend")


@wrong(Deadlock, SAFE_SENDS, [stuck("Send", (r + 1) % 4, "comm.Send(", "dest") for r in range(4)])
def ring_of_sends(comm):
    right, left = right_left(comm)
    comm.Send(np.ones(2), right, 3)
    comm.Recv(np.ones(2), left, 3)


@wrong(Deadlock, SAFE_SENDS, [stuck("Ssend", 1, "Ssend"), stuck("Ssend", 0, "Ssend")], buffered=True)
def head_on_with_ssend(comm):
    comm.Ssend(np.ones(2), 1 - comm.rank)
    comm.Recv(np.ones(2), 1 - comm.rank)


@wrong(Deadlock, SAFE_SENDS, [stuck("send", 1, "comm.send"), stuck("send", 0, "comm.send")])
def head_on_with_objects(comm):
    comm.send("an object", 1 - comm.rank)
    comm.recv(source=1 - comm.rank)


@wrong(Deadlock, ("forgotten", "after the wait"), [stuck("Wait", (r + 1) % 3, ".Wait()", "dest") for r in range(3)])
def a_wait_for_the_send_before_the_receive(comm):
    right, left = right_left(comm)
    comm.Isend(np.ones(2), right).Wait()
    comm.Recv(np.ones(2), left)


@wrong(Deadlock, ("do not fit",), [stuck("Sendrecv", (r + 1) % 3, "comm.Sendrecv(") for r in range(3)])
def partners_that_do_not_fit(comm):
    right, _ = right_left(comm)
    comm.Sendrecv(np.ones(2), right, recvbuf=np.ones(2), source=right)


@wrong(Deadlock, ("do not fit",), [stuck("Wait", (r + 1) % 3, ".Wait()", "dest") for r in range(3)])
def receives_that_have_begun_and_do_not_fit(comm):
    right, _ = right_left(comm)
    receive = comm.Irecv(np.ones(2), right)
    comm.Isend(np.ones(2), right).Wait()
    receive.Wait()


@wrong(Deadlock, ("send",), [stuck("Send", 0, "Send", "dest")])
def a_message_to_oneself(comm):
    comm.Send(np.ones(2), comm.rank)
    comm.Recv(np.ones(2), comm.rank)


@wrong(Deadlock, ("receive",), [stuck("Recv", (r - 1) % 3, "comm.Recv(", "source") for r in range(3)])
def ring_of_receives(comm):
    right, left = right_left(comm)
    comm.Recv(np.ones(2), left)
    comm.Send(np.ones(2), right)


@wrong(Deadlock, ("tag", r"\b5\b", r"\b6\b"), [stuck("Send", 5, "comm.Send("), stuck("Recv", 6, "comm.Recv(", "tag")])
def wrong_tag(comm):
    if comm.rank == 0:
        comm.Send(np.ones(2), 1, tag=5)
    else:
        comm.Recv(np.ones(2), 0, tag=6)


@wrong(Deadlock, ("tag", r"\b5\b", r"\b6\b"), [Line("finished"), stuck("Recv", 6, "comm.Recv(")], buffered=True)
def wrong_tag_of_a_buffered_send(comm):
    if comm.rank == 0:
        comm.Send(np.ones(2), 1, tag=5)
    else:
        comm.Recv(np.ones(2), 0, tag=6)


@wrong(Deadlock, (), [stuck("Recv", 1, "comm.Recv("), stuck("Send", 2, "comm.Send("), stuck("Recv", 0, "comm.Recv(")])
def the_wrong_peer(comm):
    """Rank 1 sends to 2, who waits for 0, who waits for 1."""
    if comm.rank == 1:
        comm.Send(np.ones(1), 2)
    else:
        comm.Recv(np.ones(1), 1 - comm.rank // 2)


@wrong(Deadlock, (), [stuck("Waitall", 1, "waitall", "Irecv|Recv"), stuck("Wait", 0, ".Wait()", "Irecv|Recv")])
def receives_that_nobody_serves(comm):
    requests = [comm.Irecv(np.ones(1), 1 - comm.rank, 4)]
    if comm.rank == 0:
        mpi.waitall(requests)
    requests[0].Wait()


@wrong(Deadlock, (), [stuck("Waitany", 1, "waitany"), stuck("Probe", 0, "comm.Probe(", "tag", r"\b8\b")])
def a_probe_for_what_never_comes(comm):
    if comm.rank == 0:
        mpi.waitany([comm.Irecv(np.ones(1), 1, 4), comm.Irecv(np.ones(1), 1, 5)])
    comm.Probe(0, 8)


@wrong(
    Deadlock,
    (),
    [Line("waiting", ("Recv", r"\b1\b", r"\btp\b"), ".Recv("), Line("waiting", ("Recv", r"\b0\b"), ".Recv(")] * 2,
    group="tp",
)
def a_deadlock_in_a_named_group(comm):
    part = comm.Split(comm.rank // 2)
    part.name = "tp"
    part.Recv(np.ones(1), 1 - part.rank)


# Collectives that do not fit -------------------------------------------------------------------------------------


@wrong(
    CollectiveMismatch,
    ("Bcast", "Allreduce", r"rank 1\b"),
    [Line("", ("Allreduce",)), Line("", ("Bcast",), "comm.Bcast("), Line("", ("Allreduce",))],
)
def one_in_bcast_the_rest_in_allreduce(comm):
    x = np.ones(2)
    if comm.rank == 1:
        comm.Bcast(x)
    else:
        comm.Allreduce(mpi.IN_PLACE, x)


@wrong(CollectiveMismatch, ("count", r"\b2\b", r"\b3\b"), [Line("", ("Allreduce",), "comm.Allreduce(")] * 3)
def counts_differ(comm):
    comm.Allreduce(mpi.IN_PLACE, np.ones(3 if comm.rank == 1 else 2))


@wrong(CollectiveMismatch, ("type", "f4|float32", "f8|float64"), [Line("", ("Allreduce",), "comm.Allreduce(")] * 3)
def dtypes_differ(comm):
    comm.Allreduce(mpi.IN_PLACE, np.ones(2, "f4" if comm.rank == 2 else "f8"))


@wrong(CollectiveMismatch, ("root", r"\b0\b", r"\b1\b"), [Line("", ("Bcast",), "comm.Bcast(")] * 2)
def roots_differ(comm):
    comm.Bcast(np.ones(2), root=comm.rank)


@wrong(CollectiveMismatch, ("op", "SUM", "MAX"), [Line("", ("Reduce",), "comm.Reduce(")] * 3)
def operations_differ(comm):
    comm.Reduce(np.ones(2), np.ones(2), mpi.MAX if comm.rank == 0 else mpi.SUM)


@wrong(CollectiveMismatch, ("count",), [Line("", ("Reduce_scatter",), "comm.Reduce_scatter(")] * 2)
def parts_differ(comm):
    counts = [2, 1] if comm.rank == 0 else [1, 2]
    comm.Reduce_scatter(np.ones(3), np.ones(counts[comm.rank]), counts)


@wrong(CollectiveMismatch, ("Ibcast", "Iallreduce"), [Line("")] * 2)
def nonblocking_collectives_in_another_order(comm):
    x, y = np.ones(1), np.ones(1)
    requests = [comm.Iallreduce(mpi.IN_PLACE, x)] if comm.rank else []
    requests.append(comm.Ibcast(y))
    if comm.rank == 0:
        requests.append(comm.Iallreduce(mpi.IN_PLACE, x))
    mpi.waitall(requests)


@wrong(CollectiveMismatch, ("Iallreduce", r"\bAllreduce"), [Line("")] * 2)
def a_nonblocking_collective_does_not_match_a_blocking_one(comm):
    """MPI 4.1, section 6.12: they do not match, whatever an MPI may let through."""
    if comm.rank:
        comm.Allreduce(mpi.IN_PLACE, np.ones(1))
    else:
        comm.Iallreduce(mpi.IN_PLACE, np.ones(1)).Wait()


@wrong(CollectiveMismatch, ("bcast", "gather"), [Line("", ("bcast",), "comm.bcast("), Line("", ("gather",), "gather(")])
def object_collectives_differ(comm):
    if comm.rank == 0:
        comm.bcast("word")
    else:
        comm.gather("word")


@wrong(CollectiveMismatch, ("op", "SUM", "MAX"), [Line("", ("allreduce",), "comm.allreduce(")] * 3)
def operations_on_objects_differ(comm):
    comm.allreduce(1, mpi.MAX if comm.rank == 0 else mpi.SUM)


@wrong(CollectiveMismatch, ("op", "first", "second"), [Line("", ("reduce",), "comm.reduce(")] * 2)
def own_operations_differ(comm):
    def first(a, b):
        return a

    def second(a, b):
        return b

    comm.reduce(1, (first, second)[comm.rank])


@wrong(CollectiveMismatch, ("periods", "True", "False"), [Line("", ("Create_cart",), "comm.Create_cart(")] * 2)
def periods_differ(comm):
    comm.Create_cart([2], [comm.rank == 0])


@wrong(CollectiveMismatch, ("dims", r"\b2\b", r"\b4\b"), [Line("", ("Create_cart",), "comm.Create_cart(")] * 4)
def grids_differ(comm):
    comm.Create_cart([2, 2] if comm.rank else [4])


@wrong(CollectiveMismatch, ("remain_dims",), [Line("", ("Sub",), ".Sub(")] * 4, "")
def parts_of_a_grid_differ(comm):
    comm.Create_cart([2, 2]).Sub([comm.rank == 0, True])


@wrong(CollectiveMismatch, ("root", "tp"), [Line("", ("Bcast", r"\btp\b"), ".Bcast(")] * 4, group="tp")
def roots_differ_in_a_named_group(comm):
    part = comm.Split(comm.rank % 2)
    part.Set_name("tp")
    part.Bcast(np.ones(1), root=part.rank)


@wrong(Deadlock, ("Split",), [Line("waiting", ("Split",), ".Split("), Line("waiting", ("Recv", r"\b0\b"), ".Recv(")])
def not_all_split(comm):
    if comm.rank == 0:
        comm.Split(0)
    comm.Recv(np.ones(1), 0)


@wrong(
    Deadlock, ("Barrier",), [Line("waiting", ("Barrier", r"\bworld\b")), Line("waiting", ("Barrier", r"\btwin\b"))], ""
)
def a_barrier_in_two_communicators(comm):
    twin = comm.Dup()
    twin.name = "twin"
    (comm if comm.rank == 0 else twin).Barrier()


# Ranks that are gone ---------------------------------------------------------------------------------------------

GONE = "return|finish|ended"


@wrong(
    Deadlock,
    (GONE, r"rank 2\b", "Barrier"),
    [
        Line("waiting", ("Barrier",), "comm.Barrier()"),
        Line("waiting", ("Barrier",), "comm.Barrier()"),
        Line("finished"),
    ],
)
def one_returns_before_the_barrier(comm):
    if comm.rank < 2:
        comm.Barrier()


@wrong(Deadlock, (GONE, r"rank 1\b"), [stuck("Recv", 1, "comm.Recv(", "source"), Line("finished")])
def one_returns_and_never_sends(comm):
    if comm.rank == 0:
        comm.Recv(np.ones(1), 1)


@wrong(Deadlock, (GONE, r"rank 1\b"), [stuck("Send", 1, "comm.Send(", "dest"), Line("finished")])
def one_returns_and_never_receives(comm):
    if comm.rank == 0:
        comm.Send(np.ones(1), 1)


# Messages that do not fit ----------------------------------------------------------------------------------------


@wrong(Truncation, (r"\b3\b|\b24\b", r"\b2\b|\b16\b", r"rank 0\b", r"rank 1\b"), [Line("")] * 2)
def a_message_too_long(comm):
    if comm.rank == 0:
        comm.Send(np.ones(3), 1)
    else:
        comm.Recv(np.ones(2), 0)


@wrong(TypeMismatch, ("f8|float64", "i8|int64", r"rank 0\b", r"rank 1\b"), [Line("")] * 2)
def another_type(comm):
    if comm.rank == 0:
        comm.Send(np.ones(3), 1)
    else:
        comm.Recv(np.ones(3, "i8"), 0)


@wrong(TypeMismatch, ("f4|float32", "f8|float64"), [Line("")] * 2)
def another_precision(comm):
    """The message would fit, and would be read as other numbers."""
    comm.Sendrecv(np.ones(4, "f4" if comm.rank else "f8"), 1 - comm.rank, 0, np.ones(4), 1 - comm.rank, 0)


@wrong(UnreceivedMessages, (r"rank 0\b", r"rank 1\b", r"\b9\b", "receive"), [Line("finished")] * 2)
def a_send_that_nobody_receives(comm):
    if comm.rank == 0:
        comm.Isend(np.ones(1), 1, 9)


@wrong(UnreceivedMessages, (r"rank 0\b", r"rank 1\b", r"\b9\b"), [Line("finished")] * 2, buffered=True)
def a_buffered_send_that_nobody_receives(comm):
    if comm.rank == 0:
        comm.Send(np.ones(1), 1, 9)


@wrong(UnreceivedMessages, (r"rank 1\b", r"\b9\b"), [Line("finished")] * 2)
def a_receive_that_nobody_serves(comm):
    if comm.rank == 1:
        comm.Irecv(np.ones(1), 0, 9)


@wrong(UnreceivedMessages, (r"rank 1\b", r"\b10\b|more"), [Line("finished")] * 2, buffered=True)
def many_messages_that_nobody_receives(comm):
    if comm.rank == 0:
        for tag in range(10):
            comm.Send(np.ones(1), 1, tag)


# Polling ---------------------------------------------------------------------------------------------------------


@wrong(Deadlock, ("poll", "Test"), [Line("", ("Test",)), stuck("Recv", 0, "comm.Recv(")])
def endless_test(comm):
    if comm.rank == 0:
        request = comm.Irecv(np.ones(1), 1, 4)
        while not request.Test():
            pass
    comm.Recv(np.ones(1), 0)


@wrong(Deadlock, ("poll", "Iprobe"), [Line("", ("Iprobe", r"\b2\b"), "comm.Iprobe(")] * 3)
def endless_iprobe(comm):
    while not comm.Iprobe(2, 6):
        pass


@wrong(Deadlock, ("poll",), [Line("", ("iprobe",), "iprobe("), Line("finished")])
def polling_for_one_who_has_gone(comm):
    while comm.rank == 0 and not comm.iprobe():
        pass


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.program.__name__)
def test_report(case):
    report = report_of(case.program, len(case.roll), case.error, **case.options)
    assert says(report.cause, *case.cause)
    for status, line in zip(report.roll_call, case.roll, strict=True):
        assert line.state in ("", status.state), report
        assert says(f"{status.call} in {status.group}", *line.words)
        if status.state == "waiting":
            assert status.call and status.where, "every waiting rank is named with its call and where it stands"
            assert case.group in status.group
        if line.code:
            assert place(case.program, line.code) in status.where


# Beyond the table ------------------------------------------------------------------------------------------------


def test_buffering_is_what_saves_the_ring_of_sends():
    """The same program ends well if Send is buffered; that an MPI does so is luck, which the cause explains."""
    assert launch(ring_of_sends, 4, buffered=True).results == [None] * 4


def boom(comm):
    if comm.rank % 2:
        raise ValueError(f"boom on {comm.rank}")
    comm.Barrier()


def test_a_rank_that_raises_is_reported_with_its_traceback():
    report = report_of(boom, 3, RankFailed)
    assert {rank: (type(e), str(e)) for rank, e in report.errors.items()} == {1: (ValueError, "boom on 1")}
    assert says(report.cause, r"rank 1\b", "ValueError", "boom on 1")
    assert says(str(report), "Traceback|--- rank 1", re.escape('raise ValueError(f"boom on {comm.rank}")'), "in boom")
    assert place(boom, "raise ValueError").rpartition(":")[2] in str(report)
    assert [status.state for status in report.roll_call] == ["waiting", "failed", "waiting"]
    assert says(str(report.roll_call[0]), "Barrier", re.escape(place(boom, "comm.Barrier")))


def test_all_ranks_that_raise_are_in_errors():
    assert sorted(report_of(boom, 5, RankFailed).errors) == [1, 3]


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, AssertionError, mpi.Exception])
def test_whatever_a_rank_raises(error):
    def program(comm):
        if comm.rank == 1:
            raise error(3)
        comm.Recv(np.ones(1), 1)

    assert type(report_of(program, 2, RankFailed).errors[1]) is error


def test_an_object_is_not_received_into_a_buffer():
    """send is answered by recv, not by Recv: MPI sees bytes and numbers, and they do not match."""

    def program(comm):
        if comm.rank == 0:
            comm.send({"a": 1}, 1)
        else:
            comm.Recv(np.ones(100), 0)

    with pytest.raises(LaunchError):
        launch(program, 2, timeout=SOON)


def test_a_buffer_is_not_received_as_an_object():
    def program(comm):
        if comm.rank == 0:
            comm.Send(np.ones(3), 1)
        else:
            comm.recv(source=0)

    with pytest.raises(LaunchError):
        launch(program, 2, timeout=SOON)


def swallow(comm, kind):
    """Catch what the call raises and go on as if nothing had happened."""
    for _ in range(3):
        try:
            comm.Recv(np.ones(1), (comm.rank + 1) % comm.size)
        except kind:
            pass
    return "went on"


def endlessly(comm, kind):
    end = time.perf_counter() + 5.0  # so that a thread that is left behind does not disturb other tests for long
    while time.perf_counter() < end:
        try:
            comm.Recv(np.ones(1), (comm.rank + 1) % comm.size)
        except kind:
            pass


def clean_up(comm, kind):
    try:
        comm.Recv(np.ones(1), (comm.rank + 1) % comm.size)
    finally:
        comm.Barrier()


@pytest.mark.parametrize("kind", [Exception, BaseException])
@pytest.mark.parametrize("body", [swallow, endlessly, clean_up])
def test_a_deadlock_is_reported_also_if_the_program_catches(body, kind):
    def program(comm):
        return body(comm, kind)

    report = report_of(program, 3, Deadlock)
    assert all(says(str(status), "Recv", f"{(status.rank + 1) % 3}") for status in report.roll_call)


def test_an_endless_loop_is_timed_out():
    """The stack of the rank that never comes back, and who waits for it."""

    def program(comm):
        if comm.rank == 1:
            while True:
                pass
        comm.Recv(np.ones(1), 1)

    report = report_of(program, 2, TimedOut, timeout=0.5)
    assert says(str(report), r"\b0\.5 s", "rank 1", "loop")
    start = inspect.getsourcelines(program)[1]
    assert re.search(rf"test_erroneous\.py\D+({start + 2}|{start + 3})\b", report.details), report.details
    assert says(str(report.roll_call[0]), "waiting", "Recv", re.escape(place(program, "comm.Recv")))
    assert report.roll_call[1].state == "running"


@pytest.mark.parametrize("idle", [mpi.sleep, mpi.compute])
def test_polling_with_pauses_ends_too(idle):
    """Whether it is taken for a deadlock or runs into the time limit, it does not hang."""

    def program(comm):
        while not comm.Iprobe(1 - comm.rank):
            idle(comm, 1e-3)

    with pytest.raises((Deadlock, TimedOut)):
        launch(program, 2, timeout=0.7)


def test_patient_polling_is_no_deadlock():
    """Legal: a rank works and looks for messages now and then, and only then sends what the others wait for."""

    def program(comm):
        if comm.rank == 0:
            for _ in range(5000):
                mpi.compute(comm, 1e-6)
                assert not comm.Iprobe()
            comm.Send(np.ones(1), 1)
        else:
            comm.Recv(np.ones(1), 0)
        return "done"

    assert launch(program, 2).results == ["done", "done"]


def test_polling_for_what_is_under_way_is_no_deadlock():
    """Legal: a poller waits for a rank that computes, and then for a long transfer."""

    def program(comm):
        if comm.rank == 1:
            mpi.compute(comm, 5e-4)
            comm.Send(np.ones(10), 0)
            comm.Send(np.ones(1_000_000), 0)
        if comm.rank == 0:
            while not comm.Iprobe(1):
                pass
            comm.Recv(np.ones(10), 1)
            request = comm.Irecv(np.ones(1_000_000), 1)
            while not request.Test():
                pass
        return "done"

    assert launch(program, 3).results == ["done"] * 3


def test_many_ranks_are_all_named():
    report = report_of(ring_of_sends, 64, Deadlock)
    assert all(says(status.call, rf"\b{(status.rank + 1) % 64}\b") for status in report.roll_call)


def test_the_next_launch_starts_afresh():
    """Nothing of a failed launch reaches the next one."""
    for _ in range(3):
        report_of(wrong_tag, 2, Deadlock)
        assert launch(lambda comm: comm.allgather(comm.rank), 3).results == [[0, 1, 2]] * 3


def test_reports_are_the_same_every_time():
    assert len({str(report_of(ring_of_sends, 4, Deadlock)) for _ in range(3)}) == 1


@pytest.mark.parametrize("options", [{"ranks": 0}, {"world": "elsewhere"}, {"timeout": 0}])
def test_impossible_launches(options):
    with pytest.raises(ValueError):
        launch(**{"program": boom, "ranks": 2} | options)


def test_what_a_wait_is_for_is_told_once():
    def waits(comm):
        comm.Isend(np.ones(3), (comm.rank + 1) % comm.size).Wait()

    with pytest.raises(LaunchError) as caught:
        launch(waits, 2)
    assert [status.call for status in caught.value.roll_call] == [
        f"Wait(Isend(dest={dest}, tag=0, 3 x f8))" for dest in (1, 0)
    ]

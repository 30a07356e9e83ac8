"""Ranks that ask again and again: what is a deadlock, what is not, and when the clock's time comes."""

import sys

import numpy as np
import pytest

from reference import mpi
from reference.perf.pace import pace
from reference.worlds import Deadlock, RankFailed, TimedOut, launch, networks
from reference.worlds.virtual import polling

ONE = np.ones(1)


# What is legal -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("polls", [12_000])
def test_a_loop_that_ends_by_a_count_may_ask_as_often_as_it_likes(polls):
    def program(comm):
        if comm.rank == 0:
            found = sum(comm.Iprobe() for _ in range(polls))
            comm.Send(np.array([found]), 1)
            return found
        got = np.empty(1, int)
        comm.Recv(got, 0)
        return int(got[0])

    assert launch(program, 2).results == [0, 0]


@pytest.mark.parametrize("seconds", [1e-3, 1.0, 100.0, 1e4])
def test_a_loop_that_ends_at_a_time_ends_then(seconds):
    """Others wait for it, or ask as long, or ask for what it sends then."""

    def program(comm):
        if comm.rank == 0:
            while mpi.wtime(comm) < seconds:
                assert not comm.Iprobe(0)
            late = mpi.wtime(comm) / seconds - 1
            comm.Isend(ONE, 1).Wait()
            comm.Isend(ONE, 2).Wait()
            return late
        if comm.rank == 1:
            comm.Recv(ONE.copy(), 0)
        if comm.rank == 2:
            request = comm.Irecv(ONE.copy(), 0)
            while not request.Test():
                pass
        return 0.0

    run = launch(program, 3, network=networks.uniform(alpha=1e-6, beta=0.0))
    assert 0 <= run.results[0] <= (1.1e-2 if seconds < 1.0 else 1.1e-3)
    assert run.seconds == pytest.approx(seconds, rel=2.5e-2)


def test_two_that_ask_until_a_time_one_after_the_other():
    def program(comm):
        while mpi.wtime(comm) < 10.0 ** (comm.rank + 1):
            comm.Iprobe()
        if comm.rank:
            comm.Send(ONE, 0)
        else:
            while not comm.Iprobe(1):
                pass
            comm.Recv(ONE.copy(), 1)
        return mpi.wtime(comm)

    assert launch(program, 2).results == pytest.approx([100.0] * 2, rel=1e-2)


def test_whoever_asks_without_a_limit_waits_for_one_who_counts():
    """Rank 0 could ask for ever, if rank 1 did; but that one sends in the end."""

    def program(comm):
        if comm.rank == 0:
            while not comm.Iprobe(1):
                pass
            comm.Recv(ONE.copy(), 1)
        else:
            for _ in range(5_000):
                comm.Iprobe(0)
            comm.Send(ONE, 0)
        return "done"

    assert launch(program, 2).results == ["done"] * 2


def test_a_helper_that_asks_once_is_no_loop_that_asks():
    """Its frame comes and goes; the loop that calls it counts."""

    def once(comm):
        while True:
            if not comm.Iprobe():
                return

    def program(comm):
        for _ in range(1_000):
            once(comm)
        return "done"

    assert launch(program, 2).results == ["done"] * 2


def test_what_one_asks_for_may_be_sent_after_another_has_asked_in_vain():
    """Rank 1 ends its loop at a time, sends, and then asks for ever: rank 0 must look once more before the verdict."""

    def program(comm):
        if comm.rank == 0:
            while not comm.Iprobe(1):
                pass
            comm.Recv(ONE.copy(), 1)
            comm.Send(ONE, 1)
        else:
            while mpi.wtime(comm) < 1.0:
                comm.Iprobe(0)
            request = comm.Isend(ONE, 0)
            while not comm.Iprobe(0):
                pass
            comm.Recv(ONE.copy(), 0)
            request.Wait()
        return "done"

    assert launch(program, 2).results == ["done"] * 2


# What is not -------------------------------------------------------------------------------------------------------


def keeps_the_answer(comm):
    request, done = comm.Irecv(ONE.copy()), None
    while not done:
        done = request.Test()


def keeps_the_object(comm):
    request, done = comm.irecv(), False
    while not done:
        done, _ = request.test()


def breaks_out(comm):
    while True:
        if comm.Iprobe(tag=3):
            break
    comm.Recv(ONE.copy())


def asks_under_a_condition(comm):
    while comm.rank < 99 and not comm.Iprobe(comm.size - 1, tag=2):
        continue


def asks_inside_another_loop(comm):
    for request in [comm.Irecv(ONE.copy(), tag=tag) for tag in range(3)]:
        while not request.Test():
            pass


ENDLESS = [keeps_the_answer, keeps_the_object, breaks_out, asks_under_a_condition, asks_inside_another_loop]


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("program", ENDLESS)
def test_a_loop_that_can_only_ask_is_a_deadlock_at_once(program, ranks):
    with pytest.raises(Deadlock, match=r"polls in .*, in a loop that does nothing else") as caught:
        launch(program, ranks, timeout=20.0 * pace())
    assert [status.rank for status in caught.value.roll_call] == list(range(ranks))
    assert all("est" in status.call or "Iprobe" in status.call for status in caught.value.roll_call)


def counts(comm):
    tries = 0
    while not comm.Iprobe():
        tries += 1


def asks_with_all(comm):
    requests = [comm.Irecv(ONE.copy(), tag=tag) for tag in range(3)]
    while not all(request.Test() for request in requests):
        pass


def asks_while_others_wait(comm):
    if comm.rank:
        comm.Barrier()
    counts(comm)


@pytest.mark.parametrize("program", [asks_with_all, asks_while_others_wait])
def test_a_loop_that_might_end_runs_into_the_time_limit_and_the_report_says_why(program):
    with pytest.raises(TimedOut, match=r"no rank has done anything but poll.*rank 0 .*\d times in a row") as caught:
        launch(program, 3, timeout=0.5 * pace())
    assert [status.rank for status in caught.value.roll_call] == [0, 1, 2]


@pytest.mark.parametrize("asks", [counts, asks_with_all])
def test_where_a_rank_has_failed_nobody_asks_until_the_time_is_over(asks):
    def program(comm):
        if comm.rank == 1:
            raise ValueError("no more")
        asks(comm)

    with pytest.raises(RankFailed, match="the program raised on rank 1: ValueError: no more"):
        launch(program, 3, timeout=60.0 * pace())


def test_a_failure_is_told_although_others_go_on_until_the_time_is_over():
    def program(comm):
        if comm.rank == 1:
            raise ValueError("no more")
        while True:
            mpi.compute(comm, 1.0)
            comm.Iprobe()

    with pytest.raises(RankFailed, match=r"raised on rank 1: ValueError: no more.*rank 0 then went on until") as caught:
        launch(program, 2, timeout=0.3 * pace())
    assert [status.rank for status in caught.value.roll_call] == [0, 1]


# What the bytecode tells -------------------------------------------------------------------------------------------


def loops():
    """Functions of (ask, x) whose one loop is unchanging, and others whose loop is not."""

    def plain(ask, x):
        while not ask():
            pass

    def stores(ask, x):
        while not x:
            x = ask()

    def by_name(ask, x):
        while x.a is None or x.b == 3:
            ask(1, key=x.c)

    def adds(ask, x):
        while not ask():
            x += 1

    def calls(ask, x):
        while not ask():
            x()

    def iterates(ask, x):
        for _ in x:
            ask()

    def writes(ask, x):
        while not ask():
            x.a = True

    def swaps(ask, x):
        y = 0
        while not ask():
            x, y = y, x

    def straight(ask, x):
        ask()

    return [plain, stores, by_name], [adds, calls, iterates, writes, swaps, straight]


@pytest.mark.parametrize("which", [0, 1])
def test_what_is_taken_for_unchanging(which):
    class Asked(BaseException):
        pass

    class Names:
        a, b, c = None, 3, 0

    for function in loops()[which]:
        places = []

        def ask(*args, places=places, function=function, **kwargs):
            frame = sys._getframe(1)
            assert frame.f_code is function.__code__
            places.append(frame.f_lasti)
            if len(places) == 2 or function.__name__ == "straight":
                raise Asked
            return False

        x = {"iterates": range(9), "adds": 0, "stores": 0, "swaps": 0, "calls": lambda: None}.get(
            function.__name__, Names()
        )
        with pytest.raises(Asked):
            function(ask, x)
        found = [polling.unchanging(function.__code__, place) for place in places[-1:]]
        assert found == [which == 0], function.__name__


# Other launches that take too long -----------------------------------------------------------------------------------


def test_an_endless_exchange_is_told_as_one():
    def program(comm):
        while True:
            comm.Sendrecv(ONE, 1 - comm.rank, 0, ONE.copy(), 1 - comm.rank)

    with pytest.raises(
        TimedOut, match=r"the ranks go on exchanging messages: [\d,]+ in all, [\d,]+ of them in the last"
    ):
        launch(program, 2, timeout=0.3 * pace())


def test_endless_calls_without_messages_are_told_as_such():
    def program(comm):
        while True:
            comm.Barrier()

    with pytest.raises(
        TimedOut, match=r"the ranks go on making calls \(rank 0 called Barrier\(\) last\), but no message"
    ):
        launch(program, 1, timeout=0.3 * pace())

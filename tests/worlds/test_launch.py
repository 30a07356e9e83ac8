"""launch(): what it refuses, what it survives, and polling that is not a deadlock."""

import gc
import signal
import threading
import time
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from reference import mpi
from reference.perf.pace import pace
from reference.worlds import BufferChanged, RankFailed, RequestsLeft, Slow, launch, networks

SHELF = SimpleNamespace()  # a module's global: ranks share it


def test_impossible_arguments_are_refused_with_the_numbers():
    def idle(comm):
        pass

    for arguments, says in [
        ({"ranks": 0}, "at least 1 rank, got 0"),
        ({"timeout": -1}, "positive, got -1"),
        ({"world": "moon"}, "'moon'"),
        ({"faults": [Slow(5, 2.0)]}, "rank=5"),
        ({"world": "mpi", "network": networks.uniform()}, "virtual cluster"),
    ]:
        with pytest.raises(ValueError, match=says):
            launch(**{"program": idle, "ranks": 2} | arguments)


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "arguments, says",
    [
        ({"ranks": 2.0}, "whole number, got 2.0"),
        ({"ranks": True}, r"whole number, got True \(bool\)"),
        ({"ranks": "2"}, "whole number, got '2'"),
        ({"ranks": 10**8}, r"at most 10,000 ranks here, got 100,000,000: .*evaluate"),
        ({"ranks": 10**8, "world": "mpi"}, "at most 256 ranks here, got 100,000,000"),
        ({"timeout": NAN}, "positive, got nan"),
        ({"timeout": NAN, "world": "mpi"}, "positive, got nan"),
        ({"timeout": "1"}, "number of seconds"),
        ({"faults": [Slow(0, NAN)]}, "finite"),
        ({"faults": [Slow(0, INF)]}, "finite"),
        ({"faults": [Slow(0.5, 2.0)]}, "rank=0.5"),
        ({"network": SimpleNamespace(gamma=0.0, node=int, route=lambda a, b: networks.Route(NAN, 1.0))}, "nan"),
        ({"network": SimpleNamespace(gamma=INF, node=int, route=lambda a, b: networks.Route(0.0, 1.0))}, "inf"),
        ({"network": SimpleNamespace(gamma=0.0, node=int, route=lambda a, b: networks.Route(0, 1, (), -1))}, "a gap"),
        ({"overhead": -1e-9}, "overhead must be a finite number"),
        ({"program": 5}, "got int"),
    ],
)
def test_numbers_that_mean_nothing_are_refused(arguments, says):
    with pytest.raises(ValueError, match=says):
        launch(**{"program": lambda comm: None, "ranks": 2, "timeout": 5.0} | arguments)


def test_numbers_of_numpy_and_no_limit_are_welcome():
    assert launch(lambda comm: comm.size, np.int64(2), timeout=INF).results == [2, 2]
    assert launch(lambda comm: comm.size, 1, timeout=np.float32(9.0), faults=[Slow(np.int8(0), 2)]).results == [1]


def generates(comm, *_):
    yield comm.rank


async def awaits(comm, *_):
    return comm.rank


async def generates_later(comm, *_):
    yield comm.rank


class Calls:
    """An object that is called like a function, but is not one that runs."""

    async def __call__(self, comm, *_):
        return comm.rank

    def method(self, comm, *_):
        yield comm.rank


@pytest.mark.parametrize(
    "program, says",
    [
        (generates, "generates is a generator"),
        (partial(partial(generates), 1), "generates is a generator"),
        (Calls().method, "method is a generator"),
        (awaits, "awaits is an `async def`"),
        (partial(awaits, 1), "awaits is an `async def`"),
        (Calls(), "Calls is an `async def`"),
        (partial(Calls(), 1), "Calls is an `async def`"),
        (generates_later, "generates_later is an asynchronous generator"),
    ],
)
def test_a_program_that_would_not_run_is_refused(program, says, world):
    with pytest.raises(ValueError, match=says):
        launch(program, 2, world=world)


@pytest.mark.parametrize("program, says", [(awaits, "coroutine"), (generates, "generator")])
def test_a_program_that_returns_what_has_not_run_is_refused(program, says, world):
    with pytest.raises(RankFailed, match=rf"returned a {says}, of which nothing has run"):
        launch(lambda comm: program(comm), 2, world=world)


def test_an_exception_from_a_signal_handler_ends_the_launch():
    def endless(comm):
        while True:
            mpi.compute(comm, 1e-3)

    def ring(*_):
        raise InterruptedError("time is up")

    before, threads, start = signal.signal(signal.SIGALRM, ring), threading.active_count(), time.monotonic()
    gc.disable()  # hypothesis has a callback there, which may be what the ending of a rank's thread interrupts
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(InterruptedError):
            launch(endless, 2)
    finally:
        gc.enable()
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - start < 15 * pace() and threading.active_count() == threads


def test_launches_from_several_threads_do_not_disturb_each_other():
    def draw(comm):
        seen = []
        for _ in range(20):
            seen.append(np.random.random_sample())  # noqa: NPY002
            comm.Barrier()
        return seen

    alone, together = launch(draw, 3).results, {}
    threads = [threading.Thread(target=lambda n=n: together.update({n: launch(draw, 3).results})) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(together.values()) == [alone] * 3


def test_a_rank_may_launch():
    def inner(comm):
        return comm.allreduce(1)

    def outer(comm):
        return launch(inner, 3).results, comm.allreduce(10)

    assert launch(outer, 2).results == [([3, 3, 3], 20)] * 2


def test_the_communicator_of_another_rank_is_refused():
    def program(comm):
        shelf = __import__("tests.worlds.test_launch", fromlist=["SHELF"]).SHELF
        shelf.comm = comm
        comm.Barrier()
        return shelf.comm.allreduce(1)

    with pytest.raises(RankFailed, match="uses the communicator of rank 2"):
        launch(program, 3)


def test_a_communicator_ends_with_its_launch():
    with pytest.raises(RuntimeError, match="has ended"):
        comm = launch(lambda comm: [comm], 1).results[0][0]
        comm.Barrier()


def peer_looks_once_after_a_second(comm):
    if comm.rank == 0:
        request = comm.Irecv(np.zeros(1), 1)
        while not request.Test():
            pass
    else:
        mpi.compute(comm, 1.0)
        comm.Iprobe()
        comm.Send(np.ones(1), 0)


def gives_up_after_a_while(comm):
    if comm.rank == 0:
        until = mpi.wtime(comm) + 1e-3
        while mpi.wtime(comm) < until and not comm.Iprobe():
            pass
        comm.Send(np.ones(1), 1)
    else:
        comm.Recv(np.ones(1), 0)


def looks_three_thousand_times(comm):
    if comm.rank == 0:
        assert not any(comm.Iprobe() for _ in range(3000))
        comm.Send(np.ones(1), 1)
    else:
        comm.Recv(np.ones(1), 0)


def waits_for_a_slow_peer(comm):
    if comm.rank == 0:
        request = comm.Irecv(np.zeros(1), 1)
        while not request.Test():
            pass
    else:
        mpi.compute(comm, 20.0)
        comm.Send(np.ones(1), 0)


@pytest.mark.parametrize(
    "program",
    [peer_looks_once_after_a_second, gives_up_after_a_while, looks_three_thousand_times, waits_for_a_slow_peer],
)
def test_polling_that_is_no_deadlock(program):
    assert launch(program, 2, timeout=60 * pace()).results == [None, None]


def test_a_poller_sees_a_message_at_most_a_hundredth_of_its_waiting_time_late():
    assert launch(waits_for_a_slow_peer, 2).seconds == pytest.approx(20.0, rel=0.011)


def left_behind(comm):
    comm.Isend(np.ones(3), 1 - comm.rank)
    comm.Recv(np.empty(3), 1 - comm.rank)


def left_collective(comm):
    comm.Ibarrier()


@pytest.mark.parametrize("program, call", [(left_behind, "Isend"), (left_collective, "Ibarrier")])
def test_a_request_that_nobody_waited_for(program, call):
    with pytest.raises(RequestsLeft, match=rf"rank 0 never waited for the request of {call}\(.*test_launch.py:\d+"):
        launch(program, 2)


def sends_what_it_then_changes(comm):
    x, y = np.ones(3), np.empty(3)
    request = comm.Isend(x, 1 - comm.rank)
    comm.Recv(y, 1 - comm.rank)
    x += y
    request.Wait()


def adds_to_what_has_not_come(comm):
    y = np.zeros(3)
    request = comm.Irecv(y, 1 - comm.rank)
    y += 1
    comm.Send(np.ones(3), 1 - comm.rank)
    request.Wait()


@pytest.mark.parametrize("program, call", [(sends_what_it_then_changes, "Isend"), (adds_to_what_has_not_come, "Irecv")])
def test_a_buffer_changed_too_early(program, call):
    with pytest.raises(BufferChanged, match=rf"rank 0 changed the buffer of {call}\("):
        launch(program, 2)


def test_nothing_is_sent_to_nobody(world):
    def program(comm):
        status = mpi.Status()
        comm.Send(None, mpi.PROC_NULL)
        comm.Recv(None, mpi.PROC_NULL, status=status)
        comm.Sendrecv(np.ones(2), mpi.PROC_NULL, 0, None, mpi.PROC_NULL)
        return status.source == mpi.PROC_NULL, status.count

    assert launch(program, 2, world=world).results == [(True, 0)] * 2


def test_one_array_cannot_be_sent_and_received_into_at_once():
    def program(comm):
        x = np.ones(3)
        with pytest.raises(mpi.Exception):
            comm.Sendrecv(x, 1 - comm.rank, 0, x, 1 - comm.rank)
        return True

    assert launch(program, 2).results == [True, True]

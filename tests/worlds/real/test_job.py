"""The job of real ranks: what it returns, how it reports what goes wrong, and that nothing is left behind."""

import ctypes
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from reference import mpi
from reference.perf.pace import pace
from reference.worlds import RankDied, RankFailed, TimedOut, launch, processes
from reference.worlds.processes import exists, shared_memory
from reference.worlds.real import holder, job

pytestmark = pytest.mark.mpi


def start(program, ranks, *args, timeout=60.0):
    """Launch on real ranks."""
    return launch(program, ranks, *args, world="mpi", timeout=timeout)


def around(comm, n):
    """Send n doubles once around the ring, and say whose arrived."""
    x, y = np.full(n, float(comm.rank)), np.empty(n)
    comm.Sendrecv(x, (comm.rank + 1) % comm.size, recvbuf=y, source=(comm.rank - 1) % comm.size)
    return y.mean()


def running_job():
    """The job, which a first small launch starts if need be."""
    start(lambda comm: None, 1)
    return holder.HOLDER.job


def what_is_left(pids, ended, memory):
    """Processes, shared memory and files of a job that has ended."""
    left = [pid for pid in [*pids, ended.process.pid] if exists(pid)]
    return left + [str(path) for path in [*memory, ended.directory] if os.path.exists(path)]


# What comes back ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8])
def test_results_come_in_the_order_of_the_ranks(ranks):
    run = start(around, ranks, 10)
    assert run.results == [(rank - 1) % ranks for rank in range(ranks)]
    assert (run.world, run.ranks) == ("mpi", ranks)
    assert run.seconds > 0
    assert {event.rank for event in run.timeline} == set(range(ranks))
    assert all(0 <= event.start <= event.end <= run.seconds for event in run.timeline)


def test_the_job_is_started_once():
    pids = list(running_job().pids)
    assert len(set(pids)) == 8
    assert start(lambda comm: os.getpid(), 8).results == pids


@pytest.mark.usefixtures("own_job")
def test_more_ranks_than_the_job_has_start_a_larger_one():
    small = running_job()
    assert start(around, 4, 3).results == [3, 0, 1, 2]
    assert (small.ranks, holder.HOLDER.job.ranks, what_is_left(small.pids, small, [])) == (2, 4, [])


def many_calls(comm):
    """One of each kind of call; no message depends on another."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    x, y = np.ones(6), np.empty(6)
    comm.Sendrecv(x, right, recvbuf=y, source=left)
    mpi.waitall([comm.Irecv(y, left), comm.Isend([x, 4, mpi.DOUBLE], right)])
    request = comm.irecv(source=left)
    comm.send("seven!!", right)
    assert request.wait() == "seven!!"
    comm.Send(x, mpi.PROC_NULL)
    half = comm.Split(comm.rank % 2, comm.rank)
    half.Set_name("half")
    half.Sendrecv(x[:2], (half.rank + 1) % half.size, recvbuf=y[:2], source=(half.rank - 1) % half.size)
    grid = comm.Create_cart([comm.size], [True])
    grid.Barrier()
    comm.allreduce(1)
    return half.name, grid.name, comm.name


def test_counters_are_those_of_the_virtual_cluster():
    real_run, virtual = start(many_calls, 4), launch(many_calls, 4)
    assert real_run.results == virtual.results
    assert real_run.calls == virtual.calls
    real_run, virtual = start(around, 5, 7), launch(around, 5, 7)
    assert real_run.bytes_sent == virtual.bytes_sent == [56] * 5
    assert real_run.messages == virtual.messages == [1] * 5


def test_the_timeline_knows_peers_bytes_and_groups():
    run = start(many_calls, 4)
    mine = [event for event in run.timeline if event.rank == 3 and event.group == "half"]
    assert [(event.kind, event.peer, event.nbytes) for event in mine] == [("send", 1, 16), ("recv", 1, 16)]
    moved = [(event.kind, event.peer, event.nbytes) for event in run.timeline if event.rank == 1 and event.nbytes == 32]
    assert sorted(moved) == [("recv", 0, 32), ("send", 2, 32)]
    waits = {event.label for event in run.timeline if event.kind == "wait"}
    assert waits == {"Waitall", "wait", "Barrier", "allreduce"}


def test_ranks_draw_their_own_numbers_and_the_same_every_time():
    def draw(comm):
        return random.random(), np.random.rand()  # noqa: NPY002 (the global generator is meant)

    first, again = start(draw, 3).results, start(draw, 3).results
    assert first == again
    assert len(set(first)) == 3


def test_a_large_result_and_a_function_come_back():
    array, function = start(lambda comm: (np.full(50_000_000 // 8, comm.rank), lambda: "called"), 2).results[1]
    assert array.nbytes == 50_000_000 and array.mean() == 1
    assert function() == "called"


def test_what_ranks_print_arrives_in_whole_lines(capsys):
    def talk(comm):
        for i in range(400):
            print(f"rank {comm.rank}", i, "x" * 100)
        print("no end of line", comm.rank, end="")
        print("to stderr", file=sys.stderr)

    start(talk, 8)
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    for rank in range(8):
        mine = [line for line in lines if line.startswith(f"rank {rank} ")]
        assert mine == [f"rank {rank} {i} {'x' * 100}" for i in range(400)]
        assert f"no end of line {rank}" in lines
    assert captured.err.count("to stderr\n") == 8


# What goes wrong ---------------------------------------------------------------------------------------------------


class Unpicklable(Exception):
    """Cannot travel, for it holds a lock."""

    def __init__(self, text):
        super().__init__(text)
        self.lock = threading.Lock()


class TwoArguments(Exception):
    """Can be pickled but not be loaded: a classic."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def test_exceptions_come_back_by_rank_with_the_programs_lines():
    def fail(comm):
        if comm.rank == 0:
            raise KeyError("zero")
        if comm.rank == 1:
            raise Unpicklable("one")
        if comm.rank == 2:
            raise TwoArguments("this", "that")
        if comm.rank == 3:
            sys.exit(4)
        if comm.rank == 4:
            comm.Send(np.ones(1), dest=77)
        return 5

    pids = list(running_job().pids)
    with pytest.raises(RankFailed) as info:
        start(fail, 6)
    errors = info.value.errors
    assert [type(errors[rank]) for rank in range(5)] == [
        KeyError,
        RuntimeError,
        RuntimeError,
        SystemExit,
        mpi.Exception,
    ]
    assert "Unpicklable: one" in str(errors[1]) and "this and that" in str(errors[2])
    assert errors[3].code == 4
    assert [status.state for status in info.value.roll_call] == ["failed"] * 5 + ["finished"]
    assert 'raise Unpicklable("one")' in info.value.details
    assert "worker.py" not in str(info.value) and "counting.py" not in str(info.value)
    assert running_job().pids == pids  # all ranks had ended, so the job goes on


def test_a_result_that_cannot_travel_is_an_error_of_its_rank():
    with pytest.raises(RankFailed, match=r"rank 1.*pickle"):
        start(lambda comm: threading.Lock() if comm.rank else None, 2)


@pytest.mark.usefixtures("own_job")
def test_an_exception_while_others_wait_for_that_rank():
    def fail(comm):
        if comm.rank == 1:
            raise ValueError("planted")
        comm.recv(source=1, tag=5)

    began = time.monotonic()
    with pytest.raises(RankFailed) as info:
        start(fail, 3)
    assert time.monotonic() - began < 20 * pace()
    assert list(info.value.errors) == [1]
    assert info.value.cause.startswith("the program raised on rank 1: ValueError: planted (ranks 0 and 2 ")
    assert str(info.value.roll_call[2]).startswith(
        "rank   2  waiting   recv(source=1, tag=5)  in group 'world'  at test_job.py"
    )
    assert start(around, 2, 1).results == [1, 0]


@pytest.mark.usefixtures("own_job")
def test_a_hang_is_killed_with_every_stack_and_nothing_is_left(tmp_path):
    def stuck(comm):
        if comm.rank == 0:
            child = subprocess.Popen(["sleep", "100"])
            (tmp_path / "child").write_text(str(child.pid))
            while True:
                pass
        if comm.rank == 1:
            comm.Set_name("ring")
            comm.Recv(np.empty(3), source=0, tag=9)
        return comm.rank

    the_job = running_job()
    pids, memory = [*the_job.pids, *the_job.groups], shared_memory(the_job.pids)
    with pytest.raises(TimedOut) as info:
        start(stuck, 3, timeout=0.5)
    assert [status.state for status in info.value.roll_call] == ["running", "waiting", "finished"]
    assert (info.value.roll_call[1].call, info.value.roll_call[1].group) == ("Recv(source=0, tag=9)", "ring")
    assert "comm.Recv(np.empty(3), source=0, tag=9)" in info.value.details
    assert "in stuck\n    pass" in info.value.details or "in stuck\n    while True" in info.value.details
    assert what_is_left(pids, the_job, memory) == []
    child = int((tmp_path / "child").read_text())
    processes.wait_gone([child])
    assert not exists(child)
    assert start(around, 3, 2).results == [2, 0, 1]
    assert set(holder.HOLDER.job.pids).isdisjoint(pids)


@pytest.mark.usefixtures("own_job")
@pytest.mark.parametrize("how", ["exit", "kill", "segfault"])
def test_a_rank_that_dies_is_named_with_how(how, capsys):
    def die(comm):
        if comm.rank == 1:
            print("last words")
            if how == "exit":
                os._exit(3)
            elif how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            ctypes.string_at(0)
        comm.Barrier()

    the_job = running_job()
    pids, memory = [*the_job.pids, *the_job.groups], shared_memory(the_job.pids)
    with pytest.raises(RankDied) as info:
        start(die, 3)
    expected = {
        "exit": "ended itself with exit status 3",
        "kill": "was killed by SIGKILL",
        "segfault": "was killed by SIGSEGV",
    }
    assert info.value.cause.startswith(f"rank 1 {expected[how]}")
    assert [status.state for status in info.value.roll_call] == ["waiting", "failed", "waiting"]
    assert ("ctypes.string_at(0)" in info.value.details) == (how == "segfault")
    assert "last words" in capsys.readouterr().out
    assert what_is_left(pids, the_job, memory) == []


def test_a_message_left_behind_does_not_meet_the_next_program():
    def leave(comm):
        if comm.rank == 0:
            comm.isend("old", dest=1)
            comm.Irecv(np.empty(5), source=1)

    def receive(comm):
        if comm.rank == 0:
            comm.send("new", dest=1)
        if comm.rank == 1:
            comm.Send(np.ones(5), dest=0)
            return comm.recv(source=0)
        buf = np.empty(5)
        comm.Recv(buf, source=1)
        return buf.sum()

    start(leave, 2)
    assert start(receive, 2).results == [5, "new"]


@pytest.mark.usefixtures("own_job")
@pytest.mark.parametrize("killed", [1, 2])
def test_a_job_of_which_ranks_were_killed_meanwhile_is_replaced(killed):
    pids = running_job().pids[-killed:]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    processes.wait_gone(pids)
    assert start(around, 2, 1).results == [1, 0]
    assert set(holder.HOLDER.job.pids).isdisjoint(pids)


@pytest.mark.usefixtures("own_job")
def test_the_time_out_holds_while_c_code_keeps_the_interpreter():
    def stuck(comm):
        if comm.rank == 1:
            re.match("(a+)+$", "a" * 40 + "b")
        comm.Barrier()

    with pytest.raises(TimedOut) as info:
        start(stuck, 2, timeout=0.5)
    assert info.value.roll_call[1].state == "running"
    assert info.value.roll_call[1].where.endswith('re.match("(a+)+$", "a" * 40 + "b")')


@pytest.mark.usefixtures("own_job")
def test_a_rank_that_is_stopped_is_named_with_what_lets_it_go_on():
    def halt(comm):
        if comm.rank == 1:
            os.kill(os.getpid(), signal.SIGSTOP)
        comm.Barrier()

    pid = running_job().pids[1]
    with pytest.raises(TimedOut, match=rf"rank 1 was stopped \(SIGSTOP.*`kill -CONT {pid}`") as info:
        start(halt, 2, timeout=0.5)
    assert info.value.roll_call[1].state == "stopped"
    assert "os.kill(os.getpid(), signal.SIGSTOP)" in info.value.details


@pytest.mark.usefixtures("own_job")
def test_a_rank_that_was_stopped_before_the_launch_is_named_soon(monkeypatch):
    monkeypatch.setattr(job, "STOPPED_SECONDS", 0.5)
    os.kill(running_job().pids[1], signal.SIGSTOP)
    began = time.monotonic()
    with pytest.raises(TimedOut, match="rank 1 was stopped"):
        start(around, 2, 1, timeout=1)
    assert time.monotonic() - began < 30 * pace()


def test_a_launch_on_real_ranks_may_take_for_ever():
    assert start(around, 2, 1, timeout=float("inf")).results == [1, 0]


@pytest.mark.usefixtures("own_job")
def test_interrupting_the_parent_ends_the_job():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job starts with Ctrl-C ignored
    the_job = running_job()
    pids = list(the_job.pids)
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        start(lambda comm: time.sleep(100), 2)
    assert not any(map(exists, pids))


# Parents, children, and no MPI at all ------------------------------------------------------------------------------

PARENT = """
import time
from reference.worlds import launch
from reference.worlds.real import holder
holder.MIN_RANKS = 2
launch(lambda comm: None, 2, world="mpi")
job = holder.HOLDER.job
print(job.directory, job.process.pid, *job.pids, flush=True)
launch(lambda comm: time.sleep(100) if comm.rank else comm.recv(source=1), 2, world="mpi")
"""


def test_when_the_parent_is_killed_the_ranks_end_themselves():
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        directory, *pids = parent.stdout.readline().split()
        pids = [int(pid) for pid in pids]
        memory = shared_memory(pids)
        assert len(pids) == 3 and all(map(exists, pids))
        parent.kill()
    processes.wait_gone(pids, 20.0)
    assert not any(map(exists, pids))
    assert not any(map(os.path.exists, [*memory, directory]))


@pytest.mark.usefixtures("own_job")
def test_a_forked_child_has_a_job_of_its_own():
    pids = set(running_job().pids)
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        try:
            os.write(write, b"yes" if pids.isdisjoint(running_job().pids) and start(around, 2, 1) else b"no")
        finally:
            os._exit(0)
    os.close(write)
    assert os.read(read, 10) == b"yes"
    os.waitpid(child, 0)
    assert set(running_job().pids) == pids


def test_a_message_never_crosses_into_the_next_launch():
    """The communicator that was freed had one of its messages under way; MPI would give its number to the next one."""

    def leaves_a_message(comm):
        twin = comm.Dup()
        if comm.rank == 0:
            twin.Isend(np.array([42.0]), 1)
        twin.Free()
        with pytest.raises(mpi.Exception):
            twin.Barrier()

    def takes_the_first(comm):
        got = np.zeros(1)
        if comm.rank == 0:
            comm.Send(np.array([7.0]), 1)
        elif comm.rank == 1:
            comm.Recv(got, 0)
        return got[0]

    for _ in range(3):
        launch(leaves_a_message, 2, world="mpi")
        assert launch(takes_the_first, 2, world="mpi").results[1] == 7


def test_every_communicator_that_a_program_makes_is_noted():
    def program(comm):
        made = [comm.Clone(), comm.Dup_with_info(mpi.INFO_NULL), comm.Create_group(comm.group), comm.Create(comm.group)]
        later, request = comm.Idup()
        request.Wait()
        last, request = comm.Idup_with_info(mpi.INFO_NULL)
        request.Wait()
        made += [later, last, comm.Create_cart([comm.size])]
        for one in made:
            one.Barrier()
            one.Allreduce(mpi.IN_PLACE, np.zeros(1))
        return [one.Get_name() for one in made]

    run = launch(program, 2, world="mpi")
    names = [f"world.{name}" for name in ("dup", "dup", "group", "group", "dup", "dup", "cart")]
    assert run.results == [names, names] and run.calls[0]["Barrier"] == len(names)


def test_a_request_can_be_waited_for_when_its_communicator_has_been_freed():
    def program(comm):
        twin, got = comm.Dup(), np.zeros(1)
        requests = [twin.Irecv(got, comm.rank), twin.Isend(np.ones(1), comm.rank)]
        twin.Free()
        for request in requests:
            request.Wait()
        return got[0]

    assert launch(program, 2, world="mpi").results == [1, 1]


def test_what_cannot_be_counted_is_refused_before_it_is_sent():
    """Not a TypeError after the message has gone."""

    def program(comm):
        comm.Sendrecv([np.arange(3.0), "d"], comm.rank, 0, got := np.zeros(3), comm.rank, 0)
        request = comm.Irecv([None, 0, mpi.BYTE], comm.rank)
        comm.Isend([None, 0, mpi.BYTE], comm.rank).Wait()
        request.Wait()
        return got.tolist()

    run = launch(program, 1, world="mpi")
    assert run.results == [[0, 1, 2]] and run.bytes_sent == [24] and run.messages == [2]


def test_operations_that_a_program_leaves_are_freed():
    """mpi4py has room for 32 of them in a process, and a process runs many programs."""

    def program(comm):
        ops = [mpi.Op.Create(lambda low, high, kind: None) for _ in range(20)]
        copy = mpi.Op(ops[0])
        copy.Free()
        return len(ops)

    for _ in range(3):
        assert launch(program, 2, world="mpi").results == [20, 20]

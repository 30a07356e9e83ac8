"""The time-out of a virtual launch holds even while C code keeps the interpreter, and Ctrl-C ends it."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from reference.perf.pace import pace
from reference.worlds import TimedOut, launch
from reference.worlds.virtual import watchdog

PROGRAM = r"""
import re, signal, sys, time
import numpy as np
from reference.worlds import launch
from reference.worlds.virtual import watchdog

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job starts with Ctrl-C ignored
watchdog.PATIENCE_SECONDS = {patience}
ONE_BY_ONE = {one_by_one}
if not ONE_BY_ONE:
    watchdog.TGKILL = 0  # as where no single thread can be asked

def program(comm):
    if comm.rank == 1:
        print("stuck", flush=True)
        {stuck}
    if comm.rank == 2:
        return "done"
    comm.Recv(np.empty(1), 1)

def nested(comm):
    if comm.rank == 0:
        launch(program, 3)
    comm.Barrier()

print(launch(lambda comm: comm.allreduce(1), 3).results, flush=True)
try:
    launch({program}, {ranks}, timeout={timeout})
finally:
    print("still here")
"""
LINE = PROGRAM[: PROGRAM.index("{stuck}")].count("\n") + 1
CATASTROPHE = 're.match("(a+)+$", "a" * 40 + "b")'
POWER = "7**20_000_000"
TIME = 0.5 * pace()  # in which the ranks get there


def start(stuck=CATASTROPHE, ranks=4, timeout=TIME, patience=0.5, one_by_one=True, program="program"):
    """A process in which rank 1 is stuck in C code."""
    code = PROGRAM.format(**locals())
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", code], start_new_session=True, **pipes)


def ending(process):
    """How it ended, and what it said; it must end soon."""
    try:
        out, err = process.communicate(timeout=60 * pace())
    finally:
        process.kill()
    return process.returncode, out, err


def test_a_launch_whose_rank_keeps_the_interpreter_is_timed_out_with_a_report():
    status, out, err = ending(start())
    assert status == -signal.SIGABRT and out == "[3, 3, 3]\nstuck\n", err
    assert f"the launch took more than {TIME:g} s of real time" in err and "called by rank 1," in err
    assert re.search(r"rank   0  waiting   Recv  at cell:\d+", err), err
    assert f"rank   1  running   at cell:{LINE}" in err, err
    assert re.search(r"rank   [23]  (waiting|finished)", err) and "threading.py" not in err, err


def test_of_more_ranks_than_faulthandler_lists_the_stuck_one_is_found():
    _, _, err = ending(start(ranks=120))
    assert "called by rank 1," in err and "rank 119  waiting" in err, err


def test_where_no_single_thread_can_be_asked_all_are():
    """As on macOS."""
    _, _, err = ending(start(POWER, one_by_one=False))
    assert "called by rank 1," in err and re.search(r"rank   0  waiting   Recv  at cell:\d+", err), err


def test_a_launch_inside_a_launch_is_watched_too():
    status, _, err = ending(start(program="nested", ranks=2))
    assert status == -signal.SIGABRT and "called by rank 1," in err and "rank   2  " in err, err


def test_ctrl_c_twice_ends_it():
    process = start(timeout=600)
    assert [process.stdout.readline() for _ in range(2)] == ["[3, 3, 3]\n", "stuck\n"]
    time.sleep(0.5 * pace())  # from there it goes into the C code
    os.killpg(process.pid, signal.SIGINT)
    assert process.stderr.readline().strip() == ""
    assert "Another Ctrl-C ends this process" in process.stderr.readline()
    os.killpg(process.pid, signal.SIGINT)
    status, _, err = ending(process)
    assert status == -signal.SIGABRT and "interrupted" in err and "called by rank 1," in err, err


def test_ctrl_c_ends_the_launch_where_the_interpreter_reacts():
    process = start("while True: pass", timeout=600)
    assert [process.stdout.readline() for _ in range(2)] == ["[3, 3, 3]\n", "stuck\n"]
    os.killpg(process.pid, signal.SIGINT)
    status, out, err = ending(process)
    assert "still here" in out and "KeyboardInterrupt" in err, err
    assert status in (1, -signal.SIGINT)  # and not -SIGABRT


def test_an_interpreter_that_comes_back_is_left_alive(monkeypatch):
    """C code that ends before patience does: the launch is timed out as any other."""
    monkeypatch.setattr(watchdog, "PATIENCE_SECONDS", 60.0)

    def slow(comm):
        return (7 ** (1_500_000 + comm.rank)).bit_length()  # a second or so

    with pytest.raises(TimedOut):
        launch(slow, 2, timeout=0.1)
    assert launch(lambda comm: comm.rank, 2).results == [0, 1]


def test_one_sentry_serves_all_launches_and_ends_with_the_process():
    code = (
        "from reference.worlds import launch\n"
        "from reference.worlds.virtual import watchdog\n"
        "pids = {launch(lambda comm: 1, 2) and watchdog.WATCHDOG.sentry.pid for _ in range(5)}\nprint(*pids)"
    )
    pids = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60 * pace()).stdout
    assert len(pids.split()) == 1
    with pytest.raises(ProcessLookupError):
        os.kill(int(pids), 0)


def test_a_forked_child_starts_none():
    launch(lambda comm: 1, 2)
    if (child := os.fork()) == 0:
        lonely = watchdog.WATCHDOG.sentry is None
        fine = launch(lambda comm: comm.allreduce(1), 2).results == [2, 2] and watchdog.WATCHDOG.sentry is None
        os._exit(0 if lonely and fine else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert watchdog.WATCHDOG.sentry.poll() is None


def test_where_no_process_may_be_started_launches_go_unwatched(monkeypatch):
    def refuse(*_, **__):
        raise PermissionError

    monkeypatch.setattr(watchdog.subprocess, "Popen", refuse)
    lonely = watchdog.Watchdog()
    with lonely.guard(1.0, 2) as guard:
        guard.beat()
    assert lonely.sentry is None and lonely.useless

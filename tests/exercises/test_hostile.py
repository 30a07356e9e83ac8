"""Files that are out to deceive or to destroy: each is a wrong answer, and the grader goes on."""

import os
import time
from multiprocessing import resource_tracker
from textwrap import indent

import numpy as np
import psutil
import pytest

from exercises.grading import Case, Distributed, Finding, real
from exercises.grading.grade import UNGRADED, WRONG, grade
from exercises.grading.sandbox import Limits
from reference.worlds import processes

LIMITS = Limits(wall=20, cpu=3, memory=1 << 28)
RANKS = tuple((np.arange(3.0),) for _ in range(2))
TWO_CASES = [Case("first", RANKS), Case("second", RANKS)]
HEADER = """
import json, marshal, multiprocessing, os, sys, time
import numpy as np


def pour(data, times=1):
    for _ in range(times):
        for fd in range(3, 60):
            try:
                os.write(fd, data)
            except OSError:
                pass


def say(*record):
    for dumps in (lambda record: json.dumps(record).encode(), marshal.dumps):
        data = dumps(record)
        pour(len(data).to_bytes(8, "big") + data)


def played(**more):
    one = {"results": [1, 1], "arguments": [["tuple", []]] * 2, "aliased": [False] * 2, "calls": [{}, {}]}
    return {**one, "came": [[], []], "sent": [[], []], "seconds": 0.0, **more}


"""
FORGED = {  # what a rank does: nothing of it is a right answer, nor an end of the grading
    "junk": "pour(b'\\xff' * 999)",
    "part of a record": "pour((9).to_bytes(8, 'big') + b'[1')\nos._exit(0)",
    "a length without end": "pour((1 << 62).to_bytes(8, 'big'))",
    "endless data": "pour((1 << 40).to_bytes(8, 'big'))\npour(b'x' * 65536, 1 << 20)",
    "no JSON": "pour((3).to_bytes(8, 'big') + b'abc')",
    "deep nesting": "pour((200_000).to_bytes(8, 'big') + b'[' * 200_000)",
    "no record": "say(1, 2)",
    "a kind that does not exist": "say('passed', None, 0)",
    "a kind that is a list": "say(['done'], None, 0)",
    "done at once": "say('done', None, 0)\nos._exit(0)",
    "done, with all checks passed": "say('item', played(), 0)\nsay('done', None, 0)\nos._exit(0)",
    "an exception of no form": "say('raised', {'types': []}, 0)",
    "an exception that is a number": "say('raised', 7, 0)",
    "a limit of no form": "say('cpu', 'x', 0)",
    "printed by a lie": "say('item', 0, -5)",
    "an item that is nothing": "say('item', None, 0)",
    "an item of one rank": "say('item', played(results=[1]), 0)",
    "an item of another form": "say('item', played(calls='x'), 0)",
    "a time of NaN": "say('item', played(seconds=float('nan')), 0)",
    "a call without arguments": "say('item', played(came=[[7], []]), 0)",
    "no time": "say('item', played(seconds=None), 0)",
    "messages to nobody": "say('item', played(sent=[[[7, -1]], []]), 0)",
    "a whole number of 4,000 digits": "say('item', played(results=[10**4000] * 2), 0)",
    "an array of objects": "say('item', played(results=[['array', '|O8', [1], 'AAAAAAAAAAA=']] * 2), 0)",
    "an array of absurd shape": "say('item', played(results=[['array', '<f8', [0, 1 << 40], '']] * 2), 0)",
    "an array of absurd elements": "say('item', played(results=[['array', '<U999999999', [0], '']] * 2), 0)",
    "an array with too few bytes": "say('item', played(results=[['array', '<f8', [9], 'AAAA']] * 2), 0)",
    "a name that is no string": "say('item', played(results=[['other', 1, 2]] * 2), 0)",
    "a name that is a lone surrogate": "say('item', played(results=[['other', '\\ud800', '']] * 2), 0)",
    "more answers than inputs": "for _ in range(9):\n    say('item', played(), 0)",
    "an exception that cannot be printed": "raise type('E', (Exception,), {'__str__': lambda self: 1 / 0})",
    "an exception with a cause of its own": "raise type('E', (Exception,), {'cause': 3, 'errors': 4, 'roll_call': 5})",
    "an answer too long": "return np.zeros(10**6)",
    "an answer in itself": "a = []\na.append(a)\nreturn a",
    "a repr that raises": "return type('T', (), {'__repr__': lambda self: 1 / 0})()",
    "kills its keeper": "import ctypes\nctypes.CDLL(None).kill(os.getppid(), 9)\ntime.sleep(1)",
}


def graded(tmp_path, body, cases=TWO_CASES, limits=LIMITS, world="virtual", checks=()):
    path = tmp_path / "answer.py"
    path.write_text(f"{HEADER}def answer(comm, x):\n{indent(body, '    ')}\n")
    return grade(Distributed(lambda rng: cases, checks, []), "answer", path, seed=0, limits=limits, world=world)


def only_ones(case, answer):
    return None if answer.results == [1, 1] else Finding("something else came", "")


@pytest.mark.parametrize("what", FORGED)
def test_whatever_comes_through_the_pipe_is_a_wrong_answer(tmp_path, what):
    verdict = graded(tmp_path, FORGED[what], checks=[only_ones])
    assert verdict.state == WRONG, verdict
    assert verdict.finding.seen and verdict.finding.hint is not None
    assert verdict.passed < len(TWO_CASES)


def test_no_case_is_solved_without_having_been_judged(tmp_path):
    verdict = graded(tmp_path, "say('done', None, 0)\nos._exit(0)")
    assert (verdict.state, verdict.passed) == (WRONG, 0)
    assert "no answer yet" in verdict.finding.seen or "not an answer" in verdict.finding.seen


def test_endless_data_does_not_fill_the_grader(tmp_path):
    process = psutil.Process()
    before = process.memory_info().rss
    verdict = graded(tmp_path, FORGED["endless data"])
    assert verdict.state == WRONG
    assert process.memory_info().rss - before < 1 << 27
    assert "not an answer" in verdict.finding.seen


SPAWNS = "multiprocessing.get_context('spawn').Process(target=time.sleep, args=(60,)).start()"
LEAVES_ONE_BEHIND = """
import ctypes
pid = ctypes.CDLL(None).fork()
if pid == 0:
    os.setsid()
    if ctypes.CDLL(None).fork() == 0:
        os.symlink(str(os.getpid()), %r)  # which is there at once, with its content
        os.setsid()
        time.sleep(60)
    os._exit(0)
while not os.path.islink(%r):
    time.sleep(0.01)
return 1
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="only Linux has subreapers")
def test_no_process_outlives_the_grade(tmp_path):
    mark = str(tmp_path / "pid")
    verdict = graded(tmp_path, LEAVES_ONE_BEHIND % (mark, mark), cases=TWO_CASES[:1])
    assert os.path.islink(mark), verdict
    assert not psutil.pid_exists(int(os.readlink(mark))), verdict


def test_multiprocessing_is_refused_in_plain_words(tmp_path):
    """Also where the grader's own process has used it before."""
    resource_tracker.ensure_running()
    verdict = graded(tmp_path, SPAWNS)
    assert verdict.state == WRONG
    assert "starts no processes" in verdict.finding.hint


def test_a_grader_that_dies_takes_all_with_it(tmp_path):
    """Its end of the leash is let go."""
    mark = tmp_path / "pids"
    grader = os.fork()
    if grader == 0:
        body = f"open({str(mark)!r}, 'a').write(f'{{os.getpid()}} {{os.getppid()}} ')\ntime.sleep(999)"
        graded(tmp_path, body, limits=Limits(wall=1000))
        os._exit(0)
    while not mark.exists() or len(mark.read_text().split()) < 2:
        time.sleep(0.01)
    os.kill(grader, 9)
    os.waitpid(grader, 0)
    pids = list(map(int, mark.read_text().split()))
    while any(psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie" for pid in pids):
        time.sleep(0.01)  # pytest ends a test that waits for ever


@pytest.mark.mpi
def test_unpickling_runs_nothing_in_the_process_of_the_grader(tmp_path):
    mark = tmp_path / "pids"
    body = f"""
class Evil(Exception):
    def __reduce__(self):
        return exec, ("import os; open({str(mark)!r}, 'a').write(f'{{os.getpid()}} ')",)
raise Evil
"""
    verdict = graded(tmp_path, body, world="mpi")
    assert verdict.state == WRONG
    assert mark.exists() and str(os.getpid()) not in mark.read_text().split()
    assert graded(tmp_path, "return 1", world="mpi").state == "solved"


@pytest.mark.mpi
def test_mpi_that_does_not_start_is_nobody_s_wrong_answer(tmp_path, monkeypatch):
    real.close()
    script = tmp_path / "mpirun"
    script.write_text("#!/bin/sh\necho no room in shared memory >&2\nexit 3\n")
    script.chmod(0o755)
    monkeypatch.setattr(processes, "find_mpirun", lambda: str(script))
    verdict = graded(tmp_path, "return 1", world="mpi")
    real.close()
    assert verdict.state == UNGRADED and not verdict.grader_failed
    assert "could not be graded on real ranks" in verdict.finding.seen
    assert "no room in shared memory" in verdict.finding.seen
    assert "not at fault" in verdict.finding.hint and "mpirun -n 2" in verdict.finding.hint

"""Whatever a student's code does, the grade ends soon, with an explanation that names the line."""

from textwrap import indent

import numpy as np
import pytest

from exercises.grading import Case, Distributed, Exercise, Finding, stacks
from exercises.grading.grade import SOLVED, UNGRADED, WRONG, GraderFailed, grade, tried
from exercises.grading.sandbox import Limits

LIMITS = Limits(wall=20, cpu=0.5, memory=1 << 28)
PATIENT = Limits(wall=20, cpu=10, memory=1 << 28)  # where memory must run out first, also on a busy machine
TWO_RANKS = Case("2 ranks", ((np.arange(3.0),), (np.arange(3.0),)))
HEADER = "import itertools, os, signal, subprocess, sys, time\nimport numpy as np\nfrom reference import mpi\n"
LINE = 5  # of the first line of a body, below HEADER and def

BODIES = {  # what a rank does: (the student's code, what is seen, what the hint says)
    "endless loop": ("while True:\n    pass", f"rank 0: answer.py, line {LINE}", "endless loop"),
    "endless loop in C": ("sum(itertools.repeat(0))", f"line {LINE}: sum(", "endless loop"),
    "memory, at once": ("return np.ones(10**12)", "MemoryError", "wrong size"),
    "memory, bit by bit": (
        "a = []\nwhile True:\n    a.append(np.ones(10**5))",
        "MemoryError|bytes of memory",
        "grow without end",
    ),
    "crash": ("import ctypes\nctypes.string_at(0)", f"segmentation fault.\n  answer.py, line {LINE + 1}", "memory"),
    "os._exit": ("os._exit(3)", "exit status 3", "returns its result"),
    "sys.exit": ("sys.exit(3)", f"SystemExit: 3\n  answer.py, line {LINE}", "returns its result"),
    "killed": ("signal.raise_signal(9)", "killed the program", "memory"),
    "fork": ("os.fork()", f"os.fork\n  answer.py, line {LINE}", "starts no processes"),
    "subprocess": ("subprocess.run(['true'])", "subprocess.Popen", "starts no processes"),
    "kills the grader": ("os.kill(os.getppid(), 9)", "os.kill", "starts no processes"),
    "prints for ever": ("while True:\n    print('x' * 99)", f"answer.py, line {LINE + 1}", "a lot of text"),
    "input()": ("return input()", "EOFError", "keyboard"),
    "breakpoint()": ("breakpoint()", f"line {LINE}: breakpoint()", "print() works"),
    "exception": ("return 1 / 0", f"ZeroDivisionError: division by zero\n  answer.py, line {LINE}", "from its end"),
    "still a stub inside": ("if comm.rank:\n    raise NotImplementedError", "rank 1 raised Not", "not finished"),
    "recursion": ("return answer(comm, x)", "RecursionError", "calls itself"),
    "deadlock": (
        "comm.Recv(x, source=0)",
        f"line {LINE}: comm.Recv(x, source=0)",
        "wait for a message from rank 0",
    ),
    "one rank loops": (
        "if comm.rank:\n    while True:\n        pass\ncomm.Barrier()",
        "rank 1: answer.py",
        "every rank",
    ),
    "unreceived": ("comm.Isend(x, dest=1 - comm.rank)", "never received", "Every send needs its receive"),
    "closes all files": ("os.closerange(3, 99)\nos._exit(0)", "exit status 0", "returns its result"),
    "catches everything": (
        "while True:\n    try:\n        comm.Recv(x, source=0)\n    except Exception:\n        pass",
        "deadlock",
        "wait for a message from rank 0",
    ),
}


def graded(tmp_path, body, exercise=None, limits=LIMITS, world="virtual"):
    path = tmp_path / "answer.py"
    path.write_text(f"{HEADER}def answer(comm, x):\n{indent(body, '    ')}\n")
    exercise = exercise or Distributed(cases=lambda rng: [TWO_RANKS], checks=[], hints=[])
    return grade(exercise, "answer", path, seed=0, limits=limits, world=world)


@pytest.mark.parametrize("what", ["endless loop", "endless loop in C"])
def test_lines_are_found_in_a_folder_with_other_letters(tmp_path, what):
    folder = tmp_path / "zählt ł 😀"
    folder.mkdir()
    body, seen, _ = BODIES[what]
    assert seen in graded(folder, body).finding.seen


@pytest.mark.parametrize("what", BODIES)
def test_each_ending_has_its_explanation(tmp_path, what):
    body, seen, hint = BODIES[what]
    verdict = graded(tmp_path, body, limits=PATIENT if "memory" in what else LIMITS)
    assert verdict.state == WRONG
    assert any(each in verdict.finding.seen for each in seen.split("|"))  # whichever limit is met first
    assert hint in verdict.finding.hint


def test_one_that_waits_is_ended_by_the_clock(tmp_path):
    verdict = graded(tmp_path, "time.sleep(99)", limits=Limits(wall=1))
    assert "line 5: time.sleep(99)" in verdict.finding.seen
    assert "It waits" in verdict.finding.hint


def test_the_call_in_which_a_rank_waits_may_have_a_hint_of_its_own(tmp_path):
    exercise = Distributed(lambda rng: [TWO_RANKS], [], [], endings={"send(": "small", "Deadlock": "any"})
    assert graded(tmp_path, "comm.send(1, dest=1 - comm.rank)", exercise).finding.hint == "small"
    assert graded(tmp_path, "comm.Ssend(x, dest=1 - comm.rank)", exercise).finding.hint == "any"


def test_a_function_that_runs_alone_is_not_told_of_ranks(tmp_path):
    path = tmp_path / "answer.py"
    path.write_text("def answer(n):\n    while True:\n        pass\n")
    own_hint = {"cpu": lambda case: f"no time for {case.label}"}
    for own, hint in ({}, "too many possibilities"), (own_hint, "no time for 7"):
        exercise = Exercise(lambda rng: [Case("7", ((7,),))], [], [], endings=own)
        verdict = grade(exercise, "answer", path, seed=0, limits=LIMITS)
        assert hint in verdict.finding.hint
        assert "rank" not in "".join(verdict.finding)
        assert "\n  answer.py, line " in verdict.finding.seen


def test_the_name_of_a_limit_is_not_looked_for_in_exceptions(tmp_path):
    exercise = Distributed(lambda rng: [TWO_RANKS], [], [], endings={"cpu": "slow"})
    assert graded(tmp_path, "raise ValueError('no cpu')", exercise).finding.hint != "slow"


def test_a_frame_without_a_line_is_passed_over(tmp_path):
    """Some instructions belong to no line; the line that called them is told instead."""
    path = str(tmp_path / "answer.py")
    source = "def inner(look):\n    return look()\n\n\ndef on_one_rank(look, rank):\n    return inner(look)\n"
    functions = {}
    exec(compile(source, path, "exec"), functions)
    assert stacks_seen(functions, path) == {3: (2, "inner", "")}
    code = functions["inner"].__code__
    nowhere = b"\xff" * len(code.co_code)  # in the table of lines: 8 instructions without one
    functions["inner"].__code__ = code.replace(co_linetable=nowhere)
    assert stacks_seen(functions, path) == {3: (6, "on_one_rank", "")}

    def fails():
        raise ValueError

    try:
        functions["on_one_rank"](fails, 3)
    except ValueError as error:
        seen = stacks.of_traceback(error.__traceback__, path)
    assert seen == [(6, "on_one_rank", "")]


def stacks_seen(functions, path):
    """What is seen of a rank 3 that is inside a file, or what was raised: pytest cannot print such frames."""
    try:
        return functions["on_one_rank"](lambda: stacks.of_threads(path), 3)
    except TypeError as error:
        return repr(error)


@pytest.mark.parametrize("broken", ["check", "hint"])
def test_a_mistake_of_the_grader_is_told_kindly_and_never_passes(tmp_path, broken):
    def breaks(*_):
        return 1 / 0

    checks, endings = ([breaks], {}) if broken == "check" else ([], {"ValueError": breaks})
    exercise = Distributed(lambda rng: [TWO_RANKS], checks, [], endings)
    verdict = graded(tmp_path, "return x" if checks else "raise ValueError", exercise)
    assert verdict.state == UNGRADED and verdict.grader_failed
    assert verdict.finding.seen.startswith(
        "the grader itself failed: ZeroDivisionError: division by zero (test_endings"
    )
    assert "Please report it" in verdict.finding.hint
    assert (verdict.case, verdict.passed) == ("2 ranks", 0)
    if checks:
        with pytest.raises(GraderFailed, match="ZeroDivisionError"):
            tried(exercise, "answer", [tmp_path / "answer.py"], 0, LIMITS)


def test_what_was_printed_for_the_failing_input_is_kept(tmp_path):
    cases = [Case(str(n), ((n,),)) for n in range(3)]
    never_two = Exercise(
        lambda rng: cases, [lambda case, answer: Finding("2", "no") if answer.results == [2] else None], []
    )
    path = tmp_path / "answer.py"
    path.write_text("def answer(n):\n    print('this is', n)\n    return n\n")
    verdict = grade(never_two, "answer", path, seed=0)
    assert (verdict.state, verdict.case, verdict.passed, verdict.printed) == (WRONG, "2", 2, "this is 2\n")


def test_ranks_do_not_share_globals(tmp_path):
    path = tmp_path / "answer.py"
    path.write_text(
        "seen = []\n\n\ndef answer(comm, x):\n    seen.append(comm.rank)\n    comm.Barrier()\n    return seen\n"
    )

    def alone(case, answer):
        return None if answer.results == [[0], [1]] else Finding(repr(answer.results), "shared")

    assert grade(Distributed(lambda rng: [TWO_RANKS], [alone], []), "answer", path, seed=0).state == SOLVED


@pytest.mark.mpi
def test_real_ranks_are_explained_alike(tmp_path):
    verdict = graded(tmp_path, "if comm.rank == 1:\n    return 1 / 0", world="mpi")
    assert verdict.world == "mpi"
    assert (
        verdict.finding.seen == "rank 1 raised ZeroDivisionError: division by zero\n  answer.py, line 6: return 1 / 0"
    )


@pytest.mark.mpi
def test_real_ranks_read_a_changed_file_anew(tmp_path):
    assert graded(tmp_path, "return 1 / 0", world="mpi").state == WRONG
    assert graded(tmp_path, "return 1.5", world="mpi").state == SOLVED


def test_an_exercise_may_know_better(tmp_path):
    """Its own hints come first; a function of the case may decline."""
    own = {"ZeroDivisionError": lambda case: "two" * (case.ranks == 2), "TypeError": lambda case: ""}
    exercise = Distributed(cases=lambda rng: [TWO_RANKS], checks=[], hints=[], endings={**own, "deadlock": "dead"})
    assert graded(tmp_path, "return 1 / 0", exercise).finding.hint == "two"
    assert "from its end" in graded(tmp_path, "return 1 + 'a'", exercise).finding.hint
    assert graded(tmp_path, "comm.Recv(x, source=0)", exercise).finding.hint == "dead"

"""What a student sees who types `pytest exercises/`, in a copy of the exercises."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from exercises.grading import student, wrong

ROOT = Path(__file__).parents[2]
STUDENT = "ch01_collectives.py"
SOLUTIONS = (ROOT / "exercises/solutions" / STUDENT).read_text()
WRONG = wrong.texts("ch01_collectives", "ring_reduce_scatter")["whole_array_every_step"].removeprefix(SOLUTIONS)


@pytest.fixture
def course(tmp_path):
    """A fresh clone, as far as exercises need it, but compiled; what pytest compiles names the original's files."""
    made = shutil.ignore_patterns("*-pytest-*.pyc", ".pytest_cache")
    shutil.copytree(ROOT / "exercises", tmp_path / "exercises", ignore=made)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def pytest_says(folder, *arguments):
    """Run pytest in a folder; returns its exit status and what it printed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    environment.pop("PYTEST_ADDOPTS", None)
    command = [sys.executable, "-m", "pytest", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def answer(course, text):
    """Write a file of answers below the stubs: for Python and for the grader, the last definition counts."""
    with open(course / "exercises" / STUDENT, "a") as file:
        file.write(f"\n\n{text}")


def test_a_fresh_clone_is_welcomed(course):
    status, text = pytest_says(course, "exercises/")
    assert status == 1
    assert text.startswith("Every Rank Counts: exercises\n")
    assert re.search(r"chapter  1  collectives +·+  0 of \d+\n", text)
    assert "Welcome!" in text
    assert re.search(rf"open  exercises/{STUDENT}, line \d+: \w+\n", text)
    assert "run   pytest exercises/" in text
    assert re.search(r"\d+ to do in ", text)
    assert "Traceback" not in text and "rootdir" not in text


def test_a_wrong_answer_gets_one_hint_and_the_same_inputs_again(course):
    answer(course, WRONG)
    chosen = [STUDENT, "-k", "ring_reduce_scatter", "--seed", "5"]
    status, text = pytest_says(course / "exercises", "-q", *chosen)
    assert status == 1
    assert "✗  0 of 1" in text
    assert "the ring sends" in text
    assert "Hint: You sent the whole array in every step." in text
    assert "--seed 5" in text
    assert "step 1" not in text and "Welcome" not in text
    status, more = pytest_says(course / "exercises", *chosen, "--hints")
    assert status == 1
    assert "step 1 of 3" in more and "step 2" not in more and "The same command again" in more
    assert seen(more) == seen(text)
    for step in (2, 3):
        _, more = pytest_says(course / "exercises", *chosen, "--hints")
        assert f"step {step} of 3" in more
    assert "The same command again" not in more


def seen(text):
    """What was found, numbers included."""
    return re.findall(r"^On .*\n.*$", text, re.MULTILINE)


def test_code_to_complete_begins_with_taking_out_the_raise(course):
    chosen = ["exercises/", "-k", "ring_allgather or ring_reduce_scatter"]
    file = course / "exercises" / STUDENT
    solutions = student.read(course / "exercises" / "solutions" / STUDENT)
    file.write_text(file.read_text() + "\n\n" + ast.unparse(solutions.function("ring_reduce_scatter")) + "\n")
    status, text = pytest_says(course, *chosen)
    assert status == 1
    assert re.search(rf"Next: ring_allgather in exercises/{STUDENT}, line \d+ \(take out its `raise\s+NotImp", text)
    before, stub, after = file.read_text().partition(
        "    raise NotImplementedError\n    P, rank = comm.size, comm.rank\n"
    )
    file.write_text(before + stub.split("\n", 1)[1] + after)
    status, text = pytest_says(course, *chosen)
    assert status == 1
    assert "NameError: name '___' is not defined" in text
    assert f"{STUDENT}, line {before.count(chr(10)) + 5}: leaving = blocks[___]" in text
    assert "Hint: A blank is not filled in yet" in text


def test_what_was_chosen_and_is_not_begun_is_told_where_to_begin(course):
    _, text = pytest_says(course, "exercises/", "-k", "shift_right")
    assert "code below that line is not run" in " ".join(text.split()) and "Welcome" not in text
    _, text = pytest_says(course, "exercises/", "-k", "ring_time")
    assert "it is to do" in " ".join(text.split())


def test_several_processes_show_what_one_shows(course):
    """pytest -n 2: of pytest-xdist."""
    answer(course, WRONG)
    chosen = ["exercises/", "-k", "ring_reduce_scatter or ring_time", "--seed", "5"]
    (status, one), (statuses, two) = pytest_says(course, *chosen), pytest_says(course, *chosen, "-n", "2", "--hints")
    assert status == statuses == 1
    assert "·✗  0 of 2" in one and "·✗  0 of 2" in two
    assert seen(one) == seen(two) and "step 1 of 3" in two
    assert "INTERNALERROR" not in two and "Traceback" not in two
    _, text = pytest_says(course, "exercises/", "-n", "1", "-k", "ring_tme")
    assert "Is one of these meant? ring_time" in text


LOOKS = "import sys, pytest; pytest.main(sys.argv[1:]); print('imported:', *sys.modules)"
SLOW = {"hypothesis", "nbval", "nbformat", "jupyter_client", "zmq", "torch", "scipy", "matplotlib", "sklearn"}
TO_GRADE = {"reference.worlds", "mpi4py", "ch01_collectives", "exercises.ch01_collectives"}


def imported(folder, *arguments):
    """What pytest says in a folder, and what its process has imported at the end."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-c", LOOKS, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    text, _, names = done.stdout.rpartition("imported:")
    return text + done.stderr, set(names.split())


@pytest.mark.parametrize(
    "folder, arguments",
    [
        ("", ["exercises/", "-k", "ring_time"]),
        ("", ["exercises/test_ch01_collectives.py", "exercises/ch02_data_parallel.py", "-k", "ring_time"]),
        ("exercises", ["-k", "ring_time"]),
    ],
)
def test_nobody_waits_for_what_grades_nothing(course, folder, arguments):
    text, names = imported(course / folder, *arguments)
    assert "1 to do in" in text and names & {"numpy"} and not names & (SLOW | TO_GRADE)


def test_an_answer_with_numpy_waits_for_no_other_library(course):
    answer(course, WRONG)
    text, names = imported(course, "exercises/", "-k", "ring_reduce_scatter")
    assert "1 not right yet" in text and "reference.worlds" in names and not names & SLOW


def test_a_seed_that_is_none_is_told_in_one_line(course):
    status, text = pytest_says(course, "exercises/", "--seed", "-1")
    assert (status, text) == (4, "ERROR: --seed is a whole number from 0 on, not -1\n\n")


def test_what_a_terminal_would_obey_is_shown_and_not_obeyed(course):
    with open(course / "exercises" / STUDENT, "a") as file:
        file.write(
            "\n\ndef ring_time(P, n, alpha, beta):\n    print('\\x1b[2J')\n    raise ValueError('\\x1b]0;\\x07')\n"
        )
    _, text = pytest_says(course, "exercises/", "-k", "ring_time")
    assert "\x1b" not in text and "| \\x1b[2J" in text and "ValueError: \\x1b]0;" in text


def test_a_misspelt_exercise_is_asked_for(course):
    _, text = pytest_says(course, "exercises/", "-k", "ring_tme")
    assert "No exercise's name contains 'ring_tme'. Is one of these meant? ring_time" in text


@pytest.mark.mpi
def test_a_solution_passes_in_both_worlds_and_is_told_why(course):
    answer(course, SOLUTIONS)
    status, text = pytest_says(course, "exercises/", "-k", "ring_reduce_scatter", "--mpi")
    assert status == 0
    assert "also on real MPI ranks" in text
    assert "1 of 1" in text and "Follow block b" in text and "What is next? pytest exercises/" in text


def test_exercises_go_along_with_other_tests(course):
    (course / "test_other.py").write_text("def test_other():\n    pass\n")
    status, text = pytest_says(course, ".")
    assert status == 1
    assert "test session starts" in text
    assert re.search(r"1 passed, \d+ to do in ", text)

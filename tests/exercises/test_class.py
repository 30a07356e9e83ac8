"""Grading a class: python -m exercises.grading."""

import csv
import os
import shutil
from pathlib import Path

import pytest

from exercises.grading import __main__ as class_grading
from exercises.grading.__main__ import FOLDER, exercises_of, main, points
from exercises.grading.grade import grade


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory):
    folder = tmp_path_factory.mktemp("handed_in")
    shutil.copy(FOLDER / "ch01_collectives.py", folder / "nobody.py")
    stub = (FOLDER / "ch01_collectives.py").read_text()
    (folder / "ada.py").write_text(
        stub + "\n\ndef ring_time(P, n, alpha, beta):\n    return 2 * (P - 1) * (alpha + n / P * beta)\n"
    )
    (folder / "bob.py").write_text(stub + "\n\ndef ring_time(P, n, alpha, beta):\n    return 2 * n * beta\n")
    (folder / "eve.py").write_text("def ring_time(:\n")
    return folder


def test_every_exercise_has_a_level_and_is_worth_points():
    own, exercises = exercises_of("ch01")
    worth = points(own, exercises)
    assert list(worth) == list(exercises) and min(worth.values()) >= 1
    one_a_level = ("ring_time", "ring_allgather", "ring_reduce_scatter", "shift_right", "ring_order")
    assert [worth[name] for name in one_a_level] == [1, 1, 3, 2, 4]


def rows_of(table):
    """The rows of a CSV file by the first cell."""
    with table.open(newline="") as file:
        return {row["file"]: row for row in csv.DictReader(file)}


def test_a_class_is_graded_on_the_same_inputs(handed_in, tmp_path, capsys):
    table = tmp_path / "grades.csv"
    files = {who: str(handed_in / f"{who}.py") for who in ("nobody", "ada", "bob")}
    status = main(["ch01", *files.values(), "--csv", str(table)])
    lines = capsys.readouterr().out.splitlines()
    rows = rows_of(table)
    assert status == 0
    assert {who: rows[file]["ring_time"] for who, file in files.items()} == {
        "nobody": "to do",
        "ada": "solved",
        "bob": "not right yet",
    }
    assert [rows[file]["points"] for file in files.values()] == ["0", "1", "0"]
    assert [line.split()[0] for line in lines] == list(files.values())
    assert lines[1].split()[1].startswith("+.") and lines[2].split()[1].startswith("x.")


def test_who_solves_all_has_all_the_points_of_every_level(capsys):
    own, exercises = exercises_of("ch01")
    assert main(["ch01", str(FOLDER / "solutions" / own.name)]) == 0
    everything = sum(points(own, exercises).values())
    assert capsys.readouterr().out.endswith(f"  {everything} of {everything} points\n")


def test_a_file_that_python_cannot_read_is_named(handed_in, capsys):
    assert main(["ch01", str(handed_in / "eve.py")]) == 1
    assert "Python cannot read it" in capsys.readouterr().out


def test_a_file_of_something_else_is_named(tmp_path, capsys):
    (tmp_path / "ch02.py").write_text("def step_time():\n    return 1\n")
    assert main(["ch01", str(tmp_path / "ch02.py")]) == 0
    assert "(it has none of the exercises)" in capsys.readouterr().out


HOSTILE = {  # what the file does when ring_time is called; the others are to do
    "junk on all pipes": "for fd in range(3, 99):\n    pour(fd, b'\\xff' * 999)",
    "a record of no known kind": "data = marshal.dumps(('?', 0, 0))\n    pour_all(len(data).to_bytes(8, 'big') + data)",
    "kills who watches": "ctypes.CDLL(None).kill(os.getppid(), 9)\n    time.sleep(1)",
    "kills who grades": "ctypes.CDLL(None).kill(psutil.Process(os.getppid()).ppid(), 9)\n    time.sleep(1)",
}
TOOLS = """
import ctypes, marshal, os, psutil, time


def pour(fd, data):
    try:
        os.write(fd, data)
    except OSError:
        pass


def pour_all(data):
    for fd in range(3, 99):
        pour(fd, data)


def ring_time(P, n, alpha, beta):
    {}
    os._exit(0)
"""


@pytest.fixture
def few(monkeypatch):
    """Chapter 1 with two exercises only: which there are is not what these tests are about."""
    own, exercises = exercises_of("ch01")
    two = {name: exercises[name] for name in ("ring_time", "crossover")}
    monkeypatch.setattr("exercises.grading.__main__.exercises_of", lambda chapter: (own, two))


def test_no_file_ends_the_grading_of_the_others(handed_in, tmp_path, capfd, few):
    files = []
    for number, body in enumerate(HOSTILE.values()):
        files.append(tmp_path / f"{number}.py")
        files[-1].write_text((FOLDER / "ch01_collectives.py").read_text() + TOOLS.format(body))
    files.append(handed_in / "ada.py")
    table = tmp_path / "grades.csv"
    status = main(["ch01", *map(str, files), "--csv", str(table)])
    rows = rows_of(table)
    assert list(rows) == list(map(str, files))
    *hostile, ada = (row["ring_time"] for row in rows.values())
    assert ada == "solved" and set(hostile) <= {"not right yet", "grader failed"}
    assert status == ("grader failed" in hostile)
    assert len(capfd.readouterr().out.splitlines()) == len(files)


def test_an_error_of_the_grader_costs_one_exercise_of_one_file(handed_in, tmp_path, capfd, few, monkeypatch):
    def breaks(exercise, name, path, seed):
        if path.name == "bob.py" and name == "ring_time":
            raise ZeroDivisionError("planted")
        return grade(exercise, name, path, seed)

    monkeypatch.setattr("exercises.grading.__main__.grade", breaks)
    files, table = [handed_in / f"{who}.py" for who in ("bob", "ada")], tmp_path / "grades.csv"
    assert main(["ch01", *map(str, files), "--csv", str(table)]) == 1
    rows = rows_of(table)
    assert [rows[str(file)]["ring_time"] for file in files] == ["grader failed", "solved"]
    assert rows[str(files[0])]["crossover"] == "to do"
    told = capfd.readouterr()
    assert f"{files[0]}  ?." in told.out and "ring_time: the grader failed: ZeroDivisionError: planted" in told.err


def test_rows_are_on_disk_as_soon_as_they_are_known(handed_in, tmp_path, capsys, few, monkeypatch):
    table, files = tmp_path / "grades.csv", [str(handed_in / f"{who}.py") for who in ("nobody", "ada")]
    seen = []
    one_file = class_grading.graded

    def looks(*arguments):
        seen.append(list(rows_of(table)))
        if len(seen) == 2:
            raise KeyboardInterrupt
        return one_file(*arguments)

    monkeypatch.setattr(class_grading, "graded", looks)
    assert main(["ch01", *files, "--csv", str(table)]) == 130
    assert seen == [[], files[:1]] and list(rows_of(table)) == files[:1]


def test_what_cannot_be_graded_is_told_before_anything_is(handed_in, tmp_path, capsys):
    ada, folder = handed_in / "ada.py", tmp_path / "folder"
    folder.mkdir()
    missing = tmp_path / "nope.py"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    kept = ada.read_text()
    asked = ["ch77", str(ada), str(missing), str(folder), str(pipe), "--seed", "-1", "--csv", str(ada)]
    assert main(asked) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [
        told.err.splitlines()[0],
        "--seed is a whole number from 0 on, not -1",
        f"{missing}: there is no such file",
        f"{folder}: it is a directory",
        f"{pipe}: it is no file",
        f"--csv {ada}: this is one of the files to grade",
    ]
    assert "no chapter 'ch77'; there are: ch01" in told.err
    assert ada.read_text() == kept


@pytest.mark.parametrize(
    "name, why", [("folder", "it is a directory"), ("not/there.csv", "it cannot be written (No such")]
)
def test_a_csv_that_cannot_be_written_is_told_at_once(handed_in, tmp_path, capsys, name, why):
    (tmp_path / "folder").mkdir()
    assert main(["ch01", str(handed_in / "ada.py"), "--csv", str(tmp_path / name)]) == 2
    assert f"{tmp_path / name}: {why}" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["=1+1.py", "+a.py", "-a.py", "@a.py", "\ta.py"])
def test_no_cell_is_a_formula(handed_in, tmp_path, capsys, few, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    shutil.copy(handed_in / "nobody.py", name)
    assert main(["ch01", "--csv", "grades.csv", "--", name]) == 0
    assert list(rows_of(Path("grades.csv"))) == [f"'{name}"]


def test_a_chapter_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="no chapter 'ch77'; there are: ch01"):
        exercises_of("ch77")

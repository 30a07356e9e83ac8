"""Grading a class: python -m exercises.grading."""

import csv
import shutil

import pytest

from exercises.grading.__main__ import FOLDER, exercises_of, main, points


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


def test_a_class_is_graded_on_the_same_inputs(handed_in, tmp_path, capsys):
    table = tmp_path / "grades.csv"
    status = main(["ch01", *(str(handed_in / f"{who}.py") for who in ("nobody", "ada", "bob")), "--csv", str(table)])
    lines = capsys.readouterr().out.splitlines()
    rows = {row["file"]: row for row in csv.DictReader(table.open())}
    assert status == 0
    assert {who: rows[who]["ring_time"] for who in rows} == {
        "nobody": "to do",
        "ada": "solved",
        "bob": "not right yet",
    }
    assert [rows[who]["points"] for who in ("nobody", "ada", "bob")] == ["0", "1", "0"]
    assert lines[1].split()[1].startswith("+.") and lines[2].split()[1].startswith("x.")


def test_who_solves_all_has_all_the_points_of_every_level(capsys):
    own, exercises = exercises_of("ch01")
    assert main(["ch01", str(FOLDER / "solutions" / own.name)]) == 0
    everything = sum(points(own, exercises).values())
    assert capsys.readouterr().out.endswith(f"  {everything} of {everything} points\n")


def test_a_file_that_python_cannot_read_is_named(handed_in, capsys):
    assert main(["ch01", str(handed_in / "eve.py")]) == 1
    assert "Python cannot read it" in capsys.readouterr().out


def test_a_chapter_that_is_not_there_is_named():
    with pytest.raises(SystemExit, match="no chapter 'ch77'; there are: ch01"):
        exercises_of("ch77")

"""The skeleton of a new exercise stands where it belongs, can be collected, and is refused until it is written."""

import importlib
import itertools
import re
import shutil
import sys
from pathlib import Path

import pytest

from exercises.grading import new, student

from . import conftest

FOLDER = Path(__file__).parents[2] / "exercises"


@pytest.fixture
def folder(tmp_path):
    """A copy of the exercises."""
    return Path(shutil.copytree(FOLDER, tmp_path / "exercises", ignore=shutil.ignore_patterns("__pycache__")))


@pytest.mark.parametrize("level", new.LEVELS)
@pytest.mark.parametrize("chapter", ["ch01_collectives", "ch77_unheard_of"])
def test_a_skeleton_stands_under_its_level(folder, chapter, level):
    touched = new.skeleton(chapter, "brand_new", level, comm=True, folder=folder)
    assert len(touched) == 6 and all("brand_new" in path.read_text() for path in touched)
    for path in touched[:3]:
        source = student.read(path)
        assert source.trouble is None and source.level("brand_new") == level
        assert source.state("brand_new") == student.TO_DO
    declared = (folder / f"test_{chapter}.py").read_text()
    assert re.search(rf"^brand_new = {level.replace(' ', '_')}\.brand_new$", declared, re.MULTILINE)
    neighbours = [line.split(" = ")[1].split(".")[0] for line in declared.splitlines() if " = " in line]
    assert len([a for a, b in itertools.pairwise(neighbours) if a != b]) == len(set(neighbours)) - 1  # level by level


def test_a_begun_chapter_can_be_imported(folder, monkeypatch):
    """Its checks are to do: a name that does not exist says so."""
    (*_, wrong) = new.skeleton("ch77_unheard_of", "brand_new", "write", comm=False, folder=folder)
    graders = folder / "graders/ch77_unheard_of"
    text = (graders / "write.py").read_text()
    assert "TODO,  # of exercises.grading.checks" in text
    (graders / "write.py").write_text(text.replace("TODO,", "checks.unchanged,"))
    monkeypatch.setattr(importlib.import_module("exercises.graders"), "__path__", [str(folder / "graders")])
    exercise = importlib.import_module("exercises.graders.ch77_unheard_of.write").brand_new
    assert not exercise.distributed and "TODO" in wrong.read_text()


def test_a_grader_that_cannot_be_imported_is_told_by_its_own_error(monkeypatch):
    """A skeleton's `TODO` is a NameError in every module of tests; none must fall over the lack of exercises."""
    monkeypatch.delitem(sys.modules, f"{__package__}.test_graders", raising=False)
    assert conftest._chapters() == {}


@pytest.mark.parametrize(
    "asked, told",
    [
        (("chapter1", "f", "write"), "no chapter"),
        (("ch01_collectives", "f", "paint"), "there are: predict, fill in"),
        (("ch01_collectives", "Ring", "write"), "no name for a function"),
        (("ch01_collectives", "2d", "write"), "no name for a function"),
        (("ch01_collectives", "stage_order", "write"), "stands in ch09_pipelines.py already"),
    ],
)
def test_what_cannot_be_is_refused(asked, told, capsys):
    before = {path: path.stat().st_mtime_ns for path in FOLDER.rglob("*.py")}
    assert new.main(list(asked)) == 2
    assert told in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in FOLDER.rglob("*.py")} == before


def test_nothing_is_left_to_do():
    assert [str(path) for path in FOLDER.rglob("*.py") if path.name != "new.py" and "TODO" in path.read_text()] == []

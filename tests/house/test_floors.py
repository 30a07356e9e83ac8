"""Import floors: one table, which binds a package on the day it appears."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .files import ROOT

TOOL = Path(sys.executable).parent / "lint-imports"


def lint(root):
    """What import-linter says of a repository's root; empty if it has no objection."""
    run = subprocess.run([str(TOOL), "--no-logo", "--no-cache"], cwd=root, capture_output=True, text=True)
    return "" if run.returncode == 0 else run.stdout + run.stderr


def test_imports_go_downward():
    assert not lint(ROOT)


@pytest.fixture
def house(tmp_path):
    """A copy of the project's table and package."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "reference", tmp_path / "reference", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def plant(house, package, on_the_floor_of=None, line=""):
    """Add a package with one line of code, on the floor of another one or on none."""
    (house / "reference" / package).mkdir()
    (house / "reference" / package / "__init__.py").write_text(f"{line}\n")
    if on_the_floor_of:
        edit(house, rf"\b{on_the_floor_of} \|", f"{on_the_floor_of} | {package} |")


def edit(house, pattern, text):
    """Change the table."""
    table = house / "pyproject.toml"
    changed, times = re.subn(pattern, text, table.read_text())
    assert times == 1
    table.write_text(changed)


KNOWS = "from reference.worlds import launch"


@pytest.mark.parametrize("neighbour", ["compression", "data_parallel", "collectives"])
def test_a_new_package_may_not_know_its_world(house, neighbour):
    plant(house, "new", neighbour, KNOWS)
    assert "reference.new -> reference.worlds.launch" in " ".join(lint(house).split())


def test_a_new_package_without_a_floor_is_told_where_to_go(house, ci):
    plant(house, "new")
    assert "reference.new" in lint(house) and "add it to its floor in `layers`" in " ".join(lint(house).split())
    assert ci("floors").faults(house) == [f"reference.new is on no floor: add it to its floor in {ci('floors').WHERE}"]


@pytest.mark.parametrize(
    "pattern, text, told",
    [
        (r'"cli"', '"(cli)"', "(cli) is marked as yet to come, and it is there: take the parentheses off in "),
        (r"\(inference\)", "inference", "inference is not there: put it into parentheses, or take it out of "),
        (r'"cli"', '"cli | train"', "reference.train is on 2 floors: "),
    ],
)
def test_a_mark_that_does_not_hold_is_told(house, ci, pattern, text, told):
    edit(house, pattern, text)
    assert ci("floors").faults(house) == [told + ci("floors").WHERE]

"""Grades a class: every exercise of a chapter in every file that was handed in, on the same fresh inputs.

    python -m exercises.grading ch01 handed_in/*.py --seed 2026 --csv grades.csv

A line a file: + solved, x not right, . not begun, in the order of the exercises; then points. An exercise is worth the
points of its level. The seed fixes the inputs: choose one that no student knows, and note it. Code that was handed in
runs in forked children with limits on time and memory, but as you: grade in a container what you would not run.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import sys
from pathlib import Path

from . import student
from .exercise import Exercise
from .grade import SOLVED, TO_DO, WRONG, grade

FOLDER = Path(__file__).parents[1]
POINTS = {"predict": 1, "fill in": 1, "write": 3, "repair": 2, "speed up": 4}  # by level
MARKS = {SOLVED: "+", WRONG: "x", TO_DO: "."}


def exercises_of(chapter: str) -> tuple[Path, dict[str, Exercise]]:
    """The student's file of a chapter ("ch01") and its exercises in order. Raises SystemExit if there is none."""
    found = sorted(FOLDER.glob(f"test_{chapter}_*.py"))
    if len(found) != 1:
        known = ", ".join(sorted(path.stem.split("_")[1] for path in FOLDER.glob("test_ch*.py")))
        sys.exit(f"there is no chapter {chapter!r}; there are: {known}")
    declared = vars(importlib.import_module(f"exercises.{found[0].stem}"))
    own = FOLDER / found[0].name.removeprefix("test_")
    return own, {name: thing for name, thing in declared.items() if isinstance(thing, Exercise)}


def points(own: Path, names) -> dict[str, int]:
    """What each exercise is worth, by the level under whose heading it stands in the student's file."""
    source = student.read(own)
    return {name: POINTS[source.level(name)] for name in names}


def main(arguments: list[str] | None = None) -> int:
    """Grade and print; return the exit status: 0 if every file could be read."""
    parser = argparse.ArgumentParser(prog="python -m exercises.grading", description=__doc__.splitlines()[0])
    parser.add_argument("chapter", help="such as ch01")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--seed", type=int, default=0, help="of the inputs, the same for all (0)")
    parser.add_argument("--csv", type=Path, help="write the grades to this file, too")
    asked = parser.parse_args(arguments)
    own, exercises = exercises_of(asked.chapter)
    worth, rows = points(own, exercises), []
    width = max(len(path.stem) for path in asked.files)
    for path in asked.files:
        states = {name: grade(exercise, name, path, asked.seed).state for name, exercise in exercises.items()}
        total = sum(worth[name] for name, state in states.items() if state == SOLVED)
        rows.append({"file": path.stem, **states, "points": total})
        unread = "  (Python cannot read it)" * bool(student.read(path).trouble)
        marks = "".join(MARKS[state] for state in states.values())
        print(f"{path.stem:{width}}  {marks}  {total} of {sum(worth.values())} points{unread}", flush=True)
    if asked.csv:
        with open(asked.csv, "w", newline="") as file:
            table = csv.DictWriter(file, rows[0])
            table.writeheader()
            table.writerows(rows)
    return 1 if any(student.read(path).trouble for path in asked.files) else 0


if __name__ == "__main__":
    sys.exit(main())

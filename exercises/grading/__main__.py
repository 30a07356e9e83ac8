"""Grades a class: every exercise of a chapter in every file that was handed in, on the same fresh inputs.

    python -m exercises.grading ch01 handed_in/*.py --seed 2026 --csv grades.csv

A line a file: + solved, x not right, . not begun, ? the grader failed, in the order of the exercises; then points. An
exercise is worth the points of its level. The seed fixes the inputs: choose one that no student knows, and note it.

Each file is graded in a process of its own, so crashes and junk do not end the grading of the others; what is graded
is in the CSV file at once. Exit status: 0; 1 if a file could not be read or the grader failed; 2 if what was asked for
is not possible. Code that was handed in runs as you, and can do what you can: grade in a container what you would not
run yourself.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from . import new, records, student
from .exercise import Exercise
from .grade import LONGEST, SOLVED, TO_DO, UNGRADED, WRONG, grade, readable
from .keeper import Kept
from .play import warm_up
from .sandbox import Limits

FOLDER = Path(__file__).parents[1]
POINTS = {"predict": 1, "fill in": 1, "write": 3, "repair": 2, "speed up": 4}  # by level
FAILED = "grader failed"
UNREAD, EMPTY = "Python cannot read it", "it has none of the exercises"
NOTES = ("", UNREAD, EMPTY)
MARKS = {SOLVED: "+", WRONG: "x", TO_DO: ".", FAILED: "?"}
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a cell that begins with one of these is a formula to a spreadsheet


def exercises_of(chapter: str) -> tuple[Path, dict[str, Exercise]]:
    """The student's file of a chapter ("ch01") and its exercises in order. Raises ValueError if there is none."""
    found = [path for path in FOLDER.glob("test_ch*.py") if path.stem.split("_")[1] == chapter]
    if len(found) != 1:
        known = ", ".join(sorted(path.stem.split("_")[1] for path in FOLDER.glob("test_ch*.py")))
        raise ValueError(f"there is no chapter {chapter!r}; there are: {known}")
    declared = vars(importlib.import_module(f"exercises.{found[0].stem}"))
    exercises = {name: thing for name, thing in declared.items() if isinstance(thing, Exercise)}
    if not exercises:
        raise ValueError(f"chapter {chapter!r} has no exercises")
    return FOLDER / found[0].name.removeprefix("test_"), exercises


def points(own: Path, names) -> dict[str, int]:
    """What each exercise is worth, by the level under whose heading it stands in the student's file."""
    source = student.read(own)
    return {name: POINTS[source.level(name)] for name in names}


def troubles(asked: argparse.Namespace) -> Iterator[str]:
    """What is wrong with what was asked for, a line each; told before anything is graded."""
    try:
        exercises_of(asked.chapter)
    except ValueError as error:
        yield str(error)
    if asked.seed < 0:
        yield f"--seed is a whole number from 0 on, not {asked.seed}"
    for path in asked.files:
        why = unreadable(path)
        if why:
            yield f"{path}: {why}"
    if asked.csv:
        why = unwritable(asked.csv, asked.files)
        if why:
            yield f"--csv {asked.csv}: {why}"


def unreadable(path: Path) -> str:
    """Why a file cannot be graded, or ""."""
    if not path.is_file():
        return "it is a directory" if path.is_dir() else "it is no file" if path.exists() else "there is no such file"
    try:
        path.open("rb").close()
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    return ""


def unwritable(table: Path, files: Sequence[Path]) -> str:
    """Why grades cannot be written there, or ""."""
    if any(path.exists() and table.exists() and path.samefile(table) for path in files):
        return "this is one of the files to grade"
    if table.is_dir():
        return "it is a directory"
    existed = table.exists()
    try:
        table.open("a").close()
    except OSError as error:
        return f"it cannot be written ({error.strerror})"
    if not existed:
        table.unlink()
    return ""


def graded(exercises: Mapping[str, Exercise], path: Path, seed: int) -> tuple[str, list[str]]:
    """A note on a file, and the state of each exercise in it; FAILED where the grader failed, or was ended.

    They are graded in a process of their own, which sends the note and one (state, why the grader failed) after the
    other; a reason is printed.
    """
    out, into = os.pipe()
    limits, told = Limits().here(), []
    kept = Kept(lambda: _send(exercises, path, seed, into), [into])
    os.close(into)
    seconds = len(exercises) * (limits.wall + 10 * limits.grace)
    try:
        for record in records.receive(out, time.monotonic() + seconds, 1 + len(exercises)):
            told.append(record.value if records.fits(record.value, (str, str)) else [FAILED, "it was tampered with"])
    except records.Forged:
        pass
    finally:
        os.close(out)
        kept.end()
    told += [[FAILED, "it was ended"]] * (1 + len(exercises) - len(told))
    (note, _), *each = told
    for name, (_, why) in zip(exercises, each):
        if why:
            print(f"{readable(str(path))}, {name}: the grader failed: {readable(why)}", file=sys.stderr, flush=True)
    return note if note in NOTES else "", [state if state in MARKS else FAILED for state, _ in each]


def _send(exercises: Mapping[str, Exercise], path: Path, seed: int, pipe: int) -> None:
    source = student.read(path)
    missing = all(source.state(name) == student.MISSING for name in exercises)
    note = UNREAD if source.trouble else EMPTY if missing else ""
    records.write(pipe, records.pack("item", [note, ""], 0))
    for name, exercise in exercises.items():
        try:
            verdict = grade(exercise, name, path, seed)
            state, why = verdict.state, verdict.finding.seen if verdict.state == UNGRADED else ""
        except Exception as error:
            state, why = FAILED, f"{type(error).__name__}: {error}"
        records.write(pipe, records.pack("item", [state, why[:LONGEST]], 0))


@contextmanager
def table_of(path: Path | None, columns: Sequence[str]):
    """A function that writes a row to the CSV file at once; without a path it does nothing."""
    if path is None:
        yield lambda row: None
        return
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, columns)

        def write(row: Mapping[str, object]) -> None:
            table.writerow({name: _cell(value) for name, value in row.items()})
            file.flush()
            os.fsync(file.fileno())

        table.writeheader()
        yield write


def _cell(value: object) -> str:
    """A value as text that no spreadsheet takes for a formula."""
    text = readable(str(value))
    return f"'{text}" if str(value).startswith(FORMULA) else text


def main(arguments: list[str] | None = None) -> int:
    """Grade and print; return the exit status: see the top of this file."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["new"]:
        return new.main(arguments[1:])
    parser = argparse.ArgumentParser(prog="python -m exercises.grading", description=__doc__.splitlines()[0])
    parser.add_argument("chapter", help="such as ch01")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--seed", type=int, default=0, help="of the inputs, the same for all (0)")
    parser.add_argument("--csv", type=Path, help="write the grades to this file, too")
    asked = parser.parse_args(arguments)
    wrong = list(troubles(asked))
    for line in wrong:
        print(readable(line), file=sys.stderr)
    if wrong:
        return 2
    with suppress(AttributeError):  # only a real terminal or file has it
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        return grade_class(asked)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130


def grade_class(asked: argparse.Namespace) -> int:
    """Grade every file, and print and write its row as soon as it is known; 1 if a file or the grader was at fault."""
    own, exercises = exercises_of(asked.chapter)
    warm_up(*[package for package in ["torch"] if student.read(own).imports(package)])
    worth, status = points(own, exercises), 0
    width = max(len(readable(str(path))) for path in asked.files)
    with table_of(asked.csv, ["file", *exercises, "points"]) as write:
        for path in asked.files:
            note, each = graded(exercises, path, asked.seed)
            found = dict(zip(exercises, each))
            total = sum(worth[name] for name, state in found.items() if state == SOLVED)
            write({"file": path, **found, "points": total})
            status = 1 if note == UNREAD or FAILED in each else status
            score = f"{''.join(map(MARKS.get, each))}  {total} of {sum(worth.values())} points"
            print(f"{readable(str(path)):{width}}  {score}{f'  ({note})' * bool(note)}", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())

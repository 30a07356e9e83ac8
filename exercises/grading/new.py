"""Makes the skeleton of a new exercise: python -m exercises.grading new CHAPTER NAME LEVEL [--comm]

    python -m exercises.grading new ch01_collectives tree_time predict
    python -m exercises.grading new ch06_tensor_parallel column_linear write --comm

It adds a stub to six files (and makes those that a new chapter lacks), prints where, and leaves `TODO` wherever
something is to be written. `pytest tests/exercises -k NAME` then says what is still missing.
"""

from __future__ import annotations

import argparse
import ast
import sys
from pathlib import Path

LEVELS = ("predict", "fill in", "write", "repair", "speed up")
FOLDER = Path(__file__).parents[1]
STUB = '''
def {name}({arguments}):
    """TODO: what is returned, with shape and unit; what each argument is; an example that can be checked by hand.

    Page: chapters/{page}.ipynb#TODO-the-section-that-explains-it
    """
    raise NotImplementedError
'''
SOLUTION = '''
def {name}({arguments}):
    """TODO: why it works, what it costs, and a question to go on with, in at least 100 characters."""
    raise NotImplementedError
'''
GRADER = """
{name} = {kind}(
    cases={cases},
    checks=[
        TODO,  # of exercises.grading.checks; own ones are functions of (case, answer)
    ],
    hints=["TODO: a nudge", "TODO: nearly everything"],
)
"""
CASES = {
    False: 'inputs.calls((4, 1e-6), lambda rng: (int(rng.integers(2, 9)), 2e-6), names="P alpha")',
    True: "inputs.vectors()",
}
WRONG = '''"""Wrong answers to `{name}`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit

WRONG = [
    edit("TODO_its_name", "TODO: words of its hint", "TODO: text of the solution", "TODO: what stands there instead"),
]
'''
STUDENT_TOP = '''"""Chapter {number}: TODO. Replace each `raise NotImplementedError` by your answer, then run: pytest exercises/

The chapter's page is chapters/{page}.ipynb. TODO: what functions with `comm` may call, and what messages cost.
"""

import numpy as np

from reference import mpi
'''  # noqa: E501 (a formatted line is shorter)
SOLUTIONS_TOP = '''"""{which} of chapter {number}. Each docstring says why it works; solving an exercise shows it."""

import numpy as np

from reference import mpi
'''
DECLARED_TOP = '''"""Grades exercises/{chapter}.py. An exercise is a function of that name, tried on fresh inputs; the first
check that finds something wrong gives the hint. The graders are in graders/{chapter}/, a module a level."""

from exercises.graders.{chapter} import {modules}
'''  # noqa: E501 (a formatted line is shorter)
GRADER_TOP = '''"""Level {level} of chapter {number}, {what}: TODO."""

from exercises.grading import Distributed, Exercise, checks, inputs
'''


def skeleton(chapter: str, name: str, level: str, comm: bool, folder: Path = FOLDER) -> list[Path]:
    """Write the skeleton; return the files that were touched.

    Raises ValueError, with the next step, if the name is taken or no name, or the level or the chapter's name unknown.
    """
    _check(chapter, name, level, folder)
    number, module = int(chapter[2:4]), level.replace(" ", "_")
    facts = {
        "chapter": chapter,
        "number": number,
        "page": chapter[2:],
        "modules": ", ".join(sorted(map(_module, LEVELS))),
    }
    facts |= {
        "name": name,
        "arguments": "comm, x" if comm else "P, alpha",
        "kind": "Distributed" if comm else "Exercise",
    }
    facts |= {"level": LEVELS.index(level) + 1, "what": level, "cases": CASES[comm]}
    graders = folder / "graders" / chapter
    for each in LEVELS if not graders.exists() else (level,):
        _make(
            graders / f"{_module(each)}.py",
            GRADER_TOP.format(**facts | {"level": LEVELS.index(each) + 1, "what": each}),
        )
    _make(graders / "__init__.py", f'"""The graders of chapter {number}, a module a level."""\n')
    touched = []
    for path, top, stub in (
        (folder / f"{chapter}.py", STUDENT_TOP, STUB),
        (folder / "solutions" / f"{chapter}.py", SOLUTIONS_TOP.replace("{which}", "Solutions"), SOLUTION),
        (folder / "solutions" / f"{chapter}_again.py", SOLUTIONS_TOP.replace("{which}", "Other solutions"), SOLUTION),
    ):
        _make(path, top.format(**facts) + "".join(f"\n{_heading(each)}\n" for each in LEVELS))
        path.write_text(_below(path.read_text(), level, stub.format(**facts)))
        touched.append(path)
    grader, declared = graders / f"{module}.py", folder / f"test_{chapter}.py"
    _make(declared, DECLARED_TOP.format(**facts))
    grader.write_text(f"{grader.read_text().rstrip()}\n\n{GRADER.format(**facts)}")
    declared.write_text(_declared(declared.read_text(), module, name))
    wrong = folder / "misconceptions" / chapter / f"{name}.py"
    _make(wrong, WRONG.format(**facts))
    return [*touched, grader, declared, wrong]


def _check(chapter: str, name: str, level: str, folder: Path) -> None:
    known = sorted(path.stem.removeprefix("test_") for path in folder.glob("test_ch*.py"))
    if not (chapter[:2] == "ch" and chapter[2:4].isdigit() and chapter[4:5] == "_" and chapter.isidentifier()):
        raise ValueError(f"{chapter!r} is no chapter; they are called chNN_topic, such as {', '.join(known)}")
    if level not in LEVELS:
        raise ValueError(f"{level!r} is no level; there are: {', '.join(LEVELS)}")
    if not name.isidentifier() or name != name.lower():
        raise ValueError(f"{name!r} is no name for a function")
    for path in folder.glob("ch[0-9]*.py"):
        if name in {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}:
            raise ValueError(f"{name!r} stands in {path.name} already: choose another name")


def _module(level: str) -> str:
    return level.replace(" ", "_")


def _heading(level: str) -> str:
    """The line above a level's exercises."""
    return f"# Level {LEVELS.index(level) + 1}: {level} ".ljust(117, "-")


def _make(path: Path, text: str) -> None:
    """Write a file that is not there yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.write_text(text)


def _below(text: str, level: str, stub: str) -> str:
    """The text with a stub at the end of its level's part."""
    after = (text.find(f"\n# Level {number}: ") for number in range(LEVELS.index(level) + 2, len(LEVELS) + 1))
    end = min((place for place in after if place >= 0), default=len(text))
    return f"{text[:end].rstrip()}\n\n{stub}\n{text[end:]}".rstrip() + "\n"


def _declared(text: str, module: str, name: str) -> str:
    """The text with a line for the exercise behind the others of its level, or else at the end."""
    lines = text.rstrip().split("\n")
    others = [place for place, line in enumerate(lines, 1) if f" = {module}." in line]
    place = others[-1] if others else len(lines)
    return "\n".join([*lines[:place], *[""] * (not others), f"{name} = {module}.{name}", *lines[place:], ""])


def main(arguments: list[str]) -> int:
    """Make a skeleton as the command says; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m exercises.grading new", description=__doc__.splitlines()[0])
    parser.add_argument("chapter", help="such as ch01_collectives; one that does not exist is begun")
    parser.add_argument("name", help="of the function that students write")
    parser.add_argument("level", help=f"one of: {', '.join(LEVELS)}")
    parser.add_argument("--comm", action="store_true", help="the function runs on every rank and takes a communicator")
    asked = parser.parse_args(arguments)
    try:
        touched = skeleton(asked.chapter, asked.name, asked.level, asked.comm)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    for path in touched:
        print(f"wrote {path.relative_to(FOLDER.parent)}")
    print(f"Replace each TODO, then: pytest tests/exercises -k {asked.name}")
    return 0

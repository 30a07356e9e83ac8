"""The exercises of level 1, predict, for a page: their text, the fields to answer in, and the inputs that they meet.

    quiz("ch01_collectives")                             # as the last line of a cell

What is typed or chosen there is graded in the reader's browser (in_page.py). No answer is in the page, only inputs.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

from reference.pages.quiz import Question, Quiz

from . import sections, student
from .choices import Situations, Statements
from .exercise import Exercise
from .grade import draw

FOLDER = Path(__file__).parents[1]
SEED = 0  # of the inputs: `pytest exercises/ --seed 0` tries the same
GRADED, HINT, WHY = (f"exercises.grading.in_page.{name}" for name in ("graded", "hint", "why"))


def quiz(chapter: str) -> Quiz:
    """All exercises of level 1 of "chNN_topic", in the order of the student's file."""
    names = predicted(chapter)
    number, _, topic = chapter.removeprefix("ch").partition("_")
    label = f"exercises of chapter {int(number)}, {topic.replace('_', ' ')}"
    return Quiz(GRADED, [question(chapter, name) for name in names], label, hint=HINT, why=WHY)


def predicted(chapter: str) -> dict[str, Exercise]:
    """The exercises of level 1 of a chapter, by name, in order."""
    module = import_module(f"exercises.graders.{chapter}.predict")
    return {name: exercise for name, exercise in vars(module).items() if isinstance(exercise, Exercise)}


def question(chapter: str, name: str) -> Question:
    """One of them."""
    exercise, source = predicted(chapter)[name], student.read(FOLDER / f"{chapter}.py")
    parameters = ast.unparse(source.function(name).args)
    cases = [(case.label, repr(case.arguments[0])) for case in draw(exercise, name, SEED)]
    check = exercise.checks[0]
    return Question(
        name=name,
        title=f"{name}({parameters})",
        text=sections.without(source.docstring(name)),
        section=_section(source.docstring(name)),
        instead=f"With pytest: write your answer into `exercises/{chapter}.py`, and run `pytest exercises/ -k {name}`.",
        about={"chapter": chapter, "name": name},
        given={"chapter": chapter, "name": name, "parameters": parameters, "cases": cases},
        letters=list(check.among if isinstance(check, Statements) else getattr(check, "right", "")),
        names=list(check.names) if isinstance(check, Situations) else [],
    )


def _section(docstring: str) -> tuple[str, str] | None:
    """The title and the address of the section that explains an exercise."""
    section = sections.of(docstring)
    return (section.title(FOLDER.parent), section.link()) if section else None

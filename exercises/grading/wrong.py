"""Wrong answers that people give: edits of a solution, each with words of the hint that it must earn.

exercises/misconceptions/chNN_topic/NAME.py has those of one exercise, as a list WRONG:

    edit("mean", "the sum is not divided", "total / comm.size", "total")
    whole("through_rank_0", "Everything passes through rank 0", '''
        def ring_allreduce(comm, x):
            ...
    ''')
    shipped("Two calls wait for each other")

An edit replaces text that stands once in the solution: part of a line, or whole lines, which are found at any
indentation. `of` names what is edited instead: "again", the second solution, or a wrong answer further up. What was
wrong may use all that the file of its solution has: imports, and functions of other exercises. Each has a hint of its
own, but for those that say the same words.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent, indent

FOLDER = Path(__file__).parents[1]
SOLUTION, AGAIN, SHIPPED = "", "again", "as_shipped"


@dataclass(frozen=True)
class Wrong:
    """A wrong answer: the code that stands in place of a solution, or edits (old, new) of the one called `of`.

    alone: it changes what others in its process use (it patches NumPy, say), so it must be graded in one of its own.
    """

    name: str
    earns: str
    edits: tuple[tuple[str, str], ...] = ()
    of: str = SOLUTION
    code: str = ""
    alone: bool = False


def edit(name: str, earns: str, *texts: str, of: str = SOLUTION, alone: bool = False) -> Wrong:
    """The solution (or `of`) with its first text replaced by the second, the third by the fourth, ..."""
    return Wrong(name, earns, tuple(zip(texts[::2], texts[1::2], strict=True)), of, alone=alone)


def whole(name: str, earns: str, code: str, alone: bool = False) -> Wrong:
    """An answer that shares too little with a solution: functions, at any indentation."""
    return Wrong(name, earns, code=dedent(code).strip(), alone=alone)


def shipped(earns: str) -> Wrong:
    """Code to repair or to complete, as students get it, without the `raise` above it."""
    return Wrong(SHIPPED, earns, of=SHIPPED)


def wrongs(chapter: str, exercise: str) -> dict[str, Wrong]:
    """By name, all wrong answers of an exercise of "chNN_topic". Raises ValueError if a name stands twice."""
    if not (FOLDER / "misconceptions" / chapter / f"{exercise}.py").exists():
        return {}  # what its checks know to be wrong is enough
    listed = importlib.import_module(f"exercises.misconceptions.{chapter}.{exercise}").WRONG
    found = {wrong.name: wrong for wrong in listed}
    if len(found) < len(listed):
        twice = {wrong.name for wrong in listed if wrong is not found[wrong.name]}
        raise ValueError(f"{chapter}/{exercise}: there are two wrong answers called {', '.join(sorted(twice))}")
    return found


def texts(chapter: str, exercise: str) -> dict[str, str]:
    """By name, each wrong answer as a student's file. Raises ValueError, naming it, where an edit does not fit."""
    known = {of: _solution(chapter, exercise, of) for of in (SOLUTION, AGAIN, SHIPPED)}
    found = {}
    for name, wrong in wrongs(chapter, exercise).items():
        where = f"{chapter}/{exercise}, {name}"
        if wrong.of not in known:
            raise ValueError(f"{where}: no answer above it is called {wrong.of!r}")
        before, code = known[wrong.of]
        for old, new in wrong.edits:
            code = replaced(code, old, new, where)
        known[name] = before, wrong.code or code
        found[name] = f"{before}\n\n{wrong.code or code}\n"
    return found


def replaced(code: str, old: str, new: str, where: str = "") -> str:
    """The code with `old` replaced, which must stand in it once. Raises ValueError, naming `where`."""
    if "\n" in old or "\n" in new:
        places = list(_lines_like(code, dedent(old).strip("\n"), dedent(new).strip("\n")))
    else:
        places = [code.replace(old, new)] * code.count(old)
    if len(places) != 1:
        raise ValueError(f"{where}: {old!r} stands {len(places)} times in\n{code}")
    return places[0]


def _lines_like(code: str, old: str, new: str) -> Iterator[str]:
    """The code with lines `old`, wherever they stand at some indentation, replaced by `new` at the same."""
    lines, wanted = code.split("\n"), old.split("\n")
    for start in range(len(lines) - len(wanted) + 1):
        margin = lines[start][: len(lines[start]) - len(lines[start].lstrip())]
        if lines[start : start + len(wanted)] == indent(old, margin).split("\n"):
            changed = [indent(new, margin)] if new else []
            yield "\n".join([*lines[:start], *changed, *lines[start + len(wanted) :]])


def _solution(chapter: str, exercise: str, which: str) -> tuple[str, str]:
    """The (file, own function without its docstring) of a solution, or of what students get."""
    files = {SOLUTION: f"solutions/{chapter}.py", AGAIN: f"solutions/{chapter}_again.py", SHIPPED: f"{chapter}.py"}
    text = (FOLDER / files[which]).read_text()
    (function,) = [node for node in ast.parse(text).body if getattr(node, "name", "") == exercise]
    body = function.body[2:] if which == SHIPPED else function.body[1:]  # a docstring; in a stub, a raise, too
    lines = text.split("\n")
    start = function.body[0].lineno
    first = body[0].lineno if body else function.end_lineno + 1
    return text, "\n".join([*lines[function.lineno - 1 : start - 1], *lines[first - 1 : function.end_lineno]])

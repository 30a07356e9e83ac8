"""Grade a level-1 exercise in a page: the checks, inputs and hints of `pytest exercises/`, in the reader's own browser.

Idea      An answer is what was chosen, or code: an expression, the lines of the function's body, or the whole function.
          It is tried on the inputs of `pytest exercises/ --seed 0`, which the page has (page.py). The first check that
          finds something gives the hint.
Left out  The sandbox: a browser is one, and the code is the reader's own. contract.py: an answer gets copies of its
          arguments, and is not told if it changes them. Whatever needs NumPy: no exercise of level 1 does.
"""

from __future__ import annotations

import ast
import copy
import math
import sys
import textwrap
from collections.abc import Callable, Sequence
from importlib import import_module
from numbers import Rational, Real
from pathlib import Path
from types import FrameType
from typing import Any

from . import student
from .exercise import Answer, Case, Exercise, Finding
from .raised import RAISED, RAISED_OTHERWISE

FOLDER = Path(__file__).parents[1]
MOST_STEPS = 4_000_000  # bytecodes of an answer that are run for one input: some seconds in a browser
FILE = "<your answer>"
ENDLESS = Finding("it went on computing without end.", "An endless loop? Which condition ends it?")
UNREADABLE = "Look at the end of the line before, too: a bracket that is not closed, a missing colon, an indent."
NO_ANSWER = "Compare with the text: what should be returned, and of which type?"


class TooLong(BaseException):
    """An answer has computed for too long; no `except Exception` of its own catches this."""


def graded(
    chapter: str, name: str, parameters: str, cases: Sequence[Sequence[str]], chosen: Any = None, code: str = ""
) -> dict[str, Any]:
    """Grade an answer to exercise `name` of "chNN_topic": whether it is "solved"; if not, "case", "seen" and "hint".

    parameters  of the function, as its `def` has them
    cases       of each input its label, and its arguments as Python writes them
    chosen      what the function returns, where that is letters or a name for each letter; else None, and:
    code        what a reader wrote
    """
    exercise = getattr(import_module(f"exercises.graders.{chapter}.predict"), name)
    try:
        function = _function(name, parameters, code) if chosen is None else lambda: chosen
    except SyntaxError as error:
        return _told(Finding(f"Python cannot read line {error.lineno}: {error.msg}", UNREADABLE))
    except Exception as error:
        return _told(_raised(error))
    for passed, (label, arguments) in enumerate(cases):
        finding = _tried(exercise, function, Case(label, (ast.literal_eval(arguments),)))
        if finding is not None:
            return _told(finding, label, passed)
    return {"solved": True}


def hint(chapter: str, name: str, step: int) -> dict[str, Any]:
    """Step 1, 2, ... of an exercise's ladder of hints, as a "text", and how many there are ("of")."""
    hints = getattr(import_module(f"exercises.graders.{chapter}.predict"), name).hints
    return {"text": hints[step - 1], "of": len(hints)}


def why(chapter: str, name: str) -> str:
    """Why the solution of an exercise works, for those who have solved it: paragraphs."""
    return student.read(FOLDER / "solutions" / f"{chapter}.py").docstring(name)


def _told(finding: Finding, label: str = "", passed: int = 0) -> dict[str, Any]:
    """What the page shows, in the words of report.py."""
    others = "1 other input was" if passed == 1 else f"{passed} other inputs were"
    where = f"On {label}{f' ({others} fine)' * bool(passed)}:" if label else ""
    return {"solved": False, "case": where, "seen": finding.seen, "hint": finding.hint}


def _tried(exercise: Exercise, function: Callable[..., Any], case: Case) -> Finding | None:
    """What is wrong with the answer for one input, if anything is."""
    arguments = copy.deepcopy(case.arguments[0])
    try:
        answer = Answer([_plain(_limited(function, arguments))], [arguments], [False])
    except TooLong:
        return ENDLESS
    except Exception as error:
        return _raised(error)
    try:
        return next((finding for check in exercise.checks if (finding := check(case, answer)) is not None), None)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):  # a number of 400 digits, say
        return Finding("no check can tell what it returned.", NO_ANSWER)


def _raised(error: Exception) -> Finding:
    types, text = [kind.__name__ for kind in type(error).__mro__], str(error)
    hints = (hint for sign, hint in RAISED.items() if sign in types or sign in text)
    return Finding(f"{types[0]}: {text}".rstrip(": "), next(hints, RAISED_OTHERWISE))


def _function(name: str, parameters: str, code: str) -> Callable[..., Any]:
    """The function that a reader means. Raises SyntaxError, and whatever the code of a whole function raises."""
    text = textwrap.dedent(code).strip("\n")
    scope: dict[str, Any] = {"math": math}
    if not _is_whole(name, text):
        if _is_expression(text):
            text = f"return ({text}\n)"
        text = f"def {name}({parameters}):\n{textwrap.indent(text, ' ')}\n"
    exec(compile(text, FILE, "exec"), scope)
    return scope[name]


def _is_whole(name: str, text: str) -> bool:
    try:
        return any(isinstance(node, ast.FunctionDef) and node.name == name for node in ast.parse(text).body)
    except SyntaxError:
        return False


def _is_expression(text: str) -> bool:
    try:
        ast.parse(f"({text}\n)", mode="eval")
    except SyntaxError:
        return False
    return True


def _limited(function: Callable[..., Any], arguments: tuple) -> Any:
    """Call the function. Raises TooLong after MOST_STEPS bytecodes of it."""
    left = MOST_STEPS

    def count(frame: FrameType, event: str, what: Any) -> Any:
        nonlocal left
        frame.f_trace_opcodes = True  # a loop on one line is no new line
        left -= 1
        if left < 0:
            raise TooLong
        return count

    before = sys.gettrace()
    sys.settrace(lambda frame, event, what: count if frame.f_code.co_filename == FILE else None)
    try:
        return function(*arguments)
    finally:
        sys.settrace(before)


def _plain(value: Any) -> Any:
    """A result as a check sees it (plain.py): numbers of other types are int, if they are whole, or float."""
    if isinstance(value, list | tuple):
        return type(value)(map(_plain, value))
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, Real) and type(value) not in (bool, int, float):
        return int(value) if isinstance(value, Rational) and value.denominator == 1 else float(value)
    return value

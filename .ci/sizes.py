"""A module has at most 300 lines and a function 60, so that each can be read in one sitting.

An exception needs a reason, and goes as soon as it is no longer needed: the rule says so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

MODULE, FUNCTION = 300, 60  # lines at most
MODULES = ("reference",)  # where modules are measured
FUNCTIONS = ("reference", "exercises/grading")  # where functions are
EXCEPTIONS = {  # path, or path:function: why it may be longer
    "reference/pages/step_through.py": "to be divided",
}


def functions(tree: ast.AST, inside: str = "") -> Iterator[tuple[str, int]]:
    """Yield (dotted name, lines) of every function, also of those inside others; decorators count."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield f"{inside}{node.name}", node.end_lineno - first + 1
        name = f"{inside}{node.name}." if hasattr(node, "name") and hasattr(node, "body") else inside
        yield from functions(node, name)


def too_long(root: Path) -> dict[str, str]:
    """Return what is longer than the rule allows, by path or path:function, each with its numbers."""
    found = {}
    for folder in dict.fromkeys(MODULES + FUNCTIONS):
        for path in sorted((root / folder).rglob("*.py")):
            name, text = path.relative_to(root).as_posix(), path.read_text()
            if folder in MODULES and (lines := len(text.splitlines())) > MODULE:
                found[name] = f"{lines} lines, and a module has at most {MODULE}"
            if folder in FUNCTIONS:
                for function, lines in functions(ast.parse(text)):
                    if lines > FUNCTION:
                        found[f"{name}:{function}"] = f"{lines} lines, and a function has at most {FUNCTION}"
    return found


def faults(root: Path, exceptions: Mapping[str, str] = EXCEPTIONS) -> list[str]:
    """Return one line for each module or function that is too long, and for each exception that is not needed."""
    found = too_long(root)
    return [
        *(f"{name} has {told}: divide it" for name, told in found.items() if name not in exceptions),
        *(f"{name} is short enough: take it out of EXCEPTIONS in .ci/sizes.py" for name in exceptions.keys() - found),
    ]

"""A module has at most 300 lines and a function 60, so that each can be read in one sitting; so can a page.

A code cell of a page has at most 30 lines, unless it is folded: it plots, or sets an experiment up.

The first notebook of a chapter is its core page; those whose names go on after its name are in depth.

An exception needs a reason, and goes as soon as it is no longer needed: the rule says so.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

MODULE, FUNCTION, CELL = 300, 60, 30  # lines at most
FOLDED = "hide-input"  # the tag of a code cell that opens at a click
CORE = {"words": 4_000, "code cells": 25, "bytes": 300_000}  # of a page, at most
IN_DEPTH = {"words": 3_000, "code cells": 16, "bytes": 300_000}
MODULES = ("reference",)  # where modules are measured
FUNCTIONS = ("reference", "exercises/grading")  # where functions are
EXCEPTIONS = {  # path, or path:function: why it may be longer
    "chapters/03_communication_efficient_local.ipynb": "a second core page: local and asynchronous training",
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


def measured(notebook: Path) -> dict[str, int]:
    """Words of text, code cells and bytes of a page."""
    cells = json.loads(notebook.read_text())["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    return {
        "words": sum(len(text.split()) for text in texts),
        "code cells": len(code),
        "bytes": notebook.stat().st_size,
    }


def long_pages(root: Path) -> dict[str, str]:
    """Return the pages of chapters that are larger than the rule allows, by path, each with its numbers."""
    found = {}
    for notebook in sorted((root / "chapters").glob("[0-9][0-9]_*.ipynb")):
        others = [each.stem for each in notebook.parent.glob(f"{notebook.stem[:2]}_*.ipynb") if each != notebook]
        in_depth = any(notebook.stem.startswith(f"{each}_") for each in others)
        limits, size = IN_DEPTH if in_depth else CORE, measured(notebook)
        if over := [f"{size[what]:,} {what} of {most:,}" for what, most in limits.items() if size[what] > most]:
            found[notebook.relative_to(root).as_posix()] = ", ".join(over)
    return found


def long_cells(root: Path) -> dict[str, str]:
    """Return the code cells of pages that stand open and are too long, by path:number, each with its lines."""
    found = {}
    for notebook in sorted((root / "chapters").glob("*.ipynb")):
        for index, cell in enumerate(json.loads(notebook.read_text())["cells"]):
            lines = len("".join(cell["source"]).splitlines())
            is_open = cell["cell_type"] == "code" and FOLDED not in cell.get("metadata", {}).get("tags", [])
            if is_open and lines > CELL:
                name = f"{notebook.relative_to(root).as_posix()}:{index}"
                found[name] = f"{lines} lines, and a code cell that is not folded has at most {CELL}"
    return found


def faults(root: Path, exceptions: Mapping[str, str] = EXCEPTIONS) -> list[str]:
    """Return one line for each module, function, page or cell that is too long, and each exception not needed."""
    found = too_long(root) | long_pages(root) | long_cells(root)
    return [
        *(f"{name} has {told}: divide it" for name, told in found.items() if name not in exceptions),
        *(f"{name} is short enough: take it out of EXCEPTIONS in .ci/sizes.py" for name in exceptions.keys() - found),
    ]

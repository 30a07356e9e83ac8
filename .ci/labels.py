"""The docstring of a module keeps to nine labels, so that a reader knows where to look in all of them.

A label stands at the beginning of a line; what it labels begins in column 11 and goes on there in the lines below.
Lists in a docstring are indented, so that they are not taken for labels.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

LABELS = ("Idea", "Before", "After", "Sends", "Price", "Exact", "Left out", "Source", "Try")
COLUMN = 10  # spaces below a label


def faults(root: Path) -> list[str]:
    """Return one line for each label that is none of the nine."""
    told = f"is none of the labels {', '.join(LABELS)}: write a sentence under one of them"
    return [
        f"{path.relative_to(root).as_posix()}, line {line}: {label!r} {told}"
        for path in sorted((root / "reference").rglob("*.py"))
        for line, label in others(path.read_text())
    ]


def others(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of what stands in the place of a label in the docstring of a module and is none."""
    lines = (ast.get_docstring(ast.parse(source), clean=False) or "").split("\n")
    for number, (line, below) in enumerate(zip(lines, [*lines[1:], ""]), start=1):
        if number == 1 or not line.strip() or line.startswith(" "):
            continue
        columns = re.match(r"(\S+(?: \S+)?) {2,}\S", line)  # words, then a gap: "Idea      Divide"
        hanging = re.match(rf" {{{COLUMN}}}\S", below)  # or something to which the next line belongs
        if (columns or hanging) and not line.startswith(tuple(label.ljust(COLUMN) for label in LABELS)):
            yield number, columns[1] if columns else line[: COLUMN - 1].strip()

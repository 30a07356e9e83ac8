"""A Sphinx extension: show docstrings as they are written, without asking their authors to write reStructuredText.

Our docstrings are plain text for people who read the source: `code` in single backticks, bullets, columns that line up.
A paragraph stays a paragraph, a list a list; a block with indented lines or aligned columns is shown as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

BULLET = re.compile(r"(- |\d+\. )")
COLUMNS = re.compile(r"\S {2,}\S")
SECTION = re.compile(r"(Args|Arguments|Parameters|Returns|Yields|Raises|Example|Examples|Note|Notes):$")


def blocks(lines: list[str]) -> Iterator[list[str]]:
    """Yield the runs of lines between blank lines; an indented run belongs to the run before it."""
    block: list[str] = []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line.strip():
            block.append(line)
        elif block and following.startswith(" "):
            block.append("")
        elif block:
            yield block
            block = []
    if block:
        yield block


def inline(line: str) -> str:
    """Return a line of prose as reStructuredText: `code` as code, the rest without special meaning."""
    pieces = re.split(r"(``[^`]+``|`[^`]+`)", line)
    return "".join(f"``{p.strip('`')}``" if i % 2 else re.sub(r"([*|_\\])", r"\\\1", p) for i, p in enumerate(pieces))


def render(block: list[str]) -> list[str]:
    """Return one block as reStructuredText."""
    if SECTION.match(block[0]):  # left to napoleon
        return block
    if BULLET.match(block[0]):
        return [inline(line) for line in block]
    prose = 0  # leading lines of prose, such as "Try it:" above an indented command
    while prose < len(block) and block[prose] and not block[prose].startswith(" ") and not COLUMNS.search(block[prose]):
        prose += 1
    first = next((i for i, line in enumerate(block) if BULLET.match(line)), None)
    if first is not None and first <= prose:  # prose, and a list directly below it
        return [*map(inline, block[:first]), "", *map(inline, block[first:])]
    out = [inline(line) for line in block[:prose]]
    if prose < len(block):
        out += ["", ".. code-block:: text", "", *("    " + line for line in block[prose:])]
    return out


def process(app, what, name, obj, options, lines: list[str]) -> None:
    """Rewrite a docstring in place (the handler of `autodoc-process-docstring`)."""
    if what == "module" and obj.__doc__:  # as written: Sphinx takes the indentation off an example at the end
        lines[:] = obj.__doc__.expandtabs().splitlines()
    lines[:] = [line for block in blocks(list(lines)) for line in [*render(block), ""]]


def skip_named_tuple_fields(app, what, name, obj, skip, options) -> bool | None:
    """Leave out the fields of a named tuple: its docstring and its signature name them."""
    return True if type(obj).__name__ == "_tuplegetter" else None


def setup(app) -> dict:
    """Register the extension; it runs before napoleon."""
    app.connect("autodoc-process-docstring", process, priority=400)
    app.connect("autodoc-skip-member", skip_named_tuple_fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

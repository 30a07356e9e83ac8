"""A Sphinx extension: a table that a cell has printed becomes a table of the page, which scrolls on a phone.

The notebook keeps the text, so a terminal shows it, and nbval compares it. A table is what stands in columns without
doubt: a line of heads, two blanks apart, above rows; each column has a head (the first may lack it) and something
below it, no field reaches over a border, numbers are in some column, and no word stands in all lines. All else stays
text, and so does the output of a cell with the tag `as-printed`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from docutils import nodes

NUMBER = re.compile(r"(?:[<>~±]\s?)?[-+−]?[\d.,]+(?:e[-+]?\d+)?(?:\s?%|\s?[A-Za-zµ/]{1,5})?|[-–]|-?inf|nan")
GROUPS = re.compile(r"\S {3,}\S")  # a line of heads above the heads
LEAST_ROWS, LONGEST_HEAD = 2, 40
MOST_AFTER = 3  # lines of a paragraph that may follow its table


class Table(NamedTuple):
    """Heads and rows of text; `numeric` says of each column whether it has numbers."""

    heads: list[str]
    rows: list[list[str]]
    numeric: list[bool]


def blocks(text: str) -> Iterator[Table | str]:
    """Divide a text into tables and what stands between them, line by line."""
    lines, plain = text.rstrip("\n").split("\n"), []
    while lines:
        table, used = _longest(lines)
        if table is None or (plain and GROUPS.search(plain[-1])):
            plain.append(lines.pop(0))
            continue
        if any(plain):
            yield "\n".join(plain)
        plain = []
        yield table
        del lines[:used]
    if any(plain):
        yield "\n".join(plain)


def _longest(lines: list[str]) -> tuple[Table | None, int]:
    """The largest table that begins with the first line, and how many lines it has."""
    end = next((at for at, line in enumerate(lines) if not line.strip()), len(lines))
    for last in range(end, max(LEAST_ROWS, end - MOST_AFTER - 1), -1):
        if (table := read(lines[:last])) is not None:
            return table, last
    return None, 0


def read(lines: list[str]) -> Table | None:
    """The table of a line of heads and lines of fields, or None if they are none."""
    spans = _columns(lines)
    cells = [[line[begin:end].strip() for begin, end in spans] for line in lines]
    if len(spans) < 2 or [head for head in cells[0] if head] != re.split(r" {2,}", lines[0].strip()):
        return None
    heads, rows = cells[0], cells[1:]
    columns = list(zip(*rows))
    numeric = [all(NUMBER.fullmatch(cell) for cell in column if cell) for column in columns]
    return Table(heads, [list(row) for row in rows], numeric) if _is_table(heads, rows, numeric) else None


def _is_table(heads: list[str], rows: list[list[str]], numeric: list[bool]) -> bool:
    """Whether these are heads and fields, and not words of a sentence that stand below each other by chance."""
    columns, cells = list(zip(*rows)), [cell for row in [heads, *rows] for cell in row]
    numbers = [bool(NUMBER.fullmatch(head)) for head in heads[1:]]
    said = [not number and len({head, *column}) == 1 for head, column, number in zip(heads, columns, numeric)]
    return (
        all(heads[1:])  # the first column names the rows
        and all(any(column) for column in columns)
        and any(numeric[1:])
        and not any(said)  # the same word in every line
        and (not any(numbers) or _counts(heads))
        and not any("  " in cell or cell.count("(") != cell.count(")") for cell in cells)  # fields not told apart
        and not any(":" in head for head in heads)
        and max(map(len, heads)) <= LONGEST_HEAD
        and all(sum(map(bool, row)) > 1 for row in rows)
        and sum(not cell for row in rows for cell in row) * 4 <= len(rows) * len(heads)
    )


def _counts(heads: list[str]) -> bool:
    """Whether heads are whole numbers that grow, such as counts of ranks, after a head in words."""
    found = [re.match(r"[\d,]+(?= |$)", head) for head in heads[1:]]
    values = [int(each[0].replace(",", "")) for each in found if each]
    return (
        bool(heads[0])
        and not NUMBER.fullmatch(heads[0])
        and len(values) == len(found)
        and sorted(set(values)) == values
    )


def _columns(lines: list[str]) -> list[tuple[int, int]]:
    """Where columns begin and end: borders are blank in all lines; parts that lack a head or fields are joined."""
    width = max(map(len, lines))
    lines = [line.ljust(width) for line in lines]
    blank = [all(line[at] == " " for line in lines) for at in range(width)]
    spans, begin = [], None
    for at, empty in enumerate([*blank, True]):
        if not empty and begin is None:
            begin = at
        if empty and begin is not None:
            spans.append((begin, at))
            begin = None
    return _joined(lines, spans)


def _joined(lines: list[str], spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join neighbours that are one blank apart and of which one lacks a head, or fields."""
    at = 0
    while at + 1 < len(spans):
        (begin, end), (after, last) = spans[at], spans[at + 1]
        parts = [(lines[0][b:e].strip(), any(line[b:e].strip() for line in lines[1:])) for b, e in spans[at : at + 2]]
        whole = [bool(head) and fields for head, fields in parts]
        if after - end == 1 and not all(whole):
            spans[at : at + 2] = [(begin, last)]
            at = max(at - 1, 0)
        else:
            at += 1
    return spans


def node(table: Table) -> nodes.table:
    """The table as docutils has it; columns of numbers are set flush right."""
    group = nodes.tgroup("", cols=len(table.heads))
    group += [nodes.colspec(colwidth=1) for _ in table.heads]
    group += nodes.thead("", _row(table.heads, table.numeric))
    group += nodes.tbody("", *(_row(row, table.numeric) for row in table.rows))
    return nodes.table("", group, classes=["colwidths-auto", "printed"])


def _row(cells: list[str], numeric: list[bool]) -> nodes.row:
    row = nodes.row()
    for cell, right in zip(cells, numeric):
        row += nodes.entry("", nodes.paragraph("", cell), classes=["text-right"] if right else [])
    return row


def convert(app, doctree) -> None:
    """Put tables in place of what was printed."""
    for printed in list(doctree.findall(nodes.literal_block)):
        cell = printed.parent
        while cell is not None and "cell" not in cell.get("classes", []):
            cell = cell.parent
        if cell is None or "stream" not in printed["classes"] or "tag_as-printed" in cell["classes"]:
            continue
        found = list(blocks(printed.astext()))
        if any(isinstance(each, Table) for each in found):
            printed.replace_self([_text(printed, each) if isinstance(each, str) else node(each) for each in found])


def _text(printed: nodes.literal_block, text: str) -> nodes.literal_block:
    """What was printed beside tables, as it was printed."""
    part = printed.copy()
    part += nodes.Text(text)
    part.rawsource = text
    return part


def setup(app) -> dict:
    """Register the extension."""
    app.connect("doctree-read", convert)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

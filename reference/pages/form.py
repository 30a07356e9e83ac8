"""A function of a few numbers, as a form: the page for calculators and planners, written in Python alone.

    Form(schedule_table, [Field("p", "ranks p", 4, 1, 64), Field("F", "F (s)", 1.0, 0)], "schedules for your numbers")

Idea      The function takes the fields by name and returns the rows of a table, each a mapping from column to text or
          number. For the values that are given here it is called now, and its table stands in the page: readers from a
          file, in a notebook or without JavaScript have that. Where the page has a Python (live.py), the fields can be
          changed, and the same function answers in the reader's browser. Words of its ValueError are shown.
Left out  Functions that need NumPy; anything but a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from importlib import import_module
from typing import Any, NamedTuple

from .widget import escaped, widget

Rows = Sequence[Mapping[str, Any]]


class Field(NamedTuple):
    """An argument of the function: its name and label, the value to begin with, the least and the most.

    One that begins with a whole number, for an int of the function, takes no others. The function says what it refuses.
    """

    name: str
    label: str
    value: float
    least: float = 0
    most: float | None = None


class Form:
    """A table that a function makes of the values in some fields."""

    def __init__(self, function: Callable[..., Rows], fields: Iterable[Field], label: str):
        self.function, self.fields, self.label = function, list(fields), label

    @property
    def rows(self) -> Rows:
        """The table for the values to begin with."""
        return self.function(**{field.name: field.value for field in self.fields})

    def _repr_html_(self) -> str:
        data = {
            "call": f"{self.function.__module__}.{self.function.__name__}",
            "fields": [field._asdict() | {"whole": isinstance(field.value, int)} for field in self.fields],
        }
        values = ", ".join(f"{escaped(field.label)}: {field.value:g}" for field in self.fields)
        instead = f'<p class="given">{values}</p>\n{table(self.rows)}'
        return widget(__file__, "form", self.label, data, instead, python=True)

    def __repr__(self) -> str:
        shown = sha256(self._repr_html_().encode()).hexdigest()[:8]
        return f"{self.label}: {len(self.rows)} rows (page {shown})"


def shown(call: str, given: Mapping[str, float]) -> str:
    """What the page asks for (live.py): the table of a function, by its dotted name, for these values, as HTML.

    Raises ValueError for a fraction where the function takes an int: a reader can type it.
    """
    module, _, name = call.rpartition(".")
    function = getattr(import_module(module), name)
    for field, value in given.items():
        if function.__annotations__[field] in (int, "int") and value != int(value):
            raise ValueError(f"{field} is a whole number, got {value:g}")
    return table(function(**given))


def table(rows: Rows) -> str:
    """The rows as HTML, to be reached by keys, for it scrolls on a phone; a number that is none stays empty.

    Columns stand in the order of the first row.
    """
    columns = list(rows[0])
    head = "".join(f'<th scope="col">{escaped(column)}</th>' for column in columns)
    body = "".join("<tr>" + "".join(_cell(row.get(column)) for column in columns) + "</tr>\n" for row in rows)
    return f'<table tabindex="0"><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>'


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return f"<td>{escaped(value)}</td>"
    return f'<td class="number">{"" if value is None else f"{round(value, 3):g}"}</td>'

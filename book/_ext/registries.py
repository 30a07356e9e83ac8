"""A Sphinx extension: tables of the book that list all techniques of a kind come from their registry.

    ```{registry} reference.compression.catalogue.CODECS
    what is sent: idea
    bytes: wire
    unbiased: codec.unbiased
    ```

A line names a column and the attribute of a record that stands in it. The first column is the record's name, which
leads to the function that makes it. Nothing has to be written again when a technique comes or goes.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import reduce
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective


def registry(path: str):
    """The registry of that dotted name."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def cell(value: Any) -> str:
    """A value as it is read in a table."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value in ("", {}, ()):
        return "–"
    if isinstance(value, Mapping):
        value = [f"{key}: `{each}`" for key, each in value.items()]
    if isinstance(value, list) or type(value) is tuple:  # other tuples have names, and words of their own
        return ", ".join(map(cell, value))
    return str(value).replace("|", "\\|").replace("*", "\\*")


def table(records, columns: list[str]) -> list[str]:
    """The lines of a table in Markdown, one row a record. columns: "heading: attribute".

    Raises AttributeError if a record has no such attribute.
    """
    pairs = [column.split(": ") for column in columns]
    heads = ["name", *(heading for heading, _ in pairs)]
    lines = [f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    for record in records:
        made_by = f"{record.make.__module__}.{record.make.__qualname__}"
        values = [cell(reduce(getattr, path.split("."), record)) for _, path in pairs]
        lines.append(f"| {' | '.join([f'{{py:func}}`{record.name} <{made_by}>`', *values])} |")
    return lines


class RegistryTable(SphinxDirective):
    """The directive."""

    required_arguments, has_content = 1, True

    def run(self) -> list[nodes.Node]:
        """The table, parsed as if it had been written there."""
        lines = table(registry(self.arguments[0]).values(), list(self.content))
        found = nodes.container()
        self.state.nested_parse(StringList(lines, source=self.env.docname), self.content_offset, found)
        return found.children


def setup(app) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("registry", RegistryTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

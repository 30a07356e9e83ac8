"""Where an exercise is explained: the line "Page: chapters/02_data_parallel.ipynb#the-hook" of its docstring."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

LINE = re.compile(r"^Page: (?P<page>chapters/\w+\.ipynb)#(?P<anchor>[\w-]+)$", re.MULTILINE)
HEADING = re.compile(r"(#+) (.+)")


class Section(NamedTuple):
    """A section of a page: chapters/NAME.ipynb, and the anchor of its heading."""

    page: str
    anchor: str

    def title(self, root: Path) -> str:
        """The heading, or "" if there is no such page or section below `root`."""
        return next((title for anchor, title, _ in headings(root / self.page) if anchor == self.anchor), "")

    def link(self) -> str:
        """The address of the section from another page of chapters/ in the built book."""
        return f"{Path(self.page).stem}.html#{self.anchor}"


def of(docstring: str) -> Section | None:
    """The section that a docstring names, or None."""
    found = LINE.search(docstring)
    return Section(found["page"], found["anchor"]) if found else None


def without(docstring: str) -> str:
    """The docstring without that line."""
    return LINE.sub("", docstring).rstrip()


def headings(notebook: Path) -> Iterator[tuple[str, str, int]]:
    """Yield (anchor, title, level) of the headings of a notebook, in order; nothing if there is no such file."""
    cells = json.loads(notebook.read_text())["cells"] if notebook.exists() else []
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    for line in re.sub(r"(?ms)^(`{3,}).*?^\1", "", "\n".join(texts)).splitlines():
        if found := HEADING.fullmatch(line):
            yield slug(found[2]), found[2], len(found[1])


def slug(title: str) -> str:
    """The anchor that a heading gets in the book, as on GitHub."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")

"""A Sphinx extension: what the theme and its helpers write is put right for readers who do not see the page.

Each change is a pattern and what stands in its place. .ci/check_book.py asks axe-core about every page; where a new
version of a theme writes something else, it tells.
"""

from __future__ import annotations

import re
from pathlib import Path

from PIL import Image

WIDE = 1_400  # pixels of a figure, two hundred an inch; on a phone the letters of a wider one are under seven pixels
FIGURE = re.compile(r'<a class="[^"]*image-reference(?=" href="([^"]+\.png)">)')
NAME = re.compile(r'(?<=<span class="pre">)[^<]{12,}(?=</span>)')  # code in a line of text
PARAMETERS = re.compile(r"<dl>\n((?:<dd><em class=\"sig-param\">.*?</dd>\n)+)</dl>", re.DOTALL)

CHANGES = [
    # a control whose visible words are not in its name cannot be called by them
    (re.compile(r'(<button class="[^"]*search-button-field[^>]*?) aria-label="Search"'), r"\1"),
    (re.compile(r'(<i class="theme-switch [^>]*?) title="[^"]*"'), r"\1"),
    (re.compile(r'<summary aria-label="Toggle hidden content">'), "<summary>"),
    # one that has no words needs a name
    (re.compile(r'<summary>(?=<span class="toctree-toggle")'), '<summary aria-label="pages below">'),
    # what is beside the page is a place to go to
    (
        re.compile(r'<div id="pst-primary-sidebar" class'),
        '<div id="pst-primary-sidebar" role="region" aria-label="sidebar" class',
    ),
    # a heading of a column without words is none
    (re.compile(r'<th class="head">(?:<p></p>)?</th>'), "<td></td>"),
    # a source of the book is an item of a list; its own role is one that browsers no longer know of
    (re.compile(r' role="doc-biblioentry"'), ' role="listitem"'),
    # in the list of all listings, lists stand in lists and not in their items
    (re.compile(r"(?<=</li>)\n<ul>(?=<li>)|(?<=</li>\n)</ul>(?=<li>)"), ""),
    # a long name may be cut behind its parts, where a line or a column of a table ends
    (NAME, lambda found: re.sub(r"(?<=\w)([_./]+)(?=\w)", r"\1<wbr>", found[0])),
    # parameters, one a line, are no terms with definitions
    (
        PARAMETERS,
        lambda found: f'<div class="sig-params">\n{found[1].replace("<dd>", "<div>").replace("</dd>", "</div>")}</div>',
    ),
]


def mark_wide(html: str, folder: Path) -> str:
    """Give wide figures of a page a class, by which they scroll on a phone (custom.css); `folder` has the page."""

    def mark(found: re.Match) -> str:
        with Image.open(folder / found[1]) as picture:
            return found[0] + " wide" * (picture.width > WIDE)

    return FIGURE.sub(mark, html)


def amend(app, error) -> None:
    """At the end of a build: change what needs it, in every page."""
    if error or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        before = after = page.read_text(encoding="utf-8")
        for pattern, instead in CHANGES:
            after = pattern.sub(instead, after)
        after = mark_wide(after, page.parent)
        if after != before:
            page.write_text(after, encoding="utf-8")


def setup(app) -> dict:
    """Register the extension."""
    app.connect("build-finished", amend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

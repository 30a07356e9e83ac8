"""Which listings of modules must be opened in a browser (part of check_book.py), and what the others tell unopened.

Sphinx makes a page of each module's source. Two of them whose files are the same around their listings, and whose
listings are made of the same elements, can differ in a browser by the length of their titles and by their weight alone.
So of each frame those are opened whose title is the longest or whose file is the largest.
"""

from __future__ import annotations

import re
from collections import defaultdict
from html import unescape
from pathlib import Path
from urllib.parse import urljoin

LISTINGS, THEIR_LIST = "_modules/", "_modules/index.html"
TITLE, LISTING = re.compile(r"<h1>(.*?)</h1>"), re.compile(r"<pre>.*?</pre>", re.DOTALL)
OWN = re.compile(r"<title>.*?</title>|<h1>.*?</h1>|_modules/[\w/]+")  # what names the module


def is_listing(name: str) -> bool:
    """Whether a page of the book is the listing of a module."""
    return name.startswith(LISTINGS) and name != THEIR_LIST


def frame(name: str, html: str) -> tuple[str, ...]:
    """What is around a page's listing, without what names the module, and the elements that the listing is made of."""
    elements = {element for listing in LISTING.findall(html) for element in re.findall(r"<\w+", listing)}
    around = LISTING.sub("<pre>", html).replace("../" * name.count("/"), "/")
    return OWN.sub("", around), *sorted(elements)


def unopened(root: Path, names: list[str]) -> set[str]:
    """Those of the pages `names` below `root` that are like one that is opened."""
    alike: dict[tuple, dict[str, str]] = defaultdict(dict)
    for name in filter(is_listing, names):
        html = (root / name).read_text(encoding="utf-8")
        alike[frame(name, html)][name] = html
    opened = set()
    for pages in alike.values():
        opened |= {max(pages, key=lambda name: len(pages[name])), max(pages, key=lambda name: _title(pages[name]))}
    return {name for pages in alike.values() for name in pages} - opened


def _title(html: str) -> int:
    found = TITLE.search(html)
    return len(found[1]) if found else 0


def told_by_file(html: str, url: str) -> dict:
    """What check_links asks of a page, from its file: where its links lead, and its places."""
    links = [urljoin(url, unescape(link)) for link in re.findall(r'<a\s[^>]*?href="([^"]*)"', html)]
    return {"links": links, "ids": re.findall(r'\sid="([^"]*)"', html), "explorers": 0}

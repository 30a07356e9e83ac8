"""A chapter has the number of its file: chapters/09_pipelines is chapter 9, also while chapters 4 to 8 are not there.

Sphinx numbers the chapters of a table of contents 1, 2, 3, ... as they come. After it has, the first number of each is
replaced, in the titles, in the sections, in every table of contents that lists them, and in the numbers of equations.
"""

from __future__ import annotations

import re

from docutils import nodes


def setup(app) -> dict[str, bool]:
    """Called by Sphinx. 500 is the priority at which it assigns its own numbers."""
    app.connect("env-get-updated", renumber, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def renumber(app, env) -> list[str]:
    """Give every numbered chapter, and its sections, the number in its file's name; no page has to be read again."""
    for document, sections in env.toc_secnumbers.items():
        if found := re.match(r"chapters/(\d+)_", document):
            chapter = int(found[1])
            sections.update({anchor: (chapter, *number[1:]) for anchor, number in sections.items() if number})
            for figures in env.toc_fignumbers.get(document, {}).values():  # equations count as figures here
                figures.update({name: (chapter, *number[1:]) for name, number in figures.items()})
            titles = [titles[document] for titles in (env.titles, env.longtitles) if document in titles]
            for node in [*titles, *env.tocs[document].findall(nodes.reference)]:
                if node.get("secnumber"):
                    node["secnumber"] = (chapter, *node["secnumber"][1:])
    return []

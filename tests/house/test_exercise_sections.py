"""Every exercise names the section that explains it, and that section links to the exercise."""

import json
import re

import pytest

from exercises.grading import sections, student

from .files import ROOT

FILES = sorted((ROOT / "exercises").glob("ch[0-9]*.py"))
LINK = re.compile(r"\[[^\]]*\]\([^)]+\)")


def exercises():
    """(path, name) of all functions that students write."""
    for path in FILES:
        source = student.read(path)
        names = [node.name for node in source.tree.body if hasattr(node, "name")]
        yield from ((path, name) for name in names if source.state(name) == student.TO_DO)


def section_text(notebook, anchor):
    """The Markdown of a section, with what is below its headings, up to the next heading of its level."""
    cells = json.loads(notebook.read_text())["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    lines, level, kept = text.splitlines(), 0, []
    for line in lines:
        heading = sections.HEADING.fullmatch(line)
        if heading and level and len(heading[1]) <= level:
            break
        if heading and not level and sections.slug(heading[2]) == anchor:
            level = len(heading[1])
        if level:
            kept.append(line)
    return "\n".join(kept)


def missing(source, name, root):
    """What an exercise's way to its section and back lacks, or ""."""
    section = sections.of(source.docstring(name))
    if section is None:
        return "a last line `Page: chapters/NAME.ipynb#SECTION` in its docstring"
    if not section.title(root):
        return f"a section #{section.anchor} in {section.page}"
    links = LINK.findall(section_text(root / section.page, section.anchor))
    return "" if any(f"`{name}`" in link for link in links) else f"a link to it in {section.page}#{section.anchor}"


def test_every_exercise_names_a_section_that_links_to_it():
    lacking = {name: missing(student.read(path), name, ROOT) for path, name in exercises()}
    assert len(lacking) > 60 and not {name: what for name, what in lacking.items() if what}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_tables_of_exercises_lead_to_the_same_sections(path):
    source = student.read(path)
    for notebook in (ROOT / "chapters").glob(f"{path.stem[2:4]}_*.ipynb"):
        cells = json.loads(notebook.read_text())["cells"]
        lines = [line.strip() for cell in cells if cell["cell_type"] == "markdown" for line in cell["source"]]
        for line in lines:
            row = re.match(r"\| \[?`(\w+)`.*\[[^\]]*\]\(([\w.]*)#([\w-]+)\)[^|]*\|$", line)
            if row and (section := sections.of(source.docstring(row[1]))):
                assert (f"chapters/{row[2] or notebook.name}", row[3]) == section, f"{notebook.name}: {row[1]}"


@pytest.mark.parametrize(
    "page, lacking",
    [
        ("chapters/10_zero.ipynb#shards", ""),
        ("chapters/10_zero.ipynb#the-others", "a link to it"),
        ("chapters/10_zero.ipynb#gone", "a section #gone"),
        ("chapters/11_gone.ipynb#shards", "a section #shards"),
        ("", "a last line"),
    ],
)
def test_what_lacks_is_told(tmp_path, page, lacking):
    text = [
        "# Zero\n",
        "## Shards\n",
        "### More\n",
        "Exercise: [`shard`](../exercises/ch10_zero.py).\n",
        "## The others",
    ]
    (tmp_path / "chapters").mkdir()
    cells = [{"cell_type": "markdown", "source": text}]
    (tmp_path / "chapters/10_zero.ipynb").write_text(json.dumps({"cells": cells}))
    stub = (
        f'def shard():\n    """Return it.\n\n    {page and "Page: " + page}\n    """\n    raise NotImplementedError\n'
    )
    (tmp_path / "ch10_zero.py").write_text(stub)
    told = missing(student.read(tmp_path / "ch10_zero.py"), "shard", tmp_path)
    assert told.startswith(lacking) and bool(told) == bool(lacking)

"""A planted chapter and a planted package: one line tells all that they lack, and each thing that is added is gone."""

import json
import shutil

import pytest

from .files import ROOT

TEXTS = ("README.md", "book", "pyproject.toml")
CHAPTER = {  # what a new chapter needs: (file, what is appended to it)
    "its tests in TESTS of .ci/chapters.py, and with them its line in the budget report": None,
    "exercises/ch97_..., its exercises": ("exercises/ch97_some.py", ""),
    "exercises/test_ch97_..., its exercises": ("exercises/test_ch97_some.py", ""),
    "exercises/solutions/ch97_..., its exercises": ("exercises/solutions/ch97_some.py", ""),
    "exercises/misconceptions/ch97_..., its exercises": ("exercises/misconceptions/ch97_some/shards.py", ""),
    "its place in the table of contents (book/_toc.yml)": ("book/_toc.yml", "  - file: chapters/97_some\n"),
    "a line for each technique (book/techniques.md)": ("book/techniques.md", "[Some](../chapters/97_some.ipynb)\n"),
    "its name in what is there so far (book/index.md)": ("book/index.md", "[Some](../chapters/97_some)\n"),
    "its section (book/teaching.md)": ("book/teaching.md", "\n## Chapter 97: what takes how long\n"),
    "its name in what is there so far (README.md)": ("README.md", "There is a chapter 97.\n"),
    "terms in book/glossary.md: none of those that it introduces in bold is there": (
        "book/glossary.md",
        "\noptimizer sharding\n  (x) Each rank has a part of the state.\n",
    ),
}
PACKAGE = {
    "tests/some/, its tests": ("tests/some/test_stage.py", ""),
    "its page book/api/some.md": ("book/api/some.md", ""),
    "the page's place in the table of contents (book/_toc.yml)": ("book/_toc.yml", "  - file: book/api/some\n"),
    "a link to its page (book/api/index.md)": ("book/api/index.md", "[`reference.some`](some.md)\n"),
    "a line for each technique (book/techniques.md)": ("book/techniques.md", "[`some`](api/some.md)\n"),
}


@pytest.fixture
def house(tmp_path):
    """The project's texts, and nothing else."""
    for name in TEXTS:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    return tmp_path


def add(house, file, text):
    """Append to a file, which is made if it is not there."""
    path = house / file
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as stream:
        stream.write(text)


def new_chapter(house):
    """Chapter 97, with nothing but its notebook."""
    cell = {"cell_type": "markdown", "source": ["Each rank keeps a part of the state: **optimizer sharding**."]}
    add(house, "chapters/97_some.ipynb", json.dumps({"cells": [cell]}))


def test_a_new_chapter_is_told_all_that_it_lacks_in_one_line(house, ci):
    new_chapter(house)
    assert ci("complete").faults(house, {}) == [f"chapter 97 lacks: {'; '.join(CHAPTER)}"]


@pytest.mark.parametrize("left_out", CHAPTER)
def test_what_was_forgotten_of_a_chapter_is_told(house, ci, left_out):
    new_chapter(house)
    add(house, "tests/some/test_stage.py", "")
    for what, change in CHAPTER.items():
        if change and what != left_out:
            add(house, *change)
    claims = {} if CHAPTER[left_out] is None else {97: ("some",)}
    assert ci("complete").faults(house, claims) == [f"chapter 97 lacks: {left_out}"]


def test_claimed_tests_that_are_not_there_are_told(house, ci):
    new_chapter(house)
    (told,) = ci("complete").faults(house, {97: ("some", "test_plan.py")})
    assert "lacks: tests/some, which TESTS of .ci/chapters.py claims; tests/test_plan.py, which" in told


def test_a_new_package_is_told_all_that_it_lacks_in_one_line(house, ci):
    add(house, "reference/some/__init__.py", "")
    assert ci("complete").faults(house) == [f"reference.some lacks: {'; '.join(PACKAGE)}"]


@pytest.mark.parametrize("left_out", PACKAGE)
def test_what_was_forgotten_of_a_package_is_told(house, ci, left_out):
    add(house, "reference/some/__init__.py", "")
    for what, change in PACKAGE.items():
        if what != left_out:
            add(house, *change)
    assert ci("complete").faults(house) == [f"reference.some lacks: {left_out}"]


def test_a_module_without_an_entry_in_the_api_is_told(house, ci):
    add(house, "reference/some/__init__.py", "")
    add(house, "reference/some/stage.py", "")
    add(house, "reference/some/stages/__init__.py", "")
    add(house, "reference/some/stages/one.py", "")
    for change in [*PACKAGE.values(), ("tests/some/stages/test_one.py", "")]:
        add(house, *change)
    assert ci("complete").faults(house) == [
        "reference.some lacks: an entry for reference.some.stage (book/api/some.md)",
        "reference.some.stages lacks: an entry for reference.some.stages.one (book/api/some.md)",
    ]
    add(
        house, "book/api/some.md", ".. automodule:: reference.some.stage\n.. autofunction:: reference.some.stages.one\n"
    )
    assert ci("complete").faults(house) == []


def test_a_room_of_a_package_needs_tests_only(house, ci):
    add(house, "reference/some/stages/__init__.py", "")
    assert ci("complete").faults(house) == ["reference.some.stages lacks: tests/some/stages/, its tests"]
    add(house, "tests/some/stages/test_one.py", "")
    assert ci("complete").faults(house) == []


def test_a_chapter_and_a_package_that_lack_nothing_are_not_told(house, ci):
    new_chapter(house)
    add(house, "reference/some/__init__.py", "")
    for change in [*CHAPTER.values(), *PACKAGE.values()]:
        if change:
            add(house, *change)
    assert ci("complete").faults(house, {97: ("some",)}) == []


EXERCISE = {  # what a new exercise needs besides its function: (file, what is appended to it)
    "a line that declares it (exercises/test_ch97_some.py)": ("exercises/test_ch97_some.py", "gather = write.gather\n"),
    "its name in the notebook of its chapter": ("chapters/97_some_exercises.ipynb", '{"cells": [], "of": "`gather`"}'),
    "its name beside what it practises (book/techniques.md)": ("book/techniques.md", "`gather`\n"),
    "its name in the section of its chapter (book/teaching.md)": ("book/teaching.md", "`gather`\n"),
}
HELPER = 'def given():\n    """Ready."""\n    return 1\n\n\n'
GATHER = 'def gather(comm, x):\n    """Gather."""\n    raise NotImplementedError\n    return x\n'


@pytest.mark.parametrize("left_out", [None, *EXERCISE])
def test_what_was_forgotten_of_an_exercise_is_told(house, ci, left_out):
    """Its name elsewhere, above and below the section of its chapter, is not enough; a helper that is given is none."""
    new_chapter(house)
    add(house, "book/teaching.md", "`gather`\n")
    for change in CHAPTER.values():
        if change:
            add(house, *change)
    add(house, "tests/some/test_stage.py", "")
    add(house, "exercises/ch97_some.py", HELPER + GATHER)
    for what, change in EXERCISE.items():
        if what != left_out:
            add(house, *change)
    add(house, "book/teaching.md", "\n## Chapter 100\n\n`gather`\n")
    told = [f"exercise gather lacks: {left_out}"] if left_out else []
    assert ci("complete").faults(house, {97: ("some",)}) == told


def test_what_was_forgotten_of_a_technique_is_told(house, ci):
    """It is one because it names a source. The tests of a catalogue are those of all that it lists."""
    add(house, "reference/some/__init__.py", "")
    for change in PACKAGE.values():
        add(house, *change)
    for name, source in (("stage", "Source    Rajbhandari et al. (2020).\n"), ("plan", "No source.\n")):
        add(house, f"reference/some/{name}.py", f'"""A module.\n\n{source}"""\n')
        add(house, "book/api/some.md", f".. automodule:: reference.some.{name}\n")
    (house / "tests/some/test_stage.py").rename(house / "tests/some/test_all.py")
    told = "technique some.stage lacks: "
    line, tests = "a line for it (book/techniques.md)", "its tests (tests/some/test_stage.py)"
    assert ci("complete").faults(house) == [f"{told}{line}; {tests}"]
    add(house, "book/techniques.md", "[`some.stage`](api/some.md)\n")
    assert ci("complete").faults(house) == [told + tests]
    add(house, "reference/some/catalogue.py", "")
    add(house, "book/api/some.md", ".. automodule:: reference.some.catalogue\n")
    assert ci("complete").faults(house) == []

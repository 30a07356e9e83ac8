"""What is there is there in every place that has to know of it; one line tells all that a chapter or exercise lacks.

Nothing here is a list of chapters, exercises, packages or techniques: they are what stands in chapters/, in exercises/
and in reference/. A technique is a module whose docstring names a source.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from chapters import TESTS, notebooks, numbers

TERM = re.compile(r"\*\*([^*\n]{2,40})\*\*")  # in bold, where a chapter introduces it
SOURCE = re.compile(r"^Source {2,}", re.MULTILINE)  # the label of a module's docstring that says: this is a technique
GLOSSARY = re.compile(r"^(?![ `(#])(.+)\n  \(", re.MULTILINE)  # a term, above its translation in brackets


def faults(root: Path, claims: Mapping[int, tuple[str, ...]] = TESTS) -> list[str]:
    """Return one line for each chapter, exercise, package and technique that lacks something."""
    lacking = {
        **{f"chapter {number}": list(of_chapter(root, number, claims)) for number in numbers(root)},
        **{f"reference.{name.replace('/', '.')}": list(of_package(root, name)) for name in packages(root)},
        **{f"exercise {name}": list(of_exercise(root, stem, name)) for stem, name in exercises(root)},
        **{f"technique {name}": list(of_technique(root, name)) for name in techniques(root)},
    }
    return [f"{name} lacks: {'; '.join(what)}" for name, what in lacking.items() if what]


def packages(root: Path) -> list[str]:
    """Return the folders below reference/ that are packages, such as "pipeline" and "pipeline/runtime"."""
    found = (path.parent.relative_to(root / "reference") for path in (root / "reference").rglob("__init__.py"))
    return sorted(path.as_posix() for path in found if path.parts)


def of_chapter(root: Path, number: int, claims: Mapping[int, tuple[str, ...]]) -> Iterator[str]:
    """Yield what a chapter lacks."""
    stems = [notebook.stem for notebook in notebooks(number, root)]
    own = claims.get(number, ())
    if not own:
        yield "its tests in TESTS of .ci/chapters.py, and with them its line in the budget report"
    yield from (f"tests/{path}, which TESTS of .ci/chapters.py claims" for path in own if not _tests(root, path))
    for folder in ("", "test_", "solutions/", "misconceptions/"):
        if not any((root / "exercises").glob(f"{folder}ch{number:02d}_*")):
            yield f"exercises/{folder}ch{number:02d}_..., its exercises"
    for page, pattern, what in (
        ("book/_toc.yml", rf"chapters/{number:02d}_", "its place in the table of contents"),
        ("book/techniques.md", rf"chapters/{number:02d}_", "a line for each technique"),
        ("book/index.md", rf"chapters/{number:02d}_", "its name in what is there so far"),
        ("book/teaching.md", rf"(?m)^## Chapter {number}\b", "its section"),
        ("README.md", rf"(?i)\bchapter {number}\b", "its name in what is there so far"),
    ):
        if not re.search(pattern, _text(root / page)):
            yield f"{what} ({page})"
    if not terms(root, stems) & set(map(str.lower, GLOSSARY.findall(_text(root / "book/glossary.md")))):
        yield "terms in book/glossary.md: none of those that it introduces in bold is there"


def exercises(root: Path) -> list[tuple[str, str]]:
    """Return (chNN_topic, name) of all functions that students are asked to write, without helpers that are given."""
    return [
        (path.stem, node.name)
        for path in sorted((root / "exercises").glob("ch[0-9]*.py"))
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
        if any(ast.unparse(line) == "raise NotImplementedError" for line in node.body)
    ]


def of_exercise(root: Path, stem: str, name: str) -> Iterator[str]:
    """Yield what an exercise of exercises/chNN_topic.py lacks."""
    if not re.search(rf"(?m)^{name} = ", _text(root / f"exercises/test_{stem}.py")):
        yield f"a line that declares it (exercises/test_{stem}.py)"
    number, quoted = int(stem[2:4]), f"`{name}`"
    if not any(quoted in _text(page) for page in notebooks(number, root)):
        yield "its name in the notebook of its chapter"
    if quoted not in _text(root / "book/techniques.md"):
        yield "its name beside what it practises (book/techniques.md)"
    if not re.search(rf"(?ms)^## Chapter {number}\b(?:(?!^## ).)*{quoted}", _text(root / "book/teaching.md")):
        yield "its name in the section of its chapter (book/teaching.md)"


def techniques(root: Path) -> list[str]:
    """Return the modules that name a source, such as "pipeline.schedules.plain"."""
    package = root / "reference"
    found = [path for path in sorted(package.rglob("*.py")) if SOURCE.search(path.read_text())]
    return [".".join(path.relative_to(package).with_suffix("").parts) for path in found]


def of_technique(root: Path, name: str) -> Iterator[str]:
    """Yield what a technique lacks. Where there is a catalogue, its tests are those of all that it lists."""
    if f"`{name}`" not in _text(root / "book/techniques.md"):
        yield "a line for it (book/techniques.md)"
    room, _, module = name.replace(".", "/").rpartition("/")
    if not (root / "reference" / room / "catalogue.py").exists() and not _tests(root, f"{room}/test_{module}.py"):
        yield f"its tests (tests/{room}/test_{module}.py)"


def of_package(root: Path, name: str) -> Iterator[str]:
    """Yield what a package lacks; name: "pipeline", or "pipeline/runtime", a room of it."""
    if not _tests(root, name):
        yield f"tests/{name}/, its tests"
    pages = "".join(_text(page) for page in sorted((root / "book/api").glob("*.md")))
    for module in sorted(path.stem for path in (root / "reference" / name).glob("*.py")):
        path = f"reference.{name.replace('/', '.')}.{module}"
        if module != "__init__" and not re.search(rf":: {re.escape(path)}\b", pages):
            yield f"an entry for {path} (book/api/{name.partition('/')[0]}.md)"
    if "/" in name:
        return
    if not (root / f"book/api/{name}.md").exists():
        yield f"its page book/api/{name}.md"
    for page, pattern, what in (
        ("book/_toc.yml", rf"book/api/{name}\b", "the page's place in the table of contents"),
        ("book/api/index.md", rf"\({name}\.md\)", "a link to its page"),
        ("book/techniques.md", rf"\(api/{name}\.md\)", "a line for each technique"),
    ):
        if not re.search(pattern, _text(root / page)):
            yield f"{what} ({page})"


def terms(root: Path, stems: list[str]) -> set[str]:
    """Return what notebooks set in bold, in lower case, as it is and without the s of a plural."""
    found: set[str] = set()
    for stem in stems:
        cells = json.loads(_text(root / f"chapters/{stem}.ipynb"))["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
        found |= {term.lower().strip(".:,;") for term in TERM.findall(text)}
    return found | {term.removesuffix("s") for term in found}


def _tests(root: Path, path: str) -> bool:
    """Whether there is a test in a folder or module of tests/."""
    place = root / "tests" / path
    return place.is_file() or any(place.rglob("test_*.py"))


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""

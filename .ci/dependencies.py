"""What each file of the project depends on: modules that it imports or names, files that it names, its conftest.py.

A file is called by its path from the root, as git calls it. What counts:

    imports       wherever they stand, relative ones too; what `from package import name` means is looked up in the
                  package's __init__.py, which counts itself, too
    names         "reference.train" in a text: alone, or in tests/ in a command or program; "tests.oracles." stands for
                  all that is below, but who finds exercises by "exercises." does not depend on each (changed.py tells
                  which are concerned)
    paths         "sentry.py" or "chapters/data" in a text (a folder: in tests/ only, since "data" is also a word, and
                  without what people read there)
    packages      files of a package that are no modules belong to all its modules
    conftest.py   counts for the tests below its folder; a fixture, only for those that name it
    notebooks     their code cells as modules, and what their pages include
"""

from __future__ import annotations

import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path, PurePosixPath

PACKAGES = ("reference", "exercises", "tests")
DOTTED = re.compile(rf"\b(?:{'|'.join(PACKAGES)})(?:\.\w+)*\.?(?!\w)")
INCLUDED = re.compile(r"literalinclude\}? (?:\.\./)*(\S+)")
INIT, WHOLE = "__init__.py", "::*"  # a package's file, and behind it: all that it imports, too


class Dependencies:
    """Of these files below a root, which may be there no longer: what each depends on, and what depends on it."""

    def __init__(self, root: Path, files: Iterable[str]):
        self.root, self.files = root, set(files)
        self.modules = {
            file.removesuffix(".py").removesuffix("/__init__").replace("/", "."): file
            for file in self.files
            if file.endswith(".py") and file.split("/")[0] in PACKAGES
        }

    @cached_property
    def of(self) -> dict[str, set[str]]:
        """What each file, and each part of one ("tests/conftest.py::world"), depends on directly."""
        found: dict[str, set[str]] = defaultdict(set)
        for file in self.modules.values():
            found[file] |= self._around(file)
            for name, part in _parts(file, self.text(file)):
                found[name] |= self._used(part, file) | ({file} - {name})
        for file in self.files:
            if file.endswith(".ipynb") and (text := self.text(file)):
                found[file] = self._of_notebook(text)
        return found

    def reached(self, file: str) -> set[str]:
        """Return all files that depend on a file, directly or not, with the file itself."""
        seen, left = {file}, [file]
        while left:
            new = self._users[left.pop()] - seen
            seen |= new
            left += new
        return seen & self.files

    def text(self, file: str) -> str:
        """Return what a module or notebook holds; nothing of any other file, or if it is there no longer."""
        path = self.root / file
        return path.read_text() if path.suffix in (".py", ".ipynb") and path.exists() else ""

    @cached_property
    def _users(self) -> dict[str, set[str]]:
        """What depends directly on each file."""
        users = defaultdict(set)
        for user, used in self.of.items():
            for file in used:
                users[file].add(user)
        return users

    @cached_property
    def _ends(self) -> dict[str, set[str]]:
        """Files by all ends of their paths: "cost.py", "collectives/cost.py"."""
        found = defaultdict(set)
        for file in self.files:
            parts = file.split("/")
            for start in range(len(parts)):
                found["/".join(parts[start:])].add(file)
        del found[INIT]
        return found

    @cached_property
    def _below(self) -> dict[str, set[str]]:
        """All files below each folder."""
        found = defaultdict(set)
        for file in self.files:
            for folder in PurePosixPath(file).parents:
                found[folder.as_posix()].add(file)
        return found

    @cached_property
    def _packed(self) -> dict[str, set[str]]:
        """The files in each folder of reference/ that are no modules, or in one below that is no package."""
        found = defaultdict(set)
        for file in self._below["reference"] - set(self.modules.values()):
            folders = (folder.as_posix() for folder in PurePosixPath(file).parents)
            found[next(folder for folder in folders if f"{folder}/{INIT}" in self.files)].add(file)
        return found

    @cached_property
    def _passed_on(self) -> dict[str, dict[str, str]]:
        """The names that each package's __init__.py imports, and whence."""
        return {
            file: {
                alias.asname or alias.name: name
                for node in parsed(self.text(file)).body
                if isinstance(node, ast.ImportFrom)
                for alias, name in zip(node.names, _imported(node, file), strict=True)
            }
            for file in self.modules.values()
            if file.endswith(INIT)
        }

    def _around(self, file: str) -> set[str]:
        """What a module depends on by its place: packages above it, what is packed with it, and conftest.py."""
        above = [folder.as_posix() for folder in PurePosixPath(file).parents][:-1]
        found = {f"{folder}/{INIT}" for folder in above} & self.files | self._packed[above[0]]
        is_test = above[0] + "/test_" in file
        for conftest in {f"{folder}/conftest.py" for folder in above if is_test} & self.files:
            names = {name for name, _ in _parts(conftest, self.text(conftest))} | {conftest}
            text = self.text(file)
            found |= {name for name in names if name == conftest or re.search(rf"\b{name.split('::')[1]}\b", text)}
        return found - {file}

    def _of_notebook(self, text: str) -> set[str]:
        """What a notebook depends on: also all files beside the notebooks."""
        found = {file for file in self._below["chapters"] if not file.endswith(".ipynb")}
        for cell in json.loads(text)["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "code":
                lines = ["pass" if line.lstrip().startswith(("%", "!")) else line for line in source.splitlines()]
                found |= self._used(parsed("\n".join(lines)), "") | self._named(source, "")
            else:
                found |= {file for path in INCLUDED.findall(source) for file in self._ends.get(path, ())}
        return found

    def _used(self, tree: ast.AST, file: str) -> set[str]:
        """What a piece of a file imports and names."""
        found, nodes = set(), list(ast.walk(tree))
        docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                found |= {used for name in _imported(node, file) for used in self._module(name)}
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                found |= self._path(node.value, file)
                among_words = re.search(r"\s", node.value)  # there a name may be what they are about
                if file.startswith("tests/") or not among_words:
                    found |= self._named(node.value, file)
        return found - {file}

    def _named(self, text: str, file: str) -> set[str]:
        """The modules that a text names, or imports if it is a program."""
        found = set()
        if "import " in text:
            found |= self._used(parsed(text), file)
        for name in DOTTED.findall(text):
            if name.endswith(".") and text.endswith(name):  # f"reference.{name}"
                if not name.startswith("exercises."):
                    found |= {file for module, file in self.modules.items() if f"{module}.".startswith(name)}
            elif "." in name:
                found |= self._module(name.removesuffix("."))
        return found

    def _module(self, name: str) -> set[str]:
        """The module that a dotted name means, or that has what it means, and the packages on the way."""
        parts = name.split(".")
        ways = [self.modules.get(".".join(parts[: end + 1]), "") for end in range(len(parts))]
        known = next((end for end, way in enumerate(ways) if not way), len(ways))
        found, last = set(ways[:known]), ways[known - 1] if known else ""
        if last.endswith(INIT):
            passed_on = self._passed_on[last].get(parts[known]) if known < len(parts) else None
            found |= self._module(passed_on) if passed_on else {last + WHOLE}
        return found

    def _path(self, text: str, file: str) -> set[str]:
        """The files that a text is a path of, or an end of their paths, or the folder."""
        if "." in text:
            return self._ends.get(text, set())
        below = self._below.get(text, set()) if file.startswith("tests/") else set()
        return {other for other in below if not other.endswith(".md")}


@cache
def parsed(text: str) -> ast.Module:
    """Return what Python reads; nothing where it cannot, as in a sentence or in what somebody is about to write."""
    try:
        return ast.parse(text)
    except SyntaxError:
        return ast.Module([], [])


def _imported(node: ast.Import | ast.ImportFrom, file: str) -> Iterator[str]:
    """The dotted names that an import means: of modules, or of what is in them."""
    if isinstance(node, ast.Import):
        yield from (name.name for name in node.names)
        return
    package = file.split("/")[: -node.level] if node.level else []
    yield from (".".join([*package, *filter(None, [node.module]), name.name]) for name in node.names)


def _parts(file: str, text: str) -> Iterator[tuple[str, ast.AST]]:
    """Yield the pieces of a module: its own, or those that count only for who names a fixture or all of a package."""
    for node in parsed(text).body:
        marks = [ast.unparse(mark) for mark in getattr(node, "decorator_list", [])]
        if file.endswith(INIT):
            yield file + WHOLE, node
        elif file.endswith("conftest.py") and any("fixture" in mark and "autouse" not in mark for mark in marks):
            yield f"{file}::{node.name}", node
        else:
            yield file, node

"""What a change can break: the tests, graders and notebooks that depend on a file that differs from a base.

    python .ci/test.py --changed            what differs from origin/main, or is not committed (`make test-changed`)
    python .ci/test.py --changed HEAD       what is not committed

A branch is compared with the place where it left the base. dependencies.py knows what depends on what. The tests of the
house read all files, so they see every change.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from chapters import ROOT, Part, everything
from dependencies import Dependencies, parsed

ALL = re.compile(
    r"pyproject\.toml|constraints\.txt|Makefile|\.ci/.*|tests/(?:conftest|cpu_seconds)\.py"
)  # what all tests stand on
ANSWERS = re.compile(r"exercises/(?:solutions/|misconceptions/)?(ch(\d\d)_\w+?)(?:_again)?(?:/(\w+))?\.py")
CHAPTER = re.compile(r"exercises/(?:.*/|test_)?ch(\d\d)_.*")
GRADERS, GRADED = "tests/exercises/", "tests/exercises/test_graders.py"  # who depends on the second tests each exercise
OTHERS = ("ls-files", "--others", "--exclude-standard")
EVERY, NONE = "chapter", "not chapter"  # marks of all tests that are of some exercise or chapter, and of the others
SHOWN = 12  # lines


class Seen(NamedTuple):
    """Who sees a change: files. marks: of the tests in graders that are of a chapter, those that carry one of these."""

    units: frozenset[str] = frozenset()
    graders: frozenset[str] = frozenset()
    marks: frozenset[str] = frozenset()
    notebooks: frozenset[str] = frozenset()

    def __str__(self) -> str:
        """In few words."""
        units = f"{_count(self.units, 'file')} of tests" if self.units else ""
        marked = sorted(" ".join(re.findall(r"chapter\b|\d+|(?<=')\w+", mark)) for mark in self.marks - {EVERY})
        graders = f"{_count(self.graders, 'file')} of graders' tests" if self.graders else ""
        alone = f" (those of {', '.join(marked)})" if marked and EVERY not in self.marks else ""
        books = ", ".join(Path(name).name for name in sorted(self.notebooks))
        return "; ".join(filter(None, (units, graders + alone, books))) or "tests of the house"

    def part(self, root: Path) -> Part:
        """Return all of this, and the house, as arguments of pytest."""
        marks = ("-m", " or ".join([*sorted(self.marks), NONE])) if self.marks else ()
        graders = (*sorted(self.graders), *marks) if self.graders else ()
        books = tuple(str(root / notebook) for notebook in sorted(self.notebooks))
        return Part("what has changed", ("tests/house", *sorted(self.units)), graders, books)


def part(base: str, root: Path = ROOT) -> Part | None:
    """Return what sees the changes since a base, and print why; None if nothing does. Exits if git knows no base."""
    since = _git(root, "merge-base", base, "HEAD").strip()
    if not since:
        sys.exit(f"git knows no {base} here: name another base, as in make test-changed BASE=HEAD~1")
    changed = _names(root, "diff", "--name-only", "--no-renames", since) | _names(root, *OTHERS)
    if not changed:
        print(f"Nothing that a test sees has changed since {base} ({since[:9]}).")
        return None
    print(f"{_count(changed, 'file')} changed since {base} ({since[:9]})")
    if common := sorted(filter(ALL.fullmatch, changed)):
        print(f"All tests are run, because they stand on {', '.join(common[:3])}{', ...' * (len(common) > 3)}.")
        return everything(root)
    known = Dependencies(root, changed | _names(root, "ls-files") | _names(root, *OTHERS))
    seen = {file: who_sees(file, known, _git(root, "show", f"{since}:{file}")) for file in sorted(changed)}
    lines = [f"  {file}: {who}" for file, who in seen.items()]
    print("\n".join(lines[:SHOWN] + [f"  ... and {len(lines) - SHOWN} more"] * (len(lines) > SHOWN)))
    return together(seen.values()).part(root)


def who_sees(file: str, known: Dependencies, before: str = "") -> Seen:
    """Return what a change of one file, which had this text before, can break."""
    reached = known.reached(file)
    there = {other for other in reached if (known.root / other).exists()}
    tests = {other for other in there if re.fullmatch(r"tests/.*\btest_\w+\.py", other)}
    graders, graded = ({test for test in some if test.startswith(GRADERS)} for some in (tests, known.reached(GRADED)))
    if file.startswith("tests/"):
        marks = {EVERY} if graders & graded else set()
    elif marks := _marks(file, reached, known, before):
        graders |= {test for test in graded if "/test_" in test}
    units = {test for test in tests - graders if not test.startswith("tests/house/")}
    books = {other for other in there if other.endswith(".ipynb")}
    return Seen(*map(frozenset, (units, graders, marks, books)))


def together(all_seen: Iterable[Seen]) -> Seen:
    """Return who sees at least one of several changes."""
    return Seen(*(frozenset().union(*sets) for sets in zip(*all_seen, strict=True)))


def touched(before: str, now: str) -> set[str]:
    """Return the functions of a file that differ, and those that use them; nothing if more than functions differs."""
    (old, rest), (new, other) = _functions(before), _functions(now)
    found = {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)} if rest == other else set()
    while more := {name for name, text in new.items() if found & set(re.findall(r"\w+", text))} - found:
        found |= more
    return found


def _marks(file: str, reached: set[str], known: Dependencies, before: str) -> set[str]:
    """The marks of tests of graders that a change outside of tests/ concerns."""
    marks = set()
    if answers := ANSWERS.fullmatch(file):
        chapter, number, name = answers.groups()
        declared = _functions(known.text(f"exercises/{chapter}.py"))[0].keys()
        names = declared & ({name} if name else touched(before, known.text(file)))
        marks = {f"exercise(name={name!r})" for name in names} or {f"chapter(number={int(number)})"}
        reached = reached - {file}
    for other in reached:
        if found := CHAPTER.fullmatch(other):
            marks.add(f"chapter(number={int(found[1])})")
        elif other.startswith("exercises/") and not other.endswith(".md"):
            marks.add(EVERY)
    return {EVERY} if EVERY in marks else marks


def _functions(text: str) -> tuple[dict[str, str], list[str]]:
    """The functions of a file, each with its text, and the other lines that are more than comments."""
    lines, found = text.splitlines(), {}
    for node in parsed(text).body:
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
            found[node.name] = "\n".join(lines[first : node.end_lineno])
            lines[first : node.end_lineno] = [""] * (node.end_lineno - first)
    return found, [line for line in lines if line and not line.startswith("#")]


def _count(things: Collection[str], name: str) -> str:
    return f"{len(things)} {name}{'s' * (len(things) != 1)}"


def _git(root: Path, *arguments: str) -> str:
    """What git prints; nothing if it fails."""
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True).stdout


def _names(root: Path, *arguments: str) -> set[str]:
    """The files that git lists."""
    return {name for name in _git(root, *arguments, "-z").split("\0") if name}

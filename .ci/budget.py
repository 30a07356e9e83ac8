"""Print how much of its time budget each chapter uses, from the junit files of the last test run.

    python .ci/budget.py build/reports

The budget (on 2 cores): notebook 30 s, graders 10 s, tests 15 s a chapter. The report warns; it does not fail.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from chapters import ROOT, claimed_by

BUDGET = {"notebook": 30.0, "graders": 10.0, "tests": 15.0}  # seconds
SLOWEST = 5


class Case(NamedTuple):
    """A test that was run: its id, its seconds, and the chapter (or the folder of tests/) that it is charged to."""

    test: str
    seconds: float
    part: int | str

    @property
    def kind(self) -> str:
        """Which of the three budgets it is charged to."""
        if self.test.startswith("chapters"):
            return "notebook"
        return "graders" if self.test.startswith("tests.exercises") else "tests"


def read(folder: Path) -> list[Case]:
    """Return every test in the junit files of a folder."""
    found = []
    for case in (case for file in sorted(folder.glob("*.xml")) for case in ET.parse(file).iter("testcase")):
        test = f"{case.get('classname')}.{case.get('name')}"
        marked = case.find("properties/property[@name='chapter']")  # tests/exercises/conftest.py
        part = claimed_by(test) if marked is None else int(marked.get("value", ""))
        found.append(Case(test, float(case.get("time", 0)), part))
    return found


def report(cases: list[Case]) -> str:
    """Return the table: a line a chapter, with the time each part took and a mark where it is over its budget."""
    spent: dict = defaultdict(lambda: dict.fromkeys(BUDGET, 0.0))
    for case in cases:
        spent[case.part][case.kind] += case.seconds
    lines = ["", "Budget report (seconds; limits " + ", ".join(f"{k} {v:.0f}" for k, v in BUDGET.items()) + ")"]
    width = max((len(str(part)) for part in spent), default=0)
    for part in sorted(spent, key=lambda part: (isinstance(part, str), part)):
        cells = []
        for kind, limit in BUDGET.items():
            over = isinstance(part, int) and spent[part][kind] > limit
            cells.append(f"{kind} {spent[part][kind]:6.1f}{' OVER BUDGET' if over else ''}")
        name = part if isinstance(part, str) else f"chapter {part:02d}"
        lines.append(f"  {name:{max(width, 10)}}   " + "   ".join(cells))
    slow = sorted(cases, key=lambda case: -case.seconds)[:SLOWEST]
    lines.append("  slowest: " + ", ".join(f"{case.test.removeprefix('tests.')} {case.seconds:.1f}" for case in slow))
    for notebook in sorted(ROOT.glob("chapters/*.ipynb")):
        if notebook.stat().st_size > 1_000_000:
            lines.append(f"  {notebook.name} is {notebook.stat().st_size / 1e6:.1f} MB: OVER BUDGET (1 MB)")
    return "\n".join(lines)


if __name__ == "__main__":
    print(report(read(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/reports"))))

"""Print how much of its time budget each chapter uses, from the junit files of the last test run.

    python .ci/budget.py build/reports

The budget (on 2 cores): notebook 30 s, graders 10 s, tests 15 s a chapter. The report warns; it does not fail.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from pathlib import Path

from chapters import ROOT, chapter_of

BUDGET = {"notebook": 30.0, "graders": 10.0, "tests": 15.0}  # seconds
SLOWEST = 5


def kind_of(test: str) -> str:
    """Return which of the three budgets a test is charged to."""
    if "chapters" in test:
        return "notebook"
    return "graders" if "exercises" in test or "ch0" in test or "ch1" in test else "tests"


def read(folder: Path) -> list[tuple[str, float]]:
    """Return (test id, seconds) of every test in the junit files of a folder."""
    cases = [case for file in sorted(folder.glob("*.xml")) for case in ET.parse(file).iter("testcase")]
    return [(f"{case.get('classname')}.{case.get('name')}", float(case.get("time", 0))) for case in cases]


def report(cases: list[tuple[str, float]]) -> str:
    """Return the table: a line a chapter, with the time each part took and a mark where it is over its budget."""
    spent: dict = defaultdict(lambda: dict.fromkeys(BUDGET, 0.0))
    for test, seconds in cases:
        spent[chapter_of(test)][kind_of(test)] += seconds
    lines = ["", "Budget report (seconds; limits " + ", ".join(f"{k} {v:.0f}" for k, v in BUDGET.items()) + ")"]
    for chapter in sorted(spent, key=lambda c: (c is None, c or 0)):
        cells = []
        for kind, limit in BUDGET.items():
            over = chapter is not None and spent[chapter][kind] > limit
            cells.append(f"{kind} {spent[chapter][kind]:6.1f}{' OVER BUDGET' if over else ''}")
        name = "the house " if chapter is None else f"chapter {chapter:02d}"
        lines.append(f"  {name}   " + "   ".join(cells))
    slow = sorted(cases, key=lambda case: -case[1])[:SLOWEST]
    lines.append("  slowest: " + ", ".join(f"{test.split('.')[-2]}.{test.split('.')[-1]} {s:.1f}" for test, s in slow))
    for notebook in sorted(ROOT.glob("chapters/*.ipynb")):
        if notebook.stat().st_size > 1_000_000:
            lines.append(f"  {notebook.name} is {notebook.stat().st_size / 1e6:.1f} MB: OVER BUDGET (1 MB)")
    return "\n".join(lines)


if __name__ == "__main__":
    print(report(read(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/reports"))))

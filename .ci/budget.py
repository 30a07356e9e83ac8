"""Print how much of its time budget each chapter uses, from the junit files of the last test run.

    python .ci/budget.py build/reports

The budget is in CPU seconds of two virtual cores of an AMD EPYC server, both computing, in November 2026: notebook 25,
graders 8, tests 12 a chapter, with which 18 chapters take 15 minutes there. CPU seconds vary, too, with a machine's
caches and memory, and with who else uses them. Short loops do not tell by how much: they called a machine quicker (0.8)
on which nearly every chapter took 1.4 to 2 times its budget. But what slows a machine down slows all chapters down. So
each is judged beside the others: where the chapter in the middle takes 1.6 times its budget for graders, a second of
such a budget is worth 1.6. A chapter that takes more than 1.5 times what its budget is worth fails `make test`. It is
worth no less than it says: when most chapters get quicker, no other one fails for it. A chapter alone
(`make test CH=9`) has nothing beside it, so it is only reported, as is what makes all chapters slower at once.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import NamedTuple

from chapters import ROOT, claimed_by

BUDGET = {"notebook": 25.0, "graders": 8.0, "tests": 12.0}  # CPU seconds
SLACK = 1.5  # what slows a machine down does not slow down all chapters alike
OLDER = "written before there were budgets: more claims with a run, and more real ranks, than these have room for"
PLAYED = "half of the exercises are played by all ranks, with every mutant of two solutions"
LARGER: dict[tuple[int | str, str], tuple[float, str]] = {  # (chapter or folder of tests/, kind): its budget, and why
    (1, "notebook"): (40, OLDER),
    (1, "graders"): (42, OLDER),
    (1, "tests"): (60, "every algorithm in both worlds, and programs of real ranks that measure the machine first"),
    (2, "notebook"): (48, "five pages, each of which starts Python and torch, and two programs of real ranks"),
    (2, "graders"): (27, OLDER),
    (2, "tests"): (72, "reference.train in every layout of chapters 2 to 13, on real ranks, too"),
    (3, "notebook"): (56, OLDER),
    (3, "graders"): (25, OLDER),
    (3, "tests"): (110, "three dozen methods, most of which train a network in each test, some from several draws"),
    (6, "graders"): (11, PLAYED),
    (6, "tests"): (40, "two packages: what is cut by hand, and the program that finds the cut; a job of real ranks"),
    (7, "graders"): (11, PLAYED),
    (7, "tests"): (16, "attention forward and backward in five ways, and a script with torch alone"),
    (9, "notebook"): (42, OLDER),
    (9, "graders"): (42, OLDER),
    (9, "tests"): (62, "every schedule: simulated, drawn, carried out by ranks with the serial program's gradients"),
    (10, "notebook"): (48, "five pages, each of which starts Python and torch, and trains a GPT on several ranks"),
    (10, "graders"): (18, PLAYED),
    (10, "tests"): (100, "two packages: three stages with every impostor, ranks that are killed, tiers of real files"),
    (11, "notebook"): (42, "four pages, each of which starts Python and torch, and a program of four real ranks"),
    (11, "graders"): (18, PLAYED),
    (11, "tests"): (75, "44 layouts on all axes and 6 on real ranks with the serial losses; a search and its rivals"),
    (12, "notebook"): (30, "four pages, each of which starts Python and torch"),
    (12, "tests"): (25, "three packages: recomputation by hand, by solvers and by torch, tiers of real files, traces"),
    (12, "graders"): (10, "twelve exercises, with every mutant of two solutions"),
    (13, "notebook"): (45, "six pages, each of which starts Python and torch, and two trainings, one of real ranks"),
    (13, "graders"): (16, "twelve exercises: two are played by all ranks, two have answers that only a limit ends"),
    (13, "tests"): (90, "trainings saved in every layout, twenty kills, ranks that outlive others, on real ranks, too"),
    (14, "graders"): (15, "nine exercises, most of them loops: mutants and four wrong answers that only a limit ends"),
    (14, "notebook"): (40, "four pages, each of which starts Python and torch, and two drives of real ranks"),
    (14, "tests"): (40, "twenty analyses, each beside a simulation or a search; thirty drives, two of real ranks"),
    ("worlds", "tests"): (112, "all that both worlds promise, also of jobs that have to be started and ended"),
}
SLOWEST = 5
Part = int | str


class Case(NamedTuple):
    """A test that was run: its id, its CPU seconds, and the chapter (or the folder of tests/) that it is charged to.

    What it started for the whole session is a case of its own, of the part "shared".
    """

    test: str
    seconds: float
    part: Part

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
        noted = {one.get("name"): one.get("value", "") for one in case.iter("property")}
        part = int(noted["chapter"]) if "chapter" in noted else claimed_by(test)  # tests/exercises/conftest.py
        found.append(Case(test, float(noted.get("cpu seconds", 0)), part))  # tests/cpu_seconds.py
        if "shared cpu seconds" in noted:
            found.append(Case(test, float(noted["shared cpu seconds"]), "shared"))
    return found


def budget(part: Part, kind: str) -> float | None:
    """What a chapter may use, or a folder of tests/ that has a budget; None for one that has none."""
    if (part, kind) in LARGER:
        return LARGER[part, kind][0]
    return BUDGET[kind] if isinstance(part, int) else None


def spent(cases: list[Case]) -> dict[Part, dict[str, float]]:
    """Seconds by chapter (then by folder of tests/) and by kind."""
    sums: dict[Part, dict[str, float]] = defaultdict(lambda: dict.fromkeys(BUDGET, 0.0))
    for case in cases:
        sums[case.part][case.kind] += case.seconds
    return {part: sums[part] for part in sorted(sums, key=lambda part: (isinstance(part, str), part))}


def slowness(cases: list[Case]) -> dict[str, float]:
    """What a second of budget is worth in this run, by kind: used/budget of the chapter in the middle, at least 1."""
    shares: dict[str, list[float]] = {kind: [] for kind in BUDGET}
    for part, seconds in spent(cases).items():
        for kind, used in seconds.items():
            if used and (limit := budget(part, kind)) is not None:
                shares[kind].append(used / limit)
    return {kind: max(1.0, median(found or [1.0])) for kind, found in shares.items()}


def overdrawn(cases: list[Case]) -> list[str]:
    """A line for each chapter that used more than its budget is worth and the slack, with its slowest tests."""
    lines, worth = [], slowness(cases)
    for part, seconds in spent(cases).items():
        for kind, used in seconds.items():
            limit = budget(part, kind)
            if limit is not None and used > SLACK * worth[kind] * limit:
                most = slowest([case for case in cases if (case.part, case.kind) == (part, kind)])
                lines.append(
                    f"{_title(part)}: {kind} took {used:.0f} CPU seconds, {used / limit:.2f} times its budget of "
                    f"{limit:.0f}, of which a second is worth {worth[kind]:.2f} in this run. Make it quicker. "
                    f"The slowest: {most}"
                )
    return lines


def _title(part: Part) -> str:
    return part if isinstance(part, str) else f"chapter {part}"


def slowest(cases: list[Case]) -> str:
    """The tests that took longest, with their seconds."""
    most = sorted(cases, key=lambda case: -case.seconds)[:SLOWEST]
    return ", ".join(f"{case.test.removeprefix('tests.')} {case.seconds:.1f}" for case in most)


def report(cases: list[Case]) -> str:
    """Return the table: a line a chapter, with the seconds of each kind and a mark where it is over its budget."""
    limits = ", ".join(f"{kind} {limit:.0f}" for kind, limit in BUDGET.items())
    lines = ["", f"Budget report (CPU seconds; limits {limits}, fails from {SLACK} times what they are worth on)"]
    table, worth = spent(cases), slowness(cases)
    width = max((len(str(part)) for part in table), default=0)
    for part, seconds in table.items():
        name = part if isinstance(part, str) else f"chapter {part:02d}"
        cells = [f"{kind} {used:6.1f}{_mark(used, budget(part, kind))}" for kind, used in seconds.items()]
        lines.append(f"  {name:{max(width, 10)}}   " + "   ".join(cells))
    lines.append(f"  a second of budget is worth {', '.join(f'{worth[kind]:.2f} ({kind})' for kind in BUDGET)}")
    lines.append(f"  together   {sum(case.seconds for case in cases):.0f}")
    lines.append(f"  slowest: {slowest(cases)}")
    for notebook in sorted(ROOT.glob("chapters/*.ipynb")):
        if notebook.stat().st_size > 1_000_000:
            lines.append(f"  {notebook.name} is {notebook.stat().st_size / 1e6:.1f} MB: OVER BUDGET (1 MB)")
    return "\n".join(lines)


def _mark(used: float, limit: float | None) -> str:
    return f" (of {limit:.0f}: OVER BUDGET)" if limit is not None and used > limit else ""


if __name__ == "__main__":
    print(report(read(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/reports"))))

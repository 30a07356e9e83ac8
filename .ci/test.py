"""What `make test` runs: style, import floors, unit tests, graders, notebooks; then the budget report.

    python .ci/test.py                      everything
    python .ci/test.py 9                    only the tests, graders and notebook of chapter 9
    python .ci/test.py worlds               only tests/worlds; every folder and module of tests/ has its name
    python .ci/test.py --only notebooks     only this kind: lint, unit, graders or notebooks
    python .ci/test.py --no-lint            everything but style, floors, types and rules
    python .ci/test.py --notebooks-on unlike    the notebooks as on another processor (machines.py), as CI runs them
    python .ci/test.py --changed            style and the rest, and only the tests that a change can break (changed.py)
    python .ci/test.py --long               only what takes long: properties with many examples, proofs of every check

Every part runs even if one before it failed, its tests in as many processes as there are cores (4 at most), and these
with one thread each, unless OMP_NUM_THREADS and the like are set. The exit status is 0 only if all parts passed and no
chapter took far more of its budget than the others did (budget.py). How fast the machine is now is measured once, at
the start (reference/perf/pace.py): every limit on seconds, in the tests, too, is multiplied by it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import budget
import changed
import machines
from chapters import ROOT, Part, environment, everything, kernels, known
from reference.perf import pace

REPORTS = ROOT / "build/reports"
TITLES = {"unit": "unit tests", "graders": "graders", "notebooks": "notebooks"}
BIN = Path(sys.executable).parent
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
WORKERS = min(CORES, 4)  # real ranks need cores, too
TEST_SECONDS, CELL_SECONDS = 180, 120  # before a test, or a cell of a notebook, is taken for one that hangs


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("part", nargs="?", type=known, help="only this chapter, or this folder or module of tests/")
    p.add_argument(
        "--changed", nargs="?", const="origin/main", metavar="BASE", help="what a change since BASE can break"
    )
    which = p.add_mutually_exclusive_group()
    which.add_argument("--only", choices=("lint", "unit", "graders", "notebooks"), help="one kind")
    which.add_argument("--no-lint", action="store_true", help="all but style, floors, types and rules")
    which.add_argument("--long", action="store_true", help="properties with many examples, and long tests, alone")
    p.add_argument("--notebooks-on", metavar="MACHINE", help="run the notebooks as on a machine of machines.py")
    p.add_argument("--no-budget", action="store_true", help="a chapter may take as long as it likes")
    return p


def main(argv: list[str] | None = None) -> int:
    """Run the parts that were asked for and return the exit status."""
    asked = parser().parse_args(argv)
    if asked.changed and (asked.part or asked.long):
        parser().error("--changed chooses the tests: it goes with no part, and not with --long")
    wanted = changed.part(asked.changed) if asked.changed else asked.part or everything()
    if wanted is None:
        return 0
    os.environ[pace.VARIABLE] = f"{pace.pace():.2f}"
    lint = {} if asked.part or asked.long else lint_parts()
    groups = {"lint": lint, **test_parts(wanted, asked.long)}
    left_out = {"lint"} if asked.no_lint else set()
    parts = {
        name: command
        for group, commands in groups.items()
        if group not in left_out and asked.only in (None, group)
        for name, command in commands.items()
    }
    REPORTS.mkdir(parents=True, exist_ok=True)
    for old in REPORTS.glob("*.xml"):
        old.unlink()
    elsewhere = settings_of(asked.notebooks_on) if asked.notebooks_on else {}
    results = {name: run(name, command, elsewhere) for name, command in parts.items()}
    if asked.only != "lint":
        results["budgets of the chapters"] = within_budget(enforced=not (asked.no_budget or asked.long))
    print(f"\nSummary (this machine took {pace.pace():.1f} times as long as the one that limits were made for)")
    for name, (ok, seconds) in results.items():
        print(f"  {'passed' if ok else 'FAILED'}  {name} ({seconds:.0f} s)")
    return 0 if results and all(ok for ok, _ in results.values()) else 1


def settings_of(name: str) -> Mapping[str, str]:
    """Return the settings of a machine that differs in nothing else; end the program if this one cannot play it so."""
    ((found, machine),) = machines.chosen([name]).items()
    if why := machines.lacking(machine):
        parser().error(f"the notebooks cannot be run on {found!r}: {why}")
    if machine != machines.Machine(machine.settings, needs=machine.needs):
        parser().error(f"--notebooks-on takes a machine of other settings only: for {found!r} try make test-machines")
    return machine.settings


def lint_parts() -> dict[str, list]:
    """Return the commands that check style, floors, types and the rules of the house."""
    return {
        "style (ruff check)": [BIN / "ruff", "check", "."],
        "format (ruff format --check)": [BIN / "ruff", "format", "--check", "."],
        "import floors (lint-imports)": [BIN / "lint-imports", "--no-logo"],
        "types (mypy)": [BIN / "mypy"],
        "rules of the house (.ci/rules.py)": [sys.executable, ROOT / ".ci/rules.py"],
    }


def test_parts(wanted: Part, long: bool = False) -> dict[str, dict[str, list]]:
    """Return the commands that run what is wanted of unit tests, graders and notebooks, by these kinds.

    long: only properties, with many examples (tests/examples.py), and tests that are marked so. Each may take ten
    times as long.
    """
    pytest = [sys.executable, "-m", "pytest", "-n", WORKERS, "-p", "tests.cpu_seconds"]
    tests = [*pytest, "--dist=loadgroup", f"--timeout={TEST_SECONDS * pace.pace():.0f}"]
    nbval = ["--nbval", f"--nbval-sanitize-with={ROOT / '.ci/sanitize.cfg'}"]
    cells = [*pytest, "--dist=loadfile", *nbval, f"--nbval-cell-timeout={CELL_SECONDS * pace.pace():.0f}"]
    if long:
        patience = 10 * TEST_SECONDS * pace.pace()
        tests += ["--hypothesis-profile=many", f"--timeout={patience:.0f}"]
        where, *marks = [word for word in wanted.graders if word != "-m"] or [""]
        graders = (where, "-m", " and ".join(["long", *marks])) if where else ()
        wanted = Part(f"{wanted.name}, at length", wanted.unit and ("-m", "hypothesis or long", *wanted.unit), graders)
    commands = {
        "unit": [*tests, *wanted.unit],
        # by themselves: they fork a child for each answer, which takes longer where all else has been imported
        "graders": [*tests, *wanted.graders],
        "notebooks": [*cells, "--timeout=0", *wanted.notebooks],
    }
    return {
        kind: {f"{TITLES[kind]} of {wanted.name}": [*command, f"--junitxml={REPORTS / kind}.xml"]}
        for kind, command in commands.items()
        if getattr(wanted, kind)
    }


def within_budget(enforced: bool) -> tuple[bool, float]:
    """Report what each chapter took of its budget; return whether none took far more, and the seconds to find out."""
    start = time.monotonic()
    cases = budget.read(REPORTS)
    print(budget.report(cases))
    overdrawn = budget.overdrawn(cases) if enforced else []
    print(*overdrawn, sep="\n")
    return not overdrawn, time.monotonic() - start


def run(name: str, command: list, elsewhere: Mapping[str, str]) -> tuple[bool, float]:
    """Run one part; return whether it passed and its seconds. elsewhere: settings that notebooks have besides ours."""
    if "--nbval" in command:
        name += f", with {' '.join(f'{key}={value}' for key, value in elsewhere.items())}" if elsewhere else ""
        env = kernels(machines.environment(elsewhere))
    else:
        env = {**environment(), "MPLBACKEND": "Agg"}  # no windows outside notebooks
    print(f"\n== {name}", flush=True)
    env = machines.threads(1) | env  # there are as many tests at a time as cores: more threads wait for each other
    env["PATH"] = f"{BIN}{os.pathsep}{env['PATH']}"
    start = time.monotonic()
    status = subprocess.run([str(word) for word in command], cwd=ROOT, env=env).returncode
    return status == 0, time.monotonic() - start


if __name__ == "__main__":
    sys.exit(main())

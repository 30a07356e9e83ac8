"""What `make test` runs: style, import floors, unit tests, graders, notebooks; then the budget report.

    python .ci/test.py            everything
    python .ci/test.py 9          only the tests, graders and notebook of chapter 9
    python .ci/test.py --lint     only style and floors

Every part runs even if one before it failed, its tests in as many processes as there are cores (4 at most). The exit
status is 0 only if all parts passed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import budget
from chapters import ROOT, WORDS, kernels, keyword_expression, notebooks

REPORTS = ROOT / "build/reports"
NOTHING_SELECTED = 5  # pytest's exit status
BIN = Path(sys.executable).parent
WORKERS = min(os.cpu_count() or 1, 4)  # real ranks need cores, too


def main(argument: str | None) -> int:
    """Run the parts that `argument` asks for and return the exit status."""
    chapter = None if argument in (None, "--lint") else chapter_number(argument)
    parts = {} if chapter else lint_parts()
    if argument != "--lint":
        parts |= test_parts(chapter)
        REPORTS.mkdir(parents=True, exist_ok=True)
        for old in REPORTS.glob("*.xml"):
            old.unlink()
    results = {name: run(name, command) for name, command in parts.items()}
    if argument != "--lint":
        print(budget.report(budget.read(REPORTS)))
    print("\nSummary")
    for name, (ok, seconds) in results.items():
        print(f"  {'passed' if ok else 'FAILED'}  {name} ({seconds:.0f} s)")
    return 0 if all(ok for ok, _ in results.values()) else 1


def chapter_number(argument: str) -> int:
    """Return the chapter that a person typed ("9", "09"); end with one clear line if there is none."""
    if not argument.isdigit() or int(argument) not in WORDS:
        sys.exit(f"CH={argument}: there are chapters 1 to {max(WORDS)}")
    return int(argument)


def lint_parts() -> dict[str, list]:
    """Return the commands that check style and floors."""
    return {
        "style (ruff check)": [BIN / "ruff", "check", "."],
        "format (ruff format --check)": [BIN / "ruff", "format", "--check", "."],
        "import floors (lint-imports)": [BIN / "lint-imports", "--no-logo"],
    }


def test_parts(chapter: int | None) -> dict[str, list]:
    """Return the commands that run tests, graders and notebooks, of one chapter or of all."""
    pytest = [sys.executable, "-m", "pytest", "-n", WORKERS]
    selection = ["-k", keyword_expression(chapter)] if chapter else []
    # graders by themselves: they fork a child for each answer, which takes longer where all else has been imported
    groups = {"unit tests": ["tests", "--ignore=tests/exercises"], "graders": ["tests/exercises"]}
    parts = {
        name: [*pytest, "--dist=loadgroup", *paths, *selection, f"--junitxml={REPORTS / name.replace(' ', '_')}.xml"]
        for name, paths in groups.items()
    }
    if files := notebooks(chapter):
        options = ["--nbval", "--nbval-cell-timeout=120", "-o", "timeout=0", f"--junitxml={REPORTS / 'notebooks.xml'}"]
        parts["notebooks (nbval)"] = [*pytest, "--dist=loadfile", *options, *files]
    return parts


def run(name: str, command: list) -> tuple[bool, float]:
    """Run one part; return whether it passed and its seconds."""
    print(f"\n== {name}", flush=True)
    env = kernels() if "--nbval" in command else {**os.environ, "MPLBACKEND": "Agg"}  # no windows outside notebooks
    env["PATH"] = f"{BIN}{os.pathsep}{env['PATH']}"
    start = time.monotonic()
    status = subprocess.run([str(word) for word in command], cwd=ROOT, env=env).returncode
    return status in (0, NOTHING_SELECTED) if "pytest" in command else status == 0, time.monotonic() - start


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else None))

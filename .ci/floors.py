"""Every package of reference/ is on one floor of the table, and what the table calls missing is missing.

The table is `layers` in pyproject.toml, which import-linter reads; imports themselves are its business.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path

WHERE = 'pyproject.toml, `layers` of the contract "Imports go downward"'


def table(root: Path) -> list[str]:
    """Return the names on all floors from the top down, those of packages to come in parentheses."""
    contracts = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (floors,) = (contract for contract in contracts if contract["id"] == "floors")
    return [name for floor in floors["layers"] for name in re.split(r"\s*[|:]\s*", floor)]


def packages(root: Path) -> set[str]:
    """Return the names of what stands in reference/: modules, and folders with one."""
    there = {path.stem for path in (root / "reference").glob("*.py")} - {"__init__"}
    return there | {path.parent.name for path in (root / "reference").glob("*/__init__.py")}


def faults(root: Path) -> list[str]:
    """Return one line for each package that is on no floor or on two, and for each mark that does not hold."""
    named, there = table(root), packages(root)
    count = Counter(name.strip("()") for name in named)
    return [
        *(f"reference.{name} is on no floor: add it to its floor in {WHERE}" for name in sorted(there - set(count))),
        *(f"reference.{name} is on {times} floors: {WHERE}" for name, times in count.items() if times > 1),
        *(
            f"({name}) is marked as yet to come, and it is there: take the parentheses off in {WHERE}"
            for name in sorted(there)
            if f"({name})" in named
        ),
        *(
            f"{name} is not there: put it into parentheses, or take it out of {WHERE}"
            for name in named
            if not name.startswith("(") and name not in there
        ),
    ]

"""Check the rules of the house that no other tool checks: python .ci/rules.py, or `make lint`.

Each rule is a module with `faults(root)`: one line for each thing that is wrong, which says what to do.
"""

from __future__ import annotations

import sys
from pathlib import Path

import complete
import floors
import labels
import sizes
from chapters import ROOT

RULES = (complete, floors, labels, sizes)


def faults(root: Path = ROOT) -> list[str]:
    """Return everything that breaks a rule."""
    return [fault for rule in RULES for fault in rule.faults(root)]


if __name__ == "__main__":
    found = faults()
    print("\n".join(found) or f"All {len(RULES)} rules hold.")
    sys.exit(bool(found))

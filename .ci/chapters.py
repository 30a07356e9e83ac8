"""Which test belongs to which chapter: one table for `make test CH=9` and for the budget report."""

from __future__ import annotations

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# chapter: words that name its packages and programs in the path of a test (tests/ mirrors reference/)
WORDS = {
    1: ("collectives", "networks", "step_through", "ring_allreduce"),
    2: ("data_parallel", "models", "test_train"),
    3: ("compression", "asynchronous"),
    4: ("precision",),
    5: ("optim",),
    6: ("tensor_parallel",),
    7: ("sequence_parallel",),
    8: ("expert_parallel",),
    9: ("pipeline", "explorer"),
    10: ("zero",),
    11: ("mesh", "planner", "test_plan"),
    12: ("memory",),
    13: ("checkpoint",),
    14: ("realtime",),
    15: ("inference",),
    16: ("graph",),
    17: ("test_simulate",),
    18: ("case_studies",),
}


def notebooks(chapter: int | None = None) -> list[Path]:
    """Return the notebooks of one chapter, or of all."""
    return sorted(ROOT.glob("chapters/*.ipynb" if chapter is None else f"chapters/{chapter:02d}_*.ipynb"))


def kernels() -> dict[str, str]:
    """Return the environment in which notebooks are run: a shell command that fails is an error there."""
    profile = ROOT / "build/ipython/profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_config.py").write_text("get_config().InteractiveShell.system_raise_on_error = True\n")
    return {**os.environ, "IPYTHONDIR": str(profile.parent)}


def keyword_expression(chapter: int) -> str:
    """Return what `pytest -k` needs to select the tests and graders of a chapter."""
    return " or ".join((f"ch{chapter:02d}", *WORDS[chapter]))


def chapter_of(test: str) -> int | None:
    """Return the chapter that a test id such as "tests.collectives.test_ring" counts for; None: the house's own."""
    if found := re.search(r"ch(\d\d)|chapters\W(\d\d)_", test):
        return int(found[1] or found[2])
    parts = test.replace("/", ".").split(".")
    for chapter, words in WORDS.items():
        if any(part in (word, f"test_{word}") for part in parts for word in words):
            return chapter
    return None

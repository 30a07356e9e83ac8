"""What belongs to which chapter: one table for `make test CH=9`, for the budget report and for what must be complete.

A chapter is there when there is a notebook chapters/NN_topic.ipynb. What no chapter claims has the name of its folder
in tests/: `make test CH=worlds`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LEAN = ROOT / ".ci/lean"
SETTINGS = """settings = get_config()
settings.InteractiveShell.system_raise_on_error = True
settings.InlineBackend.figure_formats = {"retina"}
"""

SHARDING = ("carry_out", "devices", "layouts", "operators", "programme", "sharding", "strategies")  # of planner
TESTS = {  # chapter: its packages and modules in tests/, which mirrors reference/
    1: (
        "collectives",
        "pages/test_step_through.py",
        "test_ring_allreduce.py",
        "claims/test_01_collectives.py",
        "production/test_allreduce.py",
    ),
    2: ("claims/test_02_data_parallel.py", "data_parallel", "models", "production/test_ddp.py", "test_train.py"),
    3: ("asynchronous", "compression", "claims/test_03_communication_efficient.py", "production/test_powersgd_hook.py"),
    6: (
        "claims/test_06_tensor_parallel.py",
        *(f"planner/test_{part}.py" for part in SHARDING),
        "production/test_tensor_parallel.py",
        "tensor_parallel",
    ),
    7: ("claims/test_07_sequence_and_context.py", "production/test_context_parallel.py", "sequence_parallel"),
    9: ("claims/test_09_pipelines.py", "pages/test_explorer.py", "pipeline", "production/test_pipeline.py"),
    10: (
        "claims/test_10_zero.py",
        "pages/test_stage_table.py",
        "production/test_fully_shard.py",
        "test_memory.py",
        "tiers",
        "zero",
    ),
    11: (
        "claims/test_11_layouts_3d_4d.py",
        "mesh",
        "pages/test_plan_table.py",
        "planner",  # but for what chapter 6 has
        "production/test_device_mesh.py",
        "rebalance",
        "test_plan.py",
    ),
    12: ("caching", "claims/test_12_memory_tiers.py", "recompute"),
    13: (
        "checkpoint",
        "claims/test_13_checkpointing.py",
        "failures",
        "layouts/test_checkpoints.py",
        "production/test_checkpoint.py",
        "raft",
        "recovery",
        "test_crashes.py",
        "test_supervise.py",
    ),
    14: ("production/test_deadline_serving.py", "realtime", "test_drive.py"),
}


class Part(NamedTuple):
    """What can be tested by itself: arguments of pytest for unit tests, for tests of graders, and for notebooks."""

    name: str
    unit: tuple[str, ...] = ()
    graders: tuple[str, ...] = ()
    notebooks: tuple[str, ...] = ()


def notebooks(chapter: int | None = None, root: Path = ROOT) -> list[Path]:
    """Return the notebooks of one chapter, or of all."""
    return sorted(root.glob("chapters/*.ipynb" if chapter is None else f"chapters/{chapter:02d}_*.ipynb"))


def numbers(root: Path = ROOT) -> list[int]:
    """Return the numbers of the chapters that are there."""
    found = (re.match(r"(\d\d)_", notebook.name) for notebook in notebooks(root=root))
    return sorted({int(match[1]) for match in found if match})


def names(root: Path = ROOT) -> dict[str, str]:
    """Return the folders and modules of tests/ by the names that a person types: "worlds", "train"."""
    folders = {path.parent.name: path.parent for path in sorted(root.glob("tests/*/__init__.py"))}
    modules = {path.stem.removeprefix("test_"): path for path in sorted(root.glob("tests/test_*.py"))}
    with_tests = {name: path for name, path in folders.items() if any(path.rglob("test_*.py"))}
    return {name: path.relative_to(root).as_posix() for name, path in (modules | with_tests).items()}


def everything(root: Path = ROOT) -> Part:
    """Return all that there is."""
    books = tuple(str(notebook) for notebook in notebooks(root=root))
    return Part("everything", ("tests", "--ignore=tests/exercises"), ("tests/exercises",), books)


def chapter(number: int, root: Path = ROOT) -> Part:
    """Return what belongs to a chapter: tests by their paths, tests of graders by a mark, and its notebooks."""
    has_exercises = any(root.glob(f"exercises/ch{number:02d}_*.py"))
    graders = ("tests/exercises", "-m", f"chapter(number={number})") if has_exercises else ()
    books = tuple(str(notebook) for notebook in notebooks(number, root))
    return Part(f"chapter {number}", tuple(f"tests/{path}" for path in TESTS.get(number, ())), graders, books)


def part(typed: str, root: Path = ROOT) -> Part:
    """Return what a person means by "9", "09" or "worlds". Raises ValueError, with what there is, for anything else."""
    there, named = numbers(root), names(root)
    if typed.isdecimal() and int(typed) in there:
        return chapter(int(typed), root)
    if typed == "exercises":
        return Part(typed, graders=(named[typed],))
    if typed in named:
        return Part(typed, (named[typed],))
    what = f"there is no chapter {int(typed)} yet" if typed.isdecimal() else f"there is nothing called {typed!r}"
    raise ValueError(
        f"CH={typed}: {what}. There are the chapters {', '.join(map(str, there))} and, in tests/, {', '.join(named)}"
    )


def known(typed: str) -> Part:
    """Return the part of that name; end the program with one clear line if there is none."""
    try:
        return part(typed)
    except ValueError as error:
        sys.exit(str(error))


def claimed_by(test: str) -> int | str:
    """Return the chapter that claims a test, such as "tests.collectives.test_ring.test_it"; else its folder's name."""
    if found := re.match(r"chapters\W(\d\d)_", test):
        return int(found[1])
    path = test.split("[")[0].replace(".", "/")
    for chapter, claims in TESTS.items():
        if any(f"{path}/".startswith(f"tests/{claim.removesuffix('.py')}/") for claim in claims):
            return chapter
    parts = path.split("/")
    return parts[1].removeprefix("test_") if parts[0] == "tests" else Path(parts[1]).stem


def environment(ours: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment of tests and notebooks: the many processes that they start compile a module once only.

    They are also spared the import of torch's compiler (lean/sitecustomize.py), unless PYTHONPATH has another
    sitecustomize in front. ours: the variables that they have otherwise.
    """
    kept = {name: value for name, value in ours.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPATH": os.pathsep.join([*filter(None, [kept.get("PYTHONPATH")]), str(LEAN)])}


def kernels(ours: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment of notebooks: a shell command that fails is an error, figures have twice the pixels."""
    profile = ROOT / "build/ipython/profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_config.py").write_text(SETTINGS)
    return {**environment(ours), "IPYTHONDIR": str(profile.parent)}

"""mpi4py's own tests on both worlds: what is offered passes. All of them at night, a sample here.

They come from mpi4py's source distribution (source.py: fetched once from the package index, version and hash pinned).
"""

import pytest

from tests.conformance.runs import FILES, NOT_RUN, RUNS, WORLDS, run_file
from tests.conformance.source import folder
from tests.conformance.table import HERE, stored, text

WORLD = [pytest.param(world, marks=[pytest.mark.mpi] if world == "mpi" else []) for world in WORLDS]
SAMPLE = ["test_msgzero", "test_cco_obj", "test_status"]


@pytest.mark.parametrize("world", WORLD)
@pytest.mark.parametrize("file", SAMPLE)
def test_a_sample(file, world):
    counts, _, failures = run_file(file, 2, world)
    assert not failures, "\n\n".join(failures)
    assert dict(counts) == stored()[f"{world} {file} 2"]["counts"]


@pytest.mark.long
@pytest.mark.parametrize("world", WORLD)
@pytest.mark.parametrize("file, ranks", RUNS)
def test_all(file, ranks, world):
    counts, reasons, failures = run_file(file, ranks, world)
    assert not failures, "\n\n".join(failures)
    expected = {"counts": dict(counts), "reasons": dict(reasons)}
    assert stored()[f"{world} {file} {ranks}"] == expected, "python -m tests.conformance.table writes the table anew"


def test_the_table_is_that_of_the_results():
    assert (HERE / "table.md").read_text() == text(stored())
    assert all("failed" not in run["counts"] for run in stored().values())


def test_every_file_of_mpi4pys_tests_is_run_or_has_a_reason():
    there = {path.stem for path in folder().glob("test_*.py")}
    assert there == {*FILES, *(f"test_{name}" for names in NOT_RUN.values() for name in names.split())}
    assert stored().keys() == {f"{w} {f} {r}" for w in WORLDS for f, r in RUNS}

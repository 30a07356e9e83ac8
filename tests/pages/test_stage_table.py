"""The table of stages for one's own numbers: the formulas' numbers, and words for those that make no sense."""

import json
import subprocess
import sys

import pytest

from reference.pages.live import answer
from reference.pages.stage_table import AGAINST, stage_table
from reference.perf.recipes import ADAM_MIXED
from reference.zero.memory import Setting, peak, states
from reference.zero.sizing import equal_units

NUMBERS = {"parameters": 7.0, "ranks": 64, "weights": 2, "gradients": 2, "optimizer": 12, "units": 32}
NUMBERS |= {"width": 4096, "tokens": 4096, "recompute": 0, "per_node": 8, "memory": 80.0}


def rows(**other):
    return {row["what is cut"]: row for row in stage_table(**NUMBERS | other)}


def test_the_stages_are_those_of_the_formulas():
    found = rows()
    for stage, name in enumerate(name for name in found if name.startswith("stage") and name[7] == ":"):
        setting = Setting(equal_units(7 * 10**9, 32), 64, stage, ADAM_MIXED, activations=(34 * 4096 * 4096,) * 32)
        assert found[name]["peak (GB)"] == pytest.approx(peak(setting).held.total / 1e9, rel=1e-3)
        assert found[name]["states (GB)"] <= states(7, stage, 64) * 1.001
        assert found[name]["sends (GB)"] == pytest.approx((3 if stage == 3 else 2) * 63 / 64 * 14, rel=1e-3)
    assert len(found) == 8 and "stage 3 in nodes of 8" in found


def test_what_does_not_fit_is_told_by_how_much():
    found = rows(memory=40.0)
    for row in found.values():
        assert bool(row[AGAINST]) == (row["peak (GB)"] > 40)
    worst = found["stage 0: data parallelism"]
    assert worst[AGAINST] == f"{worst['peak (GB)'] / 40:.2f} times the memory"


def test_nodes_are_a_way_only_where_they_divide_the_ranks():
    assert len(rows(per_node=64)) == len(rows(per_node=1)) == len(rows(per_node=5)) == 7


@pytest.mark.parametrize(
    "given, said",
    [
        ({"parameters": 0.0}, "parameters and memory are above 0"),
        ({"parameters": 1e-9, "units": 2}, "units are from 1 to 1, got 2"),
        ({"memory": -1.0}, "parameters and memory are above 0"),
        ({"weights": 0}, "bytes a parameter are"),
        ({"recompute": 2}, "recompute is 0 or 1"),
        ({"units": 161}, "there are 1 to 160 units"),
        ({"per_node": 0}, "1 rank a node or more"),
        ({"ranks": 0}, "ranks are 1 or more, got 0"),
        ({"tokens": -1}, "tokens are 0 or more, got -1"),
    ],
)
def test_numbers_that_cannot_be_are_refused(given, said):
    with pytest.raises(ValueError, match=said):
        stage_table(**NUMBERS | given)


def test_a_page_can_ask_for_it_without_numpy():
    call = {"call": "reference.pages.stage_table.stage_table", "given": NUMBERS}
    question = {"call": "reference.pages.form.shown", "given": call}
    assert "stage 3: and weights" in json.loads(answer(json.dumps(question)))["value"]
    code = "import sys, reference.pages.stage_table; print({'numpy', 'torch', 'mpi4py'} & {*sys.modules})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"

"""The planner's table for one's own numbers: the program's layouts, and words for numbers that make no sense."""

import json
import subprocess
import sys

import pytest

from reference.pages.live import answer
from reference.pages.plan_table import ROWS, plan_table
from reference.planner.architecture import architecture
from reference.planner.cluster import cluster
from reference.planner.search.exhaustive import exhaustive
from reference.planner.search.space import LayoutSpace

LLAMA, H100 = architecture("llama3-70b"), cluster("dgx-h100")
FIELDS = ("layers", "width", "heads", "kv_heads", "feed_forward", "vocabulary", "length")
NUMBERS = {name: getattr(LLAMA, name) for name in FIELDS} | {"gated": 1, "accelerators": 64, "global_batch": 512}
NUMBERS |= {"per_node": 8, "memory": 80.0, "flops": 989.0, "bandwidth": 3350.0, "inside": 450.0, "between": 50.0}
NUMBERS |= {"efficiency": 0.6}


def test_its_rows_are_those_of_the_search():
    rows = plan_table(**NUMBERS)
    device = H100.accelerator._replace(flops=989e12, bandwidth=3350e9)
    levels = tuple(level._replace(latency=5e-6, efficiency=1.0) for level in H100.levels)
    machine = H100._replace(accelerator=device, levels=levels, memory=80e9, matmul=0.6, attention=0.4)
    machine = machine._replace(memory_efficiency=type(machine)._field_defaults["memory_efficiency"])
    best = exhaustive(LayoutSpace(LLAMA, machine, 64, 512), ROWS).best
    assert [row["seconds"] for row in rows] == [pytest.approx(one.seconds.total, rel=0.01) for one in best]
    axes = "data", "tensor", "stages", "context"
    assert [tuple(row[axis] for axis in axes) for row in rows] == [one.spec[:4] for one in best]
    assert all(row["GB a rank"] <= 80 for row in rows)


@pytest.mark.parametrize(
    "given, said",
    [
        ({"layers": 0}, "layers is a whole number from 1 to 1,000, got 0"),
        ({"accelerators": 200_000}, "accelerators is a whole number from 1 to 131,072"),
        ({"gated": 2}, "gated is 0 or 1"),
        ({"memory": 0.0}, "memory, FLOPs and bandwidths are above 0"),
        ({"efficiency": 1.5}, "efficiency is above 0 and at most 1"),
        ({"heads": 63}, "63 heads must divide the width 8192"),
        ({"accelerators": 13}, "no degrees multiply to 13 accelerators"),
        ({"memory": 8.0}, "nothing fits: the layout that needs least holds"),
    ],
)
def test_numbers_that_cannot_be_are_refused(given, said):
    with pytest.raises(ValueError, match=said):
        plan_table(**NUMBERS | given)


def test_a_page_can_ask_for_it_without_numpy():
    call = {"call": "reference.pages.plan_table.plan_table", "given": NUMBERS}
    question = {"call": "reference.pages.form.shown", "given": call}
    assert "largest loss" in json.loads(answer(json.dumps(question)))["value"]
    code = "import sys, reference.pages.plan_table; print({'numpy', 'torch', 'mpi4py'} & {*sys.modules})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"

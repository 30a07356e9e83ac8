"""Claims of the pages of chapter 10, each with runs that could refute it."""

from functools import partial

import pytest

from reference.pages.stage_table import AGAINST, stage_table
from reference.worlds import launch
from reference.zero.criterion import Job, Machine, best, plan
from reference.zero.observed import observe

H100 = Machine(flops=400e12, memory=80e9, alpha=5e-6, beta=1 / 50e9)
NUMBERS = {"weights": 2, "gradients": 2, "optimizer": 12, "per_node": 8, "memory": 80.0}


# Sizing ---------------------------------------------------------------------------------------------------------------


def fitting(**numbers):
    return [row["what is cut"] for row in stage_table(**NUMBERS | numbers) if not row[AGAINST]]


def test_of_70b_on_64_ranks_stage_3_alone_fits_if_activations_are_computed_again():
    seventy = {"parameters": 70.0, "ranks": 64, "units": 80, "width": 8192, "tokens": 4096}
    assert fitting(**seventy, recompute=0) == []
    assert fitting(**seventy, recompute=1) == ["stage 3: and weights", "stage 3, all offloaded"]


@pytest.mark.parametrize("ranks", [64, 4096, 10**6])
def test_no_stage_cuts_activations(ranks):
    seven = {"parameters": 7.0, "units": 32, "width": 4096, "tokens": 100_000, "recompute": 0}
    assert fitting(**seven, ranks=ranks) == []


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_zero_has_no_all_reduce_of_gradients(stage):
    """E2-04: the all-reduces of two steps more are two counts of samples, of 8 bytes; no point-to-point messages."""
    two, four = (launch(partial(observe, stage=stage, steps=steps), 3).calls[0] for steps in (2, 4))
    more = four - two
    names = {name.lower().removeprefix("i") for name in more if name.lower().startswith(("i", "all", "reduce"))}
    assert names == {"allgather", "reduce_scatter_block", "allreduce"}
    assert not [name for name in more if "send" in name.lower() or "recv" in name.lower()]
    assert sum(times for name, times in more.items() if "allreduce" in name.lower()) == 2


def test_the_decision_for_64_accelerators():
    seven = Job(32, 7 * 10**9 // 32, 16 * 4096, 34 * 4096)
    one, three, few = (plan(seven, stage, 64, H100, K) for stage, K in ((1, 16), (3, 8), (3, 16)))
    assert one.seconds < 1.03 * three.seconds and few.seconds > 1.9 * one.seconds
    seventy = Job(80, 70 * 10**9 // 80, 16 * 4096, 2 * 8192, 34 * 8192)
    again = H100._replace(flops=300e12)
    assert best(seventy, 64, again, 16).stage == 3
    assert best(seventy._replace(kept=34 * 8192, working=0), 64, H100, 16) is None

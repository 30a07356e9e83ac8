"""Published rates: sums that their sources print."""

import math

import pytest

from reference.failures.published import llama3_interruptions, runs


def test_the_causes_add_up_to_the_interruptions():
    causes = llama3_interruptions()
    assert sum(causes.values()) == runs()[0].failures == 419
    assert causes["Faulty GPU"] / 419 == pytest.approx(0.353, abs=5e-4)  # the table prints 30.1 %


def test_rates_and_means():
    llama = runs()[0]
    assert (llama.gpus, llama.days) == (16384, 54)
    assert llama.mtbf() == pytest.approx(54 * 24 / 419)
    assert llama.rate == pytest.approx(4.74e-4, rel=1e-3)
    assert llama.mtbf(2 * llama.gpus) == pytest.approx(llama.mtbf() / 2)


def test_rsc_1_projects_what_its_authors_do():
    """6.5 failures in 1,000 node-days are 1.8 h for 16,384 GPUs."""
    (rsc,) = (run for run in runs() if run.run == "RSC-1")
    assert rsc.mtbf(16384) == pytest.approx(1.8, abs=0.01)


def test_every_run_names_its_source():
    assert all(run.source and run.counted and run.seen for run in runs())


def test_e3_41_what_five_minutes_cost_depends_on_the_number_of_machines():
    lost = [1 - math.exp(-5 / 60 / runs()[0].mtbf(gpus)) for gpus in (64, 16384, 100000)]
    assert lost == pytest.approx([1e-4, 0.027, 0.152], rel=0.06)

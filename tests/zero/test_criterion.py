"""The criterion: its seconds against the virtual cluster's clock, its choice against every plan and against runs."""

import csv
from math import inf
from pathlib import Path

import numpy as np
import pytest

from reference.mpi import compute, wtime
from reference.perf.recipes import ADAM, ADAM_MIXED
from reference.worlds import launch, networks
from reference.zero.criterion import (
    Machine,
    Workload,
    best,
    ends,
    hidden_from,
    message,
    plan,
    setting,
    step_seconds,
    units_in_turn,
)
from reference.zero.memory import peak, states

DATA = Path(__file__).parents[2] / "chapters/data"
A100 = Machine(0.6 * 312e12, 80e9, 5e-6, 1 / 50e9)
ALPHA, BETA = 1e-6, 1e-9


def one_pass(comm, units, n, seconds, before, after):
    """Units in turn: gather the next one while this one computes, then reduce its gradients."""
    own, received = np.zeros(n, np.float32), np.zeros(n, np.float32)
    whole = [np.zeros(n * comm.size, np.float32) for _ in range(units)]
    coming = [comm.Iallgather(own, whole[0])] if before else []
    leaving = []
    for i in range(units):
        while coming:
            coming.pop().Wait()
        if before and i + 1 < units:
            coming.append(comm.Iallgather(own, whole[i + 1]))
        compute(comm, seconds)
        while leaving:
            leaving.pop().Wait()
        if after:
            leaving.append(comm.Ireduce_scatter_block(whole[i], received))
    while leaving:
        leaving.pop().Wait()
    return wtime(comm)


@pytest.mark.parametrize("P", [1, 2, 5])
@pytest.mark.parametrize("seconds", [1e-6, 6e-4, 3e-3], ids=["network first", "even", "compute first"])
@pytest.mark.parametrize("before, after", [(1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("units", [1, 4])
def test_units_in_turn_are_the_clock_of_the_virtual_cluster(P, seconds, before, after, units):
    network = networks.uniform(alpha=ALPHA, beta=BETA, gap=inf)
    clock = launch(one_pass, P, units, 50_000, seconds, before, after, network=network).seconds
    each = message(Machine(1, 1, ALPHA, BETA), P, 50_000 * P, 4)
    assert clock == pytest.approx(units_in_turn(units, seconds, before * each, after * each))


def test_where_all_is_hidden_stage_3_costs_a_message_or_two():
    job = Workload(64, 10**8, 10**6)
    alone = 6 * job.parameters * job.tokens / A100.flops
    each = message(A100, 128, 10**8, 2)
    assert step_seconds(job, 3, 128, A100) == pytest.approx(alone + 3 * each)
    assert step_seconds(job, 0, 128, A100) == pytest.approx(alone + 2 * each)
    assert step_seconds(job, 1, 128, A100) == pytest.approx(alone + 65 * each), "new weights arrive after the step"
    assert step_seconds(job, 1, 128, A100, ahead=True) == pytest.approx(alone + 2 * each)


def test_where_nothing_is_hidden_it_costs_half_as_much_again():
    job = Workload(64, 10**8, 1)
    seconds = [step_seconds(job, stage, 128, A100) for stage in range(4)]
    assert seconds[3] / seconds[1] == pytest.approx(1.5, rel=0.02)
    assert seconds[1] == pytest.approx(seconds[2]) == pytest.approx(seconds[0], rel=0.02)


def test_stage_2_pays_for_each_micro_batch_and_stage_1_does_not():
    job, each = Workload(64, 10**8, 8), message(A100, 128, 10**8, 2)
    more = {stage: step_seconds(job, stage, 128, A100, 8) - step_seconds(job, stage, 128, A100) for stage in (1, 2, 3)}
    assert more[1] < each
    assert more[2] == pytest.approx(7 * 64 * each, rel=0.02)
    assert more[3] == pytest.approx(7 * 3 * 64 * each, rel=0.02)


@pytest.mark.parametrize("parameters", [10**6, 10**8, 10**9])
def test_the_tokens_from_which_stage_3_waits_for_nothing_do_not_depend_on_the_parameters(parameters):
    """E0-39: F beta, whatever the size, but for latencies."""
    network = A100._replace(alpha=0)
    assert hidden_from(network, 128, parameters) == pytest.approx(127 / 128 * A100.flops * A100.beta, rel=1e-4)
    edge = hidden_from(network, 128, parameters)
    for tokens, waits in ((edge * 1.01, False), (edge * 0.9, True)):
        job = Workload(64, parameters, tokens)
        alone = 6 * job.parameters * tokens / A100.flops
        over = step_seconds(job, 3, 128, network) - alone
        assert (over > 4 * message(network, 128, parameters, 2)) == waits
    assert hidden_from(A100, 128, 10**6) > 1.5 * edge, "in small units latencies count"


@pytest.mark.parametrize("stage", range(4))
@pytest.mark.parametrize("kept", [0, 10.0, 1e4])
@pytest.mark.parametrize("units", [1, 2, 5, 40])
def test_the_peak_is_found_near_the_ends(stage, kept, units):
    within = setting(Workload(units, 1000, 8, kept, 5.0, ADAM), stage, 16)
    assert peak(within, ends(within)).held == peak(within).held


def test_the_best_is_the_fastest_that_fits():
    for parameters in (10**7, 2 * 10**8, 10**9):
        for tokens in (64, 4096, 2**16):
            job = Workload(64, parameters, tokens, kept=2 * 8192)
            every = [plan(job, stage, 128, A100, K) for stage in range(4) for K in (1, 2, 4, 8, 16, 32, 64)]
            fitting = [one for one in every if one.nbytes <= A100.memory]
            found = best(job, 128, A100)
            assert found in fitting and found.seconds <= 1.001 * min(one.seconds for one in fitting)
            assert all(one.stage >= found.stage for one in fitting if one.seconds < 0.999 * found.seconds)
    assert best(Workload(64, 10**11, 64), 128, A100) is None


def test_ten_billion_is_no_border():
    """E0-39: the same model at stage 1, 2 or 3, by ranks and memory; the same stage for models from 1B to 70B."""

    def stage(billions, ranks, memory):
        return best(Workload(64, int(billions * 1e9) // 64, 8192), ranks, A100._replace(memory=memory * 1e9)).stage

    assert [stage(7, 64, memory) for memory in (160, 80, 20, 10)] == [0, 3, 3, 3], "tokens enough to hide gathers"
    assert [stage(30, ranks, 141) for ranks in (64, 8, 4)] == [3, 3, 3]
    assert stage(7, 8, 24) == 3, "below 10B, and it takes stage 3"

    def few_tokens(billions, ranks, memory):
        job = Workload(64, int(billions * 1e9) // 64, 512)
        return best(job, ranks, A100._replace(memory=memory * 1e9)).stage

    assert [few_tokens(7, 64, memory) for memory in (160, 80, 20, 10)] == [0, 1, 2, 3]
    assert [few_tokens(30, ranks, 141) for ranks in (64, 8, 4)] == [1, 2, 3], "above 10B, and stage 1 may do"


# Published runs -------------------------------------------------------------------------------------------------------

RUNS = list(csv.DictReader((DATA / "zero_runs.csv").open()))


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run['source']} {run['parameters_B']}B {run['accelerator']}")
def test_what_was_run_fits_by_the_formula(run):
    """Hybrid shards are cut among the 8 ranks of a node."""
    ranks = 8 if "nodes" in run["stage"] else int(run["ranks"])
    assert states(float(run["parameters_B"]), int(run["stage"][0]), ranks, ADAM_MIXED) < float(run["memory_GB"])


def test_stage_2_was_run_above_ten_billion_and_stage_3_below():
    sizes = {stage: [float(run["parameters_B"]) for run in RUNS if run["stage"][0] == stage] for stage in "23"}
    assert max(sizes["2"]) == 13 and min(sizes["3"]) == 7
    assert states(14.4, 2, 64) == pytest.approx(32, rel=0.002), "the border was the memory: 14.4B in 32 GB"

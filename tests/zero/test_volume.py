"""The volume of ZeRO: against the bytes that collectives count on the virtual cluster, and the paper's table."""

import numpy as np
import pytest

from reference.perf.recipes import ADAM, Recipe
from reference.worlds import launch
from reference.zero.memory import Setting
from reference.zero.volume import Calls, allreduce, between_nodes, calls, in_psi, sent

GROUPS = (10, 7, 16)


def carry_out(comm, setting, K, each):
    """The collectives of a step, as `calls` counts them, on arrays of the right sizes."""
    count = calls(setting, K, each)
    shard = comm.Split(comm.rank // setting.S, comm.rank)
    across = comm.Split(comm.rank % setting.S, comm.rank)
    for n in setting.shards:
        own, whole = np.zeros(n, np.float32), np.zeros(n * setting.S, np.float32)
        if setting.stage == 0:
            comm.Allreduce(own.copy(), own)
            continue
        for _ in range(count.forward + count.backward):
            shard.Allgather(own, whole)
        for _ in range(count.reduces):
            shard.Reduce_scatter_block(whole, own)
        across.Allreduce(own.copy(), own)


def bytes_sent(P, *given):
    idle = launch(lambda comm: [comm.Split(comm.rank, 0) for _ in range(2)], P).bytes_sent
    return np.subtract(launch(carry_out, P, *given).bytes_sent, idle)


@pytest.mark.parametrize("stage", range(4))
@pytest.mark.parametrize(
    "P, K, each, reshard", [*((P, 1, True, True) for P in (1, 2, 5, 8)), (3, 3, True, False), (3, 3, False, True)]
)
def test_counted_bytes_are_the_formula(P, stage, K, each, reshard):
    setting = Setting(GROUPS, P, stage, ADAM, reshard=reshard)
    counted = bytes_sent(P, setting, K, each)
    assert counted.mean() == pytest.approx(sent(setting, K, each).total)
    if stage:
        assert set(counted) == {sent(setting, K, each).total}, "the same on every rank: shards are padded"


@pytest.mark.parametrize("P, S", [(4, 2), (8, 4), (8, 1), (6, 3)])
def test_counted_bytes_of_hybrid_sharding(P, S):
    setting = Setting(GROUPS, P, 3, ADAM, shard_group=S)
    assert bytes_sent(P, setting, 1, True).mean() == pytest.approx(sent(setting).total)


@pytest.mark.parametrize("stage, psi", [(0, 2), (1, 2), (2, 2), (3, 3)])
def test_the_papers_volumes(stage, psi):
    setting = Setting((64, 32), 8, stage)
    assert in_psi(setting) == psi
    assert sent(setting).total == pytest.approx(psi * 7 / 8 * 96 * 2)


def test_what_micro_batches_cost():
    """E0-26: the same as data parallelism if gradients are reduced once; a reduce-scatter for each, and it is not."""
    K = 4
    setting = {stage: Setting((64,), 8, stage) for stage in range(4)}
    assert [in_psi(setting[stage], K) for stage in range(4)] == [2, 2, K + 1, 3 * K]
    assert [in_psi(setting[stage], K, each=False) for stage in range(4)] == [2, 2, 2, 2 * K + 1]
    assert in_psi(setting[3]._replace(reshard=False), K) == 2 * K
    assert calls(setting[3], K) == Calls(K, K, K)


def test_a_second_copy_keeps_backward_gathers_inside_the_node():
    plain, near = Setting((64,), 16, 3), Setting((64,), 16, 3, secondary=8)
    assert sent(plain).gathers == 2 * sent(near).gathers and sent(near).inside == 2 * 7 * 64 // 8
    assert sent(near).reduces == sent(plain).reduces


def test_zero_plus_plus_sends_a_quarter_across_nodes():
    """Wang et al. (2023), table 1: 3 M becomes 0.75 M with weights of 8 bits and gradients of 4 (scales left out)."""
    setting = Setting((64,), 16, 3, secondary=8)
    found = sent(setting, weights=lambda n: n, gradients=lambda n: n / 2)
    plain = sent(Setting((64,), 16, 3))
    assert (found.gathers + found.reduces) / plain.total == pytest.approx(0.75 / 3)


def test_in_two_levels_fewer_gradients_cross_nodes():
    for P, L in ((16, 4), (16, 8), (8, 8)):
        assert between_nodes(P, L, 10, levels=False) == (P - L) * 10
        assert between_nodes(P, L, 10, levels=True) == (P // L - 1) * 10
    with pytest.raises(ValueError, match="3 ranks a node must divide 16"):
        between_nodes(16, 3, 1, True)


def test_reduce_scatter_instead_of_all_reduce_saves_nothing_by_itself():
    """E2-31: what the reduce-scatter does not send, the all-gather of the weights does."""
    for recipe in (ADAM, Recipe(2, 2, 12)):
        setting = Setting((64,), 8, 2, recipe)
        assert sent(setting).reduces == sent(setting).total / 2
        assert sent(setting).total == allreduce(8, 64) * recipe.gradients


def test_no_step_has_no_micro_batch():
    with pytest.raises(ValueError, match="at least 1 micro-batch, got 0"):
        sent(Setting((8,), 2, 1), K=0)

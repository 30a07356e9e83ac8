"""Hybrid shards: the serial program's weights, shards of a node, bytes inside and across."""

from functools import partial

import pytest
import torch

from reference.models import MLP, Data, loss_sum
from reference.worlds import launch
from reference.zero.hybrid import HybridResident, Then, hybrid, nodes
from reference.zero.shards import by_rows, flat
from reference.zero.stage1 import Stage1
from reference.zero.stage2 import Stage2
from reference.zero.stage3 import Stage3

from .test_stage3 import agrees, training
from .training import MODELS, OPTIMIZERS, STEPS, my_batch, weights


def hybrid_training(comm, S, **options):
    return training(comm, make_group=hybrid(comm, S), **options)


@pytest.mark.parametrize("P, S", [(4, 2), (3, 1), (2, 2)])
def test_training_is_that_of_the_serial_program(P, S):
    run = launch(hybrid_training, P, S)
    assert agrees(run)
    assert all(torch.equal(found, run.results[0]) for found in run.results)


@pytest.mark.mpi
def test_so_it_is_on_real_ranks_with_micro_batches():
    assert agrees(launch(partial(hybrid_training, micro_batches=2), 4, 2, world="mpi"))


@pytest.mark.parametrize("stage, cut", [(Stage1, flat), (Stage2, by_rows), (Stage2, flat)])
def test_so_it_is_in_stages_1_and_2(stage, cut):
    def program(comm):
        module = MODELS["mlp"][0]()
        trained = stage(
            comm, module, OPTIMIZERS["momentum"], cut, bucket_bytes=4000, make_group=hybrid(comm, 2, HybridResident)
        )
        for step in range(STEPS):
            trained.backward(*loss_sum(module, my_batch("mlp", comm, step)))
            trained.step()
        return weights(module.parameters())

    run = launch(program, 4)
    assert agrees(run) and all(torch.equal(found, run.results[0]) for found in run.results)


def sends(comm, steps, S):
    module = MLP((64, 16, 10), seed=0)
    stage = Stage3(comm, module, torch.optim.SGD, cut=flat, make_group=hybrid(comm, S))
    for _ in range(steps):
        stage.backward(*loss_sum(module, Data(torch.ones(2, 64), torch.ones(2).long())))
        stage.step(clip=1.0)
    return [group.n for group in stage.groups if group.n]


@pytest.mark.parametrize("P, S", [(4, 2), (6, 2), (4, 4)])
def test_three_times_the_shard_inside_and_an_all_reduce_of_it_across(P, S):
    one, two = (launch(sends, P, steps, S) for steps in (1, 2))
    R = P // S
    inside = sum(3 * (S - 1) * n * 4 for n in one.results[0])
    across = sum(2 * (R - 1) * -(-n // R) * 4 for n in one.results[0])
    small = 2 * 8 * 6  # count and norm
    for a, b in zip(one.bytes_sent, two.bytes_sent):
        assert inside + across - 4 * 2 * R * 4 <= b - a <= inside + across + small


def test_the_two_groups_have_names_and_a_rank_is_in_both():
    def program(comm):
        inside, across = nodes(comm, 3)
        return inside.Get_name(), inside.allgather(comm.rank), across.Get_name(), across.allgather(comm.rank)

    assert launch(program, 6).results[4] == ("shard", [3, 4, 5], "replicate", [1, 4])


@pytest.mark.parametrize("S, message", [(4, "a node of 4 ranks, and 6 are running"), (0, "at least 1 rank, got 0")])
def test_nodes_that_do_not_fit(S, message):
    def program(comm):
        with pytest.raises(ValueError, match=message):
            hybrid(comm, S)

    launch(program, 6)


def test_a_request_and_the_one_after_it():
    class Asked:
        def __init__(self, times):
            self.times = times

        def Test(self):
            self.times -= 1
            return self.times < 0

    request = Then(Asked(1), lambda: Asked(1))
    assert [request.Test() for _ in range(4)] == [False, False, True, True]

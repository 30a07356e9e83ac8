"""ZeRO++: bytes by formula, errors within their bounds, training no worse than it is said to be."""

from functools import partial

import pytest
import torch
from torch import nn

from reference.models import MLP, Data, batch, digits, loss_sum, mean_loss
from reference.worlds import launch
from reference.zero.plus_plus import PlusPlusGroup, blocks, plus_plus
from reference.zero.shards import flat
from reference.zero.stage3 import Stage3

from .test_stage3 import agrees, training
from .training import whole_weights


def numbers(rank, size=700):
    return torch.randn(size, generator=torch.Generator().manual_seed(rank))


def one_group(comm, S, **how):
    """A group, gathered twice, and its gradients reduced; of each the exact values too."""
    (group,) = groups = [plus_plus(comm, S, **how)(comm, [nn.Parameter(numbers(99))], flat)]
    assert all(type(group) is PlusPlusGroup for group in groups)
    found = []
    for again in (False, True):
        group.free()
        gathered, request = group.start_gather(again)
        request.Wait()
        group.install(gathered)
        found.append(group.parameters[0].detach().clone())
    group.parameters[0].grad = numbers(comm.rank)
    group.reduce()
    own = group.sharding.piece(comm.rank, 0)
    return found, group.gradient[: own.stop - own.start], own, group.n


@pytest.mark.parametrize("P, S", [(4, 2), (6, 3), (4, 4), (4, 1)])
def test_errors_are_within_their_bounds_and_bytes_are_those_of_the_formula(P, S):
    run, R = launch(one_group, P, S), P // S
    exact, total = numbers(99), sum(map(numbers, range(P)))
    largest = max(numbers(rank).abs().max() for rank in range(P))
    for (first, again), gradient, own, _ in run.results:
        assert torch.equal(first, again) and torch.equal(first, run.results[0][0][0])  # the same on all ranks
        assert 0 < (first - exact).abs().max() <= exact.abs().max() / 254 * (1 + 1e-5)
        hop = S * largest / 14
        assert (gradient - total[own]).abs().max() <= R * hop + R * (S * largest + hop) / 14
    n, eight, four = run.results[0][3], blocks(8).nbytes, blocks(4).nbytes
    gathers = (P - 1) * eight(n) + (S - 1) * R * n * 4
    reduces = (S - 1) * four(R * n) + (R - 1) * four(n)
    assert run.bytes_sent == [gathers + reduces] * P


def test_without_rounding_it_is_stage_3():
    exact = {"weight_bits": None, "gradient_bits": None}

    def program(comm):
        return training(comm, make_group=plus_plus(comm, 2, **exact))

    assert agrees(launch(program, 4))
    (first, again), gradient, own, _ = launch(partial(one_group, **exact), 4, 2).results[3]
    assert torch.equal(first, numbers(99)) and torch.equal(again, first)
    torch.testing.assert_close(gradient, sum(map(numbers, range(4)))[own])


def test_without_a_second_copy_the_backward_gather_goes_through_all_ranks():
    with_copy, without = (launch(partial(one_group, second=second), 4, 2) for second in (True, False))
    n, eight = with_copy.results[0][3], blocks(8).nbytes
    assert without.bytes_sent[0] - with_copy.bytes_sent[0] == 3 * eight(n) - 2 * n * 4


SIZE = 32


def learn(comm, seed, S):
    """The loss after 20 steps."""
    module = MLP((64, 32, 10), seed=seed)
    options = {"make_group": plus_plus(comm, S)} if S else {}
    stage = Stage3(comm, module, partial(torch.optim.Adam, lr=5e-3), **options)
    data = Data(digits().x[:400], digits().y[:400])
    for step in range(20):
        stage.backward(*loss_sum(module, batch(data, SIZE, step, seed, comm.rank, comm.size)))
        stage.step()
    whole = whole_weights(module, stage)
    plain = MLP((64, 32, 10))
    nn.utils.vector_to_parameters(whole, plain.parameters())
    return mean_loss(plain, data)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_training_is_at_most_a_tenth_worse(seed):
    exact, rounded = (launch(learn, P, seed, S).results[0] for P, S in ((1, None), (4, 2)))
    assert rounded < 1.1 * exact


@pytest.mark.mpi
def test_on_real_ranks():
    for (first, again), _, _, _ in launch(one_group, 4, 2, world="mpi").results:
        assert torch.equal(first, again)

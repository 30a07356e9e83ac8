"""Averaging: the gradient of the global mean, for any counts and parameters, in as few messages as there can be."""

import math

import pytest
import torch
from torch import nn

from reference.collectives import rounding
from reference.collectives.ring import ring_allreduce_volume
from reference.collectives.tree import binomial_allreduce_volume
from reference.data_parallel.average import average_gradients, global_count
from reference.models.batches import share
from reference.models.data import IGNORED, Data, digits
from reference.models.loss import loss_sum
from reference.models.mlp import MLP
from reference.models.trainer import gradients
from reference.worlds import launch


def mine(data: Data, comm) -> Data:
    return Data(*(share(part, comm.rank, comm.size) for part in data))


@pytest.mark.parametrize("samples", [1, 3, 13])
def test_it_is_the_gradient_of_the_whole_batch(world, samples):
    """Also with fewer samples than ranks; to rounding, as chapter 1 bounds it: each rank's sum, added along a ring."""
    data = Data(*(part[:samples] for part in digits()))

    def program(comm):
        model = MLP(seed=0)
        total, count = loss_sum(model, mine(data, comm))
        total.backward()
        sums = torch.cat([p.grad.flatten() for p in model.parameters()])
        assert average_gradients(comm, model.parameters(), count, algorithm="ring") == samples
        return sums, torch.cat([p.grad.flatten() for p in model.parameters()])

    serial = MLP(seed=0)
    gradients(serial, data)
    serial = torch.cat([p.grad.flatten() for p in serial.parameters()])
    for ranks in (3,) if world == "mpi" else (1, 2, 3, 5, 8):
        sums, averages = zip(*launch(program, ranks, world=world).results)
        assert all(torch.equal(each, averages[0]) for each in averages)
        sums = torch.stack(sums).double()
        exact, magnitude = sums.sum(0) / samples, sums.abs().sum(0) / samples
        assert not rounding.difference(averages[0], exact, magnitude, "float32", ranks)  # P - 1 additions, a division
        torch.testing.assert_close(averages[0], serial, rtol=1e-5, atol=1e-7)


def hand_made(comm, values):
    """One parameter [2], whose gradient is what `values` says for this rank (None: none)."""
    parameter = nn.Parameter(torch.zeros(2))
    if values[comm.rank] is not None:
        parameter.grad = torch.full((2,), values[comm.rank])
    return parameter


def test_by_hand_and_why_not_the_mean_of_means():
    """Four samples of gradient 1 on rank 0, one of gradient 5 on rank 1: (4 + 5) / 5 = 1.8, and not (1 + 5) / 2 = 3."""

    def program(comm):
        parameter = hand_made(comm, [4.0, 5.0])
        average_gradients(comm, [parameter], [4, 1][comm.rank])
        return parameter.grad.tolist()

    assert launch(program, 2).results == [[pytest.approx(1.8)] * 2] * 2


def test_tokens_count_and_not_sequences():
    """Targets that are ignored are no samples: the counts differ although all ranks have two sequences."""
    x, y = torch.arange(24.0).view(8, 3) / 24, torch.tensor([0, IGNORED, IGNORED, IGNORED, 1, 0, 1, IGNORED])

    def program(comm):
        model = nn.Linear(3, 2)
        nn.init.constant_(model.weight, 0.1), nn.init.zeros_(model.bias)
        total, count = loss_sum(model, mine(Data(x, y), comm))
        total.backward()
        average_gradients(comm, model.parameters(), count)
        return model.weight.grad, count

    serial = nn.Linear(3, 2)
    nn.init.constant_(serial.weight, 0.1), nn.init.zeros_(serial.bias)
    gradients(serial, Data(x, y))
    found, counts = zip(*launch(program, 4).results)
    assert counts == (1, 0, 2, 1)
    torch.testing.assert_close(found[0], serial.weight.grad)


def test_frozen_unused_and_tied_parameters():
    def program(comm):
        frozen = nn.Parameter(torch.ones(2), requires_grad=False)
        tied, half_used, unused = hand_made(comm, [1.0, 2.0]), hand_made(comm, [6.0, None]), hand_made(comm, [None] * 2)
        average_gradients(comm, [tied, frozen, half_used, tied, unused], 1)
        assert frozen.grad is None
        return [p.grad.tolist() for p in (tied, half_used, unused)]

    assert launch(program, 2).results == [[[1.5, 1.5], [3.0, 3.0], [0.0, 0.0]]] * 2


def test_each_type_is_one_message_and_the_count_is_8_bytes():
    def program(comm):
        parameters = [
            nn.Parameter(torch.ones(n, dtype=kind)) for kind in (torch.float32, torch.bfloat16) for n in (5, 7)
        ]
        for parameter in parameters:
            parameter.grad = parameter.detach().clone()
        average_gradients(comm, parameters, 1, algorithm="ring")
        return [parameter.grad.tolist() for parameter in parameters]

    for ranks in (1, 2, 3, 5):
        run = launch(program, ranks)
        assert run.results == [[[1.0] * n for n in (5, 7, 5, 7)]] * ranks
        parts = (
            ring_allreduce_volume(ranks, 12, 4),
            ring_allreduce_volume(ranks, 12, 2),
            binomial_allreduce_volume(ranks, 1, 8),
        )
        assert run.bytes_sent == sum(part.nbytes for part in parts).tolist()
        assert run.messages == sum(part.messages for part in parts).tolist()


@pytest.mark.parametrize("counts", [[3, -1, 2], [0, 0, 0], [1, math.nan, 1], [1, math.inf, 1], [-1, 2, -1]])
def test_impossible_counts_are_an_error_on_every_rank(counts):
    def program(comm):
        with pytest.raises(ValueError) as caught:
            global_count(comm, counts[comm.rank])
        return str(caught.value)

    (message,) = set(launch(program, 3).results)
    assert f"the ranks gave {counts} as their numbers of samples" in message


def test_weights_may_be_counts():
    assert launch(lambda comm: global_count(comm, 0.5 * comm.rank), 4).results == [3.0] * 4

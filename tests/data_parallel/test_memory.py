"""Bytes of a replica and of a synchronisation: against torch's own Adam, and against what a ring really sends."""

import numpy as np
import pytest
import torch

from reference.data_parallel.memory import replica, synchronisation
from reference.models.mlp import MLP
from reference.mpi import IN_PLACE
from reference.perf.recipes import ADAM, SGD, SGD_MOMENTUM
from reference.worlds import launch


@pytest.mark.parametrize(
    "recipe, make",
    [
        (ADAM, lambda weights: torch.optim.Adam(weights, 0.1)),
        (SGD_MOMENTUM, lambda weights: torch.optim.SGD(weights, 0.1, momentum=0.9)),
        (SGD, lambda weights: torch.optim.SGD(weights, 0.1)),
    ],
)
def test_a_replica_holds_what_torch_holds(recipe, make):
    model = MLP((8, 16, 4))
    optimizer = make(model.parameters())
    model(torch.ones(2, 8)).sum().backward()
    optimizer.step()
    weights = list(model.parameters())
    state = [value for each in optimizer.state.values() for name, value in each.items() if name != "step"]
    kept = sum(value.nbytes for value in state if value is not None)
    expected = (sum(p.nbytes for p in weights), sum(p.grad.nbytes for p in weights), kept)
    assert replica(sum(p.numel() for p in weights), recipe) == expected


def test_mixed_precision_is_16_bytes_a_parameter_and_sharding_divides_it():
    assert replica(10**9).total == 16 * 10**9 and replica(10**9, shards=8).total == 2 * 10**9
    assert replica(10, shards=3).weights == 8


@pytest.mark.parametrize("P", [1, 2, 5, 8])
def test_a_synchronisation_sends_what_a_ring_sends(P):
    run = launch(lambda comm: comm.Allreduce(IN_PLACE, np.zeros(1001, np.float16)), P)
    assert synchronisation(1001, P) == max(run.bytes_sent)

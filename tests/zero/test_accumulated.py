"""Stage 1 behind somebody else's backward pass: the serial optimizer's steps, a shard of its state, few bytes."""

import pytest
import torch

from reference.models import MLP
from reference.worlds import launch
from reference.zero.accumulated import AccumulatedStage1

SIZES = (6, 5, 3)


def gradient(step, rank, parameter, i):
    draw = torch.Generator().manual_seed(100 * step + 10 * rank + i)
    return torch.randn(parameter.shape, generator=draw)


def make(named):
    return torch.optim.Adam(named, lr=0.1)


def program(comm, steps=3):
    model = MLP(SIZES, seed=1)
    named = list(model.named_parameters())
    stage = AccumulatedStage1(comm, [named[:1], [], named[1:]], make)
    for step in range(steps):
        for i, parameter in enumerate(model.parameters()):
            parameter.grad = gradient(step, comm.rank, parameter, i)
        stage.sum()
        assert all(parameter.grad is None for parameter in model.parameters())
        stage.step()
    kept = sum(value.numel() for state in stage.optimizer.state.values() for value in state.values() if value.dim())
    return dict(model.named_parameters()), kept, [len(group.parameters) for group in stage.groups]


@pytest.mark.parametrize("P", [1, 2, 3])
def test_the_weights_are_those_of_one_optimizer_and_its_state_is_shared_out(P):
    model = MLP(SIZES, seed=1)
    optimizer = make(model.parameters())
    for step in range(3):
        for i, parameter in enumerate(model.parameters()):
            parameter.grad = sum(gradient(step, rank, parameter, i) for rank in range(P))
        optimizer.step()
    results = launch(program, P).results
    for weights, _, groups in results:
        assert groups == [1, 3]
        for name, weight in model.named_parameters():
            assert torch.allclose(weights[name], weight, atol=1e-5), name
    assert sum(kept for _, kept, _ in results) == 2 * sum(weight.numel() for weight in model.parameters())


def test_a_step_sends_a_reduce_scatter_and_an_all_gather_of_each_group():
    one, three = (launch(program, 2, steps).calls[0] for steps in (1, 3))
    more = {name: (three[name] - one[name]) / 2 for name in three}
    assert (more["Ireduce_scatter_block"], more["Iallgather"]) == (2, 2)

"""Megatron's sequence parallelism: a LayerNorm whose tokens are shared, and the gradients that have to be added up."""

import pytest
import torch
from torch import nn

from reference.tensor_parallel import sequence
from reference.worlds import launch

from .cases import numbers


def serial_norm():
    norm = nn.LayerNorm(8, eps=0.01, dtype=torch.float64)  # not the default
    norm.weight.data.copy_(numbers(8, seed=1)), norm.bias.data.copy_(numbers(8, seed=2))
    return norm


def program(comm, forgotten):
    norm = sequence.LayerNorm(comm, serial_norm(), sequence=not forgotten)
    x = numbers(2, 12, 8).chunk(comm.size, 1)[comm.rank].clone().requires_grad_()
    y = norm(x)
    y.backward(numbers(2, 12, 8, seed=3).chunk(comm.size, 1)[comm.rank])
    return y.detach(), x.grad, norm.weight.grad, norm.bias.grad


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_a_norm_of_some_tokens_each(ranks):
    """The mean is over the elements of a token: nothing is sent forward (E2-28). Backward two times h elements."""
    norm, x = serial_norm(), numbers(2, 12, 8).requires_grad_()
    y = norm(x)
    y.backward(numbers(2, 12, 8, seed=3))
    run = launch(program, ranks, False)
    assert torch.allclose(torch.cat([one for one, *_ in run.results], 1), y.detach(), rtol=0, atol=1e-12)
    assert torch.allclose(torch.cat([dx for _, dx, _, _ in run.results], 1), x.grad, rtol=0, atol=1e-12)
    for _, _, weight, bias in run.results:
        assert torch.allclose(weight, norm.weight.grad, rtol=0, atol=1e-12)
        assert torch.allclose(bias, norm.bias.grad, rtol=0, atol=1e-12)
    assert run.calls[0] == ({"Allreduce": 1} if ranks > 1 else {})


def test_without_the_sum_the_ranks_norms_drift_apart():
    found = launch(program, 2, True).results
    assert not torch.allclose(found[0][2], found[1][2], atol=0.1)
    summed = launch(program, 2, False).results[0]
    assert torch.allclose(found[0][2] + found[1][2], summed[2], rtol=0, atol=1e-12)

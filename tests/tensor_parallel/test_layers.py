"""Column- and row-parallel layers by themselves, against the serial layer; who sends what, and the mistakes."""

import pytest
import torch
from torch import nn

from reference.tensor_parallel import ColumnParallelLinear, RowParallelLinear, whole
from reference.worlds import launch

from .cases import numbers


def serial_layer(inputs=12, outputs=8, bias=True):
    layer = nn.Linear(inputs, outputs, bias=bias, dtype=torch.float64)
    for k, parameter in enumerate(layer.parameters()):
        parameter.data.copy_(numbers(*parameter.shape, seed=k))
    return layer


def case(inputs=12, outputs=8):
    return numbers(2, 6, inputs, seed=5), numbers(2, 6, outputs, seed=6)


def expected(bias):
    layer, (x, dy) = serial_layer(bias=bias), case()
    x.requires_grad_()
    y = layer(x)
    y.backward(dy)
    return y.detach(), x.grad, {name: parameter.grad for name, parameter in layer.named_parameters()}


def column(comm, options, bias):
    layer, (x, dy) = ColumnParallelLinear(comm, serial_layer(bias=bias), gathered=True, **options), case()
    x.requires_grad_()
    y = layer(x)
    y.backward(dy)
    return y.detach(), x.grad, {name: whole(comm, p, p.grad) for name, p in layer.named_parameters()}


def row(comm, options, bias):
    layer, (x, dy) = RowParallelLinear(comm, serial_layer(bias=bias), whole_input=True, **options), case()
    x.requires_grad_()
    y = layer(x)
    y.backward(dy)
    return y.detach(), x.grad, {name: whole(comm, p, p.grad) for name, p in layer.named_parameters()}


@pytest.mark.parametrize("program", [column, row])
@pytest.mark.parametrize("ranks, bias, options", [(1, True, {}), (2, False, {}), (4, True, {"overlap": True})])
def test_output_and_gradients_of_the_serial_layer(program, ranks, bias, options):
    y, dx, weights = expected(bias)
    for ours, ours_dx, ours_weights in launch(program, ranks, options, bias).results:
        assert torch.allclose(ours, y, rtol=0, atol=1e-12) and torch.allclose(ours_dx, dx, rtol=0, atol=1e-12)
        assert set(ours_weights) == set(weights)
        for name in weights:
            assert torch.allclose(ours_weights[name], weights[name], rtol=0, atol=1e-12), name


def test_columns_need_the_all_reduce_backward_and_rows_forward():
    def program(comm, kind, backward):
        layer = kind(comm, serial_layer())
        y = layer(numbers(2, 6, 12 if kind is ColumnParallelLinear else 6).requires_grad_())
        if backward:
            y.sum().backward()

    for kind, both in ((ColumnParallelLinear, (0, 1)), (RowParallelLinear, (1, 1))):
        assert tuple(launch(program, 2, kind, back).calls[0]["Allreduce"] for back in (False, True)) == both


def test_a_pair_has_one_sum_each_way_and_rows_first_would_be_wrong():
    """GELU of a sum is not the sum of GELUs: what a row-parallel layer needs before the function is the all-reduce."""
    first, second, (x, _) = serial_layer(12, 16), serial_layer(16, 8), case()
    right = second(torch.nn.functional.gelu(first(x))).detach()

    def columns_then_rows(comm):
        a, b = ColumnParallelLinear(comm, first), RowParallelLinear(comm, second)
        return b(torch.nn.functional.gelu(a(x.clone()))).detach()

    def rows_first_without_a_sum(comm):
        part = first.weight.chunk(comm.size, 1)[comm.rank]
        y = torch.nn.functional.gelu(x.chunk(comm.size, 2)[comm.rank] @ part.T + first.bias / comm.size).detach()
        return torch.from_numpy(comm.allreduce(y.numpy())) @ second.weight.T.detach() + second.bias.detach()

    good, bad = launch(columns_then_rows, 4), launch(rows_first_without_a_sum, 4)
    assert (good.results[0] - right).abs().max() < 1e-12 and good.calls[0] == {"Allreduce": 1}
    assert (bad.results[0] - right).abs().max() > 1


def test_a_bias_on_every_rank_counts_as_often_as_there_are_ranks():
    """Why the bias of a row-parallel layer comes after the sum (E3-17)."""
    layer, (x, _) = serial_layer(), case()

    def with_bias_before_the_sum(comm):
        part = layer.weight.chunk(comm.size, 1)[comm.rank]
        y = x.chunk(comm.size, 2)[comm.rank] @ part.T + layer.bias
        return comm.allreduce(y.detach().numpy())

    wrong = torch.from_numpy(launch(with_bias_before_the_sum, 4).results[0])
    assert torch.allclose(wrong - layer(x).detach(), (3 * layer.bias).detach().expand(wrong.shape))


def test_a_layer_that_is_too_wide_for_one_block_is_still_exact_in_float32():
    """A large case: 3 ranks share 768 outputs; each output is the same dot product as in the serial layer."""
    serial = nn.Linear(300, 768)
    x = torch.randn(2, 5, 300, generator=torch.Generator().manual_seed(0))
    found = launch(lambda comm: ColumnParallelLinear(comm, serial, gathered=True)(x).detach(), 3).results[2]
    assert torch.allclose(found, serial(x).detach(), rtol=0, atol=300 * 6e-8 * 2)


def test_frozen_weights_stay_frozen():
    serial = serial_layer()
    serial.weight.requires_grad_(False)
    found = launch(lambda comm: [p.requires_grad for p in ColumnParallelLinear(comm, serial).parameters()], 2).results
    assert found == [[False, True]] * 2

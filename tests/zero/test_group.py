"""A group moves between whole parameters and shards, on any number of ranks."""

import pytest
import torch
from torch import nn

from reference.worlds import launch
from reference.zero.group import Group
from reference.zero.shards import by_rows, flat


def parameters(dtype=torch.float32):
    draw = torch.Generator().manual_seed(1)
    return [nn.Parameter(torch.randn(shape, generator=draw).to(dtype)) for shape in [(5, 3), (3,), (), (1, 2, 2)]]


def moves(comm, cut, dtype):
    """Free, gather, reduce; what came of it on this rank."""
    group = Group(comm, parameters(dtype), cut)
    group.free()
    assert all(p.numel() == 0 for p in group.parameters)
    group.gather()
    weights = [p.detach().clone() for p in group.parameters]
    for step in (1, 2):  # gradients of two micro-batches; one parameter has none
        for p in group.parameters[:-1]:
            p.grad = torch.full_like(p, float(step * (comm.rank + 1)))
        group.reduce()
    assert all(p.grad is None for p in group.parameters)
    group.set_gradients()
    return weights, [piece.grad for piece in group.pieces], group.pieces, group.n


@pytest.mark.parametrize("cut", [flat, by_rows])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("P", [1, 2, 3, 5, 8])
def test_whole_and_shards(cut, dtype, P):
    run = launch(moves, P, cut, dtype)
    whole, wide = parameters(dtype), torch.float64 if dtype == torch.float64 else torch.float32
    for rank, (weights, gradients, pieces, n) in enumerate(run.results):
        assert all(map(torch.equal, weights, whole))
        sharding = cut([p.shape for p in whole], P)
        assert n == sharding.n
        for i, (piece, gradient) in enumerate(zip(pieces, gradients)):
            own = whole[i].detach().view(-1)[sharding.piece(rank, i)]
            assert piece.dtype == wide and torch.equal(piece.detach().view(-1), own.to(wide))
            assert (gradient == (0 if i == 3 else 3 * P * (P + 1) / 2)).all()
    itemsize = dtype.itemsize + 2 * (4 if dtype == torch.bfloat16 else dtype.itemsize)  # one gather, two reductions
    assert run.bytes_sent == [(P - 1) * n * itemsize] * P


@pytest.mark.parametrize("cut", [flat, by_rows])
def test_views_of_the_whole_weights_are_emptied_and_filled_with_them(cut):
    """What autograd keeps for the backward pass is such a view."""

    def program(comm):
        group = Group(comm, parameters(), cut)
        group.gather()
        kept = group.parameters[0].t()
        group.free()
        assert kept.untyped_storage().nbytes() == 0
        group.master += 1
        group.gather()
        assert torch.equal(kept.t(), parameters()[0] + 1) and torch.equal(group.parameters[0].t(), kept)

    launch(program, 3)


@pytest.mark.mpi
def test_a_group_on_real_ranks():
    run = launch(moves, 3, by_rows, torch.bfloat16, world="mpi")
    for weights, gradients, _, _ in run.results:
        assert all(map(torch.equal, weights, parameters(torch.bfloat16)))
        assert all((gradient == (0 if i == 3 else 18)).all() for i, gradient in enumerate(gradients))


def test_a_group_has_one_kind_of_parameters():
    def mixed(comm):
        Group(comm, [*parameters(), *parameters(torch.float64)])

    with pytest.raises(Exception, match="one type, device and requires_grad, got 2 kinds"):
        launch(mixed, 2)

"""Shards: every degree begins with the serial weights, and they can be put together again."""

import pytest
import torch
from torch import nn

from reference.tensor_parallel import shards
from reference.worlds import LaunchError, launch

from .cases import numbers


def parts(comm, whole, dim, pad):
    parameter = shards.shard(whole, dim, shards.equal_parts(comm, whole.shape[dim], pad, "rows"))
    return parameter.detach(), shards.whole(comm, parameter), shards.whole(comm, parameter, 2 * parameter)


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_the_parts_are_those_of_the_whole_and_make_it_again(ranks, dim):
    whole = numbers(8, 8)
    found = launch(parts, ranks, whole, dim, True).results
    assert torch.equal(torch.cat([part for part, _, _ in found], dim).narrow(dim, 0, 8), whole)
    assert all(torch.equal(again, whole) and torch.equal(double, 2 * whole) for _, again, double in found)
    assert len({part.shape for part, _, _ in found}) == 1


def test_a_shard_is_a_copy():
    whole = numbers(4, 2)
    launch(lambda comm: shards.shard(whole, 0, [0, 1]).data.zero_(), 2)
    assert whole.all()


def test_what_some_ranks_have_in_copies_must_be_the_same():
    def program(comm, change):
        parameter = shards.shard(numbers(4, 2), 0, [0, 1 + comm.rank])  # row 0 is on both
        parameter.data[0] += change * comm.rank
        return shards.whole(comm, parameter)[:3]

    assert torch.equal(launch(program, 2, 0).results[1], numbers(4, 2)[:3])
    with pytest.raises(LaunchError, match="rank 0 of 2 holds other values than a rank that has the same elements"):
        launch(program, 2, 1e-3)


def test_nan_and_infinity_are_the_same_as_themselves():
    """So that a training which has diverged can be told as such."""

    def program(comm, value):
        parameter = shards.shard(torch.full((4, 2), value), 0, [0, 1 + comm.rank])
        return shards.whole(comm, parameter)[:3]

    for value in (torch.nan, torch.inf):
        found = launch(program, 2, value).results
        assert torch.equal(found[0], torch.full((3, 2), value)) or found[0].isnan().all()


def test_parameters_that_all_ranks_have_whole_must_be_alike():
    def program(comm, change):
        return shards.whole(comm, nn.Parameter(torch.full((3,), 1.0 + change * comm.rank)))

    assert launch(program, 3, 0).results[2].tolist() == [1, 1, 1]
    with pytest.raises(LaunchError, match="holds other values"):
        launch(program, 3, 1)

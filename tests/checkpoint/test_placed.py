"""Where a layout's parameters belong, against the indices that made them."""

from itertools import combinations
from types import SimpleNamespace

import torch
from torch import nn

from reference.checkpoint.placed import of_groups, of_parameters, runs
from reference.models import GPT, Config
from reference.tensor_parallel import GPT as TensorParallelGPT
from reference.tensor_parallel.shards import PADDING, shard
from reference.worlds import launch
from reference.zero.accumulated import AccumulatedStage1

CONFIG = Config(vocabulary=10, length=4, width=12, heads=6, kv_heads=3, layers=1)


def test_runs_of_indices():
    assert runs([4, 5, 6, 0, 1, -1, 2, -1]) == [(0, 4, 3), (3, 0, 2), (6, 2, 1)]
    assert runs([]) == runs([-1]) == []


def held(comm, t, zero):
    """Which elements of the serial parameters this rank has, and whether their values are right; padding is nowhere."""
    serial = GPT(CONFIG, seed=3)
    tp = comm.Split(comm.rank // t, comm.rank)
    copies = comm.Split(comm.rank % t, comm.rank)
    module = TensorParallelGPT(tp, serial, pad=True)
    named = dict(module.named_parameters())
    placed = of_parameters(named)
    if zero:
        stage = AccumulatedStage1(
            copies, [list(named.items())], lambda named: torch.optim.SGD([p for _, p in named], 1)
        )
        placed = of_groups(stage.groups, named)
    of = dict(serial.named_parameters())
    found = {}
    for name, place in placed.items():
        shape, parts = place.portion(place.parameter.data)
        assert shape == tuple(of[name].shape)
        found[name] = torch.zeros(shape, dtype=torch.int64)
        for box, values in parts:
            assert torch.equal(values, of[name].data[box.slices])
            found[name][box.slices] += 1
    return found


def test_tensor_parallel_parts_with_copies_and_padding():
    """4 ranks share 6 heads and 3 groups of keys: some have padding, and some have the same."""
    for name, parameter in GPT(CONFIG, seed=3).named_parameters():
        assert parameter.numel() and isinstance(parameter, nn.Parameter), name
    every = launch(held, 4, 4, False).results
    for name in every[0]:
        assert (sum(one[name] for one in every) >= 1).all(), name


def test_zero_on_tensor_parallel_parts():
    """A range of the flattened part of each: with 3 copies, each element of a part is on one of its copies."""
    parts, shards = launch(held, 2, 2, False).results, launch(held, 6, 2, True).results
    for name in parts[0]:
        for t in (0, 1):
            assert torch.equal(sum(one[name] for one in shards[t::2]), parts[t][name]), name


def test_any_range_of_a_part_in_several_runs():
    """Rows 4, 5, 0, padding, and 2 of a parameter, of which a rank has a range of elements."""
    whole, own = torch.arange(1.0, 19.0).reshape(6, 3), (4, 5, 0, PADDING, 2)
    parameter = shard(whole, 0, own)
    for first, after in combinations(range(16), 2):
        piece = nn.Parameter(parameter.data.reshape(-1)[first:after].clone())
        sharding = SimpleNamespace(shapes=[(5, 3)], piece=lambda rank, i, range=slice(first, after): range)
        group = SimpleNamespace(parameters=[parameter], pieces=[piece], sharding=sharding, comm=SimpleNamespace(rank=0))
        place = of_groups([group], {"w": parameter})["w"]
        shape, parts = place.portion(place.parameter.data)
        assert shape == (6, 3) and all(torch.equal(values, whole[box.slices]) for box, values in parts)
        assert sum(box.size for box, _ in parts) == piece.count_nonzero()

"""A gradient through a buffer of constant size: the bits of one shot, and bytes and seconds by the formula."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reference.collectives import ring_reduce_scatter
from reference.networks.network import Link
from reference.perf.meter import Meter
from reference.worlds import launch, networks
from reference.zero.constant_buffers import (
    buffer_bytes,
    buffer_for,
    efficiency,
    reduce_scatter_in_rounds,
    rounds,
    rounds_cost,
    shard_length,
)

LINK = Link(alpha=1e-6, beta=1e-9, gamma=2e-10)
NETWORK = networks.uniform(alpha=LINK.alpha, beta=LINK.beta, gamma=LINK.gamma)


def gradient(rank, elements, dtype=torch.float32):
    return torch.randn(elements, generator=torch.Generator().manual_seed(rank)).to(dtype)


def reduce(comm, elements, size, dtype=torch.float32):
    """This rank's shard, the most bytes that lived meanwhile, and whether the gradient is as it was."""
    g = gradient(comm.rank, elements, dtype)
    shard = torch.full((shard_length(elements, comm.size),), 7.0)
    with Meter() as meter:
        reduce_scatter_in_rounds(comm, g, shard, size)
    return shard, meter.peak["activations"], torch.equal(g, gradient(comm.rank, elements, dtype))


def one_shot(comm, elements, dtype=torch.float32):
    padded = torch.zeros(shard_length(elements, comm.size) * comm.size)
    padded[:elements] = gradient(comm.rank, elements, dtype)
    return ring_reduce_scatter(comm, padded).clone()


@pytest.mark.parametrize("P", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("elements, size", [(1000, 96), (101, 8), (1000, 5000), (7, 8), (0, 8)])
def test_bits_of_one_shot_at_any_size_of_the_buffer(P, elements, size):
    run = launch(reduce, P, elements, size, network=NETWORK)
    expected = launch(one_shot, P, elements).results
    for (shard, _, untouched), whole in zip(run.results, expected):
        assert torch.equal(shard, whole) and untouched
    assert run.seconds == pytest.approx(rounds_cost(elements, P, size, 4, LINK).seconds, rel=1e-12)


@pytest.mark.mpi
def test_so_it_is_on_real_ranks():
    expected = launch(one_shot, 3, 1000).results
    for (shard, _, _), whole in zip(launch(reduce, 3, 1000, 96, world="mpi").results, expected):
        assert torch.equal(shard, whole)


def test_cut_from_front_to_end_the_sums_would_be_rounded_otherwise():
    def front_to_end(comm):
        whole, chunks = gradient(comm.rank, 96), []
        for chunk in whole.split(24):
            mine = ring_reduce_scatter(comm, chunk.clone())
            chunks.append(torch.cat(comm.allgather(mine.clone())))
        return torch.cat(chunks)

    in_one = torch.cat(launch(one_shot, 4, 96).results)
    found = launch(front_to_end, 4).results[0]
    assert torch.allclose(found, in_one, atol=1e-5) and not torch.equal(found, in_one)


@pytest.mark.parametrize("P, elements, size, blocks", [(4, 800, 82, 2), (3, 600, 30, 2), (2, 100, 5000, 1)])
def test_the_buffer_is_all_that_lives_meanwhile(P, elements, size, blocks):
    """blocks: of the ring, which receives into one and may have another from the round before."""
    found, longer = (launch(reduce, P, n, size).results[0][1] for n in (elements, 2 * elements))
    nbytes = buffer_bytes(elements, P, size)
    assert found == nbytes + blocks * nbytes // P
    assert (longer == found) == (size < elements)  # it does not grow with the model


def test_sixteen_bits_are_summed_in_float32():
    for (shard, _, _), whole in zip(
        launch(reduce, 3, 50, 12, torch.bfloat16).results, launch(one_shot, 3, 50, torch.bfloat16).results
    ):
        assert shard.dtype == torch.float32 and torch.equal(shard, whole)


@given(st.integers(0, 300), st.integers(1, 9), st.integers(0, 100))
def test_rounds_cover_the_shard_once(n, P, more):
    size = P + more
    found = rounds(n, P, size)
    assert [i for part in found for i in part] == list(range(n))
    assert all(0 < P * len(part) <= size for part in found)


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="a buffer of 3 elements cannot hold one element of each of 4 shards"):
        rounds(10, 4, 3)
    with pytest.raises(ValueError, match="lies between 0 and 1"):
        buffer_for(1.0, 8, LINK)
    with pytest.raises(Exception, match="a shard of 10 elements on 2 ranks has 5, not 4"):
        launch(lambda comm: reduce_scatter_in_rounds(comm, torch.zeros(10), torch.zeros(4), 8), 2)


def test_efficiency_depends_on_ranks_and_not_on_the_model():
    for P in (8, 1024):
        size = buffer_for(0.9, P, LINK)
        assert efficiency(size, P, LINK) == pytest.approx(0.9)
        k = round(size / 4 / P)
        for n in (100 * k, 1000 * k):
            cost = rounds_cost(P * n, P, P * k, 4, LINK)
            assert (cost.bandwidth + cost.reduction) / cost.seconds == pytest.approx(0.9, abs=0.01)
    assert buffer_for(0.9, 1024, LINK) == pytest.approx(128 * buffer_for(0.9, 8, LINK))

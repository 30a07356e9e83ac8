"""Sparse vectors through the schedules of chapter 1: the same bits, fewer bytes, and as much fill-in as predicted."""

import pytest
import torch

from reference.collectives import allreduce, cost
from reference.compression.sparse import sparse_bytes, top_k
from reference.compression.sparse_allreduce import (
    SCHEDULES,
    fill_in,
    global_top_k,
    global_top_k_cost,
    message,
    sparse_allreduce,
    volume,
)
from reference.models import generator
from reference.networks import Link
from reference.worlds import LaunchError, launch, networks

RANKS = (1, 2, 3, 5, 8)


def sparse(rank, d, k, same=False):
    """k random normal numbers among d; at the same places on all ranks, if told."""
    x, rng = torch.zeros(d), generator(3, rank)
    places = torch.randperm(d, generator=generator(3) if same else rng)[:k]
    x[places] = torch.randn(k, generator=rng)
    return x


def summed(comm, d, k, algorithm, same=False):
    return sparse_allreduce(comm, sparse(comm.rank, d, k, same), algorithm)


@pytest.mark.parametrize("algorithm", SCHEDULES)
@pytest.mark.parametrize("P", RANKS)
def test_the_bits_of_the_dense_all_reduce(algorithm, P):
    """Sparse, half full and full, lengths divisible or not, shorter than the number of ranks."""

    def program(comm):
        found = []
        for d, k in [(200, 3), (203, 60), (50, 50), (3, 1), (200, 0)]:
            dense = allreduce(comm, sparse(comm.rank, d, k), algorithm=algorithm)
            found.append(torch.equal(summed(comm, d, k, algorithm), dense))
        return found

    assert launch(program, P).results == [[True] * 5] * P


@pytest.mark.parametrize("algorithm", SCHEDULES)
def test_zeros_with_a_sign_have_the_same_bits_on_all_ranks(algorithm):
    """What a mask leaves of negative numbers: only the sign of zeros differs from the dense sum."""

    def program(comm):
        x = torch.randn(1000, generator=generator(3, comm.rank))
        x = x * (x.abs() > 1.5)
        assert x.signbit()[x == 0].any()
        dense = allreduce(comm, x.clone(), algorithm=algorithm)
        found = sparse_allreduce(comm, x, algorithm)
        return found.view(torch.int32), torch.equal(found, dense)

    bits, equal = zip(*launch(program, 2).results, strict=True)
    assert torch.equal(*bits) and all(equal)


@pytest.mark.mpi
def test_on_real_ranks():
    def program(comm):
        return [summed(comm, 100, k, algorithm).tolist() for algorithm in SCHEDULES for k in (2, 60)]

    assert launch(program, 3, world="mpi").results == launch(program, 3).results


def sizes(run, rank):
    return [event.nbytes for event in run.timeline.of(kind="send") if event.rank == rank]


def test_a_ring_fills_in_from_hand_to_hand():
    """Message j of the reduce-scatter is the sum of j supports: d/P (1 - (1 - k/d)^j) elements, on average."""
    P, d, k = 8, 400_000, 4000
    run = launch(summed, P, d, k, "ring")
    mean = torch.tensor([sizes(run, rank) for rank in range(P)]).float().mean(0)
    predicted = [message(d // P, k / P, j) for j in range(1, P)] + [message(d // P, k / P, P)] * (P - 1)
    assert mean.tolist() == pytest.approx(predicted, rel=0.05)
    growth = mean[1 : P - 1] / mean[0]
    assert growth.tolist() == pytest.approx([1.99, 2.97, 3.94, 4.90, 5.85, 6.79], rel=0.05)
    same = launch(summed, P, d, k, "ring", True)  # the same places everywhere: nothing fills in
    assert max(map(max, (sizes(same, rank) for rank in range(P)))) < 1.2 * message(d // P, k / P, 1)


@pytest.mark.parametrize("algorithm", ["ring", "direct", "recursive doubling"])
@pytest.mark.parametrize("k", [8, 200, 2000])
def test_bytes_are_those_of_the_formula(algorithm, k):
    P, d = 8, 8000
    run = launch(summed, P, d, k, algorithm)
    assert sum(run.bytes_sent) / P == pytest.approx(volume(algorithm, P, d, k), rel=0.06)
    assert max(run.bytes_sent) <= {"recursive doubling": 3 * 4 * d}.get(algorithm, volume("dense ring", P, d, k))


def test_fill_in_by_hand():
    assert fill_in(4, 1, 1) == 1 and fill_in(4, 1, 2) == 1.75  # the second is elsewhere three times out of four
    assert fill_in(100, 1, 1) == pytest.approx(1) and fill_in(100, 100, 5) == 100
    assert [round(fill_in(1, 0.01, P), 3) for P in (8, 64, 256)] == [0.077, 0.474, 0.924]


def test_it_switches_to_dense_when_pairs_do_not_pay():
    """35 % of the elements on each of 8 ranks: 82 % after four hands, and pairs of 42 bits cease to pay at 76 %."""
    P, d, k = 8, 8000, 2800
    run = launch(summed, P, d, k, "ring")
    block = 4 * d // P
    assert [size == block for size in sizes(run, 0)] == [False] * 3 + [True] * (2 * P - 5)


def test_which_way_sends_least_depends_on_how_full_the_sum_gets():
    """1 %: few ranks all-gather; many are better off adding, and gain a factor of two over the dense ring at most."""
    d = 2**20

    def best(P, k):
        ways = ("ring", "direct", "allgather of pairs", "dense ring")
        return min(ways, key=lambda way: volume(way, P, d, k))

    assert [best(P, d // 100) for P in (2, 8, 64, 512)] == ["allgather of pairs"] * 2 + ["direct"] * 2
    gains = [volume("dense ring", P, d, d // 100) / volume("direct", P, d, d // 100) for P in (8, 64, 512, 4096)]
    assert gains == pytest.approx([13.3, 2.9, 1.98, 1.97], rel=0.2)


# gTop-k


@pytest.mark.parametrize("P", RANKS)
def test_global_top_k_keeps_k_in_log_rounds(P):
    d, k, network = 1000, 10, networks.uniform(1e-6, 1e-9, 1e-10)

    def program(comm):
        return global_top_k(comm, torch.randn(d, generator=generator(comm.rank)), k)

    run = launch(program, P, network=network)
    assert all(torch.equal(found, run.results[0]) for found in run.results) and run.results[0].count_nonzero() == k
    assert run.seconds == pytest.approx(global_top_k_cost(P, d, k, Link(1e-6, 1e-9, 1e-10)).seconds)
    assert sum(run.bytes_sent) == 2 * (P - 1) * sparse_bytes(k, d)
    assert volume("gTop-k", P, d, k) == pytest.approx(sum(run.bytes_sent) / P)


def test_global_top_k_is_exact_where_supports_agree_and_loses_partial_sums_where_not(world):
    """Place 0: the 20 of rank 3 comes through; the 2 of rank 2 does not, for rank 0, which it meets first, has 10."""
    parts = [[0.0, 10, 0, 0], [0.0, 0, 1, 0], [2.0, 0, 0, 0], [20.0, 0, 0, 0]]
    if world == "virtual":
        alike = launch(lambda comm: global_top_k(comm, sparse(comm.rank, 100, 5, True), 5), 4).results[0]
        assert torch.allclose(alike, sum(sparse(rank, 100, 5, True) for rank in range(4)))

    def program(comm):
        return global_top_k(comm, torch.tensor(parts[comm.rank]), 1).tolist()

    assert launch(program, 4, world=world).results == [[20, 0, 0, 0]] * 4  # the sum there is 22


def test_clear_errors():
    with pytest.raises(LaunchError, match=r"sparse_allreduce carries out ring, direct, .*, not 'bruck'"):
        launch(lambda comm: sparse_allreduce(comm, torch.ones(3), "bruck"), 2)
    with pytest.raises(ValueError, match="powers of two, not for 6 ranks"):
        volume("recursive doubling", 6, 60, 6)
    assert cost.log2_rounds(1) == 0 and volume("ring", 1, 10, 1) == 0 and top_k(1).nbytes(10) == sparse_bytes(1, 10)

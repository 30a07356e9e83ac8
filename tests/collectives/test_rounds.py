"""Blocks and the schedules of trees and exchanges: each carried out by hand, without any communicator."""

from math import ceil, log2

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reference import mpi
from reference.collectives import allreduce, alltoall, exchange, operations, tree
from reference.collectives.draw import contributions
from reference.collectives.ring import ring_allreduce_rounds
from reference.collectives.rounds import Blocks, Round, block_bounds, plan
from reference.worlds import launch

MANY = range(1, 18)


@given(n=st.integers(0, 1000), blocks=st.integers(1, 50))
def test_blocks_are_those_of_array_split(n, blocks):
    assert np.diff(block_bounds(n, blocks)).tolist() == [part.size for part in np.array_split(np.empty(n), blocks)]


def test_blocks_are_views_by_number_by_counts_and_by_displacements():
    x = np.arange(10)
    assert Blocks(x, 3)[1, 3].tolist() == [4, 5, 6, 7, 8, 9] and Blocks(x, 3)[1, 1].size == 0
    assert Blocks(x, counts=[1, 0, 4])[2, 3].tolist() == [1, 2, 3, 4]
    assert Blocks(x, counts=[2, 2], displs=[8, 0])[0, 1].tolist() == [8, 9]
    Blocks(x, 5)[4, 5][:] = 0
    assert x.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 0, 0]


def in_step(rounds, ranks, *arguments):
    """Match all messages of a schedule: yields (sender, receiver, blocks sent, blocks received, combine).

    Fails if a receive has no send, or if a message is left.
    """
    schedule = [list(rounds(rank, ranks, *arguments)) for rank in range(ranks)]
    sent: dict[tuple[int, int], list] = {}
    for rank, own in enumerate(schedule):
        for each in own:
            sent.setdefault((rank, each.to), []).append(each.send)
    for rank, own in enumerate(schedule):
        for each in own:
            if each.source != mpi.PROC_NULL:
                yield each.source, rank, sent[each.source, rank].pop(0), each.recv, each.combine
    assert not any(left for (_, to), left in sent.items() if to != mpi.PROC_NULL), "a message is left"


@pytest.mark.parametrize("ranks", MANY)
def test_a_broadcast_reaches_every_rank_once_in_log_rounds(ranks):
    for root in {0, ranks // 2, ranks - 1}:
        reached = [(source, rank) for source, rank, *_ in in_step(tree.binomial_broadcast_rounds, ranks, root)]
        assert sorted(rank for _, rank in reached) == sorted(set(range(ranks)) - {root})
        longest = max(len(list(tree.binomial_broadcast_rounds(rank, ranks, root))) for rank in range(ranks))
        assert longest <= ceil(log2(ranks)) if ranks > 1 else longest == 0


@pytest.mark.parametrize("ranks", MANY)
def test_a_reduction_is_the_broadcast_backwards(ranks):
    there = sorted((a, b) for a, b, *_ in in_step(tree.binomial_broadcast_rounds, ranks, 0))
    back = sorted((b, a) for a, b, _, _, combine in in_step(tree.binomial_reduce_rounds, ranks, 0) if combine)
    assert there == back


@pytest.mark.parametrize("ranks", MANY)
def test_after_a_barrier_every_rank_has_heard_of_every_other(ranks):
    rounds = [list(exchange.dissemination_barrier_rounds(rank, ranks)) for rank in range(ranks)]
    heard = [{rank} for rank in range(ranks)]
    for number in range(len(rounds[0])):
        heard = [heard[rank] | heard[rounds[rank][number].source] for rank in range(ranks)]
    assert all(len(each) == ranks for each in heard) and len(rounds[0]) == (ceil(log2(ranks)) if ranks > 1 else 0)


@pytest.mark.parametrize("ranks", MANY)
def test_pairwise_exchange_moves_every_block_once(ranks):
    moved = [(a, b, send, recv) for a, b, send, recv, *_ in in_step(exchange.pairwise_alltoall_rounds, ranks)]
    assert sorted((a, b) for a, b, *_ in moved) == [(a, b) for a in range(ranks) for b in range(ranks) if a != b]
    assert all(send == (b, b + 1) and recv == (a, a + 1) for a, b, send, recv in moved)


@pytest.mark.parametrize("ranks", MANY)
def test_scatter_and_gather_are_each_other_backwards(ranks):
    out = sorted((a, b, send, recv) for a, b, send, recv, *_ in in_step(exchange.linear_scatter_rounds, ranks, 0))
    back = sorted((b, a, recv, send) for a, b, send, recv, *_ in in_step(exchange.linear_gather_rounds, ranks, 0))
    assert out == back and len(out) == ranks - 1


def test_the_picture_of_the_ring_is_the_ring():
    held = contributions(ring_allreduce_rounds, 3)
    assert held[0].tolist() == [[1, 1, 1]] * 3 and held[-1].tolist() == [[3, 3, 3]] * 3
    assert held[2].diagonal().tolist() == [3, 3, 3]  # after P - 1 steps rank r has block r
    sent = [[round.send[0] for round in ring_allreduce_rounds(rank, 3)] for rank in range(3)]
    assert sent == [[2, 1, 0, 2], [0, 2, 1, 0], [1, 0, 2, 1]]


@pytest.mark.parametrize("name", ["SUM", "PROD", "MAX", "MIN", "LAND", "LOR", "BAND", "BOR"])
def test_operations_are_mpis_on_arrays_and_tensors(name):
    import torch

    op, a, b = getattr(mpi, name), np.array([0, 1, 2, 6]), np.array([3, 0, 2, 5])
    expected = {
        "SUM": a + b,
        "PROD": a * b,
        "MAX": np.maximum(a, b),
        "MIN": np.minimum(a, b),
        "LAND": (a != 0) & (b != 0),
        "LOR": (a != 0) | (b != 0),
        "BAND": a & b,
        "BOR": a | b,
    }[name]
    into, tensor = a.copy(), torch.tensor(a)
    operations.combiner(op, into)(into, b)
    operations.combiner(op, tensor)(tensor, torch.tensor(b))
    assert into.tolist() == tensor.tolist() == expected.astype(int).tolist()
    assert operations.name(op) == name


def test_what_is_not_an_operation_is_refused():
    with pytest.raises(TypeError, match="sum"):
        operations.combiner("sum", np.ones(1))


def test_the_picture_counts_contributions_in_trees_too():
    held = contributions(tree.binomial_allreduce_rounds, 3, blocks=1)
    assert held[-1].tolist() == [[3]] * 3 and held.max() == 3


def test_a_schedule_must_end_with_a_wait():
    with pytest.raises(ValueError, match="wait=True"):
        plan([Round(1, (0, 1), 1, (0, 1), wait=False)], Blocks(np.ones(2), 2), Blocks(np.ones(2), 2))


def test_an_error_inside_a_collective_is_told_every_time():
    def broken(a, b):
        raise ArithmeticError("planted")

    def program(comm):
        request = allreduce.start(comm, np.ones(2), broken, algorithm="ring")
        for _ in range(2):
            with pytest.raises(ArithmeticError, match="planted"):
                request.Wait()

    launch(program, 2)


def test_all_to_all_wants_two_arrays_of_one_type():
    def program(comm):
        x = np.arange(2.0)
        for other in (x, np.arange(2)):
            with pytest.raises(ValueError, match="two arrays of one type"):
                alltoall(comm, x, other)
        with pytest.raises(BufferError, match="detach"):
            allreduce(comm, torch.ones(2, requires_grad=True), algorithm="ring")

    launch(program, 2)

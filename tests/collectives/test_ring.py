"""The ring: equal to the serial sum in both worlds, in the bytes, messages and time that its formulas say."""

import numpy as np
import pytest
import torch

from reference import mpi
from reference.collectives import ring, ring_allgather, ring_allreduce, ring_reduce_scatter, start_ring_allreduce
from reference.collectives.evaluate import evaluate
from reference.collectives.ring import ring_allreduce_cost, ring_bytes
from reference.collectives.rounds import Blocks, Round, block_bounds, execute
from reference.networks import Link
from reference.worlds import LaunchError, launch, networks

RANKS, LENGTHS = (1, 2, 3, 5, 8), (0, 1, 7, 64)
NETWORK = networks.uniform(alpha=3e-6, beta=2e-10, gamma=7e-11)


def sums(comm, n):
    x = np.arange(n) * (comm.rank + 1.0)  # whole numbers: the sums are exact
    serial = np.arange(n) * sum(range(1, comm.size + 1))
    own = slice(*block_bounds(n, comm.size)[comm.rank : comm.rank + 2])
    gathered = np.full(n, -1.0)
    gathered[own] = serial[own]
    return (
        np.array_equal(ring_allreduce(comm, x.copy()), serial)
        and np.array_equal(ring_reduce_scatter(comm, x.copy()), serial[own])
        and np.array_equal(ring_allgather(comm, gathered), serial)
    )


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("world", ["virtual", "mpi"])
def test_equal_to_the_serial_sum(ranks, world):
    def all_lengths(comm):
        return [sums(comm, n) for n in LENGTHS]

    assert launch(all_lengths, ranks, world=world).results == [[True] * len(LENGTHS)] * ranks


@pytest.mark.parametrize("world", ["virtual", "mpi"])
def test_bytes_and_messages_are_those_of_the_formula(world):
    def program(comm, n):
        ring_allreduce(comm, np.ones(n))

    for ranks, n in ((1, 10), (3, 10), (8, 1001)):
        run = launch(program, ranks, n, world=world)
        assert run.bytes_sent == ring_bytes(ranks, n, 8).tolist()
        assert run.messages == [2 * (ranks - 1)] * ranks


def test_even_blocks_send_what_the_textbook_says():
    assert ring_bytes(8, 64).tolist() == [2 * 7 * 64 // 8] * 8


@pytest.mark.parametrize("ranks", [1, 6, 33])
def test_time_is_the_closed_form_and_the_evaluation_of_all_ranks_at_once(ranks):
    def program(comm, n):
        ring_allreduce(comm, np.ones(n))

    for n in (5, 4 * ranks + 3):
        run = launch(program, ranks, n, network=NETWORK)
        predicted = ring_allreduce_cost(ranks, n, 8, Link(3e-6, 2e-10, 7e-11))
        at_once = evaluate(ring.ring_allreduce_rounds, ranks, n, 8, NETWORK)
        assert run.seconds == pytest.approx(predicted.seconds, rel=1e-12)
        assert run.seconds == at_once.seconds  # the same arithmetic, to the last bit
        assert run.bytes_sent == at_once.bytes_sent.tolist() and run.messages == at_once.messages.tolist()


def test_torch_tensors_are_reduced_in_place():
    def program(comm):
        x = torch.arange(10, dtype=torch.bfloat16) * (comm.rank + 1)  # MPI cannot add these; torch can
        return ring_allreduce(comm, x) is x, x.tolist()

    assert launch(program, 3).results == [(True, [6.0 * i for i in range(10)])] * 3


@pytest.mark.parametrize("world", ["virtual", "mpi"])
def test_nonblocking_is_the_same_sum(world):
    def program(comm):
        x = np.arange(1000.0) * (comm.rank + 1)
        request, tests = start_ring_allreduce(comm, x), 0
        while not request.Test():
            tests += 1
        mpi.waitall([request])  # complete already: returns at once
        return np.array_equal(x, np.arange(1000.0) * 6)

    assert launch(program, 3, world=world).results == [True] * 3


def test_a_ring_hides_behind_computation_if_it_is_tested_in_between():
    def program(comm, overlapped):
        x = np.zeros(1000)
        if overlapped:
            request = start_ring_allreduce(comm, x)
            for _ in range(100):
                mpi.compute(comm, 1e-6)
                request.Test()
            request.Wait()
        else:
            mpi.compute(comm, 100e-6)
            ring_allreduce(comm, x)

    hidden, exposed = (launch(program, 4, overlapped).seconds for overlapped in (True, False))
    ring_alone = ring_allreduce_cost(4, 1000, 8, Link(1e-6, 1e-10)).seconds
    assert exposed == pytest.approx(100e-6 + ring_alone) and hidden < exposed - 0.9 * ring_alone + 20e-6


def test_ranks_with_arrays_of_different_lengths_do_not_hang():
    def program(comm):
        ring_allreduce(comm, np.ones(10 + comm.rank))

    with pytest.raises(LaunchError, match="truncation"):
        launch(program, 3)


@pytest.mark.parametrize(
    "mistake",
    [
        lambda rank, ranks, step: ((rank - step) % ranks, (rank - 1 - step) % ranks),  # one block off
        lambda rank, ranks, step: ((rank - 1) % ranks, (rank - 2) % ranks),  # always the same block
        lambda rank, ranks, step: ((rank - 1 + step) % ranks, (rank - 2 + step) % ranks),  # the other way round
    ],
)
def test_a_planted_mistake_in_the_schedule_is_seen(mistake):
    def wrong(rank, ranks):
        for step in range(ranks - 1):
            out, come = mistake(rank, ranks, step)
            yield Round((rank + 1) % ranks, (out, out + 1), (rank - 1) % ranks, (come, come + 1), combine=True)

    def program(comm, rounds):
        blocks = Blocks(np.full(12, comm.rank + 1.0), comm.size)
        execute(comm, rounds(comm.rank, comm.size), blocks)
        return blocks[comm.rank, comm.rank + 1].tolist() == [10.0] * 3

    assert all(launch(program, 4, ring.ring_reduce_scatter_rounds).results)
    assert not all(launch(program, 4, wrong).results)


@pytest.mark.parametrize("world", ["virtual", "mpi"])
def test_two_rings_under_way_do_not_mix(world):
    """Listed in another order on every other rank, beside a third one that blocks."""

    def program(comm):
        a, b, c = (np.full(6, value) for value in (1.0, 100.0, 10.0))
        first, second = start_ring_allreduce(comm, a), start_ring_allreduce(comm, b)
        ring_allreduce(comm, c)
        mpi.waitall([first, second] if comm.rank % 2 else [second, first])
        return a.tolist() + b.tolist() + c.tolist()

    assert launch(program, 3, world=world).results == [[3.0] * 6 + [300.0] * 6 + [30.0] * 6] * 3

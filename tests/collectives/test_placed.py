"""Schedules with positions played by other ranks: traffic is what the evaluation counts, and the clock agrees."""

import numpy as np
import pytest

from reference import mpi
from reference.collectives import ring_allreduce
from reference.collectives.catalogue import ALLGATHER, ALLREDUCE
from reference.collectives.evaluate import evaluate
from reference.collectives.placed import placed, traffic
from reference.collectives.ring import ring_allreduce_rounds, ring_bytes
from reference.collectives.rounds import Blocks, Round, execute, where, within
from reference.networks import fat_tree, two_level, uniform
from reference.networks.placement import cost, distances, ring_order
from reference.worlds import launch
from tests.networks.test_placement import ROUND_ROBIN, all_orders, costs, matrix

RING = ring_allreduce_rounds
TWO_LEVEL, TREE = two_level(ranks_per_node=4), fat_tree(2, 2)


SCHEDULES = {**ALLREDUCE, "bruck": ALLGATHER["bruck"]}  # whose ranges run past the last block


@pytest.mark.parametrize("name", SCHEDULES)
def test_traffic_is_what_the_evaluation_counts(name):
    schedule, options = SCHEDULES[name], ALLREDUCE[name].some_options(6) if name in ALLREDUCE else {}
    array = 6, 100, 4  # ranks, elements and their bytes
    blocks = schedule.blocks(6, **options)
    w = traffic(schedule.rounds, *array, blocks, **options)
    assert w.dtype == np.int64 and w.shape == (6, 6) and not w.diagonal().any()
    counted = evaluate(schedule.rounds, *array, uniform(), blocks, **options)
    assert w.sum(axis=1).tolist() == counted.bytes_sent.tolist()


def test_traffic_of_a_ring():
    assert traffic(RING, 3, 6, 8).tolist() == [[0, 64, 0], [0, 0, 64], [64, 0, 0]]
    assert traffic(RING, 4, 7, 8).sum(axis=1).tolist() == ring_bytes(4, 7, 8).tolist()
    assert traffic(RING, 1, 6, 8).tolist() == [[0]]


def sum_in_order(comm, order):
    x = np.arange(1000.0) * (comm.rank + 1)
    execute(comm, placed(RING, order)(comm.rank, comm.size), Blocks(x, comm.size))
    return np.array_equal(x, np.arange(1000.0) * 36)


def test_a_ring_out_of_order_is_right_and_slow():
    seconds, network = {}, two_level(4, 0, 1e-11, 0)  # bytes hold the cable, and latency does not
    for order in (ROUND_ROBIN, ring_order(TWO_LEVEL, 8).tolist()):
        run = launch(sum_in_order, 8, order, network=network)
        at_once = evaluate(placed(RING, order), 8, 1000, 8, network)
        assert run.results == [True] * 8
        assert run.seconds == pytest.approx(at_once.seconds, rel=1e-12)
        assert run.bytes_sent == at_once.bytes_sent.tolist()
        seconds[order[1]] = run.seconds
    assert seconds[4] > 3.9 * seconds[1]  # four messages wait for one cable, which the cost does not know


def test_a_communicator_in_this_order_takes_as_long():
    order = [3, 0, 6, 1, 7, 2, 5, 4]

    def program(comm):
        ring_allreduce(comm.Split(0, order.index(comm.rank)), np.ones(1000))

    seconds = evaluate(placed(RING, order), 8, 1000, 8, TWO_LEVEL).seconds
    assert launch(program, 8, network=TWO_LEVEL).seconds == pytest.approx(seconds)


@pytest.mark.parametrize("name", ["ring", "binomial tree", "halving-doubling", "double tree"])
def test_placed_traffic_is_the_traffic_moved(name):
    """Whoever takes the order for its inverse, in cost or in placed, fails here: this order is not its own inverse."""
    schedule, order = ALLREDUCE[name], np.array([2, 0, 4, 1, 3])
    blocks = schedule.blocks(5)
    w, d = traffic(schedule.rounds, 5, 33, 4, blocks), matrix(np.random.default_rng(1), 5)
    moved = traffic(placed(schedule.rounds, order), 5, 33, 4, blocks)
    assert np.array_equal(moved[np.ix_(order, order)], w) and w.any()
    assert cost(order, w, d) == pytest.approx(cost(range(5), moved, d))
    assert cost(np.argsort(order), w, d) != pytest.approx(cost(range(5), moved, d))


def test_a_rank_that_plays_the_wrong_position_is_seen():
    order = np.array([2, 0, 4, 1, 3])

    def wrong(rank, ranks):
        return within(RING(order[rank], ranks), lambda g: order[g])  # order where its inverse is due

    with pytest.raises(ValueError, match="does not receive"):
        evaluate(wrong, 5, 10, 8, TWO_LEVEL)


def test_one_rank_and_all_ranks_see_the_same_rounds():
    rounds = placed(ALLREDUCE["binomial tree"].rounds, [1, 2, 0])
    for rank in range(3):
        for one, every in zip(rounds(rank, 3), rounds(np.arange(3), 3), strict=True):
            assert type(one.to) is int and type(one.source) is int  # what a call of MPI takes
            assert (one.to, one.source) == (every.to[rank], every.source[rank])


def test_nobody_stays_nobody_whatever_its_number_is(monkeypatch):
    """MPICH's PROC_NULL is -1, Open MPI's is -2: as an index, one of them fits an order of one rank by chance."""
    for number in (-1, -2):
        monkeypatch.setattr(mpi, "PROC_NULL", number)
        idle = Round(mpi.PROC_NULL, (0, 0), mpi.PROC_NULL, (0, 0))
        assert list(placed(lambda rank, ranks, idle=idle: iter([idle]), [0])(0, 1)) == [idle]


def test_the_least_sum_of_seconds_is_not_the_least_time():
    """Two messages of 2 MB at one time, then one of 3 MB: best keep the last inside, though two leave their nodes."""

    def rounds(rank, ranks):
        nobody = mpi.PROC_NULL
        to, source = (
            where(rank == 0, 1, where(rank == 3, 2, nobody)),
            where(rank == 1, 0, where(rank == 2, 3, nobody)),
        )
        yield Round(to, (0, 2), source, (0, 2))
        yield Round(where(rank == 0, 2, nobody), (0, 3), where(rank == 2, 0, nobody), (0, 3))

    network, orders = two_level(2, alpha=0, beta=1e-9, alpha_out=0, beta_out=4e-9), all_orders(4)
    sums = costs(orders, traffic(rounds, 4, 3 * 10**6, 1, 3), distances(network, 4))
    clocks = np.array([evaluate(placed(rounds, order), 4, 3 * 10**6, 1, network, 3).seconds for order in orders])
    assert sums.min() == pytest.approx(16e-3) and clocks[sums.argmin()] == pytest.approx(14e-3)
    assert clocks.min() == pytest.approx(11e-3) and sums[clocks.argmin()] == pytest.approx(19e-3)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: traffic(RING, 0, 10, 8), "at least 1 position"),
        (lambda: placed(RING, []), "at least 1 position"),
        (lambda: placed(RING, [1, 2, 3]), r"ranks 0 to 2 once, got \[1, 2, 3\]"),
        (lambda: placed(RING, [1, 0])(0, 3), "2 positions on 3 ranks: make one for 3"),
    ],
)
def test_bad_input_is_refused_with_the_numbers(call, message):
    with pytest.raises(ValueError, match=message):
        call()

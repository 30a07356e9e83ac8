"""The automatic choice: the least of the formulas, a computed crossover, the hierarchical one on two levels."""

from math import inf

import numpy as np
import pytest
import torch

from reference import mpi
from reference.collectives import (
    ALLREDUCE,
    allreduce,
    allreduce_together,
    broadcast,
    choose,
    cost,
    crossover,
    gather,
    predict,
    reduce,
    scatter,
)
from reference.collectives.fit import Sample, fit
from reference.collectives.select import candidates
from reference.worlds import CollectiveMismatch, Truncation, launch, networks

UNIFORM = networks.uniform(alpha=5e-6, beta=1e-11, gamma=2e-12)


@pytest.mark.parametrize("P", [2, 5, 8, 64, 1000])
@pytest.mark.parametrize("count", [0, 1, 1000, 10**6, 10**9])
def test_the_choice_is_the_least_of_all_candidates(P, count):
    choice = choose(P, count, 4, UNIFORM)
    tried = dict(candidates(P, count, 4, UNIFORM))
    assert choice.seconds == min(predict(name, P, count, 4, UNIFORM, **own) for name, own in tried.items())
    flat = {"ring", "recursive doubling", "halving-doubling", "binomial tree", "binary tree", "double tree"}
    assert flat <= set(tried) and ("direct" in tried) == (count % P == 0)
    assert not {"hierarchical", "leader", "torus", "x then y"} & set(tried)


def test_small_messages_want_few_rounds_and_large_ones_few_bytes():
    assert choose(64, 1, 4, UNIFORM).algorithm == "recursive doubling"
    assert choose(64, 10**8, 4, UNIFORM).algorithm == "direct"  # its messages in flight share their latency
    assert choose(64, 10**8 + 1, 4, UNIFORM).algorithm == "halving-doubling"  # uneven blocks get in each other's way
    assert choose(65, 10**8, 4, networks.uniform(0, 1e-11)).algorithm == "ring"  # the fold costs a whole array
    uneven = 10**8 + 1
    assert choose(1000, uneven, 4, UNIFORM).algorithm == "double tree"  # the ring's latency, the fold's bytes: neither


def test_where_latency_holds_ports_messages_in_flight_gain_nothing():
    """But for additions, which they hide: the older alpha-beta model."""
    added, free = (networks.uniform(5e-6, 1e-11, gamma, gap=inf) for gamma in (2e-12, 0.0))
    assert choose(64, 10**8, 4, free).algorithm == "halving-doubling"
    assert choose(64, 10**8, 4, added).algorithm == "direct"


@pytest.mark.parametrize("P, megabytes", [(8, 0.94), (64, 5.7), (256, 17.6), (1024, 56)])
def test_the_crossover_of_tree_and_ring_depends_on_everything(P, megabytes):
    """An unpipelined tree against a ring, alpha 5 us, 100 GB/s: no 256 KB and no 10 MB (E0-37, E3-03)."""
    found = crossover("binomial tree", "ring", P, networks.uniform(5e-6, 1e-11))
    log = (P - 1).bit_length()
    by_hand = 5e-6 * (P - 1 - log) / (1e-11 * (log - (P - 1) / P))
    assert found / 1e6 == pytest.approx(megabytes, rel=0.02) and found == pytest.approx(by_hand, rel=0.01)
    slower = crossover("binomial tree", "ring", P, networks.uniform(50e-6, 1e-11))
    assert slower == pytest.approx(10 * found, rel=0.01)


def test_there_may_be_no_crossover():
    assert crossover("recursive doubling", "binomial tree", 16, UNIFORM) is None
    assert crossover("binomial tree", "recursive doubling", 16, UNIFORM) == 4  # from the first element on


def test_two_levels_want_the_hierarchical_one_when_cards_are_shared():
    network = networks.two_level(8, alpha=1e-6, beta=5e-12, alpha_out=5e-6, beta_out=4e-11, nics=8)
    choice = choose(64, 25 * 10**6, 4, network)
    assert choice.algorithm == "hierarchical" and choice.options["ranks_per_node"] == 8
    assert choice.seconds < 0.5 * min(
        predict(flat, 64, 25 * 10**6, 4, network) for flat in ("ring", "halving-doubling")
    )


def test_it_is_chosen_and_carried_out_on_the_virtual_cluster():
    network = networks.two_level(4, alpha=1e-7, beta=1e-12, nics=4)

    def program(comm, machine):
        x = np.arange(4000.0) * (comm.rank + 1)
        allreduce(comm, x, machine=machine)
        return np.array_equal(x, np.arange(4000.0) * 36)

    run = launch(program, 8, None, network=network)
    assert all(run.results) and run.seconds == pytest.approx(choose(8, 4000, 8, network).seconds)
    other = networks.uniform(1.0, 1e-12, gap=inf)  # told that latency is terrible, and that each message pays it
    assert launch(program, 8, other, network=network).messages == [3] * 8


def test_a_fit_is_a_machine_too():
    """Own lines decide: the direct exchange was measured to be twice as fast as its formula for one machine says."""
    samples = [Sample("ring", n, 1e-5 + 2e-9 * n) for n in (8, 10**6)]
    samples += [Sample("recursive doubling", n, 4e-6 + 3e-9 * n) for n in (8, 10**6)]
    machine = fit(8, samples)
    assert choose(8, 2, 4, machine).algorithm == "recursive doubling"
    assert choose(8, 10**6, 4, machine).algorithm == "ring"
    assert crossover("recursive doubling", "ring", 8, machine) == pytest.approx(6e-6 / 1e-9, rel=0.2)


def test_the_plan_is_made_once_and_machines_are_not_mixed_up():
    def program(comm):
        x = np.ones(64)
        for _ in range(3):
            allreduce(comm, x)
        made = len(mpi.kept(comm))
        for _ in range(3):  # new machines, which may get each other's address
            allreduce(comm, x, machine=networks.uniform(1.0, 1e-12))
        return made, len(mpi.kept(comm))

    made, more = launch(program, 4).results[0]
    assert more == made + 3


@pytest.mark.parametrize("name", ["auto", *ALLREDUCE])
def test_one_rank_needs_no_algorithm(name):
    x = np.arange(3.0)
    run = launch(lambda comm: allreduce(comm, x, algorithm=None if name == "auto" else name).tolist(), 1)
    assert run.results == [[0.0, 1.0, 2.0]] and run.messages == [0]


@pytest.mark.mpi
def test_real_ranks_choose_alike_and_are_right():
    def program(comm):
        machine = fit(comm.size, [Sample("ring", 8, 1e-3), Sample("recursive doubling", 8, 1e-5)])
        found = []
        for n in (1, 1000):
            x = np.arange(n) * (comm.rank + 1.0)
            found.append(np.array_equal(allreduce(comm, x, machine=machine), np.arange(n) * 15.0))
        return found

    run = launch(program, 5, world="mpi")
    assert run.results == [[True, True]] * 5 and sum(run.messages) == 2 * (4 * 2 + 2)


def test_options_without_an_algorithm_are_refused():
    def program(comm):
        with pytest.raises(ValueError, match="segments: an option of which algorithm"):
            allreduce(comm, np.ones(4), segments=2)
        with pytest.raises(ValueError, match="0 segments"):
            allreduce(comm, np.ones(4), algorithm="double tree", segments=0)

    launch(program, 2)


@pytest.mark.parametrize("which", [reduce, gather, broadcast, scatter])
def test_ranks_with_arrays_of_different_lengths_are_told_so(which):
    """Shorter ones, too: MPI would take the shorter message and leave garbage in the rest."""
    for length in (lambda rank: 8 - 2 * rank, lambda rank: 8 + 2 * rank):
        with pytest.raises((CollectiveMismatch, Truncation)) as raised:
            launch(lambda comm, length=length: which(comm, np.ones(length(comm.rank))), 2)
        assert "bytes" in raised.value.cause


# Many small arrays in one message


def arrays(comm, kind=np.asarray):
    return [kind(np.full(shape, comm.rank + 1.0, "float32")) for shape in (3, (2, 4), 0, 1)]


@pytest.mark.parametrize(
    "kind, world",
    [(np.array, "virtual"), (torch.tensor, "virtual"), pytest.param(np.array, "mpi", marks=pytest.mark.mpi)],
)
def test_each_array_is_summed_in_place(kind, world):
    def program(comm):
        mine = arrays(comm, kind)
        assert allreduce_together(comm, mine, algorithm="ring") is mine
        return [each.tolist() for each in mine]

    assert launch(program, 3, world=world).results == [[[6.0] * 3, [[6.0] * 4] * 2, [], [6.0]]] * 3


def test_one_after_another_pays_a_latency_each():
    def program(comm, together):
        mine = [np.ones(10, "float32") for _ in range(20)]
        if together:
            allreduce_together(comm, mine, algorithm="recursive doubling")
        else:
            for each in mine:
                allreduce(comm, each, algorithm="recursive doubling")

    one, many = (
        launch(program, 8, together, network=networks.uniform(alpha=5e-6, beta=1e-10)) for together in (True, False)
    )
    assert one.messages == [3] * 8 and many.messages == [60] * 8 and one.bytes_sent == many.bytes_sent
    expected_one, expected_many = (3 * seconds for seconds in cost.aggregated([40] * 20, networks.Link(5e-6, 1e-10)))
    assert one.seconds == pytest.approx(expected_one) and many.seconds == pytest.approx(expected_many)


def test_nothing_to_reduce_is_fine_and_mixed_types_are_refused():
    assert launch(lambda comm: allreduce_together(comm, []), 2).results == [[], []]

    def mixed(comm):
        with pytest.raises(TypeError, match="float32, int64"):
            allreduce_together(comm, [np.ones(1, "float32"), np.ones(1, "int64")])

    launch(mixed, 2)


def test_whether_a_leader_or_all_ranks_go_through_the_one_card_depends_on_what_holds_it():
    """What chapter 1 says: the older model, in which latency holds the card, lets the leader win up to 8 MiB."""

    def quickest(nbytes, **gap):
        return choose(
            32, nbytes // 8, 8, networks.two_level(8, 1e-6, 1 / 300e9, 5e-6, 1 / 25e9, nics=1, **gap)
        ).algorithm

    assert [quickest(n) for n in (2**16, 2**20, 2**24)] == ["leader", "hierarchical", "hierarchical"]
    assert [quickest(n, gap=inf) for n in (2**16, 2**20, 2**23, 2**24)] == ["leader"] * 3 + ["hierarchical"]

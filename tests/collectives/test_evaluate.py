"""Evaluating all ranks at once: the engine's clocks, bytes and messages, rank by rank, up to sizes it never reaches."""

import numpy as np
import pytest

from reference import mpi
from reference.collectives import ALLREDUCE
from reference.collectives.evaluate import evaluate
from reference.collectives.ring import ring_allreduce_rounds
from reference.collectives.rounds import Round, where
from reference.networks import Level, SwitchTree
from reference.worlds import launch, networks

from .test_algorithms import ACROSS, NETWORK, VIRTUAL, Call, Case, cases, played, uneven

LINK = networks.Link(alpha=3e-6, beta=2e-10, gamma=7e-11)
ODD = networks.uniform(*LINK)  # nothing about these is round: every sum is rounded


def evaluated(P, case, network):
    return evaluate(case.schedule.rounds, P, case.n, 8, network, case.blocks(P), **case.keywords)


@pytest.mark.parametrize("ranks", VIRTUAL)
def test_every_rank_has_the_engines_clock_bytes_and_messages(ranks):
    wrong = []
    for case, one in played(ranks).items():
        clocks, *sent = (field.tolist() for field in evaluated(ranks, case, NETWORK))
        if [clocks, *sent] != [one.seconds, one.bytes_sent, one.messages]:
            wrong.append(f"{case} on {ranks} ranks: {one}")
    assert wrong == []


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [2, 3, 5, 8])
def test_every_real_rank_sends_as_many_bytes_and_messages(ranks):
    wrong = []
    for case, one in played(ranks, "mpi").items():
        at_once = evaluated(ranks, case, NETWORK)
        if (one.bytes_sent, one.messages) != (at_once.bytes_sent.tolist(), at_once.messages.tolist()):
            wrong.append(f"{case} on {ranks} ranks: {one.bytes_sent} bytes, {one.messages} messages")
    assert wrong == []


def clocks(ranks, case, network):
    """The engine's clocks after a case that begins at 0."""

    def program(comm):
        Call(comm, case).carry_out()
        return mpi.wtime(comm)

    return launch(program, ranks, network=network).results


def test_equal_to_the_last_bit_where_sums_are_rounded(ranks=6):
    calls = [*cases(ranks, [uneven(ranks)], few=True)]
    calls += cases(ranks, [4 * ranks], few=True, collectives=["reduce_scatter", "alltoall"])
    wrong = [str(c) for c in calls if evaluated(ranks, c, ODD).clocks.tolist() != clocks(ranks, c, ODD)]
    assert wrong == []


@pytest.mark.parametrize("nodes, ranks_per_node", [(2, 4), (3, 2), (4, 3)])
def test_equal_on_two_levels_with_a_network_card_a_rank(nodes, ranks_per_node):
    network = networks.two_level(ranks_per_node, nics=ranks_per_node, gamma=3e-12)
    P, inside = nodes * ranks_per_node, ("ranks_per_node", ranks_per_node)
    names = [("ring", ()), ("halving-doubling", ()), *(("hierarchical", (inside, ("across", a))) for a in ACROSS)]
    for name, options in names:
        case = Case("allreduce", name, uneven(P), options)
        assert evaluated(P, case, network).clocks.tolist() == clocks(P, case, network), str(case)


SHARED = {
    "one card a node": networks.two_level(4, gamma=3e-12),
    "half of the core": networks.fat_tree(2, 2, oversubscription=2),
}


@pytest.mark.parametrize("network", SHARED.values(), ids=SHARED)
def test_equal_to_the_last_bit_where_messages_share_cables(network):
    """Nobody waits for a round of all to end: a rank that is through goes on, and so do those that wait for it."""
    calls = cases(12, [uneven(12), 48], few=True, collectives=["allreduce", "alltoall", "allgather"])
    wrong = [str(c) for c in calls if evaluated(12, c, network).clocks.tolist() != clocks(12, c, network)]
    assert wrong == []


def shifts(rank, ranks, distance=5, times=20):
    """Each rank to one `distance` further on, again and again."""
    for _ in range(times):
        yield Round((rank + distance) % ranks, (0, 1), (rank - distance) % ranks, (0, 1))


@pytest.mark.parametrize("P", [16, 64])
def test_no_convoys(P):
    """Two cards a node of 4, so that two messages share each: as long on 64 ranks as on 16."""
    network = networks.two_level(4, nics=2)
    assert evaluate(shifts, P, 1000, 8, network, 1).seconds == evaluate(shifts, 16, 1000, 8, network, 1).seconds


def test_messages_that_share_a_cable_follow_each_other():
    """Four ranks of a node, all to the other node through one card: the last has waited for three."""

    def rounds(rank, ranks):
        across = (rank + 4) % 8
        yield Round(where(rank < 4, across, mpi.PROC_NULL), (0, 1), where(rank >= 4, across, mpi.PROC_NULL), (0, 1))

    for nics, clocks in ((1, [1, 2, 3, 4]), (2, [1, 1, 2, 2]), (4, [1, 1, 1, 1])):
        network = networks.two_level(4, alpha=0, alpha_out=0, beta_out=0.125, nics=nics)
        assert evaluate(rounds, 8, 1, 8, network, 1).clocks.tolist() == clocks * 2


@pytest.mark.parametrize(
    "name, options",
    [
        ("recursive doubling", ()),
        ("halving-doubling", ()),
        ("binomial tree", ()),
        ("binary tree", (("segments", 2),)),
        ("double tree", (("segments", 2),)),
        ("hierarchical", (("ranks_per_node", 8), ("across", "halving-doubling"))),
        ("leader", (("ranks_per_node", 8), ("across", "recursive doubling"))),
    ],
)
def test_ten_thousand_ranks(name, options):
    P, case = 10_000, Case("allreduce", name, 10**7, options)
    seconds = evaluated(P, case, ODD).seconds
    formula = case.schedule.cost(P, case.n, 8, LINK, **dict(options)).seconds
    if "tree" in name and options:
        assert 0.8 * formula < seconds <= formula
    else:
        assert seconds == pytest.approx(formula, rel=1e-9)


def test_a_ring_of_two_thousand_ranks():
    case = Case("allreduce", "ring", 10**7 + 3)
    formula = case.schedule.cost(2000, case.n, 8, LINK)
    assert evaluated(2000, case, ODD).seconds == pytest.approx(formula.seconds, rel=1e-9)


# What is refused ---------------------------------------------------------------------------------------------------


def round_of(to, send, source, recv):
    """A schedule of one round: fields by rank, blocks as (lo, hi) by rank."""
    fields = [np.array(field) for field in (to, send, source, recv)]

    def rounds(rank, ranks):
        t, s, f, r = (field[rank] for field in fields)
        yield Round(t, (s[..., 0], s[..., 1]), f, (r[..., 0], r[..., 1]))

    return rounds


NONE, ONE = mpi.PROC_NULL, (0, 1)


@pytest.mark.parametrize(
    "schedule, message",
    [
        (round_of([1, 0, NONE], [ONE] * 3, [1, 0, NONE], [ONE] * 3), None),
        (round_of([1, 2, 0], [ONE] * 3, [1, 2, 0], [ONE] * 3), "does not receive"),  # all in one direction
        (round_of([1, NONE, NONE], [ONE] * 3, [NONE] * 3, [ONE] * 3), "does not receive"),
        (round_of([NONE] * 3, [ONE] * 3, [NONE, 0, NONE], [ONE] * 3), "does not receive"),  # never sent
        (round_of([1, NONE, 1], [ONE] * 3, [NONE, 0, NONE], [ONE] * 3), "does not receive"),  # two to one
        (round_of([1, NONE, 1], [ONE] * 3, [NONE, 0, 0], [ONE] * 3), "does not receive"),
        (round_of([1, NONE, NONE], [(0, 2)] * 3, [NONE, 0, NONE], [ONE] * 3), "another number of bytes"),
        (round_of([1, NONE, NONE], [ONE] * 3, [NONE, 0, NONE], [(2, 3)] * 3), "another number of bytes"),
    ],
)
def test_ranks_that_do_not_agree_are_refused(schedule, message):
    if message is None:
        assert evaluate(schedule, 3, 10, 8, ODD).messages.tolist() == [1, 1, 0]
    else:
        with pytest.raises(ValueError, match=message):
            evaluate(schedule, 3, 10, 8, ODD)  # blocks of 4, 3 and 3 elements


def test_more_ranks_than_a_network_has_are_refused():
    with pytest.raises(ValueError, match="5 ranks are not on one network: it holds 4"):
        evaluate(ring_allreduce_rounds, 5, 10, 8, SwitchTree((Level(4, 1e-6, 1e-10),)))


@pytest.mark.parametrize("name", ["ring", "direct", "halving-doubling", "double tree"])
def test_a_mistake_on_one_rank_is_refused(name):
    """One rank is a round behind, or takes its neighbour's part."""
    schedule = ALLREDUCE[name]

    def wrong(rank, ranks):
        yield from schedule.rounds(np.where(rank == 2, 3, rank), ranks)

    with pytest.raises(ValueError, match="in some round a rank"):
        evaluate(wrong, 5, 17, 8, ODD, schedule.blocks(5))

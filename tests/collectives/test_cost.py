"""Closed forms: the virtual cluster takes exactly as long, both worlds move as many bytes, nothing beats the bounds."""

from math import ceil, floor, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.collectives import cost
from reference.collectives.binary_tree import best_segments, binary_tree_allreduce_cost, tree_rounds
from reference.collectives.doubling import halving_doubling_allreduce_cost
from reference.collectives.evaluate import evaluate
from reference.collectives.ring import (
    ring_allgather_cost,
    ring_allreduce_cost,
    ring_bytes,
    ring_reduce_scatter_cost,
)
from reference.networks import Link
from reference.worlds import networks

from .test_algorithms import ALPHA, BETA, GAMMA, GAP, VIRTUAL, Case, cases, observe, played, uneven

LINK = Link(ALPHA, BETA, GAMMA, GAP)
# what counts rounds, of messages that hold their ports until they are there; bytes; additions
LATENCY, BANDWIDTH, REDUCTION = Link(1, 0, 0, gap=1), Link(0, 1, 0), Link(0, 0, 1)


def formula(P, case, link=LINK, itemsize=8):
    return case.schedule.cost(P, case.n, itemsize, link, **dict(case.options))


def evaluated(P, case, link=LINK, itemsize=8):
    network = networks.uniform(*link)
    return evaluate(case.schedule.rounds, P, case.n, itemsize, network, case.blocks(P), **case.keywords)


def slack(P, case):
    """Elements by which a root other than 0 may take longer: all blocks on the way may be of the largest."""
    if not case.root or (case.collective not in ("scatter", "gather") and case.algorithm != "scatter-allgather"):
        return 0
    return P * cost.largest_block(P, case.n) - case.n


def holds(P, case):
    """How the time compares with the formula, by the record of an all-reduce."""
    if case.collective == "allreduce":
        return case.schedule.holds(P, case.n, **dict(case.options))
    return "within a factor of 2" if case.algorithm == "direct" and case.n % P else "exactly"


def within_two(P, case):
    return holds(P, case) == "within a factor of 2"


# Time --------------------------------------------------------------------------------------------------------------


def misses(P, case, seconds):
    """What is wrong with the time that a case took; nothing if it keeps what the docstring of its formula promises."""
    due = formula(P, case).seconds
    bounded = holds(P, case) == "at most"
    most = due + slack(P, case) * 8 * BETA
    if seconds > most or (seconds < due and not bounded):
        return f"{case} on {P} ranks: {seconds} s instead of {'at most ' * bounded}{due} s"
    return ""


@pytest.mark.parametrize("ranks", VIRTUAL)
def test_virtual_time_is_the_closed_form(ranks):
    """To the last bit: with alpha, beta and gamma powers of two nothing is rounded."""
    seen = {case: max(one.seconds) for case, one in played(ranks).items() if not within_two(ranks, case)}
    assert list(filter(None, (misses(ranks, case, seconds) for case, seconds in seen.items()))) == []


@pytest.mark.parametrize("ranks", [10, 11, 14, 15, 16, 17, 31, 32, 33])
def test_evaluated_time_is_the_closed_form(ranks):
    """Which is the virtual cluster's, says test_evaluate.py, at a fraction of the cost."""
    calls = [case for case in cases(ranks, [uneven(ranks), 2 * ranks], few=True) if not within_two(ranks, case)]
    assert list(filter(None, (misses(ranks, case, evaluated(ranks, case).seconds) for case in calls))) == []


@pytest.mark.parametrize("ranks", VIRTUAL)
def test_a_direct_exchange_of_uneven_blocks_takes_at_most_twice_its_formula(ranks):
    """Ports that never stand idle while they could send are at most that far from the best order."""
    for case, one in played(ranks).items():
        if within_two(ranks, case):
            assert formula(ranks, case).seconds / 2 <= max(one.seconds) <= 2 * formula(ranks, case).seconds, case


@pytest.mark.parametrize("ranks", range(1, 10))
def test_additions_that_take_longer_than_messages_are_not_hidden(ranks):
    slow = networks.uniform(*(link := LINK._replace(gamma=2.0**-20)))
    calls = [Case(collective, "direct", 4 * ranks) for collective in ("allreduce", "reduce_scatter")]
    for case, one in observe(ranks, calls, network=slow).items():
        assert max(one.seconds) == formula(ranks, case, link).seconds, case


@pytest.mark.parametrize("P, L", [(8, 4), (9, 3), (6, 2), (4, 4)])
def test_two_levels(P, L):
    """Exact with a network card for every rank, at most the formula if all ranks of a node share one."""
    outside = Link(4 * ALPHA, 16 * BETA, 0, GAP)
    for nics in {1, L}:
        network = networks.two_level(L, ALPHA, BETA, outside.alpha, outside.beta, nics, GAMMA, GAP)
        calls = [case for case in cases(P, [4 * P]) if ("ranks_per_node", L) in case.options]
        for case, one in observe(P, calls, network=network).items():
            shared = {"ranks_per_nic": L // nics} if case.algorithm == "hierarchical" else {}
            due = case.schedule.cost(P, case.n, 8, LINK, **dict(case.options), outside=outside, **shared).seconds
            exact = nics == L or case.algorithm == "leader"
            assert due * (1.0 if exact else 0.75) <= max(one.seconds) <= due, f"{case} with {nics} cards"


@pytest.mark.parametrize("P, L", [(8, 4), (9, 3), (6, 2)])
def test_cards_that_are_shared_make_the_bound_exact_if_messages_share_them_fairly(P, L):
    """All of a round are through at its end; in turns the first of them go on before (test_two_levels)."""
    outside = Link(4 * ALPHA, 16 * BETA, 0, GAP)
    network = networks.two_level(L, ALPHA, BETA, outside.alpha, outside.beta, 1, GAMMA, GAP)
    calls = [
        case for case in cases(P, [4 * P]) if case.algorithm == "hierarchical" and ("ranks_per_node", L) in case.options
    ]
    for case, one in observe(P, calls, network=network, sharing="fair").items():
        due = case.schedule.cost(P, case.n, 8, LINK, **dict(case.options), outside=outside, ranks_per_nic=L).seconds
        assert max(one.seconds) == pytest.approx(due, rel=1e-9), case


def test_the_bound_of_trees_is_not_far_off():
    """h is about 2 log2 P, and for long arrays in many segments one tree takes about 4 n beta, two take 2 n beta."""
    for P in range(2, 130):
        assert abs(tree_rounds(P, 1, 1) - 2 * log2(P)) <= 2 >= abs(tree_rounds(P, 1, 2) - 2 * log2(P))
    for P in (7, 16):
        for name, expected in (("binary tree", 4), ("double tree", 2)):
            case = Case("allreduce", name, 2 * 10**6, (("segments", 50),))
            assert evaluated(P, case, BANDWIDTH, 1).seconds / case.n == pytest.approx(expected, rel=0.15)
            assert formula(P, case, BANDWIDTH, 1).seconds / case.n == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize("trees", [1, 2])
@pytest.mark.parametrize("P, count, gamma", [(5, 10**4, 0.0), (16, 10**6, 1e-10), (100, 10**6, 0.0), (33, 100, 0.0)])
def test_no_number_of_segments_beats_the_best(P, count, gamma, trees):
    link = Link(5e-6, 1e-9, gamma)
    best = best_segments(P, count, 4, link, trees)
    times = [binary_tree_allreduce_cost(P, count, 4, link, S, trees).seconds for S in range(1, max(200, 2 * best))]
    assert times[best - 1] <= 1.01 * min(times)


# Rounds ------------------------------------------------------------------------------------------------------------


FLAT = {
    "ring": lambda P: 2 * (P - 1),
    "direct": lambda P: 2 * (P - 1),
    "recursive doubling": lambda P: floor(log2(P)) + 2 * (P & (P - 1) > 0),
    "halving-doubling": lambda P: 2 * floor(log2(P)) + 2 * (P & (P - 1) > 0),
    "binomial tree": lambda P: 2 * ceil(log2(P)),
}


def rounds_by_hand(P, case):
    """The longest chain of messages that wait for each other, as the papers have it; None where nobody has counted."""
    up, halving, options = ceil(log2(P)), FLAT["recursive doubling"](P), dict(case.options)
    inside = options.get("ranks_per_node", options.get("width", 1))
    across = FLAT[options.get("across", "ring")](P // inside)
    return {
        **{("allreduce", name): rounds(P) for name, rounds in FLAT.items()},
        ("allreduce", "hierarchical"): 2 * (inside - 1) + across,
        ("allreduce", "leader"): 2 * ceil(log2(inside)) + across,
        ("allreduce", "torus"): 2 * (inside + P // inside - 2),
        ("allreduce", "x then y"): 2 * (inside + P // inside - 2),
        ("reduce_scatter", "recursive halving"): halving,
        ("allgather", "recursive doubling"): halving,
        ("allgather", "bruck"): up,
        ("broadcast", "binomial tree"): up,
        ("broadcast", "chain"): (P > 1) * (P - 2 + options.get("segments", 1)),
        ("broadcast", "scatter-allgather"): up + P - 1,
        ("reduce", "binomial tree"): up,
        ("scatter", "binomial tree"): up,
        ("gather", "binomial tree"): up,
        ("alltoall", "bruck"): up,
        ("barrier", "dissemination"): up,
    }.get((case.collective, case.algorithm), None if case.collective == "allreduce" else P - 1)


@pytest.mark.parametrize("ranks", [*range(1, 10), 12, 16, 17, 33])
def test_latency_is_the_number_of_rounds(ranks):
    wrong = []
    for case in cases(ranks, [2 * ranks], few=True):
        rounds = formula(ranks, case, LATENCY).latency
        counted = evaluated(ranks, case, LATENCY).seconds
        by_hand = rounds_by_hand(ranks, case)
        if by_hand is None:  # a pipelined tree, or a new one
            right = counted <= rounds if holds(ranks, case) == "at most" else counted == rounds
        else:
            right = counted == by_hand == rounds
        if not right:
            wrong.append(f"{case} on {ranks} ranks: {rounds} rounds, {by_hand} by hand, {counted} counted")
    assert wrong == []


# Bytes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8])
def test_each_rank_sends_what_the_record_says(ranks, world):
    wrong = []
    for case, one in played(ranks, world).items():
        if case.collective == "allreduce":
            due = case.schedule.volume(ranks, case.n, 8, **dict(case.options))
            if (one.bytes_sent, one.messages) != (due.nbytes.tolist(), due.messages.tolist()):
                wrong.append(f"{case}: {one.bytes_sent} in {one.messages} messages instead of {due}")
    assert wrong == []


@pytest.mark.parametrize("ranks", [2, 3, 5, 8])
def test_each_rank_sends_what_the_textbook_says(ranks, world):
    """Where P divides the length: all ranks alike."""
    power, wrong = ranks & (ranks - 1) == 0, []
    for case, one in played(ranks, world).items():
        nbytes = 8 * case.n
        share = (ranks - 1) * nbytes // ranks
        due = {
            ("allreduce", "ring"): 2 * share,
            ("allreduce", "direct"): 2 * share,
            ("allreduce", "halving-doubling"): 2 * share if power else None,
            ("allreduce", "recursive doubling"): floor(log2(ranks)) * nbytes if power else None,
            ("allreduce", "torus"): 2 * share,
            ("reduce_scatter", "ring"): share,
            ("reduce_scatter", "direct"): share,
            ("reduce_scatter", "recursive halving"): share if power else None,
            ("allgather", "ring"): share,
            ("allgather", "direct"): share,
            ("allgather", "bruck"): share,
            ("allgather", "recursive doubling"): share if power else None,
            ("alltoall", "pairwise"): share,
            ("alltoall", "direct"): share,
        }.get((case.collective, case.algorithm))
        if due is not None and case.n % ranks == 0 and one.bytes_sent != [due] * ranks:
            wrong.append(f"{case}: {one.bytes_sent} instead of {due} each")
    assert wrong == []


@pytest.mark.parametrize("ranks", VIRTUAL)
def test_uneven_blocks_of_a_ring(ranks):
    case = Case("allreduce", "ring", uneven(ranks))
    assert played(ranks)[case].bytes_sent == ring_bytes(ranks, case.n, 8).tolist()


# Bounds ------------------------------------------------------------------------------------------------------------


@given(st.data(), st.integers(1, 40), st.integers(0, 10))
def test_nothing_beats_the_lower_bounds(data, P, elements):
    """Each term by itself, in what the schedule really takes. Blocks are even: a root may own the largest one."""
    case = data.draw(st.sampled_from([c for c in cases(P, [elements * P], few=True) if c.collective != "barrier"]))
    for term in (LATENCY, BANDWIDTH, REDUCTION):
        least = cost.lower_bound(case.collective, P, 4 * case.n, term).seconds
        assert evaluated(P, case, term, itemsize=4).seconds >= least * (1 - 1e-12), f"{case} on {P} ranks"


@pytest.mark.parametrize("P", [1, 2, 8, 64])
def test_halving_doubling_reaches_all_bounds_at_once_but_latency_twice(P):
    least = cost.lower_bound("allreduce", P, 64 * 8, LINK)
    taken = halving_doubling_allreduce_cost(P, 64, 8, LINK)
    assert taken == cost.Cost(2 * least.latency, least.bandwidth, least.reduction)


def test_bus_bandwidth_is_that_of_nccl_tests():
    """nccl-tests, doc/PERFORMANCE.md: 2 (n - 1) / n for an all-reduce, 1 for a broadcast, else (n - 1) / n."""
    factors = [cost.bus_bandwidth(name, 8, 1000, 10.0) / 100 for name in cost.BOUNDS]
    assert dict(zip(cost.BOUNDS, factors)) == {
        "broadcast": 1,
        "reduce": 1,
        "scatter": 0.875,
        "gather": 0.875,
        "allgather": 0.875,
        "reduce_scatter": 0.875,
        "alltoall": 0.875,
        "allreduce": 1.75,
    }


def test_the_gap_is_that_of_deepeps_messages():
    """128 tokens to 8 experts each, 194 us at 39 GB/s over a card of 50 GB/s (docs/legacy.md, 256 ranks, dispatch)."""
    nbytes = 194e-6 * 39e9
    assert cost.in_flight(1024, nbytes, Link(5e-6, 1 / 50e9)).seconds == pytest.approx(194e-6, rel=0.03)
    assert cost.in_flight(1024, nbytes, Link(5e-6, 1 / 50e9, gap=5e-6)).seconds > 5e-3  # if latency held the port
    assert cost.in_flight(0, 0, Link(5e-6, 1)).seconds == 0 and cost.in_flight(1, 8, LINK) == cost.messages(1, 8, LINK)


def test_one_message_saves_latency_and_loses_overlap():
    assert cost.aggregated([3, 4, 5], Link(10, 1)) == (22, 42)
    assert cost.finish([0, 0, 0], [3, 4, 5], Link(10, 1)) == (22, 42)  # ready at one time: together
    assert cost.finish([0, 50, 100], [3, 4, 5], Link(10, 1)) == (122, 115)  # far apart: each when it is


def test_the_two_halves_of_a_ring_are_the_whole():
    halves = ring_reduce_scatter_cost(8, 1001, 4, LINK) + ring_allgather_cost(8, 1001, 4, LINK)
    assert halves == ring_allreduce_cost(8, 1001, 4, LINK)

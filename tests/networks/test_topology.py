"""Topology: what the clock of the virtual cluster knows is found again by measuring, however the ranks are numbered."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.collectives import ring_allreduce
from reference.collectives.select import choose
from reference.networks.placement import distances, ring_order_from
from reference.networks.topology import (
    PATH_TYPES,
    as_network,
    common_level,
    describe,
    levels,
    nearness,
    nodes,
    path_types,
    probe,
    rate_path,
    tournament,
)
from reference.worlds import RankFailed, launch, networks

SHUFFLED = [3, 6, 0, 5, 2, 7, 4, 1]  # the slot at which rank 0, 1, ... sits
SIZES = (8, 2**14)
TWO_LEVEL = networks.two_level(4)
TREE = networks.fat_tree(2, 2, alphas=(1e-6, 5e-6, 20e-6))


def probed(network, slots, nbytes=SIZES, **options):
    """The Run of a probe in which rank r sits at slots[r]."""

    def program(comm):
        return probe(comm.Split(0, slots.index(comm.rank)), nbytes, repeat=2, **options)

    return launch(program, len(slots), network=network)


def true(network, slots):
    """alpha and beta of every pair, from the network itself."""
    routes = [[network.route(a, b) for b in slots] for a in slots]
    return np.array([[way.alpha for way in row] for row in routes]), np.array(
        [[way.beta for way in row] for row in routes]
    )


# Measuring


@pytest.mark.parametrize("P", range(2, 10))
def test_a_tournament_pairs_all_and_nobody_twice_in_a_turn(P):
    turns = tournament(P)
    assert sorted(pair for turn in turns for pair in turn) == list(combinations(range(P), 2))
    assert all(len({rank for pair in turn for rank in pair}) == 2 * len(turn) for turn in turns)
    assert len(turns) == P - 1 + P % 2 and {len(turn) for turn in turns} == {P // 2}


def test_a_tournament_of_four_is_the_figure():
    assert tournament(4) == [[(0, 3), (1, 2)], [(1, 3), (0, 2)], [(2, 3), (0, 1)]]


@pytest.mark.parametrize("network", [networks.uniform(3e-6, 2e-10), TWO_LEVEL, TREE], ids=lambda network: network.name)
@pytest.mark.parametrize("slots", [[0, 1], [2, 0, 1], [4, 1, 3, 2, 0], SHUFFLED], ids=len)
def test_a_probe_finds_the_alpha_and_beta_of_the_network(network, slots):
    run = probed(network, slots)
    for found, expected in zip(run.results[0], true(network, slots), strict=True):
        assert found == pytest.approx(expected, rel=1e-6) and np.array_equal(found, found.T)
    assert all(np.array_equal(run.results[0], other) for other in run.results)


def test_a_probe_waits_until_everybody_is_there():
    """Ranks 1 and 4 are still busy on the one cable when ranks 0 and 7, the first pair, begin."""

    def program(comm):
        mine, other = np.zeros((2, 20_000), np.uint8)
        for _ in range(50 if comm.rank in (1, 4) else 0):
            comm.Sendrecv(mine, 5 - comm.rank, recvbuf=other, source=5 - comm.rank)
        return probe(comm, nbytes=SIZES, repeat=2)

    alpha, beta = launch(program, 8, network=TWO_LEVEL).results[0]
    expected = true(TWO_LEVEL, range(8))
    assert alpha == pytest.approx(expected[0], rel=1e-6) and beta == pytest.approx(expected[1], rel=1e-6)


def large(run):
    return [event for event in run.timeline.of(kind="send") if event.nbytes == SIZES[1]]


def overlaps(events):
    return [(a, b) for a, b in combinations(events, 2) if max(a.start, b.start) < min(a.end, b.end) * (1 - 1e-9)]


def test_one_pair_at_a_time_unless_told():
    alone, together = probed(TWO_LEVEL, SHUFFLED), probed(TWO_LEVEL, SHUFFLED, together=True)
    assert len(large(alone)) == len(large(together)) == 28 * 2 * 2  # pairs, there and back, repeat
    assert not overlaps(large(alone)) and together.seconds < alone.seconds / 2
    at_once = overlaps(large(together))
    assert at_once and all(len({a.rank, a.peer, b.rank, b.peer}) == 4 for a, b in at_once)


def test_pairs_that_share_a_cable_see_it_if_they_are_measured_together():
    cards = {nics: networks.two_level(4, nics=nics) for nics in (1, 4)}
    sizes = 8, 2**20  # what holds a cable is bytes: of small messages, latency is the most
    beta = {
        nics: probed(network, list(range(8)), sizes, together=True).results[0][1] for nics, network in cards.items()
    }
    _, expected = true(TWO_LEVEL, range(8))
    near = expected == 1e-11
    assert beta[1][near] == pytest.approx(1e-11) and beta[1][~near & (expected > 0)].max() > 1.4 * 4e-11
    assert beta[4] == pytest.approx(expected)


def test_real_ranks_find_something_and_all_the_same(world):
    run = launch(probe, 3, (8, 2**16), 3, world=world)
    alpha, beta = run.results[0]
    for found in (alpha, beta):
        assert (
            np.array_equal(found, found.T) and (found[~np.eye(3, dtype=bool)] > 0).all() and not found.diagonal().any()
        )
    assert all(np.array_equal(run.results[0], other) for other in run.results)
    assert levels(alpha + 2**16 * beta)[-1] == [[0, 1, 2]]


# Levels


@pytest.mark.parametrize("slots", [list(range(8)), SHUFFLED, [0, 4, 1, 5, 2, 6, 3, 7]])
def test_exactly_the_nodes_are_found(slots):
    alpha, beta = probed(TWO_LEVEL, slots).results[0]
    here = [sorted(slots.index(slot) for slot in node) for node in ((0, 1, 2, 3), (4, 5, 6, 7))]
    for distance in (alpha, beta, alpha / 1000 + beta):
        assert levels(distance) == [sorted(here), [list(range(8))]] and nodes(distance) == sorted(here)


def test_nodes_pods_and_core():
    alpha, beta = probed(TREE, SHUFFLED).results[0]
    pairs = [sorted((SHUFFLED.index(slot), SHUFFLED.index(slot + 1))) for slot in range(0, 8, 2)]
    pods = [sorted(pairs[0] + pairs[1]), sorted(pairs[2] + pairs[3])]
    assert levels(alpha) == [sorted(pairs), sorted(pods), [list(range(8))]]
    assert levels(beta) == [sorted(pairs), [list(range(8))]]  # the tree is full: beyond the node all is alike (E1-20)


def test_what_differs_by_less_than_the_gap_is_one_level():
    latency, _ = true(networks.fat_tree(2, 2), range(8))  # 1, 5 and 8 us
    assert len(levels(latency)) == 2 and len(levels(latency, gap=1.5)) == 3 and len(levels(latency, gap=6)) == 1


def test_a_ring_of_wires_is_no_hierarchy():
    hops = np.abs(np.subtract.outer(range(8), range(8)))
    assert levels(np.minimum(hops, 8 - hops)) == [[list(range(8))]]


def test_noise_that_only_slows_down_does_no_harm():
    rng, alpha = np.random.default_rng(0), true(TWO_LEVEL, SHUFFLED)[0]
    expected = levels(alpha)
    for _ in range(100):
        noise = 1 + np.triu(rng.random((8, 8)) * 0.5)
        a, b = rng.permutation(8)[:2]
        noise[min(a, b), max(a, b)] *= 20  # and one pair was held up badly
        assert levels(alpha * np.triu(noise, 1) + (alpha * np.triu(noise, 1)).T) == expected


@given(st.data())
def test_any_tree_of_groups_is_found_again(data):
    """Groups of any sizes, even of one rank, within groups within groups, in any numbering."""
    P = data.draw(st.integers(2, 12))
    order = data.draw(st.permutations(range(P)))
    inner = np.array(data.draw(st.lists(st.integers(0, 4), min_size=P, max_size=P)))
    outer = inner % 2  # which outer group an inner one is in
    label = {rank: (int(inner[i]), int(outer[i])) for i, rank in enumerate(order)}
    d = np.array([[0 if a == b else 1 + 2 * (label[a][0] != label[b][0]) + 6 * (label[a][1] != label[b][1])
                   for b in range(P)] for a in range(P)], float)  # fmt: skip
    expected = []
    for part in (lambda rank: label[rank][0], lambda rank: label[rank][1], lambda rank: 0):
        groups = sorted(sorted(r for r in range(P) if part(r) == value) for value in set(map(part, range(P))))
        if len(groups) < P and (not expected or len(groups) < len(expected[-1])):
            expected.append(groups)
    assert levels(d) == expected


# What is done with it


@pytest.mark.parametrize("network", [networks.uniform(3e-6, 2e-10), TWO_LEVEL, TREE], ids=lambda network: network.name)
def test_the_network_that_is_made_of_it_is_the_one_that_was_measured(network):
    alpha, beta = probed(network, SHUFFLED).results[0]
    cables = [level.uplinks for level in network.levels]  # a probe sends one message at a time, and cannot count them
    found, order = as_network(alpha, beta, levels(alpha), uplinks=cables)
    assert [level.ranks for level in found.levels] == [level.ranks for level in network.levels]
    slots = np.argsort(order)  # rank order[i] sits at slot i
    assert distances(found, slots, 1e4) == pytest.approx(distances(network, SHUFFLED, 1e4))
    mine, best = (choose(8, 10**6, 4, machine) for machine in (found, network))
    assert (mine.algorithm, mine.options) == (best.algorithm, best.options)
    assert mine.seconds == pytest.approx(best.seconds)


def crossings(order, slots):
    node = np.array([TWO_LEVEL.node(slot) for slot in slots])[order]
    return int((node != np.roll(node, -1)).sum())


def test_a_ring_in_the_measured_order_crosses_less_and_takes_less_time():
    alpha, beta = probed(TWO_LEVEL, SHUFFLED).results[0]
    ring, (_, nested) = ring_order_from(alpha / 2**20 + beta), as_network(alpha, beta, levels(alpha))
    assert crossings(np.arange(8), SHUFFLED) == 6 and crossings(ring, SHUFFLED) == crossings(nested, SHUFFLED) == 2

    def program(comm, order):
        shuffled = comm.Split(0, SHUFFLED.index(comm.rank))
        placed = shuffled.Split(0, int(np.argsort(order)[shuffled.rank]))
        return ring_allreduce(placed, np.full(800_000, comm.rank + 1.0))[0]

    before, after = (launch(program, 8, order, network=TWO_LEVEL) for order in (np.arange(8), nested))
    assert before.results == after.results == [36.0] * 8 and after.seconds < 0.75 * before.seconds


def test_groups_of_different_sizes_are_no_network():
    three = [[[0, 1], [2]], [[0, 1, 2]]]
    with pytest.raises(ValueError, match=r"of sizes \[\[1, 2\], \[3\]\]"):
        as_network(np.ones((3, 3)), np.ones((3, 3)), three)


def test_the_order_makes_the_groups_of_every_level_consecutive():
    partitions = [[[0, 5], [1, 4], [2, 7], [3, 6]], [[0, 2, 5, 7], [1, 3, 4, 6]], [list(range(8))]]
    network, order = as_network(common_level(partitions) + 1.0, np.ones((8, 8)), partitions, 1e-12, uplinks=(2, 4, 1))
    assert order.tolist() == [0, 5, 2, 7, 1, 4, 3, 6]
    assert [(level.ranks, level.alpha, level.uplinks) for level in network.levels] == [
        (2, 1, 2),
        (4, 2, 4),
        (np.inf, 3, 1),
    ]
    assert network.gamma == 1e-12


# For people


def test_a_table_to_read():
    alpha, beta = true(networks.two_level(2), [0, 2, 1])
    assert describe(alpha, beta, levels(beta), ("NVL", "NET")).splitlines() == [
        "         0    1    2",
        "    0  LOC  NET  NVL",
        "    1  NET  LOC  NET",
        "    2  NVL  NET  LOC",
        "  NVL: alpha 1 us, 100 GB/s, groups of 1 or 2 ranks: 2",
        "  NET: alpha 5 us, 25 GB/s, groups of 3 ranks: 1",
    ]


def test_paths_have_types():
    partitions = [[[0, 3], [1, 2]], [[0, 1, 2, 3]]]
    assert common_level(partitions)[0].tolist() == [-1, 1, 1, 0]
    assert path_types(partitions)[0].tolist() == ["LOC", "L1", "L1", "L0"]
    assert path_types(partitions, ("NVL", "NET"))[1].tolist() == ["NET", "LOC", "NVL", "NET"]
    assert list(PATH_TYPES) == "LOC NVL NVB C2C PIX PXB P2C PXN PHB SYS NET DIS".split()


# What can be wrong


def test_impossible_probes_are_refused():
    for options in ({"nbytes": (8, 8)}, {"nbytes": (-1, 8)}, {"repeat": 1}):
        with pytest.raises(RankFailed, match="ValueError: two sizes"):
            launch(lambda comm, options=options: probe(comm, **options), 2)
    with pytest.raises(RankFailed, match="ValueError: one rank sends no messages"):
        launch(probe, 1)


def test_what_is_no_distance_is_refused():
    good = np.ones((3, 3))
    for wrong in (np.ones((2, 3)), np.ones((1, 1)), np.triu(good), np.ones(4), np.full((2, 2), np.nan)):
        with pytest.raises(ValueError, match="symmetric matrix"):
            levels(wrong)
    with pytest.raises(ValueError, match=r"> 0 off the diagonal, but the least is 0\.0"):
        levels(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="gap 1"):
        levels(good, gap=1)
    with pytest.raises(ValueError, match="1 levels were found, so 1 names are needed"):
        path_types([[[0, 1]]], ("NVL", "NET"))


@pytest.mark.parametrize(
    ("way", "kind"),
    [
        ("GPU-GPU", "NVL"),
        ("GPU-NVS-GPU", "NVL"),
        ("GPU-GPU-GPU", "NVB"),
        ("GPU-PCI-NIC", "PIX"),
        ("GPU-PCI-PCI-NIC", "PXB"),
        ("GPU-CPU-GPU", "PHB"),
        ("GPU-PCI-PCI-CPU-PCI-NIC", "PHB"),
        ("GPU-PCI-CPU-CPU-PCI-GPU", "SYS"),
    ],
)
def test_a_path_is_rated_by_its_farthest_kind_of_link(way, kind):
    nodes = way.split("-")
    assert rate_path(nodes, range(3, 2 + len(nodes))) == (kind, 3, len(nodes) - 1)
    assert rate_path(nodes[::-1], range(3, 2 + len(nodes))) == (kind, 3, len(nodes) - 1)


def test_kind_comes_before_bandwidth_and_bandwidth_before_links():
    far, narrow, long, short = ("SYS", 90.0, 2), ("PIX", 10.0, 2), ("PIX", 20.0, 3), ("PIX", 20.0, 2)
    assert sorted([far, narrow, long, short], key=nearness) == [short, long, narrow, far]


def test_what_is_no_path():
    for parts, bandwidths in ((["GPU"], []), (["GPU", "PCI"], [1, 2]), (["GPU", "cable", "GPU"], [1, 1])):
        with pytest.raises(ValueError, match="a path is two or more of"):
            rate_path(parts, bandwidths)
    with pytest.raises(ValueError, match="through a GPU by NVLinks only"):
        rate_path(["GPU", "GPU", "PCI", "NIC"], [1, 1, 1])

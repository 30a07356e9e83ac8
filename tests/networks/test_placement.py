"""Placement: distances are those of the network, and orders are compared with all there are."""

from itertools import permutations

import numpy as np
import pytest

from reference.collectives.placed import traffic
from reference.collectives.ring import ring_allreduce_rounds
from reference.networks import Level, SwitchTree, fat_tree, two_level, uniform
from reference.networks.placement import assign, cost, distances, ring_order, ring_order_from

RING = ring_allreduce_rounds
TWO_LEVEL, TREE = two_level(ranks_per_node=4), fat_tree(2, 2)
ROUND_ROBIN = [0, 4, 1, 5, 2, 6, 3, 7]


def all_orders(P, first=None):
    """Every order of P ranks, or those that begin with `first`; shape [orders, P]."""
    if first is None:
        return np.array(list(permutations(range(P))))
    return np.array([(first, *rest) for rest in permutations(set(range(P)) - {first})])


def costs(orders, w, d):
    """The cost of each order, by the definition."""
    return sum(w[i, j] * d[orders[:, i], orders[:, j]] for i, j in np.argwhere(w))


def lengths(orders, d):
    """The length of the ring in each order."""
    return d[orders, np.roll(orders, -1, axis=-1)].sum(axis=-1)


def matrix(rng, P, density=1.0):
    values = rng.random((P, P)) * (rng.random((P, P)) < density)
    np.fill_diagonal(values, 0)
    return values


def shuffled(rng, network, P):
    return distances(network, rng.permutation(P))


def replicas_of_chains(stages, replicas=2, heavy=5.0):
    """Position s + r * stages is stage s of replica r: activations along a chain, gradients across."""
    w = np.zeros((stages * replicas,) * 2)
    for i in range(stages * replicas):
        if (i + 1) % stages:
            w[i, i + 1] = w[i + 1, i] = 1
        w[i, (i + stages) % len(w)] = heavy
    return w


# Traffic, distances, cost


@pytest.mark.parametrize("network", [uniform(), TWO_LEVEL, TREE])
def test_distances_are_those_of_the_routes(network):
    slots = [7, 0, 5, 3, 12]
    d, per_byte = distances(network, slots, nbytes=100), distances(network, slots)
    for i, here in enumerate(slots):
        for j, there in enumerate(slots):
            way = network.route(here, there)
            assert d[i, j] == pytest.approx(way.alpha / 100 + way.beta) and per_byte[i, j] == way.beta
    assert (d[:, None, :] <= np.maximum(d[:, :, None], d[None])).all()  # an ultrametric


def test_cost_is_the_seconds_of_all_messages():
    messages = 2 * 7 * 8  # of one block of 10 elements each
    d = distances(TWO_LEVEL, 8, nbytes=80)
    inside, between = d[0, 1] * 80, d[0, 4] * 80
    assert cost(range(8), traffic(RING, 8, 80, 8), d) == pytest.approx(messages * (0.75 * inside + 0.25 * between))
    assert cost(ROUND_ROBIN, traffic(RING, 8, 80, 8), d) == pytest.approx(messages * between)


def test_the_ranking_1_10_100_is_not_the_network():
    """Two triangles and a pair on two racks of two nodes of two. The core is as fast as the racks."""
    w, P = np.zeros((8, 8)), 8
    for i, j, bytes_ in [(0, 1, 2), (1, 2, 2), (0, 2, 2), (3, 4, 2), (4, 5, 2), (3, 5, 2), (6, 7, 3)]:
        w[i, j] = w[j, i] = bytes_
    ranking = distances(SwitchTree((Level(2, 0, 1), Level(4, 0, 10), Level(8, 0, 100))), P)
    assert ranking[0].tolist() == [0, 1, 10, 10, 100, 100, 100, 100]
    orders, seconds = all_orders(P), distances(TREE, P) / 1e-11
    by_ranking, by_network = costs(orders, w, ranking), costs(orders, w, seconds)
    assert by_network.min() == pytest.approx(78)
    assert by_network[by_ranking == by_ranking.min()].min() == pytest.approx(96)  # splits the pair to save a rack


def test_faster_links_further_up_make_no_byte_dearer():
    """100, 400, 800 Gbit/s from top of rack to core: one message is held up by the slowest of its links, the first."""
    three_level = SwitchTree((Level(4, 1e-6, 8 / 100e9), Level(16, 2e-6, 8 / 400e9), Level(64, 3e-6, 8 / 800e9)))
    d = distances(three_level, 64)
    assert np.unique(d[~np.eye(64, dtype=bool)]).tolist() == [8 / 100e9]
    assert len(np.unique(distances(three_level, 64, nbytes=1000))) == 4  # latencies differ, and 0


# The ring


@pytest.mark.parametrize(
    "network, P", [(TWO_LEVEL, 8), (TWO_LEVEL, 7), (two_level(3), 8), (TREE, 8), (TREE, 6), (uniform(), 5), (TREE, 1)]
)
def test_no_ring_is_shorter_than_ring_order(network, P):
    rng = np.random.default_rng(P)
    slots = rng.permutation(2 * P)[:P]
    d = distances(network, slots, nbytes=1e5)
    shortest = lengths(all_orders(P, first=0), d).min()
    assert lengths(ring_order(network, slots), d) == pytest.approx(shortest)
    assert lengths(ring_order_from(d), d) == pytest.approx(shortest)


def test_each_node_and_each_pod_is_left_once():
    slots = np.random.default_rng(0).permutation(64)
    for order in (ring_order(fat_tree(4, 4), slots), ring_order_from(distances(fat_tree(4, 4), slots, nbytes=1))):
        visited = slots[order]
        for size in (4, 16):
            assert (visited // size != np.roll(visited, -1) // size).sum() == 64 // size
    assert ring_order(TWO_LEVEL, 8).tolist() == list(range(8))


@pytest.mark.parametrize("skew", [0.0, 0.2], ids=["metric", "measured, not symmetric"])
def test_a_ring_by_any_distances_is_near_the_best(skew):
    rng, ratios = np.random.default_rng(5), []
    orders = all_orders(8, first=0)
    for _ in range(30):
        points = rng.random((8, 2))
        d = np.linalg.norm(points[:, None] - points, axis=-1) * rng.uniform(1, 1 + skew, (8, 8))
        order = ring_order_from(d)
        assert sorted(order) == list(range(8)) and order[0] == 0
        ratios.append(lengths(order, d) / lengths(orders, d).min())
    assert min(ratios) > 1 - 1e-12 and max(ratios) < 1.15 and np.mean(ratios) < 1.01


def test_2_opt_undoes_what_nearest_neighbour_left_behind():
    points = np.array([0.0, 1.0, -1.5, 3.6])  # on a line: the nearest to 1 is -1.5, and 3.6 is far when its turn comes
    d = abs(points[:, None] - points)
    assert lengths(np.arange(4), d) == pytest.approx(12.2)
    assert lengths(ring_order_from(d), d) == pytest.approx(10.2)  # there and back


# Any traffic


@pytest.mark.parametrize("network", [two_level(2), two_level(3), two_level(4)])
@pytest.mark.parametrize("w", [traffic(RING, 6, 60, 4), replicas_of_chains(3)], ids=["ring", "chains x replicas"])
def test_assign_finds_the_best_where_traffic_has_structure(w, network):
    orders = all_orders(6)
    for seed in range(3):
        d = shuffled(np.random.default_rng(seed), network, 6)
        assert cost(assign(w, d), w, d) == pytest.approx(costs(orders, w, d).min())


def test_assign_puts_replicas_of_a_stage_into_one_node():
    slots = np.array([0, 4, 2, 1, 5, 3])  # nodes of two: ranks 0 3, 2 5, 1 4
    order = assign(replicas_of_chains(3), distances(two_level(2), slots))
    node = slots[order] // 2
    assert node[:3].tolist() == node[3:].tolist() and len(set(node[:3])) == 3


@pytest.mark.parametrize("P", [1, 2, 3, 5, 7])
def test_assign_on_random_cases(P):
    rng, orders, ratios = np.random.default_rng(P), all_orders(P), []
    for density in (1.0, 0.4, 1.0, 0.4):
        w, d = matrix(rng, P, density), matrix(rng, P)
        best, order = costs(orders, w, d).min() if w.any() else 0.0, assign(w, d)
        assert sorted(order) == list(range(P))
        assert best * (1 - 1e-12) <= cost(order, w, d) <= cost(range(P), w, d)
        ratios.append(cost(order, w, d) / best if best else 1.0)
    assert max(ratios) < 1.12


def test_assign_is_repeatable_and_never_worse_than_its_start():
    rng = np.random.default_rng(0)
    d, w = shuffled(rng, TWO_LEVEL, 16), traffic(RING, 16, 160, 4)
    assert assign(w, d, seed=3).tolist() == assign(w, d, seed=3).tolist()
    start = ring_order_from(d)
    assert assign(w, d, restarts=0, start=start).tolist() == start.tolist()
    assert cost(start, w, d) < cost(assign(w, d, restarts=0), w, d) < cost(range(16), w, d)


# What is refused


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: cost([0, 1, 1], np.ones((3, 3)), np.ones((3, 3))), r"ranks 0 to 2 once, got \[0, 1, 1\]"),
        (lambda: cost([0, 1], np.ones((3, 3)), np.ones((3, 3))), r"ranks 0 to 2 once, got \[0, 1\]"),
        (lambda: cost([0.0, 1.0], np.ones((2, 2)), np.ones((2, 2))), "an order names"),
        (lambda: cost([0, 1], np.ones((2, 3)), np.ones((2, 2))), r"traffic w must be a square .* \(2, 3\)"),
        (lambda: cost([0, 1], np.ones((2, 2)), np.ones((3, 3))), "2 positions .* 3 ranks: leave ranks out"),
        (lambda: assign(np.ones((2, 2)), [[0, 1], [-1, 0]]), r"distances d .* \[1, 0\] is -1"),
        (lambda: assign(np.zeros((0, 0)), np.zeros((0, 0))), "at least 1 position, got 0"),
        (lambda: assign(np.ones((2, 2)), np.ones((2, 2)), start=[0, 0]), "ranks 0 to 1 once"),
        (lambda: ring_order_from([[0, np.nan], [1, 0]]), r"\[0, 1\] is nan"),
        (lambda: ring_order_from([0, 1]), r"square matrix \[P, P\], got shape \(2,\)"),
        (lambda: ring_order(TWO_LEVEL, 0), "at least 1 position"),
        (lambda: ring_order(TWO_LEVEL, [0, 3, 3]), r"a slot of its own.* \[0, 3, 3\]"),
        (lambda: ring_order(SwitchTree((Level(4, 1e-6, 0),)), 5), "slot 4 .* slots 0 to 3"),
        (lambda: distances(TWO_LEVEL, [-1, 0]), "a slot of its own"),
        (lambda: distances(TWO_LEVEL, 4, nbytes=0), "nbytes is 0"),
    ],
)
def test_bad_input_is_refused_with_the_numbers(call, message):
    with pytest.raises(ValueError, match=message):
        call()

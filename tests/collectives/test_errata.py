"""What is often claimed about collectives, and the run that shows otherwise. Numbers are those of book/errata.md."""

from collections import deque
from itertools import combinations

import numpy as np
import pytest

from reference.collectives import cost, reduce_scatter, ring_allgather
from reference.collectives.algorithms import ALLREDUCE, BROADCAST
from reference.collectives.evaluate import evaluate
from reference.perf.networks import two_level, uniform
from reference.worlds import launch

A, B = 5e-6, 1e-11
NETWORK = uniform(A, B)


def simulated(name, P, n, network=NETWORK, table=ALLREDUCE, **options):
    algorithm = table[name]
    return evaluate(algorithm.rounds, P, n, 1, network, algorithm.blocks(P, **options), **options)


def test_e0_02_the_ring_moves_2n_per_device_not_in_total_and_pays_a_latency_per_rank():
    for P in (8, 64, 512):
        run = simulated("ring", P, 512_000)
        assert run.bytes_sent.max() == 2 * (P - 1) / P * 512_000 and run.bytes_sent.sum() == 2 * (P - 1) * 512_000
        assert simulated("ring", P, 0).seconds == pytest.approx(2 * (P - 1) * A)


def test_e0_03_log_n_times_m_is_the_unpipelined_tree_only():
    """64 ranks, 1 GB, in units of n beta: binomial 12, one pipelined tree 4, two trees 2, halving-doubling 2 - 1/32."""
    P, n = 64, 10**9
    units = {
        name: simulated(name, P, n, uniform(0.0, B), **own).seconds / (n * B)
        for name, own in [
            ("binomial tree", {}),
            ("binary tree", {"segments": 1000}),
            ("double tree", {"segments": 1000}),
            ("halving-doubling", {}),
            ("ring", {}),
        ]
    }
    assert units["binomial tree"] == pytest.approx(12) and units["halving-doubling"] == pytest.approx(2 * 63 / 64)
    assert units["binary tree"] == pytest.approx(4, rel=0.02) and units["double tree"] == pytest.approx(2, rel=0.02)
    latency = {name: simulated(name, P, 0).seconds / A for name in ("ring", "halving-doubling")}
    assert latency == pytest.approx({"ring": 126, "halving-doubling": 12})  # as few bytes, far fewer rounds


def test_e4_03_trees_are_not_for_large_clusters_nor_rings_for_small_ones():
    """Which of the two is faster is a matter of bytes, at 8 ranks and at 1,024."""
    for P in (8, 1024):
        assert simulated("binomial tree", P, 1000).seconds < simulated("ring", P, 1000).seconds
        assert simulated("binomial tree", P, 10**9).seconds > simulated("ring", P, 10**9).seconds


def test_e4_52_few_rounds_or_few_bytes():
    """64 ranks: few rounds or few bytes; the table's row takes one from each."""
    P, n = 64, 6_400_000
    rows = {
        name: (
            simulated(name, P, 0, table=BROADCAST, **own).seconds / A,
            simulated(name, P, n, uniform(0, B), BROADCAST, **own).seconds / (n * B),
        )
        for name, own in [("binomial tree", {}), ("chain", {"segments": 1000}), ("scatter-allgather", {})]
    }
    assert rows["binomial tree"] == pytest.approx((6, 6)) and rows["chain"] == pytest.approx((1062, 1.062), rel=1e-3)
    assert rows["scatter-allgather"] == pytest.approx((69, 2 * 63 / 64))
    assert all(latency > 6 or bandwidth > 1.01 for latency, bandwidth in rows.values())


@pytest.mark.parametrize("P", [2, 3, 5])
def test_e3_04_reduce_scatter_is_the_transpose_of_allgather_not_its_inverse(P):
    def as_matrix(of, size):
        return np.array([of(unit) for unit in np.eye(size)]).T

    def run(collective, arrays):
        return np.concatenate(launch(lambda comm: collective(comm, arrays[comm.rank].copy()), P).results)

    scatter = as_matrix(lambda x: run(reduce_scatter, x.reshape(P, P)), P * P)
    gather = as_matrix(lambda x: run(ring_allgather, np.diag(x)), P)
    assert np.array_equal(scatter, gather.T) and not np.array_equal(gather @ scatter, np.eye(P * P))
    assert np.array_equal(gather @ scatter, np.tile(np.eye(P), (P, P)))


def test_e1_15_the_hierarchical_formula_wants_the_bandwidth_of_the_whole_node():
    """64 ranks in nodes of 8: an eighth of what it says for one card if every rank has a card, all of it if one has."""
    P, L, n, inside, outside = 64, 8, 6_400_000, 1e-12, 4e-11
    nodes = P // L
    text = 2 * (nodes - 1) / nodes * n * outside  # T_inter as it is printed, BW_ib taken as that of one card
    within = 2 * (L - 1) / L * n * inside
    across = {
        nics: simulated("hierarchical", P, n, two_level(L, 0, inside, 0, outside, nics), ranks_per_node=L).seconds
        - within
        for nics in (1, 8)
    }
    assert across[8] == pytest.approx(text / L) and across[1] == pytest.approx(text)
    found = cost.hierarchical_allreduce(P, n, 1, 0, inside, 0, L, alpha_out=0, beta_out=outside, ranks_per_nic=8)
    assert found.seconds == pytest.approx(within + text)


def test_e1_16_one_direction_of_a_link_counts():
    """600 GB/s sold, 300 each way: the ring takes twice what the number on the box promises."""
    box, one_way = (cost.ring_allreduce(8, 10**9, 1, 0, 1 / speed).seconds for speed in (600e9, 300e9))
    assert (
        simulated("ring", 8, 10**9, uniform(0, 1 / 300e9)).seconds == pytest.approx(one_way) == pytest.approx(2 * box)
    )


def test_e1_19_aggregation_saves_latencies_and_waits_for_the_last():
    sizes = [100_000] * 10
    together, apart = cost.aggregated(sizes, A, B)
    assert together == pytest.approx(A + 10**6 * B) and apart - together == pytest.approx(9 * A)
    at_once, one_by_one = cost.finish([0.0] * 10, sizes, A, B)
    assert at_once < one_by_one
    ready = [i * 20e-6 for i in range(10)]  # gradients come out of the backward pass one after the other
    late, overlapped = cost.finish(ready, sizes, A, B)
    assert late > overlapped and cost.aggregated([5], A, B)[0] == cost.aggregated([5], A, B)[1]


def test_e4_53_one_leader_a_node_leaves_the_other_cards_idle():
    """8 nodes of 8, a card a rank, 100 MB: reduce, leaders, broadcast against reduce-scatter, all, allgather."""
    network = two_level(8, beta=1e-12, nics=8)
    leader = simulated("leader", 64, 10**8, network, ranks_per_node=8)
    everybody = simulated("hierarchical", 64, 10**8, network, ranks_per_node=8)
    assert leader.seconds > 6 * everybody.seconds
    assert leader.bytes_sent.max() > 2 * everybody.bytes_sent.max()


def test_e4_54_x_then_y_costs_nearly_twice_the_torus():
    """16 x 16: 3.75 n against 1.99 n per rank, in bytes and in time."""
    n = 256_000
    both = simulated("x then y", 256, n, uniform(0, B), width=16)
    right = simulated("torus", 256, n, uniform(0, B), width=16)
    assert both.bytes_sent.max() / n == 3.75 and right.bytes_sent.max() / n == pytest.approx(1.992, abs=1e-3)
    assert both.seconds / right.seconds == pytest.approx(3.75 / 1.9921875)


def diameter(links):
    """The longest of the shortest ways in a graph: {node: its neighbours}."""

    def farthest(start):
        seen, queue = {start: 0}, deque([start])
        while queue:
            here = queue.popleft()
            for there in links[here]:
                if there not in seen:
                    seen[there] = seen[here] + 1
                    queue.append(there)
        return max(seen.values())

    return max(map(farthest, links))


def test_e4_55_a_dragonfly_is_groups_with_links_between_all_of_them():
    """Kim et al. 2008: a switches a group, h global links each, a h + 1 groups: three hops, however many groups."""
    a, h = 4, 2
    groups = a * h + 1
    fly = {(g, s): {(g, t) for t in range(a) if t != s} for g in range(groups) for s in range(a)}
    used = dict.fromkeys(range(groups), 0)
    for g, other in combinations(range(groups), 2):  # one cable for each pair of groups, h of them at a switch
        ends = [(each, used[each] // h) for each in (g, other)]
        for each in (g, other):
            used[each] += 1
        fly[ends[0]].add(ends[1])
        fly[ends[1]].add(ends[0])
    assert diameter(fly) == 3 and max(map(len, fly.values())) == a - 1 + h

    def torus(side, dimensions):
        nodes = list(np.ndindex(*[side] * dimensions))
        step = np.eye(dimensions, dtype=int)
        return {v: {tuple((np.array(v) + s * e) % side) for e in step for s in (1, -1)} for v in nodes}

    assert (
        diameter(torus(6, 2)) == 6 and diameter(torus(36, 1)) == 18
    )  # the same 36 nodes: a ring only in one dimension

"""What is often claimed about collectives, and the run that shows otherwise. Numbers are those of book/errata*.md."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

from reference.collectives import cost, reduce_scatter, ring_allgather
from reference.collectives.catalogue import ALLREDUCE, BROADCAST
from reference.collectives.evaluate import evaluate
from reference.collectives.hierarchical import hierarchical_allreduce_cost
from reference.collectives.ring import ring_allreduce_cost
from reference.mpi import waitall, wtime
from reference.networks import Link, fabrics, paths, two_level, uniform
from reference.networks.links import LINKS
from reference.worlds import launch

A, B, *_ = LINK = Link(5e-6, 1e-11)
NETWORK = uniform(*LINK)


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
    found = hierarchical_allreduce_cost(P, n, 1, Link(0, inside), L, outside=Link(0, outside), ranks_per_nic=8)
    assert found.seconds == pytest.approx(within + text)


def test_e1_16_one_direction_of_a_link_counts():
    """600 GB/s sold, 300 each way: the ring takes twice what the number on the box promises."""
    box, one_way = (ring_allreduce_cost(8, 10**9, 1, Link(0, 1 / speed)).seconds for speed in (600e9, 300e9))
    assert (
        simulated("ring", 8, 10**9, uniform(0, 1 / 300e9)).seconds == pytest.approx(one_way) == pytest.approx(2 * box)
    )


def test_e1_19_aggregation_saves_latencies_and_waits_for_the_last():
    sizes = [100_000] * 10
    together, apart = cost.aggregated(sizes, LINK)
    assert together == pytest.approx(A + 10**6 * B) and apart - together == pytest.approx(9 * A)
    at_once, one_by_one = cost.finish([0.0] * 10, sizes, LINK)
    assert at_once < one_by_one
    ready = [i * 20e-6 for i in range(10)]  # gradients come out of the backward pass one after the other
    late, overlapped = cost.finish(ready, sizes, LINK)
    assert late > overlapped and cost.aggregated([5], LINK)[0] == cost.aggregated([5], LINK)[1]


def test_e1_48_dividing_the_nodes_by_the_gpus_again_changes_little_and_is_wrong():
    """25 GB over 200 GB/s a node: 249 ms with 256 nodes, 242 ms with the 32 that are printed."""
    right, printed = (2 * (N - 1) / N * 25 / 200 for N in (256, 32))
    assert (round(right, 3), round(printed, 3)) == (0.249, 0.242)
    machine = two_level(8, 0, 1 / 300e9, 0, 1 / 25e9, nics=8)
    found = simulated("hierarchical", 256 * 8, 25 * 2**20, machine, ranks_per_node=8).seconds
    assert found == pytest.approx((2 * 7 / 8 / 300e9 + right / 25e9) * 25 * 2**20, rel=1e-3)


def test_e1_49_the_answer_depends_on_what_the_bandwidths_mean():
    """256 nodes of 8, 25 GB: from 31 to 1,992 ms between the nodes, and 146 inside, not 73."""
    for card, share, between in ((200e9, 1, 0.031), (25e9, 1, 0.249), (25e9, 8, 1.992)):
        speeds = {"outside": Link(0, 1 / card), "ranks_per_nic": share}
        found = hierarchical_allreduce_cost(2048, 25 * 10**9, 1, Link(0, 1 / 300e9), 8, **speeds)
        assert found.seconds == pytest.approx(0.146 + between, abs=1e-3)
    P, n, machine = 128, 128 * 10**6, two_level(8, 0, 1 / 300e9, 0, 1 / 25e9, nics=1)
    clock = simulated("hierarchical", P, n, machine, ranks_per_node=8).seconds
    assert clock == pytest.approx(2 * 7 / 8 * n / 300e9 + 2 * 15 / 16 * n / 25e9)


def test_e2_26_who_waits_for_a_port_waits_for_what_is_in_front():
    """Seven senders of 1 MiB to one receiver: the last is through after seven messages, and alpha is a microsecond."""
    alpha, beta, gap, n = 1e-6, 1e-10, 4e-8, 2**20

    def incast(comm):
        if comm.rank:
            comm.Send(np.zeros(n, np.uint8), dest=0)
        else:
            waitall([comm.Irecv(np.empty(n, np.uint8), source) for source in range(1, comm.size)])
        return wtime(comm)

    ends = sorted(launch(incast, 8, network=uniform(alpha, beta, gap=gap)).results[1:])
    assert ends == pytest.approx([k * (gap + n * beta) + alpha - gap for k in range(1, 8)])
    assert max(each.latency for each in LINKS if each.latency is not None) < 1e-4


def test_e3_36_mismatched_collectives_may_complete_with_wrong_results():
    """Two ranks average losses, two average norms, with the same call: nobody hangs, and both means are of nothing."""

    def program(comm):
        loss, norm, total = np.array([1.0]), np.array([100.0]), np.empty(1)
        comm.Allreduce(loss if comm.rank % 2 else norm, total)
        return total[0] / comm.size

    assert launch(program, 4).results == [50.5] * 4


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


def test_e4_55_a_dragonfly_is_groups_with_links_between_all_of_them():
    """Kim et al. 2008: a switches a group, h global links each, a h + 1 groups: three hops, however many groups."""
    for a, h in [(4, 2), (4, 8), (8, 4)]:
        fly = fabrics.dragonfly(a, h)
        assert fabrics.diameter(fly) == 3 and fabrics.degree(fly) == a - 1 + h and len(fly) == a * (a * h + 1)
    grid, ring = fabrics.torus([6, 6]), fabrics.torus([36])  # of as many nodes as dragonfly(4, 2)
    assert fabrics.diameter(grid) == 6 and fabrics.diameter(ring) == 18  # a torus is a ring only in one dimension
    assert fabrics.degree(grid) == 4 and fabrics.degree(ring) == 2 and ring == fabrics.ring(36)


def test_e4_61_dijkstra_with_bandwidths_as_weights_finds_no_wide_way():
    """Four nodes, GB/s: the least sum of BW takes 2, the least sum of 1/BW takes 10, the widest path has 12."""
    links = {0: {1: 10, 2: 12, 3: 2}, 1: {3: 12}, 2: {1: 12}, 3: {}}
    bandwidth = np.array([[links[u].get(v, 0) for v in range(4)] for u in range(4)], float)

    def least_sum(weights):
        _, before = dijkstra(weights, indices=0, return_predecessors=True)
        way = [3]
        while way[0] != 0:
            way.insert(0, int(before[way[0]]))
        return way, min(links[u][v] for u, v in pairwise(way))

    assert least_sum(bandwidth) == ([0, 3], 2)
    inverse = np.divide(1, bandwidth, out=np.zeros((4, 4)), where=bandwidth > 0)
    assert least_sum(inverse) == ([0, 1, 3], 10)
    widest = paths.widest_path(links, 0, 3)
    assert widest == paths.Path((0, 2, 1, 3), 12)
    # 1/BW is right for one thing: a message that each node takes in whole before it sends it on, latency left out
    assert paths.quickest_path(0.0, links, 0, 3, 1000).nodes == (0, 1, 3)
    assert paths.quickest_path(0.0, links, 0, 3, 1000, cut_through=True) == widest

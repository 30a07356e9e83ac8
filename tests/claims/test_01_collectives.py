"""Chapter 1's claims that were once stated too widely or not at all: each is a run that would have refuted it."""

from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest

from exercises.solutions import ch01_collectives as solutions
from reference import mpi
from reference.collectives import ALLREDUCE, allreduce, cost, fit, ring_allreduce
from reference.collectives.binary_tree import (
    MOST_SEGMENTS,
    best_segments,
    binary_tree_allreduce_cost,
    binary_tree_allreduce_volume,
    tree_rounds,
)
from reference.collectives.bruck import bruck_allgather_rounds
from reference.collectives.catalogue import BROADCAST
from reference.collectives.evaluate import evaluate
from reference.collectives.placed import placed, traffic
from reference.collectives.planned import plan_allreduce
from reference.collectives.ring import (
    ring_allgather,
    ring_allreduce_cost,
    ring_allreduce_rounds,
    ring_bytes,
    ring_reduce_scatter,
)
from reference.collectives.rounds import Blocks, backwards, carry_out, carry_out_in_turn, complete, in_turn, plan
from reference.collectives.select import choose, crossover, predict
from reference.collectives.tree import binomial_broadcast_rounds
from reference.networks import Level, Link, SwitchTree, congestion, placement, priority
from reference.worlds import LaunchError, launch, networks, smpi

LINK = Link(5e-6, 1 / 50e9)


def test_exposed_time_is_before_the_forward_pass_and_between_its_layers():
    """First in, first out: all 32.1 ms before it starts. With chunks of 16 MB: 9.3 before, and 3.9 on the way."""
    backward, forward = [12e-3, 12e-3, 4e-3, 4e-3], [8e-3, 8e-3, 3e-3, 3e-3]
    messages = priority.gradient_messages([2e6, 8e6, 20e6, 70e6], backward, forward)

    def before_and_after(order, chunk):
        step = priority.next_forward(priority.serve(messages, 20e-6, 0.6e-9, order, chunk), backward, forward)
        before = step.start - sum(backward)
        return before * 1e3, (step.exposed - before) * 1e3

    assert before_and_after(priority.fifo, float("inf")) == pytest.approx((32.1, 0.0), abs=0.05)
    assert before_and_after(priority.by_queue, 16e6) == pytest.approx((9.3, 3.9), abs=0.05)
    exposed = {chunk: sum(before_and_after(priority.by_queue, chunk)) for chunk in (16e6, 24e6)}
    assert exposed[24e6] < exposed[16e6]  # the least of the page's table is not the least there is
    starts = {chunk: before_and_after(priority.by_queue, chunk)[0] for chunk in (1e5, 2e6)}
    assert starts[2e6] < starts[1e5]  # smaller chunks need not start the forward pass earlier


def test_one_pipelined_tree_costs_4n_if_the_way_up_ends_first_and_its_ports_carry_3n():
    """An inner rank sends n up and 2 n down, and receives as much: what a schedule with overlap could not go below."""
    P, n, segments = 64, 6_400_000, 1000
    assert binary_tree_allreduce_volume(P, n, 1, segments).nbytes.max() == 3 * n
    assert binary_tree_allreduce_cost(P, n, 1, Link(0.0, 1 / n), segments).seconds == pytest.approx(4, rel=0.02)


@pytest.mark.parametrize(("P", "lost"), [(64, 0.005), (4096, 0.011)])
def test_what_is_lost_by_not_naming_more_than_a_thousand_segments(P, lost):
    """Without latency, the rounds of the first segment are what more segments would make shorter."""
    assert tree_rounds(P, MOST_SEGMENTS, 2) / (2 * MOST_SEGMENTS) - 1 == pytest.approx(lost, abs=1e-4)


def test_segments_trade_rounds_for_bytes():
    """The double tree of 64 ranks: 24 rounds uncut, 124 in 26 segments a tree."""
    assert [2 * tree_rounds(64, segments, 2) for segments in (1, 26)] == [24, 124]


def bruck_both_ways(rank, ranks):
    yield from backwards(bruck_allgather_rounds(rank, ranks), combine=True)
    yield from bruck_allgather_rounds(rank, ranks)


@pytest.mark.parametrize("P", [1, 2, 3, 5, 17])
def test_the_ring_wins_beside_a_power_of_two_only_because_of_the_fold(P):
    """Bruck's allgather, backwards and forwards, is an all-reduce with the ring's bytes in 2 ceil(log2 P) rounds."""
    held = np.ones((P, P), int)
    for together in zip(*(bruck_both_ways(rank, P) for rank in range(P)), strict=True):
        before = held.copy()
        for rank, (_, _, source, (lo, hi), combine, _) in enumerate(together):
            come = np.arange(lo, hi) % P
            held[rank, come] = before[source, come] + combine * before[rank, come]
    assert (held == P).all()
    for n in (P * 2**10, P * 2**24):
        seconds = evaluate(bruck_both_ways, P, n, 1, networks.uniform(*LINK)).seconds
        expected = 2 * cost.log2_rounds(P) * LINK.alpha + 2 * (P - 1) / P * n * LINK.beta
        assert seconds == pytest.approx(expected) and seconds <= ring_allreduce_cost(P, n, 1, LINK).seconds * (1 + 1e-9)


@pytest.mark.parametrize(
    ("P", "name", "how", "rounds"),
    [
        (35, "torus", {"width": 5}, 20),
        (4, "hierarchical", {"ranks_per_node": 2, "across": "recursive doubling"}, 3),
    ],
)
def test_schedules_on_two_levels_beat_the_flat_ones_of_the_map_on_a_uniform_network(P, name, how, rounds):
    n = P * 2**20
    waiting = networks.uniform(*LINK[:2], gap=float("inf"))
    seconds = predict(name, P, n, 1, waiting, **how)
    assert seconds == pytest.approx(rounds * LINK.alpha + 2 * (P - 1) / P * n * LINK.beta)
    assert seconds < choose(P, n, 1, waiting).seconds


def test_passing_whole_arrays_around_sends_half_of_p_times_the_ring():
    def pass_around(comm, count):
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        passing = np.full(count, comm.rank + 1.0)
        total = passing.copy()
        for _ in range(comm.size - 1):
            incoming = np.empty(count)
            comm.Sendrecv(passing, dest=right, recvbuf=incoming, source=left)
            total += incoming
            passing = incoming
        return total

    for P in (2, 8):
        run = launch(pass_around, P, 800)
        assert all((total == P * (P + 1) / 2).all() for total in run.results)
        assert run.bytes_sent == [P / 2 * 2 * (P - 1) / P * 6400] * P


def sums(rows, add):
    """What `add(comm, own row)` leaves on the ranks, a row each."""

    def program(comm):
        x = rows[comm.rank].copy()
        add(comm, x)
        return x

    return launch(program, len(rows)).results


def around(comm, x):
    """Add what comes from the left, whole arrays: each rank begins with its own."""
    passing = x.copy()
    for _ in range(comm.size - 1):
        incoming = np.empty_like(x)
        comm.Sendrecv(passing, (comm.rank + 1) % comm.size, recvbuf=incoming, source=(comm.rank - 1) % comm.size)
        x += incoming
        passing = incoming


def test_two_all_reduces_agree_bit_by_bit_on_whole_numbers_only():
    """And ranks that pass whole arrays around do not even agree with each other: each adds in an order of its own."""
    floats = np.random.default_rng(0).standard_normal((4, 1000))
    ring, doubling, passed = (
        sums(floats, how)
        for how in (ring_allreduce, lambda comm, x: allreduce(comm, x, algorithm="recursive doubling"), around)
    )
    assert not np.array_equal(ring[0], doubling[0]) and np.allclose(ring[0], doubling[0])
    assert all(np.array_equal(each, ring[0]) for each in ring)
    assert not any(np.array_equal(each, passed[0]) for each in passed[1:])
    whole = np.rint(1000 * floats)
    assert np.array_equal(*(sums(whole, how)[0] for how in (ring_allreduce, around)))


def test_the_sum_of_an_element_grows_on_all_ranks_but_one():
    """In a ring it is not added on one rank: each of the others adds once, and the last one has it."""
    P = 5
    added = {block: [] for block in range(P)}
    for rank in range(P):
        for round in ring_allreduce_rounds(rank, P):
            if round.combine:
                added[round.recv[0] % P].append(rank)
    assert all(sorted(ranks) == sorted({*range(P)} - {(block + 1) % P}) for block, ranks in added.items())


def test_log_p_arrays_are_one_way_of_a_binomial_tree():
    for P in (2, 8, 64):
        one_way = BROADCAST["binomial tree"].cost(P, P, 1, Link(0.0, 1 / P)).seconds
        both = ALLREDUCE["binomial tree"].cost(P, P, 1, Link(0.0, 1 / P)).seconds
        assert (one_way, both) == (cost.log2_rounds(P), 2 * cost.log2_rounds(P))


def test_only_an_exchange_in_flight_meets_all_three_bounds():
    """Direct pays two latencies where the bound for those who wait says six, and the least bytes and additions."""
    P, n = 64, 64 * 2**20
    bound = cost.lower_bound("allreduce", P, n, LINK)

    def seconds(name, *link):
        return predict(name, P, n, 1, networks.uniform(*link[:2], gamma=link[2], gap=0.0))

    assert seconds("direct", 1.0, 0.0, 0.0) == pytest.approx(2) and bound.latency == pytest.approx(6 * LINK.alpha)
    assert seconds("direct", 0.0, 1 / n, 0.0) == pytest.approx(2 * 63 / 64)
    for name in ("ring", "recursive doubling", "halving-doubling", "binomial tree"):
        found = [seconds(name, 1.0, 0.0, 0.0), seconds(name, 0.0, 1 / n, 0.0), seconds(name, 0.0, 0.0, 1 / n)]
        assert any(mine > least + 0.01 for mine, least in zip(found, (6, 2 * 63 / 64, 63 / 64), strict=True))


@pytest.mark.parametrize(("P", "apart"), [(16, 8), (17, 1)])
def test_halving_sends_most_to_the_farthest_partner_and_a_fold_still_more_to_a_neighbour(P, apart):
    rank = P - 1 if P == 16 else 0
    rounds = ALLREDUCE["halving-doubling"].rounds(rank, P)
    size, to = max((each.send[1] - each.send[0], each.to) for each in rounds if each.to != mpi.PROC_NULL)
    assert (size, abs(to - rank)) == (8 if P == 16 else 16, apart)


def test_a_reduce_scatter_after_an_allgather_gives_p_times_the_own_block():
    """Neither order is the identity: after the reduce-scatter the allgather gives the sum, and this gives P copies."""

    def back_and_forth(comm):
        x = np.zeros(3 * comm.size)
        x[3 * comm.rank : 3 * comm.rank + 3] = own = np.arange(3.0) + 10 * comm.rank
        return own * comm.size, ring_reduce_scatter(comm, ring_allgather(comm, x))

    for P in (1, 2, 3, 5):
        assert all(np.array_equal(*blocks) for blocks in launch(back_and_forth, P).results)


@pytest.mark.parametrize("name", ALLREDUCE)
def test_without_additions_each_formula_is_a_line_over_n(name):
    """On one number of ranks. With slow additions the direct one bends, where an addition outlasts a message."""
    tree = {"segments": 8} if name in ("binary tree", "double tree") else {}
    grid = {"hierarchical": "ranks_per_node", "leader": "ranks_per_node", "torus": "width", "x then y": "width"}
    how = tree | ({grid[name]: 4} if name in grid else {})

    def bend(gamma):
        first, second, third = (
            ALLREDUCE[name].cost(16, 16 * elements, 1, Link(*LINK[:2], gamma), **how).seconds
            for elements in (200, 400, 600)
        )
        return third - 2 * second + first

    assert abs(bend(0.0)) < 1e-15
    assert (bend(1e-10) > 1e-9) == (name == "direct")


def test_a_double_tree_is_a_line_over_n_only_with_so_many_segments():
    """Fits of constant and slope suppose it: with the best number of segments the time bends with the root of n."""
    sizes = (2**22, 2**23, 2**24)
    seconds = ALLREDUCE["double tree"].cost
    fixed = [seconds(64, n, 1, LINK, segments=8).seconds for n in sizes]
    best = [seconds(64, n, 1, LINK, segments=best_segments(64, n, 1, LINK)).seconds for n in sizes]
    assert (fixed[2] - fixed[1]) / (fixed[1] - fixed[0]) == pytest.approx(2, rel=1e-3)
    assert (best[2] - best[1]) / (best[1] - best[0]) < 1.9


def test_the_decision_for_64_accelerators():
    """14 GB: hierarchical takes a fifth of the ring's time; buckets: halving-doubling across; a flag: few rounds."""
    nodes = networks.two_level(8, 1e-6, 1 / 450e9, 5e-6, 1 / 50e9, nics=8)

    def milliseconds(n, name, **how):
        return predict(name, 64, n // 2, 2, nodes, **how) * 1e3

    def hierarchical(n, across):
        return milliseconds(n, "hierarchical", ranks_per_node=8, across=across)

    n, bucket = 14 * 10**9, 25 * 2**20
    assert hierarchical(n, "ring") / milliseconds(n, "ring") == pytest.approx(0.21, abs=0.01)
    assert hierarchical(n, "halving-doubling") == pytest.approx(hierarchical(n, "ring"), rel=0.001)
    assert hierarchical(bucket, "halving-doubling") < 0.9 * hierarchical(bucket, "ring")
    assert milliseconds(4, "recursive doubling") < min(hierarchical(4, "ring"), hierarchical(4, "halving-doubling"))
    assert milliseconds(4, "direct") < milliseconds(4, "recursive doubling")  # with its messages in flight
    assert cost.bus_bandwidth("allreduce", 64, n, milliseconds(n, "ring") / 1e3) == pytest.approx(50e9, rel=0.01)
    levels_in_turn = cost.bus_bandwidth("allreduce", 64, n, hierarchical(n, "ring") / 1e3)
    assert 4 * 50e9 < levels_in_turn < 450e9 / 1.5  # the speed of neither link
    assert -(-n // bucket) == 535 and n // bucket == 534
    readings = Path(__file__).parents[2] / "chapters/data/nccl_allreduce_busbw_by_nodes.csv"
    assert {"8,64,536870912,311", "8,64,17179869184,360"} <= set(readings.read_text().split())  # NCCL on such nodes


def levels(rng, *sizes):
    """Seconds between ranks of a machine of levels: those of the smallest group that holds both."""
    seconds = np.zeros((1, 1))
    for size in reversed(sizes):
        far = seconds.max() + rng.uniform(1, 5)
        inside = seconds
        seconds = np.full((len(inside) * size,) * 2, far)
        for part in range(size):
            own = slice(part * len(inside), (part + 1) * len(inside))
            seconds[own, own] = inside
    mixed = rng.permutation(len(seconds))
    return seconds[mixed][:, mixed]


@pytest.mark.parametrize("sizes", [(2, 3), (2, 2, 2), (7,)])
def test_nearest_to_any_rank_of_the_ring_is_as_good_as_nearest_to_its_last(sizes):
    """Exercise ring_order: both rules give a shortest ring, because of the levels."""
    seconds = levels(np.random.default_rng(0), *sizes)
    P = len(seconds)

    def length(order):
        return sum(seconds[order[i - 1], order[i]] for i in range(P))

    nearest_to_any, left = [0], set(range(1, P))
    while left:
        nearest_to_any.append(min(left, key=lambda rank: seconds[nearest_to_any, rank].min()))
        left.remove(nearest_to_any[-1])
    best = min(length((0, *rest)) for rest in permutations(range(1, P)))
    assert length(solutions.ring_order(seconds)) == pytest.approx(best) == pytest.approx(length(nearest_to_any))


def test_a_curve_of_the_ring_rises_fourfold_up_to_its_dot():
    """From P = 2 to where P alpha = n beta; the time is near n beta or 2 n beta only far to the left of that."""
    n = 10**10
    balance = round(n * LINK.beta / LINK.alpha)
    seconds = [ring_allreduce_cost(P, n, 1, LINK).seconds for P in (2, 100, balance)]
    assert seconds[2] / seconds[0] == pytest.approx(4, rel=0.01)
    assert [each / (n * LINK.beta) for each in seconds[:2]] == pytest.approx([1, 2], rel=0.02)


@pytest.mark.parametrize("gap", [50e-6, 200e-6])
def test_where_the_link_is_idle_a_joint_message_loses_the_bytes_of_all_but_one(gap):
    """It is not 49 gaps minus 49 latencies, which holds while the link is never idle."""
    link = Link(alpha=20e-6, beta=1 / 10e9)
    together, one_by_one = cost.finish([k * gap for k in range(50)], [100_000] * 50, link)
    assert together - one_by_one == pytest.approx(49 * 100_000 * link.beta)


def test_both_interpreters_send_the_same_messages_in_the_same_time():
    def ring(comm, carry_out_and_wait):
        plan = plan_allreduce(comm, np.zeros(100), "ring", {})
        assert plan.in_turn
        carry_out_and_wait(comm, plan.posts, np.zeros(100), np.zeros(100))

    def posted(comm, posts, send, recv):
        complete(carry_out(comm, posts, send, recv))

    for network in (networks.uniform(1e-6, 1e-9, 0.3e-9), networks.two_level(3)):
        one, other = (launch(ring, 5, how, network=network) for how in (posted, carry_out_in_turn))
        assert (one.seconds, one.messages, one.bytes_sent) == (other.seconds, other.messages, other.bytes_sent)


@pytest.mark.parametrize(("rank", "shorter"), [(0, True), (1, False)])
def test_one_message_each_way_takes_the_shorter_way_unless_it_runs_past_the_end(rank, shorter):
    """Rank 1 of 4 has the blocks 1 and 2, and asks for 3 and 0."""
    blocks = Blocks(np.zeros(4), 4)
    posts = plan(bruck_allgather_rounds(rank, 4), blocks, blocks)
    assert all(len(each.receives) == len(each.sends) == 1 for each in posts)
    assert in_turn(posts, 4, 4) == shorter


@pytest.mark.parametrize(
    ("inside", "latency", "quicker"), [(300e9, 1e-6, [0.061, 0.058]), (25e9, 1e-6, [0, 0.014]), (25e9, 5e-6, [0, 0])]
)
def test_a_direct_exchange_gets_out_of_step_where_links_differ(inside, latency, quicker):
    """On 4 nodes of 8 with a card each: with one kind of link everywhere, turns take as long as sharing."""
    machine = networks.two_level(8, latency, 1 / inside, 5e-6, 1 / 25e9, nics=8)

    def direct(comm, nbytes):
        allreduce(comm, np.zeros(nbytes // 8), algorithm="direct")

    for nbytes, part in zip((2**10, 2**16), quicker, strict=True):
        turns, shared = (launch(direct, 32, nbytes, network=machine, sharing=how).seconds for how in ("fifo", "fair"))
        assert 1 - shared / turns == pytest.approx(part, abs=0.001)


def test_one_shift_takes_as_long_in_turns_and_a_series_is_shorter():
    """Who is served first goes on: this shortens the second shift and those after it, not the first."""

    def shorter(steps):
        groups = [[("r", -5, 2**16), ("s", 5, 2**16)]] * steps
        case = smpi.Case(
            "shifts",
            smpi.HALF_CORE,
            32,
            lambda rank: [[(what, (rank + by) % 32, size) for what, by, size in group] for group in groups],
        )
        return 1 - case.seconds("fifo") / case.seconds("fair")

    assert [shorter(1), shorter(20)] == pytest.approx([0, 0.157], abs=0.001)


@pytest.mark.parametrize(("latencies", "shorter"), [((1e-6, 5e-6, 8e-6), 0.005), ((5e-6, 5e-6, 5e-6), 0.051)])
def test_turns_hardly_shorten_the_double_tree_of_the_table(latencies, shorter):
    """Its -5.1 % against SMPI are not those of turns: fair sharing has -4.6 % there."""
    levels = zip((2, 8, float("inf")), latencies, (1e-11, 4e-11, 4e-11), (1, 2, 1), strict=True)
    network = SwitchTree(
        tuple(Level(ranks, L + 16 * beta, beta, uplinks, 16 * beta) for ranks, L, beta, uplinks in levels)
    )
    tree = ALLREDUCE["double tree"]
    case = smpi.Case(
        "tree", network, 32, smpi.scheduled(tree.rounds, 32, 2**20, tree.blocks(32, segments=8), segments=8)
    )
    assert 1 - case.seconds("fifo") / case.seconds("fair") == pytest.approx(shorter, abs=0.001)


def test_dijkstra_needs_more_than_a_measure_that_gets_no_better_with_a_link():
    """Widest first, fewest links second: a link makes no path better, and still the best way to a spoils that to t.

    With the width alone, the exercise widest_path, the better of two paths stays as good when both get one more link.
    """
    links = {("s", "a"): 5, ("s", "b"): 10, ("b", "a"): 10, ("a", "t"): 5}

    def measure(path):
        return min(links[hop] for hop in pairwise(path)), -len(path)

    ways = {"a": ["sa", "sba"], "t": ["sat", "sbat"]}
    best = {node: max(paths, key=measure) for node, paths in ways.items()}
    assert best == {"a": "sba", "t": "sat"} and measure(best["a"] + "t") < measure(best["t"])
    assert measure(best["a"] + "t")[0] == measure(best["t"])[0]


def test_a_leader_wins_small_arrays_by_its_rounds_inside_the_node_and_not_by_few_messages_across():
    """32 ranks in nodes of 8 with one card, 64 KiB. Controls: messages without gaps, and a node without latency."""

    def ahead(alpha=1e-6, **gap):  # by how much the leader is quicker
        machine = networks.two_level(8, alpha, 1 / 300e9, 5e-6, 1 / 25e9, nics=1, **gap)
        how = {"ranks_per_node": 8, "across": "recursive doubling"}
        return predict("hierarchical", 32, 2**13, 8, machine, **how) - predict("leader", 32, 2**13, 8, machine, **how)

    assert ahead() > 4e-6 and ahead(gap=0.0) > 4e-6 and ahead(alpha=1e-12) < -2e-6


@pytest.mark.parametrize("all_of_it", [True, False])
def test_a_wrong_group_that_all_its_ranks_call_goes_unnoticed_though_others_are_right(all_of_it):
    """Rows of two, and halves of four: ranks 0 to 3 add up their half, ranks 4 to 7 their rows."""

    def row_sum(comm):
        row, half = comm.Split(comm.rank // 2, comm.rank), comm.Split(comm.rank // 4, comm.rank)
        total = np.empty(1)
        (half if comm.rank < (4 if all_of_it else 3) else row).Allreduce(np.array([1.0 + comm.rank]), total)
        return float(total[0])

    if all_of_it:
        assert launch(row_sum, 8).results == [10.0] * 4 + [11.0] * 2 + [15.0] * 2
    else:
        with pytest.raises(LaunchError, match="deadlock"):
            launch(row_sum, 8)


def test_a_wrong_group_that_all_its_ranks_call_leaves_others_waiting_where_groups_cross():
    """Rows and columns of 2 x 2 ranks: a column takes a rank from each row."""

    def row_sum(comm):
        row, column = comm.Split(comm.rank // 2, comm.rank), comm.Split(comm.rank % 2, comm.rank)
        total = np.empty(1)
        (column if comm.rank in (0, 2) else row).Allreduce(np.array([1.0 + comm.rank]), total)

    with pytest.raises(LaunchError, match="deadlock: rank 1 calls Allreduce"):
        launch(row_sum, 4)


def test_the_root_of_a_tree_posts_its_independent_sends_one_by_one_and_of_6_ranks_two_have_no_one_ahead():
    """Not "together if they do not depend on each other": together if the schedule says so, as the direct one does."""
    x = Blocks(np.zeros(1), 1)
    assert len(plan(binomial_broadcast_rounds(0, 8), x, x)) == 3
    blocks = Blocks(np.zeros(8), 8)
    assert len(plan(ALLREDUCE["direct"].rounds(0, 8), blocks, blocks)) == 2
    last_round = [list(binomial_broadcast_rounds(rank, 6))[-1].to for rank in range(4)]  # these have the message
    assert last_round == [4, 5, mpi.PROC_NULL, mpi.PROC_NULL]


def test_choose_takes_direct_for_uneven_blocks_from_a_fit_only():
    """33 numbers on 16 ranks."""
    even, uneven = (choose(16, count, 4, networks.uniform(*LINK)).algorithm for count in (32, 33))
    assert even == "direct" != uneven
    measured = [fit.Sample(name, n, t) for name, t in (("ring", 3e-6), ("direct", 1e-6)) for n in (40, 4000)]
    assert choose(16, 33, 4, fit.fit(16, measured, itemsize=4)).algorithm == "direct"


@pytest.mark.parametrize("P", [2, 3, 4, 5, 17])
def test_a_ring_beats_recursive_doubling_on_large_arrays_from_3_ranks_on(P):
    waiting = networks.uniform(*LINK[:2], gap=float("inf"))
    ring, doubling = (predict(name, P, 2**30, 1, waiting) for name in ("ring", "recursive doubling"))
    assert (ring < doubling) == (P > 2)


@pytest.mark.parametrize(("width", "times"), [(2, 4 / 3), (16, 1.88)])
def test_all_reduces_along_both_axes_send_nearly_twice_as_much_on_a_large_grid_only(width, times):
    P = width * width
    sent = [ALLREDUCE[name].volume(P, P, 1, width=width).nbytes.max() for name in ("x then y", "torus")]
    assert sent[0] / sent[1] == pytest.approx(times, abs=0.01)


@pytest.mark.parametrize(("more", "slower"), [(0, 0.0), (1, 0.32)])
def test_turns_take_longer_than_sharing_where_one_block_is_longer_though_all_links_are_alike(more, slower):
    def direct(comm):
        allreduce(comm, np.zeros(2**20 + more, np.uint8), algorithm="direct")

    turns, shared = (
        launch(direct, 16, network=networks.uniform(*LINK), sharing=how).seconds for how in ("fifo", "fair")
    )
    assert turns / shared - 1 == pytest.approx(slower, abs=0.01)


def test_in_turns_the_owner_adds_while_the_next_block_comes_and_shared_blocks_come_at_the_same_time():
    def seconds(gamma, sharing):
        def direct(comm):
            allreduce(comm, np.zeros(8 * 64), algorithm="direct")

        return launch(direct, 8, network=networks.uniform(1e-6, 1e-9, gamma), sharing=sharing).seconds

    assert seconds(0.0, "fair") == pytest.approx(seconds(0.0, "fifo"))
    assert seconds(1e-9, "fair") > 1.2 * seconds(1e-9, "fifo")


@pytest.mark.parametrize("name", ["direct", "ring", "recursive doubling"])
def test_a_rank_that_is_late_holds_up_all_others_in_a_direct_exchange_too(name):
    def late(comm):
        if comm.rank == 2:
            mpi.compute(comm, 1e-3)
        allreduce(comm, np.zeros(800), algorithm=name)
        return mpi.wtime(comm)

    assert min(launch(late, 5, network=networks.uniform(1e-6, 1e-9)).results) > 1e-3


@pytest.mark.parametrize("k", [1, 2, 1024])
def test_alpha_is_the_latency_and_two_overheads_of_loggp(k):
    """Each byte goes G after the one before it, a message g after the last byte of the one before it."""
    L, o, g, G, n = 2e-6, 0.5e-6, 40e-9, 1e-10, 7389
    expected = o + k * n * G + (k - 1) * g + L + o
    assert cost.in_flight(k, k * n, Link(L + 2 * o, G, gap=g)).seconds == pytest.approx(expected)


def test_the_search_finds_node_by_node_where_it_does_not_begin_there():
    """Unless told, `assign` begins with the order of numbers, and here that is node by node already."""
    P, n, how = 16, 2**20, {"ranks_per_node": 4}
    machine, schedule = networks.two_level(4, 1e-6, 1e-11, 5e-6, 4e-11), ALLREDUCE["hierarchical"].rounds
    w, d = traffic(schedule, P, n, 1, P, **how), placement.distances(machine, P, nbytes=n // P)
    round_robin = [rank % 4 * 4 + rank // 4 for rank in range(P)]
    found = placement.assign(w, d, seed=1, start=round_robin)
    assert placement.cost(found, w, d) == pytest.approx(placement.cost(range(P), w, d))
    assert placement.cost(found, w, d) < 0.5 * placement.cost(round_robin, w, d)
    seconds = [evaluate(placed(schedule, order), P, n, 1, machine, P, **how).seconds for order in (found, range(P))]
    assert seconds[0] == pytest.approx(seconds[1])


@pytest.mark.parametrize(("nodes", "megabytes"), [(1, 0.0), (4, 1.28), (128, 60.05)])
def test_nccl_2_4_computed_its_threshold(nodes, megabytes):
    """ncclTreeThreshold in src/init.cc of v2.4.8-1, without NVLink, 8 GPUs a node: bytes a µs, and µs."""
    ranks, ring_speed, tree_speed = 8 * nodes, 5000, 5000 * 2 / 3
    ring_latency, tree_latency = 6 * (ranks - 1), 15 * (nodes.bit_length() - 1) + 4 * (ranks // nodes - 1)
    gained = ring_latency - tree_latency if nodes > 1 else 0
    threshold = ring_speed * tree_speed / (ring_speed - tree_speed) * gained
    assert threshold / 1e6 == pytest.approx(megabytes, abs=0.005)


def test_an_all_to_all_whose_messages_do_not_wait_is_quicker_than_p_minus_1_messages_in_turn():
    """Solution of pairwise_alltoall: the least time is that of ranks that wait."""

    def all_at_once(comm):
        x, come = np.zeros((comm.size, 10)), np.empty((comm.size, 10))
        others = [(comm.rank + step) % comm.size for step in range(1, comm.size)]
        receives = [comm.Irecv(come[rank], source=rank) for rank in others]
        mpi.waitall([*receives, *(comm.Isend(x[rank], dest=rank) for rank in others)])

    def in_turn(comm):
        solutions.pairwise_alltoall(comm, np.zeros((comm.size, 10)))

    P, network = 8, networks.uniform(*LINK)
    message = LINK.alpha + 80 * LINK.beta
    assert launch(in_turn, P, network=network).seconds == pytest.approx((P - 1) * message)
    assert launch(all_at_once, P, network=network).seconds < 1.1 * message


@pytest.mark.parametrize(("losses", "hangs"), [([(5, 0.5), (4, 0.4)], False), ([(5, 0.5), (0.4, 0.4)], True)])
def test_leaving_a_loop_on_ones_own_loss_hangs_if_another_leaves_later_and_not_because_losses_differ(losses, hangs):
    """Exercise stop_together, as it is before the repair: all ranks of the first case leave after step 2."""

    def steps(comm):
        for step, loss in enumerate(losses[comm.rank], 1):
            if loss < 1:
                return step
            comm.Allreduce(mpi.IN_PLACE, np.array([loss], float))
        return len(losses[comm.rank])

    if hangs:
        with pytest.raises(LaunchError, match="deadlock"):
            launch(steps, 2)
    else:
        assert launch(steps, 2).results == [2, 2]


def test_arrays_of_numpy_must_be_contiguous_too():
    def send(comm):
        if comm.rank == 0:
            comm.Send(np.arange(6.0)[::2], dest=1)
        else:
            comm.Recv(np.empty(3), source=0)

    with pytest.raises(LaunchError, match="contiguous"):
        launch(send, 2)


def test_the_sizes_of_the_printed_table_are_among_those_that_are_fitted():
    """So `/fit` is far from 1 for what differs between two measurements, not for sizes that the fit has not seen."""
    assert {4, 4 * 2**10, 256 * 2**10, 4 * 2**20} <= set(fit.SIZES)


def test_a_ring_sends_n_on_two_ranks_and_nearly_2n_on_many():
    for P, arrays in ((2, 1.0), (3, 4 / 3), (100, 1.98)):
        assert ring_bytes(P, 300).mean() == pytest.approx(arrays * 300)


def test_what_two_senders_leave_of_a_port_does_not_count_what_they_send_too_much():
    """Chapter 1, congestion: both saws overshoot the 50 GB/s, and the mean of what gets through is less than theirs."""
    for up, down, sent, through in (((1, 1.0), (0, 0.5), 38.88, 38.74), ((1, 1.0), (-1, 1.0), 50.0, 49.5)):
        total = congestion.linear_control([40.0, 5.0], 50.0, up, down, steps=400)[-100:].sum(axis=1)
        assert total.max() > 50 and total.mean() == pytest.approx(sent, abs=0.01)
        assert np.minimum(total, 50).mean() == pytest.approx(through, abs=0.01)


def test_a_leader_is_the_weaker_form_for_large_arrays_only_also_with_a_card_for_each_rank():
    """E4-53, on 8 nodes of 8: it has 6 rounds inside a node, and the hierarchical schedule 14."""
    machine = networks.two_level(8, 1e-6, 1 / 300e9, 5e-6, 1 / 25e9, nics=8)
    ahead = []
    for n in (2**14, 2**26):
        leader, hierarchical = (
            min(
                predict(name, 64, n // 8, 8, machine, ranks_per_node=8, across=across)
                for across in ("ring", "recursive doubling", "halving-doubling")
            )
            for name in ("leader", "hierarchical")
        )
        ahead.append(hierarchical / leader)
    assert ahead == [pytest.approx(1.26, abs=0.01), pytest.approx(0.18, abs=0.03)]


def test_node_by_node_is_the_shortest_ring_only_if_it_is_rack_by_rack_too():
    """Racks of two nodes of two ranks: both orders see each node once."""
    network = SwitchTree((Level(2, 1e-6, 1e-11), Level(4, 2e-6, 4e-11), Level(8, 5e-6, 8e-11)))
    seconds, ring = placement.distances(network, 8, nbytes=2**20), np.roll(np.eye(8), 1, axis=1)
    by_racks, to_and_fro = (placement.cost(order, ring, seconds) for order in ([*range(8)], [0, 1, 4, 5, 2, 3, 6, 7]))
    shortest = min(placement.cost((0, *rest), ring, seconds) for rest in permutations(range(1, 8)))
    assert shortest == pytest.approx(by_racks) and to_and_fro > 1.2 * by_racks


def test_what_the_plots_of_fewer_rounds_show():
    """Their descriptions: where the ring begins, which crossovers 256 KiB meets, and which ring's curve flattens."""
    waiting = networks.uniform(*LINK[:2], gap=float("inf"))

    def from_where(P, name):  # the least power of two from which on it is the quickest
        quickest = [choose(P, 2**e // 4, 4, waiting).algorithm == name for e in range(8, 31)]
        return 30 - quickest[::-1].index(False) + 1

    assert [from_where(P, "ring") for P in (3, 9, 10, 40)] == [18, 20, 21, 23]
    assert [from_where(P, "halving-doubling") for P in (4, 8, 16, 32)] == [20, 20, 19, 19]
    assert all(choose(2, 2**e // 4, 4, waiting).algorithm == "recursive doubling" for e in range(8, 31))
    machines = ((1e-6, 300e9), (5e-6, 100e9), (30e-6, 1.25e9))
    least = [crossover("binomial tree", "ring", 4, networks.uniform(a, 1 / b), itemsize=1) for a, b in machines]
    assert [n < 2**18 for n in least] == [True, False, True]
    for n, slope in ((10**6, 0.7), (10**8, 0.15), (10**10, 0.15)):
        seconds = [ring_allreduce_cost(P, n, 1, LINK).seconds for P in (2, 4, 8, 16, 32, 64)]
        assert min(np.diff(np.log2(seconds))) == pytest.approx(slope, abs=0.15)

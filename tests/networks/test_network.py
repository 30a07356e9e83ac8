"""What a network is: three things, whoever offers them; with them everything works, and without one nothing begins."""

import re
from dataclasses import dataclass, replace

import numpy as np
import pytest

from reference import mpi
from reference.collectives import ALLREDUCE, allreduce, choose, predict
from reference.collectives.evaluate import evaluate
from reference.collectives.select import candidates
from reference.networks import Dragonfly, Route, SwitchTree, Torus, fat_tree, two_level, uniform
from reference.networks.congestion import finish_times, on_network
from reference.networks.network import COSTS, Subnetwork, among, group_sizes, slowest_link
from reference.networks.placement import distances, ring_order
from reference.networks.ways import router
from reference.worlds import launch

LINK, GAP = (2.0**-18, 2.0**-32), 2.0**-22  # no sum of these is ever rounded
NETWORKS = {
    "torus": Torus((3, 4), *LINK, gamma=2.0**-34, gap=GAP),
    "cube": Torus((2, 3, 2), *LINK, hop=2.0**-20, gap=GAP),
    "dragonfly": Dragonfly(2, 2, 1, *LINK, 2 * LINK[0], 4 * LINK[1], gamma=2.0**-34, gap=GAP),
}
each = pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
ARRAYS = 3, 40, 1003


@dataclass  # not frozen: it has no hash
class Bus:
    """One link for all."""

    gamma: float = 0.0

    def node(self, rank):
        return rank

    def route(self, source, dest):
        return Route(1e-6, 1e-9, ("the bus",))


# Everything works -------------------------------------------------------------------------------------------------


def sums(comm, names):
    """Of every array with every algorithm: whether it is right, and when this rank has it."""
    found, second = [], 0
    for name, own in names:
        for n in ARRAYS:
            mpi.sleep(comm, second - mpi.wtime(comm))
            x = allreduce(comm, np.arange(n) * (comm.rank + 1), algorithm=name, **own)
            right = x.tolist() == (np.arange(n) * (comm.size * (comm.size + 1) // 2)).tolist()
            found.append((right, mpi.wtime(comm) - second))
            second += 1
    return found


@pytest.mark.parametrize("P", [1, 2, 5, 8, 12])
@each
def test_every_all_reduce_is_right_and_the_evaluation_is_the_clock(network, P):
    """To the last bit, where messages wait for links, too."""
    names = [(name, record.some_options(P)) for name, record in ALLREDUCE.items()]
    results = launch(sums, P, names, network=network).results
    for number, (name, own) in enumerate(names):
        for array, n in enumerate(ARRAYS):
            seen = [rank[number * len(ARRAYS) + array] for rank in results]
            assert all(right for right, _ in seen), (name, n)
            blocks = ALLREDUCE[name].blocks(P, **own)
            due = evaluate(ALLREDUCE[name].rounds, P, n, 8, network, blocks, **own).clocks
            clock = max(seconds for _, seconds in seen)
            assert due.max() == clock, (name, n)


@each
@pytest.mark.parametrize("P", [4, 12])
@pytest.mark.parametrize("count", [1, 12_000])
def test_the_default_is_the_least_of_the_evaluated_candidates(network, P, count):
    def program(comm):
        return allreduce(comm, np.ones(count)).tolist() == [comm.size] * count

    run, choice = launch(program, P, network=network), choose(P, count, 8, network)
    asked = list(candidates(P, count, 8, network))
    assert {"ring", "recursive doubling", "double tree"} <= {name for name, _ in asked}
    assert choice.seconds == min(predict(name, P, count, 8, network, **own) for name, own in asked)
    assert all(run.results) and run.seconds == pytest.approx(choice.seconds, rel=0.15)


def test_the_ranks_of_a_router_are_a_node_and_make_the_hierarchical_one_a_candidate():
    asked = list(candidates(12, 1200, 8, NETWORKS["dragonfly"]))
    assert {own["ranks_per_node"] for name, own in asked if name == "hierarchical"} == {2}
    assert not [name for name, _ in candidates(12, 1200, 8, NETWORKS["torus"]) if name == "hierarchical"]


def test_many_ranks_are_not_asked_for_each_message_of_a_direct_exchange():
    names = {P: {name for name, _ in candidates(P, P, 8, Torus((P,)))} for P in (128, 129)}
    assert "direct" in names[128] and "direct" not in names[129]
    assert "direct" in {name for name, _ in candidates(1000, 1000, 8, uniform())}  # a formula tells


def test_a_network_without_a_hash_is_known_to_all_ranks(monkeypatch):
    """And asked once: each rank of a launch wants the same choice."""
    asked, network, ring = [], Bus(), ALLREDUCE["ring"]
    counted = replace(ring, candidates=lambda setting: asked.append(setting) or [{}])
    monkeypatch.setitem(ALLREDUCE._records, "ring", counted)

    def program(comm):
        return allreduce(comm, np.ones(1000)).sum(), mpi.kept(comm).get("fit"), comm.network

    assert launch(program, 5, network=network).results == [(5000.0, None, network)] * 5 and len(asked) == 1


def test_part_of_the_ranks_see_their_part():
    torus = NETWORKS["torus"]

    def program(comm):
        part = comm.Split(comm.rank % 2, -comm.rank)  # backwards
        x = allreduce(part, np.ones(5))
        return part.network, part.network.route(0, 1), x[0]

    part, way, total = launch(program, 8, network=torus).results[0]
    assert part == Subnetwork(torus, (6, 4, 2, 0)) and way == torus.route(6, 4) and total == 4
    assert part != among(torus, [0, 2, 4, 6]) and len({part, among(torus, (6, 4, 2, 0))}) == 1
    assert among(torus, range(5)) is torus
    assert [part.node(rank) for rank in range(4)] == [6, 4, 2, 0] and part.gamma == torus.gamma


def test_nodes_are_those_of_the_network():
    program = lambda comm: comm.Split_type(mpi.COMM_TYPE_SHARED).size  # noqa: E731
    assert launch(program, 8, network=NETWORKS["dragonfly"]).results == [2] * 8
    assert launch(program, 8, network=NETWORKS["torus"]).results == [1] * 8


@each
def test_distances_are_those_of_the_routes_and_a_ring_goes_from_near_to_near(network):
    slots = [7, 0, 5, 3]
    d = distances(network, slots, nbytes=100)
    for i, here in enumerate(slots):
        for j, there in enumerate(slots):
            way = network.route(here, there)
            assert d[i, j] == (pytest.approx(way.alpha / 100 + way.beta) if i != j else 0)
    assert sorted(ring_order(network, 12).tolist()) == list(range(12))


def test_messages_that_meet_share_and_links_are_as_fast_as_the_fastest_way_through_them():
    flows, capacities = on_network(Bus(), [(0, 1), (2, 3)])
    assert set(capacities.values()) == {1 / 1e-9}
    assert finish_times(flows, capacities, [1e6, 1e6]) == pytest.approx([2e-3, 2e-3])
    fly = Dragonfly(1, 2, 1, beta=1e-10, beta_global=1e-9)
    flows, capacities = on_network(fly, [(0, 3), (1, 0)])
    assert {link: round(1e-9 * speed) for link, speed in capacities.items()} == {
        ("port out", 0): 10,
        ("port in", 3): 1,
        ("port out", 1): 10,
        ("port in", 0): 10,
        **{link: 1 if link[0] // 2 != link[1] // 2 else 10 for link in fly.route(0, 3).links},
        (1, 0): 10,
    }


# What is known of one ---------------------------------------------------------------------------------------------


def test_the_slowest_link_and_the_groups():
    assert slowest_link(NETWORKS["dragonfly"], 12) == (2 * LINK[0], 4 * LINK[1], 2.0**-34, GAP)
    assert slowest_link(NETWORKS["dragonfly"], 4) == (*LINK, 2.0**-34, GAP)  # one group
    assert slowest_link(Torus((4,)), 1)[:2] == (0.0, 0.0)
    assert group_sizes(NETWORKS["dragonfly"], 8) == (2,) and group_sizes(NETWORKS["dragonfly"], 7) == ()
    assert group_sizes(NETWORKS["torus"], 12) == (1,) and group_sizes(fat_tree(2, 4), 16) == (2, 8)


@pytest.mark.parametrize("tree", [two_level(4, nics=2), fat_tree(2, 3, nics=2), uniform()], ids=["2", "3", "1"])
def test_ways_worked_out_together_are_those_of_the_routes(tree):
    """All pairs of 12 ranks; links are numbered in another way, so who meets whom is compared."""
    here, there = (ranks.ravel() for ranks in np.meshgrid(np.arange(12), np.arange(12)))
    here, there = here[apart := here != there], there[apart]
    one, other = router(tree, 12).ways(here, there), router(Subnetwork(tree, tuple(range(12))), 12).ways(here, there)
    assert [getattr(one, cost).tolist() for cost in COSTS] == [getattr(other, cost).tolist() for cost in COSTS]
    assert meetings(one) == meetings(other)


def meetings(ways):
    """The pairs of messages that have a link in common."""
    sets = [set(row) - {-1} for row in ([] if ways.links is None else ways.links.tolist())]
    return {(i, j) for i, a in enumerate(sets) for j, b in enumerate(sets) if a & b}


# What is none -----------------------------------------------------------------------------------------------------


class WithoutNode:
    gamma = 0.0

    def route(self, source, dest):
        return Route(0.0, 0.0)


class OnlyGamma:
    gamma = node = 0.0


@pytest.mark.parametrize(
    "network, says",
    [
        (WithoutNode(), "WithoutNode is no network: it lacks node (node(rank))"),
        (OnlyGamma(), "OnlyGamma is no network: it lacks route (route(source, dest)), node (node(rank))"),
        ("uniform", "str is no network: it lacks gamma (seconds to reduce a byte), node (node(rank)), route (route("),
    ],
)
def test_what_offers_less_is_refused_in_one_line_that_names_what_is_missing(network, says):
    calls = [
        lambda: launch(lambda comm: None, 2, network=network),
        lambda: choose(2, 10, 8, network),
        lambda: evaluate(ALLREDUCE["ring"].rounds, 2, 10, 8, network),
    ]
    for call in calls:
        with pytest.raises(TypeError, match=f"^{re.escape(says)}") as told:
            call()
        assert "\n" not in str(told.value)


def test_a_tree_of_switches_is_a_network_of_levels():
    assert isinstance(uniform(), SwitchTree) and len(uniform().levels) == 1

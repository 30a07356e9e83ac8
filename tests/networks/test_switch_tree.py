"""Networks: which way a message takes and what it meets there; worked by hand."""

from math import inf, nan

import numpy as np
import pytest

from reference.networks import Level, Route, SwitchTree
from reference.worlds import launch, networks


def test_a_uniform_network_has_no_links_to_meet_on():
    assert networks.uniform(2e-6, 3e-9).route(0, 99) == Route(2e-6, 3e-9)
    assert networks.uniform().node(0) == networks.uniform().node(99) == 0


def test_a_message_to_oneself_costs_nothing():
    assert networks.two_level(2).route(1, 1) == Route(0.0, 0.0)


def test_two_levels():
    network = networks.two_level(4, alpha=1e-6, beta=1e-11, alpha_out=5e-6, beta_out=4e-11)
    assert network.route(0, 3) == Route(1e-6, 1e-11)
    assert network.route(0, 4) == Route(5e-6, 4e-11, ((0, "up", 0, 0), (0, "down", 1, 0)))
    assert [network.node(rank) for rank in (0, 3, 4, 11)] == [0, 0, 1, 2]


def test_a_fat_tree_climbs_as_far_as_it_must():
    network = networks.fat_tree(ranks_per_node=2, nodes_per_pod=2, alphas=(1, 2, 3), betas=(10, 20, 30))
    assert network.route(0, 1) == Route(1, 10)
    assert network.route(0, 2) == Route(2, 20, ((0, "up", 0, 0), (0, "down", 1, 0)))
    assert network.route(0, 5) == Route(
        3, 30, ((0, "up", 0, 0), (0, "down", 2, 0), (1, "up", 0, 1), (1, "down", 1, 1))
    )  # the second cable to the core, because 5 is odd


def test_the_slowest_link_of_the_way_decides():
    assert networks.two_level(2, beta=1e-9, beta_out=1e-10).route(0, 2).beta == 1e-9


def seconds(program, ranks, network):
    return launch(program, ranks, network=network).seconds


def to_other_half(comm):
    half = comm.size // 2
    if comm.rank < half:
        comm.Send(np.zeros(1000), comm.rank + half)
    else:
        comm.Recv(np.zeros(1000), comm.rank - half)


@pytest.mark.parametrize("cards, rounds", [(1, 4), (2, 2), (4, 1)])
def test_flows_take_turns_at_the_cards_of_a_node(cards, rounds):
    network = networks.two_level(4, alpha_out=1e-6, beta_out=1e-9, nics=cards, gap=0)
    assert seconds(to_other_half, 8, network) == pytest.approx(1e-6 + rounds * 8e-6)


@pytest.mark.parametrize("oversubscription, rounds", [(1, 1), (2, 2), (4, 4)])
def test_an_oversubscribed_core_makes_flows_queue(oversubscription, rounds):
    network = networks.fat_tree(1, 4, alphas=(0, 0, 1e-6), betas=(0, 0, 1e-9), oversubscription=oversubscription, gap=0)
    assert seconds(to_other_half, 8, network) == pytest.approx(1e-6 + rounds * 8e-6)


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda: networks.uniform(alpha=-1), "alpha"),
        (lambda: networks.uniform(gap=-1e-9), "a gap is a number of seconds, at least 0"),
        (lambda: networks.fat_tree(2, 2, gap=float("nan")), "got nan"),
        (lambda: networks.Torus((2,), gap=-1), "a gap is"),
        (lambda: networks.Dragonfly(1, 1, 1, gap=-1), "a gap is"),
        (lambda: networks.two_level(0), "whole number"),
        (lambda: networks.fat_tree(2, 2, oversubscription=8), "no cable"),
        (lambda: SwitchTree((Level(4, 0, 0), Level(6, 0, 0))), r"\[4, 6\]"),
        (lambda: SwitchTree((Level(4, 0, 0),)).route(0, 4), "holds 4 ranks"),
    ],
)
def test_impossible_networks_are_refused_with_the_numbers(make, says):
    with pytest.raises(ValueError, match=says):
        make()


@pytest.mark.parametrize("wrong", [nan, inf, -inf, -1e-9])
@pytest.mark.parametrize(
    "make",
    [
        lambda x: networks.uniform(alpha=x),
        lambda x: networks.uniform(beta=x),
        lambda x: networks.uniform(gamma=x),
        lambda x: networks.two_level(2, alpha_out=x),
        lambda x: networks.two_level(2, beta=x),
        lambda x: networks.two_level(-inf if x == inf else x),  # inf: all ranks are one node
        lambda x: networks.two_level(2, nics=x),
        lambda x: networks.fat_tree(2, 2, oversubscription=x),
        lambda x: networks.fat_tree(2, x),
        lambda x: networks.fat_tree(2, 2, nics=x),
        lambda x: networks.fat_tree(2, 2, alphas=(1e-6, x, 1e-6)),
        lambda x: networks.fat_tree(2, 2, gamma=x),
        lambda x: SwitchTree((Level(2, 0, 0), Level(4, 0, x))),
    ],
)
def test_what_is_no_number_is_refused_and_named(make, wrong):
    with pytest.raises(ValueError, match=r"got (nan|inf|-inf|-1e-09)"):
        make(wrong)


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda: networks.two_level(2.5), "ranks below a switch are a whole number of at least 1, .* got 2.5"),
        (lambda: networks.fat_tree(2, 2, nics=0), "nics must be a whole number of at least 1, got 0"),
        (lambda: networks.fat_tree(2, 2, oversubscription=0), "above 0 and finite, got 0"),
        (lambda: networks.fat_tree(2, 2, betas=(1e-9, 1e-9)), "3 alphas and 3 betas, got 3 and 2"),
        (lambda: SwitchTree(()), r"got sizes \[\]"),
    ],
)
def test_what_would_be_cut_or_rounded_is_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()

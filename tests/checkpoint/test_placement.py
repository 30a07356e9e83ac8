"""Where copies lie: never two on one node, and what the probability of recovery is, tried set by set."""

from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.checkpoint.placement import (
    across_nodes,
    group_bound,
    group_probability,
    in_a_ring,
    in_groups,
    lost,
    of_ranks,
    recovery_probability,
)

COPIES = st.integers(2, 12).flatmap(lambda nodes: st.tuples(st.just(nodes), st.integers(2, nodes)))


@given(COPIES, st.sampled_from([in_groups, in_a_ring]))
def test_each_state_is_on_as_many_nodes_and_each_node_has_as_many_states(of, placing):
    nodes, copies = of
    holders = placing(nodes, copies)
    assert [held[0] for held in holders] == list(range(nodes))  # a node keeps its own
    assert all(len(set(held)) == copies for held in holders)
    assert [sum(node in held for held in holders) for node in range(nodes)] == [copies] * nodes


@given(COPIES)
def test_what_fewer_nodes_than_copies_lose_is_nothing(of):
    nodes, copies = of
    for placing in (in_groups, in_a_ring):
        assert not any(lost(placing(nodes, copies), gone) for gone in combinations(range(nodes), copies - 1))


@given(st.lists(st.integers(1, 3), min_size=2, max_size=5), st.data())
def test_the_loss_of_a_node_takes_no_state_of_a_rank(sizes, data):
    """Nodes of any sizes, and ranks in any order."""
    node_of = data.draw(st.permutations([node for node, size in enumerate(sizes) for _ in range(size)]))
    copies = data.draw(st.integers(2, len(sizes)))
    holders = of_ranks(node_of, in_groups(len(sizes), copies))
    assert [held[0] for held in holders] == list(range(len(node_of)))
    assert all(len({node_of[rank] for rank in held}) == copies for held in holders)
    for gone in combinations(range(len(sizes)), copies - 1):
        assert not lost(holders, [rank for rank, node in enumerate(node_of) if node in gone])


def test_the_ranks_of_a_node_share_the_copies_of_another():
    holders = of_ranks((0, 0, 0, 1, 1, 1), in_groups(2, 2))
    assert holders == [(0, 3), (1, 4), (2, 5), (3, 0), (4, 1), (5, 2)]


def test_neighbouring_ranks_as_partners_lose_a_state_with_their_node():
    """The mistake that `of_ranks` is there to prevent: rank r's copy on rank r + 1."""
    node_of = (0, 0, 1, 1, 2, 2)
    naive = in_a_ring(6, 2)
    assert lost(naive, [rank for rank in range(6) if node_of[rank] == 1]) == [2]
    assert not lost(of_ranks(node_of, in_a_ring(3, 2)), [2, 3])


def test_the_figures_of_the_paper():
    """16 machines, 2 copies, 2 that fail at once: 93.3 %; and a ring loses twice as often."""
    assert round(recovery_probability(in_groups(16, 2), 2), 3) == 0.933 == round(group_bound(16, 2, 2), 3)
    assert round(recovery_probability(in_a_ring(16, 2), 2), 3) == 0.867


@given(st.integers(2, 4), st.integers(1, 4), st.data())
def test_the_closed_form_is_what_trying_all_sets_gives_and_the_bound_is_below(copies, groups, data):
    nodes = copies * groups
    failed = data.draw(st.integers(0, nodes))
    tried = recovery_probability(in_groups(nodes, copies), failed)
    assert group_probability(nodes, copies, failed) == pytest.approx(tried, abs=1e-12)
    assert group_bound(nodes, copies, failed) <= tried + 1e-12
    assert recovery_probability(in_a_ring(nodes, copies), failed) <= tried + 1e-12


@pytest.mark.parametrize(("nodes", "copies"), [(5, 2), (7, 2), (7, 3), (8, 3), (11, 4)])
def test_what_does_not_divide_is_within_the_gap_of_the_paper(nodes, copies):
    """When m nodes fail at once, the mixed placement is at most (2 m - 3) / C(N, m) below the best there is."""
    sets = comb(nodes, copies)
    best = 1 - -(-nodes // copies) / sets  # at least so many sets must not be lost, for each node has a copy
    gap = best - recovery_probability(in_groups(nodes, copies), copies)
    assert 0 <= gap <= (2 * copies - 3) / sets + 1e-12
    assert in_groups(5, 2) == [(0, 1), (1, 0), (2, 3), (3, 4), (4, 2)]


@given(st.integers(1, 9), st.integers(1, 3), st.integers(1, 5))
def test_groups_across_nodes_have_no_two_ranks_on_one(nodes, ranks, size):
    node_of = [node for node in range(nodes) for _ in range(ranks)]
    if size > nodes:
        with pytest.raises(ValueError, match="two on one"):
            across_nodes(node_of, size)
        return
    groups = across_nodes(node_of, size)
    assert sorted(rank for group in groups for rank in group) == list(range(nodes * ranks))
    assert all(len({node_of[rank] for rank in group}) == len(group) >= size for group in groups)
    assert max(map(len, groups)) - min(map(len, groups)) <= 1


def test_what_is_refused():
    for nodes, copies in ((4, 1), (3, 4)):
        with pytest.raises(ValueError, match=r"at least 2.*at most one a node"):
            in_groups(nodes, copies)
    with pytest.raises(ValueError, match="2 nodes, and there is a placement for 4"):
        of_ranks([0, 0, 1, 1], in_groups(4, 2))
    with pytest.raises(ValueError, match="equal ones"):
        across_nodes([0, 0, 1], 2)
    with pytest.raises(ValueError, match="cannot be cut"):
        group_probability(5, 2, 1)
    with pytest.raises(ValueError, match="too many to try"):
        recovery_probability(in_groups(100, 2), 5)

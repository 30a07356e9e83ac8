"""Paths: compared with all simple paths of small random graphs, and with SciPy's maximum flow."""

from itertools import combinations, pairwise, permutations
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from reference.networks.fabrics import dragonfly, hybrid_cube_mesh, nvswitch, torus
from reference.networks.paths import (
    Path,
    disjoint_paths,
    max_flow,
    quickest_path,
    reroute,
    split,
    way_seconds,
    widest_path,
)

P = 5
MATRIX = st.lists(st.lists(st.sampled_from([0, 0, 1, 2, 3, 5, 8]), min_size=P, max_size=P), min_size=P, max_size=P)
LATENCY = st.lists(st.lists(st.integers(0, 9), min_size=P, max_size=P), min_size=P, max_size=P)


def graph(matrix):
    """Every node named, a link where the entry is not 0."""
    return {u: {v: own for v, own in enumerate(row) if own and u != v} for u, row in enumerate(matrix)}


def all_paths(links, a, b):
    """Every way that comes to no node twice."""
    inner = [node for node in links if node not in (a, b)]
    ways = ((a, *way, b) for length in range(len(inner) + 1) for way in permutations(inner, length))
    return [way for way in ways if all(v in links[u] for u, v in pairwise(way))]


def width(links, way):
    return min(links[u][v] for u, v in pairwise(way))


def unreachable(links):
    with pytest.raises(ValueError, match="no way leads from 0 to 4: from there only"):
        widest_path(links, 0, 4)


# One way


@given(MATRIX)
def test_the_widest_path_is_the_widest_of_all(matrix):
    links = graph(matrix)
    if not (ways := all_paths(links, 0, 4)):
        return unreachable(links)
    found = widest_path(links, 0, 4)
    assert found.nodes in ways and found.bandwidth == width(links, found.nodes) == max(
        width(links, way) for way in ways
    )


@given(MATRIX, LATENCY, st.integers(0, 40), st.booleans())
def test_the_quickest_path_is_the_quickest_of_all(matrix, latency, n, cut_through):
    links, alpha = graph(matrix), graph(np.array(latency) + 1)

    def takes(way):
        carry = n / width(links, way) if cut_through else sum(n / links[u][v] for u, v in pairwise(way))
        return sum(alpha[u][v] for u, v in pairwise(way)) + carry

    if not (ways := all_paths(links, 0, 4)):
        return unreachable(links)
    found = quickest_path(alpha, links, 0, 4, n, cut_through)
    assert found.nodes in ways and found.bandwidth == width(links, found.nodes)
    assert takes(found.nodes) == pytest.approx(min(map(takes, ways)))
    assert way_seconds(found, alpha, links, n, cut_through) == pytest.approx(takes(found.nodes))


def test_small_messages_want_few_links_and_long_streams_wide_ones():
    links = {"a": {"b": 1e9, "c": 10e9}, "c": {"d": 10e9}, "d": {"b": 10e9}, "b": {}}
    for nbytes, cut_through, expected in [
        (100, False, "ab"),
        (10**6, False, "acdb"),
        (1000, True, "ab"),
        (4000, True, "acdb"),
    ]:
        assert "".join(quickest_path(1e-6, links, "a", "b", nbytes, cut_through).nodes) == expected
    # store and forward pays 3 / 10 ns a byte on three links, cut-through 1 / 10: it is worth it earlier
    assert quickest_path(1e-6, links, "a", "b", 2500).nodes == ("a", "b")
    assert quickest_path(1e-6, links, "a", "b", 2500, cut_through=True).nodes == ("a", "c", "d", "b")


def test_what_is_full_is_driven_round():
    links = {0: {1: 10, 2: 4}, 1: {3: 10}, 2: {3: 4}, 3: {}}
    assert reroute(links, {}, 0, 3) == Path((0, 1, 3), 10)
    assert reroute(links, {1: {3: 5}}, 0, 3) == Path((0, 1, 3), 5)
    assert reroute(links, {1: {3: 7}}, 0, 3) == Path((0, 2, 3), 4)
    assert reroute(links, {0: {1: 99}}, 0, 3) == Path((0, 2, 3), 4)
    with pytest.raises(ValueError, match=r"no way leads from 0 to 3: from there only \['0', '2'\]"):
        reroute(links, {0: {1: 10}, 2: {3: 4}}, 0, 3)


@given(MATRIX, MATRIX)
def test_the_way_round_is_the_widest_over_what_is_free(matrix, load):
    links, busy = graph(matrix), graph(load)
    free = graph(np.maximum(0, np.array(matrix) - np.array(load)))
    if all_paths(free, 0, 4):
        assert reroute(links, busy, 0, 4) == widest_path(free, 0, 4)
    else:
        with pytest.raises(ValueError, match="no way leads"):
            reroute(links, busy, 0, 4)


# Several ways


def scipy_flow(matrix):
    clean = np.array(matrix, np.int32) * ~np.eye(P, dtype=bool)
    return int(maximum_flow(csr_array(clean.astype(np.int32)), 0, 4).flow_value)


@given(MATRIX)
def test_ways_that_share_no_link_carry_no_more_than_the_maximum_flow(matrix):
    links, most = graph(matrix), scipy_flow(matrix)
    assert max_flow(links, 0, 4) == pytest.approx(most)
    cuts = [{0, *side} for size in range(P - 1) for side in combinations((1, 2, 3), size)]
    assert most == min(sum(links[u].get(v, 0) for u in cut for v in set(range(P)) - cut) for cut in cuts)
    if not all_paths(links, 0, 4):
        return unreachable(links)
    found = disjoint_paths(links, 0, 4)
    used = [link for path in found for link in path.links]
    assert len(used) == len(set(used)) and sum(path.bandwidth for path in found) <= most
    assert found[0] == widest_path(links, 0, 4)
    widths = [path.bandwidth for path in found]
    assert widths == sorted(widths, reverse=True) and all(path.bandwidth == width(links, path.nodes) for path in found)
    without = {u: {v: own for v, own in row.items() if (u, v) not in used} for u, row in links.items()}
    assert not all_paths(without, 0, 4)  # no further one is left
    assert disjoint_paths(links, 0, 4, most=1) == found[:1]


def test_the_greedy_choice_can_block_two_others():
    links = {"a": {"c": 3, "d": 2}, "c": {"d": 3, "b": 2}, "d": {"b": 3}, "b": {}}
    assert [path.nodes for path in disjoint_paths(links, "a", "b")] == [("a", "c", "d", "b")]
    assert max_flow(links, "a", "b") == pytest.approx(5)


def test_two_gpus_without_a_link_use_all_six_links():
    """On a DGX-1 nothing joins GPUs 0 and 7: one way by way of GPU 4, or four ways that share no link."""
    links = {gpu: {other: 25e9 * n for other, n in own.items()} for gpu, own in hybrid_cube_mesh().items()}
    assert 7 not in links[0] and widest_path(links, 0, 7) == Path((0, 4, 7), 50e9)
    paths = disjoint_paths(links, 0, 7)
    assert sum(path.bandwidth for path in paths) == pytest.approx(max_flow(links, 0, 7)) == 6 * 25e9


@pytest.mark.parametrize("fabric, cables", [(torus((4, 4)), 4), (dragonfly(3, 2), 4), (nvswitch(), 12)])
def test_between_any_two_ranks_as_many_cables_as_one_of_them_has(fabric, cables):
    for other in (1, 5, 7):
        assert max_flow(fabric, 0, other) == pytest.approx(cables)


@given(st.integers(0, 10**9), st.lists(st.integers(1, 100), min_size=1, max_size=6))
def test_bytes_are_split_so_that_all_ways_end_at_once(n, widths):
    shares = split(n, [Path(("a", "b"), own) for own in widths])
    assert sum(shares) == n and min(shares) >= 0
    assert all(abs(share - n * own / sum(widths)) <= 1 for share, own in zip(shares, widths, strict=True))


@given(st.integers(1, 10**6), st.lists(st.tuples(st.integers(1, 50), st.integers(0, 10_000)), min_size=1, max_size=5))
def test_late_ways_get_less_or_nothing(n, ways):
    paths, late = [Path(("a", "b"), own) for own, _ in ways], [latency for _, latency in ways]
    shares = split(n, paths, late)

    def brought(end):  # how much each way brings until then
        return [max(0.0, end - latency) * own for own, latency in ways]

    end = brentq(lambda end: sum(brought(end)) - n, 0, max(late) + n + 1)
    assert sum(shares) == n and shares == pytest.approx(brought(end), abs=1.01)


def test_a_short_message_takes_one_way_and_a_long_one_all():
    paths = [Path(("a", "b"), 1.0), Path(("a", "c", "b"), 1.0)]
    assert split(100, paths, [0, 200]) == [100, 0] and split(1000, paths, [0, 200]) == [600, 400]


# What can be wrong


def test_clear_errors():
    links = {0: {1: 1.0}, 1: {}}
    for wrong in (lambda: widest_path(links, 0, 7), lambda: widest_path(links, 7, 0), lambda: max_flow(links, 0, 7)):
        with pytest.raises(ValueError, match=r"7 is not a node of this graph, which has \['0', '1'\]"):
            wrong()
    for bad in (-1.0, inf, float("nan")):
        with pytest.raises(ValueError, match=f"from 0 to 1 it is {bad}"):
            quickest_path(0.0, {0: {1: bad}, 1: {}}, 0, 1, 8)
    for cut_through in (False, True):
        with pytest.raises(ValueError, match="no way leads from 1 to 0"):
            quickest_path(0.0, links, 1, 0, 8, cut_through)
    for nbytes, paths in [(-1, [Path((0, 1), 1.0)]), (5, [])]:
        with pytest.raises(ValueError, match="at least 1 path"):
            split(nbytes, paths)


def test_from_a_node_to_itself_there_is_nothing_to_do():
    links = {0: {1: 1.0}, 1: {0: 1.0}}
    assert widest_path(links, 0, 0) == Path((0,), inf) and disjoint_paths(links, 0, 0) == [Path((0,), inf)]
    assert quickest_path(1.0, links, 0, 0, 100).nodes == (0,) and max_flow(links, 0, 0) == inf
    assert max_flow({0: {}, 1: {}}, 0, 1) == 0

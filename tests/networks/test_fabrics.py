"""Fabrics: small ones by hand, formulas against a search, and what the machines of their time were wired like."""

from itertools import combinations

import numpy as np
import pytest

from reference.networks.fabrics import (
    _cut,
    _matrix,
    bisection,
    degree,
    diameter,
    dragonfly,
    fat_tree,
    fully_connected,
    hybrid_cube_mesh,
    hypercube,
    links,
    nvswitch,
    ranks,
    ring,
    summary,
    torus,
    wired,
)

ALL = {
    "ring": ring(6),
    "torus": torus((4, 3)),
    "hypercube": hypercube(3),
    "full": fully_connected(5),
    "dragonfly": dragonfly(3, 1),
    "mesh": hybrid_cube_mesh(),
    "switches": nvswitch(),
    "fat tree": fat_tree(4),
}


@pytest.mark.parametrize("name", ALL)
def test_every_cable_has_two_ends(name):
    fabric = ALL[name]
    assert all(fabric[b][a] == number and a != b for a in fabric for b, number in fabric[a].items())
    assert 2 * links(fabric) == sum(sum(cables.values()) for cables in fabric.values())
    assert ranks(fabric) == list(range(len(ranks(fabric))))


# By hand


def test_rings_and_tori_are_the_figures():
    assert ring(4) == {0: {1: 1, 3: 1}, 1: {0: 1, 2: 1}, 2: {1: 1, 3: 1}, 3: {2: 1, 0: 1}}
    assert ring(2) == {0: {1: 1}, 1: {0: 1}} and ring(1) == {0: {}}
    assert set(torus((3, 4))[0]) == {1, 3, 4, 8}  # beside it along a row of 4, and above and below it
    assert set(torus((2, 3, 4))[23]) == {11, 15, 19, 20, 22}  # the side of 2 has one way


def test_a_hypercube_joins_what_differs_in_one_bit():
    for n in range(5):
        cube = hypercube(n)
        assert all(set(cube[rank]) == {rank ^ 1 << bit for bit in range(n)} for rank in range(2**n))


def test_a_small_dragonfly_is_the_figure():
    """Two routers a group, one cable each, three groups: 0 1 | 2 3 | 4 5."""
    assert dragonfly(2, 1) == wired(6, [(0, 1, 1), (2, 3, 1), (4, 5, 1), (0, 3, 1), (1, 4, 1), (2, 5, 1)])


@pytest.mark.parametrize("a, h", [(1, 1), (2, 1), (3, 2), (4, 2), (2, 4)])
def test_a_dragonfly_has_one_cable_between_every_two_groups(a, h):
    fly, groups = dragonfly(a, h), a * h + 1
    across = [(v // a, w // a) for v in fly for w in fly[v] if v // a < w // a]
    assert sorted(across) == list(combinations(range(groups), 2))
    assert all(len(fly[v]) == sum(fly[v].values()) == a - 1 + h for v in fly)
    assert diameter(fly) == (3 if a > 1 and groups > 2 else 1)


@pytest.mark.parametrize("k", [2, 4, 6])
def test_a_fat_tree_has_switches_of_k_ports_and_as_many_cables_up_as_down(k):
    tree, P = fat_tree(k), k**3 // 4
    assert len(ranks(tree)) == P and all(len(tree[rank]) == 1 for rank in range(P))
    switches = {"edge": k * k // 2, "aggregation": k * k // 2, "core": k * k // 4}
    for kind, number in switches.items():
        own = [node for node in tree if not isinstance(node, int) and node[0] == kind]
        assert len(own) == number and all(sum(tree[node].values()) == k for node in own)
    above = {("edge", "aggregation"): 0, ("aggregation", "core"): 0}
    for node in tree:
        for other in tree[node]:
            if not isinstance(node, int) and not isinstance(other, int) and (node[0], other[0]) in above:
                above[node[0], other[0]] += 1
    assert set(above.values()) == {P}  # on every level as many as there are ranks


# Formulas


@pytest.mark.parametrize(
    "fabric, expected",
    [
        *[(ring(P), (2 if P > 2 else P - 1, P // 2)) for P in range(1, 13)],
        *[(fully_connected(P), ((P // 2) * (P - P // 2), min(P - 1, 1))) for P in range(1, 10)],
        *[(hypercube(n), (2**n // 2, n)) for n in range(1, 5)],
        (torus((4, 4)), (8, 4)),
        (torus((4, 3)), (6, 3)),
        (torus((6, 2)), (4, 4)),
        (torus((4, 2, 2)), (8, 4)),
        (torus((8, 2)), (4, 5)),
        (fat_tree(2), (1, 6)),
        (dragonfly(2, 1), (2, 3)),
    ],
)
def test_bisection_and_diameter_are_those_of_the_formulas(fabric, expected):
    assert (bisection(fabric), diameter(fabric)) == expected


def test_a_fat_tree_has_full_bisection():
    """No halving of 16 ranks cuts fewer than 8 cables: some hundred of the 6,435 are tried, and the one by pods."""
    tree, rng = _matrix(fat_tree(4)), np.random.default_rng(0)
    drawn = [_cut(tree, 16, rng.permutation(16)[:8].tolist()) for _ in range(100)]
    assert min(drawn) >= 8 == _cut(tree, 16, list(range(8))) and max(drawn) == 8  # a cable for each rank is enough
    assert summary(fat_tree(4), halved=8) == (16, 20, 48, 4, 6, 8)


def test_an_edge_switch_with_one_cable_up_halves_what_a_tree_can_carry():
    """Four ranks at each of two switches, c cables between these: c is the bisection, up to one for each rank."""
    at = [(rank, ("switch", rank // 4), 1) for rank in range(8)]
    for cables in (1, 2, 4, 9):
        tree = wired(8, [*at, (("switch", 0), ("switch", 1), cables)])
        assert bisection(tree) == min(cables, 4)


def test_switches_go_to_the_better_side():
    star = wired(3, [(0, "hub", 1), (1, "hub", 5), (2, "hub", 5)])
    assert bisection(star) == 1  # rank 0 apart, the hub with the others


def test_only_ranks_count_for_the_diameter():
    assert diameter(wired(2, [(0, "a", 1), (1, "a", 1), ("a", "b", 1), ("b", "c", 1), ("c", "d", 1)])) == 2


def test_bisection_is_the_least_cut_over_halvings_of_a_random_graph():
    rng = np.random.default_rng(0)
    for P in (5, 6, 7):
        cables = np.triu(rng.integers(0, 4, (P, P)), 1)
        fabric = wired(P, [(i, j, int(cables[i, j])) for i, j in np.argwhere(cables).tolist()])
        every = [side for size in (P // 2, P - P // 2) for side in combinations(range(P), size)]
        cuts = [sum(cables[i, j] for i, j in combinations(range(P), 2) if (i in side) != (j in side)) for side in every]
        assert bisection(fabric) == min(cuts)


def test_what_the_same_ranks_get_for_more_cables():
    for fabric, cables, ways in [(ring(512), 2, 256), (torus((8, 8, 8)), 6, 12), (hypercube(9), 9, 9)]:
        assert len(fabric) == 512 and degree(fabric) == cables == links(fabric) / 256 and diameter(fabric) == ways
    assert [degree(fabric) for fabric in (ring(4096), torus((16,) * 3), hypercube(12))] == [2, 6, 12]


# Two machines


def test_a_dgx_1_is_the_table():
    """The numbers of NVLinks that `nvidia-smi topo -m` prints on eight V100."""
    mesh = hybrid_cube_mesh()
    assert ["".join(str(mesh[gpu].get(other, ".")) for other in range(8)) for gpu in range(8)] == [
        ".1122...",
        "1.21.2..",
        "12.2..1.",
        "212....1",
        "2....112",
        ".2..1.21",
        "..1.12.2",
        "...1212.",
    ]


def test_a_dgx_1_is_a_mesh_with_gaps_and_a_dgx_a100_has_none():
    """E3-02: eight GPUs in quads describes the first one; in the second every GPU reaches every other with 12 links."""
    old, new = hybrid_cube_mesh(), nvswitch()
    assert [sum(old[gpu].values()) for gpu in range(8)] == [6] * 8
    assert [sum(new[gpu].values()) for gpu in range(8)] == [12] * 8
    without = [pair for pair in combinations(range(8), 2) if pair[1] not in old[pair[0]]]
    assert len(without) == 12 and diameter(old) == 2  # by way of another GPU
    assert sum(number == 2 for gpu in old for number in old[gpu].values()) == 2 * 8
    for gpu, other in combinations(range(8), 2):
        assert other not in new[gpu]
        assert sum(min(new[gpu][switch], new[switch][other]) for switch in new[gpu]) == 12
    assert summary(old) == (8, 0, 24, 6, 2, 6) and summary(new) == (8, 6, 96, 16, 2, 48)


# What can be wrong


def test_impossible_fabrics_are_refused():
    for wrong in (lambda: ring(0), lambda: torus((3, 0)), lambda: torus((-1, -1)), lambda: fully_connected(0)):
        with pytest.raises(ValueError, match="at least 1 rank"):
            wrong()
    for k in (0, 3):
        with pytest.raises(ValueError, match=f"k/2 ports up and k/2 down, got k = {k}"):
            fat_tree(k)
    with pytest.raises(ValueError, match="a = 0, h = 2"):
        dragonfly(0, 2)


def test_what_has_no_answer_says_so():
    with pytest.raises(ValueError, match="in pieces"):
        diameter(wired(3, [(0, 1, 1)]))
    with pytest.raises(ValueError, match=r"64 ranks can be halved in 916,312,070,471,295,267 ways"):
        bisection(hypercube(6))
    assert summary(hypercube(6), halved=32).bisection == 32

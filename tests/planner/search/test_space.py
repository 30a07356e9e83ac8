"""The space of layouts: every layout that can be is in it, none that cannot, and its size is counted."""

from itertools import combinations, product

import pytest

from reference.planner.architecture import Architecture
from reference.planner.cluster import cluster
from reference.planner.search.space import LayoutSpace, divisors, placements
from reference.planner.spec import RECOMPUTE, LayoutSpec

MODEL = Architecture("small", 6, 768, 12, 4, 3072, 32000, 96)
MACHINE = cluster("dgx-a100")


def all_combinations(space):
    """Every combination of numbers that multiply to the ranks, if `trouble` has nothing against it."""
    N, B, L = space.ranks, space.global_batch, space.model.layers
    counts = range(1, N + 1)
    for d, t, p, c in product(counts, repeat=4):
        if d * t * p * c == N:
            for b, v, zero, recompute in product(range(1, B + 1), range(1, L + 1), range(4), RECOMPUTE):
                spec = LayoutSpec(d, t, p, c, zero, b, v, recompute)
                if not spec.trouble(space.model, space.machine, B) and recompute != "selective":
                    yield spec


@pytest.mark.parametrize("ranks, batch", [(1, 2), (6, 4), (8, 6)])
def test_it_has_what_all_combinations_have(ranks, batch):
    space = LayoutSpace(MODEL, MACHINE, ranks, batch)
    made, tried = list(space.specs()), set(all_combinations(space))
    assert len(made) == len(set(made)) == space.size()
    assert set(made) <= tried
    assert all(spec.replicas == 1 and spec.zero for spec in tried - set(made)), "one replica shards nothing"


def test_attention_that_keeps_scores_has_one_more_way():
    flash, scores = (LayoutSpace(MODEL, MACHINE, 6, 4, base=LayoutSpec(flash=flash)) for flash in (True, False))
    assert scores.size() * 3 == flash.size() * 4


def test_a_gpipe_has_one_chunk():
    space = LayoutSpace(MODEL, MACHINE, 6, 4, base=LayoutSpec(schedule="GPipe"))
    assert all(spec.chunks == 1 for spec in space.specs())


@pytest.mark.parametrize("change", [{"ranks": 0}, {"global_batch": 0}, {"memory": 0.0}])
def test_counts_that_cannot_be(change):
    with pytest.raises(ValueError, match=r"at least 1|more than 0"):
        next(LayoutSpace(MODEL, MACHINE, 8, 8)._replace(**change).shapes())


def test_divisors():
    assert divisors(12) == [1, 2, 3, 4, 6, 12] and divisors(12, of=8) == [1, 2, 4] and divisors(1) == [1]


@pytest.mark.parametrize("L, N", [(3, 2), (4, 3), (3, 3)])
def test_placements_are_as_many_as_can_be_listed(L, N):
    """E0-24: N^L places each layer on one device; on sets of devices there are (2^N - 1)^L ways."""
    sets = [chosen for size in range(1, N + 1) for chosen in combinations(range(N), size)]
    found = placements(L, N)
    assert found["one device"] == len(list(product(range(N), repeat=L)))
    assert found["any devices"] == len(list(product(sets, repeat=L)))
    assert found["stages"] == len(list(combinations(range(1, L), N - 1)))

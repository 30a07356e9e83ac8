"""The search with bounds: the optimum of brute force, from fewer prices; and what it says where nothing fits."""

import math
from functools import cache

import pytest

from reference.planner.architecture import Architecture, architecture
from reference.planner.cluster import cluster
from reference.planner.predict import priced
from reference.planner.search import exhaustive as module
from reference.planner.search.exhaustive import exhaustive, shape_bound
from reference.planner.search.nearest import impossible, near_miss
from reference.planner.search.space import LayoutSpace
from reference.planner.spec import LayoutSpec

SMALL = Architecture("small", 12, 1536, 24, 6, 6144, 32000, 2048)
SPACES = {
    "one node": LayoutSpace(SMALL, cluster("dgx-a100"), 8, 16),
    "two nodes": LayoutSpace(SMALL, cluster("dgx-h100"), 16, 8),
    "not a power of two": LayoutSpace(SMALL, cluster("dgx-a100"), 12, 12),
    "a few sequences": LayoutSpace(SMALL, cluster("dgx-a100"), 64, 4),
    "tight": LayoutSpace(SMALL, cluster("dgx-a100"), 16, 8, memory=1.5e9),
    "very tight": LayoutSpace(SMALL, cluster("dgx-a100"), 16, 8, memory=0.8e9),
    "nothing fits": LayoutSpace(SMALL, cluster("dgx-a100"), 8, 16, memory=8e8),
    "scores are kept": LayoutSpace(SMALL, cluster("dgx-a100"), 8, 16, 4096, 4e9, LayoutSpec(flash=False)),
    "nothing overlaps": LayoutSpace(
        SMALL, cluster("dgx-a100"), 8, 8, base=LayoutSpec(overlap_tensor=False, overlap_data=False)
    ),
}


@cache
def brute_force(name):
    """All layouts of a space with their prices."""
    space = SPACES[name]
    machine = space.machine._replace(memory=space.limit)
    return [priced(space.model, machine, spec, space.global_batch, space.length) for spec in space.specs()]


def best_by_degrees(every):
    """Of all degrees of which a layout fits the least seconds, ascending."""
    best = {}
    for one in every:
        if one.fits:
            best[one.spec[:4]] = min(one.seconds.total, best.get(one.spec[:4], math.inf))
    return sorted(best.values())


@pytest.mark.parametrize("name", SPACES)
def test_it_finds_what_brute_force_finds(name):
    best = best_by_degrees(brute_force(name))
    assert bool(best) == (name != "nothing fits"), "the case is what it is called"
    for top in (1, 3, 1000):
        found = exhaustive(SPACES[name], top)
        assert [one.seconds.total for one in found.best] == best[:top]
        assert all(one.fits and one in brute_force(name) for one in found.best)


@pytest.mark.parametrize("name", SPACES)
def test_no_bound_is_above_a_price(name):
    space = SPACES[name]
    bounds = {}
    for one in brute_force(name):
        shape = one.spec._replace(zero=0, chunks=1, recompute="none")
        bound = bounds.get(shape) or bounds.setdefault(shape, shape_bound(space, shape))
        assert bound <= one.seconds.total
        if one.spec.zero == 0:
            assert bound <= shape_bound(space, shape, one.spec.recompute, one.spec.chunks) <= one.seconds.total


@pytest.mark.parametrize("name", SPACES)
def test_chunks_and_recomputation_are_as_the_search_takes_them(name):
    """What lets it leave a shape: with one chunk a layout holds least."""
    bytes_of = {one.spec: one.held.total for one in brute_force(name)}
    assert all(bytes_of[spec._replace(chunks=1)] <= total for spec, total in bytes_of.items())


def test_most_layouts_are_excluded():
    """16,384 accelerators: 160,000 layouts, and fewer than one in 50 are priced. Seconds are for benchmarks/."""
    space = LayoutSpace(architecture("gpt-175b"), cluster("dgx-a100"), 16384, 3072)
    found = exhaustive(space)
    assert space.size() > 150_000 and found.priced < space.size() / 50
    assert found.tried < found.shapes / 4 and found.weighed >= found.priced


def test_a_bound_that_is_too_high_loses_the_optimum(monkeypatch):
    """The planted mistake: a bound that counts the bubble of one chunk for all."""
    monkeypatch.setattr(module, "shape_bound", lambda space, shape, *more: 1.5 * shape_bound(space, shape, *more))
    lost = [name for name in SPACES if _seconds(exhaustive(SPACES[name])) != _seconds(name)]
    assert lost


def _seconds(found):
    if isinstance(found, str):
        return (best_by_degrees(brute_force(found)) or [None])[0]
    return found.best[0].seconds.total if found.best else None


def test_top_is_at_least_one():
    with pytest.raises(ValueError, match="top must be at least 1"):
        exhaustive(SPACES["one node"], 0)


def test_nothing_fits_and_what_would():
    space = SPACES["nothing fits"]
    near = near_miss(space)
    least = min(one.held.total for one in brute_force("nothing fits"))
    assert near.least.held.total == least and near.missing == least - 8e8 > 0
    assert near.more is not None
    ranks, one = near.more
    assert one.fits and one.held.total <= 8e8 and one.spec.ranks == ranks
    half = exhaustive(space._replace(ranks=ranks // 2)).best
    assert not half, "half as many do not suffice"


def test_numbers_without_a_layout():
    seven = LayoutSpace(SMALL, cluster("dgx-a100"), 7, 16)
    assert "no degrees multiply to 7 accelerators" in impossible(seven)
    assert "6 accelerators or 8 accelerators" in impossible(seven)
    assert impossible(SPACES["one node"]) == ""
    with pytest.raises(ValueError, match="no degrees multiply"):
        near_miss(seven)

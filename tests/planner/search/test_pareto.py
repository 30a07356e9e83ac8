"""Time against memory against price: the front by its definition, genomes that are layouts, NSGA-II where pymoo is."""

import sys
from random import Random

import pytest

from reference.planner.architecture import Architecture
from reference.planner.cluster import cluster
from reference.planner.search.pareto import GENES, Genomes, Offer, exact_front, front, nsga2, offer
from reference.planner.search.space import LayoutSpace
from reference.planner.spec import LayoutSpec

SMALL = Architecture("small", 2, 1024, 8, 8, 4096, 32000, 1024)
SPACES = [LayoutSpace(SMALL, cluster("dgx-a100"), N, 8, memory=1e9) for N in (8, 16)]
EVERY = [offer(space, spec) for space in SPACES for spec in space.specs()]


def dominates(one, other):
    return all(a <= b for a, b in zip(one.aims, other.aims)) and one.aims != other.aims


def test_the_front_is_what_no_other_dominates():
    fit = [one for one in EVERY if one.nbytes <= 1e9]
    assert len(fit) < len(EVERY), "some do not fit"
    undominated = {one.aims for one in fit if not any(dominates(other, one) for other in fit)}
    found = exact_front(SPACES)
    assert {one.aims for one in found} == undominated and len(found) == len(undominated) > 3
    assert {one.spec.ranks for one in found} == {8, 16}, "few accelerators are cheap, many are fast"


def test_equal_offers_are_kept_once():
    one, other = Offer(1.0, 2.0, 3.0, LayoutSpec()), Offer(1.0, 2.0, 3.0, LayoutSpec(data=2))
    assert front([one, other, Offer(2.0, 2.0, 3.0, LayoutSpec())]) == [one]


def test_every_genome_is_a_layout_and_most_layouts_are_drawn():
    genomes, random = Genomes(SPACES), Random(0)
    every = {one.spec for one in EVERY}
    drawn = {genomes.decode([random.random() for _ in range(GENES)])[1] for _ in range(3000)}
    assert drawn <= every and len(drawn) > 0.8 * len(every)
    assert genomes.decode([1.0] * GENES)[1] in every and genomes.decode([0.0] * GENES)[1] in every


def test_without_pymoo_it_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymoo.algorithms.moo.nsga2", None)
    with pytest.raises(ImportError, match="pip install 'pymoo"):
        nsga2(SPACES)


def test_nsga2_finds_no_more_than_the_front():
    exact, found = exact_front(SPACES), nsga2(SPACES, 40, 20)
    assert found and not any(dominates(one, other) for one in found for other in exact)

"""Searches without a proof: what they find is in the space, fits, and is not faster than the optimum."""

import math

import pytest

from reference.planner.architecture import Architecture, architecture
from reference.planner.cluster import cluster
from reference.planner.predict import predict
from reference.planner.search.baselines import annealing, greedy, neighbours, primes, random_search
from reference.planner.search.exhaustive import exhaustive
from reference.planner.search.space import LayoutSpace
from reference.planner.spec import LayoutSpec

SMALL = Architecture("small", 12, 1536, 24, 6, 6144, 32000, 2048)
SPACE = LayoutSpace(SMALL, cluster("dgx-a100"), 16, 16, memory=3e9)
SEARCHES = (random_search, greedy, annealing)


@pytest.mark.parametrize("search", SEARCHES)
def test_they_find_layouts_of_the_space_and_none_faster_than_the_optimum(search):
    best = exhaustive(SPACE).best[0].seconds.total
    for seed in range(3):
        run = search(SPACE, 150, seed)
        assert run == search(SPACE, 150, seed), "a seed decides"
        assert len(run.curve) == 150 and run.curve == sorted(run.curve, reverse=True)
        assert run.best is not None and run.best.fits and run.best.held.total <= 3e9
        assert run.curve[-1] == run.best.seconds.total >= best
        assert run.best.seconds == predict(SMALL, SPACE.machine, run.best.spec, 16).seconds
    with pytest.raises(ValueError, match="prices must be at least 1"):
        search(SPACE, 0)


def test_greedy_stops_where_no_neighbour_is_better():
    run = greedy(SPACE, 2000)
    near = [predict(SMALL, SPACE.machine, spec, 16) for spec in neighbours(SPACE, run.best.spec)]
    assert all(one.seconds.total >= run.best.seconds.total for one in near if one.held.total <= 3e9)


@pytest.mark.parametrize("search", SEARCHES)
def test_where_nothing_fits_they_have_nothing(search):
    run = search(SPACE._replace(memory=1e6), 50)
    assert run.best is None and run.curve == [math.inf] * 50


def test_neighbours_reach_the_whole_space_and_nothing_else():
    space = LayoutSpace(SMALL._replace(layers=4), cluster("dgx-a100"), 6, 6)
    every, reached = set(space.specs()), {next(space.specs())}
    edge = list(reached)
    while edge:
        new = set(neighbours(space, edge.pop())) - reached
        reached |= new
        edge += new
    assert reached == every


def test_primes():
    assert primes(360) == [2, 3, 5] and primes(1) == [] and primes(97) == [97]


def grid_search(ranks, estimate_cost, best_cost, keeps=True):
    """Exercise 8.1 as it is printed, and with the missing line, if it keeps the best cost."""
    best_config = None
    degrees = [2**k for k in range(ranks.bit_length())]
    for dp in degrees:
        for tp in (1, 2, 4, 8):
            for pp in degrees:
                if dp * tp * pp == ranks:
                    cost = estimate_cost(dp, tp, pp)
                    if cost < best_cost:
                        best_config = dp, tp, pp
                        if keeps:
                            best_cost = cost
    return best_config


def test_the_grid_search_of_exercise_8_1_takes_the_last_and_not_the_best():
    """E4-12: best_cost is never updated, and nothing asks for memory: data parallelism alone wins, which cannot be."""
    model, machine = architecture("gpt-175b"), cluster("dgx-a100")

    def price(dp, tp, pp):
        spec = LayoutSpec(dp, tp, pp)
        if spec.trouble(model, machine, 2048):
            return None
        return predict(model, machine, spec, 2048)

    def seconds(dp, tp, pp):
        one = price(dp, tp, pp)
        return math.inf if one is None else one.seconds.total

    def feasible(dp, tp, pp):
        one = price(dp, tp, pp)
        return one.seconds.total if one and one.fits else math.inf

    assert grid_search(1024, seconds, math.inf, keeps=False) == (1024, 1, 1), "the last that is below infinity"
    assert price(1024, 1, 1).held.total > 30 * machine.memory
    kept, right = grid_search(1024, seconds, math.inf), grid_search(1024, feasible, math.inf)
    assert not price(*kept).fits, "with the missing line, but without a test of memory"
    assert price(*right).fits and seconds(*right) > seconds(*kept)

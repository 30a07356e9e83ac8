"""Stages by dynamic programming on the cost model: brute force's cut, the model's seconds, and the wrong objective."""

from itertools import combinations
from math import inf

import pytest

from reference.pipeline.sizing.cuts import Cut
from reference.pipeline.sizing.partition import additive
from reference.planner.architecture import Architecture, architecture
from reference.planner.cluster import cluster
from reference.planner.predict import priced
from reference.planner.search.integer import integer_cut
from reference.planner.search.space import LayoutSpace
from reference.planner.search.stage_cuts import (
    Worker,
    alive_by_stage,
    equal_ends,
    message,
    pieces,
    slowest,
    stage_cut,
    step_of,
)
from reference.planner.spec import LayoutSpec

SMALL = Architecture("small", 8, 1024, 16, 16, 4096, 32000, 2048)
SPEC = LayoutSpec(data=2, stages=4, zero=1, micro_batch=4)
SPACE = LayoutSpace(SMALL, cluster("dgx-a100"), 8, 64)


def every_cut(pieces, p):
    return [(*inner, pieces) for inner in combinations(range(1, pieces), p - 1)]


def test_the_cut_is_that_of_brute_force():
    chain, send = pieces(SPACE, SPEC), message(SPACE, SPEC)
    found = stage_cut(SPACE, SPEC)
    longest = max(send(piece.sent) for piece in chain[:-1])
    assert longest < found.cut.seconds, "messages are not what limits"
    assert found.cut.seconds == pytest.approx(min(slowest(chain, ends) for ends in every_cut(10, 4)))
    assert sum(found.layers) == 8 and found.layers[-1] < 2, "the head weighs more than a layer here"
    assert found.cut.seconds < found.equal == slowest(chain, (3, 5, 7, 10))


@pytest.mark.parametrize("name, spec, batch", [
    ("llama3-8b", LayoutSpec(8, 1, 8, zero=1), 256),
    ("llama3-70b", LayoutSpec(4, 4, 4, zero=1, recompute="full"), 512),
    ("gpt-1.7b", LayoutSpec(2, 2, 4, 2, micro_batch=2), 32),
])  # fmt: skip
def test_equal_stages_take_what_the_cost_model_says(name, spec, batch):
    space = LayoutSpace(architecture(name), cluster("dgx-h100"), spec.ranks, batch, memory=1e13)
    one = priced(space.model, space.machine, spec, batch)
    chain, m = pieces(space, spec), spec.micro_batches(batch)
    equal = step_of(Cut(0, equal_ends(space.model.layers, spec.stages)), chain, one, m)
    assert equal == pytest.approx(one.seconds.total, rel=1e-9)
    assert step_of(stage_cut(space, spec).cut, chain, one, m) <= equal


def most_held(ends):
    """Bytes of the stage that holds most: the first keeps four micro-batches alive, the last one."""
    stages = zip((0, *ends), ends, alive_by_stage(SPEC, 8))
    return max(sum(x.weights + live * x.kept for x in pieces(SPACE, SPEC)[k:i]) for k, i, live in stages)


def test_memory_decides_where_it_is_short():
    free = stage_cut(SPACE, SPEC).cut
    limit = most_held(free.ends) - 1e6
    tight = stage_cut(SPACE._replace(memory=limit), SPEC).cut
    assert most_held(tight.ends) <= limit and tight.seconds > free.seconds
    with pytest.raises(ValueError, match="cannot be cut into 4 stages that fit: stage 0 has 1000 bytes"):
        stage_cut(SPACE._replace(memory=1000), SPEC)


def test_the_integer_programme_agrees():
    """E1-10: with its missing rows the programme of HiGHS finds what the dynamic programme finds."""
    chain, live = pieces(SPACE, SPEC), alive_by_stage(SPEC, 8)
    for limit in (inf, most_held(stage_cut(SPACE, SPEC).cut.ends) - 1e6):
        space = SPACE._replace(memory=limit)
        cut = integer_cut(chain, [Worker(memory=limit)] * 4, message(SPACE, SPEC), live)
        assert cut.seconds == pytest.approx(stage_cut(space, SPEC).cut.seconds)


def test_a_sum_over_stages_says_nothing():
    """E0-13c: the sum of all stages is the same for each of the 84 cuts, so it takes any, here a bad one."""
    chain = pieces(SPACE, SPEC)
    cuts = every_cut(len(chain), 4)
    sums = {
        round(sum(sum(x.forward + x.backward for x in chain[k:i]) for k, i in zip((0, *ends), ends)), 12)
        for ends in cuts
    }
    assert len(cuts) == 84 and len(sums) == 1
    worst, best = max(slowest(chain, ends) for ends in cuts), stage_cut(SPACE, SPEC).cut.seconds
    assert slowest(chain, additive(chain, 4).ends) == worst > 2.5 * best

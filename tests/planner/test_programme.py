"""The integer programme: as quick as the best of all combinations, with and without a limit of memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.networks import Link
from reference.perf.roofline import Device
from reference.planner.blocks import block, feed_forward, sizes
from reference.planner.operators import add, bias, elementwise, graph, matmul, norm, sink, source
from reference.planner.programme import integer_programme, least_memory
from reference.planner.sharding import Problem, brute_force, dynamic_programming, greedy
from reference.planner.strategies import Setting

from .machines import SUMS

TOLERANCE = 1e-5
settings = st.builds(
    lambda P, alpha, beta, flops, bandwidth: Setting(P, Link(alpha, beta, 1e-11), Device(flops, bandwidth)),
    st.sampled_from([1, 2, 3, 4]),
    st.sampled_from([0.0, 1e-6, 1e-4]),
    st.sampled_from([1e-11, 1e-9]),
    st.sampled_from([1e9, 1e12]),
    st.sampled_from([1e9, 1e12]),
)
shapes = st.builds(sizes, *[st.sampled_from([1, 3, 4, 8, 12])] * 2, st.sampled_from([4, 6, 12]))
few = st.lists(st.sampled_from(["product", "gelu", "norm", "bias", "add"]), min_size=1, max_size=3)


def operator(kind, name, last, other):
    """One of that kind, which takes the output of the operator `last`; `add` takes that of `other`, too."""
    x, dims = last.name, last.out
    wide = "f" if dims[-1] == "h" else "h"
    if kind == "product":
        return matmul(name, x, dims, dims[-1] + wide, dims[:-1] + wide)
    if kind == "norm":
        return norm(name, x, dims, over=dims[-1])
    if kind == "bias":
        return bias(name, x, dims, dims[-1])
    return add(name, x, other, dims) if kind == "add" else elementwise(name, x, dims)


@st.composite
def graphs(draw, residual=True):
    """A source, one to three operators, a sink; `add` takes an earlier output of the same dimensions, too."""
    made = [source("x", "bsh", gradient=draw(st.booleans()))]
    for number, kind in enumerate(draw(few)):
        other = draw(st.sampled_from([one.name for one in made if one.out == made[-1].out]))
        made.append(operator(kind if residual or kind != "add" else "gelu", f"{kind} {number}", made[-1], other))
    return graph([*made, sink("y", made[-1].name, made[-1].out)], draw(shapes))


@given(graphs(), settings, st.floats(0, 1))
def test_it_is_as_quick_as_the_best_of_all_combinations(made, setting, share):
    problem = Problem(made, setting)
    best, least = brute_force(problem), least_memory(problem)
    assert integer_programme(problem).seconds == pytest.approx(best.seconds, rel=TOLERANCE)
    assert greedy(problem).seconds >= best.seconds * (1 - 1e-12)
    limit = least.memory + share * max(0, best.memory - least.memory)
    found = integer_programme(problem, limit)
    assert found.memory <= limit * (1 + 1e-6)
    assert found.seconds == pytest.approx(brute_force(problem, limit * (1 + 1e-9)).seconds, rel=TOLERANCE)


@given(graphs(residual=False), settings)
def test_on_a_chain_dynamic_programming_finds_as_much(made, setting):
    problem = Problem(made, setting)
    assert dynamic_programming(problem).seconds == pytest.approx(brute_force(problem).seconds, rel=1e-12)


def test_a_limit_that_nothing_meets_is_refused_with_the_least_that_would_do():
    problem = Problem(block(feed_forward("x"), sizes(4, 4, 8)), SUMS)
    least = min_of_all(problem)
    assert least_memory(problem).memory == least
    told = f"no plan fits into {least - 1:,} bytes a rank: the least that would do is {least:,}$"
    for search in (integer_programme, brute_force):
        assert search(problem, least).memory == least
        with pytest.raises(ValueError, match=told):
            search(problem, least - 1)
    for memory in (0, -1, float("nan")):
        with pytest.raises(ValueError, match="memory is more than 0 bytes"):
            integer_programme(problem, memory)


def test_a_limit_that_is_met_exactly_is_met():
    """HiGHS's presolve has called this one infeasible."""
    made = graph(
        [
            source("x", "bsh"),
            matmul("up", "x", "bsh", "hf", "bsf"),
            add("twice", "up", "up", "bsf"),
            sink("y", "twice", "bsf"),
        ],
        sizes(1, 1, 4),
    )
    problem = Problem(made, SUMS._replace(P=2))
    assert integer_programme(problem, min_of_all(problem)).memory == min_of_all(problem)


def min_of_all(problem):
    """The least memory of any plan, from the message of brute force."""
    with pytest.raises(ValueError) as told:
        brute_force(problem, 1)
    return int(str(told.value).rpartition(" ")[2].replace(",", ""))


def test_weights_go_into_shards_before_a_batch_is_given_up():
    """Large batch, little memory: ZeRO's all-gathers in the place of tensor parallelism's all-reduces."""
    problem = Problem(block(feed_forward("x"), sizes(4096, 1, 64)), SUMS)
    quick = integer_programme(problem)
    tight = integer_programme(problem, (quick.memory + least_memory(problem).memory) / 2)
    assert quick.strategy("up").name == "data b"
    assert "weights in shards" in tight.strategy("up").name + tight.strategy("down").name

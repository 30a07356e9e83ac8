"""Checkmate's programme: as quick as the best of all plans in its order, and never slower than a chain's best."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.recompute.brute_force import quickest_graph
from reference.recompute.checkmate import checkmate, computed, least_plan, rounded
from reference.recompute.graph import OperationGraph, Vertex, as_graph
from reference.recompute.predict import cost
from reference.recompute.rematerialize import plan_cost
from reference.recompute.rotor import least_bytes, rotor

from ..examples import examples
from .chains import plain_chains

few = st.integers(0, 5)


@st.composite
def graphs(draw):
    """Up to six vertices, each of which reads at most two before it."""
    return OperationGraph(
        [
            Vertex(
                f"vertex {v}",
                tuple(sorted(draw(st.sets(st.integers(0, v - 1), max_size=2)) if v else ())),
                draw(st.integers(1, 5)),
                draw(few),
                draw(st.integers(0, 2)),
            )
            for v in range(draw(st.integers(2, 6)))
        ]
    )


@given(st.data())
@examples(8)
def test_no_plan_in_its_order_is_quicker(data):
    graph = data.draw(graphs())
    least, full = plan_cost(graph, least_plan(graph)).peak, plan_cost(graph, range(len(graph))).peak
    budget = data.draw(st.integers(least, full))
    found = plan_cost(graph, checkmate(graph, budget))
    assert found.peak <= budget
    assert found.seconds == quickest_graph(graph, budget, ordered=True)[0] >= quickest_graph(graph, budget)[0]


@given(st.data())
@examples(6)
def test_on_a_chain_it_is_never_slower_than_rotor_and_is_the_best_of_all(data):
    chain = data.draw(plain_chains())
    graph = as_graph(chain)
    budget = data.draw(st.integers(least_bytes(chain), least_bytes(chain) + 8))
    found = plan_cost(graph, checkmate(graph, budget))
    assert found.peak <= budget and found.seconds <= cost(chain, rotor(chain, budget)).seconds
    assert found.seconds == quickest_graph(graph, budget)[0]


@given(graphs())
@examples(6)
def test_below_the_least_it_says_how_many_bytes_are_missing(graph):
    least = plan_cost(graph, least_plan(graph)).peak
    assert quickest_graph(graph, least - 1, ordered=True) is None
    with pytest.raises(ValueError, match=f"{len(graph)} operations fits into {least - 2} bytes: 2 are missing"):
        checkmate(graph, least - 2)


@given(st.data())
@examples(6)
def test_rounding_keeps_the_budget_and_the_bound_is_one(data):
    graph = data.draw(graphs())
    least, full = plan_cost(graph, least_plan(graph)).peak, plan_cost(graph, range(len(graph))).peak
    budget = data.draw(st.integers(least, full))
    found, best = rounded(graph, budget), plan_cost(graph, checkmate(graph, budget)).seconds
    assert graph.seconds - 1e-6 <= found.bound <= best + 1e-6
    if found.order is not None:
        cost_ = plan_cost(graph, found.order)
        assert cost_.peak <= budget and cost_.seconds >= best - 1e-6


def test_a_value_stays_while_the_operation_of_the_stage_still_reads_it():
    """Vertex 1 is read by 2 and by 3: in stage 3, where 2 may be computed again, it goes after 3 only."""
    reads = [(5, 1, ()), (2, 4, (0,)), (3, 2, (0, 1)), (3, 4, (1, 2))]
    graph = OperationGraph(
        [Vertex(str(v), parents, seconds, nbytes) for v, (seconds, nbytes, parents) in enumerate(reads)]
    )
    with pytest.raises(ValueError, match="9 bytes: 1 are missing"):
        checkmate(graph, 9)


def test_what_is_kept_from_a_later_stage_on_is_computed_in_the_one_before():
    """0 -> 1 -> 2 -> 3, and 0 is kept from stage 2 to stage 3 only: stage 2 computes it again, stage 1 does not."""
    chain = OperationGraph([Vertex(str(v), (v - 1,) if v else (), 1, 1) for v in range(4)])
    kept = np.zeros((4, 4), bool)
    kept[1, 0] = kept[2, 1] = kept[3, 2] = kept[3, 0] = True
    assert [list(np.flatnonzero(row)) for row in computed(chain, kept)] == [[0], [1], [0, 2], [3]]

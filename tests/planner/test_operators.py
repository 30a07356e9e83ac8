"""Graphs: forks where several take one output, and what does not fit together is refused."""

import pytest

from reference.planner.blocks import layer, sizes
from reference.planner.operators import add, elementwise, graph, matmul, norm, sink, source

SIZES = sizes(2, 4, 8)


def test_where_several_take_one_output_a_fork_stands_between():
    made = graph(
        [source("x", "bsh"), norm("norm", "x", "bsh"), add("add", "x", "norm", "bsh"), sink("y", "add", "bsh")], SIZES
    )
    assert [one.name for one in made.operators] == ["x", "x fork", "norm", "add", "y"]
    assert made["add"].inputs == ("x fork", "norm")
    assert [(edge.source, edge.dest, edge.slot) for edge in made.edges()] == [
        (0, 1, 0),
        (1, 2, 0),
        (1, 3, 0),
        (2, 3, 1),
        (3, 4, 0),
    ]
    assert {edge.elements for edge in made.edges()} == {2 * 4 * 8}


def test_a_fork_of_data_has_no_gradient_either():
    made = graph([source("x", "bsh", gradient=False), add("add", "x", "x", "bsh")], SIZES)
    assert [edge.gradient for edge in made.edges()] == [False, False, False]


@pytest.mark.parametrize(
    "operators, told",
    [
        ([elementwise("gelu", "x", "bsh")], "gelu takes x, and no operator before it has this name"),
        ([source("x", "bsh"), elementwise("gelu", "x", "bsf")], r"gelu takes x as \[bsf\], but it is \[bsh\]"),
        ([source("x", "bsh"), source("x", "bsh")], "two operators are called x"),
        ([source("x", "bsh"), matmul("up", "x", "bsh", "hq", "bsq")], "up has a dimension q, which has no size"),
    ],
)
def test_what_does_not_fit_together_is_refused(operators, told):
    with pytest.raises(ValueError, match=told):
        graph(operators, SIZES)


def test_heads_that_do_not_divide_the_width_are_refused():
    with pytest.raises(ValueError, match="3 heads cannot share a width of 8"):
        sizes(1, 1, 8, 3)


def test_the_weights_of_a_layer_are_those_of_the_serial_one():
    """12 h^2 and two norms, as in the small GPT but for its biases."""
    count = 0
    for one in layer("x"):
        for dims in one.weights:
            size = 1
            for dim in dims:
                size *= sizes(1, 1, 8, 4)[dim]
            count += size
    assert count == 12 * 8 * 8 + 4 * 8

"""Trying all: small cases that are worked out by hand."""

from reference.recompute import Chain, LinkCost, equal_links, keep_all
from reference.recompute.brute_force import quickest_chain, quickest_graph
from reference.recompute.chain import check
from reference.recompute.graph import OperationGraph, Vertex
from reference.recompute.predict import cost


def test_a_chain_with_room_and_without():
    chain = Chain((LinkCost(1, 2, 10, 100), LinkCost(2, 4, 20, 200), LinkCost(3, 6, 5, 300)), 7)
    full = cost(chain, keep_all(3))
    assert quickest_chain(chain, full.peak)[0] == full.seconds == 18
    seconds, operations = quickest_chain(chain, 354 + 10)
    check(3, operations)
    assert seconds == 18 + 1 + 2 == cost(chain, operations).seconds  # links 0 and 1 once more, link 2 at the end
    assert quickest_chain(equal_links(3), 3) is None


def test_a_graph_whose_order_may_be_chosen():
    """The two values of 4 bytes do not fit beside each other, and the second has no need of the first."""
    vertices = [Vertex("a", (), 1, 4), Vertex("b", (), 1, 4), Vertex("c", (0,), 1, 1), Vertex("d", (1, 2), 1, 1)]
    graph = OperationGraph(vertices)
    assert quickest_graph(graph, 9)[0] == quickest_graph(graph, 9, ordered=True)[0] == 4
    assert quickest_graph(graph, 6) == (4, [0, 2, 1, 3])
    assert quickest_graph(graph, 6, ordered=True) == (6, [0, 1, 0, 2, 1, 3])
    assert quickest_graph(graph, 5) is None

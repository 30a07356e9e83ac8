"""A torus: ways by hand, and against the graph of the same name."""

import numpy as np
import pytest

from reference.networks import Route, Torus, fabrics
from reference.worlds import launch


def test_ways_by_hand():
    """Rows of 4, three of them: along the row first, then along the column, each the shorter way round."""
    torus = Torus((3, 4), alpha=2e-6, beta=1e-9, hop=1e-7)
    assert torus.route(0, 1) == Route(2e-6 + 1e-7, 1e-9, ((0, 1),))
    assert torus.route(0, 3).links == ((0, 3),)  # round the end
    assert torus.route(0, 2).links == ((0, 1), (1, 2))  # both ways are as long: upwards
    assert torus.route(3, 9).links == ((3, 0), (0, 1), (1, 9))
    assert torus.route(3, 9).alpha == pytest.approx(2e-6 + 3e-7)
    assert torus.route(5, 5) == Route(0.0, 0.0)
    assert [torus.node(rank) for rank in range(3)] == [0, 1, 2]


@pytest.mark.parametrize("sides", [(1,), (2,), (7,), (3, 4), (2, 2, 2), (2, 3, 4), (1, 5)])
def test_every_way_is_a_shortest_one_of_the_graph(sides):
    graph, torus = fabrics.torus(sides), Torus(sides)
    for source in graph:
        hops = distances_from(graph, source)
        for dest in graph:
            links = torus.route(source, dest).links
            ends = [source, *(to for _, to in links)]
            assert ends[-1] == dest and [start for start, _ in links] == ends[:-1]
            assert len(links) == hops[dest] and all(there in graph[here] for here, there in links)


def distances_from(graph, source):
    """The number of cables on the shortest way to each node."""
    hops, edge = {source: 0}, [source]
    for node in edge:
        for other in graph[node]:
            if other not in hops:
                hops[other] = hops[node] + 1
                edge.append(other)
    return hops


def test_messages_wait_for_the_links_of_the_way_in_their_direction_only():
    def shift(comm, by):
        to, source = (comm.rank + by) % comm.size, (comm.rank - by) % comm.size
        comm.Sendrecv(np.zeros(1000), to, 0, np.zeros(1000), source, 0)

    ring = Torus((8,), alpha=0.0, beta=1e-9)
    assert (
        launch(shift, 8, 1, network=ring).seconds == launch(shift, 8, -1, network=ring).seconds == pytest.approx(8e-6)
    )
    assert launch(shift, 8, 2, network=ring).seconds == pytest.approx(16e-6)  # every link carries two

    def both_ways(comm):
        other = comm.rank ^ 1
        comm.Sendrecv(np.zeros(1000), other, 0, np.zeros(1000), other, 0)

    assert launch(both_ways, 8, network=ring).seconds == pytest.approx(8e-6)


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda: Torus(()), r"sides of a torus are whole numbers of at least 1, got \(\)"),
        (lambda: Torus((4, 0)), r"at least 1, got \(4, 0\)"),
        (lambda: Torus((4, 2.5)), r"at least 1, got \(4, 2.5\)"),
        (lambda: Torus((4,), beta=-1.0), "beta must be a finite number"),
        (lambda: Torus((4,), hop=float("nan")), "hop must be a finite number"),
        (lambda: Torus((2, 2)).route(0, 4), "ranks 0 and 4 are not on one torus: it has ranks 0 to 3"),
        (lambda: Torus((2, 2)).route(-1, 0), "ranks -1 and 0"),
        (lambda: launch(lambda comm: None, 5, network=Torus((2, 2))), "ranks 0 and 4 are not on one torus"),
    ],
)
def test_what_makes_no_sense_is_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()

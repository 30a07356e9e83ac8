"""A dragonfly: ways by hand, and against the graph of the same name."""

import numpy as np
import pytest

from reference.networks import Dragonfly, Route, fabrics
from reference.worlds import launch

from .test_torus import distances_from


def test_ways_by_hand():
    """Two ranks a router, two routers a group, one global link a router: three groups, twelve ranks."""
    fly = Dragonfly(2, 2, 1, alpha=1e-6, beta=1e-10, alpha_global=3e-6, beta_global=2e-10)
    assert fly.route(0, 1) == Route(1e-6, 1e-10)  # one router
    assert fly.route(0, 2) == Route(1e-6, 1e-10, ((0, 1),))  # the router beside it
    assert fly.route(0, 6) == Route(3e-6, 2e-10, ((0, 3),))  # its own global link, to the router that is meant
    assert fly.route(2, 4).links == ((1, 0), (0, 3), (3, 2))  # to the link, across, on
    assert fly.route(7, 7) == Route(0.0, 0.0)
    assert [fly.node(rank) for rank in (0, 1, 2, 11)] == [0, 0, 1, 5]


@pytest.mark.parametrize("p, a, h", [(1, 1, 1), (1, 2, 1), (2, 2, 1), (1, 4, 2), (2, 3, 3)])
def test_every_way_is_on_the_graph_and_has_at_most_one_global_link_of_three(p, a, h):
    graph, fly = fabrics.dragonfly(a, h), Dragonfly(p, a, h)
    for source in graph:
        hops = distances_from(graph, source)
        for dest in graph:
            links = fly.route(source * p, dest * p + p - 1).links
            ends = [source, *(to for _, to in links)]
            assert ends[-1] == dest and [start for start, _ in links] == ends[:-1]
            assert all(there in graph[here] for here, there in links)
            assert sum(here // a != there // a for here, there in links) == (source // a != dest // a)
            assert hops[dest] <= len(links) <= 3


def test_traffic_between_two_groups_meets_on_their_only_link():
    def to_next_group(comm, ranks):
        if comm.rank < ranks:
            comm.Send(np.zeros(1000), comm.rank + 8)
        elif 8 <= comm.rank < 8 + ranks:
            comm.Recv(np.zeros(1000), comm.rank - 8)

    fly = Dragonfly(2, 4, 1, alpha=0.0, alpha_global=0.0, beta=1e-9, beta_global=1e-9)
    for ranks in (1, 3, 8):
        assert launch(to_next_group, 16, ranks, network=fly).seconds == pytest.approx(ranks * 8e-6)


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda: Dragonfly(0, 2, 1), r"p, a and h of a dragonfly are whole numbers of at least 1, got \(0, 2, 1\)"),
        (lambda: Dragonfly(1, 2, 1.5), r"got \(1, 2, 1.5\)"),
        (lambda: Dragonfly(1, 2, 1, alpha_global=-1.0), "alpha_global must be a finite number"),
        (lambda: Dragonfly(2, 2, 1).route(0, 12), "ranks 0 and 12 are not on one dragonfly: it has ranks 0 to 11"),
        (lambda: launch(lambda comm: None, 13, network=Dragonfly(2, 2, 1)), "ranks 0 and 12"),
    ],
)
def test_what_makes_no_sense_is_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()

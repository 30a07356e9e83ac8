"""Gossip: the mean stays, the distance shrinks as the second eigenvalue says, and D-PSGD learns."""

from functools import partial

import numpy as np
import pytest
import torch

from reference.asynchronous.compare import Timed
from reference.asynchronous.gossip import (
    contraction,
    exponential,
    hypercube,
    mix,
    mixing_matrix,
    published,
    pull,
    random_pairs,
    ring,
    train_by_pull,
    train_gossip,
)
from reference.models import MLP, Objective, Quadratic, digits
from reference.worlds import RankFailed, Slow, launch

GRAPHS = [ring, hypercube, exponential, random_pairs]
QUADRATIC = Quadratic(7, noise=0.1, size=16)


def vectors(ranks, d=6):
    """Every rank's vector, float64 [ranks, d]."""
    return torch.randn(ranks, d, generator=torch.Generator().manual_seed(3), dtype=torch.float64)


def mixed(ranks, graph, steps, world="virtual"):
    """All ranks' vectors after some steps of averaging."""

    def program(comm):
        x = vectors(ranks)[comm.rank].clone()
        for step in range(steps):
            mix(comm, x, graph(comm.rank, comm.size, step))
        return x

    return torch.stack(launch(program, ranks, world=world).results)


def distance(x):
    """From consensus: Euclidean, over all ranks."""
    return float((x - x.mean(0)).norm())


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8, 9])
def test_rows_and_columns_add_up_to_one(graph, ranks):
    if graph is hypercube and ranks & (ranks - 1):
        with pytest.raises(ValueError, match=f"not {ranks}"):
            graph(0, ranks, 0)
        return
    for step in range(5):
        W = mixing_matrix(graph, ranks, step)
        np.testing.assert_allclose([W.sum(0), W.sum(1)], np.ones((2, ranks)))
        assert W.min() >= 0


@pytest.mark.parametrize("ranks", [2, 5, 9])
def test_random_pairs_are_pairs(ranks):
    partners = [[random_pairs(rank, ranks, step, 7) for rank in range(ranks)] for step in range(20)]
    for edges in partners:
        met = {rank: edge[0].to for rank, edge in enumerate(edges) if edge}
        assert len(met) == ranks - ranks % 2 and all(met[met[rank]] == rank != met[rank] for rank in met)
    assert ranks == 2 or len({str(edges) for edges in partners}) > 10


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("ranks", [1, 2, 8])
def test_what_is_carried_out_is_the_matrix(graph, ranks):
    expected = vectors(ranks)
    for step in range(4):
        expected = torch.tensor(mixing_matrix(graph, ranks, step)) @ expected
    torch.testing.assert_close(mixed(ranks, graph, 4), expected)
    torch.testing.assert_close(expected.mean(0), vectors(ranks).mean(0))


def test_the_same_in_both_worlds(world):
    for graph in (ring, random_pairs):
        assert torch.equal(mixed(3, graph, 3, world), mixed(3, graph, 3))


@pytest.mark.parametrize("ranks", [3, 4, 8, 16])
def test_on_a_ring_the_distance_shrinks_by_the_second_eigenvalue(ranks):
    """(1 + 2 cos(2 pi / P)) / 3: the gap 1 - lambda is about 13 / P^2."""
    rate = contraction(mixing_matrix(ring, ranks))
    assert rate == pytest.approx(abs(1 + 2 * np.cos(2 * np.pi / ranks)) / 3, abs=1e-9)
    if ranks == 3:
        assert distance(mixed(3, ring, 1)) < 1e-12
        return
    steps = {4: 10, 8: 40, 16: 60}[ranks]
    early, late = distance(mixed(ranks, ring, steps)), distance(mixed(ranks, ring, steps + 10))
    assert (late / early) ** (1 / 10) == pytest.approx(rate, rel=1e-3)


@pytest.mark.parametrize("graph, ranks, steps", [(hypercube, 8, 3), (hypercube, 16, 4), (exponential, 8, 3)])
def test_a_turn_of_all_directions_is_the_mean_exactly(graph, ranks, steps):
    assert distance(mixed(ranks, graph, steps)) < 1e-12 < distance(mixed(ranks, graph, steps - 1))


def test_random_pairs_shrink_the_square_by_what_theory_says():
    """Each matching is a projection: E|x|^2 shrinks by lambda_2 of the mean matrix, (P - 2) / (2 (P - 1))."""
    P, x = 8, vectors(8).numpy()
    x = x - x.mean(0)
    ratios = [np.square(mixing_matrix(random_pairs, P, step) @ x).sum() / np.square(x).sum() for step in range(1500)]
    assert np.mean(ratios) == pytest.approx((P - 2) / (2 * (P - 1)), rel=0.05)


def pulled(ranks, steps, world="virtual"):
    """All ranks' vectors after everybody has pulled from its right neighbour, or rank 0 alone has."""

    def program(comm):
        x = vectors(ranks)[comm.rank].clone()
        with published(comm, x) as window:
            for _ in range(steps if comm.rank == 0 else 0):
                pull(window, x, 1)
        return x

    return torch.stack(launch(program, ranks, world=world).results)


def test_pulling_alone_moves_the_mean(world):
    before, after = vectors(3), pulled(3, 2, world)
    torch.testing.assert_close(after[0], before[0] / 4 + before[1] * 3 / 4)
    assert torch.equal(after[1:], before[1:])
    assert not torch.allclose(after.mean(0), before.mean(0), atol=0.01)


@pytest.mark.parametrize("graph", [ring, exponential, random_pairs])
def test_d_psgd_learns_and_its_ranks_stay_together(graph):
    objective = Objective(MLP((64, 8, 10)), digits(), 32)
    found = torch.stack(launch(train_gossip, 4, objective, 40, 0.3, graph).results)
    assert objective.loss(found.mean(0)) < 0.8 * objective.loss(objective.start())
    assert 0 < distance(found) < 0.2 * float(found.norm())


@pytest.mark.parametrize("graph", GRAPHS)
def test_the_mean_of_the_ranks_moves_as_one_rank_would(graph):
    """Exactly so on a quadratic, whose gradient is linear, because the averaging leaves the mean alone."""
    w = QUADRATIC.start()
    for step in range(12):
        g, count = QUADRATIC.gradient(w, step)
        w = w - 0.3 * g / count
    found = torch.stack(launch(train_gossip, 4, QUADRATIC, 12, 0.3, graph).results)
    torch.testing.assert_close(found.mean(0), w)
    assert distance(found) > 0.01


def test_bytes_do_not_depend_on_the_number_of_ranks():
    objective, steps = Quadratic(500), 10
    for graph, neighbours in [(ring, 2), (exponential, 1), (random_pairs, 1)]:
        for ranks in (4, 8):
            run = launch(train_gossip, ranks, objective, steps, 0.1, graph)
            sent = [event for event in run.timeline.of(kind="send") if event.nbytes == 2000]
            assert len(sent) == ranks * neighbours * steps


def test_a_slow_rank_holds_up_those_who_wait_for_an_answer():
    """In pairs all go at its pace in the end; whoever only pulls does not."""

    def program(comm, how):
        return how(comm, Timed(comm, QUADRATIC, 1.0), 12, 0.1), comm.wtime()

    waits, goes = (launch(program, 4, how, faults=[Slow(3, 4.0)]) for how in (train_gossip, train_by_pull))
    assert waits.seconds == pytest.approx(48, abs=0.1) == goes.seconds
    busy = [[event.end for event in run.timeline.of(0, "compute")][-1] for run in (waits, goes)]
    assert busy[0] > 40 and busy[1] == pytest.approx(12, abs=0.1)


def test_pulling_learns_and_repeats(world):
    first, again = (launch(train_by_pull, 3, QUADRATIC, 40, 0.2, world=world).results for _ in range(2))
    share = 0.3 if world == "virtual" else 0.6  # how far real ranks come depends on who is late
    assert all(QUADRATIC.loss(w) < share * QUADRATIC.loss(QUADRATIC.start()) for w in first)
    assert world == "mpi" or all(torch.equal(a, b) for a, b in zip(first, again))


@pytest.mark.parametrize(
    "ranks, arguments, message",
    [(3, (5, -0.1), "learning rate"), (3, (5, 0.1, hypercube), "2, 4, 8, ... ranks, not 3")],
)
def test_impossible_arguments_are_refused_on_every_rank(ranks, arguments, message):
    with pytest.raises(RankFailed, match=message) as failed:
        launch(train_gossip, ranks, QUADRATIC, *arguments)
    assert len(failed.value.errors) == ranks


def test_another_seed_is_another_order():
    assert random_pairs(0, 8, 0, 1) == partial(random_pairs, seed=1)(0, 8, 0)
    assert [random_pairs(0, 8, s, 1) for s in range(9)] != [random_pairs(0, 8, s, 2) for s in range(9)]

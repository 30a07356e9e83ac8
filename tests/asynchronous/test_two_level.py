"""Local SGD on two levels: synchronous SGD and local SGD at its ends, phases that follow a link, data that differ."""

import pytest
import torch

from reference.asynchronous.compare import Timed
from reference.asynchronous.local_sgd import periodic, train_local_sgd
from reference.asynchronous.two_level import affordable_period, following_periods, train_two_level
from reference.models import MLP, Objective, digits
from reference.worlds import RankFailed, launch, networks

OBJECTIVE = Objective(MLP((64, 8, 10)), digits(), 20)  # 20 samples: unequal shares


def trained(ranks, phases, node, objective=OBJECTIVE, rate=0.2, **how):
    """The weights; they are the same bits on every rank."""
    results = launch(lambda comm: train_two_level(comm, objective, phases, rate, node), ranks, **how).results
    assert all(torch.equal(w, results[0]) for w in results)
    return results[0]


def close(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=2e-6)


def serial(steps):
    w = OBJECTIVE.start()
    for step in range(steps):
        g, count = OBJECTIVE.gradient(w, step)
        w = w - 0.2 * g / count
    return w


# the most ranks first: so all of them import torch at once, and none waits busily for a new one
@pytest.mark.parametrize("ranks, node", [(6, 3), (5, 2), (4, 2), (3, 5), (1, 1)])
def test_phases_of_one_step_are_synchronous_sgd(ranks, node, world):
    close(trained(ranks, [1] * 5, node, world=world), serial(5))


def test_one_node_is_synchronous_sgd_and_nodes_of_one_rank_are_local_sgd():
    close(trained(4, [3, 2], node=4), serial(5))
    alone = launch(lambda comm: train_local_sgd(comm, OBJECTIVE, [3, 2], 0.2), 4).results[0]
    close(trained(4, [3, 2], node=1), alone)


def test_a_node_without_samples_has_no_say():
    few = Objective(MLP((64, 8, 10)), digits(), 2)  # of three nodes of two ranks only one has samples
    w = few.start()
    for step in range(4):
        g, count = few.gradient(w, step)
        w = w - 0.2 * g / count
    close(trained(6, [2, 2], node=2, objective=few), w)


class Sorted:
    """As the objective, but a rank has the digits of its class only: one of two, by its place or by its node."""

    def __init__(self, whole, of):
        self.whole, self.start, self.of = whole, whole.start, of
        data = whole.data
        self.parts = [
            Objective(whole.model, type(data)(data.x[data.y % 2 == c], data.y[data.y % 2 == c]), 16) for c in (0, 1)
        ]

    def gradient(self, w, step, rank=0, ranks=1):
        return self.parts[self.of(rank)].gradient(w, step)


def test_data_that_differ_do_harm_between_nodes_and_not_inside():
    whole = Objective(MLP((64, 32, 10), seed=0), digits(), 64)
    inside, between = (
        whole.loss(trained(4, periodic(90, 30), 2, Sorted(whole, of), rate=0.3))
        for of in (lambda rank: rank % 2, lambda rank: rank // 2)
    )
    synchronous = whole.loss(trained(4, [1] * 90, 2, Sorted(whole, lambda rank: rank % 2), rate=0.3))
    assert inside < 1.2 * synchronous and between > 1.5 * synchronous


@pytest.mark.parametrize("seed", [0, 2])
def test_two_levels_are_ahead_of_local_sgd_with_the_same_phases(seed):
    whole, phases = Objective(MLP((64, 32, 10), seed=seed), digits(), 64), periodic(96, 32)
    alone = launch(lambda comm: train_local_sgd(comm, whole, phases, 0.3), 8).results[0]
    assert whole.loss(trained(8, phases, 4, whole, rate=0.3)) < 0.9 * whole.loss(alone)


def test_the_period_is_the_shortest_that_a_link_allows():
    for average, step, share in [(1.456, 0.16, 0.1), (0.0, 1.0, 0.1), (3.0, 1.0, 0.5), (1e-9, 1.0, 0.1)]:
        H = affordable_period(average, step, share)
        assert average <= share * H * step and (H == 1 or average > share * (H - 1) * step)
    assert affordable_period(1.456, 0.16) == 91
    with pytest.raises(ValueError, match="a step takes time"):
        affordable_period(1.0, 0.0)


@pytest.mark.parametrize("beta_out", [1e-9, 1e-7, 1e-6])
def test_phases_follow_the_link_between_nodes(beta_out):
    """What averages add is a tenth of computing at most, but for the first one and the last, which may come early."""
    network = networks.two_level(2, 1e-6, 1e-11, alpha_out=1e-5, beta_out=beta_out)

    def program(comm):
        lengths = []

        def watched(phases):
            for length in phases:
                lengths.append(length)
                yield length

        phases = watched(following_periods(comm, 200, 1e-3))
        train_two_level(comm, Timed(comm, OBJECTIVE, 1e-3), phases, 0.1, 2)
        return lengths

    run = launch(program, 4, network=network)
    assert all(each == run.results[0] for each in run.results)
    lengths = run.results[0]
    average = 2 * 3 / 4 * 4 * (OBJECTIVE.d + 1) * beta_out
    assert sum(lengths) == 200 and lengths[0] == 1
    assert lengths[1] == pytest.approx(min(199, max(1, average / 1e-4)), rel=0.2, abs=3)
    assert run.seconds < 0.2 * 1.1 + 2.5 * average + 0.01


def test_impossible_arguments_fail_on_every_rank():
    for how, told in [({"node": 0}, "at least 1 rank"), ({"rate": 0.0, "node": 2}, "learning rate above 0")]:
        with pytest.raises(RankFailed, match=told):
            trained(3, [1], **how)
    with pytest.raises(RankFailed, match="at least 1 step"):
        trained(2, [0], 2)

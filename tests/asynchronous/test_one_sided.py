"""One-sided updates: what is atomic and what is not, in both worlds."""

import pytest
import torch

from reference import mpi
from reference.asynchronous.compare import Timed
from reference.asynchronous.one_sided import count_up, train_one_sided
from reference.models import MLP, Objective, Quadratic, digits
from reference.worlds import RankFailed, Slow, launch

OBJECTIVE = Objective(MLP((64, 8, 10)), digits(), 12)
QUADRATIC = Quadratic(7, noise=0.1, size=12)


@pytest.mark.parametrize("owners", [1, 3])
def test_one_rank_after_the_other_is_sgd(owners):
    """Rank 1 works alone: its updates are those of a program without windows, wherever the weights lie."""
    steps = 5
    results = launch(lambda comm: train_one_sided(comm, OBJECTIVE, steps * (comm.rank == 1), 0.2, owners), 3).results
    w = OBJECTIVE.start()
    for step in range(steps):
        g, count = OBJECTIVE.gradient(w, step, 1, 3)
        w = w + g * (-0.2 / count)
    assert all(torch.equal(trained.w, w) for trained in results)
    assert [push.delay for push in results[1].log] == [0] * steps and results[0].log == []


def test_no_update_is_lost(world):
    """A gradient that is always 1: the weights say how many were added, and every rank's delays add up."""

    class Ones(Quadratic):
        def gradient(self, w, step, rank=0, ranks=1):
            return torch.ones(self.d), 1

    results = launch(train_one_sided, 3, Ones(5), 40, 0.25, 3, world=world).results
    assert all(torch.equal(trained.w, torch.full((5,), -0.25 * 120)) for trained in results)
    assert all(len(trained.log) == 40 for trained in results)


def test_the_slow_rank_holds_nobody_up_and_is_the_late_one():
    def program(comm):
        log = train_one_sided(comm, Timed(comm, QUADRATIC, 1.0), 12 if comm.rank < 3 else 3, 0.1).log
        return log, mpi.wtime(comm)

    results = launch(program, 4, faults=[Slow(3, 4.0)]).results
    assert all(seconds == pytest.approx(12, abs=0.1) for _, seconds in results)
    assert max(push.delay for push in results[3][0]) == 12 - 1 or max(push.delay for push in results[3][0]) == 12
    assert max(push.delay for push in results[0][0]) <= 4


def test_it_learns_and_repeats(world):
    first, again = (launch(train_one_sided, 3, QUADRATIC, 40, 0.1, 2, world=world).results for _ in range(2))
    assert all(torch.equal(trained.w, first[0].w) for trained in first) and QUADRATIC.loss(first[0].w) < 0.02
    assert world == "mpi" or torch.equal(first[0].w, again[0].w)


@pytest.mark.parametrize("how", ["accumulate", "lock"])
def test_atomic_additions_are_all_there(how, world):
    assert launch(count_up, 3, 100, how, world=world).results == [300] * 3


def test_get_add_put_loses_updates():
    """All read, then all write: of three additions about one is left (on real ranks it depends on the moment)."""
    found = launch(count_up, 3, 100, "get and put").results
    assert found == [found[0]] * 3 and 100 <= found[0] < 250


@pytest.mark.parametrize(
    "arguments, message", [((5, 0.1, 4), "4 owners .* 3 ranks"), ((5, 0.1, 0), "0 owners"), ((-1, 0.1), "0 steps")]
)
def test_impossible_arguments_are_refused_on_every_rank(arguments, message):
    with pytest.raises(RankFailed, match=message) as failed:
        launch(train_one_sided, 3, QUADRATIC, *arguments)
    assert len(failed.value.errors) == 3


def test_an_unknown_way_to_count_is_refused():
    with pytest.raises(RankFailed, match="get and put"):
        launch(count_up, 2, 1, "hope")

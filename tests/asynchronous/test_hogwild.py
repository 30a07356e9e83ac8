"""Hogwild!: sparse problems hardly conflict, dense ones always do, and what is written whole is lost."""

import numpy as np
import pytest

from reference.asynchronous.hogwild import (
    conflict_probability,
    conflict_share,
    lost_updates,
    sparse_problem,
    train_hogwild,
)
from reference.mpi import Exception as MPIException
from reference.worlds import RankFailed, launch, networks

SPARSE, DENSE = sparse_problem(1000, 400, 4), sparse_problem(1000, 16, 16)


def test_the_problem():
    assert SPARSE.columns.shape == SPARSE.values.shape == (1000, 4) and SPARSE.loss(SPARSE.truth) < 1e-30
    assert all(len(set(row)) == 4 for row in SPARSE.columns.tolist())
    np.testing.assert_allclose(np.linalg.norm(SPARSE.values, axis=1), 1)


@pytest.mark.parametrize("d, k", [(400, 4), (50, 5), (16, 16), (10, 7)])
def test_how_likely_two_samples_share_a_column(d, k):
    random = np.random.default_rng(0)
    pairs = [(random.choice(d, k, replace=False), random.choice(d, k, replace=False)) for _ in range(3000)]
    share = np.mean([bool(np.intersect1d(a, b).size) for a, b in pairs])
    p = conflict_probability(d, k)
    assert share == pytest.approx(p, abs=0.03) and (d != 400 or p == pytest.approx(k * k / d, rel=0.05))


def test_one_rank_is_sgd(world):
    trained = launch(train_hogwild, 1, SPARSE, 300, 0.5, world=world).results[0]
    w, random = np.zeros(400), np.random.default_rng([0, 0])
    for sample in random.integers(1000, size=300):
        columns, x = SPARSE.columns[sample], SPARSE.values[sample]
        w[columns] += -0.5 * (x @ w[columns] - SPARSE.y[sample]) * x
    assert np.array_equal(trained.w, w) and trained.conflicts == 0


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_conflicts_are_as_rare_as_the_formula_says(ranks):
    def met(problem, steps):
        return np.mean(
            [each.conflicts for each in launch(train_hogwild, ranks, problem, steps, 0.1, False, 1e-3).results]
        )

    assert met(SPARSE, 400) == pytest.approx(conflict_share(ranks, conflict_probability(400, 4)), abs=0.03)
    assert met(DENSE, 100) == pytest.approx((ranks - 1) / ranks, abs=0.06)


def test_a_sparse_problem_does_not_mind_and_a_dense_one_does():
    """Rate 1.5: eight ranks on sparse samples lose little against one rank with as many; on dense ones they diverge."""

    def loss(problem, ranks, samples, overwrite=False):
        return problem.loss(launch(train_hogwild, ranks, problem, samples // ranks, 1.5, overwrite, 1e-3).results[0].w)

    alone, start = loss(SPARSE, 1, 2400), SPARSE.loss(np.zeros(400))
    assert all(each < 0.05 * start for each in (alone, loss(SPARSE, 8, 2400), loss(SPARSE, 8, 2400, True)))
    assert loss(DENSE, 1, 800) < 1e-12 and loss(DENSE, 8, 800) > 1e3


def test_what_is_written_whole_is_lost():
    """Two ranks, dense, rate 0.2: both converge; the one that overwrites has thrown about half of its work away."""

    def loss(overwrite):
        return np.log(DENSE.loss(launch(train_hogwild, 2, DENSE, 300, 0.2, overwrite, 1e-3).results[0].w))

    start = np.log(DENSE.loss(np.zeros(16)))
    assert 0.4 < (start - loss(True)) / (start - loss(False)) < 0.8


def test_lost_updates_are_counted():
    assert launch(lost_updates, 4, 50, 1, 1e-6).results == [150] * 4  # in step: of four additions one is left
    assert launch(lost_updates, 1, 50).results == [0]


def test_both_worlds_learn_and_one_repeats(world):
    first, again = (launch(train_hogwild, 3, SPARSE, 1500, 1.0, world=world).results for _ in range(2))
    assert all(np.array_equal(each.w, first[0].w) for each in first)
    assert SPARSE.loss(first[0].w) < 0.05 * SPARSE.loss(np.zeros(400))
    assert world == "mpi" or np.array_equal(first[0].w, again[0].w)


def test_what_is_refused():
    with pytest.raises(RankFailed, match="learning rate") as failed:
        launch(train_hogwild, 3, SPARSE, 5, -1.0)
    assert len(failed.value.errors) == 3
    with pytest.raises(RankFailed) as failed:  # ranks of two machines share no memory
        launch(train_hogwild, 4, SPARSE, 5, 1.0, network=networks.two_level(2))
    assert all(isinstance(error, MPIException) for error in failed.value.errors.values())

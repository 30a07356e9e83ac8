"""The rules on runs: where they keep the run the same, where they end, and how not to need one."""

from statistics import median

import pytest
import torch

from reference.data_parallel.accumulation import accumulate
from reference.data_parallel.learning_rate import Adam, accumulation, linear, scaled_adam, square_root, warm_up
from reference.data_parallel.replica import Replica
from reference.models.batches import batch
from reference.models.cnn import CNN
from reference.models.data import digits
from reference.models.loss import loss_sum, mean_loss
from reference.models.mlp import MLP
from reference.models.objective import Quadratic
from reference.models.trainer import train
from reference.mpi import SUM
from reference.worlds import launch

from .test_errata import noisy

EPOCH = 1437


def after_4_epochs(k, lr):
    """The loss on the digits of SGD with batches of 8 k."""
    model = MLP()
    train(model, digits(), torch.optim.SGD(model.parameters(), lr), 4 * EPOCH // (8 * k), 8 * k)
    return mean_loss(model, digits())


def test_sgd_on_the_digits_linear_keeps_the_run_up_to_the_noise_scale():
    """Batches of 8 and of 64, linear: a loss of 0.28; of 64, square root: 0.9; unchanged: 2.0. At 256 it has ended."""
    base = after_4_epochs(1, 0.05)
    assert after_4_epochs(8, linear(0.05, 8)) == pytest.approx(base, rel=0.1)
    assert after_4_epochs(8, square_root(0.05, 8)) > 2 * base and after_4_epochs(8, 0.05) > 4 * base
    assert after_4_epochs(32, linear(0.05, 32)) > 4 * base


def test_where_noise_dominates_the_whole_rule_keeps_the_run_of_adam():
    """Eight times the batch on a quadratic; lr, betas and eps scaled. SGD, and lr alone: test_errata.py."""
    base = Adam(0.002, (0.99, 0.999))
    small, large = (
        noisy(lambda weights, own=own: torch.optim.Adam(weights, *own), k)
        for own, k in [(base, 1), (scaled_adam(base, 8), 8)]
    )
    assert large == pytest.approx(small, rel=0.25)


def test_the_linear_rule_ends_where_gradient_descent_diverges():
    """Curvatures up to 1: stable below a learning rate of 2, from whatever small one it was scaled up."""

    def loss(lr):
        objective = Quadratic(10)
        w = objective.start()
        for step in range(100):
            g, count = objective.gradient(w, step)
            w = w - lr * g / count
        return objective.loss(w)

    start = Quadratic(10).loss(torch.zeros(10))
    assert loss(linear(0.1, 19)) < 0.01 * start and loss(linear(0.1, 21)) > 100 * start


def test_warm_up_is_gradual():
    assert [warm_up(0.1, 5, step, 4) for step in range(6)] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.5])
    assert warm_up(0.1, 8, 0, 0) == pytest.approx(0.8)


def test_warm_up_saves_runs_that_start_too_fast():
    """A CNN, batches of 128, 16 times the learning rate of 8: of eight seeds these three fail without warm-up.

    The median of them, because such runs fork by rounding: on another processor one more fails, or one less.
    """

    def loss(seed, steps):
        model = CNN(seed=seed)
        optimizer = torch.optim.SGD(model.parameters(), 0.05)
        for step in range(100):
            optimizer.param_groups[0]["lr"] = warm_up(0.05, 16, step, steps)
            train(model, digits(), optimizer, 1, 128, seed, first=step)
        return mean_loss(model, digits())

    assert median(loss(seed, 0) for seed in (2, 3, 6)) > 0.9 > median(loss(seed, 30) for seed in (2, 3, 6))


def test_the_whole_rule_of_adam():
    scaled = scaled_adam(Adam(1e-3), 4)
    assert scaled.lr == pytest.approx(2e-3) and scaled.eps == pytest.approx(5e-9)
    assert scaled.betas == pytest.approx((0.6, 0.996))
    with pytest.raises(ValueError, match="above 0"):
        scaled_adam(Adam(1e-3), 11)


@pytest.mark.parametrize("ranks, micro_batches", [(1, 7), (2, 4), (3, 3), (5, 2), (8, 1)])
def test_a_constant_global_batch_needs_no_rule(ranks, micro_batches):
    """50 samples a step, at most 8 at a time on a rank: 7, 4, 3, 2 or 1 micro-batches, and the serial run."""

    def program(comm):
        model, losses, K = MLP(), [], accumulation(50, comm.size, 8)
        replica, optimizer = Replica(comm, model), torch.optim.SGD(model.parameters(), 0.1)
        for step in range(5):
            total, count = accumulate(replica, loss_sum, batch(digits(), 50, step, 0, comm.rank, comm.size), K)
            optimizer.step()
            losses.append(comm.allreduce(total, op=SUM) / count)
        return K, losses

    model = MLP()
    serial = train(model, digits(), torch.optim.SGD(model.parameters(), 0.1), 5, 50)
    for found, losses in launch(program, ranks).results:
        assert found == micro_batches and losses == pytest.approx(serial, rel=1e-5)


def test_a_micro_batch_of_nothing_is_refused():
    with pytest.raises(ValueError, match="1 or more"):
        accumulation(50, 2, 0)
    assert accumulation(3, 8, 8) == 1

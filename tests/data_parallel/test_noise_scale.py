"""The gradient noise scale: found where it is known, measured on the digits, and what it foretells."""

import pytest
import torch
import torch.nn.functional as F
from torch.func import functional_call, grad, vmap

from reference.data_parallel import noise_scale
from reference.data_parallel.average import average_gradients
from reference.data_parallel.noise_scale import from_ranks, from_two_sizes, square
from reference.models.batches import batch, share
from reference.models.data import digits
from reference.models.loss import loss_sum, mean_loss
from reference.models.mlp import MLP
from reference.models.objective import Quadratic
from reference.models.trainer import train
from reference.worlds import launch


def test_two_equations_two_unknowns():
    signal, variance = 3.0, 50.0
    found = from_two_sizes(signal + variance / 8, 8, signal + variance / 64, 64)
    assert found == pytest.approx((signal, variance)) and found.scale == pytest.approx(50 / 3)
    assert noise_scale.steps_to_target(20.0, 20.0) == noise_scale.samples(20.0, 20.0) == 2.0
    assert noise_scale.steps_to_target(5.0, 20.0) == 5.0 and noise_scale.samples(5.0, 20.0) == 1.25


@pytest.mark.parametrize("ranks", [3, 5])
def test_found_on_a_quadratic_where_it_is_known_with_unequal_counts(ranks):
    """tr(Sigma) = d noise^2 and |G|^2 are known; the estimates' mean over 150 steps is within a few percent."""
    d, noise = 40, 0.5

    def program(comm):
        objective, found = Quadratic(d, noise=noise, size=4), []  # on 3 ranks 2 + 1 + 1, on 5 ranks one has none
        w = objective.start()
        for step in range(150):
            g, count = objective.gradient(w, step, comm.rank, comm.size)
            weight = torch.zeros(d, requires_grad=True)
            weight.grad = g.clone()
            average_gradients(comm, [weight], count)
            found.append(from_ranks(comm, square([g / max(count, 1)]), count, square([weight.grad])))
        return noise_scale.mean(found)

    found = launch(program, ranks).results
    objective = Quadratic(d)
    signal = square([objective.gradient(objective.start(), 0)[0] / objective.size])
    assert all(each == found[0] for each in found)
    assert found[0].variance == pytest.approx(d * noise**2, rel=0.05)
    assert found[0].signal == pytest.approx(signal, rel=0.1) and found[0].scale == pytest.approx(10 / signal, rel=0.1)


def exact(model, data):
    """B_noise over all the data, from the gradient of each single sample."""

    def loss(weights, x, y):
        return F.cross_entropy(functional_call(model, weights, (x[None],)), y[None])

    weights = {name: p.detach() for name, p in model.named_parameters()}
    each = vmap(grad(loss), (None, 0, 0))(weights, *data)
    rows = torch.cat([g.flatten(1) for g in each.values()], 1)  # [samples, d]
    return float(rows.var(0, correction=0).sum() / rows.mean(0).square().sum())


def measured(comm, model, steps):
    """From 4 ranks with 16 samples each."""
    found = []
    for step in range(steps):
        total, count = loss_sum(model, batch(digits(), 64, step, rank=comm.rank, ranks=comm.size))
        model.zero_grad()
        total.backward()
        own = square([p.grad / count for p in model.parameters()])
        average_gradients(comm, model.parameters(), count)
        found.append(from_ranks(comm, own, count, square([p.grad for p in model.parameters()])))
    return noise_scale.mean(found).scale


def test_on_the_digits_it_is_about_90_samples_at_first_and_grows():
    model = MLP()
    found = launch(measured, 4, model, 60).results[0]
    assert found == pytest.approx(exact(model, digits()), rel=0.2)
    train(model, digits(), torch.optim.SGD(model.parameters(), 0.2), 200, 64)
    assert exact(model, digits()) > 2 * found


def steps_to(size, lr, target=0.5):
    model, data = MLP(), digits()
    optimizer = torch.optim.SGD(model.parameters(), lr)
    for step in range(0, 1000, 5):
        if mean_loss(model, data) < target:
            return step
        train(model, data, optimizer, 5, size, first=step)


def test_more_samples_a_step_stop_saving_steps():
    """To a loss of 0.5, each at the best of the learning rates 0.05, 0.1, ..., 1.6: 105, 55, 35 and 35 steps."""
    found = {size: steps_to(size, lr) for size, lr in [(8, 0.4), (32, 0.8), (128, 0.8), (512, 0.8)]}
    assert found[8] > 1.5 * found[32] > 2 * found[128] >= found[512] > 0.8 * found[128]


def test_one_batch_size_is_not_enough():
    def program(comm):
        with pytest.raises(ValueError, match="two batch sizes"):
            from_ranks(comm, 1.0, len(share(range(1), comm.rank, comm.size)), 1.0)

    launch(program, 3)

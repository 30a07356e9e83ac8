"""A model as f(w): against the trainer; the quadratic against its formula; and any number of ranks at once."""

import pickle

import pytest
import torch
from torch.nn.utils import parameters_to_vector

from reference.models import (
    CNN,
    GPT,
    MLP,
    TINY,
    Objective,
    Quadratic,
    accuracy,
    batch,
    digits,
    gradients,
    loss_sum,
    mean_loss,
    text,
    train,
)
from reference.worlds import launch

PAIRS = {"mlp": (MLP, digits), "cnn": (CNN, digits), "tied gpt": (lambda: GPT(TINY), lambda: text(32))}


@pytest.mark.parametrize("build, make", PAIRS.values(), ids=PAIRS)
def test_descent_on_the_vector_is_the_serial_trainer(build, make):
    model, data = build(), make()
    objective = Objective(model, data, size=10, seed=1)
    w = objective.start()
    assert torch.equal(w, parameters_to_vector(model.parameters())) and objective.d == len(w)
    for step in range(3):
        g, count = objective.gradient(w, step)
        w -= 0.1 * g / count
    train(model, data, torch.optim.SGD(model.parameters(), lr=0.1), 3, 10, seed=1)
    assert torch.allclose(w, parameters_to_vector(model.parameters()), atol=1e-5)
    few = batch(data, 50, 0)
    assert objective.loss(w, few) == pytest.approx(mean_loss(model, few), rel=1e-4)
    assert objective.accuracy(w, few) == accuracy(model, few)


@pytest.mark.parametrize("objective", [Objective(MLP(), digits(), size=10), Quadratic(30, noise=0.5, size=10)])
@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8, 13])
def test_the_ranks_shares_add_up(objective, ranks):
    w = torch.randn(objective.d, generator=torch.Generator().manual_seed(1))
    parts = [objective.gradient(w, 4, rank, ranks) for rank in range(ranks)]
    g, count = objective.gradient(w, 4)
    assert torch.allclose(sum(part for part, _ in parts), g, atol=1e-4) and sum(n for _, n in parts) == count == 10
    assert parts[12][1] == 0 and not parts[12][0].any() if ranks == 13 else parts[-1][1] > 0


def test_neither_the_model_nor_the_vector_given_is_changed():
    model = MLP()
    objective = Objective(model, digits(), size=10)
    start, w = objective.start(), objective.start() + 0.01
    before = w.clone()
    objective.gradient(w, 0)
    objective.loss(w), objective.accuracy(w), objective.start().zero_()
    assert torch.equal(w, before) and not w.requires_grad
    assert torch.equal(parameters_to_vector(model.parameters()), start)
    w.zero_()  # the caller's to change
    assert torch.equal(objective.start(), start)


def test_frozen_parameters_are_not_in_the_vector_and_unused_ones_have_gradient_zero():
    model = MLP()
    model[0].weight.requires_grad_(False)
    model.unused = torch.nn.Identity()
    model.unused.weight = torch.nn.Parameter(torch.ones(3))
    objective = Objective(model, digits(), size=10)
    assert objective.d == 2410 - 64 * 32 + 3
    assert not objective.gradient(objective.start(), 0)[0][-3:].any()


SHARED = Objective(MLP(), digits(), size=10)


def descend(comm, objective):
    w = objective.start() + 0.01 * comm.rank
    for step in range(3):
        g, count = objective.gradient(w, step, comm.rank, comm.size)
        comm.Barrier()
        w -= 0.1 * g / count
    return w


def descend_shared(comm):
    return descend(comm, SHARED), id(SHARED)


def test_one_object_serves_ranks_at_different_places():
    """Each virtual rank descends on its own; they take turns within every step."""
    own = launch(descend, 3, Objective(MLP(), digits(), size=10)).results  # arguments are copied
    shared, ids = zip(*launch(descend_shared, 3).results)  # globals are not
    assert set(ids) == {id(SHARED)}
    assert all(torch.equal(a, b) for a, b in zip(shared, own)) and not torch.equal(own[0], own[1])


def test_it_can_be_sent_to_another_process():
    objective = Objective(MLP(), digits(), size=10)
    w = objective.start() + 0.01
    g, _ = objective.gradient(w, 2)
    there = pickle.loads(pickle.dumps(objective))
    assert torch.equal(there.gradient(w, 2)[0], g) and there.loss(w) == objective.loss(w)


def test_the_quadratic_is_its_formula():
    f = Quadratic(5, seed=3, condition=100.0, size=4)
    w = torch.randn(5, dtype=torch.float32, requires_grad=True)
    value = sum(a * (x - m) ** 2 for a, x, m in zip(f.curvature, w, f.minimum)) / 2
    (gradient,) = torch.autograd.grad(value, w)
    g, count = f.gradient(w.detach(), 0)
    assert count == 4 and torch.allclose(g / 4, gradient) and f.loss(w.detach()) == pytest.approx(value.item())
    assert f.curvature.tolist() == pytest.approx([1, 100**-0.25, 0.1, 100**-0.75, 0.01], rel=1e-5)
    assert f.loss(f.minimum) == 0 and f.accuracy(f.minimum) == 1 and f.accuracy(f.start()) == 0


def test_gradient_descent_on_the_quadratic_is_as_fast_as_theory_says():
    """Along curvature a, the distance shrinks by 1 - eta a in each step."""
    f = Quadratic(8, condition=20.0)
    w, eta = f.start(), 0.7
    for step in range(10):
        g, count = f.gradient(w, step)
        w -= eta * g / count
    assert torch.allclose(f.minimum - w, (1 - eta * f.curvature) ** 10 * f.minimum, atol=1e-5)


def test_the_noise_has_the_size_it_says_and_is_its_own_in_every_sample_and_step():
    f = Quadratic(2000, seed=1, noise=0.5, size=6)
    xi = [f.gradient(f.minimum, step, rank, 6)[0] for step in (0, 1) for rank in range(6)]
    table = torch.stack(xi)
    assert table.mean().abs() < 0.5 * 4 / 24000**0.5 and table.std().item() == pytest.approx(0.5, rel=0.03)
    assert (torch.corrcoef(table) - torch.eye(12)).abs().max() < 0.1
    assert torch.equal(f.gradient(f.minimum, 0, 2, 6)[0], xi[2])


def test_no_targets_no_gradient():
    objective = Objective(MLP(), digits(), size=2)
    g, count = objective.gradient(objective.start(), 0, rank=4, ranks=5)
    assert count == 0 and g.shape == (objective.d,) and not g.any()
    assert loss_sum(MLP(), batch(digits(), 2, 0))[1] == 2 and gradients(MLP(), batch(digits(), 2, 0)) > 0

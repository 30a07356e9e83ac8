"""The serial trainer: against torch's own mean loss, micro-batches against the whole batch, and going on later."""

import pytest
import torch
import torch.nn.functional as F

from reference.models import (
    CNN,
    GPT,
    IGNORED,
    MLP,
    TINY,
    Data,
    batch,
    digits,
    gradients,
    text,
    train,
)


def weights(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def trained(build, data, first=0, steps=5, **options):
    model = build()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = train(model, data, optimizer, steps, size=10, seed=1, first=first, **options)
    return losses, weights(model)


def test_it_is_the_loop_everybody_writes():
    losses, w = trained(MLP, digits())
    model, data = MLP(), digits()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step, loss in enumerate(losses):
        x, y = batch(data, 10, step, seed=1)
        optimizer.zero_grad()
        mean = F.cross_entropy(model(x), y)
        mean.backward()
        optimizer.step()
        assert loss == pytest.approx(mean.item(), rel=1e-6)
    assert torch.allclose(w, weights(model), atol=1e-6)


@pytest.mark.parametrize("micro_batches", [2, 3, 5, 10, 13])  # 3 does not divide 10, 13 leaves some empty
@pytest.mark.parametrize("build, make", [(MLP, digits), (CNN, digits), (lambda: GPT(TINY), lambda: text(32))])
def test_micro_batches_take_the_same_step(build, make, micro_batches):
    data = make()
    data.y.view(-1)[::3] = IGNORED  # the parts count unequally
    losses, w = trained(build, data)
    cut, v = trained(build, data, micro_batches=micro_batches)
    assert cut == pytest.approx(losses, rel=1e-5) and torch.allclose(v, w, atol=1e-5)


def test_micro_batches_hold_the_activations_of_one_part():
    model, sizes = MLP(), []
    model[0].register_forward_hook(lambda module, inputs, output: sizes.append(len(output)))
    gradients(model, batch(digits(), 10, 0), micro_batches=4)
    assert sizes == [3, 3, 2, 2]


def test_a_run_goes_on_where_it_stopped():
    model, data = MLP(), digits()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = [train(model, data, optimizer, 2, 10, seed=1, first=first) for first in (0, 2, 4)]
    whole, w = trained(MLP, data, steps=6)
    assert [*losses[0], *losses[1], *losses[2]] == whole and torch.equal(weights(model), w)


def test_gradients_are_set_and_not_added():
    model, data = MLP(), batch(digits(), 10, 0)
    first = gradients(model, data)
    once = model[0].weight.grad.clone()
    assert gradients(model, data) == first and torch.equal(model[0].weight.grad, once)


def test_frozen_parameters_stay():
    model = MLP()
    model[0].weight.requires_grad_(False)
    before = model[0].weight.clone()
    train(model, digits(), torch.optim.SGD(model.parameters(), lr=0.1), 2, 10)
    assert torch.equal(model[0].weight, before) and model[0].weight.grad is None


def test_a_batch_in_which_nothing_counts_has_no_gradient():
    data, model = batch(digits(), 4, 0), MLP()
    assert gradients(model, Data(data.x, data.y * 0 + IGNORED)) == 0
    assert not any(parameter.grad.any() for parameter in model.parameters())


def test_less_than_one_micro_batch_is_refused():
    with pytest.raises(ValueError, match="at least 1 part, got micro_batches=0"):
        gradients(MLP(), batch(digits(), 4, 0), micro_batches=0)

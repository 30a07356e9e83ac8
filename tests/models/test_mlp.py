"""The multilayer perceptron: its formula, and that it learns the digits."""

import torch

from reference.models import MLP, accuracy, digits, train


def test_it_is_affine_maps_with_a_relu_between_them():
    model, x = MLP((5, 4, 3, 2)), torch.randn(7, 5)
    first, second, third = model[0], model[2], model[4]
    hidden = torch.relu(torch.relu(x @ first.weight.T + first.bias) @ second.weight.T + second.bias)
    assert torch.allclose(model(x), hidden @ third.weight.T + third.bias)
    assert sum(p.numel() for p in model.parameters()) == 5 * 4 + 4 + 4 * 3 + 3 + 3 * 2 + 2


def test_it_learns_the_digits():
    """Measured: 0.967 to 0.978 after 200 steps, seeds 0 to 4; guessing gives 0.1."""
    model = MLP(seed=0)
    train(model, digits(), torch.optim.SGD(model.parameters(), lr=1.0), steps=200, size=128)
    assert accuracy(model, digits(train=False)) > 0.95

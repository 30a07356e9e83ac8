"""Importance sampling: how many are sent, which, and what an average of earlier gradients is good for."""

import pytest
import torch

from reference.compression import history, importance_sampling, random_k
from reference.compression.importance import probabilities
from reference.compression.sparse import from_wire
from reference.models import generator


def wide(d: int = 400) -> torch.Tensor:
    """A gradient whose elements differ by orders of magnitude."""
    return torch.randn(d, generator=generator(1)) * 10 ** torch.linspace(-3, 0, d)


def test_probabilities_follow_the_magnitude_and_end_at_1():
    assert probabilities(torch.tensor([1.0, 2.0, 7.0]), 2).tolist() == pytest.approx([0.2, 0.4, 1.0])
    assert probabilities(torch.zeros(4), 2).tolist() == [0.5] * 4
    assert probabilities(torch.tensor([0.0, 1.0]), 1, floor=0.2).tolist() == pytest.approx([0.1, 0.9])


def test_about_k_are_sent_and_the_large_ones_always():
    x, rng = wide(), generator(2)
    P = probabilities(x.abs(), 40)
    sent = [from_wire(importance_sampling(40).encode(x, rng), 400)[1] for _ in range(200)]
    number = torch.tensor([float(len(indices)) for indices in sent])
    expected, spread = P.sum(), (P * (1 - P)).sum().sqrt()
    assert expected <= 40 and (number.mean() - expected).abs() < 5 * spread / 200**0.5
    certain = set((P == 1).nonzero().view(-1).tolist())
    assert certain and all(certain <= set(indices.tolist()) for indices in sent)


def test_the_magnitude_is_the_best_importance_and_history_comes_close():
    x = wide()
    weights = torch.zeros(400)
    for step in range(20):  # the same sizes in every step, other signs and noise
        weights = history(weights, x * torch.randn(400, generator=generator(3, step)))
    own, past, uniform = (
        float(codec.variance(x).sum())
        for codec in (importance_sampling(40), importance_sampling(40, weights), random_k(40))
    )
    assert own < past < uniform / 2


def test_history_without_a_floor_may_promise_nothing():
    x, weights = torch.ones(4), torch.tensor([1.0, 1.0, 1.0, 0.0])
    assert importance_sampling(2, weights, floor=0.0).variance(x)[3] == float("inf")
    assert importance_sampling(2, weights, floor=0.2).variance(x)[3] == pytest.approx(1 / 0.1 - 1)


def test_there_must_be_a_weight_for_each_element():
    with pytest.raises(ValueError, match="3 weights for a vector of 4 elements"):
        importance_sampling(2, torch.ones(3)).encode(torch.ones(4), generator(0))

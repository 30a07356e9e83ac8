"""Signs of some elements: tau for each, or their mean magnitude."""

import pytest
import torch

from reference.compression import roundtrip, sparse_sign, strom

X = torch.tensor([0.1, -3.0, 2.0, 0.0, -2.0, 0.5])


def test_strom_sends_tau():
    assert roundtrip(strom(1.0), X).tolist() == [0, -1, 1, 0, -1, 0]
    assert len(strom(1.0).encode(X)) == 4 + 2  # a count, and three entries of 3 + 1 bits
    assert len(strom(5.0).encode(X)) == 4


def test_sparse_sign_sends_the_mean_magnitude_of_the_kept():
    y = roundtrip(sparse_sign(3), X)
    assert y.tolist() == pytest.approx([0, -7 / 3, 7 / 3, 0, -7 / 3, 0])
    assert (y - X).square().sum() == pytest.approx(float(X.square().sum()) - 3 * (7 / 3) ** 2)
    assert sparse_sign(3).nbytes(6) == 4 + 2

"""The study: its measurements are right, its training is the serial one, and what it finds on the digits."""

import pytest
import torch

from reference.compression import (
    float32,
    importance_sampling,
    qsgd,
    random_k,
    scaled_sign,
    sparse_sign,
    stochastic_sign,
    top_k,
)
from reference.compression.study import codecs, descend, measure_error, table
from reference.models import MLP, Objective, Quadratic, digits, generator


def test_measure_of_a_vector_whose_numbers_are_known():
    x = torch.tensor([3.0, 0.0, 4.0, 0.0])
    top = measure_error(top_k(1), x)
    assert top.nbytes == 5 / 4 and top.bias == pytest.approx(3 / 5) and top.error == pytest.approx(9 / 25)
    assert top.variance == top.formula == top.chance == 0 and top.bound == 0.75
    rand = measure_error(random_k(1), x, draws=2000)
    assert rand.formula == pytest.approx(3) and rand.variance == pytest.approx(3, rel=0.2) and rand.bound == 3
    assert rand.bias < 4 * rand.chance == pytest.approx(4 * (3 / 2000) ** 0.5)
    assert measure_error(stochastic_sign(), x, draws=500).formula == pytest.approx((4 * 16 - 25) / 25)


def test_a_table_has_a_line_for_each_codec():
    x = torch.randn(200, generator=generator(1))
    lines = table([measure_error(codec, x, draws=5) for codec in codecs()]).splitlines()
    assert len(lines) == 1 + len(codecs()) == 1 + len({line.split("  ")[0] for line in lines[1:]})
    assert lines[2].split() == ["top-k", "0.01", "0.05", *lines[2].split()[3:]] and len({*map(len, lines)}) == 1


def test_without_compression_any_number_of_workers_is_gradient_descent():
    f = Quadratic(20, noise=0.5, size=6)
    w = f.start()
    for step in range(7):
        g, count = f.gradient(w, step)
        w -= 0.3 * g / count
    for workers in (1, 2, 4):  # 4: shares of 2, 2, 1, 1 samples
        run = descend(f, None, 7, 0.3, workers, every=3)
        assert torch.allclose(run.w, w, atol=1e-5) and run.name == "float32"
        assert run.steps == [0, 3, 6] and run.nbytes == [0, 3 * 80, 6 * 80] and run.losses[0] == f.loss(f.start())


def test_feedback_of_a_lossless_codec_changes_nothing():
    f = Quadratic(20, noise=0.5)
    assert torch.equal(descend(f, float32(), 9, 0.3, feedback=True).w, descend(f, float32(), 9, 0.3, feedback=False).w)


def test_a_run_that_diverges_ends_with_an_infinite_loss():
    run = descend(Quadratic(20), None, 1000, lr=3.0)
    assert run.losses[-1] == float("inf") and run.steps[-1] < 1000


def test_what_compression_does_to_learning_the_digits():
    """The picture of the chapter, with fewer curves: four workers, 100 steps, 2,410 parameters."""
    f = Objective(MLP(seed=1), digits(), size=64)

    def learn(codec, feedback):
        return descend(f, codec, 100, 0.3, feedback=feedback, every=50)

    full, top, top_fed, sign_fed, sampled, sampled_fed = (
        learn(*how)
        for how in [
            (None, False),
            (top_k(0.01), False),
            (top_k(0.01), True),
            (sparse_sign(0.01), True),
            (importance_sampling(0.01), False),
            (importance_sampling(0.01), True),
        ]
    )
    assert full.losses[-1] < 0.4 and full.nbytes[-1] == 100 * 4 * f.d
    assert top.losses[-1] > 1.5, "what is left out for ever is missed"
    assert top_fed.losses[-1] < 0.5 and top_fed.nbytes[-1] < full.nbytes[-1] / 70
    assert sign_fed.losses[-1] < 0.5 and sign_fed.nbytes[-1] < full.nbytes[-1] / 200
    assert sampled.losses[-1] < 0.6, "unbiased, so it needs no feedback"
    assert sampled_fed.losses[-1] > 10, "and must not have any"
    assert qsgd(1).contraction(f.d) < 0 < scaled_sign().contraction(f.d)

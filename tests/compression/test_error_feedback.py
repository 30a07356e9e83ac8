"""Error feedback: nothing is lost, how much can be late, and for which codecs it is a cure or poison."""

import pytest
import torch

from reference.compression import (
    ErrorFeedback,
    damped,
    fp16,
    int8,
    one_bit,
    qsgd,
    random_k,
    residual_bound,
    scaled_sign,
    sparse_sign,
    strom,
    threshold,
    top_k,
)
from reference.compression.study import OppositeSamples, descend
from reference.models import Quadratic, generator

D = 40
CODECS = [top_k(3), random_k(3), damped(random_k(3)), sparse_sign(3), strom(0.5), scaled_sign(), one_bit(), int8()]
named = pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)


def gradients(steps: int):
    """Noise around a constant, each at most 10 in length."""
    constant, rng = torch.linspace(-1, 1, D), generator(1)
    for _ in range(steps):
        g = constant + torch.randn(D, generator=rng)
        yield g * min(1.0, 10 / float(g.norm()))


@named
def test_what_was_sent_and_what_is_late_are_all_there_was(codec):
    sender, rng = ErrorFeedback(codec, D), generator(2)
    sent, total = torch.zeros(D, dtype=torch.float64), torch.zeros(D, dtype=torch.float64)
    for g in gradients(15):
        sent += sender.decode(sender.encode(g, rng), D)
        total += g
    size = max(1.0, float(sender.error.abs().max()))
    assert torch.allclose(sent + sender.error, total, atol=1e-5 * size)


@named
def test_the_error_of_a_contraction_stays_within_the_bound(codec):
    delta, sender, rng = codec.contraction(D), ErrorFeedback(codec, D), generator(3)
    bound, norms = residual_bound(delta, 10.0), []
    for g in gradients(100):
        sender.encode(g, rng)
        norms.append(float(sender.error.norm()))
    assert all(norm <= bound for norm in norms)
    if delta > 0:
        q = (1 - delta) ** 0.5
        assert bound <= 2 * 10 * q / delta, "never above the bound of the paper"
    if codec.unbiased:
        assert norms[-1] > 1e3 and bound == float("inf")


def test_the_bound_is_reached_when_nothing_gets_better():
    """Top-1 of 2, the gradients always as bad as can be: p = (a, a) loses half of its square."""
    sender, e = ErrorFeedback(top_k(1), 2), 0.0
    for _ in range(60):
        p = (e + 1.0) / 2**0.5
        sender.error = torch.tensor([e, 0.0])  # the same length in another direction
        sender.encode(torch.tensor([p - e, p]))
        e = float(sender.error.norm())
    assert e == pytest.approx(residual_bound(0.5, 1.0), rel=1e-4)


def test_a_threshold_keeps_each_element_of_the_error_below_it():
    sender = ErrorFeedback(threshold(0.5), D)
    for g in gradients(50):
        sender.encode(g)
        assert sender.error.abs().max() <= 0.5


def test_a_tau_below_the_gradient_falls_further_and_further_behind():
    sender = ErrorFeedback(strom(0.1), 1)
    for _ in range(50):
        sender.encode(torch.tensor([1.0]))
    assert sender.error.item() == pytest.approx(50 * 0.9, rel=1e-4)


def test_a_gradient_that_is_refused_leaves_the_error_as_it_was():
    sender = ErrorFeedback(fp16(), 2)
    sender.encode(torch.tensor([1.0001, 1.0]))
    before = sender.error.clone()
    assert before.count_nonzero() == 1
    for bad in (float("nan"), 1e6):
        with pytest.raises(ValueError):
            sender.encode(torch.tensor([bad, 1.0]))
        assert torch.equal(sender.error, before)


# Training ------------------------------------------------------------------------------------------------------------


def test_signs_of_samples_alone_never_leave_a_line_and_with_feedback_they_do():
    f = OppositeSamples(eps=0.5)
    plain, fed_back = (descend(f, scaled_sign(), 300, 0.1, workers=2, feedback=each) for each in (False, True))
    assert plain.losses[-1] >= 4 * 0.5**2 - 1e-6 and plain.w.sum() == pytest.approx(2)
    assert fed_back.losses[-1] < 1e-6


@pytest.mark.parametrize("lr", [0.02, 0.002])
def test_fed_back_an_unbiased_codec_diverges_at_any_learning_rate_and_damped_it_does_not(lr):
    f = Quadratic(100)
    plain, fed_back, cured = (
        descend(f, codec, 200, lr, workers=2, feedback=feedback, every=200)
        for codec, feedback in [(random_k(0.05), False), (random_k(0.05), True), (damped(random_k(0.05)), True)]
    )
    assert plain.losses[-1] < f.loss(f.start()) and fed_back.losses[-1] == float("inf")
    assert cured.losses[-1] < f.loss(f.start())


def test_omega_below_1_can_be_fed_back():
    assert qsgd(16).contraction(100) > 0
    assert descend(Quadratic(100), qsgd(16), 100, 0.5, workers=2, feedback=True).losses[-1] < 1e-3


def test_late_gradients_want_a_smaller_learning_rate():
    f = Quadratic(100)
    losses = {
        (feedback, lr): descend(f, top_k(0.05), 150, lr, workers=2, feedback=feedback, every=150).losses[-1]
        for feedback in (False, True)
        for lr in (0.1, 0.5)
    }
    assert losses[True, 0.1] < losses[False, 0.1] / 10, "the whole gradient, and not only 1/20 of it"
    assert losses[True, 0.5] > f.loss(f.start()) > losses[False, 0.5], "but up to 20 steps late"

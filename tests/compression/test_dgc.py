"""Deep gradient compression: momentum that is right although most of it is late, clipping, masking, warm-up."""

import math

import pytest
import torch

from reference.compression import top_k
from reference.compression.dgc import MomentumCorrection, clipped, local_clip, sparsity_warm_up
from reference.compression.error_feedback import ErrorFeedback
from reference.compression.reduce import allgather_sum
from reference.models import MLP, Objective, digits, generator
from reference.worlds import launch


def vectors(steps, d=6, rank=0):
    return [torch.randn(d, generator=generator(rank, step)) for step in range(steps)]


def test_by_hand():
    """m = 1/2, one of two elements a step: u and v of what is sent are forgotten, the other goes on adding up."""
    sender = MomentumCorrection(top_k(1), 2, momentum=0.5)
    rows = []
    for g in ([4.0, 1.0], [0.0, 1.0], [0.0, 0.0]):
        sent = sender.decode(sender.encode(torch.tensor(g)), 2)
        rows.append((sent.tolist(), sender.u.tolist(), sender.v.tolist()))
    assert rows == [
        ([4, 0], [0, 1], [0, 1]),
        ([0, 2.5], [0, 0], [0, 0]),  # u = 1/2 * 1 + 1, v = 1 + 1.5
        ([0, 0], [0, 0], [0, 0]),
    ]


def test_without_masking_what_was_sent_and_what_waits_is_all_that_momentum_makes():
    """sum of sent + v = sum of u over the steps, u the velocity of uncompressed momentum."""
    sender, u, sent, velocities = MomentumCorrection(top_k(2), 6, masking=False), 0, 0, 0
    for g in vectors(10):
        u = 0.9 * u + g
        velocities = velocities + u
        sent = sent + sender.decode(sender.encode(g), 6)
        assert torch.allclose(sent + sender.v, velocities, atol=1e-5)


def test_its_limits_are_momentum_and_error_feedback():
    """All sent: momentum SGD without masking, plain SGD with it. No momentum: error feedback."""
    everything, masked = (MomentumCorrection(top_k(6), 6, masking=masking) for masking in (False, True))
    plain, feedback, u = MomentumCorrection(top_k(2), 6, momentum=0), ErrorFeedback(top_k(2), 6), 0
    for g in vectors(5):
        u = 0.9 * u + g
        assert torch.allclose(everything.decode(everything.encode(g), 6), u)
        assert torch.equal(masked.decode(masked.encode(g), 6), g)
        assert torch.equal(plain.encode(g), feedback.encode(g))


def test_ranks_clip_what_they_add():
    """To 1/sqrt(P) of the threshold: the sum of P independent gradients of that norm has about the threshold."""
    P, d, threshold = 4, 400, 3.0

    def program(comm):
        sender = MomentumCorrection(top_k(d), d, clip=local_clip(threshold, comm.size))
        (x,) = vectors(1, d, comm.rank)
        return allgather_sum(comm, sender, 100 * x), sender

    results = launch(program, P).results
    parts = [clipped(100 * vectors(1, d, rank)[0], 1.5) for rank in range(P)]
    assert [float(part.norm()) for part in parts] == pytest.approx([1.5] * P)
    assert all(torch.equal(total, results[0][0]) for total, _ in results)
    assert torch.allclose(results[0][0], sum(parts)) and float(sum(parts).norm()) == pytest.approx(threshold, rel=0.1)
    small = torch.tensor([0.3, 0.4])
    assert torch.equal(clipped(small, 1.0), small) and torch.equal(clipped(0 * small, 1.0), 0 * small)


def test_the_warm_up_is_the_papers():
    shares = [sparsity_warm_up(epoch, 5) for epoch in range(7)]
    assert shares == pytest.approx([0.25, 0.0629, 0.0158, 0.00398, 0.001, 0.001, 0.001], rel=1e-2)
    assert sparsity_warm_up(0, 0) == 0.001


def test_the_codec_may_change_and_a_nan_leaves_everything_as_it_was():
    sender = MomentumCorrection(top_k(3), 6)
    for g in vectors(2):
        sender.encode(g)
    before = sender.u.clone(), sender.v.clone()
    with pytest.raises(ValueError, match="1 of 6 elements are NaN or infinite"):
        sender.encode(torch.tensor([1.0, math.nan, 0, 0, 0, 0]))
    assert torch.equal(sender.u, before[0]) and torch.equal(sender.v, before[1])
    sender.codec = top_k(1)
    assert len(sender.encode(torch.ones(6))) == sender.nbytes(6) == top_k(1).nbytes(6)


def final_loss(how, seed, steps=120, lr=0.1, share=0.01, m=0.9, workers=2):
    """Momentum SGD on the digits, compressed in one of three ways (the workers one after the other)."""
    objective, codec = Objective(MLP(seed=seed), digits(), 64, seed), top_k(share if how != "dense" else 1.0)
    w, d, velocity = objective.start(), objective.d, 0
    senders = [
        MomentumCorrection(codec, d, m) if how == "corrected" else ErrorFeedback(codec, d) for _ in range(workers)
    ]
    for step in range(steps):
        shares = [objective.gradient(w, step, rank, workers) for rank in range(workers)]
        received = sum(sender.decode(sender.encode(g / 64), d) for sender, (g, _) in zip(senders, shares))
        velocity = received if how == "corrected" else m * velocity + received
        w = w - lr * velocity
    return objective.loss(w)


def test_momentum_after_sparsity_learns_worse_than_momentum_before_it():
    """1 % of the elements, 120 steps: 0.12 dense, 0.25 corrected, 0.5 to 1.0 with momentum on what was received."""

    def losses(comm):  # on one virtual rank, which uses one thread
        return [[final_loss(how, seed) for how in ("dense", "corrected", "after")] for seed in (0, 1)]

    for dense, corrected, after in launch(losses, 1).results[0]:
        assert dense < corrected < 0.75 * after

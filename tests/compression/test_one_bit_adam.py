"""1-bit Adam: Adam while it warms up, then one bit an element; and what goes wrong with three common accounts of it."""

import pytest
import torch

from reference.compression.codec import float32
from reference.compression.one_bit_adam import OneBitAdam
from reference.compression.reduce import TwoWay, two_way_sum
from reference.compression.signs import scaled_sign, sign
from reference.models import MLP, Objective, digits, generator
from reference.worlds import launch

RANKS = (1, 2, 3, 5, 8)


def part(step, rank, P, d=21):
    """A rank's part of a gradient: the parts sum to the same whatever P is."""
    return torch.randn(8, d, generator=generator(step))[rank::P].sum(0)


@pytest.mark.parametrize("P", RANKS)
def test_the_warm_up_is_adam(P):
    def program(comm):
        w, adam = torch.ones(21), OneBitAdam(comm, 21, warm_up=10, lr=0.1)
        for step in range(10):
            adam.step(w, part(step, comm.rank, P))
        return w

    serial = torch.nn.Parameter(torch.ones(21))
    optimizer = torch.optim.Adam([serial], lr=0.1)
    for step in range(10):
        serial.grad = part(step, 0, 1)
        optimizer.step()
    results = launch(program, P).results
    assert all(torch.equal(w, results[0]) for w in results) and torch.allclose(results[0], serial, atol=1e-5)


@pytest.mark.parametrize("P", RANKS)
def test_afterwards_it_is_momentum_with_a_frozen_step_size_for_each_element(P):
    """With a codec that loses nothing, the serial program with a frozen v."""
    warm_up, lr, b1, b2 = 3, 0.1, 0.9, 0.99

    def program(comm):
        w, adam = torch.ones(21), OneBitAdam(comm, 21, warm_up, lr, (b1, b2), codec=float32())
        for step in range(8):
            adam.step(w, part(step, comm.rank, P))
        return w

    w, m, v = torch.ones(21), 0, 0
    for step in range(8):
        g = part(step, 0, 1)
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g**2 if step < warm_up else v
        w -= lr * (m / (1 - b1 ** (step + 1))) / ((v / (1 - b2 ** min(step + 1, warm_up))).sqrt() + 1e-8)
    assert torch.allclose(launch(program, P).results[0], w, atol=1e-4)


def test_one_bit_an_element_and_alike_on_all_ranks(world):
    d, P = 8 * 3 * 100, 3

    def program(comm, steps):
        w, adam = torch.ones(d), OneBitAdam(comm, d, warm_up=2)
        for step in range(steps):
            adam.step(w, part(step, comm.rank, P, d), algorithm="ring")
        return w

    results = launch(program, P, 6, world=world).results
    assert all(torch.equal(w, results[0]) for w in results)
    if world == "virtual":
        sent = [launch(program, P, steps).bytes_sent[0] for steps in (1, 2, 3, 4)]
        dense, compressed = 2 * (P - 1) * d * 4 // P, 2 * (P - 1) * (d // 8 // P + 4)
        assert sent == [dense, 2 * dense, 2 * dense + compressed, 2 * dense + 2 * compressed]
        assert dense / compressed == pytest.approx(32, rel=0.04)


def test_an_element_without_a_gradient_stays_where_it_is():
    """One bit says + or -, and both are wrong where v is 0: without care it would take a step of 1e8."""

    def program(comm):
        w, adam = torch.ones(21), OneBitAdam(comm, 21, warm_up=2)
        for step in range(5):
            g = part(step, comm.rank, comm.size)
            g[::2] = 0
            adam.step(w, g)
        return w

    w = launch(program, 2).results[0]
    assert (w[::2] == 1).all() and (w[1::2] != 1).all()


# What is often told


def trained(comm, how, steps=150, warm_up=40, lr=0.01):
    """A network for the digits, trained with 1-bit Adam or with one of the common accounts of it."""
    objective = Objective(MLP(), digits(), 64)
    w, d, b2 = objective.start(), objective.d, 0.999
    codec = sign() if how == "no scale" else scaled_sign()
    adam = OneBitAdam(comm, d, steps if how in ("Adam", "gradient") else warm_up, lr, codec=codec)
    both_ways = TwoWay(scaled_sign(), d, comm.rank, comm.size)
    for step in range(steps):
        g = objective.gradient(w, step, comm.rank, comm.size)[0] / 64
        if how == "gradient" and step >= warm_up:  # Adam of what the ranks sum in one bit an element, with feedback
            g = two_way_sum(comm, g, both_ways) / comm.size
        if how == "local variance" and step >= warm_up:
            adam.v = b2 * adam.v + (1 - b2) * (comm.size * g) ** 2
        adam.step(w, g)
    return w, objective.loss(w)


@pytest.fixture(scope="module")
def losses():
    """Of each account the weights and losses on both ranks."""
    accounts = ("Adam", "1-bit Adam", "gradient", "no scale", "local variance")
    return {how: launch(trained, 2, how).results for how in accounts}


def test_it_learns_as_well_as_adam(losses):
    assert losses["1-bit Adam"][0][1] < 1.2 * losses["Adam"][0][1] < 0.2
    assert torch.equal(losses["1-bit Adam"][0][0], losses["1-bit Adam"][1][0])


def test_e4_33_the_momentum_is_compressed_not_the_gradient(losses):
    """Adam of one-bit gradients, with error feedback: their squares are all alike."""
    assert losses["gradient"][0][1] > 1.4 * losses["1-bit Adam"][0][1]


def test_e4_34_a_sign_without_its_scale_goes_nowhere(losses):
    assert losses["no scale"][0][1] > 3 * losses["1-bit Adam"][0][1]


def test_e4_35_a_variance_that_each_rank_goes_on_averaging_tears_the_replicas_apart(losses):
    (ours, _), (theirs, _) = losses["local variance"]
    assert not torch.equal(ours, theirs) and (ours - theirs).abs().max() > 0.1

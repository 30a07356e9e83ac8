"""Local SGD: synchronous SGD at H = 1, the outer optimizers by the letter of their papers, bytes, limits."""

import pytest
import torch

from reference.asynchronous.local_sgd import (
    AVERAGE,
    DILOCO,
    SLOWMO,
    Outer,
    adaptive_period,
    periodic,
    train_local_sgd,
)
from reference.collectives.ring import ring_bytes
from reference.models import MLP, Objective, Quadratic, digits
from reference.worlds import RankFailed, launch

from ..oracles import RANKS
from ..oracles.post_local_sgd import MOMENTUM, PERIOD, PHASES, RATE, SIZE, SYNCHRONOUS

OBJECTIVE = Objective(MLP((64, 8, 10)), digits(), 20)  # 20 samples: unequal shares for 3 and 8 ranks


def serial(objective, steps, rate, momentum=0.0):
    w = objective.start()
    v = torch.zeros_like(w)
    for step in range(steps):
        g, count = objective.gradient(w, step)
        v = momentum * v + g / count
        w = w - rate * v
    return w


def trained(ranks, phases, rate=0.2, objective=OBJECTIVE, world="virtual", **how):
    """The weights; they are the same bits on every rank."""
    results = launch(lambda comm: train_local_sgd(comm, objective, phases, rate, **how), ranks, world=world).results
    assert all(torch.equal(w, results[0]) for w in results)
    return results[0]


def close(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8])
def test_a_phase_of_one_step_is_synchronous_sgd(ranks):
    """Unequal shares too (8 ranks, 20 samples): a rank counts as much as its samples."""
    close(trained(ranks, [1] * 6), serial(OBJECTIVE, 6, 0.2))
    close(trained(ranks, [], synchronous=6), serial(OBJECTIVE, 6, 0.2))


def test_the_same_on_both_worlds(world):
    close(trained(3, [1, 1], synchronous=2, world=world), serial(OBJECTIVE, 4, 0.2))


def test_a_rank_without_data_has_no_say():
    few = Objective(MLP((64, 8, 10)), digits(), 3)
    close(trained(5, [1] * 4, objective=few, momentum=0.5), serial(few, 4, 0.2, 0.5))


def test_what_becomes_of_momentum():
    """At H = 1 buffers that are kept or averaged are synchronous momentum, for all is linear; a reset is plain SGD."""
    even = Objective(MLP((64, 8, 10)), digits(), 24)
    expected = serial(even, 6, 0.1, 0.9)
    for how in ({"buffers": "keep"}, {"buffers": "average"}):
        close(trained(3, [1] * 6, 0.1, even, momentum=0.9, **how), expected)
    close(trained(3, [1] * 6, 0.1, even, momentum=0.9, buffers="reset"), serial(even, 6, 0.1))
    apart = [trained(3, [3, 3], 0.1, even, momentum=0.9, buffers=how) for how in ("keep", "reset", "average")]
    assert not any(torch.allclose(apart[i], apart[i - 1]) for i in range(3))  # for H > 1 they are three methods


def test_post_local_sgd_is_torchs(oracles):
    """Synchronous steps with momentum, then phases whose buffers are kept: PostLocalSGDOptimizer over gloo."""
    objective = Objective(MLP(seed=0), digits(), SIZE)
    found = trained(RANKS, [PERIOD] * PHASES, RATE, objective, momentum=MOMENTUM, synchronous=SYNCHRONOUS)
    for theirs in oracles["post_local_sgd"]:
        torch.testing.assert_close(found, theirs, rtol=1e-4, atol=2e-6)


def sent(ranks, phases, **how):
    """Bytes that each rank sends in large messages; the small ones are the agreement on the arguments."""
    run = launch(lambda comm: train_local_sgd(comm, OBJECTIVE, phases, 0.1, momentum=0.9, **how), ranks)
    large = [event for event in run.timeline.of(kind="send") if event.nbytes > 500]
    return [sum(event.nbytes for event in large if event.rank == rank) for rank in range(ranks)]


@pytest.mark.parametrize("ranks", [2, 3])
def test_bytes_are_divided_by_the_phase(ranks):
    """A ring all-reduce of the weights and a count each phase; of twice as much if the buffers are averaged, too."""
    d = len(OBJECTIVE.start())
    ring, twice = ring_bytes(ranks, d + 1, 4), ring_bytes(ranks, 2 * d + 1, 4)
    assert sent(ranks, [1] * 12) == sent(ranks, [], synchronous=12) == list(12 * ring)
    assert sent(ranks, periodic(12, 4)) == sent(ranks, periodic(12, 4), outer=SLOWMO) == list(3 * ring)
    assert sent(ranks, periodic(12, 4), buffers="average") == list(3 * twice)


def test_phases():
    assert periodic(8, 4) == [4, 4] and periodic(9, 4) == [4, 4, 1] and periodic(0, 4) == []
    with pytest.raises(ValueError, match="at least 1"):
        periodic(8, 0)
    assert [adaptive_period(loss, 2.0, 16) for loss in (2.0, 1.0, 0.5, 0.01)] == [16, 12, 8, 2]


class Parabolas:
    """Rank r has f_r(w) = a_r (w - m_r)^2 / 2: data that are not alike. The least sum is at sum(a m) / sum(a)."""

    a, m = [1.0, 0.1], [0.0, 10.0]

    def start(self):
        return torch.zeros(1)

    def gradient(self, w, step, rank=0, ranks=1):
        return self.a[rank] * (w - self.m[rank]), 1


def test_data_that_are_not_alike_limit_the_phase():
    """Two ranks: 0.909 is right, found with H = 1; with ever longer phases 5, the mean of the two minima (E3-11)."""
    found = {H: trained(2, [H] * (200 // H), 0.5, Parabolas()).item() for H in (1, 4, 100)}
    assert found[1] == pytest.approx(10 / 11, rel=1e-3) and found[100] == pytest.approx(5, abs=0.05)
    assert found[1] < found[4] < found[100]


def test_data_that_are_alike_do_not():
    """Without noise every rank walks the same path: the average is that path, whatever H."""
    objective = Quadratic(6, size=24)
    for phases in (periodic(40, 4), [40]):
        close(trained(3, phases, 0.5, objective), serial(objective, 40, 0.5))


# Outer optimizers: where all ranks walk one path, it can be redone by the letter --------------------------------------


ALIKE = Quadratic(6, size=24)


def inner(w, first, length, rate):
    for step in range(first, first + length):
        g, count = ALIKE.gradient(w, step)
        w = w - rate * g / count
    return w


def slowmo(alpha, beta, eta, H, phases):
    """Wang et al.: u <- beta u + (theta - average) / eta; theta <- theta - alpha eta u."""
    theta, u = ALIKE.start(), 0.0
    for t in range(phases):
        u = beta * u + (theta - inner(theta, t * H, H, eta)) / eta
        theta = theta - alpha * eta * u
    return theta


def bmuf(zeta, momentum, eta, H, phases, nesterov):
    """Chen and Huo: G = average - W_g; delta <- momentum delta + zeta G; W <- W + delta; W_g = W (+ momentum delta)."""
    W, delta = ALIKE.start(), torch.zeros(len(ALIKE.start()))
    W_g = W
    for t in range(phases):
        G = inner(W_g, t * H, H, eta) - W_g
        delta = momentum * delta + zeta * G
        W = W + delta
        W_g = W + momentum * delta if nesterov else W
    return W_g


def outer_sgd(lr, momentum, eta, H, phases):
    """DiLoCo's outer step: torch's Nesterov SGD on the difference, which stands for a gradient."""
    theta = ALIKE.start()
    optimizer = torch.optim.SGD([theta], lr, momentum, nesterov=True)
    for t in range(phases):
        theta.grad = theta - inner(theta, t * H, H, eta)
        optimizer.step()
    return theta


@pytest.mark.parametrize("ranks", [1, 3])
def test_outer_optimizers_are_those_of_the_papers(ranks):
    eta, H, phases = 0.2, 2, 4
    for outer, expected in [
        (SLOWMO, slowmo(1.0, SLOWMO.momentum, eta, H, phases)),
        (Outer(0.8, 0.6), slowmo(0.8, 0.6, eta, H, phases)),
        (Outer(0.9, 0.5), bmuf(0.9, 0.5, eta, H, phases, nesterov=False)),
        (Outer(0.9, 0.5, nesterov=True), bmuf(0.9, 0.5, eta, H, phases, nesterov=True)),
        (DILOCO, outer_sgd(0.7, 0.9, eta, H, phases)),
        (Outer(1.0, 1e-12), inner(ALIKE.start(), 0, H * phases, eta)),
        (AVERAGE, inner(ALIKE.start(), 0, H * phases, eta)),
    ]:
        close(trained(ranks, [H] * phases, eta, ALIKE, outer=outer), expected)


@pytest.mark.parametrize(
    "phases, how, message",
    [
        ([2, 0], {}, "1 step or more"),
        ([2], {"buffers": "forget"}, "forget"),
        ([2], {"rate": -1.0}, "learning rate"),
        ([2], {"synchronous": -1}, "0 steps or more"),
    ],
)
def test_impossible_arguments_are_refused_on_every_rank(phases, how, message):
    with pytest.raises(RankFailed, match=message) as failed:
        launch(lambda comm: train_local_sgd(comm, OBJECTIVE, phases, **{"rate": 0.1, **how}), 3)
    assert len(failed.value.errors) == 3


def test_phases_that_differ_between_ranks_are_refused_on_every_rank():
    told = r"the arguments must be alike .* rank 1 has 'phases=\[3\]' where rank 0 has 'phases=\[2\]'"
    with pytest.raises(RankFailed, match=told) as failed:
        launch(lambda comm: train_local_sgd(comm, OBJECTIVE, [2 + comm.rank], 0.1), 3)
    assert len(failed.value.errors) == 3

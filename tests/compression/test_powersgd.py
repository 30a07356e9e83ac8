"""PowerSGD: exact for a low rank, the truncated SVD in the end, nothing lost, and the same as torch's hook."""

from itertools import pairwise

import pytest
import torch

from reference.collectives.ring import ring_allreduce_cost, ring_bytes
from reference.compression.powersgd import PowerSGD, numbers, power_sgd
from reference.models import generator
from reference.networks import Link
from reference.worlds import LaunchError, launch, networks

from ..oracles.compression_hooks import RANK

RANKS = (1, 2, 3, 5, 8)
SHAPES = [(20, 30), (20,), (4, 3, 5, 5), (2, 2)]


def gradients(rank, step=0):
    rng = generator(rank, step)
    return [torch.randn(shape, generator=rng) for shape in SHAPES]


def low_rank(rank, n, m, r):
    rng = generator(rank)
    return torch.randn(n, r, generator=generator(99)) @ torch.randn(r, m, generator=rng)


def best(M, r):
    """The truncated SVD."""
    U, S, V = torch.linalg.svd(M)
    return U[:, :r] * S[:r] @ V[:r]


def test_what_is_sent_is_the_formula():
    """r (n + m) numbers of the matrices that are larger than that; a convolution is a matrix of its outputs."""
    assert numbers(SHAPES, 2) == (2 * 20 + 2 * 4 + 20 + 4, 2 * 30 + 2 * 75)
    assert numbers([(10, 10)], 5) == (100, 0) and numbers([(7,)], 1) == (7, 0)

    def program(comm):
        power_sgd(comm, gradients(comm.rank), PowerSGD(SHAPES, 2, generator(1)), algorithm="ring")

    for P in RANKS:
        run = launch(program, P, network=networks.uniform(3e-6, 2e-10, 7e-11))
        first, second = numbers(SHAPES, 2)
        expected = ring_bytes(P, first, 4) + ring_bytes(P, second, 4)
        assert run.bytes_sent == expected.tolist()
        both = [ring_allreduce_cost(P, count, 4, Link(3e-6, 2e-10, 7e-11)).seconds for count in (first, second)]
        assert run.seconds == pytest.approx(sum(both))


@pytest.mark.parametrize("P", RANKS)
def test_a_sum_of_that_rank_is_exact_and_vectors_are_not_compressed(P):
    def program(comm):
        state = PowerSGD([(20, 30), (20,)], 3, generator(1))
        return power_sgd(comm, [low_rank(comm.rank, 20, 30, 3), torch.full((20,), 1.0 + comm.rank)], state)

    results = launch(program, P).results
    total = sum(low_rank(rank, 20, 30, 3) for rank in range(P))
    assert torch.linalg.matrix_rank(total) == 3
    assert torch.allclose(results[0][0], total, atol=1e-4) and torch.equal(
        results[0][1], torch.full((20,), P * (P + 1) / 2)
    )
    assert all(torch.equal(a, b) for found in results for a, b in zip(found, results[0]))


def test_a_warm_start_is_subspace_iteration():
    """On one and the same matrix it comes ever closer to the best approximation; with a cold start it does not."""
    M = torch.randn(20, 30, generator=generator(5))
    at_best = (M - best(M, 2)).norm()

    def excess(warm):
        def program(comm):
            state = PowerSGD([M.shape], 2, generator(1), warm_start=warm, feedback=False)
            return [(M - power_sgd(comm, [M / comm.size], state)[0]).norm() for _ in range(60)]

        return [float(error / at_best - 1) for error in launch(program, 2).results[0]]

    warm, cold = excess(True), excess(False)
    assert all(later <= earlier + 1e-6 for earlier, later in pairwise(warm)) and warm[-1] < 1e-3 < 0.02 < warm[0]
    assert warm[0] == pytest.approx(cold[0]) and min(cold) > 0.02


def test_nothing_is_lost(world):
    """All that was received, and the ranks' memories, is all there was."""
    P, steps = 3, 4

    def program(comm):
        state, received = PowerSGD(SHAPES, 1, generator(1)), [torch.zeros(shape) for shape in SHAPES]
        for step in range(steps):
            for into, summed in zip(received, power_sgd(comm, gradients(comm.rank, step), state, algorithm="ring")):
                into += summed
        return received, state.error

    results = launch(program, P, world=world).results
    there_was = [
        sum(gradients(rank, step)[i] for rank in range(P) for step in range(steps)) for i in range(len(SHAPES))
    ]
    for number, i in enumerate([0, 2]):
        remembered = sum(errors[number] for _, errors in results).view(SHAPES[i])
        assert torch.allclose(results[0][0][i] + remembered, there_was[i], atol=1e-4)
        assert remembered.norm() > 0.1 * there_was[i].norm()  # there was something to remember
    assert all(torch.allclose(results[0][0][i], there_was[i], atol=1e-5) for i in (1, 3))


def test_whose_approximation_a_rank_remembers_makes_no_difference():
    """Its own P Q_r^T (the paper, algorithm 2) or its share of the sum (torch): only sums of errors are ever sent."""
    P = 3

    def program(comm, own):
        state, found = PowerSGD([(20, 30)], 2, generator(1)), []
        for step in range(5):
            M = gradients(comm.rank, step)[0]
            before = M + (state.error[0] if state.error else 0)
            found.append(power_sgd(comm, [M], state)[0].clone())
            if own:
                U = torch.linalg.qr(found[-1])[0][:, :2]  # spans the columns of P
                state.error = [before - U @ (U.T @ before)]
        return found, state.error[0]

    (shared, a), (own, b) = (launch(program, P, how).results[0] for how in (False, True))
    assert not torch.allclose(a, b, rtol=0.1)
    assert all(torch.allclose(x, y, atol=1e-3) for x, y in zip(shared, own))


def test_what_torch_makes_of_the_same_gradients(oracles):
    """powerSGD_hook over gloo: the same first Q, then warm starts and errors fed back, step after step."""
    told = oracles["power_sgd_hook"]

    def program(comm):
        mine, rng = told[comm.rank], torch.Generator().manual_seed(told[0]["seed"])
        state = PowerSGD([g.shape for g in mine["steps"][0]["before"]], RANK, rng)
        return [power_sgd(comm, [g.clone() for g in step["before"]], state) for step in mine["steps"]]

    ours = launch(program, 3).results[0]
    for step, expected in zip(ours, told[0]["steps"]):
        for total, mean in zip(step, expected["after"]):
            assert torch.allclose(total / 3, mean, rtol=1e-3, atol=1e-6)
    compressed = ours[-1][3]
    assert torch.linalg.matrix_rank(compressed, rtol=1e-4) == RANK and compressed.shape == (10, 12)


def test_zeros_stay_zeros_and_other_shapes_are_refused():
    def program(comm):
        return power_sgd(comm, [torch.zeros(6, 6)], PowerSGD([(6, 6)], 1, generator(1)))[0]

    assert launch(program, 2).results[0].count_nonzero() == 0
    with pytest.raises(LaunchError, match=r"gradients of shapes \[\(6, 6\)\], but the state is for \[\(6, 5\)\]"):
        launch(lambda comm: power_sgd(comm, [torch.zeros(6, 6)], PowerSGD([(6, 5)], 1, generator(1))), 2)

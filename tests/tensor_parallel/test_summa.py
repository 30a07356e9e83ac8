"""SUMMA and its gradients on square grids: the serial product, and the bytes of the formula."""

import pytest
import torch

from reference.tensor_parallel import volume
from reference.tensor_parallel.summa import Grid, multiply, summa
from reference.worlds import LaunchError, launch

from .cases import numbers

M, K, N = 8, 12, 16


def both_ways(comm):
    grid = Grid(comm)
    x, a = (grid.block(whole).requires_grad_() for whole in (numbers(M, K), numbers(K, N, seed=1)))
    y = summa(grid, x, a)
    y.backward(grid.block(numbers(M, N, seed=2)))
    return grid.i, grid.j, y.detach(), x.grad, a.grad


def joined(found, which):
    rows = {}
    for i, j, *parts in found:
        rows.setdefault(i, {})[j] = parts[which]
    return torch.cat([torch.cat([row[j] for j in sorted(row)], 1) for _, row in sorted(rows.items())])


def check_product_and_gradients(ranks, world):
    run = launch(both_ways, ranks, world=world)
    x, a = numbers(M, K).requires_grad_(), numbers(K, N, seed=1).requires_grad_()
    (x @ a).backward(numbers(M, N, seed=2))
    for which, expected in enumerate((x @ a, x.grad, a.grad)):
        assert torch.allclose(joined(run.results, which), expected.detach(), rtol=0, atol=1e-12)
    return run


@pytest.mark.parametrize("ranks", [1, 4, 16])
def test_the_serial_product_and_gradients(ranks):
    run = check_product_and_gradients(ranks, "virtual")
    assert sum(run.calls[0][name] for name in ("Bcast", "Reduce")) == 6 * ranks**0.5


@pytest.mark.mpi
def test_so_it_is_on_real_ranks():
    check_product_and_gradients(4, "mpi")


@pytest.mark.parametrize("ranks", [4, 16])
def test_what_is_sent(ranks):
    """The bytes of the blocks; what the checks of shapes send is taken off."""

    def program(comm, do):
        grid = Grid(comm)
        a, b = grid.block(numbers(M, K)), grid.block(numbers(K, N))
        grid.check(a, b, (1, 1))
        if do:
            multiply(grid, a, b)
        else:
            grid.check(a, b, (1, 1))

    with_product, without = (sum(launch(program, ranks, do).bytes_sent) for do in (True, False))
    assert with_product - without == 8 * volume.summa(ranks, M, K, N)


def test_no_rank_has_more_than_two_blocks_more_than_its_own():
    def program(comm):
        grid = Grid(comm)
        return [tuple(part.shape) for part in both_ways(comm)[2:]], grid.q

    for shapes, q in launch(program, 16).results:
        assert shapes == [(M // q, N // q), (M // q, K // q), (K // q, N // q)]


def test_what_makes_no_grid_is_refused():
    with pytest.raises(LaunchError, match="6 ranks make no square grid: take 4 or 9"):
        launch(lambda comm: Grid(comm), 6)
    with pytest.raises(LaunchError, match=r"2 x 2 ranks cannot cut a matrix of shape \(3, 4\) evenly"):
        launch(lambda comm: Grid(comm).block(torch.ones(3, 4)), 4)
    with pytest.raises(LaunchError, match=r"blocks \(2, 3\) and \(2, 3\) do not fit together"):
        launch(lambda comm: multiply(Grid(comm), torch.ones(2, 3), torch.ones(2, 3)), 4)
    with pytest.raises(LaunchError, match="the blocks of a matrix must be alike on all ranks"):
        launch(lambda comm: multiply(Grid(comm), torch.ones(2 + comm.rank // 3, 3), torch.ones(3, 2)), 4)

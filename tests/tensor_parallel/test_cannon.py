"""Cannon's algorithm: the serial product, and the bytes of the formula, between neighbours only."""

import pytest
import torch

from reference.tensor_parallel import volume
from reference.tensor_parallel.cannon import cannon, shifted
from reference.tensor_parallel.summa import Grid
from reference.worlds import launch

from .cases import numbers
from .test_summa import K, M, N, joined


def program(comm):
    grid = Grid(comm)
    return grid.i, grid.j, cannon(grid, grid.block(numbers(M, K)), grid.block(numbers(K, N, seed=1)))


@pytest.mark.parametrize("ranks", [1, 4, 16])
def test_the_serial_product_and_what_is_sent(ranks):
    run = launch(program, ranks)
    assert torch.allclose(joined(run.results, 0), numbers(M, K) @ numbers(K, N, seed=1), rtol=0, atol=1e-12)
    blocks = [
        event.nbytes
        for event in run.timeline.of(kind="send")
        if event.nbytes in (M * K * 8 // ranks, K * N * 8 // ranks)
    ]
    assert sum(blocks) == 8 * volume.cannon(ranks, M, K, N)


@pytest.mark.mpi
def test_so_it_is_on_real_ranks():
    found = launch(program, 4, world="mpi").results
    assert torch.allclose(joined(found, 0), numbers(M, K) @ numbers(K, N, seed=1), rtol=0, atol=1e-12)


@pytest.mark.parametrize("places", [-1, 0, 1, 2, 5])
def test_a_shift_brings_the_block_from_that_far(places):
    found = launch(lambda comm: shifted(comm, torch.tensor([comm.rank]), places).item(), 4).results
    assert found == [(rank + places) % 4 for rank in range(4)]

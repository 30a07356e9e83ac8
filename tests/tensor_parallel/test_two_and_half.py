"""2.5-D: the serial product in layer 0, and the bytes of the formula; c = 1 is Cannon's."""

import pytest
import torch

from reference.tensor_parallel import volume
from reference.tensor_parallel.two_and_half import Layers, two_and_half
from reference.worlds import LaunchError, launch

from .cases import numbers
from .test_summa import K, M, N, joined


def program(comm, count):
    layers = Layers(comm, count)
    a, b = layers.grid.block(numbers(M, K)), layers.grid.block(numbers(K, N, seed=1))
    if layers.layer:
        a, b = torch.empty_like(a).fill_(torch.nan), torch.empty_like(b).fill_(torch.nan)  # only their shapes count
    return layers.grid.i, layers.grid.j, two_and_half(layers, a, b)


@pytest.mark.parametrize("ranks, layers", [(4, 1), (8, 2), (32, 2), (64, 4)])
def test_the_serial_product_and_what_is_sent(ranks, layers):
    run = launch(program, ranks, layers)
    first = run.results[: ranks // layers]
    assert torch.allclose(joined(first, 0), numbers(M, K) @ numbers(K, N, seed=1), rtol=0, atol=1e-12)
    assert all(c is None for _, _, c in run.results[ranks // layers :])
    each = ranks // layers
    sizes = {8 * size // each for size in (M * K, K * N, M * N)}
    assert sum(e.nbytes for e in run.timeline.of(kind="send") if e.nbytes in sizes) == 8 * volume.two_and_half(
        ranks, layers, M, K, N
    )


@pytest.mark.long  # to start eight real ranks for this alone takes 15 s
@pytest.mark.mpi
def test_so_it_is_on_real_ranks():
    found = launch(program, 8, 2, world="mpi").results[:4]
    assert torch.allclose(joined(found, 0), numbers(M, K) @ numbers(K, N, seed=1), rtol=0, atol=1e-12)


def test_copies_save_more_the_more_ranks_there_are():
    n = 2**14
    saved = {P: 1 - volume.two_and_half(P, 4, n, n, n) / volume.cannon(P, n, n, n) for P in (64, 1024, 4096)}
    assert 0.04 < saved[64] < 0.06 and saved[64] < saved[1024] < saved[4096] and 0.4 < saved[4096] < 0.5


def test_impossible_layers_are_refused():
    with pytest.raises(LaunchError, match="8 ranks cannot make 3 layers"):
        launch(lambda comm: Layers(comm, 3), 8)
    with pytest.raises(LaunchError, match="4 layers cannot share 2 steps"):
        launch(lambda comm: Layers(comm, 4), 16)
    with pytest.raises(LaunchError, match="8 ranks make no square grid"):
        launch(lambda comm: Layers(comm, 2), 16)

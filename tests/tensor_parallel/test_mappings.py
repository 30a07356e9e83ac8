"""Each mapping and its transpose: <y, A x> = <A^T y, x> over all ranks; which collective each side calls; its bytes."""

import pytest
import torch

from reference.tensor_parallel import mappings
from reference.worlds import LaunchError, launch

from .cases import numbers

PAIRS = {  # name: calls forward, calls backward, whether a rank has more after it (+1), less (-1) or as much (0)
    "copy": ("", "Allreduce", 0),
    "total": ("Allreduce", "", 0),
    "scatter": ("", "Allgather", -1),
    "gather": ("Allgather", "", 1),
    "gather_total": ("Allgather", "Reduce_scatter_block", 1),
    "scatter_total": ("Reduce_scatter_block", "Allgather", -1),
}


def both_ways(comm, name, dim, dy_is_shared):
    """x, y, dy and dx of one mapping on this rank, and how often each collective was called forward and backward."""
    shared = name in ("scatter", "copy")
    x = numbers(4, 6, 2, seed=0 if shared else comm.rank).requires_grad_()
    y = getattr(mappings, name)(comm, x, dim)
    dy = numbers(*y.shape, seed=100 if dy_is_shared else 100 + comm.rank)
    y.backward(dy)
    return x.detach(), y.detach(), dy, x.grad


@pytest.mark.parametrize("dim", [0, 1, -2])
@pytest.mark.parametrize("name", PAIRS)
def test_backward_is_the_transpose_of_forward(name, dim):
    """Over all ranks together; what is the same on all of them is one thing, and counts once."""
    P = 2
    one_dy = name in ("total", "gather")
    found = launch(both_ways, P, name, dim, one_dy).results
    forward = sum(float((y * dy).sum()) for _, y, dy, _ in found) / (P if one_dy else 1)
    backward = sum(float((x * dx).sum()) for x, _, _, dx in found) / (P if name in ("scatter", "copy") else 1)
    assert abs(forward - backward) < 1e-12 * P
    assert not any(dx.data_ptr() == dy.data_ptr() and y is x for x, y, dy, dx in found)


def check_what_each_gives(name, ranks, world):
    found = launch(both_ways, ranks, name, 1, True, world=world).results
    for rank, (_, y, _, _) in enumerate(found):
        terms = [x for x, _, _, _ in found]
        whole, total, at = torch.cat(terms, 1), sum(terms), slice(rank * 6 // ranks, (rank + 1) * 6 // ranks)
        one = terms[rank]
        expected = {
            "copy": one,
            "total": total,
            "scatter": one[:, at],
            "gather": whole,
            "gather_total": whole,
            "scatter_total": total[:, at],
        }
        assert torch.allclose(y, expected[name], rtol=0, atol=1e-12)


@pytest.mark.parametrize("ranks", [1, 2, 3, 6])
@pytest.mark.parametrize("name", PAIRS)
def test_what_each_gives(name, ranks):
    check_what_each_gives(name, ranks, "virtual")


@pytest.mark.mpi
@pytest.mark.parametrize("name", PAIRS)
def test_so_it_is_on_real_ranks(name):
    check_what_each_gives(name, 3, "mpi")


@pytest.mark.parametrize("name", PAIRS)
def test_which_collectives_are_called_and_what_they_send(name):
    P, (there, back, more) = 3, PAIRS[name]

    def forward(comm):
        getattr(mappings, name)(comm, torch.ones(6, 6, dtype=torch.float64), 0)

    n = 36 * 8 * (P if more == 1 else 1)  # the larger buffer
    factor = {"": 0, "Allreduce": 2, "Allgather": 1, "Reduce_scatter_block": 1}
    one, two = launch(forward, P), launch(both_ways, P, name, 1, True)
    assert one.calls[0] == ({there: 1} if there else {}) and sum(one.bytes_sent) == factor[there] * (P - 1) * n
    assert two.calls[0] == {call: 1 for call in (there, back) if call}


def test_blocks_that_are_not_equal_are_refused_with_the_way_out():
    with pytest.raises(LaunchError, match=r"3 ranks cannot share 4 elements of dimension 0 .*pad to 6, or take"):
        launch(lambda comm: mappings.scatter(comm, torch.ones(4, 2), 0), 3)


def test_shapes_that_differ_between_ranks_end_the_program_with_both():
    with pytest.raises(LaunchError, match="Allreduce"):
        launch(lambda comm: mappings.total(comm, torch.ones(4 + comm.rank)), 2)


def test_the_input_stays_as_it_is():
    def program(comm):
        x = torch.ones(6, 2)
        for name in PAIRS:
            getattr(mappings, name)(comm, x, 0)
        return x

    assert all(torch.equal(x, torch.ones(6, 2)) for x in launch(program, 2).results)

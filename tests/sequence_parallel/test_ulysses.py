"""Ulysses: the reshapes by their definition, equality with the whole sequence, shapes that a rank really holds."""

import pytest
import torch

from reference.sequence_parallel import ulysses
from reference.sequence_parallel.layouts import contiguous, striped, zigzag
from reference.sequence_parallel.ulysses import across_heads, to_heads, to_sequence, ulysses_attention
from reference.worlds import launch

from .serial import assert_equal, inputs, parallel, serial


@pytest.mark.parametrize(
    "layout, causal, heads, groups",
    [
        (contiguous(24, 1), True, 3, 1),
        (contiguous(24, 2), True, 4, 4),
        (zigzag(24, 2), False, 4, 2),
        (striped(24, 3), True, 6, 3),
        (contiguous(24, 4), True, 8, 2),  # each head of keys on two ranks
        (zigzag(16, 8), True, 8, 1),  # on all
        (contiguous([7, 12, 5], 2), True, 2, 1),
    ],
)
def test_equal_to_the_whole_sequence(layout, causal, heads, groups):
    x = inputs(heads, groups, s=layout.length)
    assert_equal(parallel(ulysses_attention, x, layout, causal), serial(x, causal, layout.tokens))


@pytest.mark.mpi
def test_equal_on_real_ranks():
    x = inputs(6, 3, s=24)
    assert_equal(parallel(ulysses_attention, x, contiguous(24, 3), world="mpi"), serial(x))


def test_the_two_reshapes():
    x = torch.arange(2 * 6 * 12 * 2.0).view(2, 6, 12, 2)

    def program(comm):
        c, heads = 12 // comm.size, 6 // comm.size
        mine = x[:, :, comm.rank * c : (comm.rank + 1) * c]
        whole = to_heads(comm, mine)
        assert torch.equal(whole, x[:, comm.rank * heads : (comm.rank + 1) * heads])
        assert torch.equal(to_sequence(comm, whole), mine)

    for ranks in (1, 2, 3, 6):
        launch(program, ranks)


@pytest.mark.parametrize("ranks, groups, held", [(2, 4, 2), (4, 2, 1), (4, 4, 1)])
def test_a_rank_holds_all_tokens_of_its_heads_and_no_others(ranks, groups, held):
    def program(comm):
        q, k, v, _ = inputs(4, groups, s=24 // comm.size)

        def attend(q, k, v):
            assert q.shape == (2, 4 // comm.size, 24, 3) and k.shape == v.shape == (2, held, 24, 3)
            return q

        assert across_heads(comm, q, k, v, attend).shape == q.shape

    launch(program, ranks)


def test_a_gradient_of_a_shared_head_is_summed_once():
    """Ones everywhere: dv of a key is the number of query heads that share it, not P / g times as many."""
    layout = contiguous(8, 4)

    def program(comm):
        q = torch.zeros(1, 8, 2, 3)
        k, v = (torch.ones(1, 2, 2, 3, requires_grad=True) for _ in "kv")
        ulysses_attention(comm, q, k, v, layout, causal=False).sum().backward()
        return v.grad

    for grad in launch(program, 4).results:
        torch.testing.assert_close(grad, torch.full_like(grad, 4.0))  # 4 heads, 8 queries of weight 1/8 each


def test_heads_that_cannot_be_dealt_out_are_refused_on_every_rank():
    def program(comm, heads, groups):
        layout = contiguous(12, comm.size)
        q, k, v, _ = (layout.shard(tensor, comm.rank, 2) for tensor in inputs(heads, groups, s=12))
        try:
            ulysses_attention(comm, q, k, v, layout)
        except ValueError as error:
            return str(error)

    assert launch(program, 3, 4, 4).results == ["3 ranks cannot share 4 heads alike: take a number of ranks that "
                                                "divides the heads"] * 3  # fmt: skip
    (message,) = set(launch(program, 4, 12, 6).results)
    assert message.startswith("4 ranks cannot share 6 heads of keys and values")
    assert ulysses.heads_trouble(4, 8, 2) == ulysses.heads_trouble(2, 8, 4) == ""

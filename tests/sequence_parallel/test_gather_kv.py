"""All-gather of keys and values: equal to the whole sequence; one collective forward, two backward."""

import pytest
import torch

from reference.sequence_parallel.gather_kv import collect, gather_attention
from reference.sequence_parallel.layouts import contiguous, striped, zigzag, zigzag_documents
from reference.worlds import launch

from .serial import assert_equal, inputs, parallel, serial


@pytest.mark.parametrize(
    "layout, causal, groups",
    [
        (contiguous(24, 1), True, 4),
        (zigzag(24, 2), True, 1),
        (striped(24, 3), False, 2),
        (zigzag(24, 4), True, 4),
        (contiguous(24, 8), True, 2),
        (zigzag_documents([8, 16], 4), True, 2),
        (contiguous([7, 12, 5], 3), True, 2),
    ],
)
def test_equal_to_the_whole_sequence(layout, causal, groups):
    x = inputs(4, groups, s=24)
    assert_equal(parallel(gather_attention, x, layout, causal), serial(x, causal, layout.tokens))


@pytest.mark.mpi
def test_equal_on_real_ranks():
    x = inputs(s=24)
    assert_equal(parallel(gather_attention, x, zigzag(24, 3), world="mpi"), serial(x))


def test_what_is_collected():
    def program(comm):
        k = torch.full((1, 1, 2, 3), float(comm.rank))
        return collect(comm, k, -k)

    for every in launch(program, 3).results:
        assert every.shape == (3, 2, 1, 1, 2, 3)
        assert every[:, 0].mean((1, 2, 3, 4)).tolist() == [0, 1, 2]
        assert torch.equal(every[:, 1], -every[:, 0])


def test_keys_of_other_shapes_are_refused_on_every_rank():
    def program(comm):
        layout = zigzag(24, comm.size)
        q, k, v, _ = (layout.shard(tensor, comm.rank, 2) for tensor in inputs(g=2 - comm.rank))
        with pytest.raises(ValueError, match=r"rank 1 has 'k \[2, 1, 12, 3\]"):
            gather_attention(comm, q, k, v, layout)

    launch(program, 2)

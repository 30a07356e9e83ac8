"""Layouts: each conversion gives the same tensor, sends what its formula says, and takes that long."""

import pytest
import torch

from reference.networks import uniform
from reference.planner.carry_out import redistribute, take
from reference.planner.layouts import (
    PARTIAL,
    REPLICATED,
    SHARED,
    SUMMANDS,
    WHOLE,
    CollectiveCall,
    between,
    conversion,
    cut,
    local_elements,
    sharded,
    transfer_bytes,
    transfer_cost,
)
from reference.worlds import launch

from .machines import LINK, together

LAYOUTS = [REPLICATED, PARTIAL, sharded("b"), sharded("h")]
SIZES = {"b": 8, "s": 3, "h": 16}


@pytest.mark.parametrize("P", [2, 4])
@pytest.mark.parametrize("want", LAYOUTS, ids=str)
@pytest.mark.parametrize("have", LAYOUTS, ids=str)
def test_conversions_give_the_same_tensor_and_send_what_they_cost(have, want, P):
    x = torch.arange(8 * 3 * 16, dtype=torch.float64).reshape(8, 3, 16)

    def program(comm):
        mine = take(x, have, "bsh", P, comm.rank)
        kept = mine.clone()
        found = redistribute(comm, mine, have, want, "bsh")
        assert torch.equal(mine, kept)
        return found

    run = launch(program, P, network=uniform(*LINK))
    assert torch.equal(together(run.results, want, "bsh"), x)
    assert {part.numel() for part in run.results} == {local_elements(want, "bsh", SIZES, P)}
    if collective := conversion(have, want):
        transfer = CollectiveCall("x", "forward", collective, x.numel())
        assert sum(run.bytes_sent) == transfer_bytes(transfer, P, 8)
        assert run.seconds == pytest.approx(transfer_cost(transfer, P, 8, LINK).seconds)
    else:
        assert sum(run.bytes_sent) == 0


def test_the_bytes_of_each_collective():
    P, n = 4, 96
    sent = {c: transfer_bytes(CollectiveCall("x", "forward", c, n), P, 1) for c in ("allgather", "reduce_scatter")}
    assert sent == {"allgather": 3 * n, "reduce_scatter": 3 * n}
    assert transfer_bytes(CollectiveCall("x", "forward", "allreduce", n), P, 1) == 6 * n
    assert transfer_bytes(CollectiveCall("x", "forward", "alltoall", n), P, 1) == 3 * n / 4


def kinds(made, wanted, gradient=True):
    return [(one.phase, one.collective) for one in between("x", made, wanted, 64, gradient)]


def test_what_is_sent_forward_has_its_conjugate_backward():
    """Megatron's f and g; then its sequence parallelism, whose two are all-gather and reduce-scatter."""
    assert kinds(WHOLE, SHARED) == [("backward", "allreduce")]
    assert kinds(SUMMANDS, WHOLE) == [("forward", "allreduce")]
    assert kinds(cut("s"), SHARED) == [("forward", "allgather"), ("backward", "reduce_scatter")]
    assert kinds(SUMMANDS, cut("s")) == [("forward", "reduce_scatter"), ("backward", "allgather")]
    assert kinds(cut("s"), cut("h")) == [("forward", "alltoall"), ("backward", "alltoall")]
    assert kinds(cut("s"), SHARED, gradient=False) == [("forward", "allgather")]
    assert kinds(WHOLE, cut("s")) == [("backward", "allgather")]

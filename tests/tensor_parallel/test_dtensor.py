"""The same as DTensor's parallelize_module over gloo: column, row and sequence parallel, output and all gradients."""

import pytest
import torch

from reference.tensor_parallel import ColumnParallelLinear, RowParallelLinear
from reference.tensor_parallel.sequence import LayerNorm
from reference.worlds import launch

from ..oracles import RANKS
from ..oracles.tensor_parallel import NormedFeedForward, inputs


def ours(comm, sequence):
    """What the oracles do."""
    serial = NormedFeedForward()
    norm = LayerNorm(comm, serial.norm, sequence)
    wide = ColumnParallelLinear(comm, serial.wide, sequence=sequence)
    narrow = RowParallelLinear(comm, serial.narrow, sequence=sequence)
    x, dy = (whole.chunk(comm.size, 1)[comm.rank].clone() if sequence else whole for whole in inputs())
    x.requires_grad_()
    y = narrow(torch.nn.functional.gelu(wide(norm(x))))
    y.backward(dy)
    layers = {"norm": norm, "wide": wide, "narrow": narrow}
    gradients = {f"{name}.{key}": p.grad for name, layer in layers.items() for key, p in layer.named_parameters()}
    return {"y": y.detach(), "dx": x.grad, **gradients}


@pytest.mark.parametrize("name, sequence", [("column_and_row", False), ("megatron_sequence", True)])
def test_each_rank_has_what_dtensor_has(oracles, name, sequence):
    for mine, theirs in zip(launch(ours, RANKS, sequence).results, oracles[name], strict=True):
        assert set(mine) == set(theirs)
        for key, expected in theirs.items():
            torch.testing.assert_close(mine[key], expected, rtol=1e-12, atol=1e-11, msg=f"{name} {key}")

"""What stage 2 alone does: sums over micro-batches, in shards or whole. All else: test_stage1.py, with both stages."""

from functools import partial

import torch
from torch import nn

from reference.worlds import launch
from reference.zero.stage2 import Stage2


def test_micro_batches_of_16_bits_are_added_up_in_float32():
    """1 + 63 times 2^-8 is 1 in bfloat16, added one by one. Shards are added in float32, whole gradients are not."""

    def program(comm, accumulate):
        layer = nn.Linear(1, 1, bias=False).bfloat16()
        nn.init.zeros_(layer.weight)
        stage = Stage2(comm, layer, partial(torch.optim.SGD, lr=1.0), accumulate=accumulate)
        for k in range(64):
            x = torch.tensor([[1.0 if k == 0 else 2**-9]], dtype=torch.bfloat16)
            stage.backward(layer(x).sum(), 1 if k == 0 else 0, sync=k == 63)
        stage.step()
        return stage.groups[0].master[0].item()

    assert launch(program, 1, "shards").results == [-(1 + 63 * 2**-9)]
    assert launch(program, 1, "whole").results == [-1]

"""What torch chooses to keep of the same blocks: checkpoints, selective policies, and its min-cut partitioner.

Idea      Each function makes a forward pass of the blocks, which `graph.recorded` can watch. So what torch keeps and
          computes again is put on one scale with our plans: the same operations, bytes and seconds.
          `torch.utils.checkpoint` keeps a block's input. A selective policy names operations whose results are kept
          besides; all others are computed again. The partitioner of AOTAutograd, which torch.compile uses, has the
          operations of both passes in one graph, and cuts between forward and backward where the fewest bytes cross.
          Its budget, between 0 (inputs only) and 1, adds a knapsack: what to compute again so that less crosses.
Left out  Inductor, which fuses operations: a chain of elementwise ones that is one kernel there counts as several here.
Source    torch 2.13: torch/utils/checkpoint.py; torch/_functorch/partitioners.py, min_cut_rematerialization_partition;
          torch/_functorch/config.py, activation_memory_budget. Looked up on 2026-11-23.
Try       recorded(blocks, x, device, forward=selective(blocks, MATMULS))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

Forward = Callable[[Tensor], Tensor]

MATMULS = (torch.ops.aten.addmm.default,)
ATTENTION = (torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default,)


def one_after_the_other(blocks: Iterable[Forward]) -> Forward:
    """The blocks as one function."""

    def forward(x: Tensor) -> Tensor:
        for block in blocks:
            x = block(x)
        return x

    return forward


def checkpointed(blocks: Iterable[nn.Module]) -> Forward:
    """Each block under torch.utils.checkpoint: its input is kept, all else is computed again."""
    return one_after_the_other([partial(checkpoint, block, use_reentrant=False) for block in blocks])


def selective(blocks: Iterable[nn.Module], kept: Sequence[Any]) -> Forward:
    """Each block under torch.utils.checkpoint; the results of the operations `kept` are kept, too."""
    contexts = partial(create_selective_checkpoint_contexts, list(kept))
    return one_after_the_other(
        [partial(checkpoint, block, use_reentrant=False, context_fn=contexts) for block in blocks]
    )


def partitioned(blocks: Iterable[nn.Module], x: Tensor, budget: float = 1.0) -> Forward:
    """Each block as AOTAutograd's min-cut partitioner cuts it, with this activation_memory_budget. x: to trace with."""
    from torch._functorch import config  # here: these take a second to import
    from torch._functorch.aot_autograd import aot_module, make_boxed_func
    from torch._functorch.partitioners import min_cut_rematerialization_partition

    def as_it_is(graph: Any, _: Any) -> Callable:
        return make_boxed_func(graph.forward)

    found = []
    with config.patch(activation_memory_budget=budget):
        for block in blocks:
            cut = aot_module(
                block, fw_compiler=as_it_is, bw_compiler=as_it_is, partition_fn=min_cut_rematerialization_partition
            )
            cut(x)
            found.append(cut)
    return one_after_the_other(found)

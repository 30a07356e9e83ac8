"""Tensor parallelism: each rank has a part of every layer's weights, and computes a part of every product.

    from reference.tensor_parallel import GPT
    model = GPT(comm, models.GPT(config, seed))  # this rank's part; comm is the tensor-parallel group's
    total, count = model.loss_sum(batch)  # the same batch on all ranks
    (total / count).backward()

mappings.py has what crosses between ranks; layers.py, attention.py, vocabulary.py and gpt.py what is cut how;
sequence.py, overlap.py and dropout.py what training adds; summa.py, cannon.py and two_and_half.py other ways to share a
matrix product; volume.py the bytes of each.
"""

from .gpt import GPT
from .layers import ColumnParallelLinear, RowParallelLinear
from .shards import whole

__all__ = ["GPT", "ColumnParallelLinear", "RowParallelLinear", "whole"]

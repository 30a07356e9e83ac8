"""Mappings: how a tensor goes from one rank to all ranks of a layer, or back, and what that does to its gradient.

Idea      Each mapping is linear, so the gradient goes through its transpose. To use one x on P ranks is to copy it, and
          the transpose of P copies is a sum of P terms. So one all-reduce in the forward pass, or one in the backward
          pass, and nothing on the other side: a pair. Write both down once, and autograd does the rest.

              mapping          forward                   backward                 Megatron-LM's name
              copy             nothing                   all-reduce               copy_to (the paper's f)
              total            all-reduce                nothing                  reduce_from (the paper's g)
              scatter          keep the own block        all-gather               scatter_to
              gather           all-gather                keep the own block       gather_from
              gather_total     all-gather                reduce-scatter           gather_from_sequence_parallel
              scatter_total    reduce-scatter            all-gather               reduce_scatter_to_sequence_parallel

          "gather" is right where all ranks go on alike with the whole: each has the whole gradient, and keeps its own
          block of it. "gather_total" is right where each rank uses the whole in a different way: their gradients differ
          and have to be added.
Sends     Of n bytes: all-reduce 2 (P - 1) / P n a rank, all-gather and reduce-scatter (P - 1) / P n.
Exact     On one rank each mapping is x itself, and nothing is sent. Sums over ranks are rounded in another order than
          serial ones.
Left out  bfloat16, which most MPIs cannot add up.
Source    Shoeybi et al., "Megatron-LM" (2019), section 3 (f and g); Korthikanti et al., "Reducing Activation
          Recomputation in Large Transformer Models" (2022), section 4.2 (those of the sequence).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from .. import mpi

# What ranks can do with a tensor: (comm, x, dim) -> a tensor. x stays as it is.


def same(comm, x: Tensor, dim: int) -> Tensor:
    """Nothing: x itself."""
    return x


def all_reduce(comm, x: Tensor, dim: int) -> Tensor:
    """The sum of all ranks' x, on every rank."""
    y = x.clone(memory_format=torch.contiguous_format)
    comm.Allreduce(mpi.IN_PLACE, y)
    return y


def own_block(comm, x: Tensor, dim: int) -> Tensor:
    """Of P equal blocks along `dim` the one of this rank. Raises ValueError if there are no P equal blocks."""
    return blocks(x, comm.size, dim)[comm.rank].contiguous()


def all_gather(comm, x: Tensor, dim: int) -> Tensor:
    """All ranks' x, one after the other along `dim`."""
    y = x.new_empty(comm.size, *x.shape)
    comm.Allgather(x.contiguous(), y)
    return torch.cat(y.unbind(), dim)


def reduce_scatter(comm, x: Tensor, dim: int) -> Tensor:
    """This rank's block, along `dim`, of the sum of all ranks' x."""
    parts = torch.stack(blocks(x, comm.size, dim))
    y = torch.empty_like(parts[0])
    comm.Reduce_scatter_block(parts, y)
    return y


def blocks(x: Tensor, P: int, dim: int) -> tuple[Tensor, ...]:
    """P views of equal size along `dim`. Raises ValueError, which says what to do, if P does not divide it."""
    if x.shape[dim] % P:
        raise ValueError(
            f"{P} ranks cannot share {x.shape[dim]} elements of dimension {dim} (shape {tuple(x.shape)}) in equal "
            f"blocks: pad to {padded(x.shape[dim], P)}, or take a number of ranks that divides {x.shape[dim]}"
        )
    return x.chunk(P, dim)


def padded(n: int, P: int) -> int:
    """The least multiple of P that is at least n."""
    return -(-n // P) * P


# Mappings: what to do forward, and its transpose ----------------------------------------------------------------------

Action = Callable[..., Tensor]


class Mapping(torch.autograd.Function):
    """y = forward(x); dx = backward(dy)."""

    @staticmethod
    def forward(ctx, comm, x: Tensor, dim: int, forward: Action, backward: Action) -> Tensor:
        """What `forward` makes of x."""
        ctx.todo = comm, dim, backward
        return forward(comm, x.detach(), dim)  # MPI takes no tensor that needs a gradient

    @staticmethod
    def backward(ctx, dy: Tensor):
        """What `backward` makes of dy."""
        comm, dim, backward = ctx.todo
        return None, backward(comm, dy, dim), None, None, None


def mapping(forward: Action, backward: Action, doc: str) -> Action:
    """The function (comm, x, dim=-1) that does this forward and that backward."""

    def mapped(comm, x: Tensor, dim: int = -1) -> Tensor:
        return x if comm.size == 1 else Mapping.apply(comm, x, dim, forward, backward)

    mapped.__doc__ = doc
    return mapped


copy = mapping(same, all_reduce, "x as it is; backward, the gradients are summed")
total = mapping(all_reduce, same, "the sum of all x; backward, the gradient as it is")
scatter = mapping(own_block, all_gather, "this rank's block of an x that all share")
gather = mapping(all_gather, own_block, "all blocks, for ranks that go on alike")
gather_total = mapping(all_gather, reduce_scatter, "all blocks, used differently")
scatter_total = mapping(reduce_scatter, all_gather, "this rank's block of the sum")

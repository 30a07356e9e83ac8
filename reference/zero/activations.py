"""Partitioned activation checkpointing (ZeRO-R's P_a): P tensor-parallel ranks keep one copy of a block's input.

Idea      With activation checkpointing a block keeps its input only, and computes the rest again in the backward pass.
          Tensor parallelism cuts what is inside of a block; its input x [b, s, h] is the same on all P ranks. So each
          rank keeps one P-th of it, and an all-gather puts x together before the block is computed again.

              forward    y = block(x), nothing kept but x           rank r keeps piece r of x's b s h elements
              backward   all-gather x; y = block(x) again; then the backward pass of the block

Before    b s h elements a block on each of the P ranks
After     ceil(b s h / P); in the backward pass, x of one block at a time. With `keep` the pieces go elsewhere: to the
          host (`Away`, the paper's P_a+cpu), or into one buffer that was allocated beforehand (`Rows`)
Sends     One all-gather of b s h elements a block, (P - 1) / P b s h from each rank. Tensor parallelism itself sends
          six all-reduces a block when it recomputes, 12 (P - 1) / P b s h: one twelfth is added.
Exact     The gathered x has the bits of x, so gradients have the bits of plain checkpointing. Dropout must draw the
          same masks again: `random` names its sources, whose state is saved, and restored for the second forward pass.
Left out  Overlap of the all-gather with the backward pass of the block behind; a second backward pass through the same
          graph. With Megatron's sequence parallelism x is cut already: no gather then.
Source    Rajbhandari et al., "ZeRO" (2020), sections 6.1 and 8; Chen, Xu, Zhang & Guestrin, "Training Deep Nets with
          Sublinear Memory Cost" (2016), for checkpointing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import _disable_current_modes

from .. import recompute
from ..models import Config
from ..recompute.checkpoint import Fetch, Keep, Random, stay
from ..recompute.policies import randomness
from ..tensor_parallel import volume
from ..tensor_parallel.volume import Traffic
from ..tiers import CopyEngines
from ..tiers.engine import Job


def checkpoint(
    comm,
    block: Callable[[Tensor], Tensor],
    x: Tensor,
    random: Sequence[Random] = (),
    keep: Keep = stay,
) -> Tensor:
    """block(x), of which only x is kept for the backward pass: this rank's piece of it.

    comm: the ranks that hold the same x and call with the same block; None: x is this rank's own, and kept whole.
    random: where the block's dropout comes from. keep: takes a piece [ceil(elements / P)] and returns a function that
    brings it back, which is called once. Without grad mode this is block(x).
    Raises RuntimeError when a backward pass goes through it a second time.
    """
    return recompute.checkpoint(block, x, random=random, keep=partitioned(comm, keep))


def partitioned(comm, keep: Keep = stay) -> Keep:
    """A `keep` that keeps this rank's piece of x, and gathers the others' when x is needed again."""
    if comm is None or comm.size == 1:
        return keep

    def keep_piece(x: Tensor) -> Fetch:
        fetch, shape = keep(own_piece(comm, x)), x.shape
        return lambda: whole(comm, fetch(), shape)

    return keep_piece


def own_piece(comm, x: Tensor) -> Tensor:
    """This rank's ceil(elements / P) elements of x, as a copy, with zeros where x has ended."""
    each = -(-x.numel() // comm.size)
    mine = x.reshape(-1)[comm.rank * each : (comm.rank + 1) * each]
    piece = x.new_zeros(each)
    piece[: len(mine)] = mine
    return piece


def whole(comm, piece: Tensor, shape: torch.Size) -> Tensor:
    """All ranks' pieces as the tensor of this shape that they were cut from. Bytes travel, whatever the type."""
    x = piece.new_empty(comm.size * len(piece))
    comm.Allgather(piece.view(torch.uint8), x.view(torch.uint8))
    return x[: shape.numel()].view(shape)


def checkpoint_blocks(model: nn.Module, comm, keep: Keep = stay) -> nn.Module:
    """Checkpoint each block of a GPT (of `models` or `tensor_parallel`), partitioned over comm; return the model.

    comm: the model's tensor-parallel group; None: each rank keeps the whole. With sequence parallelism the input of a
    block is this rank's tokens already, and is kept as it is.
    """
    random = randomness(model)
    group = None if getattr(model, "sequence", False) else comm
    for block in cast(Any, model.blocks):
        block.forward = partial(checkpoint, group, block.forward, random=random, keep=keep)
    return model


class Rows:
    """One buffer for all pieces, allocated beforehand (ZeRO-R's M_D for checkpoints): a `keep` for `checkpoint`.

    buffer: [count, n]; count pieces of at most n elements can be away at a time. Raises RuntimeError for one more.
    """

    def __init__(self, count: int, n: int, dtype: torch.dtype = torch.float32):
        self.buffer, self.vacant = torch.empty(count, n, dtype=dtype), list(range(count))[::-1]

    def __call__(self, piece: Tensor) -> Fetch:
        if not self.vacant:
            raise RuntimeError(f"all {len(self.buffer)} rows are taken: allocate one for each block that is under way")
        row, shape = self.vacant.pop(), piece.shape
        place = self.buffer[row, : piece.numel()].view(shape)
        place.copy_(piece)

        def fetch() -> Tensor:
            self.vacant.append(row)
            return place.clone()  # the row may be filled anew before the block is done with it

        return fetch


class Away:
    """Pieces in another tier (P_a+cpu), each brought back one block before it is needed: a `keep` for `checkpoint`.

    The piece put away last must be fetched first, as the backward pass does.
    """

    class _Piece(NamedTuple):
        """A piece in the tier, and the copies to it and (perhaps not yet) from it."""

        below: Tensor
        down: Job
        back: list[tuple[Tensor, Job]]

    def __init__(self, engines: CopyEngines):
        self.engines, self.pieces = engines, []

    def __call__(self, piece: Tensor) -> Fetch:
        with _disable_current_modes():  # not in this rank's memory
            below = torch.empty_like(piece)
        self.pieces.append(self._Piece(below, self.engines.down("checkpoint", piece, below), []))
        return self.fetch

    def fetch(self) -> Tensor:
        """The piece that was put away last; the one before it starts to come back."""
        piece = self.pieces.pop()
        self._bring(piece)
        if self.pieces:
            self._bring(self.pieces[-1])
        target, job = piece.back.pop()
        job.wait()
        return target

    def _bring(self, piece: Away._Piece) -> None:
        """Start the copy back, unless that was done."""
        if not piece.back:
            target = torch.empty_like(piece.below)
            piece.back.append((target, self.engines.up("checkpoint", piece.below, target, after=[piece.down])))


# What it costs --------------------------------------------------------------------------------------------------------


def kept_bytes(P: int, b: int, s: int, h: int, layers: int, itemsize: int = 2) -> int:
    """Bytes of checkpoints on one rank: layers ceil(b s h / P) elements; P = 1: without partitioning."""
    return layers * -(-b * s * h // P) * itemsize


def recomputed(P: int, b: int, s: int, config: Config) -> Traffic:
    """What tensor parallelism sends for one block that is recomputed: forward, forward again, backward."""
    forward, backward = volume.block(P, b, s, config)
    return forward + forward + backward


def gathered(P: int, b: int, s: int, h: int) -> Traffic:
    """What partitioning adds for one block: an all-gather of its input, with padding to a multiple of P."""
    return volume.collective("Allgather", P, -(-b * s * h // P) * P)

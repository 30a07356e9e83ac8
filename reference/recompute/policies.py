"""Which parts of a GPT are computed again: whole blocks, runs of blocks, or what is cheap and large inside of a block.

Idea      A policy is a word. It changes how the blocks of a model go forward in training, and nothing else: not the
          parameters, not their names, not the results.

              none        everything is kept
              full        a block keeps its input, [b, s, h], and is computed again
              every:K     K blocks together keep the input of the first
              sqrt        every:K with K near the square root of the number of blocks
              selective   a block keeps what is dear, and computes again what is cheap for its bytes: the heart of
                          attention (q, k, v are kept, scores and weights are not), the outputs of norms and GELU

          The output of a norm is kept by the layer that multiplies it, not by the norm. So a checkpoint around the norm
          frees nothing: the layer's record must know how to get its input from the norm's (`OutputDropped`).
Exact     Gradients have the bits of training that keeps everything. Masks of dropout are drawn again from the same
          state: torch's global generator, or the model's own (`masks` of tensor parallelism).
Price     full, every:K and sqrt: one more forward pass of the blocks; under tensor parallelism also its all-reduces
          again. selective: norms, GELU and attention's heart, in which no rank talks to another. Where a flash kernel
          computes attention there are no scores to free, so that its part is spent for nothing.
Source    Chen et al. (2016) for runs; Korthikanti et al., "Reducing Activation Recomputation in Large Transformer
          Models" (2022), section 5, for attention's heart. Megatron-Core drops outputs with recompute_modules.
Try       mpirun -n 2 python -m reference.train --model gpt --tensor 2 --recompute selective
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import isqrt
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from .checkpoint import GLOBAL, Fetch, Random, checkpoint, stay

WORDS = ("none", "full", "selective", "every:K", "sqrt")


class RecomputePolicy(NamedTuple):
    """A policy: "none", "full", "selective", "every" or "sqrt"; of "every", how many blocks."""

    kind: str
    blocks: int = 1

    def run(self, L: int) -> int:
        """How many of L blocks are computed again together; 0: no whole blocks are."""
        if self.kind == "sqrt":
            return max(1, isqrt(L - 1) + 1 if (isqrt(L) * (isqrt(L) + 1)) < L else isqrt(L))
        return min(self.blocks, L) if self.kind in ("full", "every") else 0


def policy(words: str) -> RecomputePolicy:
    """The policy of these words, such as "every:2". Raises ValueError for others."""
    kind, _, blocks = words.partition(":")
    if words in WORDS and kind != "every":
        return RecomputePolicy(kind)
    if kind == "every" and blocks.isascii() and blocks.isdigit() and int(blocks):
        return RecomputePolicy(kind, int(blocks))
    raise ValueError(f"recompute is one of {', '.join(WORDS)} with a number K of blocks from 1, got {words!r}")


def recompute(model: nn.Module, words: str) -> nn.Module:
    """Have a GPT (of `models`, `tensor_parallel` or `mesh`) train by this policy; return it.

    For a model of which a rank runs some blocks only, the stages of a pipeline, see `recompute_blocks`.
    Raises ValueError as `policy` does.
    """
    blocks: Any = model.blocks
    K = recompute_blocks(model, words)
    if K > 1:
        blocks.forward = in_runs(list(blocks), K, randomness(model))
    return model


def recompute_blocks(model: nn.Module, words: str) -> int:
    """What of the policy takes place inside of one block; K > 1 if K blocks are to be computed again together.

    Raises ValueError as `policy` does.
    """
    found, random = policy(words), randomness(model)
    blocks: Any = model.blocks
    K = found.run(len(blocks))
    for block in blocks:
        if found.kind == "selective":
            select(block, random)
        elif K == 1:
            block.forward = partial(checkpoint, block.forward, random=random)
    return K


def in_runs(
    functions: Sequence[Callable[[Tensor], Tensor]], K: int, random: Sequence[Random] = GLOBAL
) -> Callable[[Tensor], Tensor]:
    """The functions one after the other, of which each K keep the input of the first; the last ones may be fewer."""

    def run(some: Sequence[Callable[[Tensor], Tensor]], x: Tensor) -> Tensor:
        for function in some:
            x = function(x)
        return x

    runs = [partial(run, functions[first : first + K]) for first in range(0, len(functions), K)]
    return partial(run, [partial(checkpoint, one, random=random) for one in runs])


def randomness(model: nn.Module) -> Sequence[Random]:
    """Where the dropout of this model comes from."""
    masks: Any = getattr(model, "masks", None)
    return GLOBAL if masks is None else (masks,)


# Inside of a block ----------------------------------------------------------------------------------------------------


def select(block: Any, random: Sequence[Random] = GLOBAL) -> None:
    """Have a block compute again the heart of its attention and the outputs of its norms and GELU."""
    wide, gelu, narrow = block.feed_forward
    block.attention.attend = partial(checkpoint, block.attention.attend, random=random)
    for producer, consumer in ((block.norm1, block.attention.qkv), (block.norm2, wide), (gelu, narrow)):
        OutputDropped(producer, consumer)


class OutputDropped:
    """What the producer puts out and the consumer's record would hold is computed again, when the record needs it.

    producer: a module of one tensor that draws no random numbers and whose own record is its input. consumer: the
    module that takes its output next. Both are changed in place. Each use in the backward pass costs one forward pass
    of the producer. Raises RuntimeError there if the producer's input has been changed in place.
    """

    def __init__(self, producer: nn.Module, consumer: nn.Module):
        self.produce, self.consume = producer.forward, consumer.forward
        self.made: tuple[Fetch, int] | None = None  # the input of the last output, and whose memory that is
        producer.forward, consumer.forward = self.put_out, self.take

    def put_out(self, x: Tensor) -> Tensor:
        """The producer's forward pass."""
        y = self.produce(x)
        self.made = (stay(x.detach()), y.untyped_storage()._cdata) if torch.is_grad_enabled() else None
        return y

    def take(self, y: Tensor) -> Tensor:
        """The consumer's forward pass; where its record has y, it has a way to y instead."""
        made, self.made = self.made, None
        if made is None or y.untyped_storage()._cdata != made[1]:
            return self.consume(y)
        fetch, memory = made

        def pack(kept: Tensor) -> Any:
            if kept.untyped_storage()._cdata != memory:
                return kept
            return kept.shape, kept.stride(), kept.storage_offset()

        def unpack(packed: Any) -> Tensor:
            if isinstance(packed, Tensor):
                return packed
            with torch.no_grad():
                return self.produce(fetch()).as_strided(*packed)

        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            return self.consume(y)

"""A stage of a GPT that takes a sequence piece by piece, forward and backward, and gives what the whole would give.

Idea      All but attention treats each token by itself. In attention a piece needs the keys and values of the pieces
          before it: they are kept. Backward, their gradients come from all pieces behind: these are added up until it
          is their own piece's turn, and then go on from there together with the gradient of its output.
          So what is kept is a stack: the last piece forward is the first piece backward, and no other order will do.
Price     Keys and values of a sequence stay until its backward pass: 2 s h numbers a layer.
Left out  The executor, which knows nothing of sequences. The embedding, whose positions would have to begin where the
          piece does. A kernel that skips what the mask hides.
Source    Li et al., "TeraPipe: Token-Level Pipeline Parallelism for Training Large-Scale Language Models" (2021).
"""

from __future__ import annotations

from collections import defaultdict

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...models.gpt import Attention

Pairs = list[tuple[Tensor, Tensor]]


class Remembering(nn.Module):
    """Attention over a piece x [b, c, h] and over all pieces before it of the same sequence."""

    def __init__(self, attention: Attention):
        super().__init__()
        self.attention, self.sequence = attention, 0
        self.made: dict[int, Pairs] = defaultdict(list)  # sequence -> keys, values [b, a, c, h/a] of pieces, with graph
        self.kept: dict[int, Pairs] = defaultdict(list)  # the same, cut off: here gradients add up

    def forward(self, x: Tensor) -> Tensor:
        """[b, c, h] -> [b, c, h]."""
        (b, c, h), a = x.shape, self.attention.heads
        q, k, v = self.attention.qkv(x).view(b, c, a, 3 * h // a).transpose(1, 2).chunk(3, dim=-1)
        keys, values = (torch.cat(pieces, dim=2) for pieces in zip(*self.kept[self.sequence], (k, v)))
        before = keys.shape[2] - c
        mask = torch.ones(c, before + c, dtype=torch.bool, device=x.device).tril(before)
        y = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
        self.made[self.sequence].append((k, v))
        self.kept[self.sequence].append((k.detach().requires_grad_(), v.detach().requires_grad_()))
        return self.attention.out(y.transpose(1, 2).reshape(b, c, h))

    def pop(self) -> Pairs:
        """Keys and values of the last piece, each with the gradient that later pieces have left, if there were any."""
        pairs = zip(self.made[self.sequence].pop(), self.kept[self.sequence].pop())
        return [(made, kept.grad) for made, kept in pairs if kept.grad is not None]


class Pieces:
    """A stage made of blocks, whose attention layers are replaced. Gradients of weights add up in .grad."""

    def __init__(self, stage: nn.Module):
        self.stage = stage
        for module in list(stage.modules()):
            for name, child in list(module.named_children()):
                if isinstance(child, Attention):
                    setattr(module, name, Remembering(child))
        self.layers = [module for module in stage.modules() if isinstance(module, Remembering)]
        self.live: dict[int, Pairs] = defaultdict(list)  # sequence -> input and output of each piece

    def forward(self, x: Tensor, sequence: int = 0) -> Tensor:
        """x [b, c, h], the next piece of this sequence -> what the stage makes of it."""
        self._turn_to(sequence)
        x = x.detach().requires_grad_()
        y = self.stage(x)
        self.live[sequence].append((x, y))
        return y.detach()

    def backward(self, gradient: Tensor, sequence: int = 0) -> Tensor:
        """The gradient for the output of its last piece that has not gone backward -> that for the piece's input."""
        self._turn_to(sequence)
        x, y = self.live[sequence].pop()
        pairs = [(y, gradient), *(pair for layer in self.layers for pair in layer.pop())]
        outputs, gradients = map(list, zip(*pairs))
        torch.autograd.backward(outputs, gradients)
        return x.grad

    def _turn_to(self, sequence: int) -> None:
        for layer in self.layers:
            layer.sequence = sequence

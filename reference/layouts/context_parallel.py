"""Context parallelism: N neighbours share each sequence, and the groups of N are data-parallel.

Idea      As `sequence_parallel/gpt.py` says. The ranks of a group take the same share of every batch, and of it each
          its own tokens. Every rank has all parameters, so gradients are summed over all ranks, tokens being samples.
"""

from __future__ import annotations

import argparse
from copy import deepcopy
from typing import ClassVar, cast

from torch import nn

from ..data_parallel.groups import groups
from ..models import GPT, loss_sum
from ..sequence_parallel import SequenceLayout, contiguous, shard, shard_gpt, striped, zigzag
from ..sequence_parallel.gpt import METHODS
from ..sequence_parallel.ulysses import heads_trouble
from .data_parallel import DataParallel, Part, without_empty
from .layout import Option, config
from .tensor_parallel import in_groups

TOKENS = {"zigzag": zigzag, "contiguous": contiguous, "striped": striped}


def share_tokens(chosen: argparse.Namespace, N: int, length: int, heads: int, groups: int) -> SequenceLayout:
    """Which tokens each of N ranks has; heads and groups: that a rank has. Raises ValueError if it cannot be."""
    trouble = heads_trouble(N, heads, groups) if chosen.attention == "ulysses" else ""
    try:
        tokens = TOKENS[chosen.tokens](length, N)
    except ValueError as error:
        trouble = str(error)
    if trouble:
        raise ValueError(f"--context {N}: {trouble}")
    return tokens


class ContextParallel(DataParallel):
    """Each rank of a group has the whole model and 1 / N of the tokens of each sequence."""

    name = "context parallelism"
    group = "group"
    switch = "context"
    options: ClassVar = {
        "context": Option(None, {"type": int, "metavar": "N", "help": "ranks that share each sequence of the gpt"}),
        "attention": Option("ring", {"choices": METHODS, "help": "how queries meet other ranks' keys (default: ring)"}),
        "tokens": Option("zigzag", {"choices": TOKENS, "help": "which of them a rank has (default: zigzag)"}),
    }
    others = ("bucket", "order", "recompute")

    def __init__(self, ranks: int, chosen: argparse.Namespace):
        super().__init__(ranks, chosen)
        N, of = chosen.context, config(chosen)
        if chosen.model != "gpt":
            raise ValueError(f"--context {N} cuts sequences: take --model gpt, got --model {chosen.model}")
        self.tokens = share_tokens(chosen, N, of.length, of.heads, of.groups)

    def lines(self) -> list[str]:
        """Groups, and how they share a sequence."""
        N, of = self.chosen.context, f"{self.tokens.length // self.chosen.context} of {self.tokens.length} tokens"
        how = f"{self.chosen.tokens}, {self.chosen.attention}"
        return [f"{in_groups(self.ranks, N)} with {of} (context parallelism), {how}"]

    def part(self, comm, model: nn.Module) -> Part:
        """All of the model, and a part of each sequence. Collective."""
        group, copies = groups(comm, self.chosen.context, "cp")
        cut = shard_gpt(group, deepcopy(cast(GPT, model)), self.tokens, self.chosen.attention, checked=False)
        return Part(
            comm,
            cut,
            (copies.rank, copies.size),
            loss_sum=without_empty(loss_sum),
            own=lambda data: shard(data, self.tokens, group.rank),
            collect=lambda: model.load_state_dict(cut.model.state_dict()) and None,
            prefix="model.",
        )

"""Tensor parallelism: N neighbours share each layer of a GPT, and the groups of N are data-parallel.

Idea      As `tensor_parallel/gpt.py` says. The ranks of a group take the same share of every batch; gradients are
          summed over the ranks that have the same part in all groups.
Exact     What all ranks of a group hold whole (norms, positions, some biases) must get the same sum in each of them,
          bit by bit, though each sums in another communicator. So all choose their all-reduce for one description of
          the machine. In the end `shards.whole` compares these parameters; it puts the others together.
Left out  Compressed gradients: a codec that looks at a bucket as a whole would treat what all ranks of a group hold
          differently on each, for the rest of the bucket differs.
"""

from __future__ import annotations

import argparse
from typing import Any, ClassVar, cast

import torch
from torch import nn

from ..collectives import allreduce
from ..collectives.select import known
from ..data_parallel.groups import groups
from ..models import GPT, Config
from ..tensor_parallel import GPT as TensorParallelGPT
from ..tensor_parallel import whole
from ..tensor_parallel.degree import check_degree
from .data_parallel import DataParallel, Part, without_empty
from .layout import Option, config

FLAG = {"action": "store_true", "default": None}


class TensorParallel(DataParallel):
    """Each rank of a group has 1 / N of every layer, and the group takes a share of the batch."""

    name = "tensor parallelism"
    group = "group"
    switch = "tensor"
    options: ClassVar = {
        "tensor": Option(None, {"type": int, "metavar": "N", "help": "ranks that share each layer of the gpt"}),
        "sequence_parallel": Option(
            False, {**FLAG, "help": "cut what is between the layers along the tokens, as Megatron-LM does"}
        ),
        "overlap": Option(False, {**FLAG, "help": "communicate while computing"}),
        "pad": Option(False, {**FLAG, "help": "pad heads, units and vocabulary that N does not divide with zeros"}),
    }
    others = ("bucket", "order", "recompute")

    def __init__(self, ranks: int, chosen: argparse.Namespace):
        super().__init__(ranks, chosen)
        if chosen.model != "gpt":
            told = f"--tensor {chosen.tensor} cuts the layers of a GPT: take --model gpt, got --model {chosen.model}"
            raise ValueError(told)
        check_tensor(chosen, chosen.tensor, config(chosen))

    def lines(self) -> list[str]:
        """Groups, and how they share a layer."""
        N, words = (
            self.chosen.tensor,
            {"sequence_parallel": "sequence parallelism", "overlap": "overlap", "pad": "padding"},
        )
        more = " and ".join(words[form] for form in words if getattr(self.chosen, form))
        return [
            f"{in_groups(self.ranks, N)} with 1/{N} of each layer (tensor parallelism){' with ' * bool(more)}{more}"
        ]

    def part(self, comm, model: nn.Module) -> Part:
        """This rank's part of each layer. Collective."""
        group, copies = groups(comm, self.chosen.tensor, "tp")
        machine = known(comm) if copies.size > 1 else None
        form = {word: getattr(self.chosen, word) for word in ("overlap", "pad")}
        module = TensorParallelGPT(
            group, cast(GPT, model), sequence=self.chosen.sequence_parallel, check=False, **form
        )  # the tokens are alike: a group takes the same share of a batch that each rank draws by itself

        @torch.no_grad()
        def collect() -> None:
            serial = dict(model.named_parameters())
            for name, parameter in module.named_parameters():
                serial[name].copy_(whole(group, parameter))

        return Part(
            copies,
            module,
            (copies.rank, copies.size),
            loss_sum=without_empty(lambda module, data: cast(Any, module).loss_sum(data)),
            collect=collect,
            communicate=lambda comm, index, flat: allreduce.start(comm, flat, machine=machine),
        )


def check_tensor(chosen: argparse.Namespace, N: int, of: Config) -> None:
    """Raise ValueError if N ranks cannot share the layers of such a GPT, or the tokens between them."""
    why = check_degree(N, of)
    if not why and of.vocabulary % N:
        why = f"{N} does not divide {of.vocabulary} tokens of the vocabulary"
    if why and not chosen.pad:
        raise ValueError(f"--tensor {N}: {why}; take another number, or --pad, which adds zeros")
    if chosen.sequence_parallel and of.length % N:
        raise ValueError(f"--sequence-parallel: {N} ranks cannot share {of.length} tokens of a sequence alike")


def in_groups(ranks: int, N: int) -> str:
    """So many groups of N ranks, in words."""
    many = f"{ranks // N} groups of " if ranks > N else ""
    return f"{many}{N} rank{'s' * (N > 1)}{', each' * (N > 1)}"

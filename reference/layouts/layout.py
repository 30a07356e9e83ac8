"""What is asked of a layout: its options, a model, a line that describes it, and a training.

Idea      A layout is chosen by an option with a number of ranks, such as `--stages 4`. So many neighbours share a copy
          of the model, and all such groups together are data-parallel: each takes its share of every batch.
          Everything that raises does so on every rank, and before the work.
"""

from __future__ import annotations

import argparse
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import torch
from torch import nn
from tqdm import trange

from .. import cli
from ..data_parallel.between import Between, straight_on
from ..data_parallel.groups import check_groups
from ..models import CNN, GPT, MLP, Config, Data
from ..pipeline.simulate import Times

OPTIMIZERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}


class Option(NamedTuple):
    """An option of a layout: what it is if left out, and the other arguments of add_argument."""

    default: Any
    how: dict[str, Any]


class Trained(NamedTuple):
    """What came of it: of each step the mean loss over the batch and this rank's seconds; what else there is to tell
    (JSON); of a pipeline a step's times."""

    losses: list[float]
    seconds: list[float]
    about: dict[str, Any] = {}  # noqa: RUF012 - nobody changes it
    times: Times | None = None


class Layout(ABC):
    """A way to share a training among ranks. Raises ValueError or cli.BadInput for options that cannot be met.

    name, group     in words: "tensor parallelism"; "group" of ranks that share one copy of the model
    switch          the option that chooses it; none for one rank
    asks            what its value says, in words: how many ranks make a group, unless told
    options         those that it brings, by their names; others: those of other layouts that it also takes
    micro_batches   into how many parts a share is cut, for each rank of a group, unless told
    first, between  the first step, and what happens between the steps: checkpoints
    """

    name: ClassVar[str]
    group: ClassVar[str] = "group"
    switch: ClassVar[str] = ""
    asks: ClassVar[str] = ""
    options: ClassVar[dict[str, Option]]
    others: ClassVar[tuple[str, ...]] = ()
    first: int = 0
    between: Between = staticmethod(straight_on)

    def __init__(self, ranks: int, chosen: argparse.Namespace):
        self.ranks, self.chosen = ranks, chosen
        if chosen.recompute != "none" and chosen.model != "gpt":
            told = f"--recompute {chosen.recompute} computes blocks of a GPT again: take --model gpt"
            raise ValueError(f"{told}, got --model {chosen.model}")

    @classmethod
    def ranks_of_a_group(cls, chosen: argparse.Namespace) -> int:
        """How many ranks share a copy of the model."""
        return getattr(chosen, cls.switch) if cls.switch else 1

    @classmethod
    def check_ranks(cls, ranks: int, chosen: argparse.Namespace) -> None:
        """Raise BadInput unless all ranks are in groups."""
        N = cls.ranks_of_a_group(chosen)
        try:
            check_groups(ranks, N, cls.group)
        except ValueError as error:
            raise cli.BadInput(f"--{cls.switch} {N}: {error}") from None

    @classmethod
    def default_micro_batches(cls, chosen: argparse.Namespace) -> int:
        """Into how many parts a share of the batch is cut unless told."""
        return 1

    @property
    def layers(self) -> int:
        """Of the model, unless told."""
        return 2

    def build(self, seed: int) -> nn.Module:
        """The whole model, as the serial program has it."""
        return build(self.chosen, self.chosen.layers or self.layers, seed)

    @property
    def kept(self) -> int:
        """How many numbers a rank keeps of a step, besides the loss and the seconds."""
        return 0

    @property
    def inexact(self) -> str:
        """Why the losses may differ from the serial program's, or nothing."""
        return ""

    @abstractmethod
    def lines(self) -> list[str]:
        """What is to be told of it before the training."""

    @abstractmethod
    def train(self, comm, model: nn.Module, data: Data) -> Trained:
        """Train the model in place; in the end every rank has all of it, as it was trained. Collective."""


def config(chosen: argparse.Namespace, layers: int = 2) -> Config:
    """Of the GPT that was asked for."""
    return Config(layers=layers, heads=chosen.heads, kv_heads=chosen.kv_heads)


def build(chosen: argparse.Namespace, layers: int, seed: int) -> nn.Module:
    """The model that was asked for."""
    if chosen.model == "mlp":
        return MLP((64, *[32] * (layers - 1), 10), seed)
    return CNN(seed=seed) if chosen.model == "cnn" else GPT(config(chosen, layers), seed)


def make_optimizer(chosen: argparse.Namespace, weights) -> torch.optim.Optimizer:
    """The one that was asked for; before each step gradients are clipped, if that was."""
    weights = list(weights)
    optimizer = OPTIMIZERS[chosen.optimizer](weights, chosen.rate)

    def clip(*_: Any) -> None:
        nn.utils.clip_grad_norm_(weights, chosen.clip)

    if chosen.clip:
        optimizer.register_step_pre_hook(clip)
    return optimizer


def progress(comm, chosen: argparse.Namespace, first: int = 0) -> trange:
    """The numbers of the steps, with a bar where somebody looks."""
    hidden = True if comm.rank or chosen.json else None
    of = {"initial": min(first, chosen.steps), "total": chosen.steps}
    return trange(first, chosen.steps, disable=hidden, leave=False, desc=chosen.model, **of)

"""ZeRO: every rank takes a share of the batch, and keeps a shard of the training's state.

Idea      As `zero/stage1.py`, `stage2.py` and `stage3.py` say. With --shard-groups S ranks cut the state among them,
          and the groups of S have copies of it (`zero/hybrid.py`). The weights in the end are from `zero/state.py`.
          --offload optimizer keeps the optimizer in the host's tier (`zero/offload.py`), --offload all weights and
          state in files (`zero/infinity.py`), which lie in a temporary folder of each rank and are deleted in the end.
Exact     The losses are the serial program's, also with --clip, for the norm is that of all shards.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from torch import nn
from torch.optim import Optimizer

from ..data_parallel.groups import check_groups
from ..tiers.files import FileTier
from ..tiers.tier import FREE
from ..zero.group import Group
from ..zero.hybrid import hybrid
from ..zero.infinity import Infinity
from ..zero.offload import Offload
from ..zero.stage import Stage
from ..zero.stage1 import Stage1
from ..zero.stage2 import Stage2
from ..zero.stage3 import Stage3
from ..zero.state import full_state
from .data_parallel import DataParallel, Part
from .layout import OPTIMIZERS, Option
from .tensor_parallel import in_groups

OFFLOADS = {"optimizer": 2, "all": 3}
"""What can be in the tier below, and of which stage."""
STATE = {1: "the optimizer's state", 2: "gradients and optimizer state", 3: "weights, gradients and optimizer state"}


def gather_units(stage: Infinity) -> None:
    """Make the whole module's parameters whole. Collective."""
    for unit in stage.all_units:
        unit.start_gather(again=False)
        unit.wait()


class Zero(DataParallel):
    """Every rank has the whole model while it computes, and between steps a shard of what the stage cuts."""

    name = "ZeRO"
    switch = "zero"
    asks = "which stage"
    options: ClassVar = {
        "zero": Option(
            None,
            {"type": int, "choices": tuple(STATE), "help": "cut the optimizer's state, gradients too, weights too"},
        ),
        "shard_groups": Option(
            None, {"type": int, "metavar": "S", "help": "ranks that cut it among them, for --zero 3 (default: all)"}
        ),
        "offload": Option(
            None,
            {"choices": OFFLOADS, "help": "to the tier below: the optimizer, for --zero 2; or all, to files, for 3"},
        ),
    }
    others = ("bucket", "clip", "recompute")

    def __init__(self, ranks: int, chosen: argparse.Namespace):
        super().__init__(ranks, chosen)
        self.files: TemporaryDirectory | None = None
        S, default = chosen.shard_groups, DataParallel.options["bucket"].default
        if chosen.zero == 3 and chosen.bucket != default:
            raise ValueError("--bucket is for --zero 1 and 2: stage 3 moves the units of the model")
        if S and chosen.zero != 3:
            raise ValueError(f"--shard-groups is for --zero 3, got --zero {chosen.zero}")
        if S:
            check_groups(ranks, S, "shard group")
        needed = OFFLOADS.get(chosen.offload, chosen.zero)
        if chosen.zero != needed:
            raise ValueError(f"--offload {chosen.offload} is for --zero {needed}, got --zero {chosen.zero}")
        if S and chosen.offload:
            raise ValueError("--shard-groups and --offload: one at a time can be had here")

    @classmethod
    def ranks_of_a_group(cls, chosen: argparse.Namespace) -> int:
        """Each rank takes a share of its own."""
        return 1

    def lines(self) -> list[str]:
        """Who has which part of what."""
        S = self.chosen.shard_groups or self.ranks
        what = f"with 1/{S} of {STATE[self.chosen.zero]} (ZeRO stage {self.chosen.zero})"
        below = {"optimizer": ", its optimizer in the host's tier", "all": ", weights and optimizer in files"}
        return [*super().lines(), f"{in_groups(self.ranks, S)} {what}{below.get(self.chosen.offload, '')}"]

    def part(self, comm, model: nn.Module) -> Part:
        """A copy of the model, whose weights come back from the shards in the end."""
        module = deepcopy(model)

        def collect() -> None:
            if isinstance(self.stage, Offload):
                self.stage.finish()
            if isinstance(self.stage, Infinity) and self.files:
                gather_units(self.stage)
                self.files.cleanup()
                model.load_state_dict(module.state_dict())
            else:
                model.load_state_dict(full_state(self.stage)["module"])

        return Part(comm, module, (comm.rank, comm.size), collect=collect)

    def parts(self, trainer: Any) -> dict[str, Any]:
        """It is a stage."""
        return {"stage": trainer}

    def trainer(self, part: Part) -> tuple[Any, Optimizer, Callable[[], Any]]:
        """The stage, which goes backward and takes the steps. Collective."""
        chosen, comm = self.chosen, part.copies
        make_optimizer = partial(OPTIMIZERS[chosen.optimizer], lr=chosen.rate)
        if chosen.offload == "all":
            self.files = TemporaryDirectory()
            self.stage: Stage = Infinity(comm, part.module, make_optimizer, FileTier(comm, self.files.name))
        elif chosen.offload:
            early = chosen.clip is None
            self.stage = Offload(comm, part.module, make_optimizer, FREE, early=early, bucket_bytes=chosen.bucket)
        elif chosen.zero == 3:
            make_group = hybrid(comm, chosen.shard_groups) if chosen.shard_groups else Group
            self.stage = Stage3(comm, part.module, make_optimizer, make_group=make_group)
        else:
            kind = Stage1 if chosen.zero == 1 else Stage2
            self.stage = kind(comm, part.module, make_optimizer, bucket_bytes=chosen.bucket)
        return self.stage, self.stage.optimizer, partial(self.stage.step, chosen.clip)

"""What a training loop holds, as the one state that a checkpoint saves: the same for every layout.

Idea      `reference/checkpoint/training_state.py` saves one optimizer's parameters, placed in the serial program's
          tensors. A loop may have several optimizers (one a stage of a pipeline), or pieces of parameters (ZeRO), and
          what compressed sums have not sent yet. Here they become one.
Exact     All optimizers have the same options, as `reference.train` makes them. A parameter that a rank holds twice
          (DualPipe) is saved once, and both get it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor
from torch.optim import Optimizer

from ..checkpoint import Manifest, TrainingState
from ..checkpoint.placed import of_groups, of_parameters
from ..compression import memory
from ..compression.hooks import PerBucket
from ..data_parallel.between import InTraining

UNSENT = "rank{}.compress.{}.{}"


class Together:
    """Several optimizers as one: one group of parameters with the options of the first, and the state of all.

    It has what TrainingState asks of an optimizer: `param_groups`, and `state` by parameter.
    """

    def __init__(self, optimizers: Sequence[Optimizer]):
        self.groups = [group for optimizer in optimizers for group in optimizer.param_groups]
        self._of = {p: o for o in optimizers for group in o.param_groups for p in group["params"]}
        options = {key: value for key, value in (self.groups or [{}])[0].items() if key != "param_names"}
        self.param_groups = [options | {"params": list(self._of)}]
        self.state = self

    def get(self, parameter: Any, default: Any = None) -> Any:
        """What is kept of a parameter."""
        return self._of[parameter].state.get(parameter, default) if parameter in self._of else default

    def __setitem__(self, parameter: Tensor, kept: dict[str, Any]) -> None:
        self._of[parameter].state[parameter] = kept

    def give_options(self) -> None:
        """Give the options, which a load has changed, to all groups of all optimizers."""
        options = {key: value for key, value in self.param_groups[0].items() if key != "params"}
        for group in self.groups:
            group |= options


class HeldState:
    """The state of a training in any layout. `save` what `portions` has; `load` fills it, and all that follows it."""

    def __init__(self, training: InTraining):
        self.training, self.stage = training, training.stage
        first = dict(reversed(training.named))
        self.twins = [(first[name], twin) for name, twin in training.named if twin is not first[name]]
        cut = of_groups(self.stage.groups, first) if self.stage else {}
        placed = cut | of_parameters({name: weight for name, weight in first.items() if name not in cut})
        self.together = Together(training.optimizers)
        self.state = TrainingState(placed, cast(Any, self.together))

    def load(self, comm: Any, folder: Any, step: int, files: Any) -> None:
        """Fill weights and optimizers from the checkpoint of a step. Collective; raises CheckpointError."""
        if self.stage:
            self.stage.bring()
        self.state.load(comm, folder, step, files)
        self.together.give_options()
        with torch.no_grad():
            for weight, twin in self.twins:
                twin.copy_(weight)
                for key, value in self.together.get(weight, {}).items():
                    self.together.get(twin)[key] = value.clone()
        if self.stage:
            self.stage.let_go(changed=True)


# What compressed sums have not sent yet -------------------------------------------------------------------------------


def unsent(replica: Any, rank: int) -> dict[str, Tensor]:
    """What the sums of this rank keep from step to step, by names with the rank's number; nothing where none do."""
    if not (replica and isinstance(replica.communicate, PerBucket)):
        return {}
    hook: PerBucket = replica.communicate
    return {
        UNSENT.format(rank, index, key): tensor
        for index in hook.kept
        for key, tensor in memory.taken(hook.state(index)).items()
    }


def room_for_unsent(replica: Any, found: Manifest, rank: int, ranks: int) -> dict[str, Tensor]:
    """Memory for what a rank has to read of it: its own; of another number of ranks rank 0 reads what all kept."""
    if not (replica and isinstance(replica.communicate, PerBucket)):
        return {}
    wanted = {}
    for name, of in found.tensors.items():
        if match := re.fullmatch(UNSENT.format(r"(\d+)", r"\d+", "(.*)"), name):
            other, alike = rank == 0 or (match[1] == "0" and match[2].startswith("Q")), found.ranks == ranks
            if int(match[1]) == rank if alike else other:
                wanted[name] = torch.empty(of.shape, dtype=of.torch_dtype)
    return wanted


def put_back_unsent(replica: Any, found: Manifest, rank: int, ranks: int, tensors: Mapping[str, Tensor]) -> None:
    """Let the sums go on with what was read."""
    hook = replica.communicate
    hook.prepare(replica.comm, [bucket.flat for bucket in replica.buckets])
    for index in hook.kept:
        every: dict[int, memory.Saved] = {}
        for name, tensor in tensors.items():
            whose, _, bucket, key = name.removeprefix("rank").split(".")
            if int(bucket) == index:
                every.setdefault(int(whose), {})[key] = tensor
        parts = [every[whose] for whose in sorted(every)]
        if parts:
            memory.put_back(hook.state(index), parts[0] if found.ranks == ranks else memory.merged(parts, rank))

"""The versions of a stage's weights, for schedules that update before all passes that have begun are over.

Papers    PipeDream: Narayanan et al., "PipeDream: Generalized Pipeline Parallelism for DNN Training" (2019). 2BW:
          Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN Training" (2021).
Before    An optimizer writes into the weights. A backward pass whose forward pass ran before that would multiply with
          weights that its activations have never met: the gradient of no loss at all. (Torch notices, and raises.)
After     Each pass is told its version (versions.py). The latest lives in the module, where the optimizer finds it. A
          step that would overwrite a version which is still used leaves that version its memory and moves the module to
          a copy: p - s versions on stage s in PipeDream, two everywhere in 2BW. If nobody uses it, nothing is copied.
Gradient  taken where the pass saw the weights, added to the module's parameters, applied to the latest version. This
          is the staleness: w(v + 1) = w(v) - rate * gradient(w(v - delay)).
Left out  Buffers have no versions: batch normalisation's running statistics are updated in the order of the passes.
          Vertical sync (PipeDream, section 3.3), which gives a micro-batch the same version on all stages: 2BW does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from .schedule import Action, Schedule
from .versions import versions


class Weights:
    """The weights of one rank's stages in all versions that somebody still needs.

    schedule    whose order and versions they follow
    rank        whose stages these are
    stages      stage -> module; its parameters are the latest version
    """

    def __init__(self, schedule: Schedule, rank: int, stages: dict[int, nn.Module]):
        self.stages, self.told = stages, versions(schedule)
        self.latest = dict.fromkeys(stages, 0)
        self.older: dict[tuple[int, int], dict[str, Tensor]] = {}  # (stage, version) -> its tensors by name
        self.seen: dict[tuple[int, int], int] = {}
        self.most = 1
        forward = [a for a in schedule.orders[rank] if a.kind == "F"]
        self._uses = Counter((a.stage, self.told[a.stage, a.micro]) for a in forward)  # passes that are still to come

    def forward(self, action: Action, *inputs: Any) -> Any:
        """What the stage makes of its inputs with the version that this micro-batch is to see."""
        s, version = action.stage, self.told[action.stage, action.micro]
        self.seen[s, action.micro] = version
        return functional_call(self.stages[s], self._version(s, version), inputs)

    def backward(self, action: Action) -> None:
        """Note that the backward pass of a micro-batch is over: it needs its version no longer."""
        s, version = action.stage, self.told[action.stage, action.micro]
        self._uses[s, version] -= 1
        if not self._uses[s, version]:
            self.older.pop((s, version), None)

    def step(self, action: Action, update: Callable[[], Any]) -> None:
        """Make the next version of a stage: update() writes into the module's parameters, and their .grad is freed."""
        s = action.stage
        if self._uses[s, self.latest[s]]:
            self.older[s, self.latest[s]] = dict(self._leave(self.stages[s]))
        self.latest[s] += 1
        self.most = max(self.most, 1 + sum(stage == s for stage, _ in self.older))
        update()
        self.stages[s].zero_grad()

    @staticmethod
    def _leave(stage: nn.Module) -> Iterable[tuple[str, Tensor]]:
        """The parameters' memory, by name; the parameters themselves move to a copy."""
        for name, parameter in trained(stage).items():
            yield name, parameter.data
            parameter.data = parameter.data.clone()

    def _version(self, s: int, version: int) -> dict[str, Tensor]:
        """The tensors of a version, by name."""
        kept = {} if version == self.latest[s] else self.older[s, version]
        return {name: At.apply(w, kept.get(name, w.data)) for name, w in trained(self.stages[s]).items()}


def trained(stage: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters that change; frozen ones have one version."""
    return {name: parameter for name, parameter in stage.named_parameters() if parameter.requires_grad}


class At(torch.autograd.Function):
    """A parameter as it was in some version. The gradient goes to the parameter as it is."""

    @staticmethod
    def forward(ctx, parameter: Tensor, version: Tensor) -> Tensor:
        """The memory of that version, without a copy."""
        return version

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None]:
        """Straight on."""
        return gradient, None

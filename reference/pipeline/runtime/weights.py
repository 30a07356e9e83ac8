"""The versions of a stage's weights, for schedules that update before all passes that have begun are over.

Before    An optimizer writes into the weights. A backward pass whose forward pass ran before that would multiply by
          weights that its activations have never met: the gradient of no loss at all. (Torch notices, and raises.)
After     Each pass is told its version (versions.py). The latest lives in the module, where the optimizer finds it. A
          step that would overwrite a version which is still used leaves that version its memory and moves the module to
          a copy: p - s versions on stage s in PipeDream, two everywhere in 2BW. If nobody uses it, nothing is copied.
Exact     The gradient is taken at the version that the passes used, and applied to the latest, which has moved on
          meanwhile: w(v + 1) = w(v) - rate * gradient(w(v - delay)), and for the stages of PipeDream at different
          delays.
Left out  Buffers have no versions: batch normalisation's running statistics change in the order of the passes.
          PipeDream's vertical sync, with which a micro-batch meets the same version on all stages. In 2BW it does.
Source    PipeDream: Narayanan et al., "PipeDream: Generalized Pipeline Parallelism for DNN Training" (2019). 2BW:
          Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN Training" (2021).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn
from torch.func import functional_call

from ..analysis.versions import versions
from ..schedule import Schedule
from .passes import Latest


class Versions(Latest):
    """The weights of a rank's stages in all versions that somebody still needs.

    stages      stage -> module, whose parameters are the latest version
    optimizers  stage -> optimizer
    schedule    says which passes use which version

    most        the most versions of one stage that there have been at a time

    Raises ValueError if the schedule has backward passes in two parts, whose second part would come too late.
    """

    def __init__(
        self,
        stages: Mapping[int, nn.Module],
        optimizers: Mapping[int, torch.optim.Optimizer],
        schedule: Schedule,
    ):
        if schedule.splits:
            raise ValueError(f"{schedule.name} keeps versions of weights, and cannot have I and W: write B")
        self.told = {of: version for of, version in versions(schedule).items() if of[0] in stages}
        self.most = 1
        super().__init__(stages, optimizers)

    def begin(self) -> None:
        """A new step: its first version, number 0, is what the weights are now."""
        super().begin()
        self.older: dict[tuple[int, int], dict[str, Tensor]] = {}  # (stage, version) -> its tensors by name
        self._uses = Counter((s, version) for (s, _), version in self.told.items())  # micro-batches not finished yet

    def forward(self, s: int, i: int, x: Tensor) -> Tensor:
        """Stage s of x, with the version that micro-batch i has to use."""
        version = self.seen[s, i] = self.told[s, i]
        kept = {} if version == self.updates[s] else self.older[s, version]
        weights = {name: _At.apply(w, kept.get(name, w.data)) for name, w in trained(self.stages[s]).items()}
        return functional_call(self.stages[s], weights, (x,))

    def finished(self, s: int, i: int) -> None:
        """Micro-batch i needs its version of stage s no longer."""
        version = self.told[s, i]
        self._uses[s, version] -= 1
        if not self._uses[s, version]:
            self.older.pop((s, version), None)

    def update(self, s: int) -> None:
        """S: the next version of stage s. The gradient is used up with it."""
        version = self.updates[s]
        if self._uses[s, version]:
            self.older[s, version] = dict(_leave(self.stages[s]))
            self.most = max(self.most, 1 + sum(stage == s for stage, _ in self.older))
        super().update(s)
        self.stages[s].zero_grad()


def trained(stage: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters that change, by name; frozen ones have one version."""
    return {name: parameter for name, parameter in stage.named_parameters() if parameter.requires_grad}


def _leave(stage: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """The memory of the parameters, by name; they themselves move to a copy."""
    for name, parameter in trained(stage).items():
        yield name, parameter.data
        parameter.data = parameter.data.clone()


class _At(torch.autograd.Function):
    """A parameter as it was in some version, of which nothing is copied. Its gradient goes to the parameter."""

    @staticmethod
    def forward(ctx, parameter: Tensor, version: Tensor) -> Tensor:
        return version

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient, None

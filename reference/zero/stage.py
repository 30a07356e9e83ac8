"""What all stages have in common: groups of parameters, an optimizer for this rank's pieces of them, and a step.

Idea      However gradients have come into the shards, the step is the same: clip by the norm of all shards, step the
          pieces, let go of the gradients, and let the weights follow.
Exact     Every shard has gradients, of zeros where no rank has used a parameter, so that all ranks take the same steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from .clip import clip_global_norm
from .group import Group


class Stage:
    """A stage of ZeRO. Its backward pass leaves the mean gradient in the groups' shards.

    comm         the ranks
    module       whose parameters they are
    groups       all parameters; `trained` is those that have gradients
    optimizer    of the trained groups' pieces
    clip_shards  (comm, shards, limit) -> norm: scales the gradient of which the ranks have these shards, in place;
                 None is clip_global_norm
    """

    comm: Any
    module: nn.Module
    groups: list[Group]
    optimizer: Optimizer
    clip_shards: Callable[[Any, Sequence[Tensor], float], float] | None = None

    @property
    def trained(self) -> list[Group]:
        """The groups that have gradients."""
        return [group for group in self.groups if group.trained]

    def step(self, clip: float | None = None) -> float | None:
        """A step of the optimizer, with the gradient scaled to a norm of at most `clip`; the norm that it had, then.

        Afterwards there are no gradients. Collective. Raises RuntimeError unless the last backward pass has
        synchronised, ValueError unless clip is above 0.
        """
        if not self._has_gradients():
            raise RuntimeError("step() needs the gradients of a backward pass with sync=True, and each only once")
        if clip is not None and not clip > 0:
            raise ValueError(f"a gradient is clipped to a norm above 0, got {clip}")
        shards = [group.gradient for group in self.trained if group.gradient is not None]
        norm = None
        if clip is not None:
            norm = (self.clip_shards or clip_global_norm)(self.trained[0].comm, shards, clip)
        for group in self.trained:
            group.set_gradients()
        self.optimizer.step()
        for group in self.trained:
            group.clear()
        self.update_weights()
        return norm

    def bring(self) -> None:
        """Between two steps: have the shards in `pieces`, and the optimizer's state of them; here they always are."""

    def let_go(self, changed: bool) -> None:
        """After `bring`: the shards are no longer looked at, and were changed, on all ranks, or not. Collective."""
        if changed:
            self.update_weights()

    def _has_gradients(self) -> bool:
        """Whether the shards have the gradients of a step."""
        return all(group.gradient is not None for group in self.trained)

    def _divide(self, count: float) -> None:
        """Turn sums into means over so many samples."""
        for group in self.trained:
            if group.gradient is not None:
                group.gradient.div_(count)

    def update_weights(self) -> None:
        """Let the weights of the module follow the shards. Collective."""
        raise NotImplementedError

"""ZeRO-Offload: the optimizer and its state live in another tier, and the host takes the step.

Idea      Adam reads and writes 12 bytes a parameter and computes next to nothing: it needs memory, not an accelerator.
          So the master weights, the moments and the step move to the host. The accelerator keeps weights of 16 bits and
          computes; each shard of gradients goes down when its reduce-scatter is done, the host steps it while the
          backward pass goes on with the layers before, and new weights come up.
Before    the rank  2 Psi weights, 2 Psi / P gradients, 12 Psi / P optimizer (stage 2)
After     the rank  2 Psi weights, and shards on their way; the tier below 12 Psi / P, and gradients
          backward |3333222211110000|
          down            |k3| |k2| |k1| |k0|
          step               |s3| |s2| |s1| |s0|      offload_time.py has the formula
          up                    |k3| |k2| |k1| |k0|
          gather                             |g3 g2 g1 g0|
Sends     Between the ranks what stage 2 sends. To the tier: n gradients, from it: n weights, for n = Psi / P.
Price     A step that is clipped by the global norm cannot begin before the last gradient has come (`early=False`).
          `delayed` lets the host work during the next forward and backward pass: gradients are those of weights that
          lack one update. The first step then changes nothing, and `finish` takes the last one.
Exact     The serial program's steps, unless `delayed`; then those of the serial program with gradients one step late.
          Weights change only when the backward pass is over: until then they wait in a buffer of n elements.
Left out  Adam written for the host's vector units; pinned pages; several processes' share of the host.
Source    Ren et al., "ZeRO-Offload: Democratizing Billion-Scale Model Training" (2021).
Try       stage = Offload(comm, model, torch.optim.Adam, tier("host, PCIe 4"))
          stage.backward(*loss_sum(model, batch)); stage.step()
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

from ..agreement import agree
from ..data_parallel.average import finished_count
from ..tiers import engine
from ..tiers.engine import Engine
from ..tiers.tier import CopyEngines, Tier
from .clip import clip_global_norm
from .optimizer import MakeOptimizer
from .resident import Resident
from .stage2 import Stage2


def no_time(elements: int) -> float:
    """A host that steps in no time."""
    return 0.0


class HostGroup(Resident):
    """A group whose master shard, and its gradients, are in the host's memory; whole weights stay on the rank.

    arrived  [n] new weights that have come up, and are not gathered yet
    """

    def __init__(self, hand_down: Callable[[HostGroup, Tensor], None], *arguments: Any, **options: Any):
        self.hand_down = hand_down
        self.arrived: Tensor | None = None
        with _disable_current_modes():  # what is made here is the host's memory, not this rank's
            super().__init__(*arguments, **options)

    def take(self) -> None:
        """Make the parameters' values those of the shard, which shares no memory with them."""
        self.master.copy_(self.sharding.shard(self.parameters, self.comm.rank))

    def own_weights(self) -> Tensor:
        """What has come up; between the steps, what the host has."""
        return self.master.to(self.dtype) if self.arrived is None else self.arrived

    def add(self, received: Tensor) -> None:
        """Send a sum that has arrived on [n] to the host."""
        self.hand_down(self, received)

    def clear(self) -> None:
        """Nothing: gradients are the host's, which may be stepping just now."""


class Update(NamedTuple):
    """One shard's step to come: its gradient below [n], and the job that brings it."""

    group: HostGroup
    gradient: Tensor
    down: engine.Job


class Offload(Stage2):
    """Stage 2 with the optimizer in a tier below. Used like Stage1; `finish` before the weights are looked at.

    tier, duplex    what the copies take on the virtual clock; whether both directions go on at once
    step_seconds    elements -> seconds in which the host steps them, on the virtual clock
    early           a shard's step begins when its gradient has come down; else in `step`, which may then clip
    delayed         `step` hands the gradients over and returns; the next one waits for the new weights
    options         of Stage1. Gradients of backward(..., sync=False) stay on this rank, whole

    stage.copies, stage.host    the engines, with their records

    Raises ValueError on every rank as Stage1 does, and if a step is to be both early and delayed.
    """

    def __init__(
        self,
        comm: Any,
        module: torch.nn.Module,
        make_optimizer: MakeOptimizer,
        tier: Tier,
        step_seconds: Callable[[int], float] = no_time,
        early: bool = True,
        delayed: bool = False,
        duplex: bool = True,
        **options: Any,
    ):
        error = "a step is early or delayed, not both" if early and delayed else ""
        agree(comm, "the arguments of Offload", [early, delayed], error)
        self.step_seconds, self.early, self.delayed = step_seconds, early, delayed
        self.copies, self.host = CopyEngines(comm, tier, duplex), Engine(comm, "host")
        self._updates: list[Update] = []  # of this step: one a group, in the order in which they were reduced
        self._coming: list[tuple[HostGroup, engine.Job]] = []  # new weights
        self._samples_of_all = 0.0  # that the gradients are of, once it is known
        super().__init__(comm, module, make_optimizer, accumulate="whole", **options)

    def finish(self) -> None:
        """Wait for the steps that have been handed over, and gather the new weights. Collective."""
        gathers = []
        for group, job in self._coming:
            job.wait()
            gathers.append((group, *group.start_gather()))
        for group, gathered, request in gathers:
            request.Wait()
            group.install(gathered)
            group.arrived = None
        if self._coming:
            self._versions = self._seen()
        self._coming = []

    def step(self, clip: float | None = None) -> float | None:
        """New weights from the gradients that have gone down; with `clip`, the norm that they had. Collective.

        Raises RuntimeError without gradients, ValueError if an early step is to be clipped: it has begun already.
        """
        if not self._has_gradients():
            raise RuntimeError("step() needs the gradients of a backward pass with sync=True, and each only once")
        if clip is not None and (self.early or not clip > 0):
            told = "a step that begins before all gradients are there knows no global norm: early=False"
            raise ValueError(told if self.early else f"a gradient is clipped to a norm above 0, got {clip}")
        if self.delayed:
            self.finish()
        norm = None if clip is None else self._clip(clip)
        if not self.early:
            for number in range(len(self._updates)):
                self._begin(number)
        self._updates = []
        if not self.delayed:
            self.finish()
        return norm

    # What happens to a shard ------------------------------------------------------------------------------------------

    def hand_down(self, group: HostGroup, received: Tensor) -> None:
        """Send the sum of a shard's gradients to the host."""
        with _disable_current_modes():
            below = torch.empty(group.n, dtype=group.master.dtype)
        job = self.copies.down(f"gradient {len(self._updates)}", received, below)
        self._updates.append(Update(group, below, job))
        if self.early:
            self._requests[0].Wait()
            self._samples_of_all = finished_count(self.comm, self._total, self.samples)
            self._begin(len(self._updates) - 1)

    def _begin(self, number: int) -> None:
        """Hand the step of a shard over, and the way up of what comes of it."""
        group, gradient, down = self._updates[number]
        take = partial(self._step_shard, group, gradient, self._samples_of_all)
        stepped = self.host.submit(f"step {number}", self.step_seconds(group.n), take, [down])
        group.arrived = torch.empty(group.n, dtype=group.dtype, device=group.device)
        self.hold("weights", group.arrived)
        self._coming.append((group, self.copies.up(f"weights {number}", group.master, group.arrived, [stepped])))

    def _step_shard(self, group: HostGroup, gradient: Tensor, count: float) -> None:
        """On the host: the optimizer steps those parameters that have a gradient, so only this group's."""
        for piece, part in zip(group.pieces, group.sharding.split(gradient.div_(count), self.comm.rank)):
            piece.grad = part
        self.optimizer.step()
        for piece in group.pieces:
            piece.grad = None

    def _clip(self, clip: float) -> float:
        """Scale what has come down: the host's work, which takes no time on the virtual clock; the norm it had."""
        for update in self._updates:
            update.down.wait()
        with _disable_current_modes():
            shards = [update.gradient.div_(self._samples_of_all) for update in self._updates]
            norm = clip_global_norm(self.comm, shards, clip)
        self._samples_of_all = 1.0  # they have been divided
        return norm

    # The schedule of stage 2, with copies -----------------------------------------------------------------------------

    def _allocate(self, assignment: list[list[int]]) -> list:
        make = self.make_group
        self.make_group: Any = partial(HostGroup, self.hand_down, *make.args, **make.keywords)
        return super()._allocate(assignment)

    def _advance(self) -> None:
        """Hand down what has been reduced by now, also what was started just now."""
        super()._advance()
        self._under_way = [request for request in self._under_way if not request.Test()]

    def update_weights(self) -> None:
        super().update_weights()
        self._versions = self._seen()

    def _begin_step(self) -> None:
        if self._updates:
            raise RuntimeError("the last gradients have gone down, and had no step: call step() before backward")
        super()._begin_step()

    def _divide(self, total: float) -> None:
        self._samples_of_all = total
        super()._divide(total)

    def _has_gradients(self) -> bool:
        return self._complete and len(self._updates) == len(self.groups)

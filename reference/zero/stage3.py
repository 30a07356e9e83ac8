"""Stage 3 of ZeRO, or FSDP: weights, gradients and optimizer state are cut, and a unit is whole while it computes.

Idea      Between steps a rank has 1/P of everything. Hooks on each unit of the model (units.py) do the rest:

              before its forward pass     gather its weights, and begin to gather the next unit's
              after it                    free them
              before its backward pass    gather them again, and begin to gather the unit before
              after it                    free them, and begin to reduce-scatter its gradients

Before    16 Psi bytes on each rank (Adam, mixed precision); a step sends 2 (P - 1) / P Psi elements from each
After     16 Psi / P bytes and a few units; a step sends 3 (P - 1) / P Psi, or 2 with reshard_after_forward=False
Sends     Two all-gathers and a reduce-scatter of each unit for each micro-batch; of the root's weights one all-gather,
          for it stays whole between the two passes.
Price     All ranks must run the same units in the same order: gathers are collective, and nobody notices if units of
          one size meet. A unit must not change its input in place.
Exact     The weights of the serial program, up to the rounding of sums in another order.
Left out  A unit inside a unit; drawing the weights shard by shard, for a model that no rank has room for.
Source    Rajbhandari et al., "ZeRO" (2020), section 5.3; Zhao et al., "PyTorch FSDP" (2023).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import nan
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from .. import mpi
from ..agreement import agree
from ..data_parallel.average import finished_count, start_count
from ..data_parallel.replicate import structure
from .group import Group, hold_nothing
from .hooks import watch
from .optimizer import MakeOptimizer, shard_optimizer
from .shards import Cut, by_rows
from .stage import Stage
from .unit_order import UnitOrder
from .units import Unit, check_units, default_units, make_units


class Moment(NamedTuple):
    """When something happens to a unit: "gather" begins, it is "whole", "free", "reduce" begins, it is "reduced"."""

    seconds: float
    unit: str
    what: str


class Stage3(Stage):
    """A module of which this rank keeps a shard; its units are whole while they compute.

        stage = Stage3(comm, module, torch.optim.Adam)
        stage.backward(*loss_sum(module, batch))  # the SUM over this rank's samples, and how many they are
        stage.step(clip=1.0)

    make_optimizer         gets [(name, parameter)] of all that is trained, as for one device (optimizer.py)
    units                  submodules; the members of the outermost Sequential and ModuleList unless given
    cut                    by_rows (FSDP2) or flat (ZeRO, FSDP1)
    reshard_after_forward  free a unit after its forward pass, and gather it again; else it stays whole in between
    prefetch               how many units may be on their way while one computes, in the order of the last pass
    accumulate             what backward(..., sync=False) does: "shards" reduce-scatters each micro-batch's gradients,
                           "whole" keeps them whole on each rank
    make_group             Group, or another that sends otherwise (hybrid.py, plus_plus.py)
    hold                   told of what is allocated, with its kind: `Meter.hold`
    log                    a list to which a Moment is added whenever something happens to a unit

    Raises ValueError on every rank if modules differ, nothing is trained, a unit is listed twice, inside another or not
    in the module, or an argument is none of the above; RuntimeError if somebody else changes a parameter.
    """

    def __init__(
        self,
        comm,
        module: nn.Module,
        make_optimizer: MakeOptimizer,
        units: Sequence[nn.Module] | None = None,
        cut: Cut = by_rows,
        reshard_after_forward: bool = True,
        prefetch: int = 1,
        accumulate: str = "shards",
        make_group: Callable[..., Group] = Group,
        hold: Callable[..., None] = hold_nothing,
        log: list[Moment] | None = None,
    ):
        units = default_units(module) if units is None else list(units)
        agree(comm, "the modules", structure(module))
        agree(comm, "the arguments of Stage3", [f"{cut.__name__} {reshard_after_forward=} {prefetch=} {accumulate=}"])
        named = [(name, parameter) for name, parameter in module.named_parameters() if parameter.requires_grad]
        if not named or prefetch < 0:
            raise ValueError(f"a stage trains parameters, and prefetches 0 units or more: got {len(named)}, {prefetch}")
        if accumulate not in ("shards", "whole"):
            raise ValueError(f"accumulate is 'shards' or 'whole', got {accumulate!r}")
        check_units(module, units)
        self.comm, self.module, self.accumulate, self.log = comm, module, accumulate, log
        self.reshard_after_forward, self.prefetch = reshard_after_forward, prefetch
        self.all_units = make_units(module, units, lambda alike: make_group(comm, alike, cut, hold=hold))
        *self.units, self.root = self.all_units
        self.groups = [group for unit in self.all_units for group in unit.groups]
        self.optimizer = shard_optimizer(comm, make_optimizer, named, self.trained)
        self.samples: float = 0  # that the gradients are of, on this rank
        self._order = UnitOrder()
        self._reducing: list = []  # the reduction under way
        self._complete, self._sync = True, True
        self._counting: Any = None  # the sum of `samples` over the ranks, under way
        self._unfinished = False  # a pass has begun and not ended: if another begins, it was left by an error
        for unit in self.all_units:
            unit.free()
        self._hooks = [hook for unit in self.all_units for hook in watch(self, unit)]

    def remove(self) -> None:
        """Take the hooks off the module."""
        for hook in self._hooks:
            hook.remove()

    def backward(self, total: Tensor, count: float, sync: bool = True) -> float | None:
        """The backward pass of `total`, the SUM of the loss over the `count` samples (or tokens) of this rank.

        With sync the shards have the mean gradient, over all samples of all ranks, whose number is returned.
        Without, gradients and counts are added up for the backward pass that will synchronise (see accumulate).
        A rank that has no data takes part, with the total of an empty batch and count 0; or with any constant, and
        then gathers and reduces as the others do if these run each unit once, in their order, and again one by one.

        Raises ValueError on every rank if a count is below 0 or the counts of all ranks are 0.
        """
        if not total.requires_grad and not self._order.open:
            self._forward_without_data()
        if self._complete:
            self._begin_step()
        self.samples += count if count >= 0 else nan  # so that others cannot make it good
        self._sync, self._unfinished = sync, True
        self._counting = start_count(self.comm, self.samples) if sync else None
        if total.requires_grad:
            total.backward()
        else:
            self._backward_without_data()
        self._end_backward()
        return self._finish_count() if sync else None

    # What happens to a unit -------------------------------------------------------------------------------------------

    def before_forward(self, unit: Unit) -> None:
        """Gather its weights, and begin to gather those of the units that followed in the last pass."""
        if unit is self.root:
            self._begin_forward()
        else:
            self._order.come_to(unit)
        self._make_whole(unit, again=False)
        unit.used = True
        self._prefetch(self._order.ahead(), again=False)

    def after_forward(self, unit: Unit) -> None:
        """Free its weights, unless the backward pass is to find them."""
        if not torch.is_grad_enabled() or (self.reshard_after_forward and unit is not self.root):
            self._free(unit)
        if unit is self.root:
            self._end_forward()

    def before_backward(self, unit: Unit) -> None:
        """Gather its weights, and begin to gather those of the units that come next, the last ones first."""
        if unit.in_backward:
            return  # the gradient of another output has come
        unit.in_backward = True
        self._make_whole(unit, again=True)
        self._order.come_back_to(unit)
        self._prefetch(self._order.behind(), again=True)

    def after_backward(self, unit: Unit) -> None:
        """Free its weights; after the last of its calls, begin to reduce its gradients."""
        if not unit.in_backward:  # it was computed again
            self._order.come_back_to(unit)
        unit.in_backward = False
        if self.reshard_after_forward or not unit.calls:
            self._free(unit)
        if not unit.calls and not unit.unmarked:
            self._reduce(unit)

    def before_recomputation(self, unit: Unit) -> None:
        """A checkpoint runs the unit again in the backward pass: gather its weights, which its own turn will free."""
        self._make_whole(unit, again=True)
        self._prefetch(self._order.after(unit), again=True)

    # Moves ------------------------------------------------------------------------------------------------------------

    def _note(self, unit: Unit, what: str) -> None:
        if self.log is not None:
            self.log.append(Moment(mpi.wtime(self.comm), unit.name, what))

    def _start_gather(self, unit: Unit, again: bool) -> None:
        if not unit.whole and not unit.coming:
            self._note(unit, "gather")
            unit.start_gather(again)

    def _make_whole(self, unit: Unit, again: bool) -> None:
        self._start_gather(unit, again)
        if not unit.whole:
            unit.wait()
            self._note(unit, "whole")

    def _prefetch(self, following: Sequence[Unit], again: bool) -> None:
        for unit in following[: self.prefetch]:
            if sum(bool(other.coming) for other in self.units) < self.prefetch:
                self._start_gather(unit, again)

    def _free(self, unit: Unit) -> None:
        if unit.coming or unit.whole:
            unit.wait()
            unit.free()
            self._note(unit, "free")

    def _reduce(self, unit: Unit) -> None:
        """Begin to sum the unit's gradients when the sum before it is there: so there is one buffer at a time."""
        for group in unit.groups:
            if group.trained and (self._sync or self.accumulate == "shards"):
                self._wait_for_reduction()
                self._note(unit, "reduce")
                self._reducing = [(unit, group, *group.start_reduce())]
                unit.used = False

    def _wait_for_reduction(self) -> None:
        while self._reducing:
            unit, group, _whole, received, request = self._reducing.pop()
            request.Wait()
            group.add(received)
            self._note(unit, "reduced")

    # A pass -----------------------------------------------------------------------------------------------------------

    def _begin_forward(self) -> None:
        if self._unfinished:
            self._forget()
        self._unfinished = True
        self._order.begin()

    def _end_forward(self) -> None:
        self._unfinished = False
        self._order.end(recorded=torch.is_grad_enabled())

    def _end_backward(self) -> None:
        """Free and reduce what no mark has told of: the root, and units whose input needs no gradient."""
        for unit in [*reversed(self.units), self.root]:
            self._free(unit)
            if unit.used:
                self._reduce(unit)
            unit.in_backward, unit.unmarked = False, False
        self._wait_for_reduction()
        self._order.open.clear()
        self._unfinished = False

    def _finish_count(self) -> float:
        """Turn sums into means."""
        total, request = self._counting
        request.Wait()
        self._counting, self._complete = None, True
        found = finished_count(self.comm, total, self.samples)
        for group in self.trained:
            if group.gradient is None:  # of a unit that no rank has used
                group.add(torch.zeros_like(group.master))
        self._divide(found)
        return found

    def _has_gradients(self) -> bool:
        return self._complete and super()._has_gradients()

    def _begin_step(self) -> None:
        for group in self.groups:
            group.clear()
        self.samples, self._complete = 0, False

    def update_weights(self) -> None:
        """What is whole is of the step before: free it."""
        for unit in self.all_units:
            self._free(unit)

    def _forget(self) -> None:
        """A pass was left by an error, on all ranks: keep the shards of the weights only."""
        for unit in self.all_units:
            unit.forget()
        self._wait_for_reduction()
        if self._counting:
            self._counting[1].Wait()
        self._order, self._counting = UnitOrder(), None
        self._begin_step()

    # A rank that has nothing to compute -------------------------------------------------------------------------------

    def _forward_without_data(self) -> None:
        self.before_forward(self.root)
        for unit in self._order.last or self.units:
            self.before_forward(unit)
            self.after_forward(unit)
        self.after_forward(self.root)

    def _backward_without_data(self) -> None:
        self.before_backward(self.root)
        while self._order.open:
            unit = self._order.open[-1]
            self.before_backward(unit)
            self.after_backward(unit)

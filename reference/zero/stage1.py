"""ZeRO stage 1: each rank steps its shard of the weights, and keeps the optimizer's state of that alone.

Idea      P replicas that hold the same optimizer state and take the same step do the same work P times. Cut it: a
          reduce-scatter gives each rank the sum of its shard of the gradients, it steps that shard, and an all-gather
          gives the new weights to all. An all-reduce is these two halves anyway; the step stands between them.
          Buckets, hooks and the one order of all ranks are Replica's (data_parallel/replica.py).
Before    backward |bbbbbbbbb|                  weights 4, gradients 4, Adam's state 8 bytes a parameter
          all-reduce   |cc||cc||cc|
          step                    |ssssss|
After     backward |bbbbbbbbb|                  weights 4, gradients 4, Adam's state 8 / P
          reduce-scatter |c||c||c|
          step                   |ss|           a P-th
          all-gather                 |c|
Sends     (P - 1) n a rank in each direction, for n = Psi / P: 2 Psi (P - 1) / P together, as an all-reduce. However
          many micro-batches there are, if only the last synchronises.
Exact     Parameters are views of a bucket's gathered weights, and the shard is a view of them, too: nothing is copied.
          Not so by rows (shards.py), and with weights of 16 bits, whose shard is a master copy in float32.
          A parameter that no rank uses has a gradient of zeros, so that weight decay and momentum change it; on one
          device its gradient is None, and they do not.
Source    Rajbhandari et al., "ZeRO" (2020), section 5.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import nan

import torch
from torch import Tensor, nn

from ..agreement import agree
from ..data_parallel.buckets import Bucket
from ..data_parallel.replica import MIB, Replica
from ..data_parallel.replicate import check_replicas
from .group import Group, hold_nothing
from .optimizer import MakeOptimizer, shard_optimizer
from .resident import Reduction, Resident, gather_all
from .shards import Cut, flat
from .stage import Stage


def without_memory(group: Group) -> Bucket:
    """A bucket whose parameters have gradients of their own."""
    return Bucket(group.parameters, group.master.new_empty(0), [])


class Stage1(Stage, Replica):
    """This rank's copy of a module, and its shard of the optimizer's state.

        stage = Stage1(comm, module, lambda named: torch.optim.AdamW(named, lr=1e-3))
        stage.backward(*loss_sum(module, batch))  # the SUM over this rank's samples, and how many they are
        stage.step(clip=1.0)

    make_optimizer
        gets [(name, parameter)] of all that is trained, and makes the optimizer of one device (optimizer.py)
    cut
        `flat` or `by_rows` (shards.py)
    bucket_bytes, first_bucket_bytes, order
        as for Replica; an order is "reverse" or numbers into `names`
    reduce_dtype
        in which gradients are sent and added: float32 for weights of 16 bits unless told, else as the weights
    waiting
        how many packed buckets may be under way while the next one is packed
    hold
        told of what is allocated, with its kind: `Meter.hold`
    make_group
        Resident, or what hybrid(comm, ranks_per_node, HybridResident) makes

    The weights must be the same on all ranks: see replicate.broadcast_parameters. Whoever changes them later, such as
    load_state_dict, does so on all ranks and calls `take_weights`; else the next `backward` with sync raises
    RuntimeError on every rank. (It notices what changes a parameter or where it lies, but nothing done to `.data`.)

    Raises ValueError on every rank as Replica does, for an optimizer that is not element-wise, and if ranks hold
    different weights.
    """

    groups: list[Resident]  # type: ignore[assignment]

    def __init__(
        self,
        comm,
        module: nn.Module,
        make_optimizer: MakeOptimizer,
        cut: Cut = flat,
        bucket_bytes: float = 25 * MIB,
        first_bucket_bytes: float = 1 * MIB,
        order: str | Sequence[int] = "reverse",
        reduce_dtype: torch.dtype | None = None,
        waiting: int = 1,
        hold: Callable[..., None] = hold_nothing,
        make_group: Callable[..., Resident] = Resident,
    ):
        self._outside = ""  # which weights were changed outside
        error = "shards stay where they are: the order of a stage is 'reverse' or numbers" if order == "ready" else ""
        error = error or (f"0 or more buckets may be waiting, got {waiting}" if waiting < 0 else "")
        agree(comm, "the arguments of a stage", [type(self).__name__, cut.__name__, reduce_dtype, waiting], error)
        self.make_group = partial(make_group, cut=cut, reduce_dtype=reduce_dtype, hold=hold)
        self.waiting, self.hold, self._reductions = waiting, hold, list[Reduction]()
        super().__init__(comm, module, bucket_bytes, first_bucket_bytes, order, self._start_reduce)
        check_replicas(comm, module)
        named = list(zip(self.names, self.parameters))
        self.optimizer = shard_optimizer(comm, make_optimizer, named, self.groups)
        self._versions = self._seen()

    def backward(self, total: Tensor, count: float, sync: bool = True) -> float | None:
        """As Replica's: with sync the shards have the mean gradient, over all samples of all ranks, in the end.

        Without, gradients stay on this rank. Afterwards no parameter has a gradient of its own. Raises RuntimeError on
        every rank if weights were changed outside.
        """
        self._outside = self._changed() if sync else ""
        return super().backward(total, nan if self._outside else count, sync)

    def take_weights(self) -> None:
        """Make the module's weights, which were changed outside on all ranks alike, those of the shards. Collective.

        Raises replicate.Diverged on every rank if ranks hold different weights.
        """
        check_replicas(self.comm, self.module)
        for group in self.groups:
            group.take()
        self._versions = self._seen()

    def update_weights(self) -> None:
        gather_all(self.groups)

    # Changes from outside ---------------------------------------------------------------------------------------------

    def _seen(self) -> list[tuple[int, int]]:
        return [(parameter._version, parameter.data_ptr()) for parameter in self.parameters]

    def _changed(self) -> str:
        """Which weights were changed outside, or nothing."""
        found = [name for name, before, now in zip(self.names, self._versions, self._seen()) if before != now]
        if not found:
            return ""
        return (
            f"{', '.join(found[:3])}{' ...' * (len(found) > 3)} changed outside of the stage, whose shards do not know "
            f"it: call take_weights() after such a change"
        )

    # Replica's schedule, with reduce-scatters -------------------------------------------------------------------------

    def _allocate(self, assignment: list[list[int]]) -> list[Bucket]:
        """Groups, and memory for whole gradients, of which the parameters' are views, where the cut allows it."""
        self.groups = [self.make_group(self.comm, [self.parameters[i] for i in bucket]) for bucket in assignment]
        return [self._bucket(group) for group in self.groups]

    def _bucket(self, group: Resident) -> Bucket:
        if not group.sharding.together:
            return without_memory(group)
        whole = torch.zeros(group.sharding.P * group.n, dtype=group.dtype, device=group.device)
        self.hold("gradients", whole)
        return Bucket(group.parameters, whole, group.sharding.unpack(whole))

    def _adopt(self, number: int) -> None:
        if self.buckets[self._place[number][0]].views:
            super()._adopt(number)

    def _begin_step(self) -> None:
        super()._begin_step()
        for group in self.groups:
            group.clear()

    def _finish(self) -> float:
        try:
            return super()._finish()
        except ValueError:  # on every rank, if one of them gave no number
            agree(self.comm, error=self._outside, raises=RuntimeError)
            raise

    def _divide(self, total: float) -> None:
        super()._divide(total)
        for parameter in self.parameters:  # what is left there is of no use
            parameter.grad = None

    def _has_gradients(self) -> bool:
        return self._complete and super()._has_gradients()

    def _start_reduce(self, comm, index: int, whole: Tensor) -> Reduction:
        """Begin to sum a bucket over the ranks: where it lies, or packed into memory of its own."""
        group = self.groups[index]
        if whole.numel() and whole.dtype == group.reduce_dtype:
            return Reduction(group, None, whole[: group.n], group.start_sum(whole))
        under_way = [reduction for reduction in self._reductions if not reduction.complete]
        for reduction in under_way[: max(len(under_way) - self.waiting, 0)]:
            reduction.Wait()
        self._reductions = [*under_way[-self.waiting :] * bool(self.waiting), Reduction(group, *group.start_reduce())]
        return self._reductions[-1]

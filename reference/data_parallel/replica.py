"""A replica: the gradients of the last layers are on their way while those of the first are still being computed.

Idea      A gradient is final as soon as the backward pass has left its layer. Hooks tell when; a bucket whose last
          gradient has come is all-reduced at once, while the backward pass goes on.
          MPI moves data inside MPI calls, and our own collectives post their next round there. So each hook also polls
          the pending all-reduces. (The virtual cluster's Iallreduce goes on by itself, as on a capable network card.)
Before    backward    |bbbbbbbbbbbb|
          all-reduce               |cccccccccc|
After     backward    |bbbbbbbbbbbb|                      nothing can leave before the first bucket is full, and the
          all-reduce      |ccc| |ccc||cc|                 last has nothing to hide behind: step_time.py
Sends     One all-reduce a bucket, and one of 8 bytes: how many samples there are. With accumulation no more than that,
          however many micro-batches there are.
Exact     All ranks start their all-reduces in one order, that of the list of buckets. One that is full early waits for
          those before it: on another rank they may have become full in another order, and collectives that are started
          in different orders add up what does not belong together, or never end. A layer that communicates by itself
          (batch_norm.py) gets a communicator of its own, comm.Dup(), so that the two orders cannot meet.
Left out  Sparse gradients; sharded ones (ZeRO); buffers such as BatchNorm's running mean (batch_norm.py).
Source    Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training" (2020), section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import nan
from typing import Any

import torch
from torch import Tensor, nn

from .. import mpi
from ..agreement import agree
from ..collectives import allreduce, select
from .average import finished_count, start_count
from .buckets import Bucket, adopt, allocate, assign_buckets
from .replicate import structure

MIB = 2**20


def start_allreduce(comm, index: int, flat: Tensor):
    """Begin to sum bucket `index` over the ranks, by the algorithm that is fastest for its size."""
    return allreduce.start(comm, flat)


class Replica:
    """This rank's copy of a module, whose gradients are averaged over the ranks while they are computed.

        replica = Replica(comm, module)  # after replicate.broadcast_parameters(comm, module)
        total, count = loss_sum(module, batch)  # the SUM over this rank's samples, and how many they are
        replica.backward(total, count)  # now each .grad is the gradient of the mean over the samples of all ranks
        optimizer.step()

    bucket_bytes, first_bucket_bytes
        how much travels together (buckets.assign_buckets); the first bucket is at most as large as the others may be
    order
        in which gradients become ready: "reverse", from the last parameter to the first; "ready", reverse in the first
        step and from then on as they became ready on rank 0 in that one; or numbers into `names`
    communicate
        `communicate(comm, index, flat) -> request` takes the place of the all-reduce of a bucket. After its Wait `flat`
        [n] must hold the sum over the ranks, the same bits on all. The request is one such as `comm.Iallreduce` or the
        `.start` of one of our collectives returns
    check_finite
        look at what this rank adds to the sum, and raise FloatingPointError on every rank if NaN or infinity is in it.
        Without, they reach all ranks through the sum, as they spoil the whole batch of the serial program

    Gradients belong to a step: the first backward after a synchronised one begins anew, with or without zero_grad.
    Frozen parameters are left alone. One that this rank has not used counts as zeros; so one that no rank uses has
    zeros in the end, where the serial program has None.

    Raises ValueError on every rank if the ranks' modules or arguments differ, if nothing is trained, and for limits
    that are not above 0 and invalid orders.
    """

    def __init__(
        self,
        comm,
        module: nn.Module,
        bucket_bytes: float = 25 * MIB,
        first_bucket_bytes: float = 1 * MIB,
        order: str | Sequence[int] = "reverse",
        communicate: Callable[[Any, int, Tensor], Any] = start_allreduce,
        check_finite: bool = False,
    ):
        agree(comm, "the modules", structure(module))
        agree(
            comm,
            f"the arguments of {type(self).__name__}",
            [f"{bucket_bytes=} {first_bucket_bytes=} {order=} {check_finite=}"],
        )
        trained = [(name, parameter) for name, parameter in module.named_parameters() if parameter.requires_grad]
        if not trained:
            raise ValueError("no parameter of this module is trained (requires_grad): there is nothing to average")
        if isinstance(order, str) and order not in ("reverse", "ready"):
            raise ValueError(f"order is 'reverse', 'ready' or a list of numbers, got {order!r}")
        self.comm, self.module, self.communicate, self.check_finite = comm, module, communicate, check_finite
        self.names, self.parameters = map(list, zip(*trained))
        self.limits = bucket_bytes, min(first_bucket_bytes, bucket_bytes)
        if communicate is start_allreduce and comm.size > 1:
            select.known(comm)  # a real machine is measured now, and not within the first backward pass
        self._fill_in(None if isinstance(order, str) else order)
        self._next_order: list[int] | None = None
        self._learning = order == "ready"
        self.samples: float = 0  # that the gradients are of, on this rank
        self.ready_order: list[int] = []  # of the last backward pass that synchronised, on this rank
        self._complete, self._synchronising = True, False
        self._hooks = [
            parameter.register_post_accumulate_grad_hook(lambda _, number=number: self._ready(number))
            for number, parameter in enumerate(self.parameters)
        ]

    @property
    def next_order(self) -> list[int]:
        """In which the buckets are filled in the next step."""
        return self._next_order or [number for bucket in self.assignment for number in bucket]

    def take_order(self, order: Sequence[int]) -> None:
        """Fill the buckets in this order from now on, and learn no other; between two steps, alike on all ranks."""
        self._fill_in(order)
        self._next_order, self._learning = None, False

    def remove(self) -> None:
        """Take the hooks off the module."""
        for hook in self._hooks:
            hook.remove()

    def backward(self, total: Tensor, count: float, sync: bool = True) -> float | None:
        """The backward pass of `total`, the SUM of the loss over the `count` samples (or tokens) of this rank.

        With sync each .grad is then the gradient of the mean over all samples of all ranks, whose number is returned.
        Without, gradients and counts are added up for the backward pass that will synchronise. All ranks synchronise
        together; a rank that has no data takes part, with any total and count 0.

        Raises ValueError on every rank if a count is below 0 or the counts of all ranks are 0; FloatingPointError, see
        check_finite; and RuntimeError if a gradient comes twice in one backward pass.
        """
        if self._complete:
            self._begin_step()
        self.samples += count if count >= 0 else nan  # so that others cannot make it good
        self._begin_backward(sync)
        try:
            if total.requires_grad:
                total.backward()
        finally:
            self._synchronising = False
        return self._finish() if sync else None

    # The schedule -----------------------------------------------------------------------------------------------------

    def _fill_in(self, order: Sequence[int] | None) -> None:
        """Lay out the buckets for this order in which gradients become ready."""
        nbytes, kinds = [p.nbytes for p in self.parameters], [(p.dtype, p.device) for p in self.parameters]
        self._lay_out(assign_buckets(nbytes, *self.limits, order, kinds))

    def _lay_out(self, assignment: list[list[int]]) -> None:
        self.buckets = []  # free the memory of the last ones first
        self.assignment = assignment  # of each bucket the numbers of its parameters
        self.buckets = self._allocate(assignment)
        self._place = {i: (b, k) for b, bucket in enumerate(self.assignment) for k, i in enumerate(bucket)}

    def _allocate(self, assignment: list[list[int]]) -> list[Bucket]:
        """The memory of the buckets."""
        return allocate(self.parameters, assignment)

    def _begin_step(self) -> None:
        """Forget the last step's gradients. Autograd then makes new ones, which `adopt` puts into the buckets."""
        for parameter in self.parameters:
            parameter.grad = None
        if self._next_order is not None:
            self._fill_in(self._next_order)
            self._next_order = None
        self.samples, self._complete = 0, False

    def _begin_backward(self, sync: bool) -> None:
        self._synchronising = sync
        if not sync:
            return
        self._total, request = start_count(self.comm, self.samples)
        self._requests, self._under_way, self._started = [request], [request], 0
        self._missing = [set(bucket) for bucket in self.assignment]
        self.ready_order, self._not_finite = [], []

    def _ready(self, number: int) -> None:
        """The hook: a gradient has been accumulated, by this backward pass and those before it."""
        self._adopt(number)
        if not self._synchronising:
            return
        self._refuse_a_second(number)
        self._missing[self._place[number][0]].remove(number)
        self.ready_order.append(number)
        self._advance()

    def _refuse_a_second(self, number: int) -> None:
        if number not in self._missing[self._place[number][0]]:
            raise RuntimeError(
                f"the gradient of {self.names[number]} came twice in one backward pass, and may have been sent after "
                f"the first time. Reentrant checkpointing does that: use checkpoint(..., use_reentrant=False)"
            )

    def _advance(self) -> None:
        """Poll the pending all-reduces, and start what can be started."""
        self._under_way = [request for request in self._under_way if not request.Test()]
        self._start_full()

    def _start_full(self) -> None:
        """Start what is full, in the order of the buckets."""
        while self._started < len(self.buckets) and not self._missing[self._started]:
            index, self._started = self._started, self._started + 1
            self._look(index)
            request = self.communicate(self.comm, index, self.buckets[index].flat)
            self._requests.append(request)
            self._under_way.append(request)

    def _finish(self) -> float:
        """Start the rest, wait for all, divide."""
        self._add_unused()
        self._start_full()
        mpi.waitall(self._requests)
        self._complete = True
        total = finished_count(self.comm, self._total, self.samples)
        self._refuse_what_is_not_finite()
        self._divide(total)
        if self._learning:
            self._learn()
        return total

    def _divide(self, total: float) -> None:
        """Turn sums into means over so many samples."""
        for bucket in self.buckets:
            bucket.flat.div_(total)

    def _add_unused(self) -> None:
        """Zeros for the gradients that have not come; those of earlier micro-batches are there already."""
        for number in range(len(self.parameters)):
            self._adopt(number)
        self._missing = [set() for _ in self.buckets]

    def _adopt(self, number: int) -> None:
        bucket, place = self._place[number]
        adopt(self.parameters[number], self.buckets[bucket].views[place])

    def _learn(self) -> None:
        """From the next step on fill the buckets as rank 0's gradients became ready; what did not comes last."""
        known = set(self.ready_order)
        rest = [number for bucket in self.assignment for number in bucket if number not in known]
        self._next_order = self.comm.bcast(self.ready_order + rest, root=0)
        self._learning = False

    # NaN and infinity -------------------------------------------------------------------------------------------------

    def _look(self, index: int) -> None:
        """Note what is not finite in a bucket, if asked to."""
        if not self.check_finite:
            return
        for number, view in zip(self.assignment[index], self.buckets[index].views):
            if not torch.isfinite(view).all():
                self._not_finite.append(self.names[number])

    def _refuse_what_is_not_finite(self) -> None:
        if not self.check_finite:
            return
        found = {rank: names for rank, names in enumerate(self.comm.allgather(self._not_finite)) if names}
        if found:
            told = "; ".join(f"rank {rank}: {', '.join(names)}" for rank, names in found.items())
            raise FloatingPointError(f"NaN or infinity in the gradients that ranks have added to the sum: {told}")

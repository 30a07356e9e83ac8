"""A replica: the gradients of the last layers are on their way while those of the first are still being computed.

Source    Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training" (2020), section 3.2.
Idea      A gradient is final as soon as the backward pass has left its layer. Hooks tell when; a bucket whose last
          gradient has come is all-reduced at once, while the backward pass goes on.
Before    backward   |bbbbbbbbbbbb|                       forward + backward + all-reduce
          all-reduce               |cccccccccc|
After     backward   |bbbbbbbbbbbb|                       the last bucket is always exposed, and none can start before
          all-reduce     |ccc|ccc||ccc|                   the first is full (step_time.py has the formula)
Agreement All ranks start their all-reduces in one order: that of the list of buckets. A bucket that is full early waits
          until those before it have been started, for on another rank they may become full in another order.
Progress  MPI moves data inside MPI calls, and our own collectives post their next round there. So each later hook also
          tests what is under way. (The virtual cluster's Iallreduce goes on by itself, as on a network card that can.)
Sends     For each bucket one all-reduce, and 8 bytes once: how many samples all ranks have. With accumulation no more
          than that, however many micro-batches there are.
Left out  Sparse gradients; sharded ones (ZeRO); buffers such as BatchNorm's running mean, which each rank keeps its own
          of (batch_norm.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import nan
from typing import Any

from torch import Tensor, nn

from .. import mpi
from ..collectives import allreduce
from .average import finished_count, start_count
from .buckets import Bucket, adopt, allocate, assign
from .replicate import agree, structure

MIB = 2**20


def start_allreduce(comm, index: int, flat: Tensor):
    """Begin to sum a bucket over the ranks, by the algorithm that is fastest for its size."""
    return allreduce.start(comm, flat)


class Replica:
    """This rank's copy of a module, whose gradients are averaged over the ranks while they are being computed.

        replica = Replica(comm, module)
        total, count = loss_sum(module, batch)  # the SUM over this rank's samples, and how many they are
        replica.backward(total, count)  # every .grad is now the gradient of the mean over all ranks' samples
        optimizer.step()

    Collective. The ranks must hold the same weights (replicate.broadcast).
    bucket_bytes, first_bucket_bytes  how much travels together (buckets.assign); the first is at most as large as others
    order        in which gradients become ready: "reverse" (of the parameters), "ready" (as reverse in the first step,
                 then as they became ready on rank 0 in it), or a list of the numbers of the trained parameters
    communicate  communicate(comm, index, flat) -> request, in the place of the all-reduce of bucket `index`: after
                 the request's Wait, `flat` [n] must hold the sum over the ranks, bit for bit the same on all. The request
                 is one such as comm.Iallreduce or a collective's .start returns.
    check_finite  look for NaN and infinity in what this rank contributes, and raise an error that says where they are.
                 Without it they reach all ranks through the sum, as they do in the serial program.

    A gradient belongs to the step it was made in: the first backward after a synchronised one begins anew, whether
    zero_grad was called or not. A parameter that no rank has used gets zeros, frozen ones are left alone.

    Raises ValueError on every rank if the modules or these arguments differ, nothing is trained or a limit is not
    above 0.
    """

    def __init__(
        self,
        comm,
        module: nn.Module,
        bucket_bytes: float = 25 * MIB,
        first_bucket_bytes: float = 1 * MIB,
        order: str | Sequence[int] = "reverse",
        communicate: Callable[[Any, int, Tensor], Any] | None = None,
        check_finite: bool = False,
    ):
        agree(comm, "the modules", structure(module))
        agree(comm, "a Replica's arguments", [(bucket_bytes, first_bucket_bytes, str(order), check_finite)])
        named = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
        if not named:
            raise ValueError("this module has no parameter that requires a gradient: there is nothing to average")
        self.comm, self.module, self.communicate = comm, module, communicate or start_allreduce
        self.names, self.parameters = zip(*named)
        self.limits = bucket_bytes, min(first_bucket_bytes, bucket_bytes)
        self.learn, self.check_finite = order == "ready", check_finite
        self.ready_order: list[int] = []  # of the last synchronised backward pass on this rank
        self.samples, self.synchronised = 0, True
        self._synchronising, self._learned = False, None
        self._assign(None if isinstance(order, str) else order)
        self._hooks = [
            parameter.register_post_accumulate_grad_hook(lambda _, number=number: self._ready(number))
            for number, parameter in enumerate(self.parameters)
        ]

    def _assign(self, order: Sequence[int] | None) -> None:
        nbytes, kinds = [p.nbytes for p in self.parameters], [(p.dtype, p.device) for p in self.parameters]
        self.assignment = assign(nbytes, *self.limits, order, kinds)
        self.buckets: list[Bucket] = allocate(self.parameters, self.assignment)
        self._place = {i: (b, j) for b, bucket in enumerate(self.assignment) for j, i in enumerate(bucket)}

    def backward(self, total: Tensor, count: float, sync: bool = True) -> float | None:
        """The backward pass of `total`, the SUM of the loss over `count` samples (or tokens) of this rank.

        With sync every .grad is the gradient of the mean over all samples of all ranks afterwards, and the number of
        these is returned. Without, gradients and count are added up for the backward pass that will synchronise.
        A rank that has no data takes part: any total, count 0.
        Raises ValueError on every rank if a count is below 0, or if there is no sample on any rank.
        """
        if self.synchronised:
            self._begin()
        self.samples += count if count >= 0 else nan  # a negative one must not be made good by the others
        if not sync:
            total.backward()
            return None
        count_sum, request = start_count(self.comm, self.samples)
        self._missing = [set(bucket) for bucket in self.assignment]
        self._requests, self._under_way, self._started = [request], [request], 0
        self.ready_order, self._synchronising = [], True
        if total.requires_grad:
            total.backward()
        self._synchronising = False
        return self._finish(count_sum)

    def _begin(self) -> None:
        """Forget the gradients of the last step; autograd makes new ones, which `adopt` copies into the buckets."""
        if self._learned is not None:
            self._assign(self._learned)
            self._learned = None
        for parameter in self.parameters:
            parameter.grad = None
        self.samples, self.synchronised = 0, False

    def _ready(self, number: int) -> None:
        """The hook: this parameter's gradient has been accumulated."""
        bucket, place = self._place[number]
        adopt(self.parameters[number], self.buckets[bucket].views[place])
        if not self._synchronising:
            return
        if number not in self._missing[bucket]:
            raise RuntimeError(
                f"{self.names[number]} received a gradient twice in one backward pass, perhaps after it had been sent: "
                f"reentrant checkpointing does that, so use use_reentrant=False"
            )
        self._missing[bucket].remove(number)
        self.ready_order.append(number)
        self._start_full()
        self._under_way = [request for request in self._under_way if not request.Test()]

    def _start_full(self) -> None:
        """Start what is full, in the order of the buckets: the same on all ranks."""
        while self._started < len(self.buckets) and not self._missing[self._started]:
            index, self._started = self._started, self._started + 1
            request = self.communicate(self.comm, index, self.buckets[index].flat)
            self._requests.append(request)
            self._under_way.append(request)

    def _finish(self, count_sum: Tensor) -> float:
        """Add what has not been used, wait for everything, and divide."""
        for number, parameter in enumerate(self.parameters):
            bucket, place = self._place[number]
            adopt(parameter, self.buckets[bucket].views[place])
            self._missing[bucket].discard(number)
        self._start_full()
        mpi.waitall(self._requests)
        self.synchronised = True
        found = finished_count(self.comm, count_sum, self.samples)
        for bucket in self.buckets:
            bucket.flat.div_(found)
        if self.learn:
            self._learn()
        return found

    def _learn(self) -> None:
        """From the next step on, fill the buckets in the order in which rank 0's gradients became ready in this one."""
        known = set(self.ready_order)
        rest = [number for bucket in self.assignment for number in bucket if number not in known]
        self._learned, self.learn = self.comm.bcast(self.ready_order + rest, root=0), False

    def remove(self) -> None:
        """Take the hooks off the module."""
        for hook in self._hooks:
            hook.remove()

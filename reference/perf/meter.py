"""A meter for one rank: what its torch operations cost, in FLOPs, bytes, seconds and memory, while they run.

Idea      Torch hands every operation to the innermost *dispatch mode* of the thread before it carries it out, in the
          backward pass too. This one notes what it costs (flops.py) and charges the seconds that it would take on a
          `device` (roofline.py) to the rank's clock. So the virtual cluster's time has computing in it, without a call
          in any technique; when a hook of the backward pass posts a message, the clock is at that very layer.
          Live bytes of four kinds: weights (and buffers) of the module, gradients, the optimizer's state, and
          activations, which is everything else that operations make: what is kept for the backward pass, its
          temporaries, also a weight's gradient until it has been added to `.grad`. A tensor counts from the operation
          that made it until nothing refers to it; all views of one memory count once.
Exact     Real ranks are not charged: their work has taken its own time. They count the same FLOPs and bytes.
Left out  tensors made before the meter began, unless they are the module's or the optimizer's, or given to `hold`; what
          libraries use inside an operation; what a caching allocator keeps.
Try       with Meter(comm, device("A100 SXM"), model, optimizer) as meter:
              loss(model, batch).backward()
          print(meter.total.flops, meter.peak["activations"])

With a Meter, leave the network's gamma at 0: the additions of our own collectives are torch operations like any other.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils._python_dispatch import TorchDispatchMode

from .. import mpi
from .flops import Rule, count, rule, tensors
from .roofline import Device

MEMORY_KINDS = ("weights", "gradients", "optimizer", "activations")


class OperationCost(NamedTuple):
    """What operations cost together: FLOPs, bytes moved, seconds on the device (0 without one), how many they were."""

    flops: int = 0
    nbytes: int = 0
    seconds: float = 0.0
    operations: int = 0


class Memory:
    """Live bytes by kind; the largest they have been: `peak` each for itself, `at_peak` when their sum was largest."""

    def __init__(self):
        self.live, self.peak, self.at_peak = (dict.fromkeys(MEMORY_KINDS, 0) for _ in range(3))
        self._held: dict[int, tuple] = {}  # a storage's address -> (weak reference, kind, bytes)

    def made(self, tensor: Tensor, kind: str) -> None:
        """Count the memory behind a tensor until it is freed, if it is not counted yet."""
        storage = tensor.untyped_storage()
        address = storage._cdata
        if address not in self._held:
            reference = weakref.ref(storage, lambda _: self._freed(address))
            self._count(address, reference, kind, storage.nbytes())

    def hold(self, tensor: Tensor, kind: str) -> None:
        """Count the memory behind a tensor as of this kind and of its present size, whatever it was until now."""
        self.made(tensor, kind)
        storage = tensor.untyped_storage()
        reference, before, nbytes = self._held[storage._cdata]
        if (before, nbytes) != (kind, storage.nbytes()):
            self.live[before] -= nbytes
            self._count(storage._cdata, reference, kind, storage.nbytes())

    def _count(self, address: int, reference: weakref.ref, kind: str, nbytes: int) -> None:
        self._held[address] = reference, kind, nbytes
        self.live[kind] += nbytes
        self.peak[kind] = max(self.peak[kind], self.live[kind])
        if sum(self.live.values()) > sum(self.at_peak.values()):
            self.at_peak = dict(self.live)

    def _freed(self, address: int) -> None:
        _, kind, nbytes = self._held.pop(address)
        self.live[kind] -= nbytes


class Meter:
    """Counts what this thread's torch operations cost inside `with Meter(...) as meter:`.

    comm       whose clock is charged; None: nobody's
    device     what the seconds are reckoned for (a Device, see roofline.device); None: no seconds
    module     whose parameters and buffers are "weights", and whose parameters' `.grad` are "gradients"
    optimizer  whose state is "optimizer", with all that its step makes
    memory     what counts live bytes; a Memory unless given (zero/traces.py gives one that notes each event)

    meter.total                    a Cost
    meter.by_label["backward"]     the same for a part: "forward", "backward", "optimizer" unless told (`label`)
    meter.live, .peak, .at_peak    bytes by kind: now; the largest of each kind; when the sum of all was largest
    """

    def __init__(
        self,
        comm: Any = None,
        device: Device | None = None,
        module: nn.Module | None = None,
        optimizer: Optimizer | None = None,
        memory: Memory | None = None,
    ):
        self.comm, self.device, self.module, self.optimizer = comm, device, module, optimizer
        self.by_label: dict[str, OperationCost] = {}
        self.memory = Memory() if memory is None else memory
        self._mode, self._labels, self._stepping, self._hooks = Mode(self), [], False, []

    @property
    def total(self) -> OperationCost:
        """The cost of everything so far."""
        return OperationCost(*map(sum, zip(*self.by_label.values()))) if self.by_label else OperationCost()

    @property
    def live(self) -> dict[str, int]:
        """Live bytes by kind, now."""
        return dict(self.memory.live)

    @property
    def peak(self) -> dict[str, int]:
        """The most bytes of each kind that were live at any time."""
        return dict(self.memory.peak)

    @property
    def at_peak(self) -> dict[str, int]:
        """Live bytes by kind when their sum was largest."""
        return dict(self.memory.at_peak)

    @contextmanager
    def label(self, name: str) -> Iterator[None]:
        """Give what is done inside a name of its own, in `by_label` and in the timeline."""
        self._labels.append(name)
        try:
            yield
        finally:
            self._labels.pop()

    def hold(self, kind: str, *kept: Tensor) -> None:
        """Count tensors as of this kind, whoever made them: flat buckets, an error that is fed back, a master copy.

        Raises ValueError for an unknown kind.
        """
        if kind not in MEMORY_KINDS:
            raise ValueError(f"memory is of the kind {', '.join(MEMORY_KINDS)}, not {kind!r}")
        for tensor in kept:
            self.memory.hold(tensor, kind)

    def __enter__(self) -> Meter:
        if self.module is not None:
            self.hold("weights", *self.module.parameters(), *self.module.buffers())
            for parameter in self.module.parameters():
                self._hold_gradient(parameter)
                if parameter.requires_grad:
                    self._hooks.append(parameter.register_post_accumulate_grad_hook(self._hold_gradient))
        if self.optimizer is not None:
            self._hold_state()
            self._hooks.append(self.optimizer.register_step_pre_hook(self._step_begins))
            self._hooks.append(self.optimizer.register_step_post_hook(self._step_ends))
        self._mode.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._mode.__exit__(*error)
        while self._hooks:
            self._hooks.pop().remove()

    def _hold_gradient(self, parameter: Tensor) -> None:
        if parameter.grad is not None:
            self.memory.hold(parameter.grad, "gradients")

    def _hold_state(self) -> None:
        for state in self.optimizer.state.values() if self.optimizer else ():
            self.hold("optimizer", *tensors(state.values()))

    def _step_begins(self, *_: Any) -> None:
        self._stepping = True

    def _step_ends(self, *_: Any) -> None:
        self._stepping = False
        self._hold_state()

    def _current_label(self) -> str:
        if self._labels:
            return self._labels[-1]
        if self._stepping:
            return "optimizer"
        return "forward" if torch._C._current_graph_task_id() == -1 else "backward"

    def note(self, how: Rule, args: tuple, kwargs: dict, result: Any) -> None:
        """Count one operation that was carried out, and charge it to the clock."""
        if how.makes:
            for tensor in tensors((result,)):
                self.memory.made(tensor, "optimizer" if self._stepping else "activations")
        if how.free:
            return
        flops, nbytes = count(how, args, kwargs, result)
        seconds = self.device.seconds(flops, nbytes) if self.device else 0.0
        label = self._current_label()
        before = self.by_label.get(label, OperationCost())
        self.by_label[label] = OperationCost(
            before.flops + flops, before.nbytes + nbytes, before.seconds + seconds, before.operations + 1
        )
        if self.comm is not None and seconds:
            mpi.charge(self.comm, seconds, label)


class Mode(TorchDispatchMode):
    """Torch's side of a Meter: carries operations out and tells the meter."""

    def __init__(self, meter: Meter):
        super().__init__()
        self.meter = meter

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        """Called by torch in place of every operation of this thread."""
        how, kwargs = rule(operation), kwargs or {}
        if how.composite:  # without autograd these come whole: count their parts
            with self:
                return operation.decompose(*args, **kwargs)
        result = operation(*args, **kwargs)
        self.meter.note(how, args, kwargs, result)
        return result

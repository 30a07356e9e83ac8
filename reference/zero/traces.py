"""Traces of allocations: recorded from a real training step, made up, or made to be as bad as can be.

Idea      `record` runs a training step under the meter and notes every tensor's memory when it is made and when nothing
          refers to it any more: sizes and order, which is all that an allocator sees. On torch's "meta" device a model
          of any size is recorded in seconds, since nothing is computed.
          `preallocated` is ZeRO-R's M_D: tensors of some kinds (checkpoints, gradients) live long between others that
          live shortly. They are copied, as soon as they were made, into one region that was allocated at the begin, so
          that they split no hole.
          `robson` is an adversary that looks at the addresses: whatever allocator it meets, as long as it moves
          nothing, needs M (log2(m) / 2 + 1) - m + 1 bytes for never more than M live ones.
Exact     The events of a recorded step depend on torch's version, not on the processor or on the values.
Left out  What libraries take inside an operation; communication buffers, unless they are tensors.
Source    Rajbhandari et al., "ZeRO" (2020), section 6.3; Robson, "Bounds for some functions concerning dynamic storage
          allocation", J. ACM 21 (1974).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Sequence

import torch
from torch import Tensor, nn

from .. import models
from ..perf.meter import Memory, Meter
from ..recompute.checkpoint import Fetch
from .activations import checkpoint_blocks
from .allocator import UNLIMITED, Allocator, Event, Heap, replay


class Recorder(Memory):
    """The meter's memory, which notes each event."""

    def __init__(self):
        super().__init__()
        self.made_or_freed: list[tuple[bool, int]] = []
        self.nbytes: list[int] = []  # of tensor 0, 1, ...
        self.kinds: list[str] = []
        self._number: dict[int, int] = {}  # a storage's address -> its tensor

    def name(self, tensor: Tensor, kind: str) -> None:
        """Give a living tensor a kind of its own."""
        self.kinds[self._number[tensor.untyped_storage()._cdata]] = kind

    def trace(self) -> list[Event]:
        """All events so far; a tensor has the kind that it had in the end. Those of 0 bytes are left out."""
        events = (Event(made, i, self.nbytes[i], self.kinds[i]) for made, i in self.made_or_freed)
        return [event for event in events if event.nbytes]

    def _count(self, address: int, reference: weakref.ref, kind: str, nbytes: int) -> None:
        if address in self._held:
            self.kinds[self._number[address]] = kind
        else:
            self._number[address] = len(self.nbytes)
            self.made_or_freed.append((True, len(self.nbytes)))
            self.nbytes.append(nbytes)
            self.kinds.append(kind)
        super()._count(address, reference, kind, nbytes)

    def _freed(self, address: int) -> None:
        super()._freed(address)
        self.made_or_freed.append((False, self._number.pop(address)))


def record(model: models.GPT, lengths: Sequence[int], b: int = 1, dtype: torch.dtype | None = None) -> list[Event]:
    """The trace of training steps with activation checkpointing: one step on b sequences of each of these lengths.

    The model is checkpointed in place, and trained by Adam with gradients that are freed after the step. On the device
    "meta" nothing is computed. Kinds: those of the meter, and "checkpoints".
    """
    recorder = Recorder()
    optimizer = torch.optim.Adam(model.parameters())

    def keep(piece: Tensor) -> Fetch:
        recorder.name(piece, "checkpoints")
        return lambda: piece

    checkpoint_blocks(model, None, keep)
    with Meter(module=model, optimizer=optimizer, memory=recorder):
        for s in lengths:
            train_step(model, optimizer, b, s)
    return recorder.trace()


def shapes_only(config: models.Config) -> models.GPT:
    """A GPT on the device "meta": shapes without numbers."""
    model = models.GPT(config).to("meta")
    if config.tied:
        model.head.weight = model.token.weight  # to() has made two of it
    return model


def train_step(model: models.GPT, optimizer: torch.optim.Optimizer, b: int, s: int) -> None:
    """One step on b sequences of s zeros: an allocator sees no values."""
    tokens = torch.zeros(b, s, dtype=torch.long, device=model.token.weight.device)
    logits = model(tokens)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())
    del logits
    loss.backward()
    del loss, tokens
    optimizer.step()
    optimizer.zero_grad()


# Transformed, and made up ---------------------------------------------------------------------------------------------


def preallocated(trace: Sequence[Event], kinds: Collection[str]) -> list[Event]:
    """The trace with M_D: a region for each of these kinds, allocated first, into which its tensors are copied.

    A tensor of such a kind is still made where it was, and freed as soon as it was copied. The size of a region is
    what a first-fit heap needs for that kind alone.
    """
    first = 1 + max(event.tensor for event in trace)
    regions = []
    for kind in kinds:
        alone = [event for event in trace if event.kind == kind]
        if alone:
            regions.append(Event(True, first + len(regions), replay(alone, Heap()).peak_reserved, f"region: {kind}"))
    found = list(regions)
    for event in trace:
        if event.kind not in kinds:
            found.append(event)
        elif event.made:
            found += [event, event._replace(made=False)]
    return found + [region._replace(made=False) for region in regions]


def peak_live(trace: Sequence[Event]) -> int:
    """The most bytes that live at a time: no allocator needs less."""
    live = peak = 0
    for event in trace:
        live += event.nbytes if event.made else -event.nbytes
        peak = max(peak, live)
    return peak


def checkerboard(tensors: int, nbytes: int) -> list[Event]:
    """Tensors of two kinds made by turns; one kind is freed; then one tensor as large as two of these is asked for."""
    kind = ("long-lived", "short-lived")
    made = [Event(True, i, nbytes, kind[i % 2]) for i in range(tensors)]
    freed = [event._replace(made=False) for event in made if event.kind == "short-lived"]
    return [*made, *freed, Event(True, tensors, 2 * nbytes, "large")]


def robson(make: Callable[[int], Allocator], M: int, m: int) -> list[Event]:
    """The trace by which Robson's adversary drives this allocator: sizes 1, 2, 4, ..., m, never more than M bytes live.

    make: capacity -> allocator, whose addresses the adversary reads; M and m are powers of two, m <= M.
    Step i frees every tensor that does not cover an address f mod 2^i, and fills up with tensors of 2^i bytes. A
    survivor keeps a stretch of 2^i bytes from being used again. f is chosen such that most stays blocked.
    """
    allocator, trace, at = make(UNLIMITED), [], {}

    def grow(nbytes: int) -> None:
        live = sum(n for _, n in at.values())
        for _ in range((M - live) // nbytes):
            number = sum(event.made for event in trace)
            trace.append(Event(True, number, nbytes, f"{nbytes} bytes"))
            at[number] = allocator.allocate(nbytes), nbytes

    def covers(place: tuple[int, int], f: int, step: int) -> bool:
        return (f - place[0]) % step < place[1]

    grow(1)
    f = 0
    for step in (2**i for i in range(1, m.bit_length())):
        blocked = {g: sum(step - n for a, n in at.values() if covers((a, n), g, step)) for g in (f, f + step // 2)}
        f = max(blocked, key=lambda g: blocked[g])
        for number, place in list(at.items()):
            if not covers(place, f, step):
                allocator.free(at.pop(number)[0])
                trace.append(Event(False, number, place[1], f"{place[1]} bytes"))
        grow(step)
    return trace


def robson_bound(M: int, m: int) -> int:
    """Bytes that any allocator which moves nothing needs in the worst case: M (log2(m) / 2 + 1) - m + 1."""
    return M * (m.bit_length() - 1) // 2 + M - m + 1

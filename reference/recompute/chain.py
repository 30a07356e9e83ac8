"""A chain of links as data, and the operations of which a schedule of recomputation consists.

Idea      Link i makes a[i + 1] from a[i]; a[0] is what enters the chain, a[n] what it puts out, the loss as a rule. Its
          backward pass makes d[i], the gradient of a[i], from d[i + 1]; it needs the link's *record*: the input a[i],
          and what autograd notes inside the link in a forward pass that keeps "all".

              operation                 needs                    leaves
              forward i, keep nothing   a[i]                     a[i + 1]; a[i] is dropped
              forward i, keep input     a[i]                     a[i + 1], a[i]
              forward i, keep all       a[i]                     a[i + 1], a[i] and the internals of link i
              backward i                d[i + 1], the record     d[i]; a[i], the internals and d[i + 1] are dropped
              free i                    a[i]                     a[i] is dropped

          A schedule is a list of these. It is right if each operation finds what it needs, and link n - 1, ..., 0 each
          go backward once, in this order (`check`).
Exact     a[i + 1] is dropped at once if link i + 1 has gone backward before: nobody needs it any more. a[0] is the
          caller's, and counts for nothing; so does d[n]. a[n] is what the caller gets, and stays.
Source    Beaumont, Eyraud-Dubois, Herrmann, Joly & Shilova, "Optimal checkpointing for heterogeneous chains: how to
          train deep neural networks with limited memory" (2019), section 3, whose three forward passes these are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

KEEP = ("nothing", "input", "all")  # what a forward pass of a link may keep


class ChainOperation(NamedTuple):
    """One operation of a schedule: "forward", "backward" or "free" of link (or value) i; what a forward pass keeps."""

    kind: str
    i: int
    keep: str = ""


def forward(i: int, keep: str = "nothing") -> ChainOperation:
    """Link i makes a[i + 1], and keeps "nothing", its "input", or "all"."""
    return ChainOperation("forward", i, keep)


def backward(i: int) -> ChainOperation:
    """Link i makes d[i]."""
    return ChainOperation("backward", i)


def free(i: int) -> ChainOperation:
    """The value a[i] is dropped."""
    return ChainOperation("free", i)


Operations = Sequence[ChainOperation]


class LinkCost(NamedTuple):
    """What one link costs, in seconds and bytes.

    forward, backward  seconds of each pass
    output             bytes of a[i + 1]
    internals          bytes that a forward pass that keeps all leaves, besides a[i] and a[i + 1]
    holds_output       whether the record has a[i + 1] itself in it, which then lives until link i has gone backward

    forward_peak, recorded_peak, backward_peak: the most bytes that are live during a pass, above those before it;
    recorded: of a forward pass that keeps all. None: no temporaries, so what the pass leaves is its peak.
    """

    forward: float
    backward: float
    output: int
    internals: int
    holds_output: bool = False
    forward_peak: int | None = None
    recorded_peak: int | None = None
    backward_peak: int | None = None


class Chain(NamedTuple):
    """Links one after the other; gradient: bytes of d[0], 0 if what enters needs no gradient, as tokens do not."""

    links: tuple[LinkCost, ...]
    gradient: int = 0

    @property
    def n(self) -> int:
        """How many links there are. (len() is 2, as of every such tuple.)"""
        return len(self.links)

    def value(self, i: int) -> int:
        """Bytes of a[i]; 0 for a[0], which is the caller's."""
        return self.links[i - 1].output if i else 0

    def gradient_of(self, i: int) -> int:
        """Bytes of d[i]; 0 for d[n], which is the caller's."""
        return 0 if i == self.n else self.value(i) if i else self.gradient

    def seconds(self, operation: ChainOperation) -> float:
        """How long an operation takes."""
        if operation.kind == "free":
            return 0.0
        link = self.links[operation.i]
        return link.forward if operation.kind == "forward" else link.backward

    def peak(self, operation: ChainOperation) -> int:
        """The most bytes that are live during an operation, above those before it."""
        if operation.kind == "free":
            return 0
        link = self.links[operation.i]
        if operation.kind == "backward":
            return self.gradient_of(operation.i) if link.backward_peak is None else link.backward_peak
        if operation.keep == "all":
            return link.output + link.internals if link.recorded_peak is None else link.recorded_peak
        return link.output if link.forward_peak is None else link.forward_peak


def equal_links(n: int, forward: float = 1.0, backward: float = 2.0, output: int = 1, internals: int = 0) -> Chain:
    """n links that cost the same; the gradient of what enters has the bytes of an output."""
    return Chain((LinkCost(forward, backward, output, internals),) * n, output)


def keep_all(n: int) -> list[ChainOperation]:
    """The schedule without recomputation."""
    return [forward(i, "all") for i in range(n)] + [backward(i) for i in reversed(range(n))]


# What is live, and whether a schedule is right ------------------------------------------------------------------------


class Held:
    """What is live while a schedule runs: the values a[i], the records, and one gradient d[gradient]."""

    def __init__(self, n: int):
        self.n, self.values, self.records, self.gradient = n, {0}, set[int](), n

    def trouble(self, operation: ChainOperation) -> str:
        """Why the operation cannot be carried out now, or nothing."""
        kind, i, keep = operation
        if kind not in ("forward", "backward", "free") or not 0 <= i < self.n:
            return "there is no such operation"
        if kind == "forward" and keep not in KEEP:
            return f"a forward pass keeps {', '.join(KEEP)}"
        if kind == "backward":
            if self.gradient != i + 1:
                return f"link {self.gradient - 1} is the next to go backward" if self.gradient else "all have gone back"
            if i + 1 == self.n and self.n not in self.values:
                return "the chain has not been computed to its end"
            return "" if i in self.records else "no forward pass of this link has kept all"
        if i not in self.values:
            return f"a[{i}] is not there"
        if kind == "forward" and i + 1 in self.records:
            return f"a[{i + 1}] is in the record of link {i + 1}"
        return f"the record of link {i} needs a[{i}]" if i in self.records and self.drops(operation) else ""

    @staticmethod
    def drops(operation: ChainOperation) -> bool:
        """Whether a[i] goes."""
        return operation.kind != "forward" or operation.keep == "nothing"

    def live(self, chain: Chain) -> int:
        """Bytes of all that is live now."""
        nbytes = sum(map(chain.value, self.values)) + chain.gradient_of(self.gradient)
        for i in self.records:
            link = chain.links[i]
            nbytes += link.internals + (link.output if link.holds_output and i + 1 not in self.values else 0)
        return nbytes

    def take(self, operation: ChainOperation) -> None:
        """Carry the operation out."""
        kind, i, keep = operation
        if kind == "forward" and (i + 1 < self.gradient or i + 1 == self.n):
            self.values.add(i + 1)
        if keep == "all":
            self.records.add(i)
        if kind == "backward":
            self.records.discard(i)
            self.gradient = i
        if self.drops(operation):
            self.values.discard(i)


def check(n: int, operations: Operations) -> None:
    """Raise ValueError unless this is a schedule for n links: the line says which operation is wrong, and why."""
    held = Held(n)
    for number, operation in enumerate(operations):
        if why := held.trouble(operation):
            raise ValueError(f"operation {number}, {' '.join(map(str, operation)).strip()}: {why}")
        held.take(operation)
    if held.gradient:
        raise ValueError(f"the schedule ends before link {held.gradient - 1} has gone backward")

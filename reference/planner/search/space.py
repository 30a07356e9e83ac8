"""The space of layouts: all that N accelerators can do with one model, without those that cannot be; and its size.

Idea      A layout is a choice of degrees whose product is N, and a few more choices:

              d x t x p x c = N    t divides heads, p layers, c half of the sequence, d the batch
              b                    sequences of a micro-batch: b divides batch / d
              v                    chunks a rank: p v divides the layers, and p the micro-batches if v > 1
              recompute            none, operations, full; selective if attention keeps scores
              zero                 0, 1, 2, 3: only 0 on one replica, where nothing is left to shard

          What divides nothing is never made, so a search has no time to lose with it. `LayoutSpec.trouble` says the
          last word; a test compares with all combinations, tried one by one.
Price     `size` adds up without listing: some 10^4 to 10^5 layouts. What explodes is the placement of single layers:
          `placements` of L layers on N devices are N^L if each layer is on one device, (2^N - 1)^L if it may be on any
          set of devices, and C(L - 1, P - 1) if P stages are made of neighbours.
Left out  Layouts that leave accelerators idle; other orders of the axes; layers that differ in their degrees.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb
from typing import NamedTuple

from ..architecture import Architecture
from ..cluster import Cluster
from ..spec import RECOMPUTE, LayoutSpec


class LayoutSpace(NamedTuple):
    """What is asked: a model on so many accelerators of a machine, with a batch of so many sequences.

    length   tokens of a sequence; the model's own unless told
    memory   bytes that a rank may hold; the machine's unless told
    base     what all layouts have in common: schedule, kernels, overlap, bytes of a parameter
    """

    model: Architecture
    machine: Cluster
    ranks: int
    global_batch: int
    length: int | None = None
    memory: float | None = None
    base: LayoutSpec = LayoutSpec()

    @property
    def limit(self) -> float:
        """Bytes that a rank may hold."""
        return self.machine.memory if self.memory is None else self.memory

    def check(self) -> None:
        """Raise ValueError for counts that cannot be."""
        for name, value in (("accelerators", self.ranks), ("global_batch", self.global_batch)):
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        if not self.limit > 0:
            raise ValueError(f"memory is more than 0 bytes, got {self.limit}")

    def shapes(self) -> Iterator[LayoutSpec]:
        """Degrees and micro-batches that are possible, with nothing sharded, one chunk, and nothing recomputed."""
        self.check()
        s = self.length or self.model.length
        for t in divisors(self.ranks, self.model.heads):
            for p in divisors(self.ranks // t, self.model.layers):
                for c in divisors(self.ranks // (t * p)):
                    d = self.ranks // (t * p * c)
                    if self.global_batch % d or (c > 1 and s % (2 * c)):
                        continue
                    for b in divisors(self.global_batch // d):
                        spec = self.base._replace(data=d, tensor=t, stages=p, context=c, micro_batch=b)
                        if not spec.trouble(self.model, self.machine, self.global_batch, self.length):
                            yield spec

    def chunks(self, shape: LayoutSpec) -> list[int]:
        """v, chunks a rank, that a shape can have."""
        p = shape.stages
        if p == 1 or shape.schedule == "GPipe" or shape.micro_batches(self.global_batch) % p:
            return [1]
        return divisors(self.model.layers // p)

    def stages_of_zero(self, shape: LayoutSpec) -> tuple[int, ...]:
        """Stages of ZeRO that differ for a shape."""
        return (0,) if shape.replicas == 1 else (0, 1, 2, 3)

    @property
    def recomputes(self) -> tuple[str, ...]:
        """Ways to recompute that differ: flash attention keeps no scores, so "selective" is "none"."""
        return tuple(each for each in RECOMPUTE if each != "selective" or not self.base.flash)

    def specs(self) -> Iterator[LayoutSpec]:
        """All layouts."""
        for shape in self.shapes():
            for v in self.chunks(shape):
                for recompute in self.recomputes:
                    for zero in self.stages_of_zero(shape):
                        yield shape._replace(chunks=v, recompute=recompute, zero=zero)

    def size(self) -> int:
        """How many layouts there are: chunks x recompute x zero of each shape, added up."""
        each = (len(self.chunks(shape)) * len(self.stages_of_zero(shape)) for shape in self.shapes())
        return len(self.recomputes) * sum(each)


def divisors(n: int, of: int = 0) -> list[int]:
    """The divisors of n, ascending; only those that divide `of`, too, if it is given."""
    small = [k for k in range(1, int(n**0.5) + 1) if n % k == 0]
    return [k for k in sorted({*small, *(n // k for k in small)}) if of % k == 0]


def placements(L: int, N: int, stages: int | None = None) -> dict[str, int]:
    """How many ways there are to put L layers on N devices, by what is allowed; stages: N unless told.

    one device     each layer on one: N^L
    any devices    each layer on a set of them that is not empty: (2^N - 1)^L
    stages         neighbours together, in a row: C(L - 1, P - 1)
    """
    return {"one device": N**L, "any devices": (2**N - 1) ** L, "stages": comb(L - 1, (stages or N) - 1)}

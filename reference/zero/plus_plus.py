"""ZeRO++: three ways to send less through the links between nodes.

Idea      qwZ  the forward gather sends weights in 8 bits: a scale for each block, and whole numbers from -127 to 127
          hpZ  each rank keeps 1/S of the weights that it has gathered, so that the S ranks of its node can gather them
               again for the backward pass by themselves; nothing crosses nodes then
          qgZ  the reduce-scatter is two all-to-alls of 4 bits: inside the node, each to the rank whose place in its
               node the owner has; add; across nodes, to the owner; add. A ring would quantise a sum P - 1 times, this
               does it twice
Before    through the links between nodes: 3 Psi numbers of 16 bits, 6 Psi bytes
After     8 bits for the weights, nothing, 4 bits for an S-th of the gradients that were 16: Psi (1 + 0 + 1 / (2 S))
          bytes from each rank; hpZ costs 2 Psi / S bytes of memory
Sends     With n elements a shard, R = P / S nodes and c8(d), c4(d) the bytes of d elements: (P - 1) c8(n) in the
          forward gather, (S - 1) R n elements in the backward one; (S - 1) c4(R n) inside and (R - 1) c4(n) across
          for the gradients.
Exact     No: a weight is off by at most 1/254 of the largest of its block, a gradient by 1/14 at each of two hops. All
          ranks compute with the same weights, for an owner rounds its own as well. The master shard is not rounded.
Left out  One kernel for what are several here; the paper's overlap of the two hops.
Source    Wang et al., "ZeRO++: Extremely Efficient Collective Communication for Giant Model Training" (2023).
Try       Stage3(comm, module, torch.optim.Adam, make_group=plus_plus(comm, ranks_per_node=8))
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from .. import mpi
from ..compression.codec import Codec
from ..compression.quantize import grid
from .group import Group
from .hybrid import Then, nodes

BLOCK = 256
"""Elements that share a scale."""


def blocks(bits: int, block: int = BLOCK) -> Codec:
    """Whole numbers of so many bits, rounded to nearest, with a scale of 4 bytes a block."""
    return grid(f"int{bits} by {block}", 2 ** (bits - 1) - 1, math.inf, block, stochastic=False)


class PlusPlusGroup(Group):
    """A group that is cut among all ranks, and sends fewer bytes across nodes.

    weights, gradients  how they travel (a Codec); None: as they are
    second              whether the node keeps a copy between forward and backward pass
    """

    def __init__(
        self,
        comm,
        inside,
        across,
        parameters,
        *arguments,
        weights: Codec | None = None,
        gradients: Codec | None = None,
        second: bool = True,
        **options,
    ):
        self.inside, self.across, self.weights, self.gradients = inside, across, weights, gradients
        self.second = second
        self._kept: Tensor | None = None  # [P n / S] this rank's part of the node's copy
        super().__init__(comm, parameters, *arguments, **options)

    # Weights ----------------------------------------------------------------------------------------------------------

    def start_gather(self, again: bool = False) -> tuple[Tensor, Any]:
        """As Group's: quantised among all ranks, or as it is inside the node."""
        if again and self._kept is not None:
            return self._start_gather_inside(self._kept)
        if self.weights is None:
            gathered, request = super().start_gather()
            return gathered, Then(request, lambda: self._keep(gathered))
        gathered = self._room()
        decode, wire = self.weights.decode, self.weights.encode(self.master)
        wires = wire.new_empty(self.comm.size, len(wire))
        request = self.comm.Iallgather(wire, wires)

        def arrived() -> None:
            for wire, shard in zip(wires, gathered.split(self.n)):
                shard.copy_(decode(wire, self.n))
            self._keep(gathered)

        return gathered, Then(request, arrived)

    def _keep(self, gathered: Tensor) -> None:
        if self.second:
            self._kept = gathered.chunk(self.inside.size)[self.inside.rank].clone()
            self.hold("weights", self._kept)

    def _start_gather_inside(self, kept: Tensor) -> tuple[Tensor, Any]:
        gathered = self._room()
        gathered.chunk(self.inside.size)[self.inside.rank].copy_(kept)
        return gathered, self.inside.Iallgather(mpi.IN_PLACE, gathered)

    # Gradients --------------------------------------------------------------------------------------------------------

    def start_reduce(self) -> tuple[Tensor, Tensor, Any]:
        """As Group's: quantised, in two hops."""
        if self.gradients is None:
            return super().start_reduce()
        whole, received = self._pack_gradients()
        S, R, n, codec = self.inside.size, self.across.size, self.n, self.gradients
        by_place = whole.view(R, S, n).transpose(0, 1)  # [S, R, n]: the owner's place in its node, then its node

        def across(wires: Tensor) -> Any:
            return exchange(self.across, codec, add(codec, wires, R * n).view(R, n), arrived)

        def arrived(wires: Tensor) -> None:
            received.copy_(add(codec, wires, n))

        return whole, received, exchange(self.inside, codec, by_place.reshape(S, R * n), across)


def exchange(comm, codec: Codec, parts: Tensor, then: Callable[[Tensor], Any]) -> Then:
    """Send part i of parts [ranks, d] to rank i, encoded; then(wires) gets what has come from all ranks."""
    wires = torch.stack([codec.encode(part) for part in parts])
    came = torch.empty_like(wires)
    return Then(comm.Ialltoall(wires, came), lambda: then(came))


def add(codec: Codec, wires: Tensor, d: int) -> Tensor:
    """The sum [d] of what these wires [ranks, bytes] say."""
    return torch.stack([codec.decode(wire, d) for wire in wires]).sum(0)


def plus_plus(
    comm, ranks_per_node: int, weight_bits: int | None = 8, gradient_bits: int | None = 4, second: bool = True
) -> Callable[..., Group]:
    """What Stage3 takes as make_group; None for bits: what travels is not quantised. Collective.

    Raises ValueError on every rank unless ranks_per_node divides the ranks.
    """
    inside, across = nodes(comm, ranks_per_node)
    weights, gradients = (None if bits is None else blocks(bits) for bits in (weight_bits, gradient_bits))

    def make_group(comm, parameters, *arguments, **options) -> Group:
        how = partial(PlusPlusGroup, weights=weights, gradients=gradients, second=second)
        return how(comm, inside, across, parameters, *arguments, **options)

    return make_group

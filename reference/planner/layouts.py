"""Layouts: how the ranks of a group hold one tensor, and the collective that turns one layout into another.

Idea      A tensor lies on P ranks in one of three ways. R: each rank has all of it. S(h): each has a P-th of it, cut
          along the dimension h. P: each has a summand of its shape, and the tensor is the sum of all. From one layout
          to another leads one collective, or nothing that has to be sent:

              from \\ to   R            S(j)             P
              R           -            its own slice    one rank keeps it, the others take zeros
              S(i)        allgather    alltoall         its slice, zeros around it
              P           allreduce    reduce_scatter   -

          A gradient has a layout, too, and it need not be that of the tensor. Whoever reads a whole tensor on each rank
          and computes with a slice of the weights has a summand of its gradient: R forward, P backward. A `Flow` is
          both. So the conversion between two operators costs something forward and something backward, and the two
          belong together: P to R forward with R to R backward, and R to R forward with P to R backward, are Megatron's
          g and f.
Sends     Of a tensor of n bytes, all ranks together: allgather and reduce_scatter (P - 1) n, allreduce 2 (P - 1) n,
          alltoall (P - 1) / P n. Each rank sends a P-th of that.
Price     The rings of reference/collectives, and the pairwise exchange: their closed forms, with alpha, beta and gamma.
Left out  Groups in two dimensions, where a tensor is cut along two of its own; cuts that do not come out even: a
          dimension that P does not divide is not offered.
Source    Xu et al., "GSPMD: General and Scalable Parallelization for ML Computation Graphs" (2021), section 3, for the
          layouts; Shoeybi et al., "Megatron-LM" (2019), section 3, for the conjugates f and g.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import NamedTuple

from ..collectives.cost import Cost
from ..collectives.exchange import pairwise_alltoall_cost
from ..collectives.ring import ring_allgather_cost, ring_allreduce_cost, ring_reduce_scatter_cost
from ..networks.network import Link


class TensorLayout(NamedTuple):
    """How a tensor lies on the ranks. kind: "R", "S" or "P"; dim: the letter of the dimension that "S" cuts."""

    kind: str
    dim: str = ""

    def __str__(self) -> str:
        return f"S({self.dim})" if self.kind == "S" else self.kind


REPLICATED, PARTIAL = TensorLayout("R"), TensorLayout("P")


def sharded(dim: str) -> TensorLayout:
    """Cut along the dimension of this letter."""
    return TensorLayout("S", dim)


class Flow(NamedTuple):
    """The layout of a tensor on its way forward, and that of its gradient on the way back."""

    value: TensorLayout
    gradient: TensorLayout

    def __str__(self) -> str:
        return f"{self.value}/{self.gradient}"


WHOLE = Flow(REPLICATED, REPLICATED)  # every rank computes the same with it
SHARED = Flow(REPLICATED, PARTIAL)  # every rank reads all of it, and has a summand of its gradient
SUMMANDS = Flow(PARTIAL, REPLICATED)  # every rank has made a summand, and the gradient is the same for each


def cut(dim: str) -> Flow:
    """The tensor and its gradient cut along one dimension."""
    return Flow(sharded(dim), sharded(dim))


class CollectiveCall(NamedTuple):
    """One collective of a plan.

    operator    whose input, output or weight it is
    phase       "forward" or "backward"
    collective  "allgather", "reduce_scatter", "allreduce" or "alltoall"
    elements    of the whole tensor, whatever each rank has of it
    """

    operator: str
    phase: str
    collective: str
    elements: int


def elements(dims: str, sizes: Mapping[str, int]) -> int:
    """The elements of a tensor whose dimensions have these letters; 1 without any."""
    return prod(sizes[dim] for dim in dims)


def local_elements(layout: TensorLayout, dims: str, sizes: Mapping[str, int], P: int) -> int:
    """The elements that one rank holds: a P-th if the tensor is cut, else as many as it has."""
    return elements(dims, sizes) // (P if layout.kind == "S" else 1)


COLLECTIVE = {"SR": "allgather", "PR": "allreduce", "PS": "reduce_scatter", "SS": "alltoall"}


def conversion(have: TensorLayout, want: TensorLayout) -> str:
    """The collective that turns one layout into another: the table above. "" if nothing has to be sent."""
    return "" if have == want else COLLECTIVE.get(have.kind + want.kind, "")


TIME = {
    "allgather": ring_allgather_cost,
    "allreduce": ring_allreduce_cost,
    "reduce_scatter": ring_reduce_scatter_cost,
}
SENT = {"allgather": 1, "reduce_scatter": 1, "allreduce": 2}  # in units of (P - 1) n, all ranks together


def transfer_cost(transfer: CollectiveCall, P: int, itemsize: int, link: Link) -> Cost:
    """Seconds of a transfer on P ranks, by the closed form of its algorithm."""
    if transfer.collective == "alltoall":
        return pairwise_alltoall_cost(P, transfer.elements // P, itemsize, link)
    return TIME[transfer.collective](P, transfer.elements, itemsize, link)


def transfer_bytes(transfer: CollectiveCall, P: int, itemsize: int) -> int:
    """Bytes that all ranks together send."""
    if transfer.collective == "alltoall":
        return (P - 1) * (transfer.elements // P) * itemsize
    return SENT[transfer.collective] * (P - 1) * transfer.elements * itemsize


def between(operator: str, made: Flow, wanted: Flow, count: int, gradient: bool = True) -> list[CollectiveCall]:
    """What is sent between who makes a tensor of `count` elements and who takes it: forward, and backward.

    gradient: whether there is one; tokens have none.
    """
    ways = [("forward", conversion(made.value, wanted.value))]
    if gradient:
        ways.append(("backward", conversion(wanted.gradient, made.gradient)))
    return [CollectiveCall(operator, phase, collective, count) for phase, collective in ways if collective]

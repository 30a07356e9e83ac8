"""A plan carried out: each rank holds what its layouts say, and sends what the plan has counted, forward and backward.

    made = carry_out(comm, plan, values={"x": x}, weights={"up": (U,), "down": (D,)}, gradients={"y": dy})

Idea      One interpreter for all plans. Forward: bring each input from the layout in which it was made into the one in
          which the operator uses it, then compute with what is there. Backward the same in reverse, with gradients.
          What an operator computes with its slices is what it computes with whole tensors (`LOCAL`), which is why it
          may be split along these letters; the embedding alone has to know which words it has.
Exact     The results are those of the serial model up to the order of sums. Bytes and, on a uniform network, seconds of
          communication are the plan's, to the last one.
Left out  Saving memory: it keeps the inputs of every operator, and computes its forward pass again for the gradients.
          Losses over a sharded vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from ..collectives.algorithms import allgather, alltoall, reduce_scatter
from ..collectives.ring import ring_allreduce
from .layouts import Flow, TensorLayout, conversion
from .operators import Operator
from .sharding import Plan
from .strategies import Strategy

# Layouts --------------------------------------------------------------------------------------------------------------


def take(x: Tensor, layout: TensorLayout, dims: str, P: int, rank: int) -> Tensor:
    """What a rank has of a whole tensor in this layout: all, its slice, or as a summand all on rank 0, else zeros."""
    if layout.kind == "P":
        return x if rank == 0 else torch.zeros_like(x)
    return x.chunk(P, dims.index(layout.dim))[rank] if layout.kind == "S" else x


def redistribute(comm, x: Tensor, have: TensorLayout, want: TensorLayout, dims: str) -> Tensor:
    """This rank's part of a tensor [dims] in the layout that is wanted; x is its part in the one that it has.

    The collective is the one that `conversion` names, in a ring; x is not changed.
    """
    P, rank = comm.size, comm.rank
    if P == 1 or have == want:
        return x
    collective = conversion(have, want)
    if collective == "allgather":
        axis = dims.index(have.dim)
        whole = x.new_empty((P, *x.movedim(axis, 0).shape))
        whole[rank] = x.movedim(axis, 0)
        return allgather(comm, whole).flatten(0, 1).movedim(0, axis)
    if collective == "allreduce":
        whole = x.clone(memory_format=torch.contiguous_format)
        ring_allreduce(comm, whole.view(-1))
        return whole
    if collective == "reduce_scatter":
        axis = dims.index(want.dim)
        summands = x.movedim(axis, 0).clone(memory_format=torch.contiguous_format)
        shape = (summands.shape[0] // P, *summands.shape[1:])
        return reduce_scatter(comm, summands).reshape(shape).movedim(0, axis)
    if collective == "alltoall":
        send = torch.stack(x.chunk(P, dims.index(want.dim)))
        return torch.cat(list(alltoall(comm, send, torch.empty_like(send))), dims.index(have.dim))
    if have.kind == "S":  # to summands: its slice, and zeros around it
        axis = dims.index(have.dim)
        zeros = torch.zeros_like(x)
        return torch.cat([x if r == rank else zeros for r in range(P)], axis)
    return take(x, want, dims, P, rank)


# What an operator computes with what is there -------------------------------------------------------------------------


def _matmul(operator: Operator, strategy: Strategy, rank: int, x: Tensor, weight: Tensor) -> Tensor:
    return torch.einsum(f"{operator.reads[0]},{operator.weights[0]}->{operator.out}", x, weight)


def _norm(operator: Operator, strategy: Strategy, rank: int, x: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
    return F.layer_norm(x, gain.shape, gain, shift)


def _bias(operator: Operator, strategy: Strategy, rank: int, x: Tensor, shift: Tensor) -> Tensor:
    return x + shift.view([x.shape[i] if dim in operator.weights[0] else 1 for i, dim in enumerate(operator.out)])


def _attention(operator: Operator, strategy: Strategy, rank: int, x: Tensor) -> Tensor:
    q, k, v = (part.transpose(1, 2) for part in x.chunk(3, -1))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)


def _embedding(operator: Operator, strategy: Strategy, rank: int, tokens: Tensor, table: Tensor) -> Tensor:
    first = rank * len(table) if strategy.letter == operator.weights[0][0] else 0
    known = (tokens >= first) & (tokens < first + len(table))
    return F.embedding((tokens - first) * known, table) * known[..., None]


LOCAL: dict[str, Callable[..., Tensor]] = {  # kind: function(operator, strategy, rank, *inputs, *weights) -> output
    "matmul": _matmul,
    "gelu": lambda operator, strategy, rank, x: F.gelu(x),
    "norm": _norm,
    "bias": _bias,
    "add": lambda operator, strategy, rank, x, y: x + y,
    "fork": lambda operator, strategy, rank, x: x.clone(),
    "attention": _attention,
    "embedding": _embedding,
}


# The interpreter ------------------------------------------------------------------------------------------------------


@dataclass
class Carried:
    """What a rank has in the end; the plan's strategies tell in which layouts.

    outputs    of each sink, its input, as the sink takes it
    gradients  of each source that has one, as the source makes it
    weights    of each operator with weights, their gradients, as it holds them
    """

    outputs: dict[str, Tensor] = field(default_factory=dict)
    gradients: dict[str, Tensor] = field(default_factory=dict)
    weights: dict[str, tuple[Tensor, ...]] = field(default_factory=dict)


def carry_out(
    comm,
    plan: Plan,
    values: Mapping[str, Tensor],
    weights: Mapping[str, tuple[Tensor, ...]],
    gradients: Mapping[str, Tensor],
) -> Carried:
    """Run the plan forward and backward on the ranks of comm.

    values, gradients   the whole tensors of sources, and the whole gradients of the inputs of sinks, by name: each rank
                        takes what its layouts give it
    weights             the whole weights of each operator that has some
    Collective. Raises ValueError if the plan is for another number of ranks, or has an operator that is not carried out
    here.
    """
    _check(comm, plan)
    return _Run(comm, plan).run(values, weights, gradients)


def _check(comm, plan: Plan) -> None:
    if comm.size != plan.setting.P:
        raise ValueError(f"this plan is for {plan.setting.P} ranks, and there are {comm.size}")
    for operator in plan.graph.operators:
        if operator.kind not in (*LOCAL, "source", "sink"):
            raise ValueError(f"{operator.name}: {operator.kind} can be planned, but is not carried out here")


class _Run:
    """One step of a plan on one rank."""

    def __init__(self, comm, plan: Plan):
        self.comm, self.plan = comm, plan
        self.steps = list(zip(plan.graph.operators, plan.chosen))
        self.strategy = {operator.name: strategy for operator, strategy in self.steps}
        self.outputs: dict[str, Tensor] = {}
        self.taken: dict[str, list[Tensor]] = {}  # inputs as they arrive
        self.gradients: dict[str, Tensor] = {}  # of outputs, as they were made
        self.carried = Carried()

    def run(self, values, weights, gradients) -> Carried:
        self.held = {
            operator.name: [
                self.own(weight, layout, dims)
                for weight, layout, dims in zip(weights[operator.name], strategy.holds, operator.weights)
            ]
            for operator, strategy in self.steps
            if operator.weights
        }
        with torch.no_grad():
            for operator, strategy in self.steps:
                self.forward(operator, strategy, values)
        for operator, strategy in reversed(self.steps):
            self.backward(operator, strategy, gradients)
        return self.carried

    def own(self, x: Tensor, layout: TensorLayout, dims: str) -> Tensor:
        return take(x, layout, dims, self.comm.size, self.comm.rank)

    def forward(self, operator: Operator, strategy: Strategy, values) -> None:
        if operator.kind == "source":
            self.outputs[operator.name] = self.own(values[operator.name], strategy.makes.value, operator.out)
            return
        self.taken[operator.name] = [
            redistribute(self.comm, self.outputs[x], self.strategy[x].makes.value, flow.value, dims)
            for x, flow, dims in zip(operator.inputs, strategy.takes, operator.reads)
        ]
        if operator.kind == "sink":
            self.carried.outputs[operator.name] = self.taken[operator.name][0]
        else:
            self.outputs[operator.name] = self.compute(operator, strategy, self.used(operator, strategy))

    def compute(self, operator: Operator, strategy: Strategy, tensors: list[Tensor]) -> Tensor:
        return LOCAL[operator.kind](operator, strategy, self.comm.rank, *tensors)

    def tensors(self, operator: Operator, strategy: Strategy) -> list[tuple[str, Flow, Flow, Tensor]]:
        """Inputs and weights: dimensions, how they are here, how the operator uses them, and what is here."""
        holds = [Flow(layout, layout) for layout in strategy.holds]
        return [
            *zip(operator.reads, strategy.takes, strategy.uses, self.taken[operator.name]),
            *zip(operator.weights, holds, strategy.reads, self.held.get(operator.name, [])),
        ]

    def used(self, operator: Operator, strategy: Strategy) -> list[Tensor]:
        """Inputs and weights as the operator uses them: gathered, if its strategy says so."""
        return [
            redistribute(self.comm, x, have.value, use.value, dims)
            for dims, have, use, x in self.tensors(operator, strategy)
        ]

    def backward(self, operator: Operator, strategy: Strategy, gradients) -> None:
        if operator.kind == "source":
            if operator.gradient:
                self.carried.gradients[operator.name] = self.gradients[operator.name]
            return
        if operator.kind == "sink":
            own = [self.own(gradients[operator.name], strategy.takes[0].gradient, operator.reads[0])]
        else:
            own = self.gradients_of(operator, strategy)
        for x, flow, dims, gradient in zip(operator.inputs, strategy.takes, operator.reads, own):
            if self.plan.graph[x].gradient:
                arrived = redistribute(self.comm, gradient, flow.gradient, self.strategy[x].makes.gradient, dims)
                self.gradients[x] = self.gradients[x] + arrived if x in self.gradients else arrived
        if operator.weights:
            self.carried.weights[operator.name] = tuple(own[len(operator.inputs) :])

    def gradients_of(self, operator: Operator, strategy: Strategy) -> list[Tensor]:
        """The gradients of an operator's inputs, as they arrived, and of its weights, as it holds them."""
        used = [x.detach() for x in self.used(operator, strategy)]
        wanted = [x.requires_grad_() for x in used if x.is_floating_point()]
        made = torch.autograd.grad(self.compute(operator, strategy, used), wanted, self.gradients[operator.name])
        found = iter(made)
        return [
            redistribute(self.comm, next(found), use.gradient, have.gradient, dims) if x.is_floating_point() else x
            for x, (dims, have, use, _) in zip(used, self.tensors(operator, strategy))
        ]

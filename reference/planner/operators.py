"""Operators of a model as records of letters, and the graph that they make.

    X = source("x", "bsh")
    Y = matmul("up", "x", "bsh", "hf", "bsf")  # Y[b s f] = sum over h of X[b s h] W[h f]

Idea      To divide an operator among ranks one has to know which dimensions its tensors have in common, and whether a
          part of its inputs gives a part of its output. Letters tell the first (as in einsum), `splits` the second. All
          that follows is worked out from them (strategies.py).
          Where several operators take one output, the graph inserts a fork. Backward it adds their gradients up, and
          that must happen before an all-reduce, not after: else each of them pays for one.
Left out  Operators with several outputs, tied weights, and dropout, which sends nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from .layouts import Flow, elements


@dataclass(frozen=True)
class Operator:
    """One operator of a graph. Dimensions are letters: "bsh" is a tensor of three.

    kind      what it computes: carry_out.py has a function for each
    inputs    names of the operators whose outputs it takes
    reads     the dimensions of each input
    out       the dimensions of its output
    splits    letters along which it can be split
    weights   the dimensions of each weight
    work      products of letters: 2 FLOPs of the forward pass for each combination
    passes    how many times its forward pass forward and backward take together
    keeps     whether the backward pass needs its inputs
    linear    whether it may take summands and make summands, without a collective
    inside    {letter: (dimensions, times)}: split along it, so many all-reduces forward make the output whole
    gradient  whether its output has one
    flows     in which its output may be; of a sink, its input. None: any
    """

    name: str
    kind: str
    inputs: tuple[str, ...]
    reads: tuple[str, ...]
    out: str
    splits: str
    weights: tuple[str, ...] = ()
    work: tuple[str, ...] = ()
    passes: int = 3
    keeps: bool = True
    linear: bool = False
    inside: Mapping[str, tuple[str, int]] | None = None
    gradient: bool = True
    flows: tuple[Flow, ...] | None = None

    def letters(self) -> str:
        """The letters of all its tensors, each once."""
        return "".join(dict.fromkeys("".join((*self.reads, *self.weights, self.out, *self.work))))


# The operators of a transformer ---------------------------------------------------------------------------------------


def source(name: str, dims: str, gradient: bool = True, flows: tuple[Flow, ...] | None = None) -> Operator:
    """What comes from outside, in any layout unless `flows` says which; without a gradient if it is data."""
    return Operator(name, "source", (), (), dims, dims, passes=0, keeps=False, gradient=gradient, flows=flows)


def sink(name: str, x: str, dims: str, flows: tuple[Flow, ...] | None = None) -> Operator:
    """Where the graph ends: it takes x whole or cut, or as `flows` says, and gives its gradient in the same layout."""
    return Operator(name, "sink", (x,), (dims,), "", dims, passes=0, keeps=False, flows=flows)


def matmul(name: str, x: str, dims: str, weight: str, out: str) -> Operator:
    """A product with a weight, as letters: matmul("up", "norm", "bsh", "hf", "bsf") is einsum("bsh,hf->bsf")."""
    letters = "".join(dict.fromkeys(dims + weight))
    return Operator(name, "matmul", (x,), (dims,), out, letters, (weight,), (letters,))


def elementwise(name: str, x: str, dims: str, kind: str = "gelu") -> Operator:
    """A nonlinear function of each element."""
    return Operator(name, kind, (x,), (dims,), dims, dims)


def norm(name: str, x: str, dims: str, over: str = "h") -> Operator:
    """Layer norm over one dimension, along which it is not split, with a gain and a shift."""
    return Operator(name, "norm", (x,), (dims,), dims, dims.replace(over, ""), (over, over))


def bias(name: str, x: str, dims: str, over: str) -> Operator:
    """x plus a weight of dimensions `over`. It takes no summands: on each of P ranks they would get it P times."""
    return Operator(name, "bias", (x,), (dims,), dims, dims, (over,), passes=2, keeps=False)


def add(name: str, x: str, y: str, dims: str) -> Operator:
    """x + y. Summands of both are summands of the sum."""
    return Operator(name, "add", (x, y), (dims, dims), dims, dims, passes=1, keeps=False, linear=True)


def fork(name: str, x: str, dims: str) -> Operator:
    """x for several who take it. Backward it adds their gradients, which may be summands. Graph inserts it."""
    return Operator(name, "fork", (x,), (dims,), dims, dims, passes=1, keeps=False, linear=True)


def attention(name: str, x: str) -> Operator:
    """Causal self-attention: x [b s a e] holds q, k, v of each head (e = 3 d); out [b s a d]. By samples or heads."""
    return Operator(name, "attention", (x,), ("bsae",), "bsad", "ba", work=("bssad", "bssad"))


def embedding(name: str, tokens: str, vocabulary: str = "v") -> Operator:
    """Rows of a table [v h] for tokens [b s]. Split along v a rank knows some words, and gives zeros for the rest."""
    return Operator(name, "embedding", (tokens,), ("bs",), "bsh", f"bs{vocabulary}h", (f"{vocabulary}h",), keeps=False)


def cross_entropy(name: str, logits: str, vocabulary: str = "v") -> Operator:
    """The loss of logits [b s v], a scalar. Along v: the maximum, the target's logit, the sum of exponentials."""
    dims = f"bs{vocabulary}"
    return Operator(name, "cross entropy", (logits,), (dims,), "", dims, inside={vocabulary: ("bs", 3)})


# The graph ------------------------------------------------------------------------------------------------------------


class Edge(NamedTuple):
    """From the operator of this number to that one, whose input `slot` it is: so many elements."""

    source: int
    dest: int
    slot: int
    elements: int
    gradient: bool


@dataclass(frozen=True)
class Graph:
    """Operators in an order in which each comes after those whose outputs it takes, and the size of each dimension.

    Made by `graph`, which checks it and inserts forks.
    """

    operators: tuple[Operator, ...]
    sizes: Mapping[str, int]

    def edges(self) -> list[Edge]:
        """What goes from operator to operator."""
        number = {operator.name: i for i, operator in enumerate(self.operators)}
        return [
            Edge(number[x], j, slot, elements(dims, self.sizes), self.operators[number[x]].gradient)
            for j, operator in enumerate(self.operators)
            for slot, (x, dims) in enumerate(zip(operator.inputs, operator.reads))
        ]

    def __getitem__(self, name: str) -> Operator:
        return next(operator for operator in self.operators if operator.name == name)


def graph(operators: Iterable[Operator], sizes: Mapping[str, int]) -> Graph:
    """The graph of these operators; where several take one output, a fork stands between: "x fork".

    Raises ValueError for a name that is there twice or not yet, dimensions that differ between who makes a tensor and
    who takes it, and a letter without a size of at least 1.
    """
    operators = list(operators)
    made: dict[str, str] = {}
    for operator in operators:
        for x, dims in zip(operator.inputs, operator.reads):
            if x not in made:
                raise ValueError(f"{operator.name} takes {x}, and no operator before it has this name")
            if made[x] != dims:
                raise ValueError(f"{operator.name} takes {x} as [{dims}], but it is [{made[x]}]")
        if operator.name in made:
            raise ValueError(f"two operators are called {operator.name}")
        if lacking := [letter for letter in operator.letters() if sizes.get(letter, 0) < 1]:
            raise ValueError(f"{operator.name} has a dimension {lacking[0]}, which has no size of at least 1")
        made[operator.name] = operator.out
    return Graph(tuple(_with_forks(operators)), dict(sizes))


def _with_forks(operators: list[Operator]) -> Iterator[Operator]:
    takers = Counter(x for operator in operators for x in operator.inputs)
    for operator in operators:
        inputs = tuple(f"{x} fork" if takers[x] > 1 else x for x in operator.inputs)
        yield replace(operator, inputs=inputs)
        if takers[operator.name] > 1:
            yield replace(fork(f"{operator.name} fork", operator.name, operator.out), gradient=operator.gradient)

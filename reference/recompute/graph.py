"""A forward and backward pass as a graph of operations: what each reads, how long it takes, what its results weigh.

Idea      A dispatch mode hears of every operation of torch, in the forward pass and in the backward pass. It notes the
          operation with its arguments, and which earlier operation made each of them. So the graph knows what the
          backward pass reads of the forward pass, and can be carried out again in any order that respects it, with
          values thrown away and computed anew (rematerialize.py).
          A view moves no bytes: it belongs to the operation that made its memory. An operation that only makes
          gradients of weights is joined to the vertex before it that reads the same gradient.
Exact     Bytes are those of the storages, so that the peak of a plan is the meter's, byte for byte; gradients have the
          same bits. Seconds are those of a device's roofline (perf/roofline.py).
Left out  Operations that write into their arguments, and random ones: refused. The results of one operation are kept
          or thrown away together.
Source    Jain et al., "Checkmate: Breaking the Memory Wall with Optimal Tensor Rematerialization" (2020), section 3.
Try       graph = recorded(Block(TINY), torch.randn(2, 16, 32, requires_grad=True), device("A100 SXM"))
          print(graph.table())
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from ..perf.flops import count, rule, tensors
from ..perf.roofline import Device
from .chain import Chain


class Vertex(NamedTuple):
    """An operation of the graph: its name, the vertices that it reads, seconds, bytes of its results.

    working: bytes that it needs beyond its results while it runs. backward: whether it is of the backward pass.
    """

    name: str
    parents: tuple[int, ...]
    seconds: float
    nbytes: int
    working: int = 0
    backward: bool = False


class ResultView(NamedTuple):
    """A tensor in the memory of a result: which call's, which of its results, and how it looks at it."""

    call: int
    result: int
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int


class RecordedCall(NamedTuple):
    """One operation as it was called; a ResultView stands for each argument that another call made."""

    operation: Any
    args: tuple
    kwargs: dict
    seconds: float
    nbytes: tuple[int, ...]  # of each result


class OperationGraph:
    """Vertices in an order in which they can be computed; with their calls, if they were recorded.

    vertices  each reads earlier ones only. calls: of each vertex its calls, in order.
    gradients call and result -> the weights' gradients (names) made there, and how they look at that memory
    Raises ValueError if a vertex reads itself or a later one, and for negative seconds or bytes.
    """

    def __init__(
        self,
        vertices: Sequence[Vertex],
        calls: Sequence[Sequence[tuple[int, RecordedCall]]] = (),
        gradients: dict[str, ResultView] | None = None,
    ):
        self.vertices, self.calls, self.gradients = tuple(vertices), tuple(calls), gradients or {}
        self.children: list[list[int]] = [[] for _ in vertices]
        for v, vertex in enumerate(vertices):
            if any(not 0 <= u < v for u in vertex.parents):
                raise ValueError(f"{vertex.name}, vertex {v}, reads {vertex.parents}: only earlier ones are there")
            if min(vertex.seconds, vertex.nbytes, vertex.working) < 0:
                raise ValueError(f"{vertex.name} has negative seconds or bytes: {vertex}")
            for u in vertex.parents:
                self.children[u].append(v)

    def __len__(self) -> int:
        return len(self.vertices)

    @property
    def seconds(self) -> float:
        """Of every vertex once: what no plan beats."""
        return sum(vertex.seconds for vertex in self.vertices)

    def table(self) -> str:
        """The vertices, one a line: name, microseconds, kilobytes, which vertices it reads."""
        lines = ["vertex  operation                        us       kB  reads"]
        for v, vertex in enumerate(self.vertices):
            name = vertex.name.removeprefix("scaled_dot_product_").replace("_for_cpu", "")
            reads = ", ".join(map(str, vertex.parents)) or "-"
            lines.append(f"{v:6d}  {name:<26s}  {vertex.seconds * 1e6:7.3f}  {vertex.nbytes / 1e3:7.1f}  {reads}")
        return "\n".join(lines)


def as_graph(chain: Chain) -> OperationGraph:
    """A chain whose links keep nothing inside as a graph: forward 0 to n - 1, then backward n - 1 to 0.

    Raises ValueError for internals, temporaries, records with outputs, and an output of the last link, which would
    stay: a vertex that is computed cannot choose what it keeps.
    """
    n = chain.n
    for link in chain.links:
        if (
            link.internals
            or link.holds_output
            or (link.forward_peak, link.recorded_peak, link.backward_peak) != (None,) * 3
        ):
            raise ValueError(f"{link} has a record that a graph of whole links cannot tell")
    if chain.value(n):
        raise ValueError(f"the chain's output of {chain.value(n)} bytes stays: put a loss behind it, of 0 bytes")
    ahead = [
        Vertex(f"forward {i}", (i - 1,) if i else (), chain.links[i].forward, chain.value(i + 1)) for i in range(n)
    ]
    back = [
        Vertex(
            f"backward {i}",
            tuple(sorted({2 * n - 2 - i, *([i - 1] if i else [])})),
            chain.links[i].backward,
            chain.gradient_of(i),
            backward=True,
        )
        for i in reversed(range(n))
    ]
    return OperationGraph(ahead + back)


class CallRecorder(TorchDispatchMode):
    """Carries operations out and notes them; keeps every result, so that no memory is used twice."""

    def __init__(self, device: Device):
        super().__init__()
        self.device = device
        self.calls: list[RecordedCall] = []
        self.made: dict[int, tuple[int, int]] = {}  # a storage's address -> call, which of its results
        self.kept: list[Any] = []

    def view(self, tensor: Any) -> Any:
        """A tensor as a ResultView if a recorded call made its memory, else as it is."""
        if not isinstance(tensor, Tensor) or tensor.untyped_storage()._cdata not in self.made:
            return tensor
        made = self.made[tensor.untyped_storage()._cdata]
        return ResultView(*made, tuple(tensor.shape), tensor.stride(), int(tensor.storage_offset()))

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        """Called by torch in place of every operation of this thread."""
        kwargs = kwargs or {}
        result = operation(*args, **kwargs)
        self.kept.append(result)
        if operation.is_view or operation is torch.ops.aten._unsafe_view.default:
            return result
        if torch.Tag.nondeterministic_seeded in operation.tags and not _without_dropout(operation, args):
            raise ValueError(f"{operation} draws random numbers: computed again they would be others")
        if not rule(operation).makes:
            raise ValueError(f"{operation} writes into its argument: it cannot be computed again from it")
        results = tensors(result if isinstance(result, tuple | list) else (result,))
        call = RecordedCall(
            operation,
            tree_map(self.view, tuple(args)),
            tree_map(self.view, kwargs),
            self.device.seconds(*count(rule(operation), args, kwargs, result)),
            tuple(one.untyped_storage().nbytes() for one in results),
        )
        for i, one in enumerate(results):
            self.made[one.untyped_storage()._cdata] = len(self.calls), i
        self.calls.append(call)
        return result


def _without_dropout(operation: Any, args: tuple) -> bool:
    """Attention is tagged as random, but draws nothing if its dropout is 0."""
    names = [argument.name for argument in operation._schema.arguments]
    return "dropout_p" in names and not args[names.index("dropout_p")]


def recorded(
    module: nn.Module, x: Tensor, device: Device, dy: Tensor | None = None, forward: Callable | None = None
) -> OperationGraph:
    """The graph of module(x) and its backward pass from dy (ones unless given), with the calls to carry it out.

    x: needs a gradient. Weights, x and dy come from outside: they are there always, and not counted. The gradients of
    weights are not counted either, but while the operation runs that makes them. Leaves no gradients behind.
    Raises ValueError for operations that are random, or write into their arguments.
    """
    weights = dict(module.named_parameters())
    recorder = CallRecorder(device)
    with recorder:
        y = (forward or module)(x)
    first = len(recorder.calls)
    dy = torch.ones_like(y) if dy is None else dy
    inputs = {"x": x, **weights}
    with recorder:
        found = torch.autograd.grad(y, list(inputs.values()), dy)
    gradients = {name: recorder.view(gradient) for name, gradient in zip(inputs, found)}
    return _joined(recorder.calls, gradients, first)


def _reads(nested: Any) -> set:
    """What a call reads: the numbers of earlier calls, and the addresses of memory from outside."""
    if isinstance(nested, ResultView):
        return {nested.call}
    if isinstance(nested, Tensor):
        return {("outside", nested.untyped_storage()._cdata)}
    if isinstance(nested, dict):
        nested = tuple(nested.values())
    return set().union(*map(_reads, nested)) if isinstance(nested, tuple | list) else set()


def _joined(calls: Sequence[RecordedCall], gradients: dict[str, ResultView], first: int) -> OperationGraph:
    """Calls as vertices; one that only makes gradients of weights is joined to a vertex that reads the same as it."""
    leave = {(made.call, made.result) for name, made in gradients.items() if name != "x"}
    reads = [_reads((call.args, call.kwargs)) for call in calls]
    before = [{u for u in found if isinstance(u, int)} for found in reads]
    groups: list[list[int]] = []
    home: dict[int, int] = {}
    for i, call in enumerate(calls):
        hosts = [
            g
            for g, group in enumerate(groups)
            if group[0] >= first and reads[i] & reads[group[0]] and all(home[u] < g for u in before[i])
        ]
        only = all((i, j) in leave for j in range(len(call.nbytes)))
        if not (only and hosts):
            groups.append([])
        home[i] = hosts[-1] if only and hosts else len(groups) - 1
        groups[home[i]].append(i)
    vertices = []
    for group in groups:
        parents = {home[u] for i in group for u in before[i]}
        kept = peak = 0
        for i in group:
            peak = max(peak, kept + sum(calls[i].nbytes))
            kept += sum(nbytes for j, nbytes in enumerate(calls[i].nbytes) if (i, j) not in leave)
        name = calls[group[0]].operation.overloadpacket.__name__.strip("_")
        seconds = sum(calls[i].seconds for i in group)
        vertices.append(Vertex(name, tuple(sorted(parents)), seconds, kept, peak - kept, group[0] >= first))
    return OperationGraph(vertices, [[(i, calls[i]) for i in group] for group in groups], gradients)

"""The cost of one operation of torch: FLOPs and bytes, from the shapes of its arguments.

Idea      FLOPs of the operations that have a formula: products of matrices, convolutions, attention, and their backward
          passes. A multiply-add counts as 2. Attention counts the whole square of scores, though a causal kernel skips
          half of it: so do the papers (PaLM, Megatron-LM) whose figures one compares with. Flash attention's backward
          pass computes the scores again, and that counts too.
          Bytes of every operation: each argument is read once from memory, each result written once. A view moves
          nothing; of an expanded tensor only what is there; of a table from which rows are picked, the rows.
Exact     torch.utils.flop_counter.FlopCounterMode has the same formulas, but none for attention on the CPU: it says 0.
Left out  The FLOPs of elementwise operations, norms and softmax: memory, not arithmetic, is what they wait for.
          Caches, and fusion: on the CPU of this course as on a GPU without a compiler, each operation is by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from math import prod
from typing import Any, NamedTuple

import torch
from torch import Tensor

aten = torch.ops.aten


def matmul(a: Tensor, b: Tensor) -> int:
    """[m, k] times [k, n], or a batch of these: 2 m k n each."""
    return 2 * a.numel() * b.shape[-1]


def convolution(x: Tensor, w: Tensor, y: Tensor, transposed: bool) -> int:
    """Each element of y is a sum over one filter of w; transposed, each of x goes into one filter."""
    return 2 * (x if transposed else y).numel() * (w.numel() // w.shape[0])


def attention(q: Tensor, k: Tensor, v: Tensor) -> int:
    """q [.., s, d] k [.., t, d] v [.., t, e]: q k^T and its product with v."""
    return 2 * (q.numel() // q.shape[-1]) * k.shape[-2] * (q.shape[-1] + v.shape[-1])


def attention_backward(q: Tensor, k: Tensor, v: Tensor) -> int:
    """q k^T again, then the gradients of the scores and v (e each), of q and k (d each)."""
    return 2 * (q.numel() // q.shape[-1]) * k.shape[-2] * (3 * q.shape[-1] + 2 * v.shape[-1])


# Operation -> FLOPs, from its result and its arguments.
FORMULAS: dict[Any, Callable[..., int]] = {
    aten.mm: lambda y, a, b, *_: matmul(a, b),
    aten.bmm: lambda y, a, b, *_: matmul(a, b),
    aten.addmm: lambda y, c, a, b, *_: matmul(a, b),
    aten.baddbmm: lambda y, c, a, b, *_: matmul(a, b),
    aten.mv: lambda y, a, x, *_: 2 * a.numel(),
    aten.addmv: lambda y, c, a, x, *_: 2 * a.numel(),
    aten.dot: lambda y, a, b, *_: 2 * a.numel(),
    aten.convolution: lambda y, x, w, b, stride, pad, dilation, transposed, *_: convolution(x, w, y, transposed),
    aten.convolution_backward: lambda grads, dy, x, w, b, stride, pad, dilation, transposed, out_pad, groups, mask: (
        convolution(x, w, dy, transposed) * sum(mask[:2])  # of x, which the first layer does not need, and of w
    ),
}
for _name in ("flash_attention_for_cpu", "flash_attention", "efficient_attention", "cudnn_attention"):
    FORMULAS[getattr(aten, f"_scaled_dot_product_{_name}")] = lambda y, q, k, v, *_: attention(q, k, v)
    FORMULAS[getattr(aten, f"_scaled_dot_product_{_name}_backward")] = lambda grads, dy, q, k, v, *_: (
        attention_backward(q, k, v)
    )

FREE_OPERATIONS = {
    aten.empty,
    aten.empty_like,
    aten.empty_strided,
    aten.new_empty,
    aten.new_empty_strided,
    aten._unsafe_view,
    aten.is_pinned,  # asked of each tensor that is handed to MPI: it reads none of it
}
OVERWRITE = {aten.copy_, aten.zero_, aten.fill_, aten.normal_, aten.uniform_, aten.bernoulli_, aten.random_}
PICK_ROWS = {aten.embedding, aten.index_select, aten.gather, aten.index}


class Rule(NamedTuple):
    """How to count one operation: whether it is free or made of others, its formula, which bytes are special."""

    free: bool
    makes: bool  # memory of its own for its result
    composite: bool
    formula: Callable[..., int] | None
    overwrites: bool  # its first argument is not read
    picks: bool  # of its first argument as much is read as its result holds
    written: tuple[int, ...]  # arguments that it changes and does not return


@cache
def rule(operation: Any) -> Rule:
    """The rule for an operation (a torch OpOverload)."""
    packet, schema = operation.overloadpacket, operation._schema
    changed = tuple(i for i, a in enumerate(schema.arguments) if a.alias_info is not None and a.alias_info.is_write)
    return Rule(
        free=operation.is_view or packet in FREE_OPERATIONS or operation.namespace == "profiler",
        makes=packet == aten.lift_fresh or not any(result.alias_info for result in schema.returns),
        composite=operation.has_kernel_for_dispatch_key(torch._C.DispatchKey.CompositeImplicitAutograd),
        formula=FORMULAS.get(packet),
        overwrites=packet in OVERWRITE,
        picks=packet in PICK_ROWS,
        written=() if schema.returns else changed,
    )


def count(how: Rule, args: tuple, kwargs: dict, result: Any) -> tuple[int, int]:
    """(FLOPs, bytes) of an operation that is not free, after it was carried out."""
    flops = how.formula(result, *args) if how.formula else 0
    nbytes = sum(map(moved, tensors((*args, *kwargs.values(), result))))
    if how.overwrites:
        nbytes -= sum(map(moved, tensors(args[:1])))
    if how.picks:
        nbytes -= max(0, moved(args[0]) - moved(result))
    for position in how.written:
        nbytes += sum(map(moved, tensors(args[position : position + 1])))
    return flops, nbytes


def tensors(nested: Iterable) -> list[Tensor]:
    """All tensors in tuples and lists."""
    found = []
    for item in nested:
        if isinstance(item, Tensor):
            found.append(item)
        elif isinstance(item, tuple | list):
            found += tensors(item)
    return found


def moved(tensor: Tensor) -> int:
    """Bytes of a tensor that really are in memory: an expanded dimension is one row."""
    stride = tensor.stride()
    if 0 not in stride:
        return tensor.nbytes
    return prod(n for n, step in zip(tensor.shape, stride) if step or not n) * tensor.element_size()

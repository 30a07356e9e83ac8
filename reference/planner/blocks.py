"""The parts of a transformer as lists of operators, to be put into a graph: what a planner is asked about.

Letters: b sequences, s tokens, h width, f width within the feed-forward network, a heads, d a head's width, e = 3 d
(its q, k and v together), v vocabulary. `sizes` makes the table of them.
"""

from __future__ import annotations

from .layouts import Flow
from .operators import (
    Graph,
    Operator,
    add,
    attention,
    cross_entropy,
    elementwise,
    embedding,
    graph,
    matmul,
    norm,
    sink,
    source,
)


def sizes(b: int, s: int, h: int, a: int = 1, f: int | None = None, v: int = 1) -> dict[str, int]:
    """The size of each letter; f is 4 h unless told. Raises ValueError if the heads do not divide the width."""
    if h % a:
        raise ValueError(f"{a} heads cannot share a width of {h}: change one of the two")
    return {"b": b, "s": s, "h": h, "f": 4 * h if f is None else f, "a": a, "d": h // a, "e": 3 * h // a, "v": v}


def feed_forward(x: str, name: str = "") -> list[Operator]:
    """gelu(x U) D, two products and what is between; the last one is `name` + "down"."""
    up, act, down = (f"{name}{part}" for part in ("up", "gelu", "down"))
    return [
        matmul(up, x, "bsh", "hf", "bsf"),
        elementwise(act, up, "bsf"),
        matmul(down, act, "bsf", "fh", "bsh"),
    ]


def heads(x: str, name: str = "") -> list[Operator]:
    """Attention: q, k, v in one product, each head by itself, and the output's product, `name` + "out"."""
    qkv, attend, out = (f"{name}{part}" for part in ("qkv", "heads", "out"))
    return [
        matmul(qkv, x, "bsh", "hae", "bsae"),
        attention(attend, qkv),
        matmul(out, attend, "bsad", "adh", "bsh"),
    ]


def layer(x: str, name: str = "") -> list[Operator]:
    """x + attention(norm(x)), then y + feed_forward(norm(y)): `name` + "add2" comes out."""
    norm1, add1, norm2, add2 = (f"{name}{part}" for part in ("norm1", "add1", "norm2", "add2"))
    return [
        norm(norm1, x, "bsh"),
        *heads(norm1, name),
        add(add1, x, f"{name}out", "bsh"),
        norm(norm2, add1, "bsh"),
        *feed_forward(norm2, name),
        add(add2, add1, f"{name}down", "bsh"),
    ]


def parallel_layer(x: str, name: str = "") -> list[Operator]:
    """x + (attention(norm(x)) + feed_forward(norm(x))), one norm and one sum: `name` + "add2" comes out."""
    norm1, both, add2 = (f"{name}{part}" for part in ("norm1", "add1", "add2"))
    return [
        norm(norm1, x, "bsh"),
        *heads(norm1, name),
        *feed_forward(norm1, name),
        add(both, f"{name}out", f"{name}down", "bsh"),
        add(add2, x, both, "bsh"),
    ]


def block(
    operators: list[Operator], dimensions: dict[str, int], flows: tuple[Flow, ...] | None = None, dims: str = "bsh"
) -> Graph:
    """The graph of these operators, between a source "x" and a sink "y" whose layouts are any, or among `flows`."""
    last = operators[-1]
    ends = source("x", dims, flows=flows), sink("y", last.name, last.out, flows=flows)
    return graph([ends[0], *operators, ends[1]], dimensions)


def language_model(layers: int, dimensions: dict[str, int]) -> Graph:
    """Embedding, layers, norm, head and loss. Tokens are there on every rank as it likes, and have no gradient."""
    operators = [source("tokens", "bs", gradient=False), embedding("embedding", "tokens")]
    for k in range(layers):
        operators += layer(operators[-1].name, f"{k} ")
    operators += [
        norm("norm", operators[-1].name, "bsh"),
        matmul("head", "norm", "bsh", "hv", "bsv"),
        cross_entropy("loss", "head"),
    ]
    return graph(operators, dimensions)

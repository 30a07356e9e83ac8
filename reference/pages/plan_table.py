"""The planner for one's own numbers, as a table: the fastest layouts of a model on so many accelerators."""

from __future__ import annotations

from typing import Any

from ..perf.accelerators import Accelerator
from ..planner.architecture import Architecture
from ..planner.cluster import Cluster, NetworkLevel
from ..planner.predict import Prediction
from ..planner.search.exhaustive import exhaustive
from ..planner.search.nearest import impossible, near_miss
from ..planner.search.space import LayoutSpace

MOST = {"layers": 1000, "width": 10**6, "heads": 1000, "kv_heads": 1000, "vocabulary": 10**7, "length": 10**8}
MOST |= {"accelerators": 131_072, "global_batch": 10**6, "per_node": 1024}
ROWS = 8


def plan_table(
    layers: int,
    width: int,
    heads: int,
    kv_heads: int,
    feed_forward: int,
    gated: int,
    vocabulary: int,
    length: int,
    accelerators: int,
    global_batch: int,
    per_node: int,
    memory: float,
    flops: float,
    bandwidth: float,
    inside: float,
    between: float,
    efficiency: float,
) -> list[dict[str, float | str | None]]:
    """A row for each choice of degrees, fastest first; all by the exhaustive search of the planner.

    layers to length: the model, gated is 1 or 0. accelerators: how many, per_node in each node; global_batch: sequences
    of a step. memory: GB of one; flops: its peak in TFLOP/s; bandwidth: of its memory, GB/s; inside, between: GB/s of
    one accelerator inside a node and between nodes, one way; efficiency: share of the peak that products of matrices
    reach (attention: two thirds of it). Raises ValueError for numbers that make no sense, or if nothing fits.
    """
    given = locals()
    for name, most in MOST.items():
        if not 1 <= given[name] <= most:
            raise ValueError(f"{name} is a whole number from 1 to {most:,}, got {given[name]:g}")
    if gated not in (0, 1) or feed_forward < 1:
        raise ValueError("gated is 0 or 1, and the width of the feed-forward network is 1 or more")
    if not (min(memory, flops, bandwidth, inside, between) > 0 and 0 < efficiency <= 1):
        raise ValueError("memory, FLOPs and bandwidths are above 0, and efficiency is above 0 and at most 1")
    if width % heads or heads % kv_heads:
        raise ValueError(f"{heads} heads must divide the width {width}, and {kv_heads} of keys and values the heads")
    sizes = layers, width, heads, kv_heads, feed_forward, vocabulary, length
    model = Architecture("your model", *sizes, gated=bool(gated))
    device = Accelerator("yours", flops * 1e12, None, memory * 1e9, bandwidth * 1e9, None, None, None, "given")
    levels = NetworkLevel("node", per_node, inside * 1e9), NetworkLevel("network", 0, between * 1e9)
    machine = Cluster("yours", device, per_node, levels, memory * 1e9, matmul=efficiency, attention=efficiency * 2 / 3)
    return _rows(LayoutSpace(model, machine, accelerators, global_batch))


def _rows(space: LayoutSpace) -> list[dict[str, Any]]:
    if why := impossible(space):
        raise ValueError(why)
    best = exhaustive(space, ROWS).best
    if not best:
        near = near_miss(space)
        more = f"; it would fit on {near.more[0]:,} accelerators" if near.more else ""
        raise ValueError(
            f"nothing fits: the layout that needs least holds {near.least.held.total / 1e9:.4g} GB on a rank, "
            f"{near.missing / 1e9:.4g} GB too many{more}"
        )
    return [_row(one) for one in best]


def _row(one: Prediction) -> dict[str, Any]:
    spec = one.spec
    return {
        "data": spec.data,
        "tensor": spec.tensor,
        "stages": spec.stages,
        "context": spec.context,
        "ZeRO": spec.zero,
        "micro-batch": spec.micro_batch,
        "chunks": spec.chunks,
        "recompute": spec.recompute,
        "seconds": _digits(one.seconds.total),
        "GB a rank": _digits(one.held.total / 1e9),
        "MFU (%)": _digits(100 * one.mfu),
        "largest loss": one.limit,
    }


def _digits(value: float) -> float:
    return float(f"{value:.3g}")

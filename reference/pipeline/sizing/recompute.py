"""Recomputation: store activations or compute them again, on which stage, for which layers; or send them away.

Idea      A layer that is recomputed keeps its output only, and runs its forward pass once more before its backward
          pass. If all do, and backward is twice forward, a step grows from 1 + 2 to 1 + 1 + 2: by a third.
After     Not all or nothing. A stage with room for some of its activations recomputes what is cheapest for the bytes it
          frees (`cheapest`): attention's scores first, which are many of a layer's bytes and few of its FLOPs.
          Under 1F1B the first stage keeps p micro-batches and the last one keeps 1, so the first recomputes most. But
          the slowest stage rules the step: what the others save is lost unless they take over layers (`adaptive`).
          Send away to the host instead: a layer's bytes leave while the next one computes, and come back before they
          are needed. That is free if the link carries them in the time that the forward pass takes to make them
          (`break_even`). On a slower one, recomputing, which takes that very time, is faster than waiting for them; a
          rank with other micro-batches to compute on need not wait, and a third of that speed can do.
Sends     Messages have no part in this: what crosses a cut is sent whether or not it is stored.
Left out  What recomputing repeats of tensor parallelism's messages; one checkpoint for several layers.
Source    Chen, Xu, Zhang & Guestrin, "Training Deep Nets with Sublinear Memory Cost" (2016); Korthikanti et al.,
          "Reducing Activation Recomputation in Large Transformer Models" (2022), for the bytes, and for recomputing
          parts of a layer; Sun et al., "AdaPipe: Optimizing Pipeline Parallelism with Adaptive Recomputation and
          Partitioning" (2024), for choosing layers to recompute and the cut together.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from ...perf.transformer import flops_a_token, layer_bytes
from ..simulate import Costs
from .cuts import Cut, LayerProfile, check_layers, check_live, check_stages, parts
from .partition import cut_costs, min_max, prefix


def recompute_factor(forward: float, backward: float) -> float:
    """How many times as long a step takes if all is recomputed: 4/3 if backward is twice forward."""
    return (2 * forward + backward) / (forward + backward)


# Which layers of a stage ----------------------------------------------------------------------------------------------


class RecomputePlan(NamedTuple):
    """Seconds that recomputing adds to each backward pass, bytes that a micro-batch leaves, layers to recompute."""

    seconds: float
    kept: float
    layers: tuple[int, ...]


def cheapest(layers: Sequence[LayerProfile], live: float, room: float) -> RecomputePlan | None:
    """The quickest plan of a stage such that `live` micro-batches fit into `room` bytes; None if there is none.

    Layers may be parts of layers. One that is recomputed needs room for all its activations while it does; the largest
    is reckoned. Of all plans those stay that no other beats in both seconds and bytes: few, if layers are alike.
    """
    if live * sum(layer.kept for layer in layers) <= room:
        return RecomputePlan(0.0, sum(layer.kept for layer in layers), ())
    room -= max((layer.kept for layer in layers), default=0.0)
    if live * sum(min(layer.kept, layer.sent) for layer in layers) > room:
        return None
    plans = [RecomputePlan(0.0, 0.0, ())]
    for i, layer in enumerate(layers):
        stored = [plan._replace(kept=plan.kept + layer.kept) for plan in plans]
        again = [
            RecomputePlan(plan.seconds + layer.forward, plan.kept + layer.sent, (*plan.layers, i)) for plan in plans
        ]
        plans, least = [], inf
        for plan in sorted(stored + again):
            if plan.kept < least:
                plans.append(plan)
                least = plan.kept
    return next((plan for plan in plans if live * plan.kept <= room), None)


def plans(
    layers: Sequence[LayerProfile], ends: Sequence[int], live: Sequence[float], memory: float
) -> list[RecomputePlan]:
    """The cheapest plan of each stage of a cut on ranks of `memory` bytes.

    live: of each stage its micro-batches. Raises ValueError if a stage cannot fit, or for numbers that cannot be.
    """
    check_layers(layers)
    check_live(live, len(ends))
    found = []
    for r, (k, i) in enumerate(parts(ends, len(layers))):
        weights = sum(layer.weights for layer in layers[k:i])
        plan = cheapest(layers[k:i], live[r], memory - weights)
        if plan is None:
            raise ValueError(
                f"stage {r}, layers {k} to {i - 1}, does not fit into {memory:.4g} bytes, {live[r]:g} micro-batches "
                f"alive even if all is recomputed; {weights:.4g} are weights. Take more stages or smaller micro-batches"
            )
        found.append(plan)
    return found


def recomputing(layers: Sequence[LayerProfile], ends: Sequence[int], found: Sequence[RecomputePlan]) -> Costs:
    """The costs of a cut whose stages recompute by these plans: it happens at the begin of the backward pass."""
    plain = cut_costs(layers, ends)
    return plain._replace(I=[plain.of("I", s) + plan.seconds for s, plan in zip(range(len(ends)), found, strict=True)])


def adaptive(layers: Sequence[LayerProfile], p: int, live: Sequence[float], memory: float) -> Cut:
    """The cut whose slowest stage is fastest, recomputing included; its plans are those of plans(...).

    Raises ValueError if no cut fits, or for numbers that cannot be.
    """
    check_stages(len(layers), p)
    check_layers(layers)
    check_live(live, p)
    seconds, weights = (prefix(values) for values in zip(*((x.forward + x.backward, x.weights) for x in layers)))

    def price(r: int, k: int, i: int) -> float:
        plan = cheapest(layers[k:i], live[r], memory - weights[i] + weights[k])
        return inf if plan is None else seconds[i] - seconds[k] + plan.seconds

    complaint = (
        f"even if all is recomputed, with {', '.join(f'{n:g}' for n in live)} micro-batches in {memory:.4g} bytes"
    )
    return min_max(len(layers), p, price, lambda: complaint)


# Send or recompute ----------------------------------------------------------------------------------------------------


def break_even(
    h: float, keys: float, rate: float, bytes_a_value: float = layer_bytes(1, 1, 1, 1, scores=False)
) -> float:
    """Bytes per second, each way, from which on moving a layer's activations out and back beats recomputing them.

    A token of a transformer layer costs flops_a_token(h, keys) forward and leaves bytes_a_value * h bytes; keys: to
    how many tokens it attends on average; rate: FLOPs per second that the device really does. The batch cancels out.
    """
    return bytes_a_value * h * rate / flops_a_token(h, keys)

"""Exhaustive search with bounds: the fastest layout that fits, proved, because what is skipped cannot be faster.

Idea      Every layout of the space (space.py) is either priced or excluded by a bound that is never above its price:

              1. of degrees and b      m (layers + head) + (p - 1)/v stages, with the most chunks v, nothing recomputed,
                                       and no gradients, gathers, sends and optimizer: two calls of the cost model
              2. and of v, recompute   the same with these two
              3. and of zero           memory first, because it is quicker to work out; then the price

          Shapes are tried in the order of bound 1, so the first layouts are good ones, and the search ends at the first
          shape whose bound is above what has been found. A shape of which no layout fits with one chunk is left at
          once: chunks only add to what is alive.
Before    more than 100,000 layouts of 1,024 accelerators, each priced
After     the same optimum, and fewer than one in fifty are priced
Exact     Optimal on the model, not on the machine: what the model leaves out (step_seconds.py) is left out here.
          The bounds hold because every term of the model is at least 0 and recomputation adds to the backward pass; a
          test compares with brute force, and the bound of each shape with the prices of all its layouts.
Left out  Ties: of layouts that take equally long, the first that was found.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from ..bytes_held import held
from ..predict import Prediction, priced
from ..spec import LayoutSpec
from ..step_seconds import head_seconds, layer_seconds
from .space import LayoutSpace


class Search(NamedTuple):
    """What a search found and what it looked at.

    best      the fastest layouts that fit, fastest first, one for each choice of degrees
    shapes    degrees and micro-batches of the space
    tried     of these, how many were looked into before a bound ended the search
    weighed   layouts whose memory was worked out
    priced    layouts whose seconds were worked out
    """

    best: list[Prediction]
    shapes: int
    tried: int
    weighed: int
    priced: int


def exhaustive(space: LayoutSpace, top: int = 1) -> Search:
    """The fastest layouts that fit, of `top` different choices of degrees; fewer if fewer fit.

    Raises ValueError for counts that cannot be.
    """
    if top < 1:
        raise ValueError(f"top must be at least 1, got {top}")
    machine = space.machine._replace(memory=space.limit)
    found: dict[tuple[int, ...], Prediction] = {}
    bounds = sorted(((shape_bound(space, shape), shape) for shape in space.shapes()), key=lambda pair: pair[0])
    tried = weighed = prices = 0
    for bound, shape in bounds:
        worst = _threshold(found, top)
        if bound >= worst:
            break
        tried += 1
        for spec in _candidates(space, shape, min(worst, _seconds(found.get(shape[:4])))):
            weighed += 1
            if held(space.model, spec, machine, space.global_batch, space.length).total > space.limit:
                continue
            prices += 1
            one = priced(space.model, machine, spec, space.global_batch, space.length)
            if one.seconds.total < _seconds(found.get(shape[:4])):
                found[shape[:4]] = one
    best = sorted(found.values(), key=_seconds)[:top]
    return Search(best, len(bounds), tried, weighed, prices)


def _seconds(one: Prediction | None) -> float:
    return math.inf if one is None else one.seconds.total


def _threshold(found: dict[tuple[int, ...], Prediction], top: int) -> float:
    """Seconds that a layout must be below to be among the best: those of the last of them."""
    return math.inf if len(found) < top else sorted(map(_seconds, found.values()))[top - 1]


def shape_bound(space: LayoutSpace, shape: LayoutSpec, recompute: str = "none", v: int | None = None) -> float:
    """Seconds that no layout of these degrees and micro-batches is below; v: the most chunks unless told."""
    spec = shape if recompute == shape.recompute else shape._replace(recompute=recompute)
    layer = layer_seconds(space.model, spec, space.machine, space.length)
    head = head_seconds(space.model, spec, space.machine, space.length)
    m, layers = spec.micro_batches(space.global_batch), space.model.layers / spec.stages
    stage = layers * (layer.forward + layer.backward)
    chunks = space.chunks(shape)[-1] if v is None else v
    return m * (stage + head.forward + head.backward) + (spec.stages - 1) / chunks * stage


def _candidates(space: LayoutSpace, shape: LayoutSpec, below: float) -> Iterator[LayoutSpec]:
    """Layouts of a shape whose bound is below so many seconds; none if not even one chunk fits."""
    chunks = space.chunks(shape)
    slimmest = set()  # ways to recompute, with stages of ZeRO, that fit with one chunk
    for recompute in space.recomputes:
        if shape_bound(space, shape, recompute, chunks[-1]) >= below:
            continue
        for zero in space.stages_of_zero(shape):
            spec = shape._replace(recompute=recompute, zero=zero)
            if held(space.model, spec, space.machine, space.global_batch, space.length).total <= space.limit:
                slimmest.add((recompute, zero))
    for v in reversed(chunks):
        for recompute in dict.fromkeys(each for each, _ in sorted(slimmest)):
            if v < chunks[-1] and shape_bound(space, shape, recompute, v) >= below:
                continue
            for zero in space.stages_of_zero(shape):
                if (recompute, zero) in slimmest:
                    yield shape._replace(chunks=v, recompute=recompute, zero=zero)

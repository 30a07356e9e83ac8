"""Where nothing fits or nothing divides: what is missing, in bytes or in numbers, and the nearest that would do.

Idea      No degrees may be possible: then the next numbers of accelerators, or of sequences of the batch, that have
          some. Or all layouts need too much memory: then the one that needs least, how many bytes it is short of, and
          the fewest accelerators, doubled again and again, with which something fits.
Exact     The least memory is that of a layout with b = 1 and v = 1: both only add to what is alive. A test compares.
"""

from __future__ import annotations

from typing import NamedTuple

from ..bytes_held import held
from ..predict import Prediction, priced
from ..spec import LayoutSpec
from .exhaustive import exhaustive
from .space import LayoutSpace

FURTHEST = 10  # doublings of the accelerators, or of the batch, that are tried
AROUND = 64  # counts of accelerators below and above that are tried


class NearMiss(NamedTuple):
    """least: the layout that needs the least memory; missing: bytes that it is short of (0 or less: it fits).

    more: (accelerators, the fastest layout on them), the fewest doublings with which something fits; None: none does.
    """

    least: Prediction
    missing: float
    more: tuple[int, Prediction] | None


def near_miss(space: LayoutSpace) -> NearMiss:
    """What would fit. Raises ValueError if the space has no layout (see `possible`)."""
    if why := impossible(space):
        raise ValueError(why)
    least = _least(space)
    one = priced(space.model, space.machine._replace(memory=space.limit), least, space.global_batch, space.length)
    return NearMiss(one, one.held.total - space.limit, _more(space))


def _least(space: LayoutSpace) -> LayoutSpec:
    """The layout that needs the least memory."""
    slim = (shape for shape in space.shapes() if shape.micro_batch == 1)
    specs = (
        shape._replace(recompute=recompute, zero=zero)
        for shape in slim
        for recompute in space.recomputes
        for zero in space.stages_of_zero(shape)
    )
    return min(specs, key=lambda spec: _bytes(space, spec))


def _bytes(space: LayoutSpace, spec: LayoutSpec) -> float:
    return held(space.model, spec, space.machine, space.global_batch, space.length).total


def _more(space: LayoutSpace) -> tuple[int, Prediction] | None:
    for doubled in range(1, FURTHEST + 1):
        wider = space._replace(ranks=space.ranks << doubled)
        if not impossible(wider) and _bytes(wider, _least(wider)) <= space.limit:
            return wider.ranks, exhaustive(wider).best[0]
    return None


def impossible(space: LayoutSpace) -> str:
    """Why no layout has these numbers, and which numbers would do; "" if some layout has."""
    if _some(space):
        return ""
    ranks, batch = space.ranks, space.global_batch
    counts = [n for n in range(max(1, ranks - AROUND), ranks + AROUND + 1) if _some(space._replace(ranks=n))]
    below, above = (
        max((n for n in counts if n < ranks), default=None),
        min((n for n in counts if n > ranks), default=None),
    )
    batches = (batch << n for n in range(1, FURTHEST + 1))
    more = next((n for n in batches if _some(space._replace(global_batch=n))), None)
    ways = [f"{n:,} accelerators" for n in (below, above) if n] + [f"a batch of {n:,}" for n in (more,) if n]
    return (
        f"no degrees multiply to {ranks:,} accelerators: tensor divides {space.model.heads} heads, stages "
        f"{space.model.layers} layers, context half of {space.length or space.model.length:,} tokens, data the batch "
        f"of {batch:,} sequences; there would be layouts for {' or '.join(ways) or 'other numbers of either'}"
    )


def _some(space: LayoutSpace) -> bool:
    return next(space.shapes(), None) is not None

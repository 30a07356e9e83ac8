"""What all methods check before the first message, so that a wrong call fails on every rank and none waits."""

from __future__ import annotations

from torch import Tensor

from ..agreement import agree
from .blockwise import misfit
from .layouts import SequenceLayout


def check(comm, q: Tensor, k: Tensor, v: Tensor, layout: SequenceLayout, *settings: object, error: str = "") -> None:
    """Raise the same ValueError on every rank unless shapes, layout and settings fit and are alike on all of them.

    error: what else is wrong on this rank. Collective: one all-gather of a fingerprint.
    """
    error = error or misplaced(comm, q, k, v, layout)
    agree(comm, "the arguments of an attention", lines(q, k, v, layout, *settings), error)


def lines(q: Tensor, k: Tensor, v: Tensor, layout: SequenceLayout, *settings: object) -> list[object]:
    """What must be alike on all ranks."""
    shapes = [f"{name} {list(x.shape)} {x.dtype}" for name, x in (("q", q), ("k", k), ("v", v))]
    return [*shapes, f"{layout.name}, {layout.length} tokens", *settings]


def misplaced(comm, q: Tensor, k: Tensor, v: Tensor, layout: SequenceLayout) -> str:
    """What does not fit this rank's part of the layout, in words; "" if nothing does."""
    if layout.ranks != comm.size:
        return f"a layout over {layout.ranks} ranks, and {comm.size} are in the group"
    held = len(layout.places[comm.rank])
    return misfit(q, k, v, held, held)

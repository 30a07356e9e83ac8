"""Definitions of the collectives: what each of them does, in one picture that is drawn from a run.

    draw_definitions(launch(definitions, 4).results)

Each rank holds P blocks. A block carries a tracer for every (owner, letter): 1 if that owner's block of that letter is
in it. So whatever a collective copies or adds can be read off afterwards, and the picture shows what happened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from string import ascii_lowercase
from typing import NamedTuple

import numpy as np

from .algorithms import allgather, alltoall, broadcast, gather, reduce, reduce_scatter, scatter
from .draw import BLOCK_COLOURS
from .select import allreduce


def _everywhere(comm, block: int) -> bool:
    return True


def _at_root(comm, block: int) -> bool:
    return comm.rank == 0


def _own(comm, block: int) -> bool:
    return block == comm.rank


def _exchange(comm, x):
    return alltoall(comm, x, np.empty_like(x))


def _all_reduce(comm, x):
    return allreduce(comm, x, algorithm="ring")


# name: what is carried out, which blocks count before, which after; rank 0 is the root
COLLECTIVES: dict[str, tuple[Callable, Callable, Callable]] = {
    "broadcast": (broadcast, _at_root, _everywhere),
    "reduce": (reduce, _everywhere, _at_root),
    "scatter": (scatter, _at_root, _own),
    "gather": (gather, _own, _at_root),
    "allgather": (allgather, _own, _everywhere),
    "reduce-scatter": (reduce_scatter, _everywhere, _own),
    "all-reduce": (_all_reduce, _everywhere, _everywhere),
    "all-to-all": (_exchange, _everywhere, _everywhere),
}


class Contents(NamedTuple):
    """What a rank's blocks hold, before and after: [block, owner, letter], how often that block of the owner is in."""

    before: np.ndarray
    after: np.ndarray


def definitions(comm) -> dict[str, Contents]:
    """Carry out every collective on tracers; every rank must call it."""
    P, found = comm.size, {}
    for name, (collective, counts_before, counts_after) in COLLECTIVES.items():
        before = np.zeros((P, P, P), int)
        for block in range(P):
            before[block, comm.rank, block] = counts_before(comm, block)
        x = before.reshape(P, -1).copy()
        result = collective(comm, x)
        after = (x if result.size < x.size else result).reshape(P, P, P).copy()
        for block in range(P):
            after[block] *= counts_after(comm, block)  # MPI leaves the others undefined
        found[name] = Contents(before, after)
    return found


def caption(block: np.ndarray) -> str:
    """A block in words: "" for an empty one, "b" for a copy, "Σb" for a sum over all owners."""
    owners, letters = np.nonzero(block)
    names = "".join(sorted({ascii_lowercase[letter] for letter in letters}))
    return ("Σ" if len(owners) > 1 else "") + names


def draw_definitions(results: Sequence[dict[str, Contents]]):
    """Draw, for every collective, what the ranks hold before and after; return the Axes.

    results[rank]: what `definitions` returned there. A row is a rank, a cell a block: its letter, and the colours of
    the ranks whose blocks are in it.
    """
    import matplotlib.pyplot as plt

    P = len(results)
    _, axes = plt.subplots(4, 2, figsize=(7.6, 8.4), layout="constrained")
    for ax, name in zip(axes.flat, COLLECTIVES, strict=True):
        for rank, mine in enumerate(results):
            for when, left in (("before", 0), ("after", P + 1.5)):
                ax.text(left - 0.2, rank, str(rank), ha="right", va="center", fontsize="small", color="gray")
                for block, content in enumerate(getattr(mine[name], when)):
                    _draw_block(ax, left + block, rank, content)
        arrow = {"arrowstyle": "-|>", "color": "gray", "lw": 1.5}
        ax.annotate("", (P + 1, (P - 1) / 2), (P + 0.1, (P - 1) / 2), arrowprops=arrow)
        ax.set(xlim=(-0.7, 2 * P + 1.6), ylim=(P - 0.4, -0.6), aspect="equal")
        ax.set_title(name, fontsize="medium", weight="bold")
        ax.set_axis_off()
    return axes


def _draw_block(ax, x: float, rank: int, content: np.ndarray) -> None:
    """One cell: a stripe for every owner that is in it."""
    from matplotlib.patches import Rectangle

    owners = np.flatnonzero(content.any(axis=1))
    for number, owner in enumerate(owners):
        stripe = (x + 0.04 + 0.92 * number / len(owners), rank - 0.44), 0.92 / len(owners), 0.88
        ax.add_patch(Rectangle(*stripe, color=BLOCK_COLOURS[owner % len(BLOCK_COLOURS)], alpha=0.55, lw=0))
    ax.add_patch(Rectangle((x + 0.04, rank - 0.44), 0.92, 0.88, fill=False, ec="#999999", lw=0.8))
    ax.text(x + 0.5, rank, caption(content), ha="center", va="center", fontsize="medium")

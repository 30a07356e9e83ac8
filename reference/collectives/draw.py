"""Pictures of schedules, drawn from the rounds that are executed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from .. import mpi
from .rounds import Round

BLOCK_COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999"]  # Okabe & Ito
DARK = {"#0072B2"}  # the only one on which white is easier to read


def contributions(rounds: Callable[..., Iterator[Round]], ranks: int, blocks: int | None = None) -> np.ndarray:
    """How many ranks' data each rank's copy of each block holds, before round 0, 1, ... and at the end.

    Integers of shape [rounds + 1, ranks, blocks], `ranks` blocks unless told: all 1 in the beginning, all `ranks` after
    an allreduce.
    """
    lists = [list(rounds(rank, ranks)) for rank in range(ranks)]
    held = [np.ones((ranks, ranks if blocks is None else blocks), int)]
    for number in range(len(lists[0])):
        before, after = held[-1], held[-1].copy()
        for rank in range(ranks):
            _, _, source, (lo, hi), combine, _ = lists[rank][number]
            if source != mpi.PROC_NULL:
                after[rank, lo:hi] = before[source, lo:hi] + (after[rank, lo:hi] if combine else 0)
        held.append(after)
    return np.array(held)


def draw_blocks(rounds: Callable[[int, int], Iterator[Round]], ranks: int, axes=None):
    """Draw, round by round, how the copies of the blocks fill up; return the Axes.

    One panel a round; row r is rank r's array; a cell's number is how many ranks' data it holds, its colour the block,
    stronger with every contribution. A frame marks what has just arrived.
    """
    import matplotlib.pyplot as plt

    held = contributions(rounds, ranks)
    panels = len(held)
    if axes is None:
        columns = (panels + 1) // 2 if panels > 5 else panels
        rows = -(-panels // columns)
        _, axes = plt.subplots(rows, columns, figsize=(1.9 * columns, 2.05 * rows), layout="constrained")
    axes = np.atleast_1d(axes).ravel()
    for number, ax in enumerate(axes):
        ax.set_axis_off()
        if number < panels:
            _draw_panel(ax, held[number], held[max(number - 1, 0)])
            ax.set_title("start" if number == 0 else f"after step {number}", fontsize="small")
    return axes


def _draw_panel(ax, now: np.ndarray, before: np.ndarray) -> None:
    ranks = len(now)
    for rank in range(ranks):
        ax.text(-0.25, rank, f"{rank}", ha="right", va="center", fontsize="x-small", color="gray")
        for block in range(ranks):
            new, full = now[rank, block] != before[rank, block], now[rank, block] == ranks
            colour = BLOCK_COLOURS[block % len(BLOCK_COLOURS)]
            strength = 0.15 + 0.85 * (now[rank, block] - 1) / max(ranks - 1, 1)
            ax.add_patch(_cell(block, rank, facecolor=colour, alpha=strength))
            ax.add_patch(_cell(block, rank, fill=False, edgecolor="black" if new else "white", lw=1.6 if new else 0.8))
            ax.text(
                block + 0.5,
                rank,
                str(now[rank, block]),
                ha="center",
                va="center",
                fontsize="small",
                weight="bold" if full else "normal",
                color="white" if full and colour in DARK else "black",
            )
    ax.set(xlim=(-0.6, ranks + 0.1), ylim=(ranks - 0.4, -0.6), aspect="equal")


def _cell(block: int, rank: int, **style):
    from matplotlib.patches import Rectangle

    return Rectangle((block + 0.04, rank - 0.44), 0.92, 0.88, **style)

"""Draw the book's static pictures:  python book/pictures.py

Like every figure here, they are drawn from the schedule that is executed.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

from reference.collectives.draw import BLOCK_COLOURS, contributions
from reference.collectives.ring import ring_allreduce_rounds

HERE = Path(__file__).parent / "_static"
RANKS, STEP = 8, 4  # of the ring, and how many steps it has made in the picture
INK, PAPER = "#1f2937", "#ffffff"


def ring(path: Path) -> None:
    """Eight ranks in a ring after four steps: how full each block is, and which block goes out next."""
    held = contributions(ring_allreduce_rounds, RANKS)[STEP]
    leaving = [list(ring_allreduce_rounds(rank, RANKS))[STEP].send[0] for rank in range(RANKS)]
    fig, ax = plt.subplots(figsize=(7.6, 5.4))
    angles = np.pi / 2 - 2 * np.pi * np.arange(RANKS) / RANKS
    places = np.stack([3.6 * np.cos(angles), 2.3 * np.sin(angles)], axis=1)
    for rank in range(RANKS):
        here, there = places[rank], places[(rank + 1) % RANKS]
        arrow = {"arrowstyle": "-|>", "lw": 3, "color": BLOCK_COLOURS[leaving[rank]], "mutation_scale": 16}
        ax.annotate(
            "", there, here, arrowprops={**arrow, "shrinkA": 34, "shrinkB": 34, "connectionstyle": "arc3,rad=-0.12"}
        )
    for rank, (x, y) in enumerate(places):
        _box(ax, x, y, held[rank], leaving[rank], rank)
    ax.text(0, 0, "every link is busy\nin every step", ha="center", va="center", fontsize=13, color=INK)
    ax.set(xlim=(-4.7, 4.7), ylim=(-3.1, 3.1), aspect="equal")
    ax.set_axis_off()
    fig.savefig(path, metadata={"Date": None}, bbox_inches="tight", facecolor=PAPER)
    plt.close(fig)


def _box(ax, x: float, y: float, held: np.ndarray, leaving: int, rank: int) -> None:
    """One rank: a bar a block, as high as the share of the sum that it holds."""
    wide, high = 1.5, 0.62
    frame = {"facecolor": PAPER, "edgecolor": INK, "lw": 1.2}
    ax.add_patch(plt.Rectangle((x - wide / 2, y - high / 2), wide, high, zorder=3, **frame))
    for block, count in enumerate(held):
        width = wide / len(held)
        left, height = x - wide / 2 + block * width, high * count / len(held)
        ax.add_patch(
            plt.Rectangle(
                (left + 0.02, y - high / 2 + 0.01),
                width - 0.04,
                height - 0.03,
                zorder=4,
                facecolor=BLOCK_COLOURS[block],
                edgecolor=INK if block == leaving else "none",
                lw=1.6,
            )
        )
    ax.text(x, y + high / 2 + 0.06, f"rank {rank}", ha="center", va="bottom", fontsize=9, color=INK, zorder=5)


if __name__ == "__main__":
    matplotlib.use("agg")
    matplotlib.rcParams.update({"svg.hashsalt": "every rank counts", "svg.fonttype": "path"})
    ring(HERE / "ring.svg")

"""What a training has to store, where it fits, and what it costs per step that some of it is far away: 200T as a sum.

Idea      Count every kind of state, not weights alone, and fill the tiers from the hottest to the coldest kind:

              activations   s b h (34 + 5 a s / h) a layer; 2 s b h if only inputs are kept, and one layer more
              weights       2 Psi, read in each pass
              gradients     2 Psi, written and read once a step
              optimizer     12 Psi: 32-bit weights, momentum, variance; read and written once a step
              checkpoints   of weights and optimizer, `copies` of them, outside of the step's memory

          Whatever lies below the accelerators crosses a link in each step: bytes moved / bandwidth, next to the seconds
          that the step computes.
Exact     A sum. `reserve` is kept free in the accelerators for what it leaves out.
Left out  Buffers of communication and of libraries, fragmentation: chapter 10 measures them. Overlap: the seconds of
          links and of computing stand side by side. Replicas: the states are counted once, as ZeRO 3 keeps them.
Source    Rajbhandari et al., "ZeRO" (2020), for 16 bytes a parameter; Korthikanti et al. (2022) for activations.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any, NamedTuple

from ..perf.recipes import ADAM_MIXED, Recipe
from ..perf.transformer import layer_bytes

TB = 1e12
MOST = 1e9


class Need(NamedTuple):
    """A kind of state: its bytes, and how often a step reads and writes it."""

    name: str
    nbytes: float
    reads: int = 0
    writes: int = 0


class StorageRoom(NamedTuple):
    """A tier of the whole machine: bytes, and bytes/s of all its links to the accelerators together."""

    name: str
    nbytes: float
    bandwidth: float = float("inf")


def activation_bytes(layers: int, b: float, s: float, h: float, a: float, scores: bool, recompute: bool) -> float:
    """Of a batch of b sequences in flight: all of it, or the inputs of layers and the inside of one."""
    inside = layer_bytes(b, s, h, a, scores)
    return 2.0 * s * b * h * layers + inside if recompute else inside * layers


def needs(
    parameters: float, activations: float = 0.0, recipe: Recipe = ADAM_MIXED, recompute: bool = False, copies: int = 1
) -> list[Need]:
    """What is to be stored, from the hottest to the coldest; checkpoints come last."""
    kept = recipe.weights + recipe.optimizer
    return [
        Need("activations", activations, 1, 1),
        Need("weights", recipe.weights * parameters, 3 if recompute else 2, 1),
        Need("gradients", recipe.gradients * parameters, 1, 1),
        Need("optimizer", recipe.optimizer * parameters, 1, 1),
        Need(f"checkpoints: {copies}", copies * kept * parameters),
    ]


def place(wanted: Sequence[Need], rooms: Sequence[StorageRoom]) -> list[list[float]]:
    """Bytes of each need in each tier, and in a last column what finds no room: [needs][tiers + 1].

    Tiers from the fastest on; what no step reads goes to the last tier only.
    """
    left, found = [room.nbytes for room in rooms], []
    for need in wanted:
        remaining, row = need.nbytes, []
        for i, free in enumerate(left):
            may = free if need.reads or i == len(left) - 1 else 0.0
            row.append(min(remaining, may))
            left[i] -= row[-1]
            remaining -= row[-1]
        found.append([*row, remaining])
    return found


def link_seconds(
    wanted: Sequence[Need], placed: Sequence[Sequence[float]], rooms: Sequence[StorageRoom]
) -> list[float]:
    """Seconds of a step in which each tier's links carry what lies there; 0 for the accelerators themselves."""
    moved = [sum((need.reads + need.writes) * row[i] for need, row in zip(wanted, placed)) for i in range(len(rooms))]
    return [nbytes / room.bandwidth for nbytes, room in zip(moved, rooms)]


def nodes_for(nbytes: float, node_bytes: float, reserve: float = 0.0) -> int:
    """The fewest nodes whose memory holds so many bytes if this part of it is kept free."""
    return ceil(nbytes / (node_bytes * (1 - reserve)) - 1e-9)


def budget_table(
    parameters: float,
    weights: int,
    gradients: int,
    optimizer: int,
    layers: int,
    width: int,
    heads: int,
    length: int,
    batch: int,
    flash: int,
    recompute: int,
    accelerators: int,
    memory: float,
    reserve: float,
    per_node: int,
    host: float,
    link: float,
    drives: float,
    drive: float,
    copies: int,
) -> list[dict[str, float | str | None]]:
    """A row for each kind of state, and two sums: where it lies, in TB, and what has no room.

    parameters in 10^12; weights, gradients, optimizer: bytes of each; flash, recompute: 1 or 0; batch: sequences in
    flight in the whole machine; memory of an accelerator in GB, reserve: the part of it that is kept free; per_node
    accelerators share a host memory of `host` TB, each over a link of so many GB/s; drives: TB in all, and
    `drive` GB/s of a node's; copies: checkpoints that are kept. Raises ValueError for numbers that make no sense.
    """
    given = {name: value for name, value in locals().items() if name != "reserve"}
    for name, value in given.items():
        if not 0 <= value <= MOST:
            raise ValueError(f"{name} is a number from 0 to a thousand million, got {value:g}")
    if not (0 <= reserve < 1 and flash in (0, 1) and recompute in (0, 1)):
        raise ValueError("reserve is at least 0 and below 1; flash and recompute are 0 or 1")
    if min(parameters, layers, width, heads, length, accelerators, memory, per_node, link, drive) <= 0:
        raise ValueError("the model and the machine have more than 0 of everything but drives and host memory")
    activations = activation_bytes(layers, batch, length, width, heads, not flash, bool(recompute))
    wanted = needs(parameters * TB, activations, Recipe(weights, gradients, optimizer), bool(recompute), copies)
    nodes = ceil(accelerators / per_node)
    rooms = [
        StorageRoom("accelerators", accelerators * memory * 1e9 * (1 - reserve)),
        StorageRoom("host memory", nodes * host * TB, accelerators * link * 1e9),
        StorageRoom("drives", drives * TB, nodes * drive * 1e9),
    ]
    placed = place(wanted, rooms)
    rows = [_row(need.name, need.nbytes, row, rooms) for need, row in zip(wanted, placed)]
    sums = [sum(column) for column in zip(*placed)]
    total = _row("all", sum(need.nbytes for need in wanted), sums, rooms)
    room = _row("room", sum(room.nbytes for room in rooms), [*(room.nbytes for room in rooms), 0.0], rooms)
    seconds = [None if i == 0 else x for i, x in enumerate(link_seconds(wanted, placed, rooms))]
    moved = {"TB of": "s a step on links", "needed": None, **dict(zip((room.name for room in rooms), seconds))}
    return [*rows, total, room | {"no room": None}, moved | {"no room": None}]


def _row(name: str, needed: float, row: Sequence[float], rooms: Sequence[StorageRoom]) -> dict[str, Any]:
    columns = [*(room.name for room in rooms), "no room"]
    return {"TB of": name, "needed": needed / TB} | {column: nbytes / TB for column, nbytes in zip(columns, row)}

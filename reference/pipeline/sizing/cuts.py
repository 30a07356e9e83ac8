"""Layers, workers and cuts: what partition.py works with, and what is refused before it does.

Idea      A chain of N layers is cut into p stages. The ends of the stages say where, ends[-1] = N: a cut that leaves
          layers over would look fast. Seconds and bytes that are no numbers, or negative, would win every comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf
from typing import NamedTuple

from ..schedule import check_count


class LayerProfile(NamedTuple):
    """What a cut has to know of a layer. Seconds and bytes are those of one micro-batch, on a worker of speed 1."""

    forward: float
    backward: float
    weights: float = 0.0  # bytes that are there all the time: weights, gradients, optimizer's state
    kept: float = 0.0  # bytes from the forward pass to the backward pass
    sent: float = 0.0  # bytes of its output, which cross a cut behind it
    name: str = ""


class Worker(NamedTuple):
    """Who gets a stage: how many times as fast as the profiled device it is, and how many bytes it holds."""

    speed: float = 1.0
    memory: float = inf


class Cut(NamedTuple):
    """Layers ends[r - 1] ... ends[r] - 1 make stage r; the slowest stage takes `seconds` for a micro-batch."""

    seconds: float
    ends: tuple[int, ...]

    @property
    def sizes(self) -> list[int]:
        """How many layers each stage has."""
        return [end - start for start, end in parts(self.ends)]


def parts(ends: Sequence[int], N: int | None = None) -> list[tuple[int, int]]:
    """Of each part where it begins and ends. Raises ValueError unless the ends rise, and the last is N (if given)."""
    found = list(pairwise((0, *ends)))
    if not found or any(start >= end for start, end in found):
        raise ValueError(f"ends = {tuple(ends)} must rise, the first being at least 1: each part needs something")
    if N is not None and ends[-1] != N:
        raise ValueError(f"ends = {tuple(ends)} must end with {N}, the number of layers: else some are on no stage")
    return found


def crew(workers: int | Sequence[Worker]) -> Sequence[Worker]:
    """These workers, or so many equal ones. Raises ValueError for a speed or a memory that cannot be."""
    if not isinstance(workers, Sequence):
        check_count("workers (stages)", workers)
        workers = [Worker()] * workers
    for r, worker in enumerate(workers):
        if not (0 < worker.speed < inf and worker.memory >= 0):
            raise ValueError(f"worker {r}: {worker} must have a finite speed above 0 and a memory of at least 0 bytes")
    return workers


def check_stages(N: int, p: int) -> None:
    """Raise ValueError unless each of p stages can have a layer."""
    check_count("layers", N)
    check_count("stages", p)
    if p > N:
        raise ValueError(f"{p} stages need at least {p} layers, got {N}: take {N} stages at most")


def check_layers(layers: Sequence[LayerProfile]) -> None:
    """Raise ValueError unless all seconds and bytes are finite and at least 0."""
    for i, layer in enumerate(layers):
        for name in LayerProfile._fields[:-1]:
            value = getattr(layer, name)
            if not 0 <= value < inf:
                raise ValueError(f"layer {i}: {name} = {value} must be finite and at least 0: profile it again")


def check_live(live: Sequence[float], p: int) -> None:
    """Raise ValueError unless each of p stages has its number of micro-batches alive."""
    if len(live) != p:
        raise ValueError(f"live has {len(live)} entries and must have {p}, one for each stage")
    for r, n in enumerate(live):
        if not 0 <= n < inf:
            raise ValueError(f"live: {n} micro-batches on stage {r} must be finite and at least 0")

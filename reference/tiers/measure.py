"""This machine's own memories: latency and bandwidth of caches, memory and drive, measured.

Idea      Memory: working sets from a few KiB on. One that fits into a cache stays there, so the levels show as steps.
          Latency by a chain of dependent loads (chase.py), bandwidth by one core that reads the whole set again and
          again. A drive: one file, past the kernel's cache where the file system allows it. In order, in large chunks
          (blocks.py), and 4 KiB at random places, one request at a time and several.
Exact     The least time of some turns: what others do on the machine makes it longer, never shorter.
Left out  More than one core, writing to memory, NUMA, GPUs.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from .blocks import BLOCK, MIB, O_DIRECT, Blocks, Format, aligned, pinned
from .chase import latency
from .hierarchy import rate_text, seconds_text
from .storages import has_direct_io

CPU = Path("/sys/devices/system/cpu/cpu0/cache")  # where Linux tells
SMALLEST = 2**13
AT_ONCE = 8  # random reads under way at once
RANDOM_READS = 400


class MemoryPoint(NamedTuple):
    """A working set: its bytes, seconds of one dependent load (None: cannot be had), bytes/s that one core reads."""

    nbytes: int
    latency: float | None
    bandwidth: float


class DriveFigures(NamedTuple):
    """A drive: how bytes move in order (format.py), and bytes/s; seconds and bytes/s of 4 KiB at random places."""

    way: str
    write: float
    read: float
    random_latency: float
    random_read: float
    random_read_at_once: float


def working_sets(largest: int) -> list[int]:
    """Powers of two from 8 KiB to `largest` bytes."""
    return [2**k for k in range(SMALLEST.bit_length() - 1, largest.bit_length())]


def memory(sizes: Sequence[int], turns: int = 5, steps: int = 100_000) -> list[MemoryPoint]:
    """Measure each of these working sets."""
    return [MemoryPoint(nbytes, latency(nbytes, steps, turns), read_bandwidth(nbytes, turns)) for nbytes in sizes]


def read_bandwidth(nbytes: int, turns: int = 5, at_least: int = 2**26) -> float:
    """Bytes per second at which one core reads a working set, by taking its maximum again and again."""
    repeats = max(1, at_least // nbytes)
    rows = np.broadcast_to(np.ones(nbytes // 8), (repeats, nbytes // 8))  # the same memory in each row
    return repeats * nbytes / fastest(lambda: np.maximum.reduce(rows, axis=1), turns + 1)


def fastest(action: Callable[[], object], turns: int) -> float:
    """Seconds of the fastest of some turns."""
    taken = []
    for _ in range(turns):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return min(taken)


def drive(folder: str | os.PathLike, nbytes: int, turns: int = 3) -> DriveFigures:
    """Measure the drive of this folder with a file of so many bytes, which is deleted again."""
    with TemporaryDirectory(dir=folder) as inside:
        path, direct = Path(inside) / "measured", has_direct_io(Path(inside))
        blocks, tensor = Blocks(Format(4 * MIB, direct)), pinned(nbytes // 4)
        tensor.random_(0, 2**24)
        write = fastest(lambda: blocks.write(path, tensor), turns)
        read = fastest(lambda: blocks.read(path, tensor), turns)
        file = os.open(path, os.O_RDONLY | (O_DIRECT if direct else 0))
        try:
            one, many = at_random(file, nbytes, 1), at_random(file, nbytes, AT_ONCE)
        finally:
            os.close(file)
    return DriveFigures(blocks.way, nbytes / write, nbytes / read, one, BLOCK / one, BLOCK / many)


def at_random(file: int, nbytes: int, at_once: int) -> float:
    """Seconds for each of some hundred reads of 4 KiB at random places of a file, so many under way at once."""
    draw = random.Random(0)

    def some(places: list[int]) -> None:
        buffer = aligned(BLOCK)
        for place in places:
            os.preadv(file, [buffer.data], place * BLOCK)

    places = [draw.randrange(max(nbytes // BLOCK, 1)) for _ in range(RANDOM_READS)]
    with ThreadPoolExecutor(at_once) as pool:
        start = time.perf_counter()
        list(pool.map(some, [places[k::at_once] for k in range(at_once)]))
        return (time.perf_counter() - start) / RANDOM_READS


def caches(root: Path = CPU) -> dict[str, int]:
    """Bytes of this processor's data caches as Linux tells them, {"L1": 32768, ...}; elsewhere nothing."""
    found = {}
    for index in sorted(root.glob("index*")):
        level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            found[f"L{level}"] = int(size.removesuffix("K")) * 1024
    return found


def size_text(nbytes: int) -> str:
    """8192 -> "8 KiB"; from 1 MiB on in MiB."""
    return f"{nbytes / 1024:,.0f} KiB" if nbytes < MIB else f"{nbytes / MIB:,.0f} MiB"


def lines(points: Sequence[MemoryPoint], figures: DriveFigures) -> list[str]:
    """Both as a table."""
    rows = [f"{'working set, or drive':<28}  {'latency':>8}  {'bandwidth':>11}"]
    for point in points:
        rows.append(
            f"{size_text(point.nbytes):<28}  {seconds_text(point.latency):>8}  {rate_text(point.bandwidth):>11}"
        )
    for name, seconds, rate in (
        (f"drive, in order, {figures.way}: read", None, figures.read),
        (f"drive, in order, {figures.way}: write", None, figures.write),
        ("drive, 4 KiB at random", figures.random_latency, figures.random_read),
        (f"drive, 4 KiB, {AT_ONCE} at once", None, figures.random_read_at_once),
    ):
        rows.append(f"{name:<28}  {seconds_text(seconds):>8}  {rate_text(rate):>11}")
    return rows

"""The hierarchy of memories as data, with sources: how long one access takes, and how many bytes come in a second.

A latency belongs to a pair: who asks, and which memory. The memory of an accelerator (HBM) answers its own processor
after some 350 ns, which is longer than the host's memory takes to answer the host's processor. That does not put the
host's memory above it: to the accelerator the host's memory is microseconds away, behind PCIe. So the rows say who
asks, and rows with different askers are not one order. Latencies are of one access that waits for the one before
(a chain of dependent loads; for drives and stores, one request at a time), except over PCIe: that is the overhead of
one copy.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

DATA = Path(__file__).parent / "data/hierarchy.csv"


class MemoryLevel(NamedTuple):
    """One level: who asks for what, seconds of one access, bytes/s, what was counted, and by whom. None: no source."""

    level: str
    asked_by: str
    latency: float | None
    bandwidth: float | None
    counted: str
    source: str


@cache
def levels() -> tuple[MemoryLevel, ...]:
    """All levels of data/hierarchy.csv, from near to far."""
    lines = [line for line in DATA.read_text().splitlines() if not line.startswith("#")]
    return tuple(
        MemoryLevel(
            row["level"],
            row["asked_by"],
            float(row["latency_ns"]) / 1e9 if row["latency_ns"] else None,
            float(row["gigabytes_per_s"]) * 1e9 if row["gigabytes_per_s"] else None,
            row["counted"],
            row["source"],
        )
        for row in csv.DictReader(lines)
    )


def seconds_text(seconds: float | None) -> str:
    """A time to three digits, in the unit that fits: 344 ns, 92 us, 100 ms. "-" for None."""
    if seconds is None:
        return "-"
    unit, scale = next(((u, s) for u, s in (("ns", 1e9), ("us", 1e6), ("ms", 1e3)) if seconds * s < 999.5), ("s", 1.0))
    return f"{seconds * scale:.3g} {unit}"


def rate_text(bandwidth: float | None) -> str:
    """Bytes per second to three digits, in GB/s. "-" for None."""
    return (
        "-"
        if bandwidth is None
        else f"{bandwidth / 1e9:,.3g} GB/s"
        if bandwidth < 1e12
        else f"{bandwidth / 1e9:,.0f} GB/s"
    )


def table(rows: Sequence[MemoryLevel]) -> str:
    """The levels as text, one a line."""
    lines = [f"{'level':<28}  {'asked by':<8}  {'latency':>8}  {'bandwidth':>11}"]
    for row in rows:
        figures = f"{seconds_text(row.latency):>8}  {rate_text(row.bandwidth):>11}"
        lines.append(f"{row.level:<28}  {row.asked_by:<8}  {figures}")
    return "\n".join(lines)

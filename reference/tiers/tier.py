"""A tier: a memory below the accelerator's own, as data, and the two copy engines between it and a rank.

Idea      A tier is told by what one rank gets of it: bytes per second in each direction, and a latency. A copy of n
          bytes then takes latency + n / bandwidth once its engine is free. Reading and writing have an engine each, as
          a GPU has for its two directions; a tier that cannot do both at once has one for both (`duplex=False`).
          What one rank gets depends on how many share it: sixteen GPUs of a DGX-2 read NVMe drives of 28 GB/s, so each
          has 1.75 GB/s.
Left out  Pages that are not pinned, which cost a copy more; NUMA; what the copies take from the memory's bandwidth.
Source    Rajbhandari et al., "ZeRO-Infinity: Breaking the GPU Memory Wall for Extreme Scale Deep Learning" (2021),
          section 4; each tier of the catalogue names its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

from torch import Tensor

from ..networks.links import PCIE, link
from .engine import Engine, Job, Record

SEEN = "2026-11-23"  # when the sources were looked up
SLIDES = "slides of ZeRO-Infinity at SC21, in github.com/deepspeedai/DeepSpeed docs/assets/files @edaa7221; a 16th"
DEEPNVME = "github.com/deepspeedai/DeepSpeed blogs/deepnvme/06-2025/README.md @edaa7221"
WORKSTATION = "measured with ds_nvme_tune: DeepSpeed docs/_tutorials/deepnvme.md @edaa7221"
ASSUMED = "latency assumed"


class Tier(NamedTuple):
    """What one rank gets of a memory: read (towards the rank) and write in bytes/s, latency in seconds."""

    name: str
    read: float
    write: float
    latency: float = 0.0
    source: str = "given"
    date: str = ""

    def reading(self, nbytes: int) -> float:
        """Seconds in which so many bytes come."""
        return self.latency + nbytes / self.read

    def writing(self, nbytes: int) -> float:
        """Seconds in which so many bytes go."""
        return self.latency + nbytes / self.write

    def shared(self, ranks: int) -> Tier:
        """What each of so many ranks gets that use it at the same time."""
        return self._replace(name=f"{self.name}, {ranks} share it", read=self.read / ranks, write=self.write / ranks)


def _over_pcie(generation: int) -> Tier:
    found = link(f"PCIe {generation} x16")
    return Tier(f"host, PCIe {generation}", found.bandwidth, found.bandwidth, 1e-5, f"{PCIE}; {ASSUMED}", found.date)


def _drives(name: str, read: float, write: float, source: str) -> Tier:
    return Tier(name, read * 1e9, write * 1e9, 1e-4, f"{source}; {ASSUMED}", SEEN)


FREE = Tier("takes no time", inf, inf)

TIERS = (
    *map(_over_pcie, (3, 4, 5)),
    Tier("host, DGX-2, 16 GPUs", 64e9 / 16, 64e9 / 16, 1e-5, f"{SLIDES} of 64 GB/s; {ASSUMED}", SEEN),
    _drives("NVMe, DGX-2, 16 GPUs", 28 / 16, 28 / 16, f"{SLIDES} of 28 GB/s"),
    _drives("NVMe, one of Gen 4", 3.69, 3.18, WORKSTATION),
    _drives("NVMe, 4 of Gen 4", 10, 5, DEEPNVME),
    _drives("NVMe, 4 of Gen 5", 27, 11, DEEPNVME),
    _drives("NVMe, 8 of Gen 5", 48, 26, DEEPNVME),
)


def tier(name: str) -> Tier:
    """The tier of this name. Raises ValueError, with all names, if there is none."""
    for known in TIERS:
        if known.name.lower() == name.lower():
            return known
    raise ValueError(f"no tier is called {name!r}; there are: {'; '.join(known.name for known in TIERS)}")


def table(tiers: Sequence[Tier] = TIERS) -> str:
    """The tiers as text, one a line."""
    lines = [f"{'tier':<22}  {'read GB/s':>9}  {'write GB/s':>10}  {'latency us':>10}"]
    for one in tiers:
        speeds = f"{one.read / 1e9:>9.2f}  {one.write / 1e9:>10.2f}"
        lines.append(f"{one.name:<22}  {speeds}  {one.latency * 1e6:>10.0f}")
    return "\n".join(lines)


class CopyEngines:
    """The copy engines between this rank and a tier: `up` reads from it, `down` writes to it; both return at once.

        job = engines.down("gradient", gradient, below)  # gradient may be changed after job.wait()
        job = engines.up("weights", below, weights)      # weights may be read after job.wait()

    duplex: reading and writing go on at the same time; else one engine does both.
    """

    def __init__(self, comm: Any, tier: Tier, duplex: bool = True):
        self.comm, self.tier = comm, tier
        self.reads = Engine(comm, f"from {tier.name}" if duplex else tier.name)
        self.writes = Engine(comm, f"to {tier.name}") if duplex else self.reads
        self.bytes_up = self.bytes_down = 0  # asked for so far

    def up(self, label: str, source: Tensor, target: Tensor, after: Sequence[Job] = ()) -> Job:
        """Copy source, in the tier, to target [same shape], on the rank; converted if their types differ.

        The bytes that count are those of the target.
        """
        self.bytes_up += target.nbytes
        seconds = self.tier.reading(target.nbytes)
        return self.reads.submit(label, seconds, lambda: target.copy_(source), after, target.nbytes)

    def down(self, label: str, source: Tensor, target: Tensor, after: Sequence[Job] = ()) -> Job:
        """Copy source, on the rank, to target [same shape], in the tier; converted there if their types differ.

        The bytes that count are those of the source.
        """
        self.bytes_down += source.nbytes
        seconds = self.tier.writing(source.nbytes)
        return self.writes.submit(label, seconds, lambda: target.copy_(source), after, source.nbytes)

    @property
    def engines(self) -> list[Engine]:
        """The two, or the one."""
        return [self.reads] if self.reads is self.writes else [self.reads, self.writes]

    @property
    def records(self) -> list[Record]:
        """The copies that have ended, by the time at which they began."""
        return sorted((record for engine in self.engines for record in engine.records), key=lambda one: one.start)

    def drain(self) -> float:
        """Wait for all copies; the seconds that this took."""
        return sum(engine.drain() for engine in self.engines)

"""Links as data: what one direction of a real link carries, what it is sold as, and who says so.

Why one direction. In a ring each rank sends to one neighbour while it receives from the other, so a message travels
at the speed of one direction, whatever goes the other way meanwhile; alpha-beta models are about one message. Vendors
often add the two directions: "600 GB/s of NVLink" is 300 GB/s each way, summed over the 12 links of one GPU. A ring
that reaches 235 GB/s of bus bandwidth there is at 78 % of the link, not at 39 % (Bekman tells how he was misled).
The second trap is the unit: NVLink and PCIe are sold in bytes, networks in bits. An HDR port is 200 Gbit/s = 25 GB/s.

Here `bandwidth` is bytes per second, in one direction, of one GPU, one slot or one port, after line coding (128b/130b,
64b/66b) and before headers (transport.py). `latency` is what the source gives, None where it gives none: for NVLink
and PCIe what NCCL's own model charges for one hop of a ring with its low-latency protocol, for InfiniBand the figure in
Bekman's table. Microseconds, not milliseconds. A message between two processes takes longer, because of the software at
both ends: fit it (collectives/fit.py).
"""

from __future__ import annotations

from typing import NamedTuple

SEEN = "2026-11-21"  # when the sources were looked up
BEKMAN = "Bekman, Machine Learning Engineering, github.com/stas00/ml-engineering network/README.md @0030e63f"
NCCL = "latency: github.com/NVIDIA/nccl src/graph/tuning.cc @b6475625, hwLat, ring, LL"
PCIE = "hpc-notes.pages.dev/reference/pcie (rates of the PCI-SIG specifications, 128b/130b)"
WIKIPEDIA = "en.wikipedia.org/wiki/Intel_Ultra_Path_Interconnect (24 GT/s)"
ETHERNET = "rates of NVIDIA ConnectX-7: docs.nvidia.com/networking/display/winof2v251051000 (IEEE 802.3)"


class LinkSpec(NamedTuple):
    """One kind of link; see above for what the numbers mean."""

    name: str
    bandwidth: float  # bytes/s, one direction
    latency: float | None  # seconds
    reach: str  # "node", "rack" or "cluster"
    sold_as: float  # bytes/s, the headline
    adds_up: str  # what the headline counts
    source: str
    date: str = SEEN


def gigabits(x: float) -> float:
    """Gbit/s in bytes per second: gigabits(200) = 25e9."""
    return x * 1e9 / 8


def pcie(gigatransfers: float, lanes: int = 16) -> float:
    """Bytes per second of one direction of PCIe 3 to 5: one bit a transfer and lane, 128 of 130 bits are data."""
    return gigabits(gigatransfers * lanes * 128 / 130)


def _nvlink(generation: int, links: int, each: float, reach: str, seen_at: str) -> LinkSpec:
    """All `links` of one GPU; each carries `each` bytes/s one way and is sold as both ways."""
    words = f"{links} links x {2 * each / 1e9:.0f} GB/s, both directions"
    source = f"{BEKMAN}; {seen_at}; {NCCL}"
    return LinkSpec(f"NVLink {generation}", links * each, 0.6e-6, reach, 2 * links * each, words, source)


def _pcie(generation: int, rate: float) -> LinkSpec:
    words = "16 lanes, both directions, before line coding"
    return LinkSpec(
        f"PCIe {generation} x16", pcie(rate), 1e-6, "node", gigabits(2 * 16 * rate), words, f"{PCIE}; {NCCL}"
    )


def _infiniband(name: str, gbits: float, latency: float | None) -> LinkSpec:
    words = f"{gbits} Gbit/s: 4 lanes, one direction"
    return LinkSpec(f"InfiniBand {name}", gigabits(gbits), latency, "cluster", gigabits(gbits), words, BEKMAN)


def _ethernet(gbits: float) -> LinkSpec:
    words = f"{gbits} Gbit/s, one direction"
    return LinkSpec(f"Ethernet {gbits}G", gigabits(gbits), None, "cluster", gigabits(gbits), words, ETHERNET)


LINKS = (
    _nvlink(2, 6, 25e9, "node", "alibabacloud.com/help/doc-detail/190482.htm (V100: 6 links, 25 GB/s one way)"),
    _nvlink(3, 12, 25e9, "node", "nvidia.com/de-de/data-center/nvlink (A100: 12 links, 600 GB/s in total)"),
    _nvlink(4, 18, 25e9, "node", "NVIDIA in MLPerf Inference v4.1, H200-SXM-141GBx8 (18 links, 900 GB/s)"),
    _nvlink(5, 18, 50e9, "rack", "advancedhpc.com/pages/nvidia-nvlink-and-nvlink-switch (18 x 100 GB/s, two ways)"),
    LinkSpec(
        "MI300X fabric", 448e9, None, "node", 896e9, "7 links x 128 GB/s, both directions; a pair has one", BEKMAN
    ),
    _pcie(3, 8),
    _pcie(4, 16),
    _pcie(5, 32),
    LinkSpec("UPI 2.0", 48e9, None, "node", 48e9, "one direction of one link; sockets have several", WIKIPEDIA),
    _infiniband("EDR", 100, 0.5e-6),
    _infiniband("HDR", 200, 0.6e-6),
    _infiniband("NDR", 400, None),
    *map(_ethernet, (10, 25, 100, 400)),
)


def link(name: str) -> LinkSpec:
    """The link of this name. Raises ValueError, with all names, if there is none."""
    for known in LINKS:
        if known.name.lower() == name.lower():
            return known
    raise ValueError(f"no link is called {name!r}; there are: {', '.join(known.name for known in LINKS)}")


def beta(name: str) -> float:
    """Seconds per byte of one direction of this link: the beta of alpha + n beta."""
    return 1 / link(name).bandwidth


def table(*names: str) -> str:
    """The links (all, or those named) as text, one a line: GB/s one way, as sold, latency, reach."""
    lines = [f"{'link':<15} {'one way':>8} {'sold as':>8} {'latency':>8}  {'reach':<8} the headline counts"]
    for one in map(link, names) if names else LINKS:
        latency = "-" if one.latency is None else f"{one.latency * 1e6:.1f} us"
        speeds = f"{one.bandwidth / 1e9:>8.2f} {one.sold_as / 1e9:>8.2f}"
        lines.append(f"{one.name:<15} {speeds} {latency:>8}  {one.reach:<8} {one.adds_up}")
    return "\n".join(lines)

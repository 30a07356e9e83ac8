"""Accelerators as data: what one of them can multiply, hold and move, and who says so.

`flops` are dense bf16 FLOPs per second, the peak of the data sheet, a multiply-add counted as 2. Vendors like to print
a number twice as large and to say in small print that it is "with sparsity": it holds if two of every four weights are
zero, which is not how one trains. `sparse` is that headline, where a source gives it, so that you recognise it: 1979
"TFLOPS" of bf16 is an H100 that does 989. (The factor need not be 2: Trainium2's is 3.8.) Some sites list the sparse
figure as the dense one.

Nor is the peak reached. `measured` is the fastest product of two bf16 matrices that Bekman found, over all the shapes
he tried: from 51 % of the peak (MI300X) to 87 % (A100). What a whole training step reaches is less again.

`memory` is in bytes as sold (GB = 10^9), `bandwidth` is bytes per second between it and the processor, `scale_up`
bytes per second to the neighbours in one direction, over all links of the device, as in networks/links.py: half of
what is sold where the headline adds up both directions.
"""

from __future__ import annotations

from typing import NamedTuple

SEEN = "2026-11-21"  # when the sources were looked up
BEKMAN = "Bekman, Machine Learning Engineering, github.com/stas00/ml-engineering compute/accelerator @744d01e1"
KLOCKWOOD = "glennklockwood.com/garden/processors, after NVIDIA's data sheets"
VOLTA = "NVIDIA's V100 white paper, in maosong.website/p/nvidia-gpu-specs; fp16, it has no bf16; networks/links.py"
GOOGLE = "docs.cloud.google.com/tpu/docs"
AWS = "awsdocs-neuron.readthedocs-hosted.com v2.29.0, trainium2"


class Accelerator(NamedTuple):
    """One device; see above for what the numbers mean. None: no source gives it."""

    name: str
    flops: float  # FLOPs/s, dense bf16
    fp8: float | None  # FLOPs/s, dense fp8
    memory: float  # bytes
    bandwidth: float  # bytes/s
    scale_up: float | None  # bytes/s, one direction
    measured: float | None  # FLOPs/s, largest bf16 matrix product
    sparse: float | None  # FLOPs/s, what is printed "with sparsity"
    source: str
    date: str = SEEN

    @property
    def efficiency(self) -> float | None:
        """The share of the peak that was measured, None if nobody did."""
        return None if self.measured is None else self.measured / self.flops


def _row(name, tflops, fp8, gigabytes, terabytes_per_s, scale_up, measured, sparse, source) -> Accelerator:
    """A row in the units of data sheets: TFLOP/s, GB, TB/s, GB/s."""

    def scaled(x: float | None, unit: float) -> float | None:
        return None if x is None else x * unit

    rates = scaled(scale_up, 1e9), scaled(measured, 1e12), scaled(sparse, 1e12)
    return Accelerator(name, tflops * 1e12, scaled(fp8, 1e12), gigabytes * 1e9, terabytes_per_s * 1e12, *rates, source)


ACCELERATORS = (
    #    name         bf16  fp8  memory TB/s  scale-up measured sparse
    _row("V100 SXM", 125, None, 16, 0.9, 150, None, None, VOLTA),
    _row("A100 SXM", 312, None, 80, 2.039, 300, 271.2, 624, f"{BEKMAN}; {KLOCKWOOD}/A100"),
    _row("H100 PCIe", 756, 1513, 80, 2.0, None, None, 1513, BEKMAN),
    _row("H100 SXM", 989, 1979, 80, 3.35, 450, 794.5, 1979, f"{BEKMAN}; {KLOCKWOOD}/h100"),
    _row("H200 SXM", 989, 1979, 141, 4.8, 450, None, 1979, f"{BEKMAN}; {KLOCKWOOD}/h100"),
    _row("B200 SXM", 2250, 4500, 180, 8.0, 900, 1745, 4500, f"{BEKMAN}; {KLOCKWOOD}/B200"),
    _row("GB200 SXM", 2500, 5000, 186, 8.0, 900, 1822, 5000, f"{BEKMAN}; {KLOCKWOOD}/B200 (one GPU of the two)"),
    _row("L40S", 362, 733, 48, 0.86, None, None, None, BEKMAN),
    _row("MI300X", 1300, 2610, 192, 5.3, 448, 668.4, None, BEKMAN),
    _row("MI355X", 2500, 5000, 288, 8.0, 535.5, 1565, None, BEKMAN),
    _row("Gaudi3", 1677, 1677, 128, 3.7, None, 1243, None, BEKMAN),
    _row("TPU v4", 275, None, 32 * 1.024**3, 1.2, None, None, None, f"{GOOGLE}/v4 (32 GiB)"),
    _row("TPU v5e", 197, None, 16, 0.819, 200, None, None, f"{GOOGLE}/v5e (400 GB/s, both directions)"),
    _row("TPU v5p", 459, None, 95, 2.765, 600, None, None, f"{GOOGLE}/v5p-training (1200 GB/s, both directions)"),
    _row("TPU v6e", 918, None, 32, 1.638, 400, None, None, f"{GOOGLE}/v6e (800 GB/s, both directions)"),
    _row("Trainium2", 667, 1299, 96, 2.9, None, None, 2563, f"{AWS}; {BEKMAN}"),
    _row("CPU core", 0.05, None, 4, 0.01, None, None, None, "assumed: round numbers for one core of a laptop in fp32"),
)


def accelerator(name: str) -> Accelerator:
    """The accelerator of this name. Raises ValueError, with all names, if there is none."""
    for known in ACCELERATORS:
        if known.name.lower() == name.lower():
            return known
    raise ValueError(f"no accelerator is called {name!r}; there are: {', '.join(known.name for known in ACCELERATORS)}")


def table(*names: str) -> str:
    """The accelerators (all, or those named) as text, one a line, in the units of data sheets."""
    head = f"{'accelerator':<11} {'bf16':>7} {'fp8':>7} {'measured':>8} {'sparse':>7} {'memory':>7} {'TB/s':>6}"
    lines = [head + f" {'scale-up':>8} {'FLOP/byte':>9}"]
    for one in map(accelerator, names) if names else ACCELERATORS:
        rates = (one.flops, one.fp8, one.measured, one.sparse)
        bf16, fp8, measured, sparse = ("-" if rate is None else f"{rate / 1e12:.5g}" for rate in rates)
        scale_up = "-" if one.scale_up is None else f"{one.scale_up / 1e9:.5g}"
        memory, speed = f"{one.memory / 1e9:.4g}", f"{one.bandwidth / 1e12:.4g}"
        lines.append(
            f"{one.name:<11} {bf16:>7} {fp8:>7} {measured:>8} {sparse:>7} {memory:>7} {speed:>6} {scale_up:>8} "
            f"{one.flops / one.bandwidth:>9.0f}"
        )
    return "\n".join(lines)

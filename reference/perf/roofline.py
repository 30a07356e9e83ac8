"""The roofline: what a computation takes on a device that can multiply so fast and move bytes so fast.

Idea      An operation of W FLOPs that moves Q bytes between the memory and the processor takes at least W / flops
          seconds to compute and at least Q / bandwidth seconds to move. Both go on at once, so the longer one counts.
          Their ratio I = W / Q, the operation's intensity, is all that matters: below the device's ridge point,
          flops / bandwidth, memory is the limit, above it arithmetic.
Price     `overhead` seconds come on top of every operation: the launch of a kernel, some microseconds on a GPU.
Left out  caches (every operand comes from memory, every result goes back, so nothing is fused), several precisions at
          once, and the shapes that a device likes or not: that is what the `efficiency` of a device stands for.
Source    Williams, Waterman & Patterson, "Roofline: An Insightful Visual Performance Model for Multicore
          Architectures" (Communications of the ACM 52(4), 2009).
"""

from __future__ import annotations

from typing import NamedTuple

from .accelerators import accelerator


class Device(NamedTuple):
    """A device as the roofline sees it: FLOPs per second, bytes of memory traffic per second, seconds an operation."""

    flops: float
    bandwidth: float
    overhead: float = 0.0

    def seconds(self, flops: float, nbytes: float) -> float:
        """How long one operation of `flops` FLOPs that moves `nbytes` bytes takes."""
        return self.overhead + max(flops / self.flops, nbytes / self.bandwidth)

    @property
    def ridge(self) -> float:
        """The intensity, in FLOPs per byte, from which on arithmetic is the limit and not memory."""
        return self.flops / self.bandwidth

    def reached(self, intensity: float) -> float:
        """FLOPs per second that an operation of this intensity (FLOPs per byte) can reach: the roof."""
        return min(self.flops, intensity * self.bandwidth)


def device(name: str, efficiency: float = 1.0, overhead: float = 0.0, fp8: bool = False) -> Device:
    """The accelerator of that name (accelerators.py) as a Device, for dense bf16 arithmetic, or fp8.

    `efficiency`, in (0, 1], is the share of the peak that the largest matrix products reach. Raises ValueError for an
    unknown name, an impossible efficiency, or fp8 on a device that has none.
    """
    found = accelerator(name)
    if not 0 < efficiency <= 1:
        raise ValueError(f"efficiency is a share of the peak in (0, 1], got {efficiency}")
    flops = found.fp8 if fp8 else found.flops
    if flops is None:
        raise ValueError(f"the catalogue has no fp8 rate for {found.name}")
    return Device(flops * efficiency, found.bandwidth, overhead)

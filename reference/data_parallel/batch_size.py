"""A batch size that follows the memory: grown below a band, shrunk above it, by all ranks alike.

Idea      Peak memory is fixed + per_sample x size: weights, gradients and optimizer state do not grow with the batch,
          activations do. Two measurements give both numbers, and these the size that fits: nothing is tried out.
          The band is 81 to 90 % of the capacity: above it shrink, below it grow, inside it leave the size alone. With
          one threshold in place of the band, sizes go up and down for ever.
Price     A larger batch is another optimisation: fewer steps, less noise, another learning rate. So let memory decide
          the MICRO-batch and keep the global batch with learning_rate.accumulation: nothing else has to change. If the
          global batch is to grow, k says by how much, for learning_rate.linear or .square_root.
Exact     Each rank sees another peak: its sentences were longer. If each decides for itself, sizes differ, then steps
          an epoch, and in the end one rank waits in a collective that nobody else calls. So the largest peak decides.
          Measure live bytes (Meter.at_peak; torch.cuda.max_memory_allocated), not what an allocator has reserved: it
          keeps what it once had, so that number does not fall with the batch.
"""

from __future__ import annotations

from math import floor
from typing import NamedTuple

import torch

from .. import mpi


class MemoryFit(NamedTuple):
    """Peak bytes as a straight line: fixed + per_sample x size."""

    fixed: float
    per_sample: float

    def at(self, size: int) -> float:
        """The bytes predicted for batches of this size."""
        return self.fixed + self.per_sample * size


def fit_memory(size_a: int, peak_a: float, size_b: int, peak_b: float) -> MemoryFit:
    """From the peaks (bytes) of two sizes. Raises ValueError if there is nothing to learn from them."""
    if size_a == size_b or (slope := (peak_b - peak_a) / (size_b - size_a)) <= 0:
        raise ValueError(
            f"peaks of {peak_a} and {peak_b} bytes with {size_a} and {size_b} samples do not show what a sample takes: "
            f"measure two sizes that are farther apart"
        )
    return MemoryFit(peak_a - slope * size_a, slope)


class Decision(NamedTuple):
    """The next size, by which factor that is larger, and the largest peak of all ranks in bytes."""

    size: int
    k: float
    peak: float


def decide(
    comm, size: int, peak: float, per_sample: float, capacity: float, low: float = 0.81, high: float = 0.90
) -> Decision:
    """The size for the next steps; collective, the same on every rank. One all-reduce (MAX) of 16 bytes.

    size: of the batch, now, the same on all ranks; peak: bytes that this rank needed for it at most; per_sample: how
    much more for one more sample (`fit_memory`); capacity: bytes there are. Outside the band (low to
    high, of the capacity) it takes the largest size that is not above the middle; or one more, if only
    that lies in it; and one sample, if that fits.
    Raises ValueError on every rank if not even one sample would fit.
    """
    agreed = torch.tensor([peak, per_sample], dtype=torch.float64)
    comm.Allreduce(mpi.IN_PLACE, agreed, op=mpi.MAX)
    peak, per_sample = agreed.tolist()
    if low * capacity <= peak <= high * capacity:
        return Decision(size, 1.0, peak)

    def at(samples: int) -> float:
        return peak + (samples - size) * per_sample

    after = size + floor(((low + high) / 2 * capacity - peak) / per_sample)
    if at(after) < low * capacity and at(after + 1) <= high * capacity:
        after += 1
    if after < 1 and at(1) <= high * capacity:
        after = 1
    if after < 1:
        raise ValueError(
            f"{peak:.3g} bytes with batches of {size} leave no size that fits into {high:.0%} of {capacity:.3g} bytes: "
            f"what does not depend on the batch is too large, so shard it (ZeRO) or recompute activations"
        )
    return Decision(after, after / size, peak)

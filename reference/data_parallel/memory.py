"""The memory of a replica: what it holds and what its gradients weigh, in bytes, before anything is computed.

Idea      Data parallelism copies everything but the data. A replica of Psi parameters with Adam in mixed precision has

              2 Psi weights (fp16) + 2 Psi gradients (fp16) + 12 Psi: weights, momentum, variance in fp32  =  16 Psi

          bytes, 8 times the weights that one downloads; P replicas have P times that. Activations come on top.
Sends     A synchronisation moves the gradients: a ring sends 2 (P - 1) / P of their bytes from each rank.
          Tensor and pipeline parallelism leave a rank Psi / (TP PP) parameters; that, not Psi, is what data parallelism
          then copies and sends.
Source    Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models" (2020), section 3.
"""

from __future__ import annotations

from typing import NamedTuple

from ..collectives.ring import ring_bytes
from ..perf.recipes import ADAM_MIXED, Recipe


class ReplicaBytes(NamedTuple):
    """Bytes of one replica, without activations."""

    weights: int
    gradients: int
    optimizer: int

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self)


def replica(parameters: int, recipe: Recipe = ADAM_MIXED, shards: int = 1) -> ReplicaBytes:
    """What one rank of data parallelism holds; shards: among how many the model is cut, TP times PP."""
    return ReplicaBytes(*(-(-parameters // shards) * each for each in recipe))


def synchronisation(parameters: int, P: int, itemsize: int = 2, shards: int = 1) -> int:
    """Bytes that the busiest of P ranks sends in a ring all-reduce of the gradients."""
    return int(ring_bytes(P, -(-parameters // shards), itemsize).max())

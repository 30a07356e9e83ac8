"""A layout as the planner writes it: degrees of all axes, and what else decides what a step costs.

Idea      data x tensor x stages x context ranks. Ranks of the same tensor group are neighbours, then context, then
          stages, then data: neighbours on an `axis` are as far apart as the product of the degrees inside it.
Price     `check` says what cannot be, with numbers and what to do about it; `trouble` returns the same text, "" if all
          is well, which a search asks many times.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..perf.recipes import ADAM_MIXED, Recipe
from .architecture import Architecture
from .cluster import Cluster

RECOMPUTE = ("none", "selective", "operations", "full")
SCHEDULES = ("1F1B", "interleaved 1F1B", "GPipe")


class LayoutSpec(NamedTuple):
    """How a training is divided, and the choices that its cost depends on.

    data, tensor, stages, context   degrees of the four axes: d, t, p, c
    zero               0 to 3: what is sharded over data x context: nothing, optimizer, and gradients, and weights
    micro_batch        b, sequences that go through a layer at once
    chunks             v, of each rank's share of the layers; more than 1: interleaved
    recompute          "none"; "selective": scores of attention; "operations": all but attention and every second
                       product of matrices (torchtitan); "full": all, from the layer's input
    sequence_parallel  Megatron's: norms and dropout are divided over the tensor group, too
    schedule           of the pipeline: 1F1B or GPipe; with chunks > 1 interleaved 1F1B
    flash              attention keeps no scores and computes half of a causal square
    fused              norms, activations and the like are compiled into few kernels
    overlap_tensor     all-reduces of the backward pass travel while weight gradients are computed
    overlap_data       gradients (and with zero >= 1 weights) travel while the last (first) micro-batch is computed
    recipe             bytes of a parameter: weights, gradients, optimizer
    share              of the layers that recompute = "full" means
    early_stop         recomputation ends with the last tensor that the backward pass needs: not the layer's last
                       product, if no dropout is behind it (torch.utils.checkpoint with use_reentrant=False since
                       PyTorch 2.1)
    sum_bytes          bytes moved to add a parameter's gradient of a micro-batch to the sum; 0: the product adds.
                       Only the own share counts where ZeRO sums gradients over the ranks after each micro-batch
    async_tensor       each gather and sum of the tensor group travels in t pieces during its own product
    gather_bytes       of an element of these gathers; 1: they travel in 8 bits
    overlap_context    keys and values travel while attention is computed
    repeat_heads       keys and values are copied for each head before they travel
    """

    data: int = 1
    tensor: int = 1
    stages: int = 1
    context: int = 1
    zero: int = 0
    micro_batch: int = 1
    chunks: int = 1
    recompute: str = "none"
    sequence_parallel: bool = True
    schedule: str = "1F1B"
    flash: bool = True
    fused: bool = True
    overlap_tensor: bool = True
    overlap_data: bool = True
    recipe: Recipe = ADAM_MIXED
    share: float = 1.0
    early_stop: bool = False
    sum_bytes: int = 0
    async_tensor: bool = False
    gather_bytes: int = 2
    overlap_context: bool = True
    repeat_heads: bool = False

    @property
    def ranks(self) -> int:
        """Ranks of the layout, the product of the degrees."""
        return self.data * self.tensor * self.stages * self.context

    @property
    def replicas(self) -> int:
        """Ranks that average gradients with each other: data x context."""
        return self.data * self.context

    def axis(self, name: str) -> tuple[int, int]:
        """(degree, how far apart neighbours are) of an axis "tp", "cp", "pp" or "dp": tp innermost, dp outermost."""
        d, t, p, c = self[:4]
        return {"tp": (t, 1), "cp": (c, t), "pp": (p, t * c), "dp": (d, t * c * p)}[name]

    def micro_batches(self, global_batch: int) -> int:
        """m, micro-batches that a rank does in a step."""
        return global_batch // (self.data * self.micro_batch)

    def trouble(
        self, architecture: Architecture, cluster: Cluster, global_batch: int, length: int | None = None
    ) -> str:
        """What cannot be, with what to do about it; "" if all is well. cluster: the levels that its axes may span."""
        d, t, p, c, v = self.data, self.tensor, self.stages, self.context, self.chunks
        if min(d, t, p, c, v, self.micro_batch) < 1 or self.zero not in (0, 1, 2, 3):
            return f"degrees, chunks and micro_batch are 1 or more and zero is 0 to 3, got {self}"
        if self.recompute not in RECOMPUTE or self.schedule not in SCHEDULES or not 0 <= self.share <= 1:
            known = f"recompute is one of {', '.join(RECOMPUTE)}, schedule of {', '.join(SCHEDULES)}"
            return f"{known}, share 0 to 1, got {self}"
        a, g, L, s = architecture.heads, architecture.kv_heads, architecture.layers, length or architecture.length
        if a % t or (g % t and t % g):
            return (
                f"tensor = {t} must divide the {a} heads, and divide or be a multiple of the {g} of keys and values; "
                f"try {math.gcd(a, t)}"
            )
        if architecture.feed_forward % t:
            return f"tensor = {t} must divide the {architecture.feed_forward} columns of the feed-forward network"
        if L % (p * v):
            near = [n for n in range(1, L // v + 1) if L % (n * v) == 0]
            return f"{p} stages of {v} chunks must divide {L} layers; with {v} chunks there can be {near} stages"
        if c > 1 and s % (2 * c):
            return f"context = {c} needs a length that is a multiple of {2 * c}, got {s}"
        if t > 1 and self.sequence_parallel and s % (t * c):
            return f"sequence parallelism over {t} x {c} ranks needs a length that is a multiple of {t * c}, got {s}"
        if global_batch % (d * self.micro_batch):
            return (
                f"a batch of {global_batch} sequences cannot be dealt to data = {d} ranks in micro-batches of "
                f"{self.micro_batch}; take a multiple of {d * self.micro_batch}"
            )
        m = self.micro_batches(global_batch)
        if m < 1:
            return (
                f"a batch of {global_batch} sequences is too small for data = {d} x micro-batches of {self.micro_batch}"
            )
        if v > 1 and (p == 1 or m % p):
            return (
                f"{v} chunks (interleaving) need stages > 1 and micro-batches in multiples of {p}, got {m}; "
                "take chunks = 1"
            )
        return ""

    def check(self, architecture: Architecture, cluster: Cluster, global_batch: int, length: int | None = None) -> None:
        """Raise ValueError that names what cannot be and what to do about it."""
        if why := self.trouble(architecture, cluster, global_batch, length):
            raise ValueError(f"{architecture.name} on {cluster.name}: {why}")

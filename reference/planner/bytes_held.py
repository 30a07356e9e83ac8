"""The memory of a rank: weights, gradients, optimizer, activations, logits, and what is there for a while.

Idea      A rank of stage r holds 1/(p t) of the layers' parameters; the first stage the embedding, too, and the last
          the head. ZeRO divides them once more (zero/memory.py). In 16 bits a layer keeps for its backward pass, of
          each of its b s / c tokens and of the width h,

              10 h   inputs of norms and of matrices, and two masks of dropout (8 h without); / t if sequence parallel
              24 h/t queries, keys, values, the inputs of the matrices behind, with f = 4 h, g = a, not gated
              5 a s/t scores; none with flash attention, or if they are recomputed

          Together s b h (10 + 24/t + 5 a s/(h t)), Korthikanti's. A schedule keeps so many micro-batches alive:
          min(m, p) on the first stage of 1F1B, 1 + (p - 1)/(p v) of all layers if interleaved, m of GPipe.
Exact     Equal to figure 1 and 7 of the paper, which are these formulas. The rank that holds most is the first or the
          last; both are tried.
Left out  What the runtime keeps for itself, memory that an allocator cannot use, buffers of the network.
Source    Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models" (2022), section 4.
"""

from __future__ import annotations

from typing import NamedTuple

from .architecture import Architecture
from .cluster import Cluster
from .spec import LayoutSpec

LOGIT_BYTES = 14
"""Of each logit: 16 bits from the head, and 32 for its copy, its softmax and its gradient."""


class RankBytes(NamedTuple):
    """Bytes of the rank that holds most, by kind.

    weights, gradients, optimizer  what its ZeRO stage leaves
    activations                    kept for the backward pass, of all micro-batches alive
    working                        activations of a layer that is computed again; with sequence parallelism the whole
                                   input of a matrix, which is gathered for it, and its gradient
    logits                         of the last stage's micro-batch, and their gradient
    buffers                        ZeRO 3: whole weights of two layers, and of the head with gradients and their sum;
                                   in a pipeline whole weights and 32-bit gradients of the stage, as torchtitan has them
    """

    weights: float
    gradients: float
    optimizer: float
    activations: float
    working: float
    logits: float
    buffers: float

    @property
    def total(self) -> float:
        """All of them."""
        return sum(self)


def layer_activations(architecture: Architecture, spec: LayoutSpec, length: int, recompute: str | None = None) -> float:
    """Bytes that a layer keeps of one micro-batch on one rank. recompute: instead of the layout's."""
    h, t, kv, f = architecture.width, spec.tensor, architecture.kv_width, architecture.feed_forward
    how = spec.recompute if recompute is None else recompute
    shared = t if spec.sequence_parallel else 1
    tokens = spec.micro_batch * length / spec.context
    dropout = 2 * h if architecture.dropout else 0
    inner = 4 * h + 4 * kv + (6 if architecture.gated else 4) * f
    kept = tokens * ((8 * h + dropout) / shared + inner / t)
    if how == "operations":  # the layer's input, the results of attention and of every second product
        kept = tokens * 2 * (2 * h / shared + (2 * h + kv + f) / t)
    if not spec.flash and how != "selective":
        kept += tokens * 5 * architecture.heads * length / t
    return spec.share * tokens * 2 * h / shared + (1 - spec.share) * kept if how == "full" else kept


def alive(spec: LayoutSpec, m: int) -> float:
    """How many times the activations of its layers the first stage keeps at most."""
    p, v = spec.stages, spec.chunks
    if spec.schedule == "GPipe":
        return m
    return min(m, p) if v == 1 else min(m, p * (1 + (p - 1) / (p * v)))


def held(
    architecture: Architecture, spec: LayoutSpec, cluster: Cluster, global_batch: int, length: int | None = None
) -> RankBytes:
    """What the rank that holds most holds. length: of a sequence, instead of the model's."""
    s, m = length or architecture.length, spec.micro_batches(global_batch)
    layers = architecture.layers / spec.stages
    ends = [architecture.embedding]  # of the first stage, then of the last
    ends = [ends[0] * (1 if architecture.tied else 2)] if spec.stages == 1 else ends * 2
    kept = layers * layer_activations(architecture, spec, s)
    full = layer_activations(architecture, spec, s, "selective" if spec.flash else "none")
    tokens = spec.micro_batch * s / spec.context
    gathered = 2 * 2 * tokens * architecture.width if spec.sequence_parallel and spec.tensor > 1 else 0.0
    working = gathered + (full if spec.recompute in ("full", "operations") else 0.0)
    logits = tokens * architecture.vocabulary / spec.tensor * LOGIT_BYTES
    found = []
    for place, end in enumerate(ends):
        first, last = place == 0, place == len(ends) - 1
        mine = (layers * architecture.layer_parameters + end) / spec.tensor
        times = alive(spec, m) if first else 1
        dropped = tokens * architecture.width * times if first and architecture.dropout else 0
        if spec.sequence_parallel:
            dropped /= spec.tensor
        states = _states(spec, mine)
        unit = architecture.layer_parameters / spec.tensor
        buffers = 0.0
        if spec.zero == 3 and spec.replicas > 1:
            head = architecture.embedding / spec.tensor if last else 0.0
            buffers = (2 + 4) * mine if spec.stages > 1 else 2 * 2 * unit + (2 + 2 + 4) * head
        found.append(RankBytes(*states, kept * times + dropped, working, logits if last else 0.0, buffers))
    return max(found, key=lambda each: each.total)


def _states(spec: LayoutSpec, parameters: float) -> tuple[float, float, float]:
    """Bytes of weights, gradients and optimizer, divided by the ZeRO stage."""
    n = spec.replicas
    w, o, kappa = (each * parameters for each in spec.recipe)
    return w / (n if spec.zero == 3 else 1), o / (n if spec.zero >= 2 else 1), kappa / (n if spec.zero >= 1 else 1)

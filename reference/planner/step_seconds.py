"""The seconds of a training step, term by term: what a layout costs on a machine.

Idea      A rank of the slowest stage does m micro-batches one after the other. Each costs products of matrices,
          attention, memory traffic of everything else, and what cannot be hidden of the messages of its tensor and
          context groups. Around them are the bubble of the pipeline and its messages, the average of gradients, and
          the optimizer. Terms add up to the step: of messages that travel while something is computed only the exposed
          part is a term.
Price     matmul      2 FLOPs for each weight and token forward, 4 backward, at `matmul` of the peak
          attention   4 h s FLOPs for each token; flash attention half, and 2.5 times as many backward
          elementwise bytes that norms, residuals, activations, masks and the loss move, over the memory's bandwidth
          tensor      2 all-reduces of b s h each way and layer, or their halves with sequence parallelism
          context     c - 1 hops of keys and values each way, and c of their gradients, behind the attention of a block
          recompute   what is computed twice
          bubble      (p - 1)/v times a stage, as simulated in chapter 9
          sends       messages on the longest path through the schedule; each rank of a tensor group sends its part
          data        average of gradients and, with ZeRO 1 and 2, the gather of weights, less what the last backward
                      (first forward) pass hides
          zero        gathers of weights and sums of gradients of each micro-batch (ZeRO 3; sums with ZeRO 2), less what
                      passes hide; in a pipeline ZeRO 3 does both once a step and holds whole weights, as torchtitan
          sums        bytes moved to add gradients of micro-batches up, if the products do not do it themselves
          optimizer   bytes of states that are read and written
Left out  Starting kernels, the data loader, clipping, checkpoints, stragglers, and contention between axes. Products
          have one efficiency, so that pieces of them (`async_tensor`) come out too quick: published_runs.csv has rows.
          PyTorch 2.13 sends the sums of ZeRO in a pipeline after the last backward pass; here that pass hides them.
Source    What a library does: `early_stop` pytorch/pytorch#96866; `sum_bytes` megatron/model/distributed.py of
          Megatron-LM @79a3bb6 (6), FSDP2 in PyTorch 2.13.0 (10), DeepSpeed's BF16_Optimizer @56c5223 (18);
          `async_tensor` Wang et al., "Overlap Communication with Dependent Computation via Decomposition" (2023);
          `repeat_heads`, `gather_bytes` and "operations" torchtitan @9dec370; `overlap_context` pytorch/pytorch#127324
          and #152252.
"""

from __future__ import annotations

from typing import NamedTuple

from .architecture import Architecture
from .cluster import Cluster
from .spec import LayoutSpec

BACKWARD_BYTES = 1.5
"""Bytes of the backward pass of norms, activations and the like, for one of the forward pass."""
SCORE_BYTES = (13, 17)
"""Bytes that attention without flash moves for each score, forward and backward."""
LOGIT_BYTES = 28
"""Bytes that the loss moves for each logit, both ways: 16 bits from the head, 32 for softmax and gradient."""
STATE_BYTES = 2
"""Each byte of gradients and optimizer is read, and written."""


class StepSeconds(NamedTuple):
    """Seconds of a step by what they go to; see above."""

    matmul: float
    attention: float
    elementwise: float
    recompute: float
    tensor: float
    context: float
    bubble: float
    sends: float
    data: float
    zero: float
    sums: float
    optimizer: float

    @property
    def compute(self) -> float:
        """Products of matrices, attention and element-wise operations, each once."""
        return self.matmul + self.attention + self.elementwise

    @property
    def total(self) -> float:
        """All of them."""
        return sum(self)


class LayerSeconds(NamedTuple):
    """Seconds of one layer (or of the ends of the model) for one micro-batch, forward and backward."""

    matmul: tuple[float, float]
    attention: tuple[float, float]
    elementwise: tuple[float, float]
    tensor: tuple[float, float]
    context: tuple[float, float]
    recompute: float

    @property
    def forward(self) -> float:
        """All of the forward pass."""
        return self.matmul[0] + self.attention[0] + self.elementwise[0] + self.tensor[0] + self.context[0]

    @property
    def backward(self) -> float:
        """All of the backward pass, with what is computed again."""
        once = self.matmul[1] + self.attention[1] + self.elementwise[1] + self.tensor[1] + self.context[1]
        return once + self.recompute


def layer_seconds(
    architecture: Architecture, spec: LayoutSpec, cluster: Cluster, length: int | None = None
) -> LayerSeconds:
    """One layer, one micro-batch, one rank."""
    h, kv, f, t = architecture.width, architecture.kv_width, architecture.feed_forward, spec.tensor
    s, device = length or architecture.length, cluster.accelerator
    n = spec.micro_batch * s / spec.context  # tokens
    stream = device.bandwidth * cluster.memory_efficiency
    product = 2 * architecture.layer_matrices * n / t / cluster.product_rate
    scores = 4 * h * s * n / t / (device.flops * cluster.attention)
    outside = (22 if architecture.dropout else 20) * h / (t if spec.sequence_parallel else 1)
    inside = (4 * (h + 2 * kv) + (6 if architecture.gated else 4) * f) / t
    moved = n * (outside + inside) * (1.0 if spec.fused else cluster.unfused) / stream
    if spec.flash:
        attention = 0.5 * scores, 1.25 * scores
    else:
        squares, dense = architecture.heads / t * n * s / stream, scores * cluster.attention / cluster.matmul
        attention = dense + SCORE_BYTES[0] * squares, 2 * dense + SCORE_BYTES[1] * squares
    pair = _tensor_pair(spec, cluster, n * h, product)
    tensor = _tensor(spec, pair, product)
    context = _context(spec, cluster, 4 * n * (h if spec.repeat_heads else kv) / t, attention)
    elementwise = moved, BACKWARD_BYTES * moved
    matrices, once = architecture.matrices, product / architecture.layer_matrices
    last = once * matrices[-1] + pair[1] if spec.early_stop else 0.0  # a layer ends with a product and a sum
    again = {
        "none": 0.0,
        "selective": 0.0 if spec.flash else attention[0],
        "operations": once * sum(matrices[1:-1:2]) + moved + 2 * pair[0],  # torchtitan keeps every other product
        "full": spec.share * (product + attention[0] + moved + tensor[0] + context[0] - last),
    }
    return LayerSeconds((product, 2 * product), attention, elementwise, tensor, context, again[spec.recompute])


def _tensor_pair(spec: LayoutSpec, cluster: Cluster, elements: float, product: float) -> tuple[float, float]:
    """Exposed seconds of one gather and one sum of the tensor group in the forward pass; a layer has two of each."""
    t = spec.tensor
    if t == 1:
        return 0.0, 0.0
    way = cluster.path(spec.axis("tp"))
    gather, sums = (way.gather(t, width * elements) for width in (spec.gather_bytes, 2))
    if spec.async_tensor:  # the first piece has nothing to travel behind
        return max(gather / t, gather - product / 4), max(sums / t, sums - product / 4)
    return gather, sums


def _tensor(spec: LayoutSpec, pair: tuple[float, float], product: float) -> tuple[float, float]:
    """Exposed seconds of a layer's tensor group, forward and backward."""
    both = 2 * sum(pair)
    if spec.async_tensor or not spec.overlap_tensor:
        return both, both
    if spec.sequence_parallel:  # gathers of gradients wait; the others travel while gradients of weights are computed
        return both, 2 * pair[0] + max(0.0, both - product)
    return both, max(0.0, both - product)


def _context(spec: LayoutSpec, cluster: Cluster, nbytes: float, attention: tuple[float, float]) -> tuple[float, float]:
    """Exposed seconds of a layer's ring; nbytes: of a rank's keys and values."""
    c = spec.context
    if c == 1:
        return 0.0, 0.0
    way = cluster.path(spec.axis("cp"))
    hop = way.latency / (c - 1) + nbytes / way.bandwidth
    home = way.latency / (c - 1) + 2 * nbytes / way.bandwidth  # gradients, in 32 bits; the last hop brings them home
    forward, backward = (seconds / c if spec.overlap_context else 0.0 for seconds in attention)
    return (c - 1) * max(0.0, hop - forward), (c - 1) * max(0.0, hop + home - backward) + home


def head_seconds(
    architecture: Architecture, spec: LayoutSpec, cluster: Cluster, length: int | None = None
) -> LayerSeconds:
    """The head and the loss of the last stage, one micro-batch, one rank."""
    device, t = cluster.accelerator, spec.tensor
    n = spec.micro_batch * (length or architecture.length) / spec.context
    product = 2 * architecture.embedding * n / t / (device.flops * cluster.matmul)
    moved = LOGIT_BYTES / 2 * n * architecture.vocabulary / t / (device.bandwidth * cluster.memory_efficiency)
    half = cluster.path(spec.axis("tp")).gather(t, 2 * n * architecture.width) if t > 1 else 0.0
    return LayerSeconds((product, 2 * product), (0.0, 0.0), (moved, moved), (2 * half, 2 * half), (0.0, 0.0), 0.0)


def step_seconds(
    architecture: Architecture, spec: LayoutSpec, cluster: Cluster, global_batch: int, length: int | None = None
) -> StepSeconds:
    """A step of the layout, term by term. The layout is one that spec.check lets pass."""
    s, m, p, v = length or architecture.length, spec.micro_batches(global_batch), spec.stages, spec.chunks
    layer, head = layer_seconds(architecture, spec, cluster, s), head_seconds(architecture, spec, cluster, s)
    layers = architecture.layers / p

    def both(term: str) -> float:
        return m * (layers * sum(getattr(layer, term)) + sum(getattr(head, term)))

    one = layers * (layer.forward + layer.backward)  # a stage without the head, one micro-batch
    zero = m * layers * _zero(architecture, spec, cluster, layer, global_batch)
    return StepSeconds(
        matmul=both("matmul"),
        attention=both("attention"),
        elementwise=both("elementwise"),
        recompute=m * layers * layer.recompute,
        tensor=both("tensor"),
        context=both("context"),
        bubble=(p - 1) / v * one,
        sends=_sends(spec, cluster, 2 * spec.micro_batch * s / spec.context * architecture.width, m),
        data=_data(architecture, spec, cluster, layers, layer),
        zero=zero,
        sums=_sums(architecture, spec, cluster, m),
        optimizer=_optimizer(architecture, spec, cluster),
    )


def _sends(spec: LayoutSpec, cluster: Cluster, nbytes: float, m: int) -> float:
    """Seconds of the messages on the longest path through the schedule; chapter 9 has the proofs.

    Each rank of a tensor group sends its part. Without sequence parallelism the group behind gathers the parts, and
    computes nothing meanwhile (Narayanan et al., SC21, section 4.1); the virtual cluster counts how often that lasts.
    """
    p, v = spec.stages, spec.chunks
    if p == 1:
        return 0.0
    each = cluster.message(spec.axis("pp")[1]).send(nbytes / spec.tensor)
    gather = 0.0 if spec.sequence_parallel else cluster.path(spec.axis("tp")).gather(spec.tensor, nbytes)
    if spec.schedule == "GPipe":
        return 2 * (p - 1) * each + 2 * (m + p - 2) * gather
    if v > 1:  # Megatron's warm-up hides the others
        return 2 * (p * v - 1) * each + 2 * m * v * gather
    whole, left = divmod(m - 1, p)
    return (2 * (p - 1) * (whole + 1) + 2 * max(left - 1, 0)) * each + (m + 2 * p - 3) * gather


def stage_parameters(architecture: Architecture, spec: LayoutSpec) -> float:
    """Parameters of a rank of the first stage, before ZeRO divides them."""
    ends = 1 if spec.stages > 1 or architecture.tied else 2
    return (
        architecture.layers / spec.stages * architecture.layer_parameters + ends * architecture.embedding
    ) / spec.tensor


def _data(architecture: Architecture, spec: LayoutSpec, cluster: Cluster, layers: float, layer: LayerSeconds) -> float:
    """Exposed seconds of the average of gradients, and of the weights' gather with ZeRO 1 and 2."""
    n = spec.replicas
    if n == 1 or spec.zero == 3:
        return 0.0
    way, mine = cluster.path(spec.axis("dp"), spec.axis("cp")), stage_parameters(architecture, spec)
    sums, gather = way.gather(n, spec.recipe.gradients * mine), way.gather(n, 2 * mine)
    if not spec.overlap_data:
        return (0.0 if spec.zero == 2 else sums) + gather
    hidden = 1 - 1 / layers if layers > 1 else 0.0  # the last layer's gradients have nothing behind them
    sums = 0.0 if spec.zero == 2 else max(sums - hidden * layers * layer.backward, sums / max(layers, 1))
    if spec.zero == 0:  # an all-reduce: both halves behind the backward pass
        whole = way.reduce(n, spec.recipe.gradients * mine)
        return max(whole - hidden * layers * layer.backward, whole / max(layers, 1))
    return sums + max(gather - hidden * layers * layer.forward, gather / max(layers, 1))


def _zero(
    architecture: Architecture, spec: LayoutSpec, cluster: Cluster, layer: LayerSeconds, global_batch: int
) -> float:
    """Exposed seconds of a layer and micro-batch for gathers of weights and sums of gradients."""
    n = spec.replicas
    if n == 1 or spec.zero < 2:
        return 0.0
    way, mine = cluster.path(spec.axis("dp"), spec.axis("cp")), architecture.layer_parameters / spec.tensor
    sums = way.gather(n, spec.recipe.gradients * mine)
    if spec.zero == 2:
        return max(0.0, sums - layer.backward)
    gather, m = way.gather(n, 2 * mine), spec.micro_batches(global_batch)
    if spec.stages > 1:  # gathered in the first forward pass, summed in the last backward pass
        return (max(0.0, gather - layer.forward) + max(0.0, sums - layer.backward)) / m
    return max(0.0, gather - layer.forward) + max(0.0, gather + sums - layer.backward)


def _sums(architecture: Architecture, spec: LayoutSpec, cluster: Cluster, m: int) -> float:
    """Seconds to add the gradients of m micro-batches up; the first needs no sum."""
    mine = stage_parameters(architecture, spec)
    if spec.zero == 2 or (spec.zero == 3 and spec.stages == 1):  # summed over the ranks each time: see _zero
        mine /= spec.replicas
    return (m - 1) * spec.sum_bytes * mine / (cluster.accelerator.bandwidth * cluster.memory_efficiency)


def _optimizer(architecture: Architecture, spec: LayoutSpec, cluster: Cluster) -> float:
    """Seconds to read and write gradients, weights and the optimizer's state once."""
    mine = stage_parameters(architecture, spec) / (spec.replicas if spec.zero else 1)
    return STATE_BYTES * sum(spec.recipe) * mine / (cluster.accelerator.bandwidth * cluster.memory_efficiency)

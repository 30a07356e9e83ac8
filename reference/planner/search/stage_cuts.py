"""Stages of unequal numbers of layers, from the cost model: communication and memory decide where a model is cut.

Idea      The layouts of the search give each stage as many layers. But the first stage has the embedding, the last the
          head and the loss, and the first keeps the most micro-batches alive. So: profile embedding, layers and head by
          the cost model, and let the dynamic programme of reference/pipeline/sizing/partition.py cut the chain:

              best[r][i] = min over k < i of max(best[r - 1][k], c(r, k, i))

          c is infinite where stage r would hold more than a rank has, with min(m, p - r) micro-batches alive, and a
          message is a stage of its own between two. Frameworks take such a cut (Megatron's
          --decoder-first-pipeline-num-layers, torchtitan's pipeline_parallel_first_stage_less_layers).
Before    min over k of dp[k][j - 1] + c(k + 1, i): a sum. On equal devices without messages each cut has the same sum,
          so the programme says nothing. A step of a pipeline waits for its slowest stage.
After     the slowest stage is as fast as it can be; fits where equal numbers do not
Exact     The pieces are those of step_seconds.py and bytes_held.py, so p equal stages cost what the layout costs there.
Left out  Chunks (v = 1), and gradients of ZeRO 2 and gathers of ZeRO 3, which each micro-batch would add.
Source    Narayanan et al., "PipeDream" (2019), section 3.1, for the programme with messages between stages.
"""

from __future__ import annotations

from typing import NamedTuple

from ...pipeline.sizing.cuts import Cut, LayerProfile, Worker
from ...pipeline.sizing.partition import Send, equal_counts, message_time, partition
from ..bytes_held import layer_activations
from ..predict import Prediction
from ..spec import LayoutSpec
from ..step_seconds import LayerSeconds, head_seconds, layer_seconds
from .space import LayoutSpace

LOGIT_BYTES_KEPT = 6  # a logit: 16 bits, and 32 for the loss and its gradient


class StageCut(NamedTuple):
    """cut: in pieces (embedding, layers, head); layers: of each stage; equal: seconds if all had as many layers."""

    cut: Cut
    layers: list[int]
    equal: float


def pieces(space: LayoutSpace, spec: LayoutSpec) -> list[LayerProfile]:
    """Embedding, layers and head of a layout: seconds of a micro-batch on one rank, bytes held, kept and sent."""
    model, s = space.model, space.length or space.model.length
    layer = layer_seconds(model, spec, space.machine, s)
    head = head_seconds(model, spec, space.machine, s)
    tokens = spec.micro_batch * s / spec.context
    sent = 2 * tokens * model.width / (spec.tensor if spec.sequence_parallel else 1)
    end = _held(spec, model.embedding)
    kept = layer_activations(model, spec, s)
    logits = tokens * model.vocabulary / spec.tensor * LOGIT_BYTES_KEPT
    block = _piece(layer, _held(spec, model.layer_parameters), kept, sent, "layer")
    return [
        LayerProfile(0.0, 0.0, end, 0.0, sent, "embedding"),
        *[block] * model.layers,
        _piece(head, end, logits, 0.0, "head"),
    ]


def _piece(seconds: LayerSeconds, held: float, kept: float, sent: float, name: str) -> LayerProfile:
    return LayerProfile(seconds.forward, seconds.backward, held, kept, sent, name)


def _held(spec: LayoutSpec, parameters: float) -> float:
    """Bytes of weights, gradients and optimizer on one rank, as its ZeRO stage leaves them."""
    n, (w, o, kappa) = spec.replicas, spec.recipe
    each = w / (n if spec.zero == 3 else 1) + o / (n if spec.zero >= 2 else 1) + kappa / (n if spec.zero else 1)
    return parameters * each / spec.tensor


def alive_by_stage(spec: LayoutSpec, m: int) -> list[int]:
    """Micro-batches whose activations each stage of 1F1B keeps at most: min(m, p - r)."""
    return [min(m, spec.stages - r) for r in range(spec.stages)]


def message(space: LayoutSpace, spec: LayoutSpec) -> Send:
    """Seconds of a message from a stage to the next."""
    way = space.machine.message(spec.axis("pp")[1])
    return message_time(way.latency, 1 / way.bandwidth)


def stage_cut(space: LayoutSpace, spec: LayoutSpec) -> StageCut:
    """The cut of the model into this layout's stages whose slowest is fastest, within the memory of the space.

    Raises ValueError if no cut fits, and says how far the layers get.
    """
    chain, p = pieces(space, spec), spec.stages
    workers = [Worker(memory=space.limit)] * p
    cut = partition(chain, workers, message(space, spec), alive_by_stage(spec, spec.micro_batches(space.global_batch)))
    return StageCut(cut, layers_of(cut.ends, space.model.layers), slowest(chain, equal_ends(space.model.layers, p)))


def equal_ends(layers: int, p: int) -> tuple[int, ...]:
    """Where p stages end that have equally many layers: the embedding is on the first, the head on the last."""
    ends = [end + 1 for end in equal_counts(layers, p)]
    return (*ends[:-1], layers + 2)


def layers_of(ends: tuple[int, ...], layers: int) -> list[int]:
    """Layers of each stage: pieces without embedding and head."""
    inner = [min(max(end - 1, 0), layers) for end in ends]
    return [end - start for start, end in zip((0, *inner), inner)]


def slowest(chain: list[LayerProfile], ends: tuple[int, ...]) -> float:
    """Seconds of a micro-batch on the slowest stage."""
    return max(sum(x.forward + x.backward for x in chain[k:i]) for k, i in zip((0, *ends), ends))


def step_of(cut: Cut, chain: list[LayerProfile], prediction: Prediction, m: int) -> float:
    """Seconds of a step with this cut: m micro-batches on the slowest stage and one on each other, and what else a
    layout of equal stages needs outside its micro-batches."""
    stages = [sum(x.forward + x.backward for x in chain[k:i]) for k, i in zip((0, *cut.ends), cut.ends)]
    around = prediction.seconds.sends + prediction.seconds.data + prediction.seconds.zero + prediction.seconds.optimizer
    return (m - 1) * max(stages) + sum(stages) + around

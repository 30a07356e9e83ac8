"""torch.distributed.pipelining: one step of each of its schedules, on an MLP that is cut into one or two stages a rank.

A micro-batch's loss is its share of the mean over the batch, and gradients are not scaled: they are added, as in our
executor. What each rank does is noted while it does it, because torch's own account of the order is written apart from
what it carries out.
"""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import nn

from reference.models import MLP, Data, batch, cross_entropy_sum, digits
from reference.pipeline.schedules import SCHEDULES
from reference.pipeline.schedules.record import LOOP, Placement

from . import oracle

SIZES, SIZE, MICRO_BATCHES = (64, 24, 24, 24, 24, 24, 10), 24, 6  # micro-batches of 4


def model() -> nn.Sequential:
    """What all programs begin with: 11 layers, 6 of them linear."""
    return MLP(SIZES, seed=0)


def micro_batches() -> list[Data]:
    """The batch, in parts of one size."""
    whole = batch(digits(), SIZE, 0)
    return [Data(*pair) for pair in zip(*(each.chunk(MICRO_BATCHES) for each in whole))]


def share_of_mean(logits: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """What a micro-batch adds to the mean loss of the batch."""
    return cross_entropy_sum(logits, y) / SIZE


def ends(stages: int) -> list[int]:
    """Where each stage ends, in layers: after a ReLU, or with the model."""
    return [12 * (s + 1) // stages for s in range(stages - 1)] + [11]


TORCHS: dict[str, tuple[str, Placement]] = {
    name: (record.elsewhere["PyTorch"].removeprefix("Schedule"), record.placement)
    for name, record in SCHEDULES.items()
    if "PyTorch" in record.elsewhere
} | {"interleaved ZB-H1": ("InterleavedZeroBubble", LOOP)}
"""Our names, torch's, and where its stages are; the last is in torch only."""


def noting(stage, order: list[str]):
    """The stage, which notes in `order` what it is asked to do, as our actions are written."""
    forward, backward, weights = stage.forward_one_chunk, stage.backward_one_chunk, stage.backward_weight_one_chunk

    def note_forward(i: int, *args, **kwargs):
        order.append(f"{stage.stage_index}F{i}")
        return forward(i, *args, **kwargs)

    def note_backward(i: int, *args, full_backward: bool = True, **kwargs):
        order.append(f"{stage.stage_index}{'B' if full_backward else 'I'}{i}")
        return backward(i, *args, full_backward=full_backward, **kwargs)

    def note_weights(i: int, *args, **kwargs):
        order.append(f"{stage.stage_index}W{i}")
        return weights(i, *args, **kwargs)

    stage.forward_one_chunk, stage.backward_one_chunk = note_forward, note_backward
    stage.backward_weight_one_chunk = note_weights
    return stage


def one_step(name: str, numbers: list[int], stages: int) -> dict:
    """A step of a rank with the stages of these numbers: loss, gradients, the order, and torch's word for that."""
    from torch.distributed.pipelining import PipelineStage
    from torch.distributed.pipelining.schedules import PipelineScheduleSingle, get_schedule_class

    layers, cuts = list(model().named_children()), [0, *ends(stages)]
    parts = {s: nn.Sequential(OrderedDict(layers[cuts[s] : cuts[s + 1]])) for s in numbers}
    order: list[str] = []
    own = [noting(PipelineStage(part, s, stages, torch.device("cpu")), order) for s, part in parts.items()]
    schedule = get_schedule_class(name)
    single = issubclass(schedule, PipelineScheduleSingle)
    program = schedule(own[0] if single else own, MICRO_BATCHES, loss_fn=share_of_mean, scale_grads=False)
    x, y = (torch.cat(each) for each in zip(*micro_batches()))
    losses: list[torch.Tensor] = []
    program.step(*([x] if 0 in parts else []), target=y if stages - 1 in parts else None, losses=losses)
    return {
        "loss": sum(loss.item() for loss in losses),
        "gradients": {name: w.grad for part in parts.values() for name, w in part.named_parameters()},
        "order": order,
        "said": {r: [str(a) for a in said if a] for r, said in program._get_pipeline_order().items()} if single else {},
    }


@oracle
def pipelining(rank: int, ranks: int) -> dict[str, dict]:
    """One step of each schedule."""
    found = {}
    for ours, (theirs, placement) in TORCHS.items():
        numbers = placement.stages(rank, ranks, 2)
        found[ours] = one_step(theirs, numbers, ranks * len(numbers))
    return found

"""Sequences in pieces through a pipeline: the outputs and gradients of the whole."""

from functools import partial
from itertools import pairwise

import pytest
import torch
from torch import nn

from reference.models import TINY
from reference.models.gpt import Block
from reference.models.seeds import generator, seeded
from reference.pipeline.runtime.token_level import Pieces
from reference.pipeline.schedule import topological_order
from reference.pipeline.schedules.plain import gpipe
from reference.pipeline.sizing.subsequences import sequence_1f1b

S, P, ENDS = 12, 3, (5, 8, 11, 12)


def blocks():
    with seeded(1):
        return nn.Sequential(*[Block(TINY) for _ in range(P)]).double()


def random(*shape, seed):
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


def carried_out(schedule, model, x, weights, parts):
    """Outputs and input gradients of sequences x [m, b, s, h] by this schedule, one block a stage.

    The loss is the sum of outputs times `weights`.
    """
    stages = [Pieces(model[s : s + 1]) for s in range(P)]
    here = {("F", -1, i): x[i // len(parts), :, slice(*parts[i % len(parts)])] for i in range(len(parts) * len(x))}
    here |= {("B", P, i): weights[i // len(parts), :, slice(*parts[i % len(parts)])] for (_, _, i) in list(here)}
    for turn in topological_order(schedule):
        for kind, s, i in turn.actions:
            if kind == "F":
                here["F", s, i] = stages[s].forward(here.pop(("F", s - 1, i)), i // len(parts))
            elif kind == "B":
                here["B", s, i] = stages[s].backward(here.pop(("B", s + 1, i)), i // len(parts))

    def whole(kind, s):
        pieces = [here[kind, s, i] for i in range(len(parts) * len(x))]
        return torch.stack(torch.cat(pieces, dim=1).chunk(len(x), dim=1))

    return whole("F", P - 1), whole("B", 0)


@pytest.mark.parametrize("schedule", [sequence_1f1b(P, 2, 4), gpipe(P, 8)], ids=lambda schedule: schedule.name)
def test_pieces_give_what_the_whole_sequence_gives(schedule):
    x, weights = random(2, 2, S, TINY.width, seed=2).requires_grad_(), random(2, 2, S, TINY.width, seed=3)
    model = blocks()
    y = torch.stack([model(sequence) for sequence in x])
    (y * weights).sum().backward()
    found = blocks()
    outputs, inputs = carried_out(schedule, found, x.detach(), weights, list(pairwise((0, *ENDS))))
    close = partial(torch.testing.assert_close, rtol=1e-12, atol=1e-12)
    close(outputs, y.detach())
    close(inputs, x.grad)
    for mine, whole in zip(found.parameters(), model.parameters(), strict=True):
        close(mine.grad, whole.grad)


def test_the_first_piece_cannot_go_backward_first():
    """Backward in the order of forward: keys and values of early pieces would miss what later ones send back."""
    stage = Pieces(blocks()[:1])
    x, weights = random(2, S, TINY.width, seed=2), random(2, S, TINY.width, seed=3)
    parts = [slice(*part) for part in pairwise((0, *ENDS))]
    for part in parts:
        stage.forward(x[:, part])
    by_stack = torch.cat([stage.backward(weights[:, part]) for part in reversed(parts)][::-1], dim=1)
    for part in parts:
        stage.forward(x[:, part])
    lost = []
    for part, (given, y) in zip(parts, stage.live[0]):
        y.backward(weights[:, part])
        lost.append(given.grad)
    assert torch.equal(lost[-1], by_stack[:, parts[-1]])  # nothing comes from behind the last
    assert all((a - by_stack[:, part]).abs().max() > 0.01 for a, part in zip(lost[:-1], parts))

"""Clipping: torch's of the serial program, from shards; and who looks at a shard alone is caught."""

from functools import partial

import pytest
import torch
from torch import nn

from reference.models import gradients, loss_sum
from reference.worlds import launch
from reference.zero.clip import clip_global_norm, global_norm
from reference.zero.shards import by_rows, flat
from reference.zero.stage1 import Stage1
from reference.zero.stage2 import Stage2

from .training import MODELS, my_batch, weights

SGD = partial(torch.optim.SGD, lr=0.1)
LIMIT = 0.5


def training(comm, Stage, cut, clip=LIMIT):
    """Norms and weights of three steps; a frozen layer has no gradient."""
    module = MODELS["mlp"][0]()
    module[2].weight.requires_grad_(False)
    stage, norms = Stage(comm, module, SGD, cut, 1500, 500), []
    for step in range(3):
        stage.backward(*loss_sum(module, my_batch("mlp", comm, step)))
        norms.append(stage.step(clip))
    return norms, weights(module.parameters())


def serial_training(clip=LIMIT):
    module, norms = MODELS["mlp"][0](), []
    module[2].weight.requires_grad_(False)
    optimizer = SGD(module.parameters())
    for step in range(3):
        gradients(module, my_batch("mlp", type("Rank", (), {"rank": 0, "size": 1}), step))
        norms.append(nn.utils.clip_grad_norm_(module.parameters(), clip).item())
        optimizer.step()
    return norms, weights(module.parameters())


def agrees(run, clip=LIMIT):
    norms, end = serial_training(clip)
    return all(
        found == pytest.approx(norms, rel=1e-12) and torch.allclose(w, end, 0, 1e-12) for found, w in run.results
    )


@pytest.mark.parametrize("cut", [flat, by_rows])
@pytest.mark.parametrize("Stage, P", [(Stage1, 1), (Stage1, 3), (Stage2, 2), (Stage2, 8)])
def test_clipping_is_that_of_the_serial_program(Stage, cut, P):
    assert max(serial_training()[0]) > LIMIT
    assert agrees(launch(training, P, Stage, cut))


def test_a_gradient_below_the_limit_stays_as_it_is():
    assert agrees(launch(training, 2, Stage1, flat, 1e3), 1e3)


class LocalNorm(Stage1):
    """Clips by the norm of its own shards."""

    def step(self, clip=None):
        for group in self.groups:
            group.set_gradients()
        norm = nn.utils.clip_grad_norm_([piece for group in self.groups for piece in group.pieces], clip)
        super().step()
        return norm.item()


def test_who_clips_by_the_local_norm_is_caught():
    assert agrees(launch(training, 1, LocalNorm, flat))  # so one rank shows nothing
    assert not agrees(launch(training, 2, LocalNorm, flat))


def test_nan_spoils_all_of_it():
    def program(comm):
        shards = [torch.ones(2), torch.full((3,), float("nan") if comm.rank == 1 else 1.0)]
        clip_global_norm(comm, shards, 1.0)
        return global_norm(comm, []), [shard.isnan().all().item() for shard in shards]

    assert launch(program, 2).results == [(0.0, [True, True])] * 2


def test_the_norm_of_all_ranks_is_one_message_of_8_bytes():
    def program(comm):
        return global_norm(comm, [torch.full((2,), float(comm.rank)), torch.ones(1)])

    run = launch(program, 2)
    assert run.results == pytest.approx([2.0, 2.0], rel=1e-7) and sum(run.bytes_sent) == 16

"""The same as fully_shard over gloo: norms, weights, and which rows are whose."""

from functools import partial

import pytest
import torch

from reference.models import loss_sum
from reference.worlds import launch
from reference.zero.stage3 import Stage3

from ..oracles import RANKS
from ..oracles.ddp import my_batch
from ..oracles.fsdp2 import STEPS, network
from .training import weights, whole_weights


def training(comm):
    model = network()
    stage = Stage3(comm, model, partial(torch.optim.Adam, lr=0.01, eps=1e-3))
    norms = []
    for step in range(STEPS):
        data = my_batch(step, comm.rank, comm.size)
        stage.backward(*loss_sum(model, data._replace(x=data.x.double())))
        norms.append(stage.step(clip=0.5))
    pieces = [piece.detach() for group in stage.groups for piece in group.pieces]
    return norms, pieces, whole_weights(model, stage)


def test_training_is_that_of_fully_shard(oracles):
    for (norms, pieces, whole), theirs in zip(launch(training, RANKS).results, oracles["fsdp2_training"], strict=True):
        assert norms == pytest.approx(theirs["norms"], rel=1e-12)
        assert [piece.shape for piece in pieces] == [shard.shape for shard in theirs["shards"]]
        for mine, shard in zip(pieces, theirs["shards"], strict=True):
            torch.testing.assert_close(mine, shard, rtol=1e-10, atol=1e-13)
        torch.testing.assert_close(whole, weights(theirs["weights"]), rtol=1e-10, atol=1e-13)


def test_an_optimizer_that_was_built_before_fully_shard_changes_nothing(oracles):
    assert oracles["fsdp2_optimizer_first"] == [[False, False]] * RANKS

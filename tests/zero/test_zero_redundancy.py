"""The same weights as torch's ZeroRedundancyOptimizer in DDP over gloo, and state more evenly shared."""

import pytest
import torch

from reference.models import MLP, loss_sum
from reference.worlds import launch
from reference.zero.stage1 import Stage1
from reference.zero.stage2 import Stage2

from ..oracles import RANKS
from ..oracles.ddp import SIZES, STEPS, flat, my_batch
from ..oracles.zero_redundancy import ADAM


def training(comm, Stage):
    model = MLP(SIZES, seed=0).double()
    stage = Stage(comm, model, lambda named: torch.optim.AdamW(named, **ADAM), bucket_bytes=8000)
    for step in range(STEPS):
        data = my_batch(step, comm.rank, comm.size)
        stage.backward(*loss_sum(model, data._replace(x=data.x.double())))
        stage.step()
    return flat(model.parameters()), sum(piece.numel() for group in stage.groups for piece in group.pieces)


@pytest.mark.parametrize("Stage", [Stage1, Stage2])
def test_training_is_that_of_the_zero_redundancy_optimizer(oracles, Stage):
    own, theirs = launch(training, RANKS, Stage).results, oracles["zero_redundancy_training"]
    for (weights, _), each in zip(own, theirs, strict=True):
        torch.testing.assert_close(weights, each["weights"], rtol=1e-10, atol=1e-12)
    total = sum(p.numel() for p in MLP(SIZES).parameters())
    assert sum(elements for _, elements in own) == sum(each["elements"] for each in theirs) == total
    assert max(elements for _, elements in own) < max(
        each["elements"] for each in theirs
    )  # whole parameters are uneven

"""Policies of recomputation in a pipeline: the weights of training that keeps everything, to the last bit."""

from functools import cache

import pytest
import torch

from reference.models import GPT, Config, Data
from reference.pipeline.runtime.recompute import check_recompute, runs
from reference.pipeline.runtime.trainer import train_pipeline
from reference.pipeline.schedules.catalogue import make
from reference.pipeline.stages import cut, layers
from reference.recompute.checkpoint import GLOBAL
from reference.worlds import launch

CONFIG = Config(vocabulary=30, length=8, width=16, heads=2, layers=5, dropout=0.1)
SGD = torch.optim.SGD
DATA = Data(*torch.randint(CONFIG.vocabulary, (2, 8, 8), generator=torch.Generator().manual_seed(1)))


@cache
def trained(schedule, words):
    """Losses and weights after two steps on two ranks. PipeDream takes no weight that is on two stages."""

    def program(comm):
        model, plan = GPT(CONFIG._replace(tied=schedule != "PipeDream")), make(schedule, 2, 4)
        done = train_pipeline(comm, plan, model, DATA, lambda w: SGD(w, 0.1), range(2), 8, recompute=words)
        return done.losses, [weight.detach() for weight in model.parameters()]

    return launch(program, 2).results[0]


@pytest.mark.parametrize(
    "schedule, words",
    [
        *(("1F1B", words) for words in ("full", "selective", "every:2", "sqrt")),
        ("GPipe", "every:3"),
        ("ZB-H1", "full"),
        ("PipeDream", "full"),
    ],
)
def test_weights_have_the_bits_of_keeping_everything(schedule, words):
    (plain, kept), (losses, weights) = trained(schedule, "none"), trained(schedule, words)
    assert losses == plain and all(map(torch.equal, kept, weights))


def test_runs_end_where_a_stage_does_and_leave_embedding_and_head_alone():
    model = GPT(CONFIG)
    names = [[link.name for link in runs(stage.links, 2, GLOBAL)] for stage in cut(model, (4, 7), layers(model))]
    assert names == [["embedding", "blocks.0 blocks.1", "blocks.2"], ["blocks.3 blocks.4", "head"]]


def test_parts_of_a_stage_are_refused_where_only_whole_stages_can_be_had():
    for name, why in (("ZB-H1", "goes backward in two parts"), ("PipeDream", "updates while micro-batches")):
        with pytest.raises(ValueError, match=f"{name} {why}.*take recompute full"):
            check_recompute("selective", make(name, 2, 4))

"""The same weights as DeepSpeed's ZeRO 1, 2 and 3 over gloo, as deepspeed_weights.py has recorded them."""

import json

import numpy as np
import pytest
import torch

from reference.models import batch, loss_sum
from reference.worlds import launch
from reference.zero.shards import flat
from reference.zero.stage1 import Stage1
from reference.zero.stage2 import Stage2
from reference.zero.stage3 import Stage3

from .deepspeed_weights import CONFIG, KINDS, RECORD, RUNS, STAGES, VERSION, name
from .training import OPTIMIZERS, SIZE, STEPS, allowed, serial_training, single, weights, whole_weights

CUTS = {1: Stage1, 2: Stage2, 3: Stage3}
BUCKETS = {1: {"bucket_bytes": 2000}, 2: {"bucket_bytes": 2000}, 3: {"cut": flat}}  # as DeepSpeed's
CLIP = {"clipped by default": 1.0}  # DeepSpeed's GRADIENT_CLIPPING_DEFAULT
SHARPER = 50  # the bound takes every rounding at its worst: differences are below a thousandth, mistakes far above


@pytest.fixture(scope="module")
def record():
    with np.load(RECORD) as found:
        return dict(found)


def training(comm, stage, kind):
    model, data = single()
    cut = CUTS[stage](comm, model, OPTIMIZERS[KINDS[kind][0]], **BUCKETS[stage])
    for step in range(STEPS):
        cut.backward(*loss_sum(model, batch(data, SIZE, step, rank=comm.rank, ranks=comm.size)))
        cut.step(clip=CLIP.get(kind))
    elements = sum(piece.numel() for group in cut.groups for piece in group.pieces)
    return whole_weights(model, cut) if stage == 3 else weights(model.parameters()), elements


def bound(kind, ranks):
    """How far two trainings in float32 may be apart; it must be little beside the way that the weights go."""
    optimizer = KINDS[kind][0]
    found = allowed("mlp", optimizer, ranks, "float32") / SHARPER
    way = (serial_training("mlp", optimizer) - weights(single()[0].parameters())).abs().max()
    assert found < way / 500
    return found


@pytest.mark.parametrize("ranks, kind", [(ranks, kind) for ranks, kinds in RUNS.items() for kind in kinds])
@pytest.mark.parametrize("stage", STAGES)
def test_training_is_that_of_deepspeed(record, ranks, stage, kind):
    """Shares of 13, 13 and 3 samples: uneven, and on 4 ranks one has none."""
    theirs, limit = torch.from_numpy(record[name(ranks, stage, kind)]), bound(kind, ranks)
    run, their_elements = launch(training, ranks, stage, kind), record[f"{name(ranks, stage, kind)} elements"]
    for found, _ in run.results:
        assert found.dtype == theirs.dtype == torch.float32
        assert (found - theirs).abs().max() < limit
    elements = [each for _, each in run.results]
    assert sum(elements) == len(theirs) and len(their_elements) == ranks
    assert max(elements) <= max(their_elements) <= sum(elements) / ranks + 2  # both cut; DeepSpeed pads


@pytest.mark.parametrize("stage", STAGES)
def test_deepspeed_clips_at_1_unless_told_not_to(record, stage):
    clipped, kept = (record[name(2, stage, kind)] for kind in ("clipped by default", "momentum"))
    assert np.abs(clipped - kept).max() > 100 * bound("momentum", 2)


def test_the_record_is_of_this_version_and_configuration(record):
    about = json.loads(str(record["about"]))
    assert about["deepspeed"] == VERSION and about["config"] == CONFIG
    assert RECORD.stat().st_size < 100_000

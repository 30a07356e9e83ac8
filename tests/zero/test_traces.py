"""Traces: a recorded step frees what it makes, regions take tensors out of the way, and Robson's bound is reached."""

from itertools import pairwise

import pytest
from hypothesis import given

from reference import models
from reference.models import Config
from reference.zero.allocator import UNLIMITED, Heap, replay
from reference.zero.traces import peak_live, preallocated, record, robson, robson_bound, shapes_only

from .cases import KINDS, traces


@given(traces())
def test_regions_take_their_tensors_out_of_the_way(trace):
    found = preallocated(trace, ["long"])
    region = replay([e for e in trace if e.kind == "long"], Heap()).peak_reserved
    assert [e for e in found if e.kind == "short"] == [e for e in trace if e.kind == "short"]
    assert all(not b.made and b.tensor == a.tensor for a, b in pairwise(found) if a.made and a.kind == "long")
    assert sum(e.nbytes for e in found if e.made and e.kind == "region: long") == region


# Worst cases ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("M, m", [(8, 2), (64, 8), (256, 32)])
@pytest.mark.parametrize("kind", ["first fit", "best fit"])
def test_robsons_adversary_reaches_his_bound(kind, M, m):
    trace = robson(KINDS[kind], M, m)
    report = replay(trace, KINDS[kind](UNLIMITED))
    assert report.peak_live <= M and {e.nbytes for e in trace} == {2**i for i in range(m.bit_length())}
    assert report.peak_reserved == robson_bound(M, m) > M
    assert replay(trace, KINDS[kind](robson_bound(M, m) - 1)).failed


# A recorded step ------------------------------------------------------------------------------------------------------

CONFIG = Config(vocabulary=64, length=24, width=32, heads=4, layers=3)
X = 4 * 2 * 16 * 32  # bytes of a block's input, two sequences of 16 tokens


def test_a_recorded_step_frees_what_it_makes_and_names_checkpoints_and_gradients():
    model = models.GPT(CONFIG)
    trace = record(model, [16, 16], b=2)
    weights = sum(p.nbytes for p in model.parameters())
    made = {kind: [e.nbytes for e in trace if e.made and e.kind == kind] for kind in {e.kind for e in trace}}
    assert sum(made["weights"]) == weights and made["checkpoints"] == [X] * 2 * CONFIG.layers
    assert sum(made["gradients"]) == 2 * weights and all(event.nbytes for event in trace)
    live = sum(e.nbytes if e.made else -e.nbytes for e in trace)
    state = sum(e.nbytes if e.made else -e.nbytes for e in trace if e.kind == "optimizer")
    assert live == weights + state and 2 * weights <= state <= 2 * weights + 4 * len(list(model.parameters()))
    assert peak_live(trace) > live + CONFIG.layers * X


def test_a_step_on_the_meta_device_makes_the_same_checkpoints_and_gradients():
    """Attention's kernel is another one there, so other temporaries."""
    real, meta = (record(model, [16], b=2) for model in (models.GPT(CONFIG), shapes_only(CONFIG)))
    for kind in ("weights", "checkpoints", "gradients"):
        assert [e[2:] for e in real if e.kind == kind] == [e[2:] for e in meta if e.kind == kind]


def test_a_step_is_the_same_trace_each_time():
    one = CONFIG._replace(layers=1)
    assert record(models.GPT(one, 1), [16], b=2) == record(models.GPT(one, 2), [16], b=2)

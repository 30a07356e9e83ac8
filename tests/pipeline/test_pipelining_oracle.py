"""The same as torch.distributed.pipelining over gloo: the order of actions, losses and gradients of each schedule."""

import pytest

from reference.pipeline.catalogue import make
from reference.pipeline.schedule import Schedule, parse

from ..oracles import RANKS
from ..oracles.pipelining import MICRO_BATCHES


def done(oracles, name) -> Schedule:
    """What torch's ranks did."""
    return Schedule(name, tuple(parse(" ".join(found[name]["order"])) for found in oracles["pipelining"]))


def ours(name) -> Schedule:
    """Ours without the optimizer steps, which torch leaves to its caller."""
    schedule = make(name, RANKS, MICRO_BATCHES)
    return Schedule(name, tuple(tuple(a for a in order if a.kind != "S") for order in schedule))


@pytest.mark.parametrize("name", ["1F1B", "interleaved 1F1B", "ZB-H1"])
def test_the_order_is_torchs(oracles, name):
    assert done(oracles, name).orders == ours(name).orders


@pytest.mark.parametrize("name, stages", [("GPipe", 1), ("breadth first", 2)])
def test_the_order_is_torchs_but_for_which_micro_batch_goes_backward_first(oracles, name, stages):
    """GPipe: torch begins with the oldest, the paper and we with the newest; breadth first: the reverse."""
    for own, torchs in zip(ours(name), done(oracles, name), strict=True):
        forward = stages * MICRO_BATCHES
        turned = [a._replace(micro=MICRO_BATCHES - 1 - a.micro) for a in own[forward:]]
        assert own[:forward] == torchs[:forward] and turned == list(torchs[forward:])


def test_torchs_word_for_1f1b_is_not_what_it_does(oracles):
    """_get_pipeline_order begins one forward pass too late on the last stage; it runs all m (torch 2.13)."""
    found = oracles["pipelining"][-1]["1F1B"]
    assert found["said"][RANKS - 1][0] == f"{RANKS - 1}F1" and found["order"][0] == f"{RANKS - 1}F0"

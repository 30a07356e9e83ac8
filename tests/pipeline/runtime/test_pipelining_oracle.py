"""The same as torch.distributed.pipelining over gloo: the order of actions, losses and gradients of each schedule."""

import pytest
import torch

from reference.pipeline.runtime.executor import Pipeline
from reference.pipeline.schedule import Schedule, flushed, parse
from reference.pipeline.schedules import make
from reference.pipeline.simulate import activations, simulate
from reference.pipeline.stages import cut
from reference.verify import compare
from reference.worlds import launch

from ...oracles import RANKS
from ...oracles.pipelining import MICRO_BATCHES, TORCHS, ends, micro_batches, model


def torchs(oracles, name) -> Schedule:
    """What torch's ranks did."""
    return flushed(name, [parse(" ".join(found[name]["order"])) for found in oracles["pipelining"]])


def ours(name) -> Schedule:
    return make(name, RANKS, MICRO_BATCHES)


def only(schedule, kinds) -> list[list]:
    return [[action for action in order if action.kind in kinds] for order in schedule]


@pytest.mark.parametrize("name", ["1F1B", "interleaved 1F1B", "breadth first", "ZB-H1", "DualPipeV"])
def test_the_order_is_torchs(oracles, name):
    assert torchs(oracles, name).orders == ours(name).orders


def test_the_order_of_gpipe_is_torchs_but_for_which_micro_batch_goes_backward_first(oracles):
    """torch begins with the oldest, the paper and we with the newest. It makes no difference to times and memory."""
    theirs, own = torchs(oracles, "GPipe"), ours("GPipe")
    turned = [[a._replace(micro=MICRO_BATCHES - 1 - a.micro) for a in order] for order in only(own, "B")]
    assert only(theirs, "F") == only(own, "F") and only(theirs, "B") == turned
    assert simulate(theirs).makespan == simulate(own).makespan and activations(theirs) == activations(own)


def test_the_order_of_zb_v_is_torchs_but_for_the_last_gradients_for_weights(oracles):
    """W may wait; when it comes changes nothing here, with passes that are equally long."""
    theirs = torchs(oracles, "ZB-V")
    assert only(theirs, "FI") == only(ours("ZB-V"), "FI") and theirs.orders != ours("ZB-V").orders
    assert simulate(theirs).makespan == simulate(ours("ZB-V")).makespan


def test_torchs_word_for_1f1b_is_not_what_it_does(oracles):
    """_get_pipeline_order begins one forward pass too late on the last stage (torch 2.13)."""
    found = oracles["pipelining"][-1]["1F1B"]
    assert found["said"][RANKS - 1][0] == f"{RANKS - 1}F1" and found["order"][0] == f"{RANKS - 1}F0"


def one_step(comm, schedules):
    """Of each schedule this rank's loss and gradients."""
    found = {}
    for schedule in schedules:
        stages = cut(model(), ends(schedule.stages))
        mine = {s: stages[s] for s in schedule.chunks[comm.rank]}
        loss = Pipeline(comm, schedule, mine).step(micro_batches())
        gradients = {name: w.grad for stage in mine.values() for name, w in stage.named_parameters()}
        found[schedule.name] = loss, gradients
    return found


def test_losses_and_gradients_are_torchs(oracles, world):
    """In the same order, also in one that only torch has: the same bits where a backward pass is in one part.

    Where it is in two, gradients of weights are other products, which some processors round otherwise (those without
    AVX): equal but for that.
    """
    names = TORCHS if world == "virtual" else ["1F1B", "ZB-V"]
    schedules = [torchs(oracles, name) for name in names]
    split = {each.name for each in schedules if any(action.kind == "W" for order in each for action in order)}
    assert "ZB-V" in split and "1F1B" not in split
    for found, expected in zip(launch(one_step, RANKS, schedules, world=world).results, oracles["pipelining"]):
        for name, (_, gradients) in found.items():
            theirs = expected[name]["gradients"]
            assert gradients.keys() == theirs.keys()
            within, floor = (1e-5, max(g.abs().max().item() for g in theirs.values())) if name in split else (0.0, 0.0)
            same = compare([gradients[w] for w in theirs], list(theirs.values()), within, floor)
            assert same, f"{name}: {same.why}"
    losses = [sum(rank[name]["loss"] for rank in oracles["pipelining"]) for name in names]
    assert losses == pytest.approx([found[name][0] for name in names], rel=1e-6)


def test_in_another_order_gradients_are_torchs_to_rounding(oracles):
    for found, expected in zip(launch(one_step, RANKS, [ours("GPipe")]).results, oracles["pipelining"]):
        torch.testing.assert_close(found["GPipe"][1], expected["GPipe"]["gradients"], rtol=1e-5, atol=1e-8)

"""Hooks: in which order a schedule is called, whatever a unit takes and returns."""

import gc

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop

from reference.zero.hooks import watch
from reference.zero.units import Unit


class Seen:
    """A schedule that notes what it is told."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        return lambda unit: self.calls.append(f"{name} {unit.name}")


class Adds(nn.Module):
    """x + y, and x: nested in what it takes and in what it returns."""

    def forward(self, x, *, others):
        return {"sum": x + others[0], "same": x * 1}


def watched():
    seen, units = Seen(), [Unit(name, Adds(), []) for name in "ab"]
    for unit in units:
        watch(seen, unit)
    return seen, units


def test_the_backward_pass_comes_and_leaves_in_the_opposite_order():
    seen, (a, b) = watched()
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    between = a.module(x, others=[y])
    b.module(between["sum"], others=[between["same"]])["sum"].sum().backward()
    forward = [f"{what}_forward {unit}" for unit in "ab" for what in ("before", "after")]
    assert seen.calls[:4] == forward
    last = [seen.calls.index(f"after_backward {unit}") for unit in "ba"]
    first = [seen.calls.index(f"before_backward {unit}") for unit in "ba"]
    assert first[0] < last[0] < first[1] < last[1] == len(seen.calls) - 1
    assert torch.equal(x.grad, torch.full((2,), 2.0)) and torch.equal(y.grad, torch.ones(2))


def test_other_uses_of_an_input_do_not_matter():
    """x is used again before the unit: its gradient is complete only when the unit has long been left."""
    seen, (a, _) = watched()
    x = torch.ones(2, requires_grad=True)
    early = x.exp()
    early.register_hook(lambda _: seen.calls.append("the other use"))
    (a.module(x, others=[x])["sum"] + early).sum().backward()
    assert "after_backward a" in seen.calls and seen.calls.count("after_backward a") == 1


def test_without_gradients_nobody_is_told_of_a_backward_pass():
    _, (a, _) = watched()
    with torch.no_grad():
        a.module(torch.ones(2, requires_grad=True), others=[torch.ones(2)])
    assert not a.calls and not a.unmarked
    a.module(torch.ones(2), others=[torch.ones(2)])
    assert not a.calls and a.unmarked


def test_a_graph_that_is_let_go_of_is_forgotten():
    _, (a, _) = watched()
    found = a.module(torch.ones(2, requires_grad=True), others=[torch.ones(2)])
    assert len(a.calls) == 1
    del found
    gc.collect()
    assert len(a.calls) == 0


def test_an_input_that_is_changed_in_place_is_refused_by_torch():
    class InPlace(nn.Module):
        def forward(self, x):
            return x.add_(1)

    unit = Unit("c", InPlace(), [])
    watch(Seen(), unit)
    with pytest.raises(RuntimeError, match="is being modified inplace"):
        unit.module(torch.ones(2, requires_grad=True) * 1)


@pytest.mark.parametrize("reentrant, marks", [(True, [0, 1]), (False, [1, 1])])
def test_a_pass_is_marked_once_when_its_record_is_made(reentrant, marks):
    """A checkpoint that keeps no graph has the record of the second run, the other one that of the first."""
    seen, (a, _) = watched()
    counted = []
    a.module.register_forward_hook(lambda *_: counted.append(len(a.calls)))
    x = torch.ones(2, requires_grad=True)
    with set_checkpoint_early_stop(False):
        checkpoint(lambda x: a.module(x, others=[x.exp()])["sum"], x, use_reentrant=reentrant).sum().backward()
    assert counted == marks and seen.calls.count("after_backward a") == 1 and not a.calls

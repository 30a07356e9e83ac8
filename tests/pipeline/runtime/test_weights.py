"""Versions of weights: PipeDream and 2BW are a serial program with delayed updates, in as much memory as is told."""

import pytest
import torch
from torch import nn
from torch.func import functional_call

from reference.models import MLP, Data, batch, cross_entropy_sum, digits, share
from reference.models.loss import targets
from reference.perf.meter import Meter
from reference.pipeline.analysis.versions import kept_versions, versions
from reference.pipeline.runtime.executor import Pipeline
from reference.pipeline.runtime.weights import Versions
from reference.pipeline.schedules.plain import pipedream, pipedream_2bw
from reference.pipeline.stages import cut
from reference.worlds import launch

SIZES, M = (64, *[16] * 7, 10), 19  # 8 linear layers, 15 layers; the micro-batches have 3 or 2 samples
RANKS = {"virtual": (1, 2, 3, 4, 8), "mpi": (3,)}
SCHEDULES = {"PipeDream": pipedream, "2BW": pipedream_2bw}


def sgd(weights):
    """With momentum, so that an update that comes twice or is lost is found out."""
    return torch.optim.SGD(weights, lr=0.3, momentum=0.5)


def ends(p):
    return [15 * (s + 1) // p for s in range(p)]


def micro_batches():
    whole = batch(digits(), 50, 0)
    return [Data(*(share(each, i, M) for each in whole)) for i in range(M)]


def version(name, p, s, i):
    """The papers' rules: updates that micro-batch i meets on stage s."""
    return i - min(i, p - 1 - s) if name == "PipeDream" else max(i // p - 1, 0)


def serial(name, p):
    """One device that keeps every version of every stage: the mean loss, and the weights in the end, by name."""
    model, data = MLP(SIZES), micro_batches()
    stages = cut(model, ends(p))
    optimizers, history = [sgd(stage.parameters()) for stage in stages], [[snapshot(stage)] for stage in stages]
    every, total = (1 if name == "PipeDream" else p), 0.0
    for i, one in enumerate(data):
        weights = {}
        for s in range(p):
            weights |= history[s][version(name, p, s, i)]
        together = data[i // every * every : (i // every + 1) * every]
        loss = cross_entropy_sum(functional_call(model, weights, one.x), one.y)
        found = torch.autograd.grad(loss, list(weights.values()), torch.tensor(1 / sum(map(targets, together))))
        for name_of, gradient in zip(weights, found):
            weight = model.get_parameter(name_of)
            weight.grad = gradient if weight.grad is None else weight.grad + gradient
        total += loss.item()
        if one is together[-1]:
            for s, optimizer in enumerate(optimizers):
                optimizer.step()
                optimizer.zero_grad()
                history[s].append(snapshot(stages[s]))
    return total / sum(map(targets, data)), snapshot(model)


def snapshot(module):
    return {name: w.detach().clone().requires_grad_() for name, w in module.named_parameters()}


def pipelined(comm, schedule):
    """The same on ranks: the loss, this rank's weights in the end, and the versions that it has used.

    Stage 0 is recomputed, which has to meet the old version again.
    """
    stages = cut(MLP(SIZES), ends(comm.size))
    pipeline = Pipeline(comm, schedule, {comm.rank: stages[comm.rank]}, optimizer=sgd, recompute=[0])
    loss = pipeline.step(micro_batches())
    return loss, snapshot(stages[comm.rank]), pipeline.seen


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_same_bits_as_a_serial_program_with_delayed_updates(world, name):
    for p in RANKS[world]:
        schedule = SCHEDULES[name](p, M)
        loss, weights = serial(name, p)
        seen, named = {}, {}
        for mine, part, used in launch(pipelined, p, schedule, world=world).results:
            assert mine == pytest.approx(loss, rel=1e-6)
            seen, named = seen | used, named | part
        assert named.keys() == weights.keys() and all(torch.equal(named[name], weights[name]) for name in weights)
        assert seen == versions(schedule) == {(s, i): version(name, p, s, i) for s in range(p) for i in range(M)}


@pytest.mark.parametrize("name", SCHEDULES)
def test_as_many_versions_as_told_lie_in_memory(name):
    """PipeDream keeps p - r of them on rank r and 2BW two; with a flush it is one: more memory, not less (E3-22)."""
    p, x = 4, torch.ones(1, 400)
    schedule = SCHEDULES[name](p, 3 * p)
    for r in range(p):
        stage, outputs, measured = nn.Linear(400, 400, bias=False), {}, 0
        optimizer = torch.optim.SGD(stage.parameters(), lr=1e-3)
        weights = Versions({r: stage}, {r: optimizer}, schedule)
        weights.begin()
        with Meter(module=stage, optimizer=optimizer) as meter:
            for action in schedule.orders[r]:
                if action.kind == "F":
                    outputs[action.micro] = weights.forward(r, action.micro, x)
                elif action.kind == "B":
                    outputs.pop(action.micro).sum().backward()
                    weights.finished(*action[1:])
                else:
                    weights.update(action.stage)
                live = meter.live["weights"] + meter.live["activations"]  # the activations are small
                measured = max(measured, live // stage.weight.nbytes)
        assert measured == weights.most == kept_versions(schedule)[r] == (p - r if name == "PipeDream" else 2)
        assert meter.live["weights"] + meter.live["activations"] < 2 * stage.weight.nbytes or name == "2BW"


def unstashed(w, later):
    """Gradients for (w1, w2) of 3 w1 w2 when both weights become `later` between the forward and the backward pass."""
    w1, w2 = (torch.tensor(each, dtype=torch.float64, requires_grad=True) for each in w)
    y = w2 * (w1 * 3.0)
    w1.data.fill_(later[0])
    w2.data.fill_(later[1])
    y.backward()
    return torch.stack([w1.grad, w2.grad])


def test_without_stashing_gradients_are_those_of_no_loss():
    """A gradient's field has no curl: d g1 / d w2 = d g2 / d w1. That of weights which change under way has."""
    w, h = (0.5, -2.0), 0.25
    for later, curl in ((None, 0.0), ((0.7, 1.0), 3.0)):
        at = lambda *w, later=later: unstashed(w, later or w)  # noqa: E731
        g1_by_w2 = (at(w[0], w[1] + h) - at(w[0], w[1] - h))[0] / (2 * h)
        g2_by_w1 = (at(w[0] + h, w[1]) - at(w[0] - h, w[1]))[1] / (2 * h)
        assert g2_by_w1 - g1_by_w2 == pytest.approx(curl)


def test_torch_notices_weights_that_change_under_a_micro_batch():
    """What the stash prevents."""
    stage = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    y = stage(torch.ones(1, 4)).sum()
    with torch.no_grad():
        stage[1].weight.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_frozen_weights_and_buffers_have_one_version():
    """And the gradient of a version goes to the module's parameter, which has moved on."""
    stage = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    stage[0].requires_grad_(False)
    frozen = stage[0].weight.data_ptr()
    schedule, optimizer = pipedream(2, 3), torch.optim.SGD(stage[2].parameters(), lr=0.1)
    weights, outputs = Versions({0: stage}, {0: optimizer}, schedule), {}
    weights.begin()
    for action in schedule.orders[0]:
        if action.kind == "F":
            outputs[action.micro] = weights.forward(0, action.micro, torch.randn(4, 3, generator=torch.manual_seed(0)))
        elif action.kind == "B":
            outputs.pop(action.micro).sum().backward()
            weights.finished(*action[1:])
            assert stage[2].weight.grad is not None and stage[0].weight.grad is None
        else:
            weights.update(action.stage)
            assert stage[2].weight.grad is None
    assert stage[0].weight.data_ptr() == frozen and stage[1].num_batches_tracked == 3

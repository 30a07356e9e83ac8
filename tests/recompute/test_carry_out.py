"""The interpreter: gradients of any schedule to the last bit, bytes and seconds as predicted."""

from functools import cache

import pytest
import torch
from torch import nn

from reference.models import GPT, Config, Data, loss_sum
from reference.perf.roofline import Device
from reference.recompute import backward, forward, keep_all
from reference.recompute.carry_out import carry_out, gpt_links
from reference.recompute.measure import every_operation, measured, watched
from reference.recompute.predict import cost, timeline

CONFIG = Config(vocabulary=50, length=16, width=16, heads=2, layers=3, dropout=0.1)
SLOW = Device(1e9, 1e9, 1e-6)


@cache
def tokens():
    drawn = torch.randint(CONFIG.vocabulary, (2, 2, 12), generator=torch.Generator().manual_seed(1))
    return Data(*drawn)


def thrifty(n):
    """Every link is computed anew from the begin: the least that can be kept."""
    found = []
    for i in reversed(range(n)):
        found += [forward(0, "input" if i else "all")]
        found += [forward(k, "all" if k == i else "nothing") for k in range(1, i + 1)]
        found += [backward(i)]
    return found


SCHEDULES = {"keep all": keep_all, "every operation": every_operation, "from the begin": thrifty}


def plain(config, model_seed=0):
    model, data = GPT(config, model_seed), tokens()
    torch.manual_seed(7)
    loss, _ = loss_sum(model, data)
    loss.backward()
    return [loss.detach(), *(w.grad for w in model.parameters()), torch.rand(3)]


@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_gradients_have_the_bits_of_autograd(schedule, halves):
    model, data = GPT(CONFIG), tokens()
    links = gpt_links(model, data.y, halves)
    torch.manual_seed(7)
    loss, none = carry_out(links, data.x, schedule(len(links)))
    found = [loss, *(w.grad for w in model.parameters()), torch.rand(3)]
    assert none is None and all(map(torch.equal, plain(CONFIG), found))


@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_bytes_are_as_predicted_at_each_operation(schedule, halves):
    model, data = GPT(CONFIG), tokens()
    links = gpt_links(model, data.y, halves)
    chain = measured(links, data.x, model, SLOW)
    model.zero_grad()
    operations = schedule(len(links))
    found, predicted = watched(links, data.x, operations, model, SLOW), timeline(chain, operations)
    assert [step[3:] for step in found] == [step[3:] for step in predicted]
    assert found[-1].end == pytest.approx(cost(chain, operations).seconds, rel=1e-9)


@pytest.mark.parametrize("last", [nn.Tanh(), nn.GELU(), nn.Linear(8, 8)], ids=str)
def test_so_they_are_of_links_that_hold_their_output(last):
    links = [nn.Linear(8, 8), nn.Tanh(), nn.Sequential(nn.Linear(8, 30), nn.ReLU(), nn.Linear(30, 8)), nn.ReLU(), last]
    links = [*links, lambda x: x.square().sum()]
    module, x = nn.ModuleList(links[:-1]), torch.randn(5, 8, requires_grad=True)
    chain = measured(links, x, module, SLOW)
    assert [link.holds_output for link in chain.links] == [False, True, False, True, str(last) == "Tanh()", False]
    for schedule in SCHEDULES.values():
        module.zero_grad()
        operations = schedule(len(links))
        found, predicted = watched(links, x, operations, module, SLOW), timeline(chain, operations)
        assert [step[3:] for step in found] == [step[3:] for step in predicted]


def test_what_enters_gets_its_gradient_and_dy_is_taken():
    link, x, dy = nn.Linear(3, 3), torch.randn(2, 3, requires_grad=True), torch.randn(2, 3)
    found = carry_out([link, nn.Tanh()], x, thrifty(2), dy)
    expected = torch.tanh(link(x))
    assert torch.equal(found.output, expected)
    assert torch.equal(found.gradient, torch.autograd.grad(expected, x, dy)[0])


def test_by_the_clock_there_are_seconds():
    links = [nn.Linear(4, 4), lambda x: x.sum()]
    chain = measured(links, torch.ones(2, 4, requires_grad=True))
    assert all(link.forward > 0 and link.backward > 0 for link in chain.links)


def test_a_schedule_that_is_wrong_is_refused_before_anything_is_computed():
    with pytest.raises(ValueError, match="the schedule ends before link 0 has gone backward"):
        carry_out([pytest.fail], torch.ones(1), [forward(0, "all")])

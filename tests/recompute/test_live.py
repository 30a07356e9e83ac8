"""Live bytes over a step: the schedules of the policies are what autograd does, offloading worked out by hand."""

from functools import cache

import pytest
import torch

from reference.models import GPT, Config, Data, loss_sum
from reference.perf.meter import Meter
from reference.perf.roofline import Device
from reference.recompute import Chain, LinkCost
from reference.recompute.chain import check
from reference.recompute.live import blocks_again, live_over_a_step, peak_bytes, points, sent_away
from reference.recompute.policies import recompute

CONFIG = Config(vocabulary=40, length=16, width=16, heads=2, layers=6)
DEVICE = Device(1e9, 1e9)
TOKENS = Data(*torch.randint(CONFIG.vocabulary, (2, 2, 16), generator=torch.Generator().manual_seed(2)))


@cache
def over_time():
    return live_over_a_step(GPT(CONFIG), TOKENS, DEVICE, ("none", "full", "selective", "every:2", "every:3"), 1e12)


def by_autograd(words):
    """Seconds and the peak of a step of the model itself."""
    model = recompute(GPT(CONFIG), words)
    with Meter(device=DEVICE, module=model) as meter:
        loss_sum(model, TOKENS)[0].backward()
    return meter.total.seconds, meter.peak["activations"]


@pytest.mark.parametrize("words", ["none", "full", "selective", "every:2", "every:3"])
def test_the_schedule_of_a_policy_is_what_autograd_does(words):
    """The same seconds. Autograd holds up to three tensors [b, s, h] more, such as the output that is not needed."""
    seconds, peak = by_autograd(words)
    found = over_time()[words]
    assert found[-1][0] == pytest.approx(seconds, rel=0.02)
    assert 0 <= peak - peak_bytes(found) <= 3 * 4 * TOKENS.x.numel() * CONFIG.width


def test_order_of_the_policies():
    peaks = {words: peak_bytes(found) for words, found in over_time().items()}
    assert peaks["every:2"] < peaks["selective"] < peaks["none"] and peaks["every:3"] < peaks["none"]
    assert peaks["offloaded"] < peaks["none"] and over_time()["offloaded"][-1][0] == pytest.approx(
        over_time()["none"][-1][0], rel=1e-4
    )


@pytest.mark.parametrize("L, K", [(1, 1), (5, 1), (5, 2), (6, 3), (4, 9), (3, 0), (0, 0)])
def test_schedules_of_blocks_are_right(L, K):
    operations = blocks_again(L, K)
    check(L + 2, operations)
    assert len(operations) == 2 * (L + 2) + (L if K else 0)


ALIKE = Chain((LinkCost(1, 2, 10, 90),) * 5)  # records: 90, and 100 each from the second on


def test_sent_away_by_hand():
    """100 bytes a second: record 0 is away at 1.9, record 1 at 3 (from 2), record 2 at 4 (from 3)."""
    found = sent_away(ALIKE, 100)
    assert [time for time, _ in found] == sorted(time for time, _ in found)
    live = dict(found)  # the last of each time
    assert live[1.9] == 10 + 10 + 90 + 0  # a[1]; link 1's peak is counted while it computes
    assert live[3.0] == 10 + 100 + 100  # a[3], what link 3 is making, record 2 on its way; 0 and 1 are away
    assert live[4.0] == 10 + 100 + 100  # a[4], what link 4 is making, record 3
    assert peak_bytes(found) == 230 and found[-1][0] == 15  # record 2 comes while link 3 goes backward


def test_a_slow_link_makes_the_step_wait():
    """10 bytes a second: the records are away at 10, 20, 30 s; and come back one after the other: 40, 50, 59 s."""
    assert sent_away(ALIKE, 10)[-1][0] == pytest.approx(61)
    assert sent_away(ALIKE, 10)[-1][1] == 10  # a[5] stays with who asked for it


def test_a_fast_link_costs_no_time_and_leaves_few_records():
    kept, away = points(ALIKE, blocks_again(3, 0)), sent_away(ALIKE, 1e9)
    assert away[-1][0] == pytest.approx(kept[-1][0]) and kept[-1][1] == 10
    assert peak_bytes(away) < 330 < peak_bytes(kept) == 510


def test_no_link_at_all_is_refused():
    with pytest.raises(ValueError, match="more than 0 bytes per second, got 0"):
        sent_away(ALIKE, 0)

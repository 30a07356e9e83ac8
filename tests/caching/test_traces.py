"""What a training step touches, in which order; the files of recorded traces; what policies make of them."""

from collections import Counter

import pytest

from reference.caching import traces
from reference.caching.policies import Belady, Frequent
from reference.caching.replay import replay
from reference.models import GPT, Config, parameter_count


@pytest.fixture(scope="module")
def steps():
    """Accesses to the units of a GPT of 12 layers in 3 steps, with the optimizer after, and in, the backward pass."""
    return {later: traces.training_steps(12, 3, in_backward=not later) for later in (True, False)}


def test_a_step_goes_forward_and_backward_and_then_the_optimizer(steps):
    keys, sizes = steps[True]
    blocks = [f"blocks.{i}" for i in range(12)]
    forward = ["token", "position", *blocks, "norm", "token"]  # the head is the table of tokens
    backward = ["norm", *reversed(blocks)]  # tables are not read in the backward pass
    assert keys == (forward + backward + ["token", "position", *blocks, "norm"]) * 3
    config = Config(vocabulary=32, length=8, width=8, heads=1, layers=12)
    assert sum(sizes.values()) == 4 * parameter_count(config) == sum(w.nbytes for w in GPT(config).parameters())


def test_an_optimizer_in_the_backward_pass_makes_a_zigzag(steps):
    keys, _ = steps[False]
    blocks = [f"blocks.{i}" for i in range(12)]
    forward = ["token", "position", *blocks, "norm", "token"]
    last = ["norm", *reversed(blocks), "position", "token"]
    assert keys == forward + last + 2 * (forward[1:] + last)  # a table that is used twice in a row is one access


def test_e1_21b_frequencies_of_a_training_are_equal_so_a_threshold_keeps_all_or_nothing(steps):
    keys, _ = steps[True]
    counts = Counter(key for key in keys if key.startswith("blocks"))
    assert set(counts.values()) == {9}
    blocks = [key for key in keys if key.startswith("blocks")]
    by_lru = replay(blocks, "LRU", 5).hit_rate
    assert replay(blocks, Frequent(counts, 8), 5).hit_rate == by_lru
    assert replay(blocks, Frequent(counts, 9), 5).hit_rate == 0


def test_e1_21b_lru_is_useless_on_a_cycle_and_as_good_as_belady_on_a_zigzag():
    cycle, zigzag = [*range(100)] * 8, [*range(100), *reversed(range(100))] * 4
    assert replay(cycle, "LRU", 40).hit_rate == 0
    assert replay(cycle, "Belady", 40).hit_rate == pytest.approx(0.35)
    assert replay([*range(100)] * 100, "Belady", 40).hit_rate == pytest.approx(0.39)
    for room in range(10, 100, 10):
        assert replay(zigzag, "LRU", room).hit_rate == replay(zigzag, "Belady", room).hit_rate
    assert replay(zigzag, "LRU", 40).hits == replay(zigzag, "Belady", 40).hits
    assert replay(zigzag, "LRU", 40).hit_rate == pytest.approx((40 * 7) / 800)


def test_on_the_recorded_steps_only_the_optimizer_s_place_makes_lru_bad(steps):
    short = {}
    for later, (keys, _) in steps.items():
        blocks = [key for key in keys if key.startswith("blocks")]
        short[later] = replay(blocks, "Belady", 5).hit_rate - replay(blocks, "LRU", 5).hit_rate
    assert short[True] > 0.05 and short[False] == 0


def test_experts_are_as_recorded():
    calls = traces.expert_calls()
    assert traces.tokens_routed() == 2048 and len(calls) == 2048 * 4 and len(set(calls)) == 32
    assert all(calls[i][0] == calls[i + 1][0] == 0 and calls[i + 2][0] == 1 for i in range(0, len(calls), 4))
    assert all(calls[i] != calls[i + 1] for i in range(0, len(calls), 2))  # two different experts for a token
    assert traces.expert_calls(3) == calls[:12]


def test_frequency_helps_where_frequencies_differ_and_a_batch_needs_all_experts():
    calls = traces.expert_calls()
    profile, later = Counter(calls[:4096]), calls[4096:]
    often = sorted(profile.values())[-9]  # the threshold that leaves the eight most used
    pinned = replay(later, Frequent(profile, often), 8).hit_rate
    assert pinned > replay(later, "LRU", 8).hit_rate + 0.1
    assert pinned < replay(later, Belady(later, bypass=True), 8).hit_rate
    assert all(len(set(calls[i : i + 4 * 128])) == 32 for i in range(0, 4096, 512))  # of 128 tokens


def test_conversations_are_as_published():
    requests = traces.conversations()
    blocks = [block for request in requests for block in request]
    assert (len(requests), len(blocks), len(set(blocks))) == (1500, 41702, 30634)
    assert requests[0] == list(range(14)) and all(request[0] == 0 for request in requests[:100])

"""Cuts: as good as the best of all cuts, within memory, and worth what the simulator says."""

from itertools import combinations, pairwise
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.pipeline.schedules.plain import gpipe, one_f_one_b
from reference.pipeline.simulate import activations, simulate
from reference.pipeline.sizing.partition import (
    LayerProfile,
    Worker,
    additive,
    cut_costs,
    equal_counts,
    memory,
    message_time,
    partition,
    price,
    stage_seconds,
)

whole = st.integers(0, 9).map(float)
LAYERS = st.lists(st.builds(LayerProfile, whole, whole, whole, whole, whole), min_size=1, max_size=8)
WORKERS = st.lists(st.builds(Worker, st.sampled_from([0.5, 1.0, 2.0]), st.sampled_from([20.0, 60.0, inf])), min_size=1)


def all_cuts(N, p):
    return [(*inner, N) for inner in combinations(range(1, N), p - 1)]


def dearest(cost, ends):
    return max(cost(r, k, i) for r, (k, i) in enumerate(pairwise((0, *ends))))


def parametric(seconds, p):
    """The same by another way: the smallest bound that p stages can meet, each filled until the bound is reached."""

    def stages(bound):
        number, filled = 1, 0.0
        for s in seconds:
            number, filled = (number, filled + s) if filled + s <= bound else (number + 1, s)
        return number

    low, high = max(seconds), sum(seconds)  # whole numbers, so that the search ends at the answer
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if stages(middle) <= p else (middle + 1, high)
    return low


def test_by_hand():
    """2 4 | 3 3 | 7 | 1 5: by equal numbers the slowest stage takes 8."""
    layers = [LayerProfile(s / 3, 2 * s / 3) for s in (2, 4, 3, 3, 7, 1, 5)]
    cut = partition(layers, 4)
    assert cut.ends == (2, 4, 5, 7) and cut.sizes == [2, 2, 1, 2] and cut.seconds == pytest.approx(7)
    assert equal_counts(7, 4) == (2, 4, 6, 7)
    assert [f + b for f, b in stage_seconds(layers, equal_counts(7, 4))] == pytest.approx([6, 6, 8, 5])


@given(LAYERS, WORKERS, st.booleans(), st.sampled_from([message_time(), message_time(1.0, 0.5)]), st.data())
def test_as_good_as_the_best_of_all_cuts(layers, workers, overlap, send, data):
    workers = workers[: len(layers)]
    m, schedule = data.draw(st.integers(1, 5)), data.draw(st.sampled_from([gpipe, one_f_one_b]))
    live = activations(schedule(len(workers), m))
    cost = price(layers, workers, send, live, overlap)
    best = min(dearest(cost, ends) for ends in all_cuts(len(layers), len(workers)))
    if best == inf:
        with pytest.raises(ValueError, match=f"{len(layers)} layers cannot be cut into {len(workers)} stages that fit"):
            partition(layers, workers, send, live, overlap)
        return
    cut = partition(layers, workers, send, live, overlap)
    assert cut.seconds == best == dearest(cost, cut.ends)
    holds = memory(layers, live)
    assert all(holds(r, k, i) <= workers[r].memory for r, (k, i) in enumerate(pairwise((0, *cut.ends))))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=30), st.integers(1, 8))
def test_equal_to_a_search_for_the_smallest_bound_that_can_be_met(seconds, p):
    p = min(p, len(seconds))
    assert partition([LayerProfile(s, 0.0) for s in seconds], p).seconds == parametric(seconds, p)


def test_what_does_not_fit_is_told_in_numbers():
    layers = [LayerProfile(1.0, 2.0, weights=10.0, kept=1.0)] * 6
    live = activations(one_f_one_b(3, 8))
    assert partition(layers, [Worker(memory=26.0)] * 3, live=live).sizes == [2, 2, 2]
    with pytest.raises(ValueError, match=r"stage 0 takes layers 0 to 0, 13 of 24 bytes; .* layers 5 to 5 are left"):
        partition(layers, [Worker(memory=24.0)] * 3, live=live)
    with pytest.raises(ValueError, match="stage 1 has 9 bytes, layer 5 alone needs 11"):
        partition(layers, [Worker(), Worker(memory=9.0)])
    with pytest.raises(ValueError, match="live has 2 entries and must have 3"):
        partition(layers, 3, live=[2, 1])


def test_memory_moves_layers_to_the_back_for_the_first_stages_keep_most():
    """1F1B, four stages: 4, 3, 2 and 1 micro-batches are alive. GPipe keeps all eight everywhere."""
    layers = [LayerProfile(1.0, 2.0, weights=4.0, kept=1.0)] * 16
    cut = lambda schedule, memory: partition(layers, [Worker(memory=memory)] * 4, live=activations(schedule(4, 8)))  # noqa: E731
    assert cut(one_f_one_b, 32.0).sizes == [4, 4, 4, 4]
    assert cut(one_f_one_b, 28.0).sizes == [3, 4, 4, 5]
    with pytest.raises(ValueError, match="cannot be cut"):
        cut(gpipe, 32.0)


def test_a_stage_for_each_worker_as_it_is():
    layers = [LayerProfile(1.0, 2.0)] * 12
    assert partition(layers, [Worker(2.0), Worker(1.0), Worker(1.0), Worker(2.0)]).sizes == [4, 2, 2, 4]


def test_messages_are_hidden_or_not():
    """The middle cut is cheap to cross. Hidden, the messages of the even cut do not matter; in the open they do."""
    layers = [LayerProfile(1.0, 1.0, sent=n) for n in (4.0, 4.0, 1.0, 4.0, 4.0, 4.0)]
    send = message_time(0.0, 1.0)
    assert partition(layers, 3).ends == (2, 4, 6)
    assert partition(layers, 2, send).ends == (3, 6) and partition(layers, 2, send).seconds == 6.0
    assert partition(layers, 2, send, overlap=False).seconds == 6.0 + 2 * 1.0
    assert partition(layers, 3, send).seconds == 4.0
    assert partition(layers, 3, send, overlap=False).seconds == 2 + 2 * 4 + 2 * 1 + 4 - 4


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.integers(1, 4), st.integers(1, 6))
def test_the_slowest_stage_rules_the_step(seconds, p, m):
    """If backward is a multiple of forward, a step of GPipe takes the sum of all stages and m - 1 times the slowest.

    The sum is the same for every cut, so the best cut has the shortest step. 1F1B takes as long or less.
    """
    layers = [LayerProfile(s, 2 * s) for s in seconds]
    cut = partition(layers, min(p, len(layers)))
    step = 3 * sum(seconds) + (m - 1) * cut.seconds
    takes = lambda schedule, ends: simulate(schedule(len(ends), m), cut_costs(layers, ends)).makespan  # noqa: E731
    assert takes(gpipe, cut.ends) == step <= min(takes(gpipe, ends) for ends in all_cuts(len(layers), len(cut.ends)))
    assert m * cut.seconds <= takes(one_f_one_b, cut.ends) <= step


def test_the_sum_of_the_stages_is_not_what_a_pipeline_takes():
    fastest = additive([LayerProfile(1.0, 2.0)] * 8, [Worker(1.0), Worker(1.1), Worker(1.0)])
    assert fastest.sizes == [1, 6, 1]

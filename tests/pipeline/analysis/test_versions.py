"""Versions of weights: PipeDream's and 2BW's by hand, then their rules for any p and m."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.pipeline.analysis.versions import kept_versions, versions
from reference.pipeline.schedule import Schedule, parse, repeat
from reference.pipeline.schedules.plain import gpipe, naive, one_f_one_b, pipedream, pipedream_2bw

sizes = st.tuples(st.integers(1, 7), st.integers(1, 20))


def table(schedule) -> list[list[int]]:
    """Of each stage the version that each micro-batch meets."""
    seen = versions(schedule)
    return [[seen[s, i] for i in range(schedule.micro_batches)] for s in range(schedule.stages)]


def test_pipedream_by_hand():
    """Three stages: the first is two updates behind, the last none."""
    assert table(pipedream(3, 6)) == [
        [0, 0, 0, 1, 2, 3],
        [0, 0, 1, 2, 3, 4],
        [0, 1, 2, 3, 4, 5],
    ]
    assert kept_versions(pipedream(3, 6)) == [3, 2, 1]


def test_2bw_by_hand():
    """Batches of three: the second one still meets the first version, the third one the version after one update."""
    assert table(pipedream_2bw(3, 10)) == [[0, 0, 0, 0, 0, 0, 1, 1, 1, 2]] * 3
    assert kept_versions(pipedream_2bw(3, 10)) == [2, 2, 2]


def test_a_flush_has_one_version_a_step():
    assert table(repeat(one_f_one_b(2, 3), 2)) == [[0, 0, 0, 1, 1, 1]] * 2
    for make in (naive, gpipe, one_f_one_b):
        assert kept_versions(repeat(make(3, 4), 3)) == [1, 1, 1]


@given(sizes)
def test_pipedream_lacks_as_many_updates_as_micro_batches_are_on_their_way(size):
    p, m = size
    schedule = pipedream(p, m)
    assert table(schedule) == [[i - min(i, p - 1 - s) for i in range(m)] for s in range(p)]
    kept = kept_versions(schedule)
    assert all(kept[s] <= p - s for s in range(p))
    if m >= 2 * p:
        assert kept == [p - s for s in range(p)]


@given(sizes, st.data())
def test_2bw_is_one_batch_behind_on_all_stages_and_keeps_two_versions(size, data):
    p, m = size
    batch = data.draw(st.integers(max(p - 1, 1), p + 4))
    schedule = pipedream_2bw(p, m, batch)
    assert table(schedule) == [[max(i // batch - 1, 0) for i in range(m)]] * p
    assert all(kept <= 2 for kept in kept_versions(schedule))


def test_what_is_kept_is_counted_while_it_is_used():
    """Version 0 serves micro-batch 0 until 0B0, while 1 and 2 are made: three versions; 1, which none uses, is gone."""
    order = parse("0F0 0F1 0B1 0S1 0F2 0B2 0S2 0F3 0B0 0S0 0B3 0S3")
    assert kept_versions(Schedule("late", (order,), weights="stash")) == [2]
    order = parse("0F0 0F1 0B1 0S1 0F2 0F3 0B3 0S3 0F4 0B0 0S0 0B2 0S2 0B4 0S4")
    assert kept_versions(Schedule("later", (order,), weights="stash")) == [3]


@pytest.mark.parametrize("m", [1, 5])
def test_one_rank_has_no_delay_with_pipedream_and_one_batch_with_2bw(m):
    assert table(pipedream(1, m)) == [list(range(m))] and kept_versions(pipedream(1, m)) == [1]
    assert table(pipedream_2bw(1, m)) == [[max(i - 1, 0) for i in range(m)]]

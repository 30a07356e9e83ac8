"""Hits, bytes and seconds of small traces by hand; reading ahead between its bounds; prefixes up to the first gap."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.caching.policies import Frequent
from reference.caching.replay import prefix_hits, replay, seconds, usable
from reference.tiers.tier import Tier

LINK = Tier("a link", read=10.0, write=10.0, latency=1.0)


def test_a_small_trace_by_hand():
    sizes = {"a": 2, "b": 3, "c": 1}
    played = replay(list("abcab"), "LRU", 5, sizes)
    assert played.hits == (False, False, False, False, False)  # who comes next has always just left
    assert (played.used, played.read, played.evictions) == (11, 11, 3)
    assert replay(list("abcab"), "Belady", 5, sizes).hits == (False, False, False, True, False)
    roomy = replay(list("abcab"), "LRU", 6, sizes)
    assert roomy.hit_rate == pytest.approx(2 / 5) and roomy.byte_hit_rate == pytest.approx(5 / 11)


def test_what_cannot_fit_is_refused():
    with pytest.raises(ValueError, match="7 bytes, more than the cache of 5"):
        replay(["a"], "LRU", 5, {"a": 7})


def test_what_is_refused_throws_nobody_out():
    assert replay(list("axaya"), Frequent({"a": 3}, 1), 1).hits == (False, False, True, False, True)


def test_seconds_by_hand():
    hits, sizes = (False, True, False), {"a": 10, "b": 20}
    assert seconds("aab", hits, LINK, 4.0, sizes) == (1 + 1) + 4 + 4 + (1 + 2) + 4
    assert seconds("aab", hits, LINK, 4.0, sizes, ahead=1) == 2 + 4 + 4 + 4  # b came while the second a was used
    short = [1.0, 1.0, 4.0]  # and here the second a is too short for it
    assert seconds("aab", hits, LINK, short, sizes, ahead=1) == 2 + 1 + 3 + 4


@given(st.lists(st.booleans(), min_size=1, max_size=30), st.integers(0, 8), st.floats(0, 5))
def test_reading_ahead_lies_between_its_bounds(hits, ahead, compute):
    keys = list(range(len(hits)))
    reads, computes = hits.count(False) * LINK.reading(1), len(hits) * compute
    took = seconds(keys, hits, LINK, compute, ahead=ahead)
    assert max(reads, computes) - 1e-9 <= took <= reads + computes + 1e-9
    assert took <= seconds(keys, hits, LINK, compute, ahead=max(0, ahead - 1)) + 1e-9
    if ahead == 0:
        assert took == pytest.approx(reads + computes)


def test_a_prefix_helps_up_to_its_first_gap():
    assert usable([[1, 2, 3], [4, 5]], [True, False, True, True, True]) == 3
    # 1 2 3, then 1 2 4: two blocks of six; room for one block keeps nothing
    assert prefix_hits([[1, 2, 3], [1, 2, 4]], "LRU", 9) == pytest.approx(2 / 6)
    assert prefix_hits([[1, 2, 3], [1, 2, 4]], "LRU", 1) == 0

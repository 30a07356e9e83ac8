"""The chain of loads goes through every line once, and what it measures is a latency."""

import numpy as np
import pytest

from reference.tiers import chase

needs_loop = pytest.mark.skipif(chase.loop() is None, reason="neither x86-64 nor 64-bit ARM on Linux")


def test_the_chain_is_one_ring_through_all_lines():
    words = chase.chain(64 * 100)
    place, start, seen = words.ctypes.data, words.ctypes.data, []
    for _ in range(100):
        seen.append(place)
        place = int(words[(place - start) // 8])
    assert place == start and sorted(seen) == list(range(start, start + 6400, 64))


@needs_loop
def test_the_machine_code_follows_the_chain():
    words = chase.chain(64 * 37, seed=1)
    start = words.ctypes.data
    place = start
    for steps in range(1, 5):
        place = int(words[(place - start) // 8])
        assert chase.loop()(start, steps) == place
    assert chase.loop()(start, 37 * 5) == start


@needs_loop
def test_a_large_working_set_takes_longer_than_one_that_fits_into_a_cache():
    small, large = chase.latency(2**13, 20_000), chase.latency(2**26, 20_000, turns=1)
    assert 1e-10 < small < large < 1e-4


def test_where_there_is_no_machine_code(monkeypatch):
    monkeypatch.setattr(chase, "LOOPS", {})
    chase.loop.cache_clear()
    try:
        assert chase.latency(2**13) is None
    finally:
        chase.loop.cache_clear()


def test_words_are_of_lines():
    assert len(chase.chain(1)) == 8 and chase.chain(2**12).dtype == np.uint64

"""Paging: everything is generated, and a memory in pages holds more tokens than one of longest sequences."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.zero.paging import Request, serve

DRAW = random.Random(1)
REQUESTS = [Request(DRAW.randint(1, 32), DRAW.randint(1, 64)) for _ in range(60)]


@given(st.lists(st.builds(Request, st.integers(1, 20), st.integers(1, 20)), max_size=12), st.sampled_from([0, 1, 4, 7]))
def test_all_is_generated_within_the_memory(requests, page):
    found = serve(requests, 60, 40, page)
    outputs = [request.output for request in requests]
    assert max(outputs, default=0) <= found.steps <= sum(outputs)
    assert found.filled <= 1 and found.of_reserved <= 1 and (page or not found.stops)


def test_alone_a_sequence_takes_one_step_a_token():
    assert serve([Request(5, 7)], 100, 50, 4).steps == serve([Request(5, 7)], 100, 50).steps == 7
    assert serve([Request(4, 4)], 100, 50, 4).of_reserved == pytest.approx((5 + 6 + 7 + 8) / 4 / 8)
    assert serve([Request(4, 4)], 100, 50).of_reserved == pytest.approx((5 + 6 + 7 + 8) / 4 / 50)
    assert serve([], 100, 50).steps == 0


def test_pages_hold_more_sequences_at_a_time():
    adjacent, paged = (serve(REQUESTS, 400, 96, page) for page in (0, 4))
    assert adjacent.running <= 400 // 96 and paged.running > 2 * adjacent.running
    assert paged.of_reserved > 0.9 > 2 * adjacent.of_reserved and paged.steps < adjacent.steps / 2


def test_less_than_a_page_a_sequence_is_lost():
    for page in (1, 8, 32):
        found = serve(REQUESTS, 400, 96, page)
        lost = found.filled * 400 * (1 / found.of_reserved - 1)
        assert lost < page * found.running
    assert serve(REQUESTS, 400, 96, 1).of_reserved == 1


def test_the_last_one_stops_when_no_page_is_free_and_goes_on_where_it_was():
    found = serve([Request(4, 12), Request(4, 12)], 20, 16, 4)
    assert found.stops == 1  # at 8 tokens each, with three pages and two
    assert found.steps == 12 + 8  # the second one has 8 tokens to go when the first one has ended


def test_a_sequence_that_can_never_fit_is_refused():
    with pytest.raises(ValueError, match="a sequence is longer than 16 tokens, or does not fit into 10"):
        serve([Request(6, 6)], 10, 16, 4)

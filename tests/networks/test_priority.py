"""Priority: one port by hand, the rules it must keep for any messages, and the best order against all orders."""

from itertools import pairwise, permutations
from math import ceil, inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.collectives import cost
from reference.networks import Link
from reference.networks.priority import (
    Forward,
    QueuedMessage,
    Span,
    by_deadline,
    by_queue,
    fifo,
    finish,
    gradient_messages,
    lateness,
    next_forward,
    serve,
    weighted,
)

MESSAGE = st.tuples(st.integers(0, 20), st.integers(0, 12), st.integers(0, 3), st.integers(0, 40), st.integers(0, 5))
ORDERS = {"fifo": fifo, "queue": by_queue, "deadline": by_deadline, "formula": weighted(1, 2, 3)}


def listed(drawn):
    return [
        QueuedMessage(name, ready, n, queue, needed, wait) for name, (ready, n, queue, needed, wait) in enumerate(drawn)
    ]


# By hand


def test_first_in_first_out_and_by_number():
    messages = [
        QueuedMessage("large", 0, 6, queue=3),
        QueuedMessage("small", 1, 2, queue=0),
        QueuedMessage("late", 20, 1),
    ]
    assert serve(messages, 1, 1) == [Span("large", 0, 7), Span("small", 7, 10), Span("late", 20, 22)]
    assert serve(messages, 1, 1, by_queue) == serve(messages, 1, 1)  # it has begun, and cannot be called back
    chunked = [
        Span("large", 0, 3),
        Span("small", 3, 6),
        Span("large", 6, 9),
        Span("large", 9, 12),
        Span("late", 20, 22),
    ]
    assert serve(messages, 1, 1, by_queue, chunk=2) == chunked
    assert finish(chunked) == {"large": 12, "small": 6, "late": 22}


def test_the_step_is_the_figure():
    """Four layers, 1 s backward and 1 s forward each, 1 s on the wire."""
    sizes = backward = forward = [1.0] * 4
    messages = gradient_messages(sizes, backward, forward)
    assert [(m.name, m.ready, m.needed, m.compute) for m in messages] == [
        (3, 1, 7, 1),
        (2, 2, 6, 2),
        (1, 3, 5, 3),
        (0, 4, 4, 4),
    ]
    assert next_forward(serve(messages, 0, 1), backward, forward) == Forward(5, 9, 1)
    slow = serve(messages, 0, 2)  # 2 s on the wire: 3 leaves first, 0 last
    assert [(s.name, s.end) for s in slow] == [(3, 3), (2, 5), (1, 7), (0, 9)]
    assert next_forward(slow, backward, forward) == Forward(9, 13, 5)
    quick = serve(messages, 0, 2, by_queue)
    assert [(s.name, s.end) for s in quick] == [(3, 3), (1, 5), (0, 7), (2, 9)]
    assert next_forward(quick, backward, forward) == Forward(7, 11, 3)
    quicker = serve(messages, 0, 2, by_queue, chunk=0.5)
    assert next_forward(quicker, backward, forward) == Forward(6, 10, 2)
    assert quicker[-1].end == quick[-1].end == slow[-1].end == 9  # the port is busy as long as ever


def test_a_network_whose_last_layers_are_large():
    """Exposed: 32 ms first in, first out; 16 by layer; 13 by layer in chunks; more if chunks are too small."""
    sizes, backward, forward = [2e6, 8e6, 20e6, 70e6], [12e-3, 12e-3, 4e-3, 4e-3], [8e-3, 8e-3, 3e-3, 3e-3]
    messages = gradient_messages(sizes, backward, forward)

    def exposed(order, chunk=inf):
        return 1e3 * next_forward(serve(messages, 20e-6, 6e-10, order, chunk), backward, forward).exposed

    assert exposed(fifo) == pytest.approx(32.08) and exposed(by_queue) == pytest.approx(16.08)
    found = [exposed(by_queue, chunk) for chunk in (16e6, 4e6, 1e6, 1e5, 1e4)]
    assert found == pytest.approx([13.18, 13.52, 15, 33, 213])  # 9, 26, 100, 1,000 and 10,000 chunks of 20 us each


def test_priority_inversion_lasts_a_chunk_at_most():
    """A large message that matters little holds up one that matters much."""
    messages = [QueuedMessage("auxiliary", 0, 1000, queue=3), QueuedMessage("critical", 1, 10, queue=0)]
    for chunk, start in [(inf, 1000), (500, 500), (100, 100), (7, 7)]:
        spans = serve(messages, 0, 1, by_queue, chunk)
        assert next(span.start for span in spans if span.name == "critical") == start


def test_the_formula_weighs_what_waits():
    a, b, c = (
        QueuedMessage("a", 0, 1, compute=3),
        QueuedMessage("b", 0, 1, dependent=2),
        QueuedMessage("c", 0, 1, critical=1),
    )
    for weights, expected in [((1, 1, 1), "abc"), ((1, 2, 1), "bac"), ((1, 1, 9), "cab"), ((0, 0, 1), "cab")]:
        assert "".join(span.name for span in serve([a, b, c], 0, 1, weighted(*weights))) == expected


# For any messages


@given(
    st.lists(MESSAGE, min_size=1, max_size=7),
    st.integers(0, 3),
    st.integers(1, 8) | st.just(inf),
    st.sampled_from(list(ORDERS)),
)
def test_what_a_port_must_keep(drawn, alpha, chunk, name):
    messages, order = listed(drawn), ORDERS[name]
    spans = serve(messages, alpha, 1, order, chunk)
    assert all(a.end <= b.start for a, b in pairwise(spans))  # one at a time
    left = {message.name: message for message in messages}
    sent = dict.fromkeys(left, 0)
    for number, span in enumerate(spans):
        message = left[span.name]
        here = [other for other in left.values() if other.ready <= span.start]
        assert message in here and all(order(message) <= order(other) for other in here)  # never one that matters less
        before = spans[number - 1].end if number else 0
        if span.start > before:
            assert span.start == min(other.ready for other in left.values())  # it rests only if nothing is ready
        sent[span.name] += span.end - span.start - alpha
        if sent[span.name] == message.nbytes:
            del left[span.name]
        else:
            assert span.end - span.start - alpha == chunk
    assert not left and sent == {message.name: message.nbytes for message in messages}
    pieces = sum(max(1, ceil(message.nbytes / chunk)) for message in messages)
    assert len(spans) == pieces and sum(s.end - s.start for s in spans) == pieces * alpha + sum(
        m.nbytes for m in messages
    )


@given(st.lists(MESSAGE, min_size=1, max_size=7), st.sampled_from(list(ORDERS)), st.integers(1, 8))
def test_the_wire_is_busy_as_long_in_any_order(drawn, name, chunk):
    messages = listed(drawn)
    assert serve(messages, 0, 1, ORDERS[name], chunk)[-1].end == serve(messages, 0, 1)[-1].end


@given(st.lists(MESSAGE, min_size=1, max_size=7), st.sampled_from(list(ORDERS)))
def test_without_chunks_nothing_is_interrupted(drawn, name):
    messages = listed(drawn)
    whole = serve(messages, 2, 1, ORDERS[name])
    assert len(whole) == len(messages) and whole == serve(messages, 2, 1, ORDERS[name], chunk=12)  # the largest


@given(st.lists(MESSAGE, min_size=1, max_size=7))
def test_first_in_first_out_does_not_care_for_chunks_that_cost_nothing(drawn):
    messages = listed(drawn)
    assert finish(serve(messages, 0, 1, fifo, 1)) == finish(serve(messages, 0, 1))


def test_first_in_first_out_is_the_formula_of_aggregation():
    ready, sizes = [0.0, 1e-5, 3e-5, 9e-5], [1000, 500, 8000, 10]
    spans = serve([QueuedMessage(i, r, n) for i, (r, n) in enumerate(zip(ready, sizes, strict=True))], 5e-6, 1e-9)
    assert spans[-1].end == pytest.approx(cost.finish(ready, sizes, Link(5e-6, 1e-9))[1])


# The best order


def in_order(names):
    return lambda message: names.index(message.name)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 30)), min_size=1, max_size=5), st.integers(0, 2))
def test_the_earliest_deadline_first_is_best_if_all_are_ready(drawn, alpha):
    """Jackson (1955): no order has a smaller greatest lateness."""
    messages = [QueuedMessage(name, 0, n, needed=needed) for name, (n, needed) in enumerate(drawn)]
    every = permutations(range(len(messages)))
    best = min(lateness(messages, serve(messages, alpha, 1, in_order(names))) for names in every)
    assert lateness(messages, serve(messages, alpha, 1, by_deadline)) == best


LAYERS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=4)


@given(LAYERS)
def test_the_first_layer_first_is_best_for_the_next_forward_pass(drawn):
    """With chunks that cost nothing (Horn 1974): whatever the layers are, no order of theirs ends it sooner."""
    sizes, backward, forward = zip(*drawn, strict=True)
    messages = gradient_messages(sizes, backward, forward)

    def end(order, chunk):
        return next_forward(serve(messages, 0, 1, order, chunk), backward, forward).end

    found = end(by_queue, 1)
    assert found == end(by_deadline, 1) == end(weighted(1, 0, 0), 1)
    every = permutations(range(len(sizes)))
    assert (
        found
        == min(end(in_order(names), 1) for names in every)
        <= min(end(fifo, 1), end(by_queue, inf), end(fifo, inf))
    )


@given(LAYERS)
def test_the_next_forward_pass_waits_for_what_it_needs(drawn):
    sizes, backward, forward = zip(*drawn, strict=True)
    spans = serve(gradient_messages(sizes, backward, forward), 0, 1)
    found, done, total = next_forward(spans, backward, forward), finish(spans), sum(backward)
    assert found.start == done[0] >= total and found.exposed == found.end - total - sum(forward) >= 0
    late = max(done[i] + sum(forward[i:]) for i in range(len(sizes)))
    assert found.end == max(late, total + sum(forward))  # the longest of the ways through it


# What can be wrong


def test_clear_errors():
    one = QueuedMessage("a", 0, 1)
    with pytest.raises(ValueError, match=r"a name of its own, got \['a', 'a'\]"):
        serve([one, one._replace(nbytes=2)], 0, 1)
    early, void = one._replace(ready=-1), one._replace(nbytes=-1)
    wrong = [(one, -1, 1, 1), (one, 0, -1, 1), (one, 0, 1, 0), (early, 0, 1, 1), (void, 0, 1, 1)]
    for message, alpha, beta, chunk in wrong:
        with pytest.raises(ValueError, match=f"chunk must be > 0.* chunk={chunk}, alpha={alpha}, beta={beta}"):
            serve([message], alpha, beta, fifo, chunk)
    assert serve([], 0, 1) == []

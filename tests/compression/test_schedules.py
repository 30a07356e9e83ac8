"""Layer-wise, chunk-wise, priority-wise: by hand, the rules that each schedule must keep, and what it is good for."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reference.compression import roundtrip, top_k
from reference.compression.schedules import (
    CodecCosts,
    Part,
    chunk_wise,
    compressed_timeline,
    layer_wise,
    priority_wise,
    whole,
)
from reference.data_parallel.layers import Layer
from reference.networks.priority import Forward, Span, finish

THREE = [Layer("first", 4, 1, 2), Layer("middle", 2, 1, 2), Layer("last", 6, 1, 2)]
UNIT = CodecCosts(0, 0.5, 0.5, 0, 1, 0, 0.25)  # half the bytes, at a byte a second


def picture(parts):
    return [(part.name, part.of, part.ready, part.queue) for part in parts]


def test_the_parts_by_hand():
    assert picture(whole(THREE)) == [("all", {0: 4, 1: 2, 2: 6}, 6, 0)]
    assert picture(layer_wise(THREE)) == [("last", {2: 6}, 2, 0), ("middle", {1: 2}, 4, 1), ("first", {0: 4}, 6, 2)]
    chunks = [
        ("chunk 0", {2: 5}, 2, 0),
        ("chunk 1", {2: 1, 1: 2, 0: 2}, 6, 1),  # it waits for the first layer
        ("chunk 2", {0: 2}, 6, 2),
    ]
    assert picture(chunk_wise(THREE, 5)) == chunks
    assert [part.queue for part in priority_wise(THREE, 5)] == [2, 0, 0]


def test_the_machines_by_hand():
    """Encoding takes 1/2, sending 1/2 and decoding 1/4 of a second a byte."""
    found = compressed_timeline(THREE, layer_wise(THREE), UNIT)
    assert found.encoding == [Span("last", 2, 5), Span("middle", 5, 6), Span("first", 6, 8)]
    assert found.sending == [Span("last", 5, 8), Span("middle", 8, 9), Span("first", 9, 11)]
    assert found.decoding == [Span("last", 8, 9.5), Span("middle", 9.5, 10), Span("first", 11, 12)]
    assert found.forward == Forward(12, 15, 6)
    assert compressed_timeline(THREE, whole(THREE), UNIT).forward == Forward(
        21, 24, 15
    )  # 6 + 6 + 6 + 3, one after the other


LAYERS = st.lists(
    st.builds(Layer, st.uuids().map(str), st.integers(0, 9), st.integers(0, 4), st.integers(0, 4)),
    min_size=1,
    max_size=5,
)
COSTS = st.builds(CodecCosts, *[st.integers(0, 3)] * 7)


@given(LAYERS, st.integers(1, 12), COSTS)
def test_what_every_schedule_keeps(layers, chunk, costs):
    """Every byte once, no part before it is there, one part at a time in each machine, and each after the other."""
    for parts in (whole(layers), layer_wise(layers), chunk_wise(layers, chunk), priority_wise(layers, chunk)):
        for i, layer in enumerate(layers):
            assert sum(part.of.get(i, 0) for part in parts) == layer.nbytes
            ready = sum(other.backward for other in layers[i:])
            assert all(part.ready >= ready for part in parts if i in part.of)
        found = compressed_timeline(layers, parts, costs)
        encoded, sent = finish(found.encoding), finish(found.sending)
        for machine in found[:3]:
            assert all(a.end <= b.start for a, b in pairwise(machine)) and len(machine) == len(parts)
        starts = {part.name: part.ready for part in parts}
        assert all(span.start >= starts[span.name] for span in found.encoding)
        assert all(span.start >= encoded[span.name] for span in found.sending)
        assert all(span.start >= sent[span.name] for span in found.decoding)
    sizes = [part.nbytes for part in chunk_wise(layers, chunk)]
    assert all(size == chunk for size in sizes[:-1])


def test_nothing_to_send_is_nothing_to_wait_for():
    frozen = [Layer("a", 0, 1, 2), Layer("b", 0, 1, 2)]
    assert compressed_timeline(frozen, chunk_wise(frozen, 8), UNIT).forward == Forward(4, 6, 0)


MB, MS = 1_000_000, 1e-3
NETWORK = [  # a small input layer, convolutions, and one large layer at the end
    Layer("first", 1 * MB, 8 * MS, 16 * MS),
    *(Layer(f"block {i}", 10 * MB, 6 * MS, 12 * MS) for i in range(4)),
    Layer("large", 200 * MB, 2 * MS, 4 * MS),
]
TOP = CodecCosts(0.2 * MS, 0.2 * MS / MB, 0.02, 20e-6, 20 * MS / MB, 0.1 * MS, 0.05 * MS / MB)  # top 1 %, 50 MB/s


def exposed(parts):
    return 1e3 * compressed_timeline(NETWORK, parts, TOP).forward.exposed


def test_chunks_fill_all_three_machines_and_the_first_layer_may_overtake():
    """Milliseconds that the next forward pass waits: all at once, by layer, by chunk, by priority."""
    found = [
        exposed(parts)
        for parts in (whole(NETWORK), layer_wise(NETWORK), chunk_wise(NETWORK, 8 * MB), priority_wise(NETWORK, 8 * MB))
    ]
    assert found == sorted(found, reverse=True)
    assert found == pytest.approx([156.97, 73.05, 35.05, 3.32], abs=0.01)


def test_chunks_can_be_too_small_and_too_large():
    sizes = {size: exposed(chunk_wise(NETWORK, size)) for size in (MB // 4, MB, 4 * MB, 64 * MB, 10**9)}
    assert list(sizes.values()) == pytest.approx([177.23, 37.77, 34.77, 48.03, 156.97], abs=0.01)


def test_what_is_compressed_together_changes_what_is_sent():
    """A layer whose gradient is a thousandth of the other's: top-k of both never sends any of it."""
    g = torch.cat([torch.ones(50), 1e-3 * torch.ones(50)]) * torch.linspace(1, 2, 100)
    together = roundtrip(top_k(0.1), g)
    by_layer = torch.cat([roundtrip(top_k(0.1), layer) for layer in g.split(50)])
    assert together.count_nonzero() == by_layer.count_nonzero() == 10
    assert together[50:].count_nonzero() == 0 and by_layer[50:].count_nonzero() == 5


def test_clear_errors():
    with pytest.raises(ValueError, match="more than 0 bytes, not 0"):
        chunk_wise(THREE, 0)
    assert Part("a", {}, 0, 0).nbytes == 0

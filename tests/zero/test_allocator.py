"""Allocators: no two tensors overlap, nothing is lost, holes merge; and what a trace needs in each of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.zero.allocator import UNLIMITED, Event, FreeList, Heap, Pages, least_capacity, replay, size
from reference.zero.traces import checkerboard, peak_live, preallocated

from .cases import KINDS, traces


def overlap(placed):
    """Whether two tensors have a byte in common at a time."""
    return any(
        a.born < b.died and b.born < a.died and a.address < b.address + b.nbytes and b.address < a.address + a.nbytes
        for i, a in enumerate(placed)
        for b in placed[:i]
    )


@pytest.mark.parametrize("kind", KINDS)
@given(traces(), st.sampled_from([UNLIMITED, 1000]))
def test_no_overlap_and_nothing_lost(kind, trace, capacity):
    allocator = KINDS[kind](capacity)
    report = replay(trace, allocator)
    done = trace[: trace.index(report.failed)] if report.failed else trace
    assert report.live == sum(e.nbytes if e.made else -e.nbytes for e in done) <= report.reserved <= capacity
    assert report.peak_live == peak_live(done) <= report.peak_reserved <= capacity
    assert len(report.placed) == sum(e.made for e in done)
    assert kind == "pages" or not overlap(report.placed)
    if report.failed:
        assert kind == "caching" or report.largest < report.failed.nbytes  # test_segments.py has its exception
    for event in done:  # what lives is freed: nothing but holes remains
        if event.made and Event(False, *event[1:]) not in done:
            place = next(p for p in report.placed if p.died == len(done) and p.nbytes == event.nbytes)
            allocator.free(place.address)
            report = report._replace(placed=tuple(p for p in report.placed if p is not place))
    assert not allocator.used
    if kind in ("first fit", "best fit"):
        assert allocator.list.holes == [(0, capacity)]
    elif kind == "pages":
        assert (allocator.reserved, allocator.free_pages) == (0, capacity // 16)
    else:
        assert sum(size(hole) for pool in allocator.pools.values() for hole in pool.holes) == allocator.reserved


@given(traces(), st.sampled_from(["first fit", "best fit"]))
def test_a_heap_needs_what_it_reserves(trace, kind):
    assert least_capacity(trace, KINDS[kind]) == replay(trace, KINDS[kind](UNLIMITED)).peak_reserved >= peak_live(trace)


def test_neighbours_are_merged_on_both_sides():
    holes = FreeList([(0, 4), (8, 12)])
    assert holes.put(4, 8) == (0, 12) and holes.holes == [(0, 12)]
    holes = FreeList([(0, 4), (8, 12)])
    holes.put(4, 8, {4, 8})
    assert holes.holes == [(0, 4), (4, 8), (8, 12)]


def test_first_fit_and_best_fit_choose():
    for fit, expected in (("first", 0), ("best", 20)):
        heap = Heap(fit, 100)
        places = [heap.allocate(n) for n in (10, 10, 5, 10)]
        heap.free(places[0])
        heap.free(places[2])
        assert heap.allocate(5) == expected
    heap = Heap("best", 40)
    large, _ = heap.allocate(20), heap.allocate(5)
    heap.free(large)
    assert heap.allocate(10) == large  # though the end of the address space, 15 bytes, fits better
    with pytest.raises(ValueError, match="the first or the best fit"):
        Heap("worst")
    with pytest.raises(KeyError):
        heap.free(99)


def test_a_checkerboard_has_half_its_bytes_free_and_no_room():
    trace = checkerboard(10, 8)
    report = replay(trace, Heap(capacity=80))
    assert report.failed == trace[-1] and (report.live, report.free, report.largest) == (40, 40, 8)
    assert report.fragmentation == 0.5
    assert not replay(preallocated(trace, ["long-lived"]), Heap(capacity=80)).failed
    assert not replay(trace, Pages(8, 80)).failed

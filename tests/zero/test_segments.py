"""PyTorch's caching allocator as a model: its sizes, and what it cannot merge."""

import pytest
from hypothesis import given

from reference.zero.allocator import OutOfMemory, replay, size
from reference.zero.segments import MIB, Caching, Expandable

from .cases import SIZES, traces


@given(traces())
def test_segments_do_not_merge_and_expandable_ones_do(trace):
    trace += [e._replace(made=False) for e in trace if e.made and e._replace(made=False) not in trace]
    caching, expandable = Caching(sizes=SIZES), Expandable(sizes=SIZES)
    replay(trace, caching)
    replay(trace, expandable)
    holes = [hole for pool in caching.pools.values() for hole in pool.holes]
    assert sorted((start, stop - start) for start, stop in holes) == sorted(caching.segments.items())
    assert all(len(pool.holes) <= 1 for pool in expandable.pools.values())


# PyTorch's constants --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "nbytes, given, reserved",
    [
        (1, 512, 2 * MIB),
        (513, 1024, 2 * MIB),
        (MIB, MIB, 2 * MIB),
        (MIB + 1, MIB + 512, 20 * MIB),
        (10 * MIB - 512, 10 * MIB - 512, 20 * MIB),
        (10 * MIB, 10 * MIB, 10 * MIB),
        (11 * MIB, 12 * MIB, 12 * MIB),  # what is left, 1 MiB, is not more than 1 MiB: it is not split off
        (11 * MIB - 512, 11 * MIB - 512, 12 * MIB),
    ],
)
def test_a_request_is_rounded_and_its_segment_too(nbytes, given, reserved):
    allocator = Caching()
    assert allocator.used[allocator.allocate(nbytes)][0] == given and allocator.reserved == reserved


def test_free_bytes_in_two_segments_do_not_serve_one_request():
    allocator = Caching(44 * MIB)
    places = [allocator.allocate(5 * MIB) for _ in range(8)]  # four in each of two segments
    for place in places[1:7]:
        allocator.free(place)
    assert allocator.capacity - 10 * MIB == 34 * MIB and allocator.largest() == 15 * MIB
    with pytest.raises(OutOfMemory):
        allocator.allocate(16 * MIB)
    allocator.free(places[0])  # now a segment is wholly free: it is returned, and the request has one of its own
    assert allocator.largest() == 24 * MIB
    assert allocator.allocate(24 * MIB) == 40 * MIB and allocator.reserved == 44 * MIB


def test_a_request_can_fail_where_a_larger_one_would_not():
    """Below 10 MiB a new segment has 20 MiB: with 16 left for segments, 5 MiB find no place, and 15 do."""
    allocator = Caching(26 * MIB)
    allocator.allocate(10 * MIB)
    assert allocator.largest() == 16 * MIB
    with pytest.raises(OutOfMemory):
        allocator.allocate(5 * MIB)
    allocator.allocate(15 * MIB)


def test_expandable_segments_serve_it():
    allocator = Expandable(40 * MIB)
    places = [allocator.allocate(5 * MIB) for _ in range(8)]
    for place in places[1:7]:
        allocator.free(place)
    assert allocator.largest() == 30 * MIB and allocator.allocate(30 * MIB) == places[1]


def test_expandable_segments_grow_from_the_free_block_at_their_end():
    allocator = Expandable()
    start = allocator.allocate(15 * MIB)
    assert allocator.allocate(25 * MIB) == start + 15 * MIB and allocator.reserved == 40 * MIB


def test_expandable_segments_unmap_whole_pages_only():
    allocator = Expandable(60 * MIB)
    places = [allocator.allocate(10 * MIB) for _ in range(6)]
    for place in places[1:5]:
        allocator.free(place)  # 40 MiB are free, of which one page of 20 MiB is whole
    small = allocator.allocate(1)
    assert small < places[0] and allocator.reserved == 42 * MIB
    assert [size(hole) for hole in allocator.pools[False].holes] == [10 * MIB, 10 * MIB]
    with pytest.raises(OutOfMemory):
        allocator.allocate(41 * MIB)
    assert allocator.allocate(9 * MIB) == places[4]  # not beside what is unmapped: that block could grow

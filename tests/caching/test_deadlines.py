"""Backwards schedules against every order of transfers; feasibility three ways; the least memory."""

from itertools import pairwise, permutations
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reference.caching.deadlines import (
    Due,
    Reserved,
    backwards,
    by_itself,
    first_come,
    held,
    in_order,
    interrupted,
    lacking,
    least_bandwidth,
)
from reference.tiers.tier import Tier

LINK = Tier("a link", read=2.0, write=2.0, latency=0.5)
FREE = LINK._replace(latency=0.0)
DUES = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 20)), min_size=1, max_size=5).map(
    lambda pairs: [Due(str(i), nbytes, float(deadline)) for i, (nbytes, deadline) in enumerate(pairs)]
)
RELEASED = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 8), st.integers(1, 8)), min_size=1, max_size=4).map(
    lambda rows: [Due(str(i), n, float(r + span), float(r)) for i, (n, r, span) in enumerate(rows)]
)


def some_order_is_in_time(dues, link):
    for order in permutations(dues):
        now = 0.0
        for due in order:
            now = max(now, due.release) + link.reading(due.nbytes)
            if now > due.deadline:
                break
        else:
            return True
    return False


def test_the_drawing_in_the_docstring():
    link = Tier("", 1.0, 1.0)
    dues = [Due("a", 3, 4.0), Due("b", 4, 11.0), Due("c", 2, 12.0), Due("d", 3, 17.0)]
    assert [(one.due.name, one.start, one.end) for one in backwards(dues, link)] == [
        ("a", 1.0, 4.0),
        ("b", 6.0, 10.0),
        ("c", 10.0, 12.0),
        ("d", 14.0, 17.0),
    ]


@given(DUES)
def test_feasible_is_the_same_by_every_order_backwards_forwards_and_by_the_sums(dues):
    feasible = some_order_is_in_time(dues, LINK)
    assert feasible == (backwards(dues, LINK)[0].start >= 0) == (lacking(dues, LINK) <= 0)
    assert feasible == all(one.late <= 0 for one in in_order(dues, LINK))


@given(DUES)
def test_a_backwards_schedule_is_one_and_each_start_is_the_latest(dues):
    schedule = backwards(dues, LINK)
    assert sorted(one.due.name for one in schedule) == sorted(due.name for due in dues)
    assert all(one.end - one.start == LINK.reading(one.due.nbytes) and one.late <= 0 for one in schedule)
    ends = [*(one.start for one in schedule[1:]), float("inf")]
    assert all(one.end == min(one.due.deadline, following) for one, following in zip(schedule, ends))


@given(DUES, st.floats(0, 1))
def test_in_its_order_no_schedule_in_time_holds_less(dues, part):
    assume(lacking(dues, LINK) <= 0)
    late = backwards(dues, LINK)
    waits = part * late[0].start  # begin as early as possible, as late, or between
    assert held(late) <= held(in_order(dues, LINK, now=waits))


def as_late_as_it_goes(order, link):
    """The latest schedule in time in this order of transfers; it may begin before 0."""
    following, found = float("inf"), []
    for due in reversed(order):
        end = min(due.deadline, following)
        following = end - link.reading(due.nbytes)
        found.append(Reserved(due, following, end))
    return found[::-1]


def test_another_order_in_time_can_hold_less():
    draw, link, sets, worse = Random(0), Tier("", 1.0, 1.0), 0, 0
    for _ in range(3000):
        pairs = [(draw.randint(1, 5), draw.randint(3, 25)) for _ in range(draw.randint(2, 5))]
        dues = [Due(str(i), nbytes, float(deadline)) for i, (nbytes, deadline) in enumerate(pairs)]
        if lacking(dues, link) <= 0:
            sets += 1
            plans = (as_late_as_it_goes(order, link) for order in permutations(dues))
            worse += min(held(plan) for plan in plans if plan[0].start >= 0) < held(backwards(dues, link))
    assert (worse, sets) == (74, 2504)


@given(DUES)
def test_the_least_bandwidth_is_just_enough(dues):
    least = least_bandwidth(dues, latency=LINK.latency)
    assume(least < float("inf"))
    assert lacking(dues, LINK._replace(read=least * 1.000001)) <= 1e-9
    assert lacking(dues, LINK._replace(read=least * 0.999)) > 0


def test_no_bandwidth_is_enough_for_latencies_alone():
    assert least_bandwidth([Due("a", 1, 0.4)], latency=0.5) == float("inf")


@given(RELEASED)
def test_with_releases_interrupting_meets_what_any_order_meets(dues):
    pieces = interrupted(dues, FREE)
    for due in dues:
        mine = [piece for piece in pieces if piece.due == due]
        assert sum(piece.end - piece.start for piece in mine) == pytest.approx(FREE.reading(due.nbytes))
        assert min(piece.start for piece in mine) >= due.release
    assert all(a.end <= b.start for a, b in pairwise(pieces))
    if some_order_is_in_time(dues, FREE):
        assert all(piece.late <= 0 for piece in pieces)
    windows = [(a.release, b.deadline) for a in dues for b in dues]
    overfull = any(
        sum(FREE.reading(due.nbytes) for due in dues if due.release >= r and due.deadline <= d) > d - r
        for r, d in windows
        if d > r
    )
    assert overfull == any(piece.late > 0 for piece in pieces)


def test_room_is_held_until_the_deadline_or_until_a_late_one_has_come():
    late, early = Reserved(Due("a", 3, 1.0), 2.0, 4.0), Reserved(Due("b", 2, 9.0), 3.0, 5.0)
    after = Reserved(Due("c", 4, 12.0), 9.0, 11.0)
    assert held([late, early]) == 5 and held([late]) == 3 and held([early, after]) == 4


def test_the_earliest_deadline_interrupts_the_others():
    dues = [Due("long", 8, 9.0), Due("short", 2, 2.0, release=1.0), Due("soon", 2, 4.0)]
    for order in permutations(dues):
        pieces = [(piece.due.name, piece.start, piece.end) for piece in interrupted(order, FREE)]
        assert pieces == [("soon", 0.0, 1.0), ("short", 1.0, 2.0), ("long", 2.0, 6.0)]
    cut = interrupted([dues[0], dues[1]], FREE)
    assert [(piece.due.name, piece.start, piece.end) for piece in cut] == [
        ("long", 0.0, 1.0),
        ("short", 1.0, 2.0),
        ("long", 2.0, 5.0),
    ]


def test_with_releases_the_order_of_deadlines_may_miss_in_vain():
    dues = [Due("long", 8, 9.0), Due("short", 2, 6.0, release=5.0)]
    assert [one.start for one in in_order(dues, FREE)] == [5.0, 6.0]  # it waits for the short one, with the link idle
    assert in_order(dues, FREE)[1].late > 0 and some_order_is_in_time(dues, FREE)


def test_e1_24_each_by_itself_overlaps_and_comes_too_late():
    dues = [Due(f"layer {i}", 8, 6.0 + i) for i in range(4)]
    alone = by_itself(dues, LINK)
    assert any(a.end > b.start for a, b in pairwise(alone))  # two at a time on one link
    assert max(one.late for one in first_come(alone, LINK)) > 5
    assert lacking(dues, LINK) > 0  # and here no order would do: the link is too slow
    faster = LINK._replace(read=6.0)
    assert lacking(dues, faster) <= 0 and max(one.late for one in backwards(dues, faster)) <= 0
    late = max(one.late for one in first_come(by_itself(dues, faster), faster))
    assert late > 0
    enough = first_come(by_itself(dues, faster, margin=late), faster)  # a margin that depends on all of them
    assert max(one.late for one in enough) == pytest.approx(0, abs=1e-9)

"""Booking: nothing is taken twice, nobody is delayed by who comes later, and each wait has a bound that is proved."""

from hypothesis import given
from hypothesis import strategies as st

from reference.networks.booking import Bookings

THINGS = "abcde"
REQUESTS = st.lists(
    st.tuples(st.integers(0, 6), st.sets(st.sampled_from(THINGS), min_size=1, max_size=4), st.integers(0, 9)),
    max_size=40,
)  # seconds since the one before it, its way, how long it holds it


def booked(requests):
    """(now, way, lasts, start) of each."""
    bookings, now, found = Bookings(), 0, []
    for later, way, lasts in requests:
        now += later
        found.append((now, way, lasts, bookings.book(now, sorted(way), lasts)))
    return found


def test_first_come_first_served_and_holes_are_used():
    bookings = Bookings()
    assert [bookings.book(0, *asked) for asked in (("a", 4), ("ab", 4), ("b", 2), ("b", 3), ("b", 1), ("c", 9))] == [
        0, 4, 0, 8, 2, 0,
    ]  # fmt: skip
    assert bookings.book(3, "b", 1) == 3  # the last hole
    assert bookings.book(3, "bc", 1) == 11


@given(REQUESTS)
def test_nothing_is_taken_twice_and_the_start_is_the_earliest_that_is_free(requests):
    """Against a calendar of whole seconds."""
    taken = {thing: set() for thing in THINGS}
    for now, way, lasts, start in booked(requests):
        hold = range(start, start + lasts)
        assert start >= now and not any(taken[thing] & set(hold) for thing in way)
        for earlier in range(now, start):
            wanted = set(range(earlier, earlier + lasts)) or {earlier}
            assert any(taken[thing] & wanted for thing in way), "it could have started earlier"
        for thing in way:
            taken[thing] |= set(hold)


@given(REQUESTS)
def test_the_wait_is_bounded_by_what_was_booked_before_on_the_same_way(requests):
    """Each of these is gone through once, and may leave a hole before it that is too short by a moment."""
    seen = []
    for now, way, lasts, start in booked(requests):
        before = [held for s, held, w in seen if w & way and s + held > now]
        assert start - now <= sum(held + lasts for held in before)
        seen.append((start, lasts, way))


@given(REQUESTS, st.integers(0, 40))
def test_who_comes_later_delays_nobody(requests, first):
    assert booked(requests)[:first] == booked(requests[:first])

"""Booking: who waits for a busy port or link, and until when. First come, first served; holes are for who fits.

Idea      When a message is ready it books its whole way: the first stretch of time, long enough for it, in which both
          ports and all links are free. What has been booked is never moved, so nobody who comes later delays it: its
          end is known at once. A short message may go first in a hole that no earlier one can use; schedulers
          of supercomputers call this conservative backfilling.
Exact     A message waits at most as long as those booked before it on its ports and links take together, and once its
          own length more for each of them: the holes before its start are too short for it. (test_booking.py)
Before    each message, whenever something became free, tried to take its whole way at once: one that needs two things
          which others want in turn could wait for ever
Left out  Packets. A real network lets messages share a link, so that a short one need not wait until a long one is
          through; worlds/virtual/fair.py does that. A message that is under way is never interrupted here.
Source    Feitelson & Weil, "Utilization and predictability in scheduling the IBM SP2 with backfilling" (1998).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Hashable, Sequence


class Bookings:
    """When each port and link is taken: things have any hashable names. Calls come in the order of time."""

    def __init__(self) -> None:
        # thing -> begin, end, begin, end, ... (s), ascending: neighbours that touch are one
        self._taken: defaultdict[Hashable, list[float]] = defaultdict(list)

    def book(self, now: float, way: Sequence[Hashable], lasts: float) -> float:
        """Take all things of the way for `lasts` seconds from some time on, the earliest from `now`; return it."""
        return self.take(now, self.taken(way), lasts)

    def taken(self, way: Sequence[Hashable]) -> list[list[float]]:
        """What is known of each thing of a way: for `take`, if the way is to be booked again and again."""
        return [self._taken[thing] for thing in way]

    def take(self, now: float, taken: list[list[float]], lasts: float) -> float:
        """`book` for what `taken` has returned."""
        start = now
        for times in taken:
            if times and times[-1] > now:
                break
        else:  # all is free from now on, as it mostly is: no need to look for a hole
            for times in taken if lasts else ():
                times[:] = now, now + lasts
            return now
        while (fits := max([_free(times, start, lasts) for times in taken])) > start:
            start = fits
        for times in taken:
            _take(times, now, start, start + lasts)
        return start


def _free(times: list[float], start: float, lasts: float) -> float:
    """From when on a thing is free for so long, `start` at the earliest."""
    if not times or times[-1] <= start:
        return start
    place = bisect_right(times, start)
    if place % 2:  # within a stretch that is taken
        start, place = times[place], place + 1
    while place < len(times) and times[place] < start + lasts:
        start, place = times[place + 1], place + 2
    return start


def _take(times: list[float], now: float, start: float, end: float) -> None:
    """Note that a thing is taken from `start` to `end`; forget what is over at `now`."""
    if start == end:
        return
    if not times or times[-1] <= now:
        times[:] = start, end
    elif times[-1] == start:
        times[-1] = end
    else:
        over = bisect_right(times, now) // 2 * 2
        place = bisect_right(times, start)
        joins = [start, end]
        before = place > over and times[place - 1] == start
        behind = place < len(times) and times[place] == end
        times[place - before : place + behind] = joins[before : 2 - behind]
        del times[:over]

"""A timeline: what every rank did when. It draws itself and exports to Perfetto."""

from __future__ import annotations

from typing import NamedTuple


class Event(NamedTuple):
    """Something a rank did from `start` to `end` seconds.

    `kind` is "send", "recv", "wait" or "compute"; a send and a receive name the other rank (`peer`, numbered as in
    the world), how many bytes went over, and the group they belong to; a wait or a computation may have a `label`.
    """

    rank: int
    kind: str
    start: float
    end: float
    peer: int = -1
    nbytes: int = 0
    group: str = ""
    label: str = ""


class Timeline(list):
    """A list of Events in the order in which they were recorded."""

"""A timeline: what every rank did when. It draws itself and exports to Perfetto's JSON.

In the picture each rank has two lanes, because links are full duplex: what it sends above, what it receives below;
computations fill both, and waiting is a thin line between them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from ctypes import py_object, pythonapi
from pathlib import Path
from typing import Any, NamedTuple

COLOURS = {"send": "#0072B2", "recv": "#E69F00", "compute": "#009E73", "wait": "#BBBBBB"}  # Okabe & Ito (2008)
_LANES = {"send": (-0.42, 0.4), "recv": (0.02, 0.4), "compute": (-0.42, 0.84), "wait": (-0.02, 0.04)}  # bottom, height
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


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


class Record:
    """Events while they happen: the fields of all of them in one list, because an object for each takes as long to
    make as a message to match, and Python's garbage collector would look at all of them again and again.

    `add` takes the eight fields of an Event, of one or several, in one sequence.
    """

    def __init__(self) -> None:
        self.fields: list[Any] = []
        pythonapi.PyObject_GC_UnTrack(py_object(self.fields))  # words and numbers: nothing to search for circles
        self.add = self.fields.extend

    def lengthened(self, place: int, start: float, end: float, label: str) -> bool:
        """Let the event whose fields begin at `place` end later, if it has this label and ends at `start`."""
        found = place >= 0 and (self.fields[place + 7], self.fields[place + 3]) == (label, start)
        if found:
            self.fields[place + 3] = end
        return found

    def timeline(self) -> Timeline:
        """The events so far."""
        fields = iter(self.fields)
        return Timeline(map(Event, *[fields] * len(Event._fields)))


class Timeline(list):
    """A list of Events in the order in which they were recorded."""

    @property
    def ranks(self) -> int:
        """How many ranks appear in it."""
        return 1 + max((event.rank for event in self), default=-1)

    @property
    def seconds(self) -> float:
        """When the last event ends."""
        return max((event.end for event in self), default=0.0)

    def of(self, rank: int | None = None, kind: str | None = None) -> Timeline:
        """The events of one rank, of one kind, or both."""
        return Timeline(e for e in self if rank in (None, e.rank) and kind in (None, e.kind))

    def busy(self, rank: int, kind: str) -> float:
        """Seconds that `rank` spent on events of a kind."""
        return sum(event.end - event.start for event in self.of(rank, kind))

    def draw(self, ax=None, label: Callable[[Event], str] | None = None, title: str = ""):
        """Draw the timeline into a matplotlib Axes (a new one unless given) and return the Axes.

        `label(event)` is written into the bars of sends, receives and computations; by default nothing is.
        """
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(figsize=(8, 0.6 + 0.45 * max(self.ranks, 1)), layout="constrained")
        scale, unit = next(((s, u) for s, u in _UNITS if self.seconds >= s), _UNITS[-1])
        for kind in ("wait", "compute", "send", "recv"):
            bottom, height = _LANES[kind]
            events = self.of(kind=kind)
            ax.barh(
                [event.rank + bottom for event in events],
                [(event.end - event.start) / scale for event in events],
                height,
                [event.start / scale for event in events],
                align="edge",
                color=COLOURS[kind],
                edgecolor="white",
                linewidth=0.5,
                label=kind if events else None,
            )
            if label is None or kind == "wait":
                continue
            for event in events:
                middle = (event.start + event.end) / 2 / scale, event.rank + bottom + height / 2
                colour = "black" if kind == "recv" else "white"
                ax.text(*middle, label(event), ha="center", va="center", fontsize="x-small", color=colour)
        ax.set(xlabel=f"time ({unit})", ylabel="rank", yticks=range(self.ranks))
        ax.set_title(title, loc="left", fontsize="medium")
        ax.invert_yaxis()
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(left=False)
        if self:
            ax.legend(ncols=4, loc="lower right", bbox_to_anchor=(1, 1), frameon=False, fontsize="small")
        return ax

    def to_perfetto(self, path: str | Path | None = None) -> str:
        """The timeline as Chrome-trace JSON, which ui.perfetto.dev and chrome://tracing open; also written to `path`.

        A rank is a process with one track a kind; times are in microseconds; arrows join each send with its receive.
        """
        tracks = {kind: number for number, kind in enumerate(_LANES)}
        rows = [
            {"ph": "M", "name": "process_name", "pid": rank, "args": {"name": f"rank {rank}"}}
            for rank in range(self.ranks)
        ]
        rows += [
            {"ph": "M", "name": "thread_name", "pid": rank, "tid": number, "args": {"name": kind}}
            for rank in range(self.ranks)
            for kind, number in tracks.items()
        ]
        for number, event in enumerate(self):
            place = {"pid": event.rank, "tid": tracks[event.kind]}
            name = event.label or (f"{event.kind} {event.peer}" if event.peer >= 0 else event.kind)
            times = {"ts": event.start * 1e6, "dur": (event.end - event.start) * 1e6}
            args = {"bytes": event.nbytes, "peer": event.peer, "group": event.group} if event.peer >= 0 else {}
            rows.append({"ph": "X", "name": name, "cat": event.kind, **place, **times, "args": args})
            if event.kind == "send" and number + 1 < len(self) and self[number + 1].kind == "recv":
                other = {"pid": event.peer, "tid": tracks["recv"], "ts": event.end * 1e6}
                flow = {"name": "message", "cat": "message", "id": number}
                rows.append({"ph": "s", **flow, **place, "ts": event.start * 1e6})
                rows.append({"ph": "f", "bp": "e", **flow, **other})
        text = json.dumps({"traceEvents": rows, "displayTimeUnit": "ns"})
        if path is not None:
            Path(path).write_text(text)
        return text

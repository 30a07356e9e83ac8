"""Drawings of schedules: as text, as a figure, as a table and as a timeline that Perfetto opens.

Idea      `picture` writes the order, `gantt` the times, one column per unit of time: a small case is read by eye, and
          is a test.
          `draw` has one bar per action. Colours are Okabe and Ito's (2008), which the colour-blind tell apart, and W
          has lower bars; a rank's second, third and fourth chunks are ever lighter, and more look as the fourth does; a
          number in a bar is its micro-batch.
Exact     Times may be simulated or recorded: nothing here needs starts that are aligned.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Any, NamedTuple

from ...perf.timeline import Event, Timeline
from ..messages import messages
from ..schedule import KINDS, Schedule
from ..simulate import Times, activations
from .versions import kept_versions

PASS_COLOURS = {"F": "#0072B2", "B": "#E69F00", "I": "#D55E00", "W": "#009E73", "S": "#000000"}  # Okabe & Ito (2008)
LIGHTER = (0.0, 0.5, 0.68, 0.8)  # how much white is in the colours of a rank's first, second, ... chunk
HEIGHTS = {"W": 0.65}  # of a bar, where it is not 1: what can wait is told apart by its shape as well
SIZE = 7.5  # points of the number in a bar


def labels(schedule: Schedule) -> list[list[str]]:
    """Of each rank its actions as short as they can be: "F0", and "2F0" where a rank has several stages."""
    many = any(len(chunks) > 1 for chunks in schedule.chunks)
    return [[str(action) if many else f"{action.kind}{action.micro}" for action in order] for order in schedule]


def picture(schedule: Schedule) -> list[str]:
    """Of each rank its order, "F0 F1 B0 B1"; "+" joins two actions that run side by side.

    The optimizer steps that end a schedule with a flush are left out.
    """
    rows = []
    for order, names, pairs in zip(schedule, labels(schedule), schedule.overlapped or [()] * schedule.ranks):
        if schedule.weights == "flush":
            names = names[: 1 + max((k for k, action in enumerate(order) if action.kind != "S"), default=-1)]
        rows.append("".join(name + ("+" if k in pairs else " ") for k, name in enumerate(names)).rstrip())
    return rows


def gantt(times: Times, unit: float | None = None) -> list[str]:
    """Of each rank a line with one column per `unit` seconds: the action that begins there, dashes as long as it goes
    on, dots where the rank is idle.

    unit: the shortest action unless told, and at least a thousandth of the whole. Times are rounded to whole columns;
    what takes less than half of one may not be seen, such as an optimizer step of no time.
    """
    begin, names = times.begin, labels(times.schedule)
    rows = [[(n, s - begin, e - begin) for n, s, e in zip(*row)] for row in zip(names, times.starts, times.ends)]
    shortest = min((end - start for row in rows for _, start, end in row if end > start), default=1.0)
    unit = unit or max(shortest, times.makespan / 1000)
    cells = [_columns(row, unit) for row in rows]
    total = max((start + length for row in cells for _, start, length in row), default=0)
    width = max((-(-(len(name) + 1) // length) - 1 for row in cells for name, _, length in row), default=1)
    return [_cells(row, max(width, 2), total) for row in cells]


def _columns(row: list[tuple[str, float, float]], unit: float) -> list[tuple[str, int, int]]:
    """(name, first column, columns) of each action that is long enough to be seen; side by side as one."""
    found: list[tuple[str, int, int]] = []
    for name, start, end in sorted(row, key=itemgetter(1)):
        first, last = round(start / unit), round(end / unit)
        if found and first < found[-1][1] + found[-1][2]:
            before, first, length = found.pop()
            found.append((f"{before}+{name}", first, max(length, last - first)))
        elif last > first:
            found.append((name, first, last - first))
    return found


def _cells(row: list[tuple[str, int, int]], width: int, total: int) -> str:
    """The line: `total` columns of `width` characters and a blank."""
    line = " ".join(["." * width] * total)
    for name, first, length in row:
        cell = name.ljust(length * (width + 1) - 1, "-" if length > 1 else " ")
        at = first * (width + 1)
        line = line[:at] + cell + line[at + len(cell) :]
    return line.rstrip()


class Bar(NamedTuple):
    """An action in the figure: its kind, which chunk of its rank, its number, and where it lies (seconds, ranks)."""

    kind: str
    chunk: int
    label: str
    start: float
    end: float
    bottom: float
    height: float


def bars(times: Times) -> Iterator[Bar]:
    """The bars of the figure; two actions side by side have half the height each. What takes no time is left out."""
    schedule, begin = times.schedule, times.begin
    for r, (order, starts, ends) in enumerate(zip(schedule, times.starts, times.ends)):
        pairs = schedule.overlapped[r] if schedule.overlapped else ()
        for k, (action, start, end) in enumerate(zip(order, starts, ends)):
            if end > start:
                height = 0.42 if k in pairs or k - 1 in pairs else 0.84 * HEIGHTS.get(action.kind, 1.0)
                bottom = r if k - 1 in pairs else r - 0.42 if k in pairs else r - height / 2
                chunk = schedule.chunks[r].index(action.stage)
                yield Bar(action.kind, chunk, str(action.micro), start - begin, end - begin, bottom, height)


def draw(times: Times, ax=None, title: str = ""):
    """Draw when each rank does what into a matplotlib Axes (a new one unless given) and return the Axes.

    The number in a bar is its micro-batch, where there is room for it; grey is idle.
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import EngFormatter

    ranks, seconds = times.schedule.ranks, times.makespan
    if ax is None:
        _, ax = plt.subplots(figsize=(5.2, 0.95 + 0.27 * max(ranks, 1)), layout="constrained")
    ax.barh(range(ranks), seconds, 0.84, color="#EEEEEE", zorder=0)
    figure: Any = ax.figure
    room = figure.get_figwidth() * ax.get_position().width * 72 / (seconds or 1.0)  # points a second
    groups: dict[tuple[int, str], list[Bar]] = {}
    for bar in bars(times):
        groups.setdefault((bar.chunk, bar.kind), []).append(bar)
    for group in groups.values():
        _draw_group(ax, group, room)
    ax.set(ylabel="rank", yticks=range(ranks), xlim=(0, seconds or 1.0), ylim=(ranks - 0.45, -0.55))
    ax.xaxis.set_major_formatter(EngFormatter("s"))
    ax.set_title(title, loc="left", fontsize="medium")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(left=False, labelsize="small")
    _legend(ax, {key for key, group in groups.items() if room * max(bar.end - bar.start for bar in group) > 1})
    return ax


def _draw_group(ax, group: list[Bar], room: float) -> None:
    """The bars of one kind and chunk, with their numbers."""
    kind, chunk = group[0].kind, group[0].chunk
    ax.barh(
        [bar.bottom for bar in group],
        [bar.end - bar.start for bar in group],
        [bar.height for bar in group],
        [bar.start for bar in group],
        align="edge",
        **_style(kind, chunk),
    )
    for bar in group:
        if 0.65 * SIZE * len(bar.label) < room * (bar.end - bar.start):
            middle = (bar.start + bar.end) / 2, bar.bottom + bar.height / 2
            colour = "white" if kind in "FS" and not chunk else "black"
            ax.text(*middle, bar.label, ha="center", va="center", fontsize=SIZE, color=colour)


def _style(kind: str, chunk: int) -> dict:
    """The colour of a kind, lighter for later chunks."""
    white = LIGHTER[min(chunk, len(LIGHTER) - 1)]
    colour = [int(PASS_COLOURS[kind][i : i + 2], 16) / 255 * (1 - white) + white for i in (1, 3, 5)]
    return {"facecolor": colour, "edgecolor": "white", "linewidth": 0.5}


def _legend(ax, seen: set[tuple[int, str]]) -> None:
    """What the colours mean, below the axes: of the (chunk, kind) that are seen; of later chunks F stands for all."""
    from matplotlib.patches import Patch

    kinds = [kind for kind in KINDS if any(kind == k for _, k in seen)]
    handles = [Patch(**_style(kind, 0), label=KINDS[kind]) for kind in kinds]
    chunks = 1 + max((chunk for chunk, _ in seen), default=0)
    names = ("second chunk", "third chunk", "fourth chunk" if chunks <= len(LIGHTER) else "later chunks")
    for c, name in enumerate(names[: chunks - 1], start=1):
        handles.append(Patch(**_style(kinds[0], c), label=f"{KINDS[kinds[0]]}, {name}"))
    if handles:
        place = {"loc": "upper left", "bbox_to_anchor": (0, 0), "borderaxespad": 2.4}
        ax.legend(handles=handles, ncols=3, frameon=False, fontsize="x-small", handlelength=1.2, **place)


class Row(NamedTuple):
    """What one rank does: seconds busy and idle, idle as a share, the most activations and versions it keeps."""

    rank: int
    stages: list[int]
    busy: float
    idle: float
    bubble: float
    activations: float
    versions: int


def table(times: Times) -> list[Row]:
    """One row a rank. Activations are counted as in simulate.activations, one for each micro-batch and stage."""
    schedule, seconds = times.schedule, times.makespan
    kept = zip(schedule.chunks, times.busy, activations(schedule), kept_versions(schedule))
    return [
        Row(r, stages, busy, seconds - busy, 1 - busy / seconds if seconds else 0.0, peak, versions)
        for r, (stages, busy, peak, versions) in enumerate(kept)
    ]


def timeline(times: Times, send: float | None = None) -> Timeline:
    """The same as a Timeline, which writes Perfetto's JSON: `timeline(times).to_perfetto("schedule.json")`.

    send: seconds that a message takes; the messages are then in it too, each from the end of the action that made it,
    and Perfetto draws arrows between the ranks.
    """
    events = Timeline()
    for r, (order, starts, ends) in enumerate(zip(times.schedule, times.starts, times.ends)):
        passes = zip(order, starts, ends)
        events += [Event(r, "compute", start, end, label=str(action)) for action, start, end in passes]
    if send is None:
        return events
    for r, (exchanges, ends) in enumerate(zip(messages(times.schedule), times.ends)):
        for exchange, end in zip(exchanges, ends):
            for message in exchange.sends:
                label = str(message)
                events.append(Event(r, "send", end, end + send, message.peer, label=label))
                events.append(Event(message.peer, "recv", end, end + send, r, label=label))
    return events

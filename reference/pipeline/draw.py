"""Schedules as text, as a figure, as a table and as a timeline that Perfetto opens.

Text      `picture` writes the order, `gantt` the times, one column per unit of time: a small case is read by eye, and
          is a test.
Figure    `draw` has one bar per action. Colours are Okabe and Ito's (2008), which the colour-blind tell apart; chunks
          differ by lightness and by hatching; a number in a bar is its micro-batch.
Times     may be simulated or recorded: nothing here needs starts that are aligned.
"""

from __future__ import annotations

from .schedule import Schedule
from .simulate import Times


def labels(schedule: Schedule) -> list[list[str]]:
    """Of each rank its actions as short as they can be: "F0", and "2F0" where a rank has several stages."""
    many = any(len(chunks) > 1 for chunks in schedule.chunks)
    return [[str(action) if many else f"{action.kind}{action.micro}" for action in order] for order in schedule]


def picture(schedule: Schedule) -> list[str]:
    """Of each rank its order, "F0 F1 B0 B1"; "+" joins two actions that run side by side.

    The optimizer steps that end a schedule with a flush are left out.
    """
    rows = []
    for order, names, pairs in zip(schedule, labels(schedule), schedule.together or [()] * schedule.ranks):
        if schedule.weights == "flush":
            names = names[: 1 + max((k for k, action in enumerate(order) if action.kind != "S"), default=-1)]
        rows.append("".join(name + ("+" if k in pairs else " ") for k, name in enumerate(names)).rstrip())
    return rows


def gantt(times: Times, unit: float | None = None) -> list[str]:
    """Of each rank a line with one column per `unit` seconds: the action that begins there, dashes as long as it goes
    on, dots where the rank is idle.

    unit: the shortest action unless told. Times are rounded to whole columns; what takes less than half of one is left
    out, such as an optimizer step of no time.
    """
    spans = [list(zip(names, s, e)) for names, s, e in zip(labels(times.schedule), times.starts, times.ends)]
    lengths = [end - start for row in spans for _, start, end in row if end > start]
    unit = unit or min(lengths, default=1.0)
    rows = [_columns(row, unit) for row in spans]
    total = max((start + length for row in rows for _, start, length in row), default=0)
    width = max((-(-(len(name) + 1) // length) - 1 for row in rows for name, _, length in row), default=1)
    return [_cells(row, max(width, 2), total) for row in rows]


def _columns(row: list[tuple[str, float, float]], unit: float) -> list[tuple[str, int, int]]:
    """(name, first column, columns) of each action that is long enough to be seen; side by side as one."""
    found: list[tuple[str, int, int]] = []
    for name, start, end in row:
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

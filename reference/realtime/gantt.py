"""Gantt charts: a run, drawn from what it did. In text, and with matplotlib."""

from __future__ import annotations

from typing import Any

from .runs import SimulatedRun


def text(run: SimulatedRun, end: int | None = None) -> str:
    """A row a task, a column a tick: the digit of the processor where it executes (# if there is one only).

    A dot while a job waits, ! where it is late; a row of ticks below. For short runs.
    """
    end = run.end if end is None else end
    names = list(dict.fromkeys(job.task.name for job in run.jobs))
    processors = sorted({piece.processor for piece in run.slices})
    width = max(map(len, names), default=0)
    rows = []
    for name in names:
        row = [" "] * end
        for job in run.of(name):
            done = run.end if job.finish is None else job.finish
            for tick in range(max(0, job.release), min(done, end)):
                row[tick] = "!" if tick >= job.deadline or row[tick] == "!" else "."
        for piece in run.slices:
            if piece.task == name:
                mark = "#" if len(processors) == 1 else str(processors.index(piece.processor) % 10)
                for tick in range(piece.start, min(piece.end, end)):
                    row[tick] = mark
        rows.append(f"{name:<{width}} |{''.join(row)}|")
    scale = "".join("+" if tick % 5 == 0 else "-" for tick in range(end))
    return "\n".join([*rows, f"{'':<{width}} |{scale}|"])


def draw(run: SimulatedRun, axes: Any = None, end: int | None = None, unit: str = "ticks") -> Any:
    """Draw a run: a row a task, arrows up at releases, marks at deadlines, late ends in red. Return matplotlib's
    axes.
    """
    import matplotlib.pyplot as plt

    end = run.end if end is None else end
    names = list(dict.fromkeys(job.task.name for job in run.jobs))
    processors = sorted({piece.processor for piece in run.slices})
    if axes is None:
        _, axes = plt.subplots(figsize=(9, 0.6 * len(names) + 1.2), layout="constrained")
    row = {name: len(names) - 1 - place for place, name in enumerate(names)}
    for place, processor in enumerate(processors):
        pieces = [piece for piece in run.slices if piece.processor == processor and piece.start < end]
        for number, piece in enumerate(pieces):
            label = processor if number == 0 else None
            axes.barh(row[piece.task], min(piece.end, end) - piece.start, left=piece.start, height=0.5,
                      color=f"C{place}", edgecolor="white", linewidth=0.5, label=label)  # fmt: skip
    for job in run.jobs:
        y = row[job.task.name]
        if job.release <= end:
            axes.annotate(
                "", (job.release, y + 0.45), (job.release, y - 0.3), arrowprops={"arrowstyle": "->", "lw": 0.8}
            )
        if job.deadline <= end:
            axes.plot([job.deadline] * 2, [y - 0.35, y + 0.35], color="black", linestyle=":", linewidth=1)
        if job.finish is not None and job.deadline < job.finish <= end:
            axes.plot([job.deadline, job.finish], [y - 0.33] * 2, color="red", linewidth=2.5)
    axes.set_yticks(list(row.values()), list(row))
    axes.set_xlim(0, end)
    axes.set_xlabel(f"time ({unit})")
    if len(processors) > 1:
        axes.legend(loc="upper right", fontsize="small")
    return axes

"""Published runs beside what the model predicts for them, and the few constants that were fitted on some of them.

Idea      Layout, batch and length of a published run give a prediction of its step; its own seconds, or its tokens per
          second, are the measurement. Step time is compared, never MFU: sources count FLOPs in different ways.
          Rows with use = "fit" decide the constants of CONSTANTS, by least squares of the logarithm; all other rows
          nobody fitted. `summary` keeps the two apart.
Left out  The efficiency of a network's levels is not fitted here: of NVLink 3 it is an alpha-beta fit of nccl-tests on
          one node (211 of 300 GB/s), of ports what an all-reduce of 1 GiB over 4 nodes of H100 reached (338 of 400
          GB/s, Bekman, github.com/stas00/ml-engineering network/benchmarks @744d01e1); of NVLink 4, and of ports
          of other kinds, it is assumed. So is the share of its memory's bandwidth that
          element-wise work reaches, 0.8: `unfused` cannot be told from it.
Source    data/published_runs.csv, with a citation for each table.
Try       python -m reference.planner.published
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from ..perf.recipes import ADAM, ADAM_MIXED, Recipe
from .architecture import architecture
from .bytes_held import held
from .cluster import Cluster, cluster
from .spec import LayoutSpec
from .step_seconds import StepSeconds, step_seconds

GIB = 2**30
CONSTANTS = {
    "dgx-a100": ("matmul", "attention", "unfused"),
    "dgx-h100": ("matmul", "attention"),
    "dgx-h100-fp8": ("matmul",),
    "h100-800g": ("matmul",),
    "grand-teton": ("matmul",),
    "grand-teton-fp8": ("matmul", "attention"),
}
"""Machine -> what was fitted. Other machines of these accelerators have the same constants."""


class PublishedRun(NamedTuple):
    """A row of a published table. seconds: of a step; GiB: of the rank that holds most, None if not told."""

    table: str
    model: str
    machine: str
    spec: LayoutSpec
    global_batch: int
    length: int
    seconds: float
    GiB: float | None
    fitted: bool


class Residual(NamedTuple):
    """A run and its prediction."""

    run: PublishedRun
    seconds: StepSeconds
    GiB: float

    @property
    def error(self) -> float:
        """Predicted / published - 1, of the seconds."""
        return self.seconds.total / self.run.seconds - 1

    @property
    def memory_error(self) -> float | None:
        """The same of the memory, if it is published."""
        return None if self.run.GiB is None else self.GiB / self.run.GiB - 1


class TableError(NamedTuple):
    """Mean |error| of a table's rows that were fitted on and of those that were not; None where there are none."""

    fitted: float | None
    held_out: float | None
    rows: int


@cache
def runs() -> tuple[PublishedRun, ...]:
    """All rows of data/published_runs.csv."""
    lines = (files(__package__) / "data" / "published_runs.csv").read_text().splitlines()
    return tuple(map(_run, csv.DictReader(line for line in lines if not line.startswith("#"))))


def _run(row: Mapping[str, str]) -> PublishedRun:
    options = row["options"].split()
    degrees: dict[str, Any] = {
        name: int(row[name] or 1) for name in ("data", "tensor", "stages", "context", "chunks", "micro_batch")
    }
    spec = LayoutSpec(
        **degrees,
        zero=int(row["zero"] or 0),
        recompute=row["recompute"] or "none",
        share=float(row["share"] or 1),
        early_stop="early-stop" in options,
        sum_bytes=int(next((each[4:] for each in options if each.startswith("sum=")), 0)),
        async_tensor="async-tensor" in options,
        gather_bytes=1 if "gather-8" in options else 2,
        overlap_context="no-overlap-context" not in options,
        repeat_heads="repeat-heads" in options,
        flash="no-flash" not in options,
        sequence_parallel="no-sp" not in options,
        fused="eager" not in options,
        overlap_tensor="no-overlap-tensor" not in options,
        overlap_data="no-overlap-data" not in options,
        recipe=_recipe(options),
    )
    length = int(row["length"] or architecture(row["model"]).length)
    memory = float(row["GiB"]) if row["GiB"] else None
    seconds, batch = float(row["seconds"]), int(row["global_batch"])
    return PublishedRun(
        row["table"], row["model"], row["machine"], spec, batch, length, seconds, memory, row["use"] == "fit"
    )


def _recipe(options: Sequence[str]) -> Recipe:
    if "fp32-gradients" in options:
        return ADAM_MIXED._replace(gradients=4)
    return ADAM if "fp32-states" in options else ADAM_MIXED


def residual(run: PublishedRun, machine: Cluster | None = None) -> Residual:
    """The prediction of a run; machine: instead of the one it names. Layers need not divide among stages here."""
    model, machine = architecture(run.model), machine or cluster(run.machine)
    seconds = step_seconds(model, run.spec, machine, run.global_batch, run.length)
    return Residual(run, seconds, held(model, run.spec, machine, run.global_batch, run.length).total / GIB)


def summary(chosen: Sequence[PublishedRun] | None = None, memory: bool = False) -> dict[str, TableError]:
    """Mean |error| of seconds (or of memory) by table, fitted rows and others apart."""
    found: dict[str, list[tuple[bool, float]]] = {}
    for each in map(residual, runs() if chosen is None else chosen):
        error = each.memory_error if memory else each.error
        if error is not None:  # memory was never fitted
            found.setdefault(each.run.table, []).append((each.run.fitted and not memory, abs(error)))
    return {
        name: TableError(_mean([x for fit, x in rows if fit]), _mean([x for fit, x in rows if not fit]), len(rows))
        for name, rows in found.items()
    }


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def fit(machine: str, steps: int = 60) -> dict[str, float]:
    """The constants of a machine that fit its rows best: least squares of log(predicted / published).

    One constant after the other moves by a step that halves when no move helps. Raises ValueError without rows.
    """
    names, rows = CONSTANTS[machine], [run for run in runs() if run.machine == machine and run.fitted]
    if not rows:
        raise ValueError(f"no row is for fitting the constants of {machine!r}")
    at = cluster(machine)

    def loss(values: Sequence[float]) -> float:
        changed: dict[str, Any] = dict(zip(names, values))
        tried = at._replace(**changed)
        return sum(math.log(1 + residual(run, tried).error) ** 2 for run in rows)

    best: tuple[float, ...] = tuple(0.5 if name != "unfused" else 2.0 for name in names)
    least, width = loss(best), 0.2
    for _ in range(steps):
        moves = [
            tuple(x * (1 + width * sign) if i == j else x for j, x in enumerate(best))
            for i in range(len(names))
            for sign in (-1, 1)
        ]
        lowest, where = min((loss(move), move) for move in moves)
        if lowest < least:
            least, best = lowest, where
        else:
            width /= 2
    return dict(zip(names, best))


def report(rows: bool = False) -> str:
    """Mean errors by table as text, seconds and memory; rows: with every row."""
    lines = [f"{'table':<28} {'rows':>4} {'fitted':>7} {'held out':>8} {'memory':>7}"]
    memory = summary(memory=True)
    for name, each in summary().items():
        shown = (_percent(x) for x in (each.fitted, each.held_out, memory[name].held_out if name in memory else None))
        lines.append("{:<28} {:>4} {:>7} {:>8} {:>7}".format(name, each.rows, *shown))
    if rows:
        lines += ["", f"{'table, model':<42} {'ranks':>5} {'published':>9} {'predicted':>9} {'error':>7}"]
        for each in map(residual, runs()):
            what = f"{each.run.table}, {each.run.model}"
            ranks, total = each.run.spec.ranks, each.seconds.total
            lines.append(f"{what:<42} {ranks:>5} {each.run.seconds:>7.2f} s {total:>7.2f} s {each.error:>+7.1%}")
    return "\n".join(lines)


def _percent(x: float | None) -> str:
    return "-" if x is None else f"{x:.1%}"


if __name__ == "__main__":
    print(report(rows=True))

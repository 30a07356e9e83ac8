"""Published figures beside what the simulator and the closed forms say. Where they differ, there is a reason.

Source    Qi et al., "Zero Bubble (Almost) Pipeline Parallelism" (2023), data/zero_bubble.csv: bubble rates, calculated
          from profiled costs. All 48 of 1F1B, ZB-H1, ZB-H2 and ZB-1p (their search found ZB-H1 again) come out to the
          last digit. Messages take `send`; a step is as long as a rank's longest span (ZB-H2 has a longer makespan).
          Narayanan et al. (2021), data/megatron.csv. Without interleaving, points of their figure 12 follow m/(m + p -
          1) within 2 %. With it, their scripts set two layers a virtual stage (v = 4); volume.py has a model.
          Korthikanti et al. (2022), data/korthikanti.csv: 1 + (p - 1)/(p v) times the activations of all layers,
          exactly what `peaks` counts.
          DualPipe: its README, data/dual_pipe.csv: the bubble of DualPipe is exact for F = I >= W, of the rank in the
          middle.
Exact     1F1B-I: 12 rates of the zero-bubble paper, with layers / p chunks a rank, published 2 to 4 % below ours. The
          authors' script (efficiency.py in their repository) has rank 0 wait for a message from rank p - 1 only if it
          is the first of a group, and likewise backward. So p messages are missing on the longest path; without these
          we find their 12 rates.
          ZB-2p is a found order, not a rule: find_schedule gets within 0.004 of it where that was tried.
          Samples a second, measured: 4 to 8 % fewer than the rates promise, 1F1B-I 8 to 15 %. Optimizer, data, and what
          messages take from passes are not in the model; whether it is one of them, the data do not tell.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Sequence
from importlib.resources import files
from typing import NamedTuple

from ..schedules.catalogue import make
from ..simulate import Costs, simulate
from .formulas import efficiency, idle, peaks

GIB = 2**30
OURS = {"1F1B": "1F1B", "1F1B-I": "interleaved 1F1B", "ZB-H1": "ZB-H1", "ZB-H2": "ZB-H2", "ZB-1p": "ZB-H1"}
"""Their names of schedules, and ours."""
MEASURED = ("1F1B", "1F1B-I", "ZB-1p")
"""Those of them that they timed."""


class Deviation(NamedTuple):
    """A published figure, and what we find instead."""

    what: str
    schedule: str
    published: float
    ours: float

    @property
    def off(self) -> float:
        """ours / published - 1."""
        return self.ours / self.published - 1


def read_rows(name: str) -> list[dict]:
    """The rows of data/NAME.csv, numbers as numbers; the lines with # say where they are from."""
    lines = (files(__package__) / "data" / f"{name}.csv").read_text().splitlines()
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    return [{key: _number(text) for key, text in row.items()} for row in rows]


def _number(text: str) -> float | str:
    try:
        return int(text) if text.isdigit() else float(text)
    except ValueError:
        return text


def row_costs(row: dict) -> Costs:
    """Those of a rank's share, in the units of the row."""
    return Costs(F=row["F"], I=row["I"], W=row["W"], send=row["send"])


def step_span(row: dict, schedule: str) -> float:
    """How long a step is, the zero-bubble way: the longest span of a rank, simulated. schedule: their name of it."""
    v = row["layers"] // row["p"] if schedule == "1F1B-I" else None
    planned = make(OURS[schedule], row["p"], row["m"], v)
    return max(simulate(planned, row_costs(row).chunked(v or 1)).spans)


def bubble_rate(row: dict, seconds: float) -> float:
    """1 - m (F + I + W) / seconds."""
    return 1 - row["m"] * (row["F"] + row["I"] + row["W"]) / seconds


def zero_bubble(*schedules: str, rows: Sequence[dict] | None = None) -> list[Deviation]:
    """Bubble rates of the zero-bubble paper, table 5, from its costs, table 6.

    schedules: those of OURS unless told; rows: those of read("zero_bubble") unless told. Raises ValueError for others.
    """
    return [
        Deviation(_case(row), name, row[name], bubble_rate(row, step_span(row, name)))
        for row in (read_rows("zero_bubble") if rows is None else rows)
        for name in _named(schedules, OURS)
    ]


def as_their_script(row: dict) -> float:
    """The bubble rate of 1F1B-I if p messages on the longest path are left out, as in the authors' script."""
    p, m, v = row["p"], row["m"], row["layers"] // row["p"]
    lost = idle("interleaved 1F1B", p, m, v, row_costs(row)) - p * row["send"]
    return lost / (lost + m * (row["F"] + row["I"] + row["W"]))


def throughput(*schedules: str, rows: Sequence[dict] | None = None) -> list[Deviation]:
    """Samples per GPU and second, measured, beside b m / (p * length of a step).

    schedules: those of MEASURED unless told; rows as in zero_bubble.
    """
    return [
        Deviation(_case(row), name, row[f"samples_{name}"], 1e3 * row["b"] * row["m"] / row["p"] / step_span(row, name))
        for row in (read_rows("zero_bubble") if rows is None else rows)
        for name in _named(schedules, MEASURED)
    ]


def _named(schedules: Sequence[str], known: Collection[str]) -> Collection[str]:
    """These schedules, or all that are known. Raises ValueError if one is not."""
    for name in schedules:
        if name not in known:
            raise ValueError(f"{name!r} is none of {', '.join(known)} (ZB-2p: find_schedule)")
    return schedules or known


def _case(row: dict) -> str:
    return f"{row['model']} p={row['p']} m={row['m']}"


def plain_megatron() -> list[Deviation]:
    """TFLOP/s per GPU without interleaving (figure 12): in proportion to m/(m + p - 1), the factor from their mean."""
    rows = [row for row in read_rows("megatron") if row["source"] == "figure 12" and row["interleaved"] == "no"]
    limit = sum(row["tflops"] / efficiency(12, row["batch"]) for row in rows) / len(rows)
    return [Deviation(f"m={row['batch']}", "1F1B", row["tflops"], limit * efficiency(12, row["batch"])) for row in rows]


def interleaved_memory() -> list[Deviation]:
    """GiB on the first rank: the shares that it keeps, times layers/p times s b h (10 + 24/t + 5 a s/(h t)) bytes."""
    s, found = 2048, []
    for row in read_rows("korthikanti"):
        h, t = row["hidden"], row["t"]
        layer = s * h * (10 + 24 / t + 5 * row["heads"] * s / (h * t))
        kept = peaks("interleaved 1F1B", row["p"], 4 * row["p"], row["v"])[0]
        gib = kept * row["layers"] / row["p"] * layer / GIB
        found.append(Deviation(row["model"], "interleaved 1F1B", row["GiB"], gib))
    return found


def dual_pipe(p: int, costs: Costs) -> dict[str, float]:
    """The formulas of DualPipe's README, in seconds. costs: of a stage; pair is their F&B. (ZB1P is ZB-H1.)"""
    F, B, W, pair = (costs.of(kind, 0) for kind in ("F", "B", "W", "pair"))
    return {"1F1B": (p - 1) * (F + B), "ZB1P": (p - 1) * (F + B - 2 * W), "DualPipe": (p // 2 - 1) * (pair + B - 3 * W)}

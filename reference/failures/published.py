"""Published failure rates: how often machines of real training runs failed, with sources.

`runs()` is data/runs.csv: what was counted, on how many GPUs, in how many days. `llama3_interruptions()` is Table 5 of
Grattafiori et al. 2024 (arXiv 2407.21783): the causes of the 419 unexpected interruptions.
A rate per GPU and day makes runs of different size comparable, as far as they count the same thing, which they do not:
the column `counted` says what each counts. Read it before you compare.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import NamedTuple

DATA = Path(__file__).parent / "data"
HOURS = 24.0  # of a day


class FailureCount(NamedTuple):
    """A published count of failures: of how many GPUs, in how many days, what was counted, and by whom."""

    run: str
    gpu: str
    gpus: int
    days: float
    failures: float
    counted: str
    source: str
    seen: str

    @property
    def rate(self) -> float:
        """Failures of one GPU in one day."""
        return self.failures / (self.gpus * self.days)

    def mtbf(self, gpus: int | None = None) -> float:
        """Mean hours between failures of a job with so many GPUs at this rate; of the run itself by default."""
        return HOURS / (self.rate * (gpus or self.gpus))


@cache
def runs() -> tuple[FailureCount, ...]:
    """All runs of data/runs.csv."""
    with (DATA / "runs.csv").open(newline="") as file:
        return tuple(
            FailureCount(
                row["run"],
                row["gpu"],
                int(row["gpus"]),
                float(row["days"]),
                float(row["failures"]),
                row["counted"],
                row["source"],
                row["seen"],
            )
            for row in csv.DictReader(file)
        )


@cache
def llama3_interruptions() -> dict[str, int]:
    """Unexpected interruptions of Llama 3 405B in 54 days on 16,384 H100, by the component that caused them."""
    with (DATA / "llama3_interruptions.csv").open(newline="") as file:
        return {row["component"]: int(row["interruptions"]) for row in csv.DictReader(file)}

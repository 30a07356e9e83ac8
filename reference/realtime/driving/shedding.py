"""Load shedding: look at coarser pictures while there is too much to do, and at finer ones when there is time again.

Idea      A job that took more than 80 % of its deadline makes the next one coarser. Ten in a row below 20 % make it
          finer. Between the two nothing changes: that is hysteresis. Where time goes with the pixels, twice the side
          takes four times as long, so what took below 20 % will take below 80 %. Where it does not (a fine picture may
          leave a cache), the finer one is late again; then twice as many calm jobs are asked for before the next try.
Before    one threshold: coarse at 81 %, which takes 20 %, so fine again, 81 %, ... each second job is at its limit
After     coarse at 81 %, and it stays there until the load has gone
Price     Each change costs accuracy at once, and comes one job too late.
Exact     It never promises the first job of an overload: that one may be late.
Left out  Prediction of the load; shedding of whole sensors.
"""

from __future__ import annotations

from dataclasses import dataclass

COARSER, FINER, PATIENCE = 0.8, 0.2, 10


@dataclass
class LoadShedder:
    """Chooses among `levels` resolutions, 0 the finest. With `finer` above a quarter of `coarser` it may oscillate."""

    levels: int
    coarser: float = COARSER
    finer: float = FINER
    patience: int = PATIENCE
    level: int = 0
    calm: int = 0
    tried: bool = False  # whether the last change was to a finer one, and no job has shown yet that it fits

    def after(self, response: float, deadline: float) -> int:
        """The level for the next job, when one has answered after `response`."""
        share = response / deadline
        self.calm = self.calm + 1 if share < self.finer else 0
        if share > self.coarser and self.level < self.levels - 1:
            self.patience *= 1 + self.tried
            self.level, self.calm, self.tried = self.level + 1, 0, False
        elif self.calm >= self.patience and self.level > 0:
            self.level, self.calm, self.tried = self.level - 1, 0, True
        else:
            self.tried = False
        return self.level

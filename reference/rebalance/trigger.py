"""Trigger: when an imbalance counts. Two thresholds and patience, so that noise and hiccups move nothing.

Idea      One threshold switches on and off with every wiggle around it. So there are two: above `high` for `patience`
          steps in a row means that something is slow, and only below `low` is it mended. This is hysteresis.
Before    imbalance   .21 .19 .22 .18     one threshold of .20:             on off on off
After     the same                        on above .20, off below .05:      on on  on on
Price     An imbalance between `low` and `high` that was never above `high` stays as it is.
"""

from __future__ import annotations


class Trigger:
    """Whether the shares have to change.

    high, low: imbalances (monitor.imbalance) at which it goes on and off; patience: steps in a row above `high`.
    Raises ValueError unless 0 <= low <= high and patience >= 1.
    """

    def __init__(self, high: float = 0.2, low: float = 0.05, patience: int = 10):
        if not 0 <= low <= high or patience < 1:
            raise ValueError(f"0 <= low <= high and patience >= 1, got {low=} {high=} {patience=}")
        self.high, self.low, self.patience = high, low, patience
        self.on = False
        self._above = 0  # steps in a row

    def update(self, imbalance: float) -> bool:
        """Take in one step's imbalance; whether the trigger is on."""
        self._above = self._above + 1 if imbalance > self.high else 0
        if self.on:
            self.on = imbalance >= self.low
        else:
            self.on = self._above >= self.patience
        return self.on

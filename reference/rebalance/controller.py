"""Controller: watches the imbalance, and decides on a small move when it pays, not too often.

Idea      Every rank runs the same controller on the same gathered numbers and so reaches the same decision. What it
          decides follows from what it has been told, so no rank has to announce anything.
After     trigger (above 20 % for 10 steps) -> at least 100 steps since the last move -> goal by speed -> at most 10 %
          of all units towards it -> does it pay in the steps that are left? -> transfers
Sends     Nothing; `monitor.gathered` brings the speeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .benefit import MoveCost, benefit, saved
from .monitor import imbalance
from .shares import Transfer, limited, target, transfers
from .trigger import Trigger


class Limits(NamedTuple):
    """How cautious a controller is. `AT_ONCE` is not cautious at all."""

    high: float = 0.2  # imbalance at which it wakes
    low: float = 0.05  # and below which it sleeps again
    patience: int = 10  # steps in a row above `high`
    fraction: float = 0.1  # of all units that one move takes at most
    interval: int = 100  # steps between two moves at least


ROUNDING = 1e-9  # seconds a step: what saves less saves nothing
CAREFUL, FREE = Limits(), MoveCost()
AT_ONCE = Limits(high=0.0, low=0.0, patience=1, fraction=1.0, interval=1)


class Controller:
    """Decides on moves, from the speeds of all ranks after each step.

    shares: units of each rank now; nodes: the node of each rank, for near transfers first.
    """

    def __init__(
        self,
        shares: Sequence[int],
        limits: Limits = CAREFUL,
        cost: MoveCost = FREE,
        nodes: Sequence[int] | None = None,
    ):
        self.shares, self.limits, self.cost, self.nodes = list(shares), limits, cost, nodes
        self.trigger = Trigger(limits.high, limits.low, limits.patience)
        self._since = limits.interval  # steps since the last move

    def step(self, speeds: Sequence[float], remaining: float) -> list[Transfer]:
        """The transfers that are to be made now, mostly none; `shares` are then those after them.

        speeds: units per second of each rank; remaining: steps for which these speeds will last, as far as one knows.
        """
        self._since += 1
        on = self.trigger.update(imbalance(self.shares, speeds))
        if not on or self._since < self.limits.interval:
            return []
        goal = limited(self.shares, target(sum(self.shares), speeds), self.limits.fraction)
        moves = transfers(self.shares, goal, self.nodes)
        gain = saved(self.shares, goal, speeds)
        if gain < ROUNDING or benefit(gain, remaining, self.cost.seconds(moves)) <= 0:
            return []
        self.shares, self._since = goal, 0
        return moves

"""Cost against benefit: a move pays if the steps that are left save more seconds than it costs.

Idea      benefit = (seconds of a step now - after) * steps that are left - seconds of the move. The first difference is
          per step and the last term is paid once, so without the number of steps they cannot be compared.
          "Left" ends with the training, or when the rank recovers, whichever comes first.
Price     A transfer runs beside training, and only the part that delays steps counts: `exposed`. The switch is a pause.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from .monitor import busy
from .shares import Transfer


class MoveCost(NamedTuple):
    """What it costs to move units: bytes of one, bytes per second of a rank's port, how much of the transfer delays
    training (0: hidden, 1: training stands still meanwhile), and the pause of the switch in seconds.
    """

    unit_bytes: float = 0.0
    bandwidth: float = math.inf
    exposed: float = 1.0
    pause: float = 0.0

    def seconds(self, moves: Sequence[Transfer]) -> float:
        """Seconds by which these transfers delay training; 0 if there are none."""
        if not moves:
            return 0.0
        ports = [sum(move.units for move in moves if move[side] == rank) for side in (0, 1) for rank in _ranks(moves)]
        return self.exposed * max(ports) * self.unit_bytes / self.bandwidth + self.pause


def _ranks(moves: Sequence[Transfer]) -> set[int]:
    return {rank for move in moves for rank in move[:2]}


def saved(shares: Sequence[int], goal: Sequence[int], speeds: Sequence[float]) -> float:
    """Seconds that each step becomes shorter, below 0 if it becomes longer."""
    return float(busy(shares, speeds).max() - busy(goal, speeds).max())


def benefit(saved_per_step: float, steps: float, migration: float) -> float:
    """Seconds gained in all by a move that costs `migration` seconds, with so many steps left."""
    return saved_per_step * steps - migration


def break_even(saved_per_step: float, migration: float) -> float:
    """After how many steps a move has paid for itself; infinity if it saves nothing."""
    return migration / saved_per_step if saved_per_step > 0 else math.inf

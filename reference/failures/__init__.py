"""Failures: how often to save, how many spares to keep, and how to tell who is dead.

interval.py works out how often a checkpoint pays: Young's and Daly's formulas and the exact optimum.
"""

from .interval import Account, account, daly, daly_higher_order, exact, expected_seconds, slowdown, wasted, young

__all__ = [
    "Account",
    "account",
    "daly",
    "daly_higher_order",
    "exact",
    "expected_seconds",
    "slowdown",
    "wasted",
    "young",
]

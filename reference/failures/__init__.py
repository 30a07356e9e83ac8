"""Failures: how often to save, how many spares to keep, and how to tell who is dead.

interval.py works out how often a checkpoint pays; simulate.py plays a job that fails, whatever its failures are like;
multilevel.py has cheap checkpoints for common failures and dear ones for rare ones; spares.py counts idle machines.
heartbeat.py and phi_accrual.py suspect the dead, stragglers.py tells them from the slow and the stuck. published.py has
the failure rates of real training runs.
"""

from .heartbeat import AdaptiveTimeout, FailureDetector, FixedTimeout, Quality, judge
from .interval import Account, account, daly, daly_higher_order, exact, expected_seconds, slowdown, wasted, young
from .phi_accrual import PhiAccrual
from .stragglers import Watcher, behind

__all__ = [
    "Account",
    "AdaptiveTimeout",
    "FailureDetector",
    "FixedTimeout",
    "PhiAccrual",
    "Quality",
    "Watcher",
    "account",
    "behind",
    "daly",
    "daly_higher_order",
    "exact",
    "expected_seconds",
    "judge",
    "slowdown",
    "wasted",
    "young",
]

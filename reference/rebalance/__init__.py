"""Dynamic load balancing: ranks whose speed changes during training get shares that follow.

monitor.py measures speeds; trigger.py tells a lasting imbalance from noise; shares.py says who should have how many
units and who gives what to whom; benefit.py holds the gain against the cost; controller.py puts these together;
migrate.py moves rows of state without losing any; simulate.py is a cluster that throttles and stutters.
"""

from .benefit import MoveCost, benefit, break_even
from .controller import AT_ONCE, Controller, Limits
from .migrate import SharedRows
from .monitor import Monitor, gathered, imbalance, variation
from .shares import Transfer, limited, reassigned, target, transfers
from .trigger import Trigger

__all__ = [
    "AT_ONCE",
    "Controller",
    "Limits",
    "Monitor",
    "MoveCost",
    "SharedRows",
    "Transfer",
    "Trigger",
    "benefit",
    "break_even",
    "gathered",
    "imbalance",
    "limited",
    "reassigned",
    "target",
    "transfers",
    "variation",
]

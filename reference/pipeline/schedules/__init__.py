"""The schedules: each a pure function that yields, for each rank, an order of actions.

from reference.pipeline.schedules import SCHEDULES, make
make("1F1B", p=4, m=8)
"""

from .catalogue import SCHEDULES, make

__all__ = ["SCHEDULES", "make"]

"""Pipeline parallelism: a model cut into stages, a batch into micro-batches, and the order in which they meet.

A schedule is data (`schedule.py`): for each rank, an order of actions. Everything else reads it: one validator
(`validate.py`), one simulator (`simulate.py`), one drawing (`draw.py`), one interpreter that trains with it
(`executor.py`). So a new schedule is one pure function and nothing else.
"""

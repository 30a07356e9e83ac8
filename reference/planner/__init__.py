"""The planner: which rank holds which part of what, decided by a program from costs.

`sharding` divides the operators of a model among the ranks of one group, from layouts (`layouts.py`), the operators'
rules (`operators.py`, `strategies.py`) and their costs; `programme` does it for any graph and within a limit of memory.
"""

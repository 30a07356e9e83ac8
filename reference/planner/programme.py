"""The integer programme: the quickest plan of any graph, within the memory of a rank.

Idea      x[i, s] is 1 if operator i has strategy s. What is often written down leaves out what makes it a programme:
          1. every operator has one strategy:   sum over s of x[i, s] = 1. Without it, none at all is the quickest.
          2. what stands between two operators is a product, x[i, s] x[j, t], and a linear programme has no products. A
             variable y[s, t] >= 0 takes its place, tied to both:   sum over t of y[s, t] = x[i, s],   and
             sum over s of y[s, t] = x[j, t]. If x is 0 or 1, so is y.
          3. memory is a limit of each rank, not of the sum over ranks:   sum of kept[i, s] x[i, s] + w <= M.
          4. what an operator takes for a moment counts once, for the largest. A maximum is not linear either; the
             epigraph makes it so:   w >= sum over s of working[i, s] x[i, s]   for each operator i.
Before    4 strategies for 12 operators: 17 million combinations
After     225 variables on a chain of them, of which 48 are whole numbers
Left out  What lives when (Alpa has a row of memory for each moment of the programme; here all that is kept is there at
          once, as at the end of the forward pass). Strategies that are worse in every respect are left to the solver.
Source    Zheng et al., "Alpa" (2022), section 4.2; in its code (alpa/shard_parallel/auto_sharding.py @0404c729) y is a
          whole number, and rows and columns sum up to at most x. Huangfu & Hall (2018) for HiGHS, by scipy's `milp`.
"""

from __future__ import annotations

import numpy as np

from ..linear_programme import EXACT, SLACK, ConstraintRows
from .sharding import Plan, Problem, greedy, too_little


def integer_programme(problem: Problem, memory: float = np.inf) -> Plan:
    """The quickest plan that needs at most so many bytes a rank (kept to a millionth of them).

    Raises ValueError if none fits, and says how many bytes would do.
    """
    _check(memory)
    plan = _solve(problem, memory)
    if plan is None:
        raise ValueError(too_little(memory, least_memory(problem).memory))
    return plan


def least_memory(problem: Problem) -> Plan:
    """The plan that needs the fewest bytes a rank, however long it takes."""
    plan = _solve(problem, np.inf, frugal=True)
    assert plan is not None, "without a limit every choice is allowed"
    return plan


def _check(memory: float) -> None:
    if not memory > 0:
        raise ValueError(f"a rank's memory is more than 0 bytes, got {memory}")


def _known(problem: Problem) -> float:
    """Seconds of a plan that is easily had: the solver stops where less than a millionth is to be gained, of 1."""
    return min(greedy(problem).seconds, problem.plan([0] * len(problem.seconds)).seconds)


def _solve(problem: Problem, memory: float, frugal: bool = False) -> Plan | None:
    """The best plan within a limit, None if there is none; frugal: that of least memory in place of least seconds."""
    from scipy.optimize import Bounds, milp  # here: what plans nothing starts without it

    counts = [len(found) for found in problem.strategies]
    x = np.split(np.arange(sum(counts)), np.cumsum(counts)[:-1])
    pairs = [between.size for between in problem.between]
    y = np.split(sum(counts) + np.arange(sum(pairs)), np.cumsum(pairs)[:-1]) if pairs else []
    w = sum(counts) + sum(pairs)
    unit = memory if np.isfinite(memory) else float(sum(kept.max() for kept in problem.kept) + 1)

    rows = ConstraintRows()
    for strategies in x:
        rows.add(strategies, 1, 1, 1)
    for edge, products in zip(problem.edges, y):
        table = products.reshape(counts[edge.source], counts[edge.dest])
        for one, line in [*zip(x[edge.source], table), *zip(x[edge.dest], table.T)]:
            rows.add([one, *line], [-1] + [1] * len(line), 0, 0)
    for strategies, working in zip(x, problem.working):
        rows.add([w, *strategies], [1, *(-working / unit)], 0, np.inf)
    limit = memory / unit * (1 + SLACK)
    rows.add([*np.concatenate(x), w], [*(np.concatenate(problem.kept) / unit), 1], -np.inf, limit)

    seconds = np.concatenate([*problem.seconds, *(between.ravel() for between in problem.between), [0.0]])
    bytes_ = np.concatenate([*(kept / unit for kept in problem.kept), np.zeros(sum(pairs)), [1.0]])
    aim = bytes_ if frugal else seconds / (_known(problem) or 1.0)
    whole = np.concatenate([np.ones(sum(counts)), np.zeros(sum(pairs) + 1)])
    found = milp(aim, integrality=whole, bounds=Bounds(0, np.inf), constraints=rows.constraint(w + 1), options=EXACT)
    if found.x is None:
        return None
    return problem.plan(found.x[strategies].argmax() for strategies in x)

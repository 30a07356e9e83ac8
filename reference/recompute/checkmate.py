"""Checkmate: the best plan of any graph within a budget of bytes, as an integer programme; and its rounding.

Idea      Vertices are numbered in the order in which they are first computed. In stage t vertex t is computed for the
          first time, and before it whatever is wanted again. Two kinds of variables, 0 or 1, say it all:

              R[t, v]    vertex v is computed in stage t
              S[t, v]    the value of v is kept from stage t - 1 to stage t

          1. R[t, t] = 1.
          2. What is kept was there:             S[t + 1, v] <= S[t, v] + R[t, v]
          3. What is read is there:              R[t, v]     <= S[t, u] + R[t, u]          for each u that v reads
          4. F[t, u, v] = 1: after v is computed in stage t, u goes. v reads u, no later reader of u is computed in this
             stage, u is not kept:  F[t, u, v] <= R[t, v],   F[t, u, v] + R[t, w] <= 1 for w > v,   F + S[t + 1, u] <= 1
          5. Live bytes when v is computed in stage t, with what v needs while it runs, are at most the budget:
             sum of m[u] S[t, u] + sum over u <= v of m[u] R[t, u] - sum of what went before v + w[v] R[t, v] <= M

          Least: sum of seconds[v] R[t, v].
          The rounding drops "0 or 1", solves the linear programme for nine tenths of the budget, keeps S where it is
          above a threshold, and takes the fewest R that these S allow (`computed`). Of nine thresholds the best.
Before    the partitioners of torch choose once what the backward pass may keep; rotor.py knows chains only
After     what is live at every operation counts, in the backward pass too, and graphs of any shape
Price     T (T - 1) + T E variables at most for T vertices and E edges; the seconds of an integer programme
Exact     The best of all plans that first compute the vertices in this order, and none twice in a stage. On chains it
          is what brute_force.py finds.
Source    Jain, Jain, Nrusimha, Gholami, Abbeel, Keutzer, Stoica & Gonzalez, "Checkmate" (2020), problem 9 and
          algorithm 2; their code (parasj/checkmate @6041c77: gurobi_solver.py, strategy_approx_lp.py), whose thresholds
          and 0.9 these are. Huangfu & Hall (2018) for HiGHS, by scipy's `milp`.
Try       order = checkmate(graph, budget); plan_cost(graph, order)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..linear_programme import EXACT, SLACK, ConstraintRows
from .graph import OperationGraph
from .rematerialize import plan_cost

THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


class Rounded(NamedTuple):
    """What rounding found: the order (None if no threshold fits), its threshold, and the linear programme's seconds.

    bound: no plan within the whole budget is quicker than the linear programme for the whole budget says.
    """

    order: list[int] | None
    threshold: float
    bound: float


class Programme:
    """The programme of a graph: where its variables are, and its rows, all but the budget in bytes of `unit`."""

    def __init__(self, graph: OperationGraph):
        T = len(graph)
        self.graph, self.T = graph, T
        self.unit = float(max(1, *(vertex.nbytes + vertex.working for vertex in graph.vertices)))
        numbers = iter(range(10**9))
        self.R = {(t, v): next(numbers) for t in range(T) for v in range(t + 1)}
        self.S = {(t, v): next(numbers) for t in range(T) for v in range(t)}
        readers = [(u, v) for v, vertex in enumerate(graph.vertices) for u in vertex.parents]
        self.F = {(t, u, v): next(numbers) for t in range(T) for u, v in readers if v <= t}
        self.size = len(self.R) + len(self.S) + len(self.F)
        self.M = self.size  # one variable more: the budget, or what is to be least
        self.rows = ConstraintRows()
        self._logic()
        self._bytes()

    def _logic(self) -> None:
        rows, R, S = self.rows, self.R, self.S
        for (t, v), kept in S.items():
            if t:
                before = [R[t - 1, v]] + ([S[t - 1, v]] if v < t - 1 else [])
                rows.add([kept, *before], [1] + [-1] * len(before), -np.inf, 0)
        for (t, v), computed in R.items():
            for u in self.graph.vertices[v].parents:
                rows.add([computed, S[t, u], R[t, u]], [1, -1, -1], -np.inf, 0)
        for (t, u, v), gone in self.F.items():
            rows.add([gone, R[t, v]], [1, -1], -np.inf, 0)
            later = [R[t, w] for w in self.graph.children[u] if v < w <= t]
            if (t + 1, u) in S:
                later.append(S[t + 1, u])
            for other in later:
                rows.add([gone, other], 1, -np.inf, 1)

    def _bytes(self) -> None:
        m = [vertex.nbytes / self.unit for vertex in self.graph.vertices]
        for t in range(self.T):
            live = {self.S[t, u]: m[u] for u in range(t)}
            for v in range(t + 1):
                vertex = self.graph.vertices[v]
                live[self.R[t, v]] = m[v]
                row = dict(live)
                row[self.R[t, v]] += vertex.working / self.unit
                self.rows.add([*row, self.M], [*row.values(), -1], -np.inf, 0)
                for u in vertex.parents:
                    live[self.F[t, u, v]] = -m[u]

    def solve(self, budget: float, whole: bool = True, frugal: bool = False) -> np.ndarray | None:
        """The variables' best values within a budget; frugal: the fewest bytes in place of the fewest seconds."""
        from scipy.optimize import Bounds, milp  # here: what plans nothing starts without it

        low, high = np.zeros(self.size + 1), np.ones(self.size + 1)
        high[self.M] = np.inf if frugal else budget / self.unit * (1 + SLACK)
        low[[self.R[t, t] for t in range(self.T)]] = 1
        aim = np.zeros(self.size + 1)
        if frugal:
            aim[self.M] = 1
        else:
            scale = self.graph.seconds or 1.0
            for (_, v), at in self.R.items():
                aim[at] = self.graph.vertices[v].seconds / scale
        integrality = np.r_[np.full(self.size, int(whole)), 0]
        constraints = self.rows.constraint(self.size + 1)
        found = milp(aim, integrality=integrality, bounds=Bounds(low, high), constraints=constraints, options=EXACT)
        return found.x

    def seconds(self, x: np.ndarray) -> float:
        """The seconds of these values of the variables."""
        return float(sum(x[at] * self.graph.vertices[v].seconds for (_, v), at in self.R.items()))

    def order(self, kept: np.ndarray) -> list[int]:
        """The order of computing that follows from what is kept, S[t, v] as an array [T, T]."""
        computed_ = computed(self.graph, kept)
        return [v for t in range(self.T) for v in range(t + 1) if computed_[t, v]]

    def kept(self, x: np.ndarray, threshold: float = 0.5) -> np.ndarray:
        """S[t, v] as an array [T, T]: whether the variable is at least the threshold."""
        found = np.zeros((self.T, self.T), bool)
        for (t, v), at in self.S.items():
            found[t, v] = x[at] >= threshold
        return found


def computed(graph: OperationGraph, kept: np.ndarray) -> np.ndarray:
    """The fewest R[t, v] that are possible if S is `kept` [T, T]: the second phase of the rounding."""
    T = len(graph)
    found = np.eye(T, dtype=bool)
    found[:-1] |= kept[1:] & ~kept[:-1]
    for t in range(T):
        for v in range(t, -1, -1):
            if found[t, v]:
                for u in graph.vertices[v].parents:
                    found[t, u] |= not kept[t, u]
    return found


def checkmate(graph: OperationGraph, budget: int) -> list[int]:
    """The order of computing of the quickest plan whose peak is at most `budget` bytes.

    Raises ValueError below the fewest bytes that any plan needs, and says how many are missing.
    """
    programme = Programme(graph)
    x = programme.solve(budget)
    if x is None:
        missing = plan_cost(graph, least_plan(graph)).peak - budget
        raise ValueError(f"no plan of these {len(graph)} operations fits into {budget} bytes: {missing} are missing")
    return programme.order(programme.kept(x))


def least_plan(graph: OperationGraph) -> list[int]:
    """The order of computing whose peak has the fewest bytes, however long it takes."""
    programme = Programme(graph)
    x = programme.solve(np.inf, frugal=True)
    assert x is not None, "without a budget everything once is a plan"
    return programme.order(programme.kept(x))


def rounded(graph: OperationGraph, budget: int, share: float = 0.9) -> Rounded:
    """The linear programme for a share of the budget, rounded: quick to find, within the budget if it finds any."""
    programme = Programme(graph)
    bound = programme.solve(budget, whole=False)
    x = programme.solve(share * budget, whole=False)
    found: Rounded = Rounded(None, np.nan, np.inf if bound is None else programme.seconds(bound))
    if x is None:
        return found
    best = np.inf
    for threshold in THRESHOLDS:
        order = programme.order(programme.kept(x, threshold))
        cost = plan_cost(graph, order)
        if cost.peak <= budget and cost.seconds < best:
            best, found = cost.seconds, found._replace(order=order, threshold=threshold)
    return found

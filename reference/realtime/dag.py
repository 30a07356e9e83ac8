"""Jobs that are graphs: nodes that may execute side by side, edges that say what must come first.

Idea      On m processors a graph of volume V (all its ticks) whose longest path has L ticks is done, whatever the order
          in which ready nodes are taken, by
              R <= L + (V - L) / m                       Graham: at any time all processors work, or the longest path
              does
          Below other graphs, what these can put into a window is added (Melani et al.):
              R_k = L_k + (V_k - L_k) / m + sum over higher i of W_i(R_k) / m
Before    nine nodes, V = 34, on one processor: 34
After     L = 12, on three: between 12 and 12 + 22 / 3 = 19, whatever the order; never above 2 - 1/m times the best
Price     A longest path; then as `response_time`.
Exact     Graham's bound is reached by some orders, not by all. More processors, shorter nodes or fewer edges can make a
          fixed order later (his anomalies): a bound holds, a measured time need not.
Left out  Nodes bound to processors, conditional nodes; earliest deadline first with several graphs.
Source    Graham, "Bounds on Multiprocessing Timing Anomalies" (1969); Melani, Bertogna, Bonifaci, Marchetti-Spaccamela
          and Buttazzo, "Response-Time Analysis of Conditional DAG Tasks in Multiprocessor Systems" (2015).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from graphlib import CycleError, TopologicalSorter
from math import floor

from .tasks import CPU, Schedulability, Segment, checked


@dataclass(frozen=True)
class DagTask:
    """A task whose jobs are graphs. nodes: ticks by name; edges: (before, after). Times as in `PeriodicTask`.

    Raises ValueError for edges in a circle, which it names, for unknown nodes, and for a deadline below the longest
    path.
    """

    name: str
    nodes: Mapping[str, int]
    edges: tuple[tuple[str, str], ...] = ()
    period: int = 0
    deadline: int = 0
    offset: int = 0
    jitter: int = 0
    preemptive: bool = True
    on: str = CPU
    execution: int = field(init=False)  # V, the volume
    longest: int = field(init=False)  # L, the longest path

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "deadline", self.deadline or self.period)
        if unknown := {name for edge in self.edges for name in edge} - set(self.nodes):
            raise ValueError(f"{self.name}: there is no node {', '.join(sorted(unknown))}")
        if not self.nodes or min(self.nodes.values()) < 1 or self.period < 1 or min(self.offset, self.jitter) < 0:
            got = f"{dict(self.nodes)} every {self.period}"
            raise ValueError(f"{self.name}: nodes and a period of at least 1 tick, got {got}")
        put(self, "execution", sum(self.nodes.values()))
        put(self, "longest", max(self.ends().values()))
        if self.deadline < self.longest:
            raise ValueError(
                f"{self.name}: not schedulable, because its longest path has {self.longest} ticks, and its deadline is "
                f"{self.deadline}"
            )

    def ends(self) -> dict[str, int]:
        """When each node ends if there are processors for all: the longest path up to it."""
        before = {name: [a for a, b in self.edges if b == name] for name in self.nodes}
        try:
            order = list(TopologicalSorter(before).static_order())
        except CycleError as error:
            circle = " > ".join(error.args[1])
            raise ValueError(f"{self.name}: not schedulable, because of the circle {circle}") from None
        found: dict[str, int] = {}
        for name in order:
            found[name] = self.nodes[name] + max((found[a] for a in before[name]), default=0)
        return found

    @property
    def utilisation(self) -> Fraction:
        """V / T."""
        return Fraction(self.execution, self.period)

    @property
    def parts(self) -> tuple[tuple[tuple[Segment, ...], tuple[int, ...]], ...]:
        """What a job consists of, for the simulation: of each node its segment, and the nodes that wait for it."""
        place = {name: i for i, name in enumerate(self.nodes)}
        after = {name: tuple(place[b] for a, b in self.edges if a == name) for name in self.nodes}
        return tuple(((Segment(t, self.preemptive, self.on),), after[name]) for name, t in self.nodes.items())


def graham(task: DagTask, processors: int) -> int:
    """R of a graph that is alone on m equal processors, whatever the order: L + (V - L) / m, in whole ticks."""
    _positive(processors)
    return task.longest + (task.execution - task.longest) // processors


def fastest(task: DagTask, processors: int) -> int:
    """No order is faster: max(L, V / m), rounded up."""
    _positive(processors)
    return max(task.longest, -(-task.execution // processors))


def response_times(tasks: Sequence[DagTask], processors: int) -> tuple[int | None, ...]:
    """A bound on R of each graph under global fixed priorities, the highest first; None where it is above the deadline.

    For deadlines within the period. Raises ValueError for others, and for jitter.
    """
    _positive(processors)
    found: list[int | None] = []
    for place, task in enumerate(checked(tasks)):
        if task.deadline > task.period or task.jitter:
            raise ValueError(f"{task.name}: the bound is for D <= T without jitter")
        found.append(_bound(task, list(zip(tasks[:place], found)), processors))
    return tuple(found)


def _bound(task: DagTask, higher: list[tuple[DagTask, int | None]], processors: int) -> int | None:
    R = graham(task, processors)
    if any(response is None for _, response in higher):
        return None
    while task.deadline >= R:
        taken = sum((_workload(R, other, response or 0, processors) for other, response in higher), Fraction(0))
        longer = floor(task.longest + (task.execution - task.longest + taken) / processors)
        if longer == R:
            return R
        R = longer
    return None


def _workload(window: int, task: DagTask, response: int, processors: int) -> Fraction:
    """Ticks of a graph's jobs in a window; the first is as late as its R allows and then keeps all processors busy."""
    longer = window + response - Fraction(task.execution, processors)
    whole = longer // task.period
    return whole * task.execution + min(Fraction(task.execution), processors * (longer - whole * task.period))


def dag_fixed_priority(tasks: Sequence[DagTask], processors: int) -> Schedulability:
    """Schedulable if each bound is within its deadline; unknown otherwise."""
    found = response_times(tasks, processors)
    late = [task.name for task, R in zip(tasks, found) if R is None]
    told = f"{late[0]} has no bound within its deadline" if late else "every bound is within its deadline"
    return Schedulability(None if late else True, f"{told} (graphs under fixed priorities)", found)


def _positive(processors: int) -> None:
    if processors < 1:
        raise ValueError(f"at least 1 processor, got {processors}")

"""Sharding decided by a program: of each operator of a model the strategy with which a training step is quickest.

Idea      Each operator costs what its strategy costs (strategies.py). Between two stands a collective where what one
          makes is not what the next one takes (layouts.py). So the time of a step is a sum over operators and over
          pairs of neighbours, and the best choice is a shortest way. On a chain, with c_i(s) for operator i in strategy
          s, and r(s, t) for what lies between two:

              best_i(t) = c_i(t) + min over s of (best_{i-1}(s) + r(s, t))

          Where residual connections join, it is an integer programme (programme.py), which may also be given a limit of
          memory. On a feed-forward network both find column and row, the two all-reduces of Megatron-LM, if the batch
          is small; and data parallelism, if it is large.
Before    every operator by itself, neighbours kept alike (`greedy`)
After     all of them together
Price     O(N S^2) for N operators of S strategies each on a chain; S^N to try all (`brute_force`)
Left out  Overlap: seconds of computation and of communication add up. All ranks do the same, so none is the slowest;
          for operators that live on different ranks see devices.py.
Source    Zheng et al., "Alpa: Automating Inter- and Intra-Operator Parallelism for Distributed Deep Learning" (2022),
          section 4; Jia, Zaharia & Aiken, "Beyond Data and Model Parallelism" (FlexFlow, 2019), for the question.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from .layouts import CollectiveCall, between, transfer_bytes, transfer_cost
from .operators import Graph
from .strategies import Setting, Strategy, price, strategies

MOST_TRIED = 5_000_000  # combinations


@dataclass(frozen=True)
class Plan:
    """A strategy for each operator, and what the step costs each rank.

    chosen     of each operator of the graph, in its order
    transfers  every collective of the step, forward and backward
    compute, communication    seconds
    kept       bytes that stay until the backward pass; working: the most that one operator takes for a moment
    """

    graph: Graph
    setting: Setting
    chosen: tuple[Strategy, ...]
    transfers: tuple[CollectiveCall, ...]
    compute: float
    communication: float
    kept: int
    working: int

    @property
    def seconds(self) -> float:
        """Computation and communication, one after the other."""
        return self.compute + self.communication

    @property
    def memory(self) -> int:
        """Bytes that a rank needs at most."""
        return self.kept + self.working

    @property
    def nbytes(self) -> int:
        """Bytes that all ranks together send."""
        return sum(transfer_bytes(one, self.setting.P, self.setting.itemsize) for one in self.transfers)

    def strategy(self, name: str) -> Strategy:
        """That of the operator of this name. Raises KeyError if there is none."""
        return dict(zip((operator.name for operator in self.graph.operators), self.chosen))[name]

    def collectives(self, phase: str, least: int = 0) -> list[str]:
        """Kind of each collective of "forward" or "backward" that moves a tensor of at least so many elements."""
        return [one.collective for one in self.transfers if one.phase == phase and one.elements >= least]

    def __str__(self) -> str:
        """One line an operator: its strategy, what comes in and goes out, the collectives forward and backward."""
        lines = [f"{'operator':<14} {'strategy':<38} {'out':<10} {'forward':<24} backward"]
        for operator, strategy in zip(self.graph.operators, self.chosen):
            sent = [
                ", ".join(t.collective for t in self.transfers if (t.operator, t.phase) == (operator.name, phase))
                for phase in ("forward", "backward")
            ]
            out = str(strategy.makes) if operator.out else ""
            lines.append(f"{operator.name:<14} {strategy.name:<38} {out:<10} {sent[0]:<24} {sent[1]}".rstrip())
        times = f"{self.compute * 1e6:.4g} us of computation, {self.communication * 1e6:.4g} us of communication"
        return "\n".join([*lines, f"{times}, {self.memory / 1e6:.4g} MB a rank"])


class Problem:
    """A graph on a machine, with all its costs worked out.

    strategies  of each operator
    seconds     of each operator, float [S]: computation and its own collectives
    kept, working   of each operator, int [S]: bytes
    edges       the graph's; between: of each, float [S, S'], seconds of what stands between two strategies
    Raises ValueError if P < 1, or if an operator has no strategy that its `flows` allow.
    """

    def __init__(self, graph: Graph, setting: Setting):
        if setting.P < 1:
            raise ValueError(f"a group has at least 1 rank, got {setting.P}")
        self.graph, self.setting = graph, setting
        self.strategies = [strategies(operator, graph.sizes, setting.P) for operator in graph.operators]
        for operator, found in zip(graph.operators, self.strategies):
            if not found:
                wanted = ", ".join(map(str, operator.flows or ()))
                raise ValueError(f"{operator.name} has no strategy on {setting.P} ranks that is one of {wanted}")
        self.prices = [
            [price(operator, strategy, graph.sizes, setting) for strategy in found]
            for operator, found in zip(graph.operators, self.strategies)
        ]
        self.seconds = [np.array([one.seconds + self.time(one.transfers) for one in found]) for found in self.prices]
        self.kept = [np.array([one.kept for one in found]) for found in self.prices]
        self.working = [np.array([one.working for one in found]) for found in self.prices]
        self.edges = graph.edges()

    @cached_property
    def between(self) -> list[np.ndarray]:
        """Of each edge, seconds [strategies of who makes it, strategies of who takes it]."""
        known: dict[tuple, float] = {}

        def seconds(e: int, s: int, t: int) -> float:
            edge = self.edges[e]
            made, wanted = self.strategies[edge.source][s].makes, self.strategies[edge.dest][t].takes[edge.slot]
            key = made, wanted, edge.elements, edge.gradient
            if key not in known:
                known[key] = self.time(self.sent(e, s, t))
            return known[key]

        sizes = [(len(self.strategies[edge.source]), len(self.strategies[edge.dest])) for edge in self.edges]
        return [
            np.array([[seconds(e, s, t) for t in range(right)] for s in range(left)])
            for e, (left, right) in enumerate(sizes)
        ]

    def sent(self, e: int, s: int, t: int) -> list[CollectiveCall]:
        """What edge e sends if who makes it has strategy s, and who takes it t."""
        edge = self.edges[e]
        made, wanted = self.strategies[edge.source][s].makes, self.strategies[edge.dest][t].takes[edge.slot]
        return between(self.graph.operators[edge.dest].name, made, wanted, edge.elements, edge.gradient)

    def time(self, transfers) -> float:
        """Seconds of these transfers, one after the other."""
        P, link, _, itemsize, _ = self.setting
        return sum(transfer_cost(one, P, itemsize, link).seconds for one in transfers)

    def plan(self, numbers) -> Plan:
        """The plan of these strategies, by their numbers, one an operator."""
        numbers = [int(number) for number in numbers]
        prices = [found[s] for found, s in zip(self.prices, numbers)]
        transfers = [transfer for one in prices for transfer in one.transfers]
        for e, edge in enumerate(self.edges):
            transfers += self.sent(e, numbers[edge.source], numbers[edge.dest])
        return Plan(
            self.graph,
            self.setting,
            tuple(found[s] for found, s in zip(self.strategies, numbers)),
            tuple(transfers),
            sum(one.seconds for one in prices),
            self.time(transfers),
            sum(one.kept for one in prices),
            max((one.working for one in prices), default=0),
        )

    def choose(self, **names: str) -> Plan:
        """The plan of strategies by their names; an operator that is not named has its first, "whole".

        Spaces in an operator's name are underscores here. Raises KeyError for a strategy that is not offered.
        """
        numbers = []
        for operator, found in zip(self.graph.operators, self.strategies):
            wanted = names.get(operator.name.replace(" ", "_"), found[0].name)
            numbers.append({strategy.name: s for s, strategy in enumerate(found)}[wanted])
        return self.plan(numbers)


# Search ---------------------------------------------------------------------------------------------------------------


def dynamic_programming(problem: Problem) -> Plan:
    """The quickest plan of a chain. Raises ValueError for a graph that is none."""
    if [(edge.source, edge.dest) for edge in problem.edges] != [(i, i + 1) for i in range(len(problem.seconds) - 1)]:
        raise ValueError("not every operator takes the one before it alone: use the integer programme")
    best, last = problem.seconds[0], []
    for seconds, between_two in zip(problem.seconds[1:], problem.between):
        ways = best[:, None] + between_two
        last.append(ways.argmin(axis=0))
        best = ways.min(axis=0) + seconds
    numbers = [int(best.argmin())]
    for before in reversed(last):
        numbers.append(before[numbers[-1]])
    return problem.plan(reversed(numbers))


def brute_force(problem: Problem, memory: float = np.inf) -> Plan:
    """The quickest plan that needs at most so many bytes a rank, found by trying all.

    Raises ValueError if they are too many, or none fits.
    """
    counts = [len(found) for found in problem.strategies]
    if prod(counts) > MOST_TRIED:
        raise ValueError(f"{prod(counts):,} combinations are too many to try: use the integer programme")
    total, kept, working = (_spread(part, counts) for part in (problem.seconds, problem.kept, problem.working))
    seconds, needed = sum(total), sum(kept) + np.max(np.broadcast_arrays(*working), axis=0)
    for edge, between_two in zip(problem.edges, problem.between):
        shape = [1] * len(counts)
        shape[edge.source], shape[edge.dest] = between_two.shape
        seconds = seconds + between_two.reshape(shape)
    if not (needed <= memory).any():
        raise ValueError(too_little(memory, needed.min()))
    return problem.plan(np.unravel_index(np.where(needed <= memory, seconds, np.inf).argmin(), counts))


def _spread(parts: list[np.ndarray], counts: list[int]) -> list[np.ndarray]:
    """Of each operator its values along an axis of its own."""
    return [part.reshape([-1 if i == j else 1 for j in range(len(counts))]) for i, part in enumerate(parts)]


def too_little(memory: float, least: float) -> str:
    """What is said where no plan fits."""
    return f"no plan fits into {memory:,.0f} bytes a rank: the least that would do is {least:,.0f}"


def greedy(problem: Problem) -> Plan:
    """A rule of thumb, operator by operator: sort by memory, shard large products first, keep neighbours alike.

    The products come first, the largest first; each gets the column or row strategy that sends least to those
    neighbours that are decided. Then the others, the largest first, each with the strategy that sends least to decided
    neighbours; of equal ones the quicker. It takes no decision back, and a product's neighbours are rarely decided.
    """
    operators = problem.graph.operators
    product = [operator.kind == "matmul" for operator in operators]
    decided: dict[int, int] = {}
    for i in sorted(range(len(operators)), key=lambda i: (not product[i], -problem.kept[i][0])):
        sends = _to_neighbours(problem, i, decided)
        names = [strategy.name.partition(" ")[0] for strategy in problem.strategies[i]]
        plain = [strategy.takes == strategy.uses for strategy in problem.strategies[i]]
        among = [s for s, name in enumerate(names) if name in ("column", "row") and plain[s]] if product[i] else []
        among = among or list(range(len(names)))
        decided[i] = min(among, key=lambda s: (sends[s], problem.seconds[i][s]))
    return problem.plan(decided[i] for i in range(len(operators)))


def _to_neighbours(problem: Problem, i: int, decided: dict[int, int]) -> np.ndarray:
    """Seconds of what an operator exchanges with neighbours that are decided, in each of its strategies."""
    sends = np.zeros(len(problem.strategies[i]))
    for edge, between_two in zip(problem.edges, problem.between):
        if edge.dest == i and edge.source in decided:
            sends += between_two[decided[edge.source], :]
        if edge.source == i and edge.dest in decided:
            sends += between_two[:, decided[edge.dest]]
    return sends

"""The partition of layers into stages: the cut whose slowest stage is fastest.

Idea      All stages work at once, so with many micro-batches the slowest sets the pace. With c(r, k, i) the seconds of
          one micro-batch on stage r if layers k ... i - 1 make it, and best[r][i] the slowest stage of the best way to
          cut the first i layers into stages 0 ... r:

              best[r][i] = min over k < i of max(best[r - 1][k], c(r, k, i))             best[0][i] = c(0, 0, i)

          O(N^2 P) for N layers and P stages, because prefix sums give c in O(1).
          It is not the sum in the place of the max (`additive`): on equal workers each cut costs the same, namely
          everything. Nor equal numbers of layers (`equal_counts`): an embedding is no block, and a head may weigh ten
          of them.
          Workers may differ in speed and memory; r stands for both, and their order is given. What does not fit costs
          infinity.
Sends     Messages travel while others compute, so a link is one more stage between two (`overlap`), or they do not, and
          a stage sends and receives in its own time. Each cut is crossed by activations and by as many gradients.
Price     A stage holds its layers' weights (with gradients and the optimizer's state) and what `live` micro-batches
          leave behind. How many these are is the schedule's affair: activations(one_f_one_b(p, m)) is min(m, p - r).
Left out  The order of workers that is best; several replicas of a slow stage, as PipeDream has them; several chunks a
          rank, which share its memory; layers that are no chain. Where seconds come from: profile.py.
Source    The dynamic programme over prefixes is an old one for chains; Narayanan et al., "PipeDream: Generalized
          Pipeline Parallelism for DNN Training" (2019), cut a network with it, and put messages between the stages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from math import inf
from operator import add

from ..simulate import Costs
from .cuts import Cut, LayerProfile, Worker, check_layers, check_live, check_stages, crew, parts

Price = Callable[[int, int, int], float]  # (stage r, first layer k, end i) -> seconds, inf if it cannot be
Send = Callable[[float], float]  # bytes -> seconds until they are at the next stage


def message_time(alpha: float = 0.0, beta: float = 0.0) -> Send:
    """A message of n bytes takes alpha + n beta seconds; nothing unless told."""
    return lambda nbytes: alpha + nbytes * beta


INSTANT = message_time()


def partition(
    layers: Sequence[LayerProfile],
    workers: int | Sequence[Worker],
    send: Send = INSTANT,
    live: Sequence[float] | None = None,
    overlap: bool = True,
) -> Cut:
    """The best cut for these workers, in their order; a number stands for so many equal ones without a limit.

    live      of each stage the micro-batches whose activations it holds at most (1 unless told)
    overlap   whether messages travel while stages compute

    Raises ValueError if there are more workers than layers, or if no cut fits into their memory.
    """
    workers = crew(workers)
    return min_max(len(layers), len(workers), price(layers, workers, send, live, overlap), why(layers, workers, live))


def min_max(N: int, p: int, cost: Price, complaint: Callable[[], str] = lambda: "") -> Cut:
    """The cut of N layers into p stages whose dearest stage is cheapest; of several, the cheapest together.

    Raises ValueError if p is not in 1 ... N, or if each cut has a stage of infinite price; `complaint` says more.
    """
    bound, _ = least(N, p, cost, max)
    if bound == inf:
        raise ValueError(f"{N} layers cannot be cut into {p} stages that fit: {complaint()}")

    def within(r: int, k: int, i: int) -> float:
        price = cost(r, k, i)
        return price if price <= bound else inf

    return Cut(bound, least(N, p, within, add).ends)


def least(N: int, p: int, cost: Price, combine: Callable[[float, float], float]) -> Cut:
    """The dynamic programme: the cut of least price; `combine` (max, add) makes it of the prices of the stages."""
    check_stages(N, p)
    best = {i: cost(0, 0, i) for i in range(1, N - p + 2)}
    last = []
    for r in range(1, p):  # leave a layer for each of the p - r - 1 stages behind
        ways = {
            i: min((combine(best[k], cost(r, k, i)), k) for k in range(r, i) if k in best)
            for i in range(r + 1, N - p + r + 2)
        }
        best = {i: price for i, (price, _) in ways.items()}
        last.append({i: k for i, (_, k) in ways.items()})
    ends = [N]
    for before in reversed(last):
        ends.append(before[ends[-1]])
    return Cut(best[N], tuple(reversed(ends)))


def price(
    layers: Sequence[LayerProfile],
    workers: Sequence[Worker],
    send: Send = INSTANT,
    live: Sequence[float] | None = None,
    overlap: bool = True,
) -> Price:
    """c(r, k, i): seconds of one micro-batch, forward and backward, on stage r of layers k ... i - 1.

    Raises ValueError for numbers that cannot be.
    """
    live = [1] * len(crew(workers)) if live is None else live
    check_layers(layers)
    check_live(live, len(workers))
    seconds = prefix(layer.forward + layer.backward for layer in layers)
    holds, N = memory(layers, live), len(layers)

    def cost(r: int, k: int, i: int) -> float:
        if holds(r, k, i) > workers[r].memory:
            return inf
        computes = (seconds[i] - seconds[k]) / workers[r].speed
        before, behind = (send(layers[c - 1].sent) if 0 < c < N else 0.0 for c in (k, i))
        return max(computes, behind) if overlap else computes + 2 * (before + behind)  # activations and gradients

    return cost


def memory(layers: Sequence[LayerProfile], live: Sequence[float]) -> Price:
    """(r, k, i) -> bytes that stage r holds if layers k ... i - 1 make it."""
    weights, kept = prefix(layer.weights for layer in layers), prefix(layer.kept for layer in layers)
    return lambda r, k, i: weights[i] - weights[k] + live[r] * (kept[i] - kept[k])


def why(layers: Sequence[LayerProfile], workers: Sequence[Worker], live: Sequence[float] | None) -> Callable[[], str]:
    """Says how far the layers get if each worker in turn takes as many as it can hold; the rest have one at least."""

    def complaint() -> str:
        N, p, words, k = len(layers), len(workers), [], 0
        holds = memory(layers, live or [1] * p)
        for r, worker in enumerate(workers):
            i = k
            while i <= N - p + r and holds(r, k, i + 1) <= worker.memory:
                i += 1
            if i == k:
                words.append(f"stage {r} has {worker.memory:.4g} bytes, layer {k} alone needs {holds(r, k, k + 1):.4g}")
                break
            words.append(f"stage {r} takes layers {k} to {i - 1}, {holds(r, k, i):.4g} of {worker.memory:.4g} bytes")
            k = i
        else:
            words.append(f"layers {k} to {N - 1} are left")
        return "; ".join(words) + ". Take more or larger workers, smaller micro-batches, or recompute (recompute.py)"

    return complaint


# What a cut is worth --------------------------------------------------------------------------------------------------


def stage_seconds(layers: Sequence[LayerProfile], ends: Sequence[int], workers: Sequence[Worker] = ()) -> list[tuple]:
    """Of each stage the seconds of one micro-batch, (forward, backward).

    Raises ValueError unless the stages are as many as the workers, if these are given, and have all layers.
    """
    check_layers(layers)
    stages, workers = parts(ends, len(layers)), crew(workers or len(ends))
    if len(workers) != len(stages):
        raise ValueError(f"{len(stages)} stages, ends = {tuple(ends)}, and {len(workers)} workers: one for each")
    return [
        (sum(x.forward for x in layers[k:i]) / worker.speed, sum(x.backward for x in layers[k:i]) / worker.speed)
        for (k, i), worker in zip(stages, workers)
    ]


def cut_costs(
    layers: Sequence[LayerProfile], ends: Sequence[int], workers: Sequence[Worker] = (), send: Send = INSTANT
) -> Costs:
    """What simulate() needs to know of a cut; each message takes as long as the largest, and none waits for others."""
    forward, backward = map(list, zip(*stage_seconds(layers, ends, workers)))
    sends = [send(layers[end - 1].sent) for end in ends[:-1]]
    half = [seconds / 2 for seconds in backward]
    return Costs(forward, half, half, send=max(sends, default=0.0))


# The other ways -------------------------------------------------------------------------------------------------------


def equal_counts(N: int, p: int) -> tuple[int, ...]:
    """Ends of stages of equally many layers; the first N % p have one more."""
    check_stages(N, p)
    return tuple(accumulate(N // p + (r < N % p) for r in range(p)))


def additive(layers: Sequence[LayerProfile], workers: int | Sequence[Worker], send: Send = INSTANT) -> Cut:
    """The cut with the smallest SUM over its stages: what one micro-batch alone takes, and not what a pipeline does.

    On equal workers without communication each cut is as good as any other. Else it gives the fastest worker all it
    can, and cuts where messages are small, however unequal the stages become.
    """
    workers = crew(workers)
    return least(len(layers), len(workers), price(layers, workers, send, overlap=False), add)


def prefix(values) -> list[float]:
    """Sums of the first 0, 1, 2, ... values."""
    return list(accumulate(values, initial=0.0))

"""The integer programme of stages: layers to stages with memory, stated so that a solver can take it.

Idea      x[i, r] is 1 if layer i is on stage r. A chain of layers, stages in a row:

              minimise T
              sum over r of x[i, r] = 1                                each layer has one stage
              0 <= stage(i + 1) - stage(i) <= 1                        stages in order, where stage(i) = sum r x[i, r]
              stage(0) = 0,  stage(N - 1) = p - 1                      and all of them used
              sum over i of (w[i] + live[r] k[i]) x[i, r] <= M[r]      memory, stage by stage
              T >= sum over i of t[i] x[i, r] / speed[r]               each stage; T is their maximum
              T >= c[i] (stage(i + 1) - stage(i))                      a message behind each cut

Before    programmes in which x occurs in no row, memory is one sum for all stages, or T has no row below it
After     the cut that the dynamic programme of sizing/partition.py finds, and bounds on what any cut can reach
Price     N p whole variables. The dynamic programme is O(N^2 p) and needs no solver; take this one where further rows
          are wanted, which the dynamic programme has no room for: layers that must stay together, a sum over stages.
Left out  Graphs that are no chain: ../devices.py places those, without an order of devices.
Source    Tarnawski et al., "Efficient Algorithms for Device Placement of DNN Graph Operators" (2020), section 5;
          Huangfu & Hall (2018) for HiGHS, by scipy's `milp`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...linear_programme import EXACT, SLACK, ConstraintRows
from ...pipeline.sizing.cuts import Cut, LayerProfile, Worker, check_layers, check_live, check_stages, crew
from ...pipeline.sizing.partition import INSTANT, Send, why


def integer_cut(
    layers: Sequence[LayerProfile],
    workers: int | Sequence[Worker],
    send: Send = INSTANT,
    live: Sequence[float] | None = None,
    together: Sequence[tuple[int, int]] = (),
) -> Cut:
    """The cut of a chain of layers into stages whose slowest stage is fastest, by HiGHS.

    live      of each stage the micro-batches whose activations it holds at most (1 unless told)
    together  pairs of layers that must share a stage, such as tied embedding and head
    Raises ValueError if there are more workers than layers, or if no cut fits.
    """
    workers = crew(workers)
    N, p = len(layers), len(workers)
    live = [1] * p if live is None else live
    check_layers(layers)
    check_stages(N, p)
    check_live(live, p)
    x = _solve(layers, workers, send, live, together)
    if x is None:
        raise ValueError(f"{N} layers cannot be cut into {p} stages that fit: {why(layers, workers, live)()}")
    stage = x.argmax(axis=1)
    ends = tuple(int(np.searchsorted(stage, r, side="right")) for r in range(p))
    return Cut(_slowest(layers, workers, send, ends), ends)


def _slowest(layers, workers, send: Send, ends: tuple[int, ...]) -> float:
    """Seconds of the slowest stage or message of a cut: exact, where the solver's T is rounded."""
    starts = (0, *ends[:-1])
    stages = [
        sum(layer.forward + layer.backward for layer in layers[k:i]) / worker.speed
        for k, i, worker in zip(starts, ends, workers)
    ]
    return max(*stages, *(send(layers[end - 1].sent) for end in ends[:-1]), 0.0)


def _solve(layers, workers, send: Send, live, together) -> np.ndarray | None:
    """x of the best cut, bool [layers, stages]; None if none fits."""
    from scipy.optimize import Bounds, milp  # here: what cuts nothing starts without it

    N, p = len(layers), len(workers)
    x, T, number = np.arange(N * p).reshape(N, p), N * p, np.arange(p)
    seconds = np.array([layer.forward + layer.backward for layer in layers])
    messages = [send(layer.sent) for layer in layers]
    scale = max(float(seconds.max()), *messages, np.finfo(float).tiny)
    rows = ConstraintRows()
    for i in range(N):
        rows.add(x[i], 1, 1, 1)
    rows.add(x[0], number, 0, 0)
    rows.add(x[-1], number, p - 1, p - 1)
    for i in range(N - 1):
        step = [*x[i], *x[i + 1]], [*(-number), *number]
        rows.add(*step, 0, 1)
        rows.add([T, *step[0]], [1, *(-messages[i] / scale * np.array(step[1]))], 0, np.inf)
    for i, k in together:
        for r in range(p):
            rows.add([x[i, r], x[k, r]], [1, -1], 0, 0)
    for r, worker in enumerate(workers):
        rows.add([T, *x[:, r]], [1, *(-seconds / worker.speed / scale)], 0, np.inf)
        if np.isfinite(worker.memory):
            held = np.array([layer.weights + live[r] * layer.kept for layer in layers])
            unit = max(worker.memory, 1.0)  # so that bytes are of the size of the other numbers
            rows.add(x[:, r], held / unit, -np.inf, worker.memory / unit * (1 + SLACK))
    aim, whole = np.zeros(T + 1), np.ones(T + 1)
    aim[T], whole[T] = 1, 0
    found = milp(aim, integrality=whole, bounds=Bounds(0, np.inf), constraints=rows.constraint(T + 1), options=EXACT)
    return None if found.x is None else found.x[:T].reshape(N, p) > 0.5

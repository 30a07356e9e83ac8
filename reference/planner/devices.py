"""Devices: which operator of a graph lives on which device, so that the busiest one is done soonest.

Idea      Sharding cuts every operator; here each stays whole, and devices may differ. All work at once (on different
          micro-batches), so the slowest counts, and the programme is min-max:

              minimise T
              sum over j of x[i, j] = 1                                          each operator has one device
              sum over i of m[i] x[i, j] <= M[j]                                 memory, device by device
              T >= sum over i of t[i, j] x[i, j] + sum over edges of c z[j]      each device; T is their maximum
              z[j] >= x[i, j] - x[k, j],   z[j] >= x[k, j] - x[i, j]             edge (i, k) is cut at device j

          The last line is a product of two choices, made linear: z is 1 if one end of the edge is on j and the other is
          not. Both devices then spend c seconds, one sends and the other receives.
Before    the four lines above are often missing but for an x that occurs nowhere: then T = 0, with nothing placed
After     the true minimum, as all placements tried one by one confirm
Left out  Order and start-up of a pipeline (reference/pipeline), and links that differ. For layers in a chain on devices
          in a row there is a dynamic programme: reference/pipeline/sizing/partition.py.
Source    Tarnawski et al., "Efficient Algorithms for Device Placement of DNN Graph Operators" (2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..linear_programme import EXACT, SLACK, ConstraintRows

LinkCost = tuple[int, int, float]  # operators i and k, seconds for each of two devices if they are apart


class Placed(NamedTuple):
    """device: of each operator; seconds: of the busiest device; load: of each device, float [devices]."""

    device: tuple[int, ...]
    seconds: float
    load: np.ndarray


def place(seconds, memory, limits, edges: Sequence[LinkCost] = ()) -> Placed:
    """The placement whose busiest device is done soonest.

    seconds  float [operators, devices]
    memory   bytes of each operator; limits: of each device
    edges    (i, k, c): operators that exchange something, and what it costs each of their devices if they are two
    Raises ValueError for shapes that do not fit, negative numbers, or if no placement fits into the devices' memory.
    """
    seconds, memory, limits = np.array(seconds, float), np.array(memory, float), np.array(limits, float)
    _check(seconds, memory, limits, edges)
    found = _solve(seconds, memory, limits, edges)
    if found is None:
        raise ValueError(
            f"no placement fits: operators of {memory.sum():,.0f} bytes together, the largest {memory.max():,.0f}, on "
            f"devices of {', '.join(f'{one:,.0f}' for one in limits)}"
        )
    load = loads(found, seconds, edges)
    return Placed(tuple(map(int, found)), float(load.max()), load)


def loads(device: Sequence[int] | np.ndarray, seconds, edges: Sequence[LinkCost] = ()) -> np.ndarray:
    """Seconds of each device, float [devices], if operator i is on device[i]: its operators, and its cut edges."""
    seconds = np.asarray(seconds, float)
    load = np.zeros(seconds.shape[1])
    np.add.at(load, np.asarray(device), seconds[np.arange(len(seconds)), device])
    for i, k, cost in edges:
        if device[i] != device[k]:
            load[[device[i], device[k]]] += cost
    return load


def _check(seconds: np.ndarray, memory: np.ndarray, limits: np.ndarray, edges: Sequence[LinkCost]) -> None:
    if seconds.ndim != 2 or not seconds.size or seconds.shape != (*memory.shape, *limits.shape):
        raise ValueError(
            f"seconds is [operators, devices]: got {seconds.shape}, with memory of {memory.shape} operators and limits "
            f"of {limits.shape} devices"
        )
    if min(seconds.min(), memory.min(), limits.min(), *(cost for _, _, cost in edges)) < 0:
        raise ValueError("seconds and bytes are at least 0")
    if wrong := [edge for edge in edges if not all(0 <= end < len(memory) for end in edge[:2])]:
        raise ValueError(f"edge {wrong[0]} names an operator that is not among 0 to {len(memory) - 1}")


def _solve(seconds: np.ndarray, memory: np.ndarray, limits: np.ndarray, edges) -> np.ndarray | None:
    """Of each operator its device; None if the memory does not suffice."""
    from scipy.optimize import Bounds, milp

    N, D = seconds.shape
    x = np.arange(N * D).reshape(N, D)
    z = N * D + np.arange(len(edges) * D).reshape(len(edges), D)
    T = N * D + z.size
    unit = max(limits.max(), 1.0)  # so that bytes are of the size of the other numbers
    scale = max(seconds.max(), *(cost for _, _, cost in edges), np.finfo(float).tiny)
    rows = ConstraintRows()
    for i in range(N):
        rows.add(x[i], 1, 1, 1)
    for j in range(D):
        rows.add(x[:, j], memory / unit, -np.inf, limits[j] / unit * (1 + SLACK))
        costs = [cost / scale for _, _, cost in edges]
        rows.add([T, *x[:, j], *z[:, j]], [1, *(-seconds[:, j] / scale), *(-cost for cost in costs)], 0, np.inf)
        for e, (i, k, _) in enumerate(edges):
            rows.add([z[e, j], x[i, j], x[k, j]], [1, -1, 1], 0, np.inf)
            rows.add([z[e, j], x[i, j], x[k, j]], [1, 1, -1], 0, np.inf)
    aim, whole = np.zeros(T + 1), np.zeros(T + 1)
    aim[T], whole[: N * D] = 1, 1
    found = milp(aim, integrality=whole, bounds=Bounds(0, np.inf), constraints=rows.constraint(T + 1), options=EXACT)
    return None if found.x is None else found.x[: N * D].reshape(N, D).argmax(axis=1)

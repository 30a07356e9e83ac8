"""How many times as many CPU seconds this machine needs as the one that budgets are written for.

    python .ci/calibrate.py

Machines differ by a factor of two and more, so a budget in seconds would bind whoever has the slow one. Three short
pieces of work, one each of Python, NumPy and torch as the tests use them, are timed in CPU seconds; their quotient
with those of the reference machine (two virtual cores of an AMD EPYC server, both computing, November 2026), in the
geometric mean, turns seconds here into seconds there. As many processes do so at once as run tests: there the same loop
took 6 ms alone and 10 ms while the other core computed.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable
from statistics import geometric_mean, mean, median

import numpy as np

ROUNDS = 15  # the median of so many counts


def python() -> None:
    """Integers, a list and a dictionary."""
    table: dict[int, int] = {}
    for i in range(100_000):
        table[i % 1000] = table.get(i % 997, 0) + i * i % 7


def numpy() -> None:
    """Many small arrays and a sort; no product of matrices, which may run on several threads."""
    x = np.linspace(0.0, 1.0, 64)
    for _ in range(2500):
        x = x[::-1] * 0.5 + x.mean()
    np.sort(np.sin(np.arange(100_000.0)))


def pytorch() -> None:
    """Forward and backward passes of a small network, as in training a tiny model."""
    import torch  # here: the pools of threads of a process that has imported it do not survive a fork

    torch.set_num_threads(1)
    w = torch.full((32, 32), 0.01, requires_grad=True)
    x = torch.ones(16, 32)
    for _ in range(300):
        torch.relu(x @ w).sum().backward()


REFERENCE = {python: 0.020, numpy: 0.022, pytorch: 0.015}  # CPU seconds on the reference machine


def cpu_seconds(work: Callable[[], None]) -> float:
    """The median of the CPU seconds that a piece of work took, after once to warm up."""

    def once() -> float:
        start = time.process_time()
        work()
        return time.process_time() - start

    once()
    return median(once() for _ in range(ROUNDS))


def measure() -> list[float]:
    """The CPU seconds of each piece of work, in this process."""
    return [cpu_seconds(work) for work in REFERENCE]


def slowness(processes: int) -> tuple[float, str]:
    """CPU seconds here for one of the reference machine, and a line that says of what it is made.

    processes: how many compute at a time.
    """
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        asked = [pool.apply_async(measure) for _ in range(processes)]
        taken = [mean(seconds) for seconds in zip(*(one.get(timeout=600) for one in asked))]
    factor = geometric_mean(here / there for here, there in zip(taken, REFERENCE.values()))
    parts = ", ".join(f"{work.__name__} {here * 1e3:.1f} ms" for work, here in zip(REFERENCE, taken))
    return factor, f"a CPU second of the reference machine is {factor:.2f} of this one ({parts})"


if __name__ == "__main__":
    print(slowness(os.cpu_count() or 1)[1])

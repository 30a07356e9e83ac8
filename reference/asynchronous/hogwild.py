"""Hogwild!: cores of one machine update one vector in shared memory, without any lock.

Idea      A sparse sample needs k of the d weights and changes k of them. Two samples that are worked on at the same
          time rarely share one, so locks would protect against almost nothing, and cost more than the update.
          It is for many cores of one machine, shared memory, sparse problems: matrix factorisation, linear models on
          text, word vectors. Not for most networks on GPUs: gradients are dense there and memories apart; those meet in
          one_sided.py.
Price     Two samples with k random columns of d share one with probability p = 1 - (1 - k/d)^k or so, about k^2 / d.
          While a rank computes, each other one writes about once; if the times are random (exponential), some write
          meets what the rank has read with probability (P - 1) p / (1 + (P - 1) p).
          With k = d every pair conflicts. Each gradient is then late by about P - 1 updates, so the learning rate must
          be smaller (staleness.py); and a rank that writes back whole what it has read (overwrite=True) wipes out what
          the others have added meanwhile: lost updates. Hogwild's `w += change` loses an update only where two ranks
          change one element within nanoseconds, for an addition in memory is a load and a store.
Exact     On the virtual cluster loads and stores happen in the order of the clocks (Sync), so that every run is the
          same run. On real ranks every run differs.
Left out  Logistic loss and other losses: least squares shows the same.
Source    Niu, Recht, Re and Wright, "Hogwild!: A Lock-Free Approach to Parallelizing Stochastic Gradient Descent"
          (2011).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import mpi
from ..agreement import agree
from .arguments import trouble


class Sparse(NamedTuple):
    """Least squares with k nonzeros a sample: sample i is values[i] [k] in the columns columns[i] [k], target y[i].

    Each has norm 1, and y is that of the weights `truth` [d] exactly, so that the least loss is 0.
    """

    columns: np.ndarray
    values: np.ndarray
    y: np.ndarray
    truth: np.ndarray

    def loss(self, w: np.ndarray) -> float:
        """Half the mean square of the errors at w [d]."""
        return float(np.mean(((self.values * w[self.columns]).sum(1) - self.y) ** 2) / 2)


def sparse_problem(samples: int, d: int, k: int, seed: int = 0) -> Sparse:
    """Random samples with k of d columns each; k = d makes them dense."""
    random = np.random.default_rng(seed)
    columns = np.stack([random.choice(d, k, replace=False) for _ in range(samples)])
    values = random.standard_normal((samples, k))
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    truth = random.standard_normal(d)
    return Sparse(columns, values, (values * truth[columns]).sum(1), truth)


def conflict_probability(d: int, k: int) -> float:
    """That two samples of k random columns share at least one of d."""
    return 1 - float(np.prod(1 - k / (d - np.arange(k)))) if 2 * k <= d else 1.0


def conflict_share(ranks: int, p: float) -> float:
    """The expected share of updates that meet a conflict, if two samples share a column with probability p."""
    return (ranks - 1) * p / (1 + (ranks - 1) * p)


class HogwildResult(NamedTuple):
    """The weights w [d], alike on all ranks, and the share of this rank's updates that met a conflict.

    A conflict: some weight that the update was computed from had changed when the update was written.
    """

    w: np.ndarray
    conflicts: float


def train_hogwild(
    comm, problem: Sparse, steps: int, rate: float, overwrite: bool = False, seconds: float = 0.0, seed: int = 0
) -> HogwildResult:
    """Minimise the loss by SGD on one sample at a time, `steps` on every rank, all on one vector that starts at 0.

    overwrite  write back what was read, plus the change, instead of adding the change to what is there now
    seconds    that a gradient takes on average, charged to the rank's clock; the times are exponentially distributed
    Raises ValueError on every rank for impossible arguments, mpi.Exception if the ranks do not share a machine.
    """
    agree(comm, "the arguments", [f"{rate=}", f"{overwrite=}"], trouble(steps, rate))
    window, w = shared_vector(comm, len(problem.truth))
    random, met = np.random.default_rng([seed, comm.rank]), 0
    for sample in random.integers(len(problem.y), size=steps):
        columns, x = problem.columns[sample], problem.values[sample]
        window.Sync()
        read = w[columns]
        change = -rate * (x @ read - problem.y[sample]) * x
        mpi.compute(comm, seconds * random.exponential())
        window.Sync()
        met += not np.array_equal(read, w[columns])
        if overwrite:
            w[columns] = read + change
        else:
            w[columns] += change
    window.Sync()
    comm.Barrier()
    window.Sync()
    result = HogwildResult(w.copy(), met / max(steps, 1))
    comm.Barrier()
    window.Unlock_all()
    window.Free()
    return result


def shared_vector(comm, d: int) -> tuple:
    """A window, open for direct loads and stores, and its d float64 zeros, which lie on rank 0 and all ranks see."""
    window = mpi.win_allocate_shared(comm, 8 * d if comm.rank == 0 else 0, disp_unit=8)
    w = np.frombuffer(window.Shared_query(0)[0], np.float64)
    window.Lock_all()
    if comm.rank == 0:
        w[:] = 0.0
    window.Sync()
    comm.Barrier()
    return window, w


def lost_updates(comm, additions: int, elements: int = 1, seconds: float = 0.0) -> int:
    """How many additions of 1 are lost if every rank loads a number, takes its time, and stores that number plus 1.

    Each rank adds to the `elements` numbers of a shared vector, one after the other, `additions` times in all. The
    loads and stores of `seconds` (0: as they come) apart are what `w[i] += 1` is, in slow motion.
    """
    window, w = shared_vector(comm, elements)
    for number in range(additions):
        window.Sync()
        seen = w[number % elements]
        mpi.compute(comm, seconds)
        window.Sync()
        w[number % elements] = seen + 1
    window.Sync()
    comm.Barrier()
    lost = comm.size * additions - int(w.sum())
    comm.Barrier()
    window.Unlock_all()
    window.Free()
    return lost

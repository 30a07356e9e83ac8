"""A fit of this machine: alpha, g, beta and gamma from measurements, with what they leave unexplained.

Idea      The closed forms are linear in the latency alpha - g, the gap g and beta. So measure a few all-reduces and
          solve for these numbers: least squares of the *relative* errors, for a time of 20 us counts as much as one of
          20 ms. gamma comes first, from adding alone: in one schedule it cannot be told from beta. g is told from the
          latency by schedules of both kinds, with messages that wait for each other (ring) and in flight (direct).
Exact     One alpha, g and beta for all algorithms say what the machine is like. An own pair for each algorithm says
          what that algorithm makes of it: waits and memory traffic are not in the model. NCCL's tuner keeps such a
          table too, of latency and efficiency by algorithm (src/graph/tuning.cc). On P ranks every form is a constant
          and a slope in n, so that a pair fits them all alike, right or wrong: which is right, another P tells
          (test_fit.py).
Left out  Bends in the curves, where caches overflow or a library changes its protocol: see `residuals`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from math import inf
from typing import Any, NamedTuple

import numpy as np

from .. import mpi
from ..networks.network import Link
from ..perf.measure import measure
from .catalogue import ALLREDUCE
from .record import Setting

SIZES = (4, 2**12, 2**16, 2**18, 2**20, 2**22, 2**24)  # bytes
REFINED = 4  # times that a line is fitted again
SECONDS_A_SIZE = 0.03  # about how long one size of one algorithm is measured


class Sample(NamedTuple):
    """One measurement: an all-reduce of so many bytes took so many seconds."""

    algorithm: str
    nbytes: int
    seconds: float


class Residual(NamedTuple):
    """A sample and what was predicted for it (seconds): by the algorithm's own line, and by the machine's."""

    algorithm: str
    nbytes: int
    seconds: float
    own: float
    common: float


@dataclass(frozen=True)
class Fit:
    """What was measured on P ranks, and the numbers that describe it.

    alpha and gap (s), beta and gamma (s/byte) hold for all algorithms together; `lines` has an own (alpha, beta) for
    each, in which latency holds ports: of one algorithm on P ranks, only the sum of all its latencies and gaps shows.
    `options` are what an algorithm was measured with, such as ranks_per_node; `itemsize` is the bytes of an element.
    """

    P: int
    alpha: float
    beta: float
    gamma: float
    lines: dict[str, tuple[float, float]]
    options: dict[str, dict[str, Any]]
    samples: tuple[Sample, ...]
    itemsize: int = 1
    gap: float = inf

    def seconds(self, algorithm: str, P: int, count: int, itemsize: int) -> float:
        """The time of an all-reduce by the algorithm's own line. Raises ValueError for one that was not measured."""
        if algorithm not in self.lines:
            raise ValueError(f"{algorithm!r} was not measured on this machine; there are: {', '.join(self.lines)}")
        return self._cost(algorithm, P, count, itemsize, Link(*self.lines[algorithm], self.gamma, inf))

    def to_json(self) -> dict[str, Any]:
        """What JSON can tell, without the samples."""
        told = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "samples"}
        return told | {"gap": None if self.gap == inf else self.gap}

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> Fit:
        """What `to_json` has told."""
        lines = {name: (alpha, beta) for name, (alpha, beta) in told["lines"].items()}
        gap = inf if told["gap"] is None else told["gap"]
        return cls(**told | {"lines": lines, "samples": (), "gap": gap})

    def _cost(self, algorithm: str, P: int, count: int, itemsize: int, link: Link) -> float:
        options = self.options.get(algorithm, {})
        return ALLREDUCE[algorithm].cost(P, count, itemsize, link, **options).seconds

    def residuals(self) -> list[Residual]:
        """Every sample beside its two predictions."""
        found, common = [], Link(self.alpha, self.beta, self.gamma, self.gap)
        for sample in self.samples:
            asked = sample.algorithm, self.P, sample.nbytes // self.itemsize, self.itemsize
            found.append(Residual(*sample, self.seconds(*asked), self._cost(*asked, common)))
        return found

    def error(self) -> tuple[float, float]:
        """The mean relative error of the own lines, and of the common one: 0.2 is 20 %."""
        found = self.residuals()
        return (
            float(np.mean([abs(each.own / each.seconds - 1) for each in found])),
            float(np.mean([abs(each.common / each.seconds - 1) for each in found])),
        )


def relative_least_squares(parts, seconds, known=0.0) -> list[float]:
    """The x >= 0 for which the relative errors (parts @ x + known) / seconds - 1 have the least sum of squares.

    parts: [samples, unknowns]; seconds, known: [samples]. Raises ValueError if a time is not above 0.
    """
    from scipy.optimize import nnls

    parts, seconds = np.asarray(parts, float), np.asarray(seconds, float)
    if not len(seconds) or seconds.min() <= 0:
        raise ValueError(f"times to fit must be above 0 s, and there must be some: got {seconds.tolist()}")
    scale = np.abs(parts).max(axis=0)
    scale[scale == 0] = 1.0  # an unknown that does not occur
    solution, _ = nnls(parts / scale / seconds[:, None], 1 - known / seconds)
    return (solution / scale).tolist()


def fit(
    P: int,
    samples: Sequence[Sample],
    gamma: float = 0.0,
    options: dict[str, dict] | None = None,
    itemsize: int = 1,
) -> Fit:
    """alpha, gap and beta from samples of any algorithms on P ranks; gamma (s/byte) is known already."""
    options = options or {}

    def link(names: set[str], gaps: bool) -> Link:
        own = [sample for sample in samples if sample.algorithm in names]
        costs = [
            partial(ALLREDUCE[name].cost, P, nbytes // itemsize, itemsize, **options.get(name, {}))
            for name, nbytes, _ in own
        ]
        units = [Link(0.0, 1.0), Link(1.0, 0.0, gap=inf), *([Link(1.0, 0.0, gap=0.0)] if gaps else [])]
        parts = [[cost(link=unit).seconds for unit in units] for cost in costs]
        seconds, found = np.array([sample.seconds for sample in own]), Link(0.0, 0.0, gamma, inf)
        for _ in range(REFINED):  # what the direct exchange hides of its additions depends on the gap and beta
            added = np.array([cost(link=found).reduction for cost in costs])
            beta, gap, *latency = relative_least_squares(parts, seconds, added)
            found = Link(gap + sum(latency), beta, gamma, gap if gaps else inf)
        return found

    names = dict.fromkeys(sample.algorithm for sample in samples)
    alpha, beta, _, gap = link(set(names), gaps=True)
    lines = {name: link({name}, gaps=False)[:2] for name in names}
    return Fit(P, alpha, beta, gamma, lines, options, tuple(samples), itemsize, gap)


def fit_line(algorithm: str, samples: Sequence[tuple[int, int, float]], **options) -> Link:
    """alpha and beta of one algorithm from (ranks, bytes, seconds), of several numbers of ranks; latency holds ports.

    On one number of ranks every algorithm fits alike, as each form is a constant and a slope there. On several, the
    forms differ in how the constant grows: predict what was left out to see which holds (`line_errors`).
    """
    cost = partial(ALLREDUCE[algorithm].cost, itemsize=1, **options)
    units = Link(1.0, 0.0, gap=inf), Link(0.0, 1.0)
    parts = [[cost(P, nbytes, link=unit).seconds for unit in units] for P, nbytes, _ in samples]
    alpha, beta = relative_least_squares(parts, [seconds for *_, seconds in samples])
    return Link(alpha, beta, gap=inf)


def line_errors(algorithm: str, line: Link, samples: Sequence[tuple[int, int, float]], **options) -> np.ndarray:
    """Predicted over measured, less 1, of each (ranks, bytes, seconds)."""
    cost = partial(ALLREDUCE[algorithm].cost, itemsize=1, link=line, **options)
    return np.array([cost(P, nbytes).seconds / seconds - 1 for P, nbytes, seconds in samples])


def calibrate(
    comm, allreduce: Callable, candidates: dict[str, dict] | None = None, sizes: Sequence[int] = SIZES
) -> Fit:
    """Measure all-reduces of float32 on this machine, about half a second an algorithm; the same Fit on every rank.

    allreduce: what programs call (select.py), and what is timed: its messages alone are quicker. It takes turns with
    MPI's own call on other arrays: again and again, one algorithm finds its arrays in the caches and is quicker, too.
    candidates: names in ALLREDUCE with the options to measure them with; unless told, those whose records want to be
    measured: five good ones, and the hierarchical one if there are several nodes. sizes: bytes.
    Raises ValueError for one rank, which has nobody to exchange messages with, and if there is nothing to measure.
    """
    if comm.size == 1:
        raise ValueError("one rank sends no messages, so there is nothing to measure: start with mpirun -n 2 or more")
    candidates = to_measure(comm.size, _nodes(comm)) if candidates is None else candidates
    samples = []
    for nbytes in sorted(sizes, reverse=True):  # the large ones first, to warm up
        x, *other = (np.full(max(1, nbytes // 4), 0, np.float32) for _ in range(3))  # memory that has been written to
        programs = [partial(allreduce, comm, x, algorithm=name, **how) for name, how in candidates.items()]
        programs.append(partial(comm.Allreduce, *other))
        once = sum(time.median for time in measure(comm, programs, 1))
        repeat = int(np.clip(SECONDS_A_SIZE * len(candidates) / once, 3, 15))
        *times, _ = measure(comm, programs, repeat)
        samples += [Sample(name, x.nbytes, time.median) for name, time in zip(candidates, times, strict=True)]
    gamma = _gamma(comm)
    found: Fit | Exception | None = None
    if comm.rank == 0:
        try:
            found = fit(comm.size, samples, gamma, candidates, 4)
        except Exception as error:  # raised on every rank: else the others would wait for rank 0
            found = error
    found = comm.bcast(found)
    if isinstance(found, Exception):
        raise found
    return found


def to_measure(P: int, groups: tuple[int, ...] = ()) -> dict[str, dict]:
    """The algorithms worth measuring on a machine of which nothing is known but its groups of consecutive ranks."""
    setting = Setting(P, 0, 1, None, groups, meet=False)
    found = {record.name: record.candidates(setting) for record in ALLREDUCE.values()}
    return {name: options[0] for name, options in found.items() if options}


def _gamma(comm, nbytes: int = 2**20) -> float:
    """Seconds per byte of an addition, while all ranks add: cores may be fewer than ranks."""
    a, b = np.zeros(nbytes // 4, np.float32), np.ones(nbytes // 4, np.float32)

    def add() -> None:
        np.add(a, b, out=a)
        mpi.compute(comm, reduced=nbytes)
        comm.Barrier()

    added, barrier = measure(comm, [add, comm.Barrier], 9)
    return max(added.median - barrier.median, 0.0) / nbytes


def _nodes(comm) -> tuple[int, ...]:
    """How many ranks a node has, if consecutive ranks fill several nodes with equally many each; else nothing."""
    here = comm.Split_type(mpi.COMM_TYPE_SHARED, key=comm.rank)
    mine = (here.size, comm.rank - here.rank)
    here.Free()
    nodes = comm.allgather(mine)
    L = nodes[0][0]
    regular = all(size == L and first == rank // L * L for rank, (size, first) in enumerate(nodes))
    return (L,) if regular else ()

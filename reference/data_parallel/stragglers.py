"""Stragglers: a synchronous step lasts as long as the slowest rank, and the slowest of many is slow.

Idea      A step takes max(t_1, ..., t_P). Its mean grows with P although no rank has become slower: by H_P = 1 + 1/2 +
          ... + 1/P ~ ln P mean delays if delays are exponential; by less than sqrt(2 ln P) deviations if normal.
After     A rank that is always slow gets fewer samples, in proportion to its speed: `proportional`. The average stays
          right, because it is weighted with counts (average.py); a mean of the ranks' means would not.
          If now one rank is late and now another: work until a time and not until a number, `work_until`. Nobody waits
          for longer than one piece, and what a rank has not come to goes back, to be handed out again.
          Take the first P - b of P and drop the rest: `with_spares`. An ordinary all-reduce cannot do that: its ranks
          wait for all; a server need not (asynchronous.parameter_server). And a rank that is always slow
          is always dropped: nobody ever learns from data that it alone has, however the mean is counted.
Left out  Stale gradients: what is dropped here could be used later (asynchronous.staleness).
Source    Chen et al., "Revisiting Distributed Synchronous SGD" (2016), for backup workers; Ferdinand et al., "Anytime
          Minibatch" (2019), for working until a time and not until a number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heapify, heapreplace
from typing import NamedTuple

import numpy as np

from .. import mpi

# How long the slowest of P takes --------------------------------------------------------------------------------------


def harmonic(P: int) -> float:
    """H_P = 1 + 1/2 + ... + 1/P."""
    return float(np.sum(1 / np.arange(1, P + 1)))


def exponential_wait(P: int, least: float, delay: float, spares: int = 0) -> float:
    """Mean seconds until P - spares of P ranks are done that take `least` + an exponential delay of mean `delay`.

    least + delay (H_P - H_spares): with k ranks still at work the next one is done after delay / k on average.
    """
    return least + delay * (harmonic(P) - harmonic(spares))


def expected_wait(exceeded: Callable[[float], float], P: int, spares: int = 0) -> float:
    """The same for any times: exceeded(q) is the time that a rank exceeds with probability q (scipy's .isf).

    The probability q of the (spares + 1)-th slowest of P has a Beta(spares + 1, P - spares) distribution.
    """
    from scipy.integrate import quad
    from scipy.stats import beta

    _check_spares(P, spares)
    place = beta(spares + 1, P - spares)
    return quad(lambda u: exceeded(place.ppf(u)), 0, 1)[0]


def _check_spares(P: int, spares: int) -> None:
    if not 0 <= spares < P:
        raise ValueError(f"of {P} ranks 0 to {P - 1} can be spares, not {spares}")


class Steps(NamedTuple):
    """Of each step how long it takes (s), [steps], and whether each rank's gradient was used, [steps, P]."""

    seconds: np.ndarray
    used: np.ndarray


def with_spares(times: np.ndarray, spares: int = 0) -> Steps:
    """Steps that wait for all but `spares` of the P ranks, begun together; times [steps, P] in seconds."""
    _check_spares(times.shape[1], spares)
    last = times.shape[1] - 1 - spares
    order = np.argsort(times, axis=1, kind="stable")
    used = np.argsort(order, axis=1) <= last
    return Steps(np.take_along_axis(times, order[:, last : last + 1], axis=1)[:, 0], used)


# Shares in proportion to speed ----------------------------------------------------------------------------------------


def proportional(samples: int, speeds: Sequence[float]) -> list[int]:
    """How many of the samples each rank gets so that the slowest is done first: max n_r / v_r is the least there is.

    speeds: samples per second, or anything in proportion to it. Raises ValueError unless all are above 0.
    """
    if min(speeds) <= 0:
        raise ValueError(f"speeds must be above 0, got {list(speeds)}")
    shares = [int(samples * speed / sum(speeds)) for speed in speeds]
    waiting = [((n + 1) / speed, rank) for rank, (n, speed) in enumerate(zip(shares, speeds))]
    heapify(waiting)
    for _ in range(samples - sum(shares)):  # fewer than ranks; each to whoever would be done with it first
        _, rank = waiting[0]
        shares[rank] += 1
        heapreplace(waiting, ((shares[rank] + 1) / speeds[rank], rank))
    return shares


def rebalanced(comm, samples: int, done: int, seconds: float) -> list[int]:
    """The shares for the next step from what each rank did in the last one; the same list on every rank.

    done: samples of this rank, which took it `seconds` without waiting. One allgather of two numbers a rank.
    Raises ValueError on every rank if one has done nothing: its speed is not known.
    """
    found = comm.allgather((done, seconds))
    if min(min(pair) for pair in found) <= 0:
        raise ValueError(f"a rank's speed is known once it has done something, got {found} (samples, seconds)")
    return proportional(samples, [n / t for n, t in found])


def part(items, shares: Sequence[int], rank: int):
    """The contiguous part of a tensor or list that is this rank's: shares[rank] of them, after those of lower ranks."""
    first = sum(shares[:rank])
    return items[first : first + shares[rank]]


# Until a time ---------------------------------------------------------------------------------------------------------


def work_until(comm, seconds: float, pieces: Sequence, work: Callable[[object], None]) -> list:
    """work(piece) for one piece after the other until `seconds` have passed; the pieces that are left.

    The last piece is finished, so this takes at most one piece longer, and each rank that has any does at least one.
    Put what is left back: what is thrown away is what slow ranks had.
    """
    start = mpi.wtime(comm)
    for number, piece in enumerate(pieces):
        if number and mpi.wtime(comm) - start >= seconds:
            return list(pieces[number:])
        work(piece)
    return []

"""A collective is a generator of rounds: what to send where, what to receive from whom, and whether to combine.

    for round in ring_allreduce_rounds(rank=2, ranks=8): ...

The generator is a pure function of (rank, ranks): no communicator and no data in it. So one description is

- carried out, blocking (`execute`) or step by step while something else is computed (`start`);
- carried out by the virtual cluster as its own Allreduce, Bcast, ... (`reference.worlds.collective`);
- timed for all ranks at once, called with `rank=numpy.arange(ranks)` (`evaluate.py`), at sizes no engine reaches;
- drawn.

An array is cut into blocks, and a round names blocks, not elements: `(lo, hi)` are the blocks lo, ..., hi-1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import mpi
from .operations import combine


class Round(NamedTuple):
    """One round of one rank (of all ranks at once if the fields are arrays).

    to, source   the ranks to send to and to receive from; PROC_NULL for none
    send, recv   the blocks that go and that come, as (lo, hi)
    combine      whether what comes is combined with what is there (else it replaces it)
    """

    to: Any
    send: tuple[Any, Any]
    source: Any
    recv: tuple[Any, Any]
    combine: bool = False


def block_bounds(count: int, blocks: int) -> np.ndarray:
    """Where `count` elements are cut into blocks: blocks + 1 positions; the first count % blocks have one more."""
    i = np.arange(blocks + 1)
    return i * (count // blocks) + np.minimum(i, count % blocks)


class Blocks:
    """A one-dimensional array seen as blocks: `blocks[lo, hi]` is a view of the blocks lo, ..., hi-1.

    Cut evenly into `number` blocks, or by `counts` elements each, one after the other or at the displacements
    `displs` (then only single blocks can be named).
    """

    def __init__(self, array, number: int | None = None, counts: Sequence[int] | None = None, displs=None):
        if counts is None:
            bounds = block_bounds(len(array), number).tolist()
            starts, stops = bounds[:-1], bounds[1:]
        else:
            starts = np.cumsum([0, *counts])[:-1].tolist() if displs is None else list(displs)
            stops = [start + count for start, count in zip(starts, counts, strict=True)]
        self.array, self.starts, self.stops = array, starts, stops

    def __getitem__(self, blocks: tuple[int, int]):
        lo, hi = blocks
        return self.array[self.starts[lo] : self.stops[hi - 1]] if hi > lo else self.array[:0]


def steps(comm, rounds, send: Blocks, recv: Blocks, op=mpi.SUM) -> Iterator[list]:
    """The interpreter of every schedule: post a round, yield its requests, combine.

    Whoever drives this generator decides how to wait: `execute` blocks, a RoundsRequest
    tests, the virtual cluster's event loop advances it by itself.
    """
    tag = mpi.fresh_tag(comm)  # one for all rounds: messages of a pair of ranks keep order
    for to, send_blocks, source, recv_blocks, combines in rounds:
        target = recv[recv_blocks]
        incoming = _empty_like(target) if combines else target
        yield [comm.Irecv(incoming, source, tag), comm.Isend(send[send_blocks], to, tag)]
        if combines and source != mpi.PROC_NULL:
            combine(op, target, incoming)
            mpi.compute(comm, reduced=target.nbytes)


def execute(comm, rounds, send: Blocks, recv: Blocks | None = None, op=mpi.SUM) -> None:
    """Carry out the rounds. Without `recv`, blocks come in where others go out."""
    for requests in steps(comm, rounds, send, recv or send, op):
        mpi.waitall(requests)


def start(comm, rounds, send: Blocks, recv: Blocks | None = None, op=mpi.SUM) -> RoundsRequest:
    """Begin to carry out the rounds and return at once; testing the request takes them on."""
    return RoundsRequest(steps(comm, rounds, send, recv or send, op))


class RoundsRequest:
    """A collective under way: `Test()` advances it as far as it goes, `Wait()` to its end.

    Real MPI moves data inside MPI calls only: call `Test` now and then while you compute, or nothing overlaps. `Wait`
    advances this collective alone: ranks with several under way wait for them in the same order, or with mpi.waitall,
    which advances all of them.
    """

    def __init__(self, driver: Iterator[list]):
        self._driver = driver
        self._requests = next(driver, None)

    def Test(self) -> bool:
        """Post every round that is due; True once the collective is complete."""
        while self._requests is not None and self._round_done():
            self._requests = next(self._driver, None)
        return self._requests is None

    def _round_done(self) -> bool:
        done = [request.Test() for request in self._requests]  # test each: real MPI moves on only what is tested
        return all(done)

    def Wait(self, status=None) -> None:
        """Carry out what is left. A collective has no status to tell."""
        while self._requests is not None:
            mpi.waitall(self._requests)
            self._requests = next(self._driver, None)

    @staticmethod
    def Waitall(requests: Sequence[RoundsRequest], statuses=None) -> None:
        """Advance all of them, each as its messages come; what mpi.waitall calls."""
        while under_way := [request for request in requests if request._requests is not None]:
            messages = [(owner, message) for owner in under_way for message in owner._requests]
            number = mpi.waitany([message for _, message in messages])
            for owner in under_way if number == mpi.UNDEFINED else [messages[number][0]]:
                owner.Test()

    @staticmethod
    def Waitany(requests: Sequence[RoundsRequest], status=None) -> int:
        """Advance all in turn until one is complete, and return its index; what mpi.waitany calls."""
        while True:
            for number, request in enumerate(requests):
                if request.Test():
                    return number


def _empty_like(array):
    return np.empty_like(array) if isinstance(array, np.ndarray) else array.new_empty(array.shape)

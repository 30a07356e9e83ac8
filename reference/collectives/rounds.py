"""Collectives as data: a generator of rounds, and the one small interpreter that carries out every schedule.

A round says what to send where, what to receive from whom, and whether to combine what comes with what is there.

    for round in ring_allreduce_rounds(rank=2, ranks=8): ...

The generator is a pure function of (rank, ranks): no communicator and no data in it. So one description is

- carried out, blocking (`execute`) or step by step while something else is computed (`RoundsRequest`);
- carried out by the virtual cluster as its own Allreduce, Bcast, ... (`reference.worlds.collective`);
- timed for all ranks at once, called with `rank=numpy.arange(ranks)` (`evaluate.py`), at sizes no engine reaches;
- put together from others, on part of the ranks (`within`);
- drawn.

An array is cut into blocks, and a round names blocks, not elements: `(lo, hi)` are the blocks lo, ..., hi-1. A range may
run past the last block and goes on at block 0.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import mpi
from .operations import combine


class Round(NamedTuple):
    """One round of one rank (of all ranks at once if the fields are arrays).

    to, source   the ranks to send to and to receive from; PROC_NULL for none
    send, recv   the blocks that go and that come, as (lo, hi)
    combine      whether what comes is combined with what is there (else it replaces it)
    wait         whether the round must be complete before the next may begin; rounds that do not depend on each other
                 are posted together
    """

    to: Any
    send: tuple[Any, Any]
    source: Any
    recv: tuple[Any, Any]
    combine: bool = False
    wait: bool = True


def choose(condition, yes, no):
    """`yes` where the condition holds, else `no`; of one rank, or of an array of ranks."""
    if isinstance(condition, np.ndarray):
        return np.where(condition, yes, no)
    return yes if condition else no


def only(condition, peer):
    """`peer` where the condition holds, else PROC_NULL: nobody."""
    return choose(condition, peer, mpi.PROC_NULL)


def within(rounds: Iterable[Round], member: Callable, first=0, each=1, active=True) -> Iterator[Round]:
    """The rounds of a group as rounds of the whole: its rank g is rank member(g), its block b begins at first + b * each.

    Where `active` is not true, the rank only looks on.
    """
    for to, send, source, recv, combines, wait in rounds:
        yield Round(
            only((to != mpi.PROC_NULL) & active, member(to)),
            tuple(first + block * each for block in send),
            only((source != mpi.PROC_NULL) & active, member(source)),
            tuple(first + block * each for block in recv),
            combines,
            wait,
        )


def backwards(rounds: Iterable[Round], combine: bool) -> Iterator[Round]:
    """The rounds with time turned round: who received sends, and what comes is combined or not."""
    for there in reversed(list(rounds)):
        yield Round(there.source, there.recv, there.to, there.send, combine)


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

    def pieces(self, blocks: tuple[int, int]) -> list:
        """The views that make up the blocks: one, or two if the range runs past the end."""
        (lo, hi), number = blocks, len(self.starts)
        return [self[lo, hi]] if hi <= number else [self[lo, number], self[0, hi - number]]


def steps(comm, rounds: Iterable[Round], send: Blocks, recv: Blocks | None = None, op=mpi.SUM) -> Iterator[list]:
    """The interpreter of every schedule: post what can be posted, yield the requests to wait for, combine.

    Whoever drives this generator decides how to wait: `complete` blocks, a RoundsRequest tests, the virtual cluster's
    event loop advances it by itself. Without `recv`, blocks come in where others go out.
    """
    recv = recv or send
    tag = mpi.fresh_tag(comm)  # one for all rounds: messages of a pair of ranks keep order
    scratch: dict[int, Any] = {}  # place in the group -> memory for what comes there, kept from group to group
    for group in _groups(rounds):
        receives, sends = [], []
        for place, (_, _, source, blocks, combines, _) in enumerate(group):
            if source != mpi.PROC_NULL:
                targets = recv.pieces(blocks)
                direct = len(targets) == 1 and not combines
                incoming = targets[0] if direct else _scratch(scratch, place, targets)
                receives.append((comm.Irecv(incoming, source, tag), source, incoming, targets, combines))
        for to, blocks, *_ in group:
            if to != mpi.PROC_NULL:
                sends.append(comm.Isend(_packed(send.pieces(blocks)), to, tag))
        for number, (request, source, incoming, targets, combines) in enumerate(receives, 1):
            yield [request, *sends] if number == len(receives) else [request]
            _unpack(comm, op, incoming, targets, combines, source < comm.rank)
        if sends and not receives:
            yield sends


def _groups(rounds: Iterable[Round]) -> Iterator[list[Round]]:
    """The rounds that are posted together, without those in which this rank has nothing to do."""
    group = []
    for each in rounds:
        if each.to != mpi.PROC_NULL or each.source != mpi.PROC_NULL:
            group.append(each)
        if each.wait and group:
            yield group
            group = []


def _scratch(kept: dict[int, Any], place: int, targets: list):
    size = sum(len(target) for target in targets)
    if place not in kept or len(kept[place]) < size:
        kept[place] = _empty(targets[0], size)
    return kept[place][:size]


def _empty(like, size: int):
    return np.empty(size, like.dtype) if isinstance(like, np.ndarray) else like.new_empty(size)


def _packed(pieces: list):
    if len(pieces) == 1:
        return pieces[0]
    return np.concatenate(pieces) if isinstance(pieces[0], np.ndarray) else sys.modules["torch"].cat(pieces)


def _unpack(comm, op, incoming, targets: list, combines: bool, theirs_first: bool) -> None:
    """Bring what has come to its place. Operands are taken in the order of ranks: both ends of an exchange agree."""
    if combines:
        combine(op, targets[0], incoming, theirs_first)
        mpi.compute(comm, reduced=incoming.nbytes)
    elif len(targets) > 1:
        split = len(targets[0])
        targets[0][:], targets[1][:] = incoming[:split], incoming[split:]


def complete(driver: Iterator[list]) -> Any:
    """Drive a collective to its end and return what it returns."""
    while True:
        try:
            requests = next(driver)
        except StopIteration as end:
            return end.value
        mpi.waitall(requests)


def execute(comm, rounds: Iterable[Round], send: Blocks, recv: Blocks | None = None, op=mpi.SUM) -> None:
    """Carry out the rounds to their end."""
    complete(steps(comm, rounds, send, recv, op))


class RoundsRequest:
    """A collective under way: `Test()` advances it as far as it goes, `Wait()` to its end; then `result` is there.

    Real MPI moves data inside MPI calls only: call `Test` now and then while you compute, or nothing overlaps. `Wait`
    advances this collective alone: ranks with several under way wait for them in the same order, or with mpi.waitall,
    which advances all of them.
    """

    def __init__(self, driver: Iterator[list]):
        self._driver, self.result = driver, None
        self._advance()

    def _advance(self) -> None:
        try:
            self._requests = next(self._driver)
        except StopIteration as end:
            self._requests, self.result = None, end.value

    def Test(self) -> bool:
        """Post every round that is due; True once the collective is complete."""
        while self._requests is not None and self._round_done():
            self._advance()
        return self._requests is None

    def _round_done(self) -> bool:
        done = [request.Test() for request in self._requests]  # test each: real MPI moves on only what is tested
        return all(done)

    def Wait(self, status=None) -> None:
        """Carry out what is left. A collective has no status to tell."""
        while self._requests is not None:
            mpi.waitall(self._requests)
            self._advance()

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

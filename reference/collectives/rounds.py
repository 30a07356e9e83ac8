"""Collectives as data: a generator of rounds, and the one small interpreter that carries out every schedule.

A round says what to send where, what to receive from whom, and whether to combine what comes with what is there.

    for round in ring_allreduce_rounds(rank=2, ranks=8): ...

The generator is a pure function of (rank, ranks): no communicator and no data in it. So one description is

- carried out, blocking (`execute`) or step by step while something else is computed (request.py);
- carried out by the virtual cluster as its own Allreduce, Bcast, ... (`reference.worlds.virtual.collective`);
- timed for all ranks at once, called with `rank=numpy.arange(ranks)` (`evaluate.py`), at sizes no engine reaches;
- put together from others, on part of the ranks (`within`), and drawn.

An array is cut into blocks, and a round names blocks, not elements: `(lo, hi)` are the blocks lo, ..., hi-1. A range
may run past the last block and goes on at block 0.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import mpi
from .operations import combiner, is_predefined


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


def one(block) -> tuple:
    """A single block as a range of blocks."""
    return block, block + 1


def before(block, blocks: int):
    """The block before it, the last one before the first: (block - 1) % blocks, but quicker for an array of them."""
    return where(block > 0, block, blocks) - 1


def where(condition, yes, no):
    """`yes` where the condition holds, else `no`; of one rank, or of an array of ranks."""
    if isinstance(condition, np.ndarray):
        return np.where(condition, yes, no)
    return yes if condition else no


def peer_if(condition, peer):
    """`peer` where the condition holds, else PROC_NULL: nobody."""
    return where(condition, peer, mpi.PROC_NULL)


def within(rounds: Iterable[Round], member: Callable, first=0, each=1, active=True) -> Iterator[Round]:
    """The rounds of a group as rounds of the whole.

    The group's rank g is rank member(g) (asked for PROC_NULL, too), its block b begins at first + b * each.
    Where `active` is not true, the rank only looks on.
    """
    for to, send, source, recv, combines, wait in rounds:
        yield Round(
            peer_if((to != mpi.PROC_NULL) & active, member(to)),
            tuple(first + block * each for block in send),
            peer_if((source != mpi.PROC_NULL) & active, member(source)),
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
            assert number is not None, "say how many blocks, or how many elements each has"
            bounds = block_bounds(len(array), number).tolist()
            starts, stops = bounds[:-1], bounds[1:]
        else:
            starts = np.cumsum([0, *counts])[:-1].tolist() if displs is None else list(displs)
            stops = [start + count for start, count in zip(starts, counts, strict=True)]
        self.array, self.starts, self.stops = array, starts, stops

    def span(self, blocks: tuple[int, int]) -> tuple[int, int]:
        """The elements (first, last + 1) of the blocks; past the array's end for a range that goes on at block 0."""
        (lo, hi), number = blocks, len(self.starts)
        if hi <= lo:
            return 0, 0
        return self.starts[lo], self.stops[hi - 1] if hi <= number else len(self.array) + self.stops[hi - number - 1]

    def __getitem__(self, blocks: tuple[int, int]):
        return self.array[slice(*self.span(blocks))]


class Posts(NamedTuple):
    """What a rank posts together: receives (source, first, last + 1, combine) and sends (to, first, last + 1)."""

    receives: list[tuple[int, int, int, bool]]
    sends: list[tuple[int, int, int]]


def plan(rounds: Iterable[Round], send: Blocks, recv: Blocks) -> list[Posts]:
    """The rounds of one rank with blocks turned into elements, in groups that are posted together."""
    posts, now = [], Posts([], [])
    for to, out, source, come, combines, wait in rounds:
        if source != mpi.PROC_NULL:
            now.receives.append((source, *recv.span(come), combines))
        if to != mpi.PROC_NULL:
            now.sends.append((to, *send.span(out)))
        if wait and (now.receives or now.sends):
            posts.append(now)
            now = Posts([], [])
    if now.receives or now.sends:
        raise ValueError("the last round of a schedule must be waited for: wait=True")
    return posts


def carry_out(
    comm, posts: Iterable[Posts], send, recv, op=mpi.SUM, tag: int | None = None, scratch: list | None = None
) -> Iterator[list]:
    """The interpreter of every schedule: post what can be posted, yield the requests to wait for, combine.

    Whoever drives this generator decides how to wait: `complete` blocks, a RoundsRequest tests, the virtual cluster's
    event loop advances it by itself. send, recv: one-dimensional arrays, which may be one and the same. tag: that of
    the collective which this is a part of. A collective of several parts takes one tag when it begins: of two that are
    under way, the second parts begin on each rank in an order of its own, and fresh tags would be mixed up.
    scratch: memory for what comes, of an earlier call with such arrays; what is lacking is added to it.
    """
    combine, scratch = combiner(op, recv), [] if scratch is None else scratch
    tag = mpi.fresh_tag(comm) if tag is None else tag  # one for all rounds: messages of a pair of ranks keep order
    for receives, sends in posts:
        arrivals = []  # receives are posted before sends: what comes finds its memory
        for source, first, end, combines in receives:
            incoming = target = recv[first:end]
            if combines or end > len(recv):  # not into the array: to be combined with what is there, or wrapped around
                incoming = scratch_at(scratch, len(arrivals), recv, end - first)
            arrivals.append((comm.Irecv(incoming, source, tag), incoming, target, combines, source))
        requests = [comm.Isend(_taken(send, first, end), to, tag) for to, first, end in sends]
        for request, incoming, target, combines, source in arrivals:
            # each is combined while those behind it are under way; the sends are waited for with the last
            yield [request, *requests] if request is arrivals[-1][0] else [request]
            if combines:
                combine(target, incoming, source < comm.rank)  # in the order of ranks: both ends of an exchange agree
                mpi.compute(comm, reduced=incoming.nbytes)
            elif incoming is not target:
                target[:], recv[: len(incoming) - len(target)] = incoming[: len(target)], incoming[len(target) :]
        if requests and not arrivals:
            yield requests


def in_turn(posts: Iterable[Posts], sent: int, received: int) -> bool:
    """Whether no more than one message goes and one comes at a time, and none goes on at the beginning of its array.

    sent, received: the lengths of the two arrays.
    """

    def fits(messages: Sequence[tuple], length: int) -> bool:
        return len(messages) < 2 and all(message[2] <= length for message in messages)

    return all(fits(receives, received) and fits(sends, sent) for receives, sends in posts)


def carry_out_in_turn(
    comm, posts: Iterable[Posts], send, recv, op=mpi.SUM, tag: int | None = None, scratch: list | None = None
) -> None:
    """What `carry_out` does, at once and by blocking calls, if the posts are `in_turn`.

    One call for both ways takes the place of two that post and one that waits. For small arrays that is about half the
    time. The virtual cluster need not wake the rank for each, if NumPy alone combines.
    """
    exchanges = _exchanges(comm, posts, send, recv, op, [] if scratch is None else scratch)
    tag = mpi.fresh_tag(comm) if tag is None else tag
    alone = type(send) is type(recv) is np.ndarray and is_predefined(op)
    if alone and hasattr(type(comm), "exchange_in_turn"):
        return comm.exchange_in_turn(exchanges, tag)
    for outgoing, to, incoming, source in exchanges:
        if source == mpi.PROC_NULL:
            comm.Send(outgoing, to, tag)
        elif to == mpi.PROC_NULL:
            comm.Recv(incoming, source, tag)
        else:
            comm.Sendrecv(outgoing, to, tag, incoming, source, tag)


def _exchanges(comm, posts: Iterable[Posts], send, recv, op, scratch: list) -> Iterator[tuple]:
    """What goes and comes, (outgoing, to, incoming, source), one after the other; what has come is combined.

    Each is carried out before the next is asked for.
    """
    combine, rank = combiner(op, recv), comm.rank
    for receives, sends in posts:
        to, out, out_end = sends[0] if sends else (mpi.PROC_NULL, 0, 0)
        source, first, end, combines = receives[0] if receives else (mpi.PROC_NULL, 0, 0, False)
        target = recv[first:end]
        incoming = scratch_at(scratch, 0, recv, end - first) if combines else target
        yield send[out:out_end], to, incoming, source
        if combines:
            combine(target, incoming, source < rank)
            mpi.compute(comm, reduced=incoming.nbytes)


def steps(
    comm, rounds: Iterable[Round], send: Blocks, recv: Blocks | None = None, op=mpi.SUM, tag: int | None = None
) -> Iterator[list]:
    """Plan the rounds and carry them out. Without `recv`, blocks come in where others go out. tag: as in carry_out."""
    recv = recv or send
    return carry_out(comm, plan(rounds, send, recv), send.array, recv.array, op, tag)


def scratch_at(kept: list, place: int, like, size: int):
    """Memory for what comes at a place of the group, as many elements as asked for; it is kept from group to group."""
    if place == len(kept):
        kept.append(None)
    if kept[place] is None or len(kept[place]) < size:
        kept[place] = np.empty(size, like.dtype) if isinstance(like, np.ndarray) else like.new_empty(size)
    return kept[place][:size]


def _taken(array, first: int, end: int):
    """A view of some elements; a copy if they go on at the beginning of the array."""
    if end <= len(array):
        return array[first:end]
    pieces = [array[first:], array[: end - len(array)]]
    return np.concatenate(pieces) if isinstance(array, np.ndarray) else sys.modules["torch"].cat(pieces)


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
    recv = recv or send
    posts = plan(rounds, send, recv)
    if in_turn(posts, len(send.array), len(recv.array)):
        carry_out_in_turn(comm, posts, send.array, recv.array, op)
    else:
        complete(carry_out(comm, posts, send.array, recv.array, op))

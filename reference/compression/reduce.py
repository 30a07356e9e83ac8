"""Sums of compressed gradients over the ranks: what an all-reduce does with numbers, few codecs' wires can do.

Idea      A ring adds what it receives and passes the sum on. Two wires do not add up to one: the ranks chose other
          elements, or scales, or signs. So either everybody gets everybody's wire, or the sum is compressed again, or
          messages grow (sparse_allreduce.py), or the codec is linear, C(x) + C(y) = C(x + y), and then an ordinary
          all-reduce does it.
Sends     allgather_sum        any codec: all-gather the wires, decode and add all of them     (P - 1) w bytes a rank
          two_way_sum          wires to the owner of each block, who adds, encodes the sum, and sends that to all
                               (Tang et al., "1-bit Adam", 2021: a compressed all-reduce)      2 (P - 1) w(d/P)
          majority_vote        two_way_sum of signs (Bernstein et al., "signSGD", 2018; "signSGD with majority vote is
                               communication efficient and fault tolerant", 2019)              about 2 (P - 1)/P d/8
          shared_random_k_sum  linear: all ranks draw the same k elements, no indices travel   2 (P - 1)/P 4 k (ring)
          sparse_allreduce.py, powersgd.py: partial sums of sparse vectors; matrices of low rank, which are linear
          w is the bytes of a wire, w(n) of one of n elements, d the number of elements
Price     (P - 1) w grows with every rank, and so do P decodings; 2 (P - 1)/P 4 d, the dense ring, stays below 2 * 4 d.
          Without latency the all-gather has lost at P = 2 * 4 d / w, however quick the codec is. The two others stay
          level; they lose something on the way down, too, so there is a second error to feed back.
Exact     Every rank decodes the same wires and adds them in the order of ranks: the same bits everywhere.
          A rank with a NaN cannot encode it. If it raised, the others would wait for ever, so it sends bytes of 255
          alone, which no codec makes of numbers, and all ranks raise.
"""

from __future__ import annotations

from collections import abc

import torch
from torch import Generator, Tensor

from .. import mpi
from ..collectives import allreduce
from ..collectives.algorithms import collective, find
from ..collectives.bruck import bruck_allgather_cost, bruck_allgather_rounds
from ..collectives.catalogue import ALLGATHER
from ..collectives.cost import Cost, messages
from ..collectives.exchange import pairwise_alltoall_rounds
from ..collectives.ring import ring_allgather_rounds
from ..collectives.rounds import Blocks, block_bounds, steps
from ..networks import Link
from .codec import Codec
from .error_feedback import ErrorFeedback
from .signs import sign
from .sparse import Count, drawn, kept_count

Sender = Codec | ErrorFeedback
VALUE = 4  # bytes of a float32
REFUSED = 255


class CannotEncode(ValueError):
    """Some rank has a vector that its codec refuses, such as one with a NaN: raised on all ranks alike."""


def encoded(sender: Sender, x: Tensor, generator: Generator | None) -> tuple[Tensor, ValueError | None]:
    """The wire of x; or bytes of 255 as long as a wire (8, if that varies), and why x was refused."""
    try:
        return sender.encode(x, generator), None
    except ValueError as error:
        return x.new_full((sender.nbytes(len(x)) or 8,), REFUSED, dtype=torch.uint8), error


def refused(wire: Tensor) -> bool:
    """Whether such bytes stand for a vector that could not be encoded."""
    return len(wire) > 0 and bool((wire == REFUSED).all())


def add_decoded(comm, sender: Sender, wires: Blocks, into: Tensor) -> None:
    """into [d] = the sum of what the P wires say, in the order of ranks."""
    into.copy_(sender.decode(wires[0, 1], len(into)))
    for rank in range(1, comm.size):
        into += sender.decode(wires[rank, rank + 1], len(into))
        mpi.compute(comm, reduced=into.nbytes)


# Every wire to every rank ---------------------------------------------------------------------------------------------


@collective
def allgather_sum(comm, sender: Sender, x: Tensor, generator: Generator | None = None, algorithm: str = "ring"):
    """The sum over the ranks of what `sender` makes of their x: in place, in x [d] float32, which is returned.

    sender: a codec, or an ErrorFeedback of this rank. algorithm: of the all-gather, a name in ALLGATHER.
    Raises CannotEncode on every rank if one of them could not encode its x, which is scratch then.
    """
    tag = mpi.fresh_tag(comm)  # one for both parts (rounds.carry_out)
    wire, why = encoded(sender, x, generator)
    sizes = yield from _sizes(comm, sender.nbytes(len(x)), len(wire), tag)
    wires = Blocks(wire.new_empty(sum(sizes)), counts=sizes)
    wires[comm.rank, comm.rank + 1][:] = wire
    yield from steps(comm, find(ALLGATHER, algorithm).rounds(comm.rank, comm.size), wires, tag=tag)
    _refuse_what_was_not_encoded(comm, wires, why)
    add_decoded(comm, sender, wires, x)
    return x


def _refuse_what_was_not_encoded(comm, wires: Blocks, why: Exception | None) -> None:
    if bad := [rank for rank in range(comm.size) if refused(wires[rank, rank + 1])]:
        said = why or "they say why"
        raise CannotEncode(f"ranks {bad} of {comm.size} could not encode their vectors; {said}") from why


def _sizes(comm, known: int | None, mine: int, tag: int) -> abc.Generator[list, None, list[int]]:
    """How many bytes each rank has to say. If that depends on what it has: 8 bytes a rank, in few rounds."""
    if known is not None:
        return [known] * comm.size
    sizes = torch.zeros(comm.size, dtype=torch.int64)
    sizes[comm.rank] = mine
    yield from steps(comm, bruck_allgather_rounds(comm.rank, comm.size), Blocks(sizes, comm.size), tag=tag)
    return sizes.tolist()


def allgather_cost(P: int, wire: int, d: int, link: Link, fixed: bool = True) -> Cost:
    """(P - 1) (alpha + w beta) + (P - 1) 4 d gamma, w the bytes of the longest wire: the ring, exactly.

    Unless sizes are fixed, they travel first: ceil(log2 P) alpha + 8 (P - 1) beta. Decoding itself is not in it.
    """
    found = messages(P - 1, (P - 1) * wire, link) + Cost(0.0, 0.0, (P - 1) * VALUE * d * link.gamma)
    return found if fixed else bruck_allgather_cost(P, P, 8, link) + found


# Linear: an ordinary all-reduce ---------------------------------------------------------------------------------------


@collective
def shared_random_k_sum(comm, x: Tensor, k: Count, generator: Generator, **how):
    """The sum over the ranks of k random elements, times d / k, zeros elsewhere: in place, in x [d], which is returned.

    Unbiased, as random_k. generator: in the same state on all ranks, so that they draw the same elements; if it is not,
    elements are added that have nothing to do with each other, and nobody can tell. how: as for `allreduce`.
    """
    indices = drawn(len(x), kept_count(k, len(x)), generator)
    values = x[indices] * (len(x) / len(indices))
    yield from allreduce.driver(comm, values, **how)
    x.zero_()[indices] = values
    return x


# Compress, sum, compress again ----------------------------------------------------------------------------------------


class TwoWay:
    """What a rank of P keeps for two_way_sum: a sender for each block of its vector [d], and one for the sum it owns.

    codec: of fixed size. feedback: remember both errors, what was lost on the way up (d numbers) and down (d / P).
    Raises ValueError for a codec whose wires vary in size.
    """

    def __init__(self, codec: Codec, d: int, rank: int, ranks: int, feedback: bool = True, device="cpu"):
        bounds = block_bounds(d, ranks)
        self.lengths = (bounds[1:] - bounds[:-1]).tolist()
        self.sizes = [codec.nbytes(n) if n else 0 for n in self.lengths]  # a block without elements says nothing
        if None in self.sizes:
            raise ValueError(f"{codec.name} has wires of varying size; two_way_sum needs to know the size beforehand")
        self.up: list[Sender] = [ErrorFeedback(codec, n, device) if feedback else codec for n in self.lengths]
        self.down: Sender = ErrorFeedback(codec, self.lengths[rank], device) if feedback else codec


@collective
def two_way_sum(comm, x: Tensor, state: TwoWay, generator: Generator | None = None):
    """About the sum of x over the ranks, in place, in x [d] float32, which is returned; bit for bit the same on all.

    Raises CannotEncode on every rank if one of them could not encode its x; x and state are scratch then.
    """
    blocks, mine, why = Blocks(x, comm.size), (comm.rank, comm.rank + 1), None
    size, total, tag = state.sizes[comm.rank], blocks[mine], mpi.fresh_tag(comm)
    out = Blocks(x.new_empty(sum(state.sizes), dtype=torch.uint8), counts=state.sizes)
    come = Blocks(x.new_empty(comm.size * size, dtype=torch.uint8), counts=[size] * comm.size)
    for q in range(comm.size):
        if state.sizes[q]:
            out[q, q + 1][:], said = encoded(state.up[q], blocks[q, q + 1], generator)
            why = why or said
    come[mine][:] = out[mine]
    yield from steps(comm, pairwise_alltoall_rounds(comm.rank, comm.size), out, come, tag=tag)
    if any(refused(come[rank, rank + 1]) for rank in range(comm.size)):
        out[mine][:] = REFUSED
    elif size:
        add_decoded(comm, state.down, come, total)
        out[mine][:], said = encoded(state.down, total, generator)
        why = why or said
    yield from steps(comm, ring_allgather_rounds(comm.rank, comm.size), out, tag=tag)
    _decode_blocks(state, out, blocks, comm.size, why)
    return x


def _decode_blocks(state: TwoWay, wires: Blocks, blocks: Blocks, P: int, why: ValueError | None) -> None:
    if bad := [q for q in range(P) if refused(wires[q, q + 1])]:
        raise CannotEncode(f"blocks {bad} of {P} could not be encoded; {why or 'another rank says why'}") from why
    for q, length in enumerate(state.lengths):
        if length:
            blocks[q, q + 1][:] = state.down.decode(wires[q, q + 1], length)


def two_way_cost(P: int, wire: int, block: int, link: Link) -> Cost:
    """2 (P - 1) (alpha + w beta) + (P - 1) 4 n gamma for blocks of n elements and wires of w = w(n) bytes.

    Exact if P divides d; else at most this, n and w those of the largest block. Bytes a rank sends: 2 (P - 1) w.
    """
    added = Cost(0.0, 0.0, (P - 1) * VALUE * block * link.gamma)
    return messages(2 * (P - 1), 2 * (P - 1) * wire, link) + added


def majority_vote(comm, x: Tensor) -> Tensor:
    """+1 where at least half of the ranks have an element >= 0, else -1: in place, in x [d], which is returned.

    The step is the learning rate times this, for each element: no rank, however wrong, counts more than one vote.
    """
    return two_way_sum(comm, x, TwoWay(sign(), len(x), comm.rank, comm.size, feedback=False))

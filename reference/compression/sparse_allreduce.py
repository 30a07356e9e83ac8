"""All-reduce of sparse vectors: the schedules of chapter 1, with only what is not zero on the wire.

Idea      A sum of sparse vectors needs no index of what is zero everywhere. So carry out any all-reduce, and let each
          message hold (index, value) pairs instead of all values.
Sends     The ranks' supports differ, so a partial sum has more elements than its terms: with j random supports of k out
          of d elements about d (1 - (1 - k/d)^j) are not 0. In a ring reduce-scatter what arrives has gone through j
          hands, so each message is larger than the one before.
          A pair is 32 + b bits, b = ceil(log2 n), a plain value 32: a block of n elements of which more than 32 / (32 +
          b) are not 0 travels dense. So no message is larger than that of the dense all-reduce. The result is the
          same but for the sign of zeros.
          ring                 2 (P - 1) messages, the later the fuller
          direct               each rank sends its pairs to their owner, so the reduce-scatter does not fill in at all;
                               only the sums do, once (SparCML: split allgather)
          recursive doubling   log2 P messages of everything: when k and P are small
          gTop-k keeps only k of the sum, after every addition: k pairs a message whatever P is. What was dropped is
          lost, unless the ranks keep it.
Price     The sum has up to P k elements, and all of them must reach everybody: as many as in an allgather of the P
          vectors (reduce.py). Less only where supports overlap; and never more than 4 d bytes, half of what a dense
          ring sends. So with enough ranks `direct` gains a factor of about 2 over the dense ring, however small k is,
          and the ring, which fills in on the way, nothing.
Source    Renggli et al., "SparCML: High-performance sparse communication for machine learning" (2019): the schedules
          on sparse vectors, and the switch to dense. Shi et al., "A distributed synchronous SGD algorithm with global
          top-k sparsification for low bandwidth networks" (2019): gTop-k.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from .. import mpi
from ..collectives import ALLREDUCE, allreduce
from ..collectives.algorithms import find
from ..collectives.cost import Cost, log2_rounds
from ..collectives.rounds import Blocks, plan
from ..collectives.tree import binomial_allreduce_cost
from ..networks import Link
from .bits import float_bytes, floats, width
from .sparse import densify, from_wire, largest, sparse_bytes, to_wire

VALUE = 4  # bytes of a float32
SCHEDULES = ("ring", "direct", "recursive doubling", "halving-doubling")


def sparse_allreduce(comm, x, algorithm: str = "direct"):
    """Sum x over the ranks, in place, and return it; only elements that are not 0 travel.

    x: float32 tensor [d] of one length on all ranks, contiguous. All ranks get the same bits, and the numbers that
    `allreduce` finds with this algorithm; a zero is +0.0. Raises ValueError for an algorithm that is not in SCHEDULES.
    """
    if algorithm not in SCHEDULES:
        raise ValueError(f"sparse_allreduce carries out {', '.join(SCHEDULES)}, not {algorithm!r}")
    schedule, tag = find(ALLREDUCE, algorithm), mpi.fresh_tag(comm)
    x += 0.0  # -0.0 counts as zero: it would not travel, and stay -0.0 here only
    blocks = Blocks(x, schedule.blocks(comm.size))
    for receives, sends in plan(schedule.rounds(comm.rank, comm.size), blocks, blocks):
        requests = [comm.Isend(encode(x[first:end]), to, tag) for to, first, end in sends]
        for source, first, end, combines in receives:
            target = x[first:end] if combines else x[first:end].zero_()
            added = add(received(comm, source, tag, x), target)
            mpi.compute(comm, reduced=VALUE * added if combines else 0)
        mpi.waitall(requests)
    return x


def received(comm, source: int, tag: int, like: torch.Tensor) -> torch.Tensor:
    """The next message, of any size, as bytes: ask for its size first."""
    status = mpi.Status()
    comm.Probe(source, tag, status)
    wire = like.new_empty(status.count, dtype=torch.uint8)
    comm.Recv(wire, source, tag)
    return wire


def encode(x: torch.Tensor) -> torch.Tensor:
    """A copy of x [n] as bytes: values and indices of what is not 0, or all values if that is not more."""
    indices = x.nonzero().view(-1)
    if sparse_bytes(len(indices), len(x)) >= VALUE * len(x):
        return float_bytes(x.clone())
    return to_wire(x[indices], indices, len(x))


def add(wire: torch.Tensor, into: torch.Tensor) -> int:
    """Add what came to `into` [n]; how many values that were. The length of a dense message tells it apart."""
    if len(wire) == VALUE * len(into):
        into += floats(wire)
        return len(into)
    values, indices = from_wire(wire, len(into))
    into.index_add_(0, indices, values)
    return len(values)


# gTop-k ----------------------------------------------------------------------------------------------------------


def global_top_k(comm, x, k: int):
    """The sum over the ranks of their k largest elements, of which only k are kept: a new tensor [d], alike on all.

    Up a binomial tree and down again; whenever two vectors meet, the k largest of their sum survive. An approximation:
    an element may be dropped below one branch and come in through another, and then its sum is not whole.
    x: float32 tensor [d] of one length on all ranks, 1 <= k <= d.
    """
    d, mine = len(x), largest(x, k)

    def keep_largest(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        (v, i), (w, j) = from_wire(a, d), from_wire(b, d)
        union, place = torch.cat([i, j]).unique(return_inverse=True)
        sums = v.new_zeros(len(union)).index_add_(0, place, torch.cat([v, w]))
        kept = largest(sums, k)
        return to_wire(sums[kept], union[kept], d)

    return densify(allreduce(comm, to_wire(x[mine], mine, d), op=keep_largest, algorithm="binomial tree"), d)


def global_top_k_cost(P: int, d: int, k: int, link: Link) -> Cost:
    """2 ceil(log2 P) (alpha + w beta) + ceil(log2 P) w gamma, w = sparse_bytes(k, d): exact on a uniform network."""
    return binomial_allreduce_cost(P, sparse_bytes(k, d), 1, link)


# How much it fills in --------------------------------------------------------------------------------------------


def fill_in(d: float, k: float, j: int) -> float:
    """Expected elements that are not 0 in the sum of j vectors with k random ones of d each: d (1 - (1 - k/d)^j)."""
    return d * (1 - (1 - k / d) ** j)


def message(d: int, k: float, j: int) -> float:
    """Expected bytes of such a sum: its pairs of 32 + ceil(log2 d) bits, or all values if that is less."""
    return min(fill_in(d, k, j) * (VALUE + width(d) / 8), VALUE * d)


def _ring(P: int, d: int, k: float) -> float:
    return sum(message(d // P, k / P, j) for j in range(1, P)) + (P - 1) * message(d // P, k / P, P)


def _direct(P: int, d: int, k: float) -> float:
    return (P - 1) * (message(d // P, k / P, 1) + message(d // P, k / P, P))


def _doubling(P: int, d: int, k: float) -> float:
    if P & (P - 1):
        raise ValueError(f"the formula of recursive doubling is for powers of two, not for {P} ranks")
    return sum(message(d, k, 2**step) for step in range(log2_rounds(P)))


VOLUME: dict[str, Callable[[int, int, float], float]] = {
    "ring": _ring,
    "direct": _direct,
    "recursive doubling": _doubling,
    "allgather of pairs": lambda P, d, k: (P - 1) * message(d, k, 1),
    "gTop-k": lambda P, d, k: 2 * (P - 1) / P * sparse_bytes(int(k), d),  # on average: few bytes, 2 log2 P rounds
    "dense ring": lambda P, d, k: 2 * (P - 1) / P * VALUE * d,
}


def volume(algorithm: str, P: int, d: int, k: int) -> float:
    """Expected bytes that a rank sends if each of P ranks has k random elements of d (d a multiple of P).

    algorithm: a name in VOLUME. Elements are random: real gradients overlap more, and fill in less.
    """
    return find(VOLUME, algorithm)(P, d, k)

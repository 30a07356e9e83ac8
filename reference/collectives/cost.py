"""What a collective costs: closed forms in the alpha-beta-gamma model, one beside each schedule.

Model     A message of n bytes takes alpha + n beta seconds; a rank sends one and receives one at a time; combining
          costs gamma seconds per byte (Hockney 1994; Thakur, Rabenseifner & Gropp 2005).
Exact     On a uniform network these are not estimates: the virtual cluster takes exactly this long, for any number of
          ranks and any length, unless the docstring says otherwise. Blocks differ by one element at most, the longer
          ones come first, and the largest of each round lies on the longest way through the schedule.
Symbols   P ranks; arrays of `count` elements of `itemsize` bytes, n bytes together, cut into P blocks; n_P is the bytes
          of the largest block; alpha in seconds, beta and gamma in seconds per byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from . import hierarchical
from .binary_tree import paint
from .doubling import core
from .hierarchical import nodes_of
from .rounds import block_bounds


@dataclass(frozen=True)
class Cost:
    """The parts of a time, in seconds; `seconds` is their sum."""

    latency: float
    bandwidth: float
    reduction: float = 0.0

    @property
    def seconds(self) -> float:
        """Latency, bandwidth and reduction terms together."""
        return self.latency + self.bandwidth + self.reduction

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.latency + other.latency,
            self.bandwidth + other.bandwidth,
            self.reduction + other.reduction,
        )


def messages(number: int, nbytes: float, alpha: float, beta: float, gamma: float = 0.0) -> Cost:
    """`number` messages one after the other, of `nbytes` together, all of which are combined if gamma is given."""
    return Cost(number * alpha, nbytes * beta, nbytes * gamma)


def largest_block(P: int, count: int, itemsize: int = 1) -> int:
    """n_P, the bytes of the largest of P blocks: ceil(count / P) * itemsize."""
    return -(-count // P) * itemsize


def log2_rounds(P: int) -> int:
    """ceil(log2 P): in fewer rounds no rank can hear of all others."""
    return (P - 1).bit_length()


def _distances(P: int) -> list[int]:
    """1, 2, 4, ..., below P."""
    return [2**k for k in range(log2_rounds(P))]


def _bytes(blocks: int, count: int, itemsize: int, lo: int, hi: int) -> int:
    """The bytes of the blocks lo, ..., hi - 1 of so many."""
    bounds = block_bounds(count, blocks)
    return int(bounds[hi] - bounds[lo]) * itemsize


def _folded(P: int) -> bool:
    return core(P) != P


# Barrier, broadcast, reduce, scatter, gather ---------------------------------------------------------------------


def dissemination_barrier(P: int, count: int, itemsize: int, alpha: float, beta: float, gamma: float = 0.0) -> Cost:
    """ceil(log2 P) alpha (Hensgen, Finkel & Manber 1988)."""
    return Cost(log2_rounds(P) * alpha, 0.0)


def binomial_broadcast(P: int, count: int, itemsize: int, alpha: float, beta: float, gamma: float = 0.0) -> Cost:
    """ceil(log2 P) (alpha + n beta)."""
    return messages(log2_rounds(P), log2_rounds(P) * count * itemsize, alpha, beta)


def binomial_reduce(P: int, count: int, itemsize: int, alpha: float, beta: float, gamma: float = 0.0) -> Cost:
    """ceil(log2 P) (alpha + n beta + n gamma)."""
    return messages(log2_rounds(P), log2_rounds(P) * count * itemsize, alpha, beta, gamma)


def chain_broadcast(
    P: int, count: int, itemsize: int, alpha: float, beta: float, gamma: float = 0.0, segments: int = 1
) -> Cost:
    """(P - 2 + S) alpha + ((P - 2) n_S + n) beta for P > 1: the first segment goes all the way, the others follow."""
    if P == 1:
        return Cost(0.0, 0.0)
    nbytes = (P - 2) * largest_block(segments, count, itemsize) + count * itemsize
    return messages(P - 2 + segments, nbytes, alpha, beta)


def binomial_scatter(P: int, count: int, itemsize: int, alpha: float, beta: float, gamma: float = 0.0) -> Cost:
    """ceil(log2 P) alpha + (n - n_P) beta from root 0, within P elements from another. So does a gather."""
    return messages(log2_rounds(P), _bytes(P, count, itemsize, 1, P), alpha, beta)


def scatter_allgather_broadcast(
    P: int, count: int, itemsize: int, alpha: float, beta: float, gamma: float = 0.0
) -> Cost:
    """A binomial scatter and a ring allgather; from a root other than 0 within 2 P elements."""
    return binomial_scatter(P, count, itemsize, alpha, beta) + ring_allgather(P, count, itemsize, alpha, beta)


# Allgather and reduce-scatter ------------------------------------------------------------------------------------


def ring_allgather(P: int, count: int, itemsize: int, alpha: float, beta: float, gamma: float = 0.0) -> Cost:
    """(P - 1) (alpha + n_P beta). count: elements of the gathered array.

    The direct one too, if P divides count; else less than twice that (see direct_reduce_scatter).
    """
    return messages(P - 1, (P - 1) * largest_block(P, count, itemsize), alpha, beta)


def recursive_doubling_allgather(
    P: int, count: int, itemsize: int, alpha: float, beta: float, gamma: float = 0.0
) -> Cost:
    """log2 P alpha + (P - 1) / P n beta for powers of two; else the fold adds two messages, of n_P and of n bytes."""
    extra = P - core(P)
    sizes = [_bytes(P, count, itemsize, 0, d + min(d, extra)) for d in _distances(core(P))]
    if extra:
        sizes += [_bytes(P, count, itemsize, 1, 2), count * itemsize]
    return messages(len(sizes), sum(sizes), alpha, beta)


def bruck_allgather(P: int, count: int, itemsize: int, alpha: float, beta: float, gamma: float = 0.0) -> Cost:
    """ceil(log2 P) alpha + (P - 1) / P n beta and at most ceil(log2 P) elements more (Bruck et al. 1997)."""
    sizes = [_bytes(P, count, itemsize, 0, min(d, P - d)) for d in _distances(P)]
    return messages(len(sizes), sum(sizes), alpha, beta)


def ring_reduce_scatter(P: int, count: int, itemsize: int, alpha: float, beta: float, gamma: float = 0.0) -> Cost:
    """(P - 1) (alpha + n_P beta + n_P gamma). count: elements of the input."""
    return messages(P - 1, (P - 1) * largest_block(P, count, itemsize), alpha, beta, gamma)


def direct_reduce_scatter(P: int, count: int, itemsize: int, alpha: float, beta: float, gamma: float = 0.0) -> Cost:
    """(P - 1) (alpha + n_P beta) + n_P gamma: only the last addition is not hidden behind a message.

    More if an addition takes longer than a message. Exact if P divides count. Else ranks get out of step and, additions
    aside, it takes less than twice as long: while a message waits, one of its ports is busy with one of P - 1 messages.
    """
    if P == 1:
        return Cost(0.0, 0.0)
    message, addition = alpha + largest_block(P, count, itemsize) * beta, largest_block(P, count, itemsize) * gamma
    exposed = addition + (P - 2) * max(0.0, addition - message)
    return ring_allgather(P, count, itemsize, alpha, beta) + Cost(0.0, 0.0, exposed)


def recursive_halving_reduce_scatter(
    P: int, count: int, itemsize: int, alpha: float, beta: float, gamma: float = 0.0
) -> Cost:
    """log2 P alpha + (P - 1) / P n (beta + gamma) for powers of two; a fold adds messages of n and of n_P bytes."""
    extra = P - core(P)
    sizes = [_bytes(P, count, itemsize, 0, d + min(d, extra)) for d in _distances(core(P))]
    if not extra:
        return messages(len(sizes), sum(sizes), alpha, beta, gamma)
    combined = messages(len(sizes) + 1, sum(sizes) + count * itemsize, alpha, beta, gamma)
    return combined + messages(1, _bytes(P, count, itemsize, 1, 2), alpha, beta)


# All-to-all ------------------------------------------------------------------------------------------------------


def pairwise_alltoall(P: int, count: int, itemsize: int, alpha: float, beta: float, gamma: float = 0.0) -> Cost:
    """(P - 1) (alpha + n / P beta). count: elements that one rank sends, its own block included."""
    return ring_allgather(P, count, itemsize, alpha, beta)


def bruck_alltoall(P: int, count: int, itemsize: int, alpha: float, beta: float, gamma: float = 0.0) -> Cost:
    """ceil(log2 P) alpha + n / P beta times the set bits of 1, ..., P - 1: log2 P n / 2 beta for powers of two."""
    bits = sum(way.bit_count() for way in range(P))
    return messages(log2_rounds(P), bits * largest_block(P, count, itemsize), alpha, beta)


# All-reduce ------------------------------------------------------------------------------------------------------


def ring_allreduce(P: int, count: int, itemsize: int, alpha: float, beta: float, gamma: float = 0.0) -> Cost:
    """2 (P - 1) (alpha + n_P beta) + (P - 1) n_P gamma: a reduce-scatter and an allgather (Patarasuk & Yuan 2009)."""
    return ring_reduce_scatter(P, count, itemsize, alpha, beta, gamma) + ring_allgather(P, count, itemsize, alpha, beta)


def direct_allreduce(P: int, count: int, itemsize: int, alpha: float, beta: float, gamma: float = 0.0) -> Cost:
    """2 (P - 1) (alpha + n_P beta) + n_P gamma: direct_reduce_scatter and an allgather, with what is said there."""
    scattered = direct_reduce_scatter(P, count, itemsize, alpha, beta, gamma)
    return scattered + ring_allgather(P, count, itemsize, alpha, beta)


def binomial_allreduce(P: int, count: int, itemsize: int, alpha: float, beta: float, gamma: float = 0.0) -> Cost:
    """2 ceil(log2 P) (alpha + n beta) + ceil(log2 P) n gamma: a reduce and a broadcast."""
    reduced = binomial_reduce(P, count, itemsize, alpha, beta, gamma)
    return reduced + binomial_broadcast(P, count, itemsize, alpha, beta)


def recursive_doubling_allreduce(
    P: int, count: int, itemsize: int, alpha: float, beta: float, gamma: float = 0.0
) -> Cost:
    """floor(log2 P) (alpha + n beta + n gamma); if P is no power of two, the fold adds 2 (alpha + n beta) + n gamma."""
    n, k, folded = count * itemsize, core(P).bit_length() - 1, _folded(P)
    return messages(k + folded, (k + folded) * n, alpha, beta, gamma) + messages(folded, folded * n, alpha, beta)


def halving_doubling_allreduce(
    P: int, count: int, itemsize: int, alpha: float, beta: float, gamma: float = 0.0
) -> Cost:
    """2 log2 P alpha + 2 (P - 1) / P n beta + (P - 1) / P n gamma for powers of two (Rabenseifner 2004).

    Else with the largest power of two for P, and the fold's 2 (alpha + n beta) + n gamma more.
    """
    folded, n = _folded(P), count * itemsize
    sizes = [_bytes(core(P), count, itemsize, 0, d) for d in _distances(core(P))] + [n] * folded
    return messages(len(sizes), sum(sizes), alpha, beta, gamma) + messages(len(sizes), sum(sizes), alpha, beta)


def tree_rounds(P: int, segments: int, trees: int) -> int:
    """R(S) = h + 2 (S - 1): the rounds in which S segments flow up one tree, or each of two."""
    height = paint(P, trees)[1]
    return height + 2 * (segments - 1) if height else 0


def binary_tree_allreduce(
    P: int,
    count: int,
    itemsize: int,
    alpha: float,
    beta: float,
    gamma: float = 0.0,
    segments: int = 1,
    trees: int = 1,
) -> Cost:
    """At most 2 R (alpha + n_S beta) + R n_S gamma, R = tree_rounds(P, S, 1), n_S the bytes of the largest segment."""
    rounds, size = tree_rounds(P, segments, trees), largest_block(segments * trees, count, itemsize)
    return messages(rounds, rounds * size, alpha, beta, gamma) + messages(rounds, rounds * size, alpha, beta)


def double_tree_allreduce(
    P: int, count: int, itemsize: int, alpha: float, beta: float, gamma: float = 0.0, segments: int = 1
) -> Cost:
    """At most 2 R (alpha + n_2S beta) + R n_2S gamma with two trees at once (Sanders, Speck & Träff 2009)."""
    return binary_tree_allreduce(P, count, itemsize, alpha, beta, gamma, segments, trees=2)


MOST_SEGMENTS = 1000  # beyond that there is less than a percent to gain


def best_segments(
    P: int, count: int, itemsize: int, alpha: float, beta: float, gamma: float = 0.0, trees: int = 2
) -> int:
    """The number of segments S that makes 2 R(S) (alpha + n_S beta) + R(S) n_S gamma least, up to rounding.

    With R(S) = h - 2 + 2 S and n_S = n / (trees S) its derivative vanishes where
    4 alpha S^2 = (h - 2) n / trees (2 beta + gamma).
    """
    height = paint(P, trees)[1]
    if alpha == 0:
        return min(max(1, count // trees), MOST_SEGMENTS)
    S = sqrt(max(height - 2, 0) * count * itemsize / trees * (2 * beta + gamma) / (4 * alpha))
    return min(max(1, round(S)), max(1, count // trees), MOST_SEGMENTS)


ACROSS = {
    "ring": ring_allreduce,
    "recursive doubling": recursive_doubling_allreduce,
    "halving-doubling": halving_doubling_allreduce,
}


def hierarchical_allreduce(
    P: int,
    count: int,
    itemsize: int,
    alpha: float,
    beta: float,
    gamma: float = 0.0,
    ranks_per_node: int = 1,
    across: str = "ring",
    alpha_out: float | None = None,
    beta_out: float | None = None,
    ranks_per_nic: int = 1,
) -> Cost:
    """Ring reduce-scatter and allgather among L ranks, with an all-reduce of n / L bytes across N nodes in between.

    2 (L - 1) (alpha + n_L beta) + (L - 1) n_L gamma + what `across` takes for N ranks and n_L bytes with alpha_out and
    beta_out (those of the node unless given). If ranks_per_nic ranks share a network card, their messages follow
    each other: all network terms are that much longer. At most this; exact if L N divides count and every
    rank has a card, or gamma is 0.
    """
    nodes, L = nodes_of(P, ranks_per_node), ranks_per_node
    parts = hierarchical.ACROSS[across][1](nodes)
    part = _bytes(L * parts, count, 1, 0, parts)
    outside = _across(nodes, part, itemsize, alpha, beta, gamma, across, alpha_out, beta_out, ranks_per_nic)
    return ring_allreduce(L, part * L, itemsize, alpha, beta, gamma) + outside


def leader_allreduce(
    P: int,
    count: int,
    itemsize: int,
    alpha: float,
    beta: float,
    gamma: float = 0.0,
    ranks_per_node: int = 1,
    across: str = "ring",
    alpha_out: float | None = None,
    beta_out: float | None = None,
) -> Cost:
    """Binomial reduce and broadcast among L ranks, with an all-reduce of all n bytes across N leaders in between."""
    nodes, L = nodes_of(P, ranks_per_node), ranks_per_node
    outside = _across(nodes, count, itemsize, alpha, beta, gamma, across, alpha_out, beta_out, 1)
    return binomial_allreduce(L, count, itemsize, alpha, beta, gamma) + outside


def _across(nodes, count, itemsize, alpha, beta, gamma, across, alpha_out, beta_out, share) -> Cost:
    alpha, beta = alpha if alpha_out is None else alpha_out, beta if beta_out is None else beta_out
    return ACROSS[across](nodes, count, itemsize, share * alpha, share * beta, gamma)


def torus_allreduce(
    P: int, count: int, itemsize: int, alpha: float, beta: float, gamma: float = 0.0, width: int = 1
) -> Cost:
    """2 (X + Y - 2) alpha + 2 (P - 1) / P n beta on rows of X = width ranks; at most, exact if P divides count."""
    return hierarchical_allreduce(P, count, itemsize, alpha, beta, gamma, width)


def x_then_y_allreduce(
    P: int, count: int, itemsize: int, alpha: float, beta: float, gamma: float = 0.0, width: int = 1
) -> Cost:
    """At most 2 (X + Y - 2) alpha + 2 ((X - 1) / X + (Y - 1) / Y) n beta: two all-reduces of everything."""
    height = nodes_of(P, width)
    row, column = _bytes(P, count, 1, 0, height) * width, _bytes(P, count, 1, 0, width) * height
    along_x = ring_allreduce(width, row, itemsize, alpha, beta, gamma)
    return along_x + ring_allreduce(height, column, itemsize, alpha, beta, gamma)


# Bounds, volumes, bandwidths -------------------------------------------------------------------------------------

# collective: (latencies in units of ceil(log2 P), bytes in units of n, whether something is combined)
BOUNDS = {
    "broadcast": (1, lambda P: 1.0, False),
    "reduce": (1, lambda P: 1.0, True),
    "scatter": (1, lambda P: (P - 1) / P, False),
    "gather": (1, lambda P: (P - 1) / P, False),
    "allgather": (1, lambda P: (P - 1) / P, False),
    "reduce_scatter": (1, lambda P: (P - 1) / P, True),
    "alltoall": (1, lambda P: (P - 1) / P, False),
    "allreduce": (1, lambda P: 2 * (P - 1) / P, True),
}


def lower_bound(collective: str, P: int, nbytes: int, alpha: float, beta: float, gamma: float = 0.0) -> Cost:
    """The least that each term can be, whatever the schedule (Chan et al. 2007, table 1); perhaps not all at once.

    Latency: what one rank knows spreads to at most twice as many ranks in a round. Bandwidth: bytes that some rank
    must send or receive. Reduction: (P - 1) / P n, if the additions are shared evenly. nbytes: the larger of a
    rank's buffers, cut into equal blocks.
    """
    latencies, share, combines = BOUNDS[collective]
    if P == 1:
        return Cost(0.0, 0.0)
    reduction = (P - 1) / P * nbytes * gamma if combines else 0.0
    return Cost(latencies * log2_rounds(P) * alpha, share(P) * nbytes * beta, reduction)


def ring_bytes(P: int, count: int, itemsize: int = 1) -> np.ndarray:
    """Bytes that each rank sends in a ring allreduce (int64, shape [P]): all blocks but one, twice.

    Rank r sends every block but its own in the reduce-scatter, and every block but r + 1 in the allgather.
    If P divides count this is 2 (P - 1) / P n for every rank, else within two elements of it; the ranks together send
    exactly 2 (P - 1) n, and no algorithm can do with less.
    """
    sizes = np.diff(block_bounds(count, P)) * itemsize
    return 2 * count * itemsize - sizes - np.roll(sizes, -1)


def total_bytes(
    algorithm: str, P: int, nbytes: int, ranks_per_node: int = 1, width: int = 1, across: str = "ring", **_
) -> int:
    """Bytes that all ranks together send in an all-reduce of nbytes each, with an algorithm of that name.

    2 (P - 1) n, the least there is, for every schedule that adds each contribution once and tells each rank once;
    more for recursive doubling, where all ranks do all additions, and for "x then y", where whole columns do the same.
    """
    if algorithm == "recursive doubling":
        k, extra = core(P).bit_length() - 1, P - core(P)
        return (core(P) * k + 2 * extra) * nbytes
    if algorithm == "x then y":
        height = nodes_of(P, width)
        return 2 * (height * (width - 1) + width * (height - 1)) * nbytes
    if algorithm in ("hierarchical", "leader"):
        nodes = nodes_of(P, ranks_per_node)
        return 2 * nodes * (ranks_per_node - 1) * nbytes + total_bytes(across, nodes, nbytes)
    return 2 * (P - 1) * nbytes


def bus_bandwidth(collective: str, P: int, nbytes: int, seconds: float) -> float:
    """Bus bandwidth in bytes/s as nccl-tests defines it: comparable with a link's speed, whatever P.

    nbytes is the size of the larger of a rank's two buffers. Allreduce counts 2 (P - 1) / P of it, reduce-scatter,
    allgather, scatter, gather and all-to-all (P - 1) / P, broadcast and reduce all of it (nccl-tests,
    doc/PERFORMANCE.md): the bandwidth term of lower_bound; "sendrecv" all of it, too. For P = 1 nothing has to move.
    """
    share = 1.0 if collective == "sendrecv" else BOUNDS[collective][1](P)
    return share * nbytes / seconds


def aggregated(sizes: list[int], alpha: float, beta: float) -> tuple[float, float]:
    """Seconds for messages of these bytes in one, and one by one: alpha + sum(n_i) beta, sum(alpha + n_i beta)."""
    together = alpha + sum(sizes) * beta
    return together, together + (len(sizes) - 1) * alpha


def finish(ready: list[float], sizes: list[int], alpha: float, beta: float) -> tuple[float, float]:
    """When the last of these messages is through: all in one, which waits for the last to be ready; or each when it is.

    ready: seconds at which message i may leave, ascending. Aggregation saves latencies and loses overlap: it pays if
    messages are ready at about one time.
    """
    one_by_one = 0.0
    for time, size in zip(ready, sizes, strict=True):
        one_by_one = max(one_by_one, time) + alpha + size * beta
    return max(ready) + aggregated(sizes, alpha, beta)[0], one_by_one

"""Placement: which rank plays which part of a schedule, so that heavy traffic stays on near links.

Idea      A schedule speaks of positions 0, ..., P-1. Let position i be played by rank order[i]. Choose the order that
          minimises sum_ij w[i, j] d[order[i], order[j]]: bytes from position i to j, times seconds per byte between
          the ranks that play them.
          A distance is what a byte costs on the network at hand (`distances`), or measured. The table that is often
          printed, 1 in a node, 10 in a rack, 100 beyond, is an arbitrary ranking: on a tree whose core is as fast as
          its racks the two last are equal, and the order that the ranking calls best costs more than the best one.
          In MPI comm.Split(0, position) makes a communicator whose rank i is rank order[i]; Create_cart(...,
          reorder=True) leaves the choice to the library.
Before    ranks dealt out to the nodes in turn, ring in the order of ranks:      every hop leaves its node
After     the ring visits node by node:                                          one hop a node leaves it
Left out  The objective adds up seconds of messages; it is not the time when the last rank is through. It knows
          nothing of two messages that meet on a cable (so it flatters bad orders), of messages that go at one
          time (two slow ones side by side cost the clock one), or of the order in which they go. Choose by `cost`, then
          check by `evaluate`, which has the clock. Also left out: a separate price per message (a second w and d, whose
          costs add), and several positions on one rank.
Source    Koopmans & Beckmann, "Assignment problems and the location of economic activities" (1957) for the objective,
          the quadratic assignment problem; Sahni & Gonzalez (1976): NP-hard, and NP-hard even to come within a given
          factor of the optimum. So search is all there is for traffic of any shape, and a ring on a tree is worth
          treating by itself: there the best order is known.

Letters: P positions and as many ranks, w [P, P] traffic, d [P, P] distances, order [P]. Rank r sits at a slot of the
network: slot r if the launcher filled the machine in order, any other if it did not.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np

from .network import Network, levels_of
from .ways import router

# The two matrices and the objective -------------------------------------------------------------------------------


def distances(network: Network, slots: int | Sequence[int], nbytes: float = inf) -> np.ndarray:
    """d, float [P, P]: seconds per byte of a message of nbytes between two ranks, alpha / nbytes + beta of its way.

    slots: P, or the slot of the network at which each rank sits. With nbytes = inf only bandwidth counts. Times bytes,
    in messages of this size, it gives seconds. Zero on the diagonal. A tree of levels gives an ultrametric,
    d[i, k] <= max(d[i, j], d[j, k]), because alpha and beta of a way are those of its slowest link.
    Raises ValueError for impossible slots or nbytes <= 0.
    """
    if not nbytes > 0:
        raise ValueError(f"nbytes is {nbytes}: give the size of a typical message, more than 0 bytes")
    slots = _slots(network, slots)
    here, there = (each.ravel() for each in np.meshgrid(slots, slots, indexing="ij"))
    apart, costs = here != there, np.zeros(len(here))
    alpha, beta, *_ = router(network, int(slots.max()) + 1).ways(here[apart], there[apart])
    costs[apart] = alpha / nbytes + beta
    return costs.reshape(len(slots), -1)


def cost(order: Sequence[int] | np.ndarray, w, d) -> float:
    """sum_ij w[i, j] d[order[i], order[j]] (Koopmans & Beckmann 1957): seconds, if w is in bytes and d in s/byte.

    order [P]: the rank that plays each position. w [P, P]: traffic between positions. d [P, P]: distance between ranks.
    Raises ValueError if order is not a permutation, or the matrices are not square, of one size and >= 0.
    """
    w, d = _matrices(w, d)
    order = permutation(order, len(w))
    return float((w * d[np.ix_(order, order)]).sum())


# A ring -----------------------------------------------------------------------------------------------------------


def ring_order(network: Network, slots: int | Sequence[int]) -> np.ndarray:
    """The best order of the ranks for a ring on a tree of switches, int [P]: node by node, pod by pod.

    slots: P, or the slot of the network at which each rank sits. The slots of a group are consecutive, so visiting
    group by group on every level at once is visiting the slots in ascending order.

    Optimal: a hop costs the sum, over the levels that it crosses, of what each adds to the one below, and no level adds
    less than nothing. Let the ranks lie in g > 1 groups of a level. Any ring must leave each group, so at least g of
    its hops cross the level, and this ring has exactly g: it comes to each group once. (With g = 1 none does.)
    Hence it crosses every level as seldom as can be, and no other order is cheaper, whatever alpha and beta are. This
    takes hops that carry equal bytes, as a ring's do up to one element a block.
    On any other network it is a good order: that of ring_order_from, by `distances`.
    Raises ValueError for impossible slots.
    """
    if levels_of(network):
        return np.argsort(_slots(network, slots))
    return ring_order_from(distances(network, slots))


def ring_order_from(d) -> np.ndarray:
    """A good order of the ranks for a ring by any distances d [P, P], such as measured ones; int [P], from rank 0.

    Nearest neighbour first (Rosenkrantz, Stearns & Lewis 1977): go to the nearest rank not yet visited. On a tree of
    levels it finishes each group before it leaves it, however the ranks are numbered, so it is optimal (ring_order).
    Elsewhere this is the travelling salesman's problem, and 2-opt (Croes 1958) improves the order until no stretch of
    it is better turned round; on 8 random points in the plane that came within 15% of the best. The ring sends from
    each position to the next: d[i, j] counts in that direction, and need not be symmetric.
    Raises ValueError if d is not square and >= 0.
    """
    d = _matrix(d, "distances d")
    order = _nearest_neighbour(d)
    while (stretch := _best_turn(order, d)) is not None:
        order[stretch] = order[stretch][::-1].copy()
    return order


def _nearest_neighbour(d: np.ndarray) -> np.ndarray:
    order, ahead = [0], np.ones(len(d), bool)
    for _ in range(len(d) - 1):
        ahead[order[-1]] = False
        order.append(int(np.argmin(np.where(ahead, d[order[-1]], inf))))
    return np.array(order)


def _best_turn(order: np.ndarray, d: np.ndarray) -> slice | None:
    """The stretch of the ring that saves most when it is turned round, or None if none saves anything.

    Turning positions i, ..., j replaces the hops into i and out of j, and takes those between in the other direction.
    """
    before, after = np.roll(order, 1), np.roll(order, -1)
    turned = np.cumsum(d[order, before] - d[before, order])  # zero if d is symmetric
    change = d[np.ix_(before, order)] - d[before, order][:, None] + d[np.ix_(order, after)] - d[order, after]
    change += turned - turned[:, None]
    allowed = np.triu(np.ones(d.shape, bool), 1)
    allowed[0] = False  # rank 0 stays where it is
    change = np.where(allowed, change, inf)
    i, j = np.unravel_index(change.argmin(), d.shape)
    return slice(i, j + 1) if change[i, j] < -1e-9 * d.max() else None  # less is rounding


# Traffic of any shape ---------------------------------------------------------------------------------------------


def assign(w, d, restarts: int = 8, seed: int = 0, start: Sequence[int] | None = None) -> np.ndarray:
    """A good order for any traffic w [P, P] and distances d [P, P], int [P]: never worse than `start`.

    The quadratic assignment problem by SciPy: from each of several orders, swap two positions while that helps
    ("2opt"). They are `start` (unless told, every position at the rank of its number), the results of the relaxed
    problem ("faq", Vogelstein et al. 2015), and random ones; the best is kept. The same seed, the same order.
    Nothing bounds how far it is from the best: up to 7 positions it was within 12% on random cases; a ring of 64 came
    out 10 to 14% too long, so give what you know as `start`. It takes milliseconds for 8 positions, seconds for 64.
    Raises ValueError if the matrices are not square, of one size and >= 0, or start is not a permutation.
    """
    from scipy.optimize import quadratic_assignment  # here: programs that place nothing start without it

    w, d = _matrices(w, d)
    positions, rng = np.arange(len(w)), np.random.default_rng(seed)

    def relaxed(first: str) -> np.ndarray:
        return quadratic_assignment(w, d, "faq", {"rng": rng, "P0": first}).col_ind

    def improved(order: np.ndarray) -> np.ndarray:
        guess = np.column_stack([positions, order])
        return quadratic_assignment(w, d, "2opt", {"rng": rng, "partial_guess": guess}).col_ind

    start = positions if start is None else permutation(start, len(w))
    found = [start, improved(start)]
    for attempt in range(restarts):
        found.append(improved(relaxed("randomized" if attempt else "barycenter")))
        found.append(improved(rng.permutation(len(w))))
    return min(found, key=lambda order: cost(order, w, d))


# What can be wrong ------------------------------------------------------------------------------------------------


def at_least_one(P: int) -> None:
    """Raise ValueError if there is no position to be played."""
    if P < 1:
        raise ValueError(f"a placement needs at least 1 position, got {P}")


def _slots(network: Network, slots: Any) -> np.ndarray:
    slots = np.arange(slots) if np.ndim(slots) == 0 else np.asarray(slots)
    at_least_one(len(slots))
    if slots.ndim != 1 or slots.dtype.kind not in "iu" or slots.min() < 0 or len(set(slots.tolist())) < len(slots):
        raise ValueError(f"each rank needs a slot of its own, a whole number >= 0, got {slots.tolist()}")
    held = levels_of(network)[-1].ranks if levels_of(network) else inf  # any other says so itself when it is asked
    if slots.max() >= held:
        raise ValueError(f"slot {slots.max()} is not on this network: it has slots 0 to {held - 1}")
    return slots


def _matrix(values, name: str) -> np.ndarray:
    values = np.asarray(values, float)
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise ValueError(f"{name} must be a square matrix [P, P], got shape {values.shape}")
    at_least_one(len(values))
    wrong = np.argwhere(~((values >= 0) & (values < inf)))
    if len(wrong):
        i, j = wrong[0].tolist()
        raise ValueError(f"{name} must be finite and >= 0, but [{i}, {j}] is {values[i, j]}")
    return values


def _matrices(w, d) -> tuple[np.ndarray, np.ndarray]:
    w, d = _matrix(w, "traffic w"), _matrix(d, "distances d")
    if w.shape != d.shape:
        raise ValueError(
            f"traffic w is between {len(w)} positions and distances d between {len(d)} ranks: leave ranks out of d, or "
            f"fill w up with rows and columns of zeros"
        )
    return w, d


def permutation(order: Sequence[int] | np.ndarray, P: int) -> np.ndarray:
    """`order` as an array [P]. Raises ValueError unless it names each of P ranks once."""
    at_least_one(P)
    order = np.asarray(order)
    if order.dtype.kind not in "iu" or not np.array_equal(np.sort(order, axis=None), np.arange(P)) or order.ndim != 1:
        raise ValueError(f"an order names each of the ranks 0 to {P - 1} once, got {order.tolist()}")
    return order

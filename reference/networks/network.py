"""A network as an interface: three things that worlds, evaluation and choice ask of it, and no more.

    class Bus:  # one cable for all: whoever wants to send waits for it
        gamma = 0.0

        def node(self, rank): return rank
        def route(self, source, dest): return Route(1e-6, 1e-10, ("the bus",))

    launch(program, 8, network=Bus())

Price     LogGP: a message of n bytes holds the sender's port, all links of its way and the receiver's port for
          g + n beta, and is there alpha + n beta after its start: the latency alpha - g holds nothing. So messages that
          wait for each other take alpha + n beta each, and k in flight k (g + n beta) + alpha - g together.
          A rank sends one message and receives one at a time; a link carries one at a time, and who comes first is
          served first (booking.py); or messages share them (launch(..., sharing="fair")). A reduction costs gamma
          seconds per byte.
Source    Hockney (1994) for alpha and beta; Alexandrov, Ionescu, Schauser & Scheiman, "LogGP" (1995) for g and G, which
          is beta here, and for alpha = L + 2 o: unless launch is told an overhead, o is a part of the latency.
          The gap, unless told: DeepEP's 1,024 messages in 194 us over 50 GB/s leave 42 ns for each (DeepSeek-AI 2025,
          docs/legacy.md, low-latency dispatch on 256 ranks); a card alone is quicker, a processor that posts is slower.
Left out  Messages that overtake each other on the way, and ways that depend on the load.

A network may have more: `levels`, if it is a tree of switches (switch_tree.py). Then many routes are worked out at a
time, and on one level closed forms replace the evaluation; the results are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import inf
from typing import Any, NamedTuple, Protocol

GAP = 4e-8  # seconds, unless told; see Source


class Route(NamedTuple):
    """How one message travels: alpha (s), beta (s/byte), the links it holds (any hashable names), and the gap (s).

    gap: for how long each message holds ports and links, beside its bytes. No more than alpha counts: inf is the older
    alpha-beta model, in which latency holds them, too.
    """

    alpha: float
    beta: float
    links: tuple[Any, ...] = ()
    gap: float = GAP

    def holds(self, nbytes: float) -> float:
        """Seconds for which a message holds the ports and links of its way."""
        return min(self.gap, self.alpha) + nbytes * self.beta


class Link(NamedTuple):
    """What a message costs if all links are alike: alpha seconds, beta seconds a byte; gamma seconds to add one byte.

    gap: the part of alpha in which it holds the ports (Route). What the closed forms are asked with: a formula knows
    neither levels nor ways.
    """

    alpha: float
    beta: float
    gamma: float = 0.0
    gap: float = GAP

    @property
    def g(self) -> float:
        """The gap as far as it counts: no more than alpha."""
        return min(self.gap, self.alpha)


class Network(Protocol):
    """What joins ranks 0, 1, ...: a class needs no more than these three to be one."""

    @property
    def gamma(self) -> float:
        """Seconds to reduce one byte."""

    def node(self, rank: int) -> int:
        """The number of the node that holds `rank`: what Split_type(COMM_TYPE_SHARED) groups by."""

    def route(self, source: int, dest: int) -> Route:
        """The way from one rank to another, always the same one. Raises ValueError for a rank that it does not hold."""


WANTED = {"gamma": "seconds to reduce a byte", "node": "node(rank)", "route": "route(source, dest)"}


def check_network(network: Any) -> None:
    """Raise TypeError that names what is missing, unless this is a Network."""
    missing = [name for name in WANTED if not hasattr(network, name)]
    missing += [name for name in ("node", "route") if name not in missing and not callable(getattr(network, name))]
    if missing:
        lacks = ", ".join(f"{name} ({WANTED[name]})" for name in missing)
        raise TypeError(f"{type(network).__name__} is no network: it lacks {lacks}")


def check_cost(name: str, value: float) -> None:
    """Raise ValueError unless these seconds, or seconds per byte, are a finite number of at least 0."""
    if not 0 <= value < inf:
        raise ValueError(f"{name} must be a finite number of seconds (per byte), at least 0, got {value}")


def check_gap(gap: float) -> None:
    """Raise ValueError unless it is at least 0; inf is allowed, as no more than alpha counts."""
    if not gap >= 0:
        raise ValueError(f"a gap is a number of seconds, at least 0 (inf: as long as alpha), got {gap}")


COSTS = ("alpha", "beta", "gap")  # of a route, and of a level


def levels_of(network: Network) -> tuple:
    """The levels of a tree of switches, innermost first; none of any other network."""
    return getattr(network, "levels", None) or ()


def slowest_link(network: Network, P: int) -> Link:
    """The largest alpha, beta and gap of the ways from rank 0 to the other P - 1; of a tree its outermost level's."""
    if levels := levels_of(network):
        return Link(levels[-1].alpha, levels[-1].beta, network.gamma, levels[-1].gap)
    routes = [network.route(0, rank) for rank in range(1, P)]
    alpha, beta, gap = (max((getattr(route, cost) for route in routes), default=0.0) for cost in COSTS)
    return Link(alpha, beta, network.gamma, gap)


def group_sizes(network: Network, P: int) -> tuple[int, ...]:
    """Sizes of the groups, each of consecutive ranks, in which ranks are nearer to each other: of nodes, pods, ..."""
    if levels := levels_of(network):
        return tuple(int(level.ranks) for level in levels[:-1])
    nodes = [(node, len(list(ranks))) for node, ranks in groupby(range(P), network.node)]
    sizes = {size for _, size in nodes}
    return tuple(sizes) if len(sizes) == 1 and len({node for node, _ in nodes}) == len(nodes) else ()


@dataclass(frozen=True, eq=False)
class Subnetwork:
    """The network as a group sees it that consists of these ranks, numbered 0, 1, ... in this order."""

    network: Network
    ranks: tuple[int, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Subnetwork) and self.network is other.network and self.ranks == other.ranks

    def __hash__(self) -> int:
        return hash((id(self.network), self.ranks))

    @property
    def gamma(self) -> float:
        """Seconds to reduce one byte."""
        return self.network.gamma

    def node(self, rank: int) -> int:
        """The number of the node that holds this rank of the group."""
        return self.network.node(self.ranks[rank])

    def route(self, source: int, dest: int) -> Route:
        """The way between two ranks of the group."""
        return self.network.route(self.ranks[source], self.ranks[dest])


def among(network: Network, ranks: Sequence[int]) -> Network:
    """The network as a group sees it that consists of these ranks, numbered 0, 1, ... in this order."""
    own = getattr(network, "among", None)
    if own is not None:  # a tree of switches keeps its levels as far as the group has them
        return own(ranks)
    return network if list(ranks) == list(range(len(ranks))) else Subnetwork(network, tuple(ranks))

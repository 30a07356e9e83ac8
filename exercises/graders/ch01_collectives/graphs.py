"""Random machines and networks, the best that can be done on them, and checks of who has done it.

The best is found here in other ways than a student would go: by a sum over levels, or for all pairs of nodes at once.
Tests hold it against trying everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np

from exercises.grading import Answer, Case, Finding
from exercises.grading.checks import count

STEP = 1e-3  # seconds on a machine are whole numbers of these, so that a matrix of them is easy to read
LEGIBLE = 8  # ranks of the largest machine whose matrix is printed, and nodes of the longest path
Close = 1e-9  # relative, as in checks.py

# Rings on machines that are built of levels --------------------------------------------------------------------------


def machine(rng: np.random.Generator, *sizes: int) -> np.ndarray:
    """Seconds [P, P] between the ranks of a regular machine, numbered by chance.

    sizes: how many parts a whole has, from the top. (2, 3, 4) is two racks of three nodes of four ranks.
    """
    heights = np.cumsum(rng.integers(1, 9, len(sizes)))  # from the innermost level outwards
    places = np.unravel_index(rng.permutation(np.prod(sizes)), sizes)
    seconds = np.zeros((len(places[0]),) * 2)
    for place, height in zip(places[::-1], heights):
        seconds[place[:, None] != place] = height * STEP  # an outer level overrides those inside it
    return seconds


def ragged_machine(rng: np.random.Generator, P: int) -> np.ndarray:
    """The same with parts of all sizes and depths: two or three of them, drawn by chance, become one, and so on."""
    seconds, parts, height = np.zeros((P, P)), [[rank] for rank in range(P)], 1
    while len(parts) > 1:
        rng.shuffle(parts)
        joined, parts = parts[: 2 + height % 2], parts[2 + height % 2 :]
        for one in joined:
            for other in joined:
                if one is not other:
                    seconds[np.ix_(one, other)] = height * STEP
        parts.append(list(chain(*joined)))
        height += int(rng.integers(0, 3))
    return seconds


def machines(*draws: Callable[[np.random.Generator], np.ndarray]) -> Callable[[np.random.Generator], Iterator[Case]]:
    """Cases of a function of one [P, P] array."""

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        for draw in draws:
            seconds = draw(rng)
            yield Case(count(len(seconds), "rank"), ((seconds,),))

    return cases


def ring_seconds(seconds: np.ndarray, order: Sequence[int]) -> float:
    """Seconds of all hops of a ring, the closing one included."""
    return float(sum(seconds[one, other] for one, other in zip(order, [*order[1:], order[0]])))


def least_ring_seconds(seconds: np.ndarray) -> float:
    """The least there is on a machine of levels.

    Ranks that are at most t apart form clusters. As long as there are several, a ring leaves each at least once, so it
    has at least as many hops longer than t as there are clusters. The sum over hops is the area under that number, and
    a ring that goes through every cluster in one stretch has no hop more.
    """
    levels = np.unique(np.append(seconds, 0.0))
    hops = [len(_clusters(seconds, level)) for level in levels[:-1]]
    return float(np.dot(hops, np.diff(levels)))


def _clusters(seconds: np.ndarray, level: float) -> list[set[int]]:
    """Sets of ranks that are at most `level` apart; on a machine of levels, rows of the same cluster are equal."""
    return [set(map(int, np.flatnonzero(row))) for row in np.unique(seconds <= level, axis=0)]


def shortest_ring(case: Case, answer: Answer) -> Finding | None:
    """The function returns an order of the ranks with the least sum of seconds around the ring."""
    ((seconds,),), (got,) = case.arguments, answer.results
    order = whole_numbers(got)
    if order is None or sorted(order) != list(range(len(seconds))):
        return _no_order(got, order, len(seconds))
    least, mine = least_ring_seconds(seconds), ring_seconds(seconds, order)
    if mine <= least * (1 + Close):
        return None
    seen = f"the hops of your ring add up to {mine:.6g} s; a ring of {least:.6g} s exists."
    if len(seconds) <= LEGIBLE:
        seen += f"\n\nseconds =\n{np.array2string(seconds)}\n\nyour ring: {order}"
    return Finding(seen, _ring_hint(seconds, order, least))


def _no_order(got: Any, order: list[int] | None, P: int) -> Finding:
    if order is None:
        return Finding(
            f"it returned {_short(got)}.", f"It should return a list of the numbers 0 to {P - 1}, each once."
        )
    if len(order) == P + 1 and order[0] == order[-1]:
        return Finding(
            f"the list has {P + 1} numbers for {P} ranks: rank {order[0]} is the first and the last.",
            "The way back to the first rank is understood: the last one in the list is the first one's neighbour.",
        )
    missing = sorted(set(range(P)) - set(order))
    if missing:
        often = max(set(order), key=order.count) if order else None
        also = f", and rank {often} is there {count(order.count(often), 'time')}" * (order.count(often) > 1)
        return Finding(
            f"rank {missing[0]} is not in the list{also}.", "Every rank has one place in the ring. Who is still free?"
        )
    return Finding(f"the list has {len(order)} numbers for {P} ranks.", "Every rank once, and nothing else.")


def _ring_hint(seconds: np.ndarray, order: list[int], least: float) -> str:
    if ring_seconds(seconds, list(np.argsort(order))) <= least * (1 + Close):
        return (
            "Your list says at which place each rank stands. Turn it round: which rank stands at the first place, and "
            "which at the second?"
        )
    if (np.diff(seconds[order[0], order]) >= 0).all():
        return (
            f"They are sorted by their way from rank {order[0]}. Two ranks equally far from it can be far from each "
            "other."
        )
    for depth, level in enumerate(np.unique(seconds)):
        for cluster in _clusters(seconds, level):
            left = sum(one in cluster and other not in cluster for one, other in zip(order, order[1:] + order[:1]))
            if left > 1 and len(cluster) < len(order):
                return _left_too_often(sorted(cluster), float(level), left, depth)
    raise AssertionError("a ring that leaves no cluster twice is the shortest")


def _left_too_often(cluster: list[int], level: float, times: int, depth: int) -> str:
    names = ", ".join(map(str, cluster[:8])) + ", ..." * (len(cluster) > 8)
    facts = f"Ranks {names} are at most {level:.6g} s apart, and your ring leaves them {times} times."
    if depth > 1:
        return f"The nearest ranks stand together, but look one level up. {facts}"
    return f"{facts} Every time costs a long hop: how often is needed?"


def whole_numbers(got: Any) -> list[int] | None:
    """A list, tuple or one-dimensional array of whole numbers as a list; None if it is none."""
    items = got.tolist() if isinstance(got, np.ndarray) else got
    fine = isinstance(items, list | tuple) and all(isinstance(item, int) and item is not True for item in items)
    return list(items) if fine else None


def _short(value: Any) -> str:
    text = repr(value)
    return f"a {type(value).__name__}: {text[:60]}{'...' * (len(text) > 60)}"


# Paths through a network ---------------------------------------------------------------------------------------------

GB = 1e9  # bandwidths are whole numbers of these
WAYS = {  # from node 0 to node 1, and the speeds of their links: each is the best by another measure
    (0, 2, 3, 4, 1): (10, 10, 10, 10),  # the widest
    (0, 5, 6, 1): (9, 9, 9),  # the least sum of 1 / bandwidth
    (0, 7, 1): (4, 4),  # the fewest links
    (0, 8, 9, 1): (2, 2, 2),  # the least sum of bandwidths
    (0, 10, 11, 1): (50, 3, 3),  # the widest link first
    (0, 12, 13, 1): (3, 60, 3),  # the widest link of all
    (0, 14, 15, 1): (1, 9, 9),  # the narrowest link first
}
HAIR = 1 + 2**-30  # what a number of 7 digits does not show
NEARLY_EQUAL = {  # from node 0 to node 1 over nine others, always by one of two nodes
    link: 8 * wider
    for one, other in pairwise([0, *range(2, 11), 1])
    for by, wider in ((20 + one, 1), (40 + one, HAIR))
    for link in ((one, by), (by, other))
}
TRAPS = {link: speed for way, speeds in WAYS.items() for link, speed in zip(pairwise(way), speeds)}


def network(rng: np.random.Generator, links: dict[tuple[int, int], float], a: int, b: int) -> tuple:
    """(bandwidth, a, b) of links {(node, node): GB/s}, with the nodes numbered by chance."""
    N = 1 + max(map(max, links))
    names = rng.permutation(N)
    bandwidth = np.zeros((N, N))
    for (one, other), speed in links.items():
        bandwidth[names[one], names[other]] = bandwidth[names[other], names[one]] = speed * GB
    return bandwidth, int(names[a]), int(names[b])


def random_network(rng: np.random.Generator, N: int, density: float, fastest: int = 400) -> tuple:
    """(bandwidth, a, b): a chain through all nodes, so that there is a path, and each other link by chance."""
    links = {
        (one, other): rng.integers(1, fastest) for one in range(N) for other in range(one) if rng.random() < density
    }
    links |= {(node + 1, node): rng.integers(1, fastest) for node in range(N - 1)}
    return network(rng, links, 0, N - 1)


def networks(*draws: Callable[[np.random.Generator], tuple]) -> Callable[[np.random.Generator], Iterator[Case]]:
    """Cases of a function of (bandwidth, a, b)."""

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        for draw in draws:
            bandwidth, a, b = draw(rng)
            links = [f"{i}-{j}: {bandwidth[i, j] / GB:g}" for i, j in np.argwhere(np.triu(bandwidth))]
            shown = f"links in GB/s: {', '.join(links)}" if len(links) <= 3 * LEGIBLE else f"{len(links)} links"
            yield Case(f"{len(bandwidth)} nodes, from {a} to {b}, {shown}", ((bandwidth, a, b),))

    return cases


def widths(bandwidth: np.ndarray) -> np.ndarray:
    """The width of the widest path between any two nodes [N, N]: Floyd and Warshall's algorithm with max and min."""
    widest = bandwidth.copy()
    for node in range(len(widest)):
        widest = np.maximum(widest, np.minimum(widest[:, node, None], widest[node]))
    return widest


def least_sums(lengths: np.ndarray) -> np.ndarray:
    """The length of the shortest path between any two nodes [N, N]; lengths: of links, infinite where there is none."""
    least = lengths.copy()
    np.fill_diagonal(least, 0)
    for node in range(len(least)):
        least = np.minimum(least, least[:, node, None] + least[node])
    return least


def widest_path(case: Case, answer: Answer) -> Finding | None:
    """The function returns a path from a to b over links that exist, no node twice, as wide as any."""
    ((bandwidth, a, b),), (got,) = case.arguments, answer.results
    path = whole_numbers(got)
    if path is None:
        return Finding(f"it returned {_short(got)}.", f"It should return a list of nodes, from {a} to {b}.")
    finding = _no_path(path, bandwidth, a, b)
    if finding is not None:
        return finding
    width, best = min(_speeds(bandwidth, path)), widths(bandwidth)[a, b]
    if width >= best:
        return None
    seen = (
        f"the narrowest link of {_listed(path)} has {width / GB:.10g} GB/s; on another path every link has "
        f"{best / GB:.10g} or more."
    )
    return Finding(seen, _path_hint(bandwidth, path, best))


def _no_path(path: list[int], bandwidth: np.ndarray, a: int, b: int) -> Finding | None:
    """What keeps a list of numbers from being a path from a to b, if anything does."""
    if path[:1] + path[-1:] == [b, a]:
        return Finding(
            f"the list {_listed(path)} leads from {b} to {a}.",
            "It should begin with a. Did you collect it from the end?",
        )
    if len(set(path)) < len(path):
        often = max(path, key=path.count)
        return Finding(
            f"the list {_listed(path)} visits node {often} {count(path.count(often), 'time')}.",
            "A path that comes back to a node can be cut short. If yours was followed from node to node, it went round "
            "in a circle: when is a new way to a node better than the one that is known?",
        )
    if path[:1] != [a] or path[-1:] != [b]:
        return Finding(f"the list {_listed(path)} does not lead from {a} to {b}.", "Both ends belong to the path.")
    strange = [node for node in path if not 0 <= node < len(bandwidth)]
    if strange:
        return Finding(f"there is no node {strange[0]}.", f"The nodes are numbered from 0 to {len(bandwidth) - 1}.")
    for one, other in pairwise(path):
        if not bandwidth[one, other]:
            return Finding(
                f"the list {_listed(path)} goes from {one} to {other}, and there is no link.",
                "A bandwidth of 0 is no link. When a better way to a node is found, where does it come from?",
            )
    return None


def _listed(path: list[int]) -> str:
    """A path as a list; a long one is cut short."""
    shown = str(path[:LEGIBLE])
    return shown if len(path) <= LEGIBLE else f"{shown[:-1]}, ...] ({len(path)} nodes)"


def _path_hint(bandwidth: np.ndarray, path: list[int], best: float) -> str:
    """Recognise what the path is the best for, if it is not the widest."""
    speeds = _speeds(bandwidth, path)
    if min(speeds) * HAIR**2 > best:
        return "They differ by less than a millionth. Were the bandwidths rounded: by //, int(), float32?"
    links = bandwidth > 0
    with np.errstate(divide="ignore"):
        sums = {
            "hops": (len(speeds), np.where(links, 1.0, np.inf)),
            "bandwidths": (sum(speeds), np.where(links, bandwidth, np.inf)),
            "times": (sum(1 / speed for speed in speeds), np.where(links, 1 / bandwidth, np.inf)),
        }
    if len(path) == 2:
        return "You took the direct link because there is one. A detour over wide links is wider than a narrow link."
    best = {what for what, (mine, each) in sums.items() if mine <= least_sums(each)[path[0], path[-1]] * (1 + Close)}
    if "times" in best:
        return (
            "Yours has the least sum of 1 / bandwidth: the time of a message that each node stores before it passes it "
            "on. Packets flow through all links at once; what does the widest link of a path add then?"
        )
    if "bandwidths" in best:
        return (
            "Yours has the least sum of bandwidths, so it looks for narrow links. What is to be compared of two paths "
            "is no sum, and the larger is better."
        )
    if "hops" in best:
        return "Yours has the fewest links. The number of links does not count here, only the narrowest one."
    if max(speeds) == bandwidth.max():
        return (
            f"Yours has the widest link of all, {max(speeds) / GB:g} GB/s. Which link of a path counts when two ways "
            "to the same node meet?"
        )
    if _takes_the_widest_link_first(bandwidth, path):
        return (
            "At every node yours takes the widest link that goes on. A wide link can lead to where all others are "
            "narrow: keep the other ways open until it is sure that none is wider."
        )
    if min(speeds) == bandwidth[links].min():
        return (
            f"Yours has the narrowest link of all, {min(speeds) / GB:g} GB/s: the way that is continued next was the "
            "narrowest one known. Which one does your heap, or your min, give out first?"
        )
    return (
        "Write down for every node how wide the best way to it is, as far as you know. When may that number change, "
        "and who must hear of it?"
    )


def _takes_the_widest_link_first(bandwidth: np.ndarray, path: list[int]) -> bool:
    """Whether no node of a path has a wider link to a node that was not visited before."""
    fresh = [np.delete(bandwidth[here], path[: step + 1]) for step, here in enumerate(path[:-1])]
    return all(speed == links.max() for speed, links in zip(_speeds(bandwidth, path), fresh))


def _speeds(bandwidth: np.ndarray, path: list[int]) -> list[float]:
    return [float(bandwidth[one, other]) for one, other in pairwise(path)]

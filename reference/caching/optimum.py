"""The fewest bytes that a cache has to read for a trace, by exact search: what no policy can beat, whatever the sizes.

Idea      After each access the cache may hold any set of keys that fits and has the one just used. For each such set
          keep the fewest bytes read so far. To hold more is never worse, so at a miss only sets are tried from which
          nobody could have stayed.
Exact     With equal sizes it is Belady's rule. With sizes that differ, Belady's rule can read more, and so can the rule
          that weighs distances by bytes: to find the best is NP-hard, so this is for traces of a dozen keys.
Price     Exponential in the keys that fit.
Source    Chrobak, Woeginger, Makino and Xu, "Caching is hard, even in the fault model" (2012).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from .policies import Key


def fewest_bytes(keys: Sequence[Key], capacity: int, sizes: Mapping[Key, int] | None = None, bypass=False) -> int:
    """The fewest bytes that are read from below; bypass: what is used need not be kept.

    Raises ValueError for a key that is larger than the cache.
    """
    size = dict.fromkeys(keys, 1) if sizes is None else sizes
    if large := [key for key in keys if size[key] > capacity]:
        raise ValueError(f"{large[0]!r} is larger than the cache of {capacity}")
    best: dict[frozenset, int] = {frozenset(): 0}
    for key in keys:
        following: dict[frozenset, int] = {}
        for inside, read in best.items():
            hit = key in inside
            after = [inside] if hit else [*_kept(inside, key, capacity, size), *([inside] if bypass else [])]
            for chosen in after:
                total = read + (0 if hit else size[key])
                following[chosen] = min(total, following.get(chosen, total))
        best = following
    return min(best.values())


def _kept(inside: frozenset, key: Key, capacity: int, size: Mapping[Key, int]) -> Iterator[frozenset]:
    """The sets that may be inside after a miss: with the key, and nobody left without need."""
    room = capacity - size[key]
    for count in range(len(inside), -1, -1):
        for chosen in combinations(inside, count):
            left = room - sum(size[one] for one in chosen)
            if left >= 0 and all(size[one] > left for one in inside.difference(chosen)):
                yield frozenset({key, *chosen})

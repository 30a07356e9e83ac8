"""A trace of accesses through a cache: what is there when it is needed, which bytes move, and how long it all takes.

Idea      Access after access: what is inside is a hit. What is not is read from the tier below, and kept if the policy
          admits it; whoever the policy names leaves until there is room.
          Seconds: one link brings what was missed, in order. Without reading ahead each miss is waited for. Reading
          `ahead` accesses ahead starts a read as soon as the link is free and its buffer is, which was access
          i - ahead's. Then access i computes when access i - 1 has ended and its bytes are there.
Before    a compute waits for each read         sum(compute) + sum(reads)
After     reads ahead of the compute            at least max(sum(compute), sum(reads))
Exact     Hits and bytes are counted, seconds are those of the model; both are the same in every run.
Left out  Writing back what the optimizer changed. Reading ahead needs `ahead` buffers beside the cache.
Source    Mattson et al., "Evaluation techniques for storage hierarchies" (1970), for traces; Kwon et al.,
          "PagedAttention" (2023), and Zheng et al., "SGLang" (2024), for blocks that requests with a prefix share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..tiers.tier import Tier
from .policies import POLICIES, Eviction, Key


class Replayed(NamedTuple):
    """What became of each access: hits [accesses]; bytes that were used and that were read from below; evictions."""

    hits: tuple[bool, ...]
    used: int
    read: int
    evictions: int

    @property
    def hit_rate(self) -> float:
        """Hits, as a part of the accesses."""
        return sum(self.hits) / len(self.hits)

    @property
    def byte_hit_rate(self) -> float:
        """Bytes that were not read from below, as a part of those that were used."""
        return 1 - self.read / self.used


def replay(
    keys: Sequence[Key],
    policy: Eviction | str,
    capacity: int,
    sizes: Mapping[Key, int] | None = None,
) -> Replayed:
    """Run accesses to keys through a cache of `capacity` bytes; sizes: bytes of each key, 1 by default.

    policy: a new one, or its name in POLICIES. Raises ValueError for a key that is larger than the cache.
    """
    if isinstance(policy, str):
        policy = POLICIES[policy](keys, capacity)
    inside: dict[Key, int] = {}
    hits, used, read, evictions, room = [], 0, 0, 0, capacity
    for now, key in enumerate(keys):
        nbytes = sizes[key] if sizes else 1
        used += nbytes
        hits.append(key in inside)
        if hits[-1]:
            policy.hit(key, now)
            continue
        read += nbytes
        if nbytes > capacity:
            raise ValueError(f"{key!r} has {nbytes} bytes, more than the cache of {capacity}")
        if policy.admits(key, nbytes, now, nbytes > room):
            while nbytes > room:
                room += inside.pop(policy.evict(now))
                evictions += 1
            inside[key] = nbytes
            room -= nbytes
            policy.insert(key, nbytes, now)
    return Replayed(tuple(hits), used, read, evictions)


def seconds(
    keys: Sequence[Key],
    hits: Sequence[bool],
    tier: Tier,
    compute: float | Sequence[float],
    sizes: Mapping[Key, int] | None = None,
    ahead: int = 0,
) -> float:
    """Seconds from the first access to the end of the last, if each computes so long (one number, or one an access).

    Misses are read from the tier one after the other; ahead: how many accesses before its use a read may start.
    """
    each = [compute] * len(keys) if isinstance(compute, int | float) else compute
    link, ends = 0.0, [0.0]  # when the link is free; when each access ended, from "before the first" on
    for i, (key, hit) in enumerate(zip(keys, hits)):
        there = 0.0
        if not hit:
            there = link = max(link, ends[max(0, i - ahead)]) + tier.reading(sizes[key] if sizes else 1)
        ends.append(max(ends[-1], there) + each[i])
    return ends[-1]


def usable(requests: Sequence[Sequence[Key]], hits: Sequence[bool]) -> int:
    """Hits that help a request for a prefix: those before its first miss. hits: of all blocks, in the same order.

    Keys and values of a block depend on all blocks before it, so behind a gap the blocks are computed again.
    """
    total, at = 0, 0
    for request in requests:
        mine = hits[at : at + len(request)]
        total += mine.index(False) if False in mine else len(mine)
        at += len(request)
    return total


def prefix_hits(requests: Sequence[Sequence[Key]], policy: Eviction | str, capacity: int) -> float:
    """The part of all blocks that need not be computed, if requests come one after the other; a block is 1."""
    played = replay([key for request in requests for key in request], policy, capacity)
    return usable(requests, played.hits) / len(played.hits)

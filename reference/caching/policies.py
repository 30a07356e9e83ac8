"""Eviction policies: who leaves a full cache. By the past, or by the future where that is known.

Idea      A cache is full and something new must come in. Each policy ranks what is inside, and the lowest leaves:

              LRU      by the last access: the one that was used longest ago leaves
              LFU      by the number of accesses since it came; of equals the least recent
              LRU-K    by the K-th last access, which is "never" for what was used fewer than K times
              ARC      two LRU lists, of what was used once and more often; what left lately says which to shrink
              blend    a / (seconds since the last access) + b * accesses
              Belady   by the next access: the one that is needed last leaves

          A policy may also refuse what comes (`admits`): it is then used from a buffer on the way, and not kept.
          Belady's rule with that choice keeps a newcomer only if it is needed sooner than somebody inside.
Exact     With equal sizes Belady's rule has the fewest misses that any order of evictions can have; with sizes that
          differ it has not (optimum.py). In ARC all counts are bytes; with equal sizes it is the paper's algorithm.
Left out  Writing back what changed; LRU-K's correlated references; the memory that LRU-K's and ARC's books take.
Source    Belady, "A study of replacement algorithms for a virtual-storage computer" (1966); O'Neil, O'Neil and Weikum,
          "The LRU-K page replacement algorithm for database disk buffering" (1993); Megiddo and Modha, "ARC: a
          self-tuning, low overhead replacement cache" (2003), figure 4; Lee et al., "LRFU" (2001), for blends.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from math import inf
from typing import Any

Key = Hashable


class Eviction(ABC):
    """What a cache asks its policy. `now` counts accesses from 0."""

    def admits(self, key: Key, nbytes: int, now: int, full: bool) -> bool:
        """Called at each miss, first: whether to keep it. full: somebody would have to leave for it."""
        return True

    @abstractmethod
    def hit(self, key: Key, now: int) -> None:
        """It was inside, and is used."""

    @abstractmethod
    def insert(self, key: Key, nbytes: int, now: int) -> None:
        """It comes in."""

    @abstractmethod
    def evict(self, now: int) -> Key:
        """Choose somebody inside, who leaves."""


class Ranked(Eviction):
    """A policy by ranks that change only when a key is used: the lowest leaves. A heap finds it in O(log n)."""

    def __init__(self):
        self._ranks: dict[Key, Any] = {}
        self._heap: list[tuple[Any, int, Key]] = []

    @abstractmethod
    def rank(self, key: Key, now: int) -> Any:
        """The rank of a key that is used now."""

    def hit(self, key: Key, now: int) -> None:
        self._ranks[key] = rank = self.rank(key, now)
        heappush(self._heap, (rank, now, key))  # the entry before stays in the heap, and is out of date
        if len(self._heap) > 2 * len(self._ranks) + 64:
            self._heap = [entry for entry in self._heap if self._holds(entry)]
            heapify(self._heap)

    def insert(self, key: Key, nbytes: int, now: int) -> None:
        self.hit(key, now)

    def evict(self, now: int) -> Key:
        key = self.lowest()
        del self._ranks[key]
        return key

    def lowest(self) -> Key:
        """Who would leave."""
        while not self._holds(self._heap[0]):
            heappop(self._heap)
        return self._heap[0][2]

    def _holds(self, entry: tuple[Any, int, Key]) -> bool:
        return self._ranks.get(entry[2]) == entry[0]


class LRU(Ranked):
    """Least recently used."""

    def rank(self, key: Key, now: int) -> int:
        return now


class LFU(Ranked):
    """Least frequently used since it came in; of equals the least recently used."""

    def __init__(self):
        super().__init__()
        self.counts: Counter[Key] = Counter()

    def rank(self, key: Key, now: int) -> tuple[int, int]:
        self.counts[key] += 1
        return self.counts[key], now

    def evict(self, now: int) -> Key:
        key = super().evict(now)
        del self.counts[key]
        return key


class LRUK(Ranked):
    """LRU-K: whoever's K-th last access is the longest ago leaves; of equals by LRU.

    retained: after so many accesses a key that left is forgotten.
    """

    def __init__(self, k: int = 2, retained: float = inf):
        super().__init__()
        self.k, self.retained, self._times = k, retained, dict[Key, deque[int]]()

    def rank(self, key: Key, now: int) -> tuple[float, int]:
        times = self._times.setdefault(key, deque(maxlen=self.k))
        if key not in self._ranks and times and now - times[-1] > self.retained:
            times.clear()
        times.append(now)
        return (times[0] if len(times) == self.k else -inf), now


class Belady(Ranked):
    """Whoever is needed last leaves: for a trace that is known. keys: that trace; bypass: may refuse a newcomer."""

    def __init__(self, keys: Sequence[Key], bypass: bool = False):
        super().__init__()
        self.next, self.bypass = next_uses(keys), bypass

    def rank(self, key: Key, now: int) -> float:
        return -self.next[now]

    def admits(self, key: Key, nbytes: int, now: int, full: bool) -> bool:
        return not (self.bypass and full and self._ranks and self._ranks[self.lowest()] >= -self.next[now])


def next_uses(keys: Sequence[Key]) -> list[float]:
    """For each access the number of the next one to the same key, or infinity."""
    following: dict[Key, int] = {}
    found = [inf] * len(keys)
    for now in reversed(range(len(keys))):
        found[now] = following.get(keys[now], inf)
        following[keys[now]] = now
    return found


class Blend(Eviction):
    """The score a / (now - last) + b * accesses, of LRU and LFU; the lowest leaves.

    It is often called LRU-K, which it is not. The score has no value at the moment of an access (now = last), and adds
    1 / accesses to a count, so a and b mean something else for each trace.
    """

    def __init__(self, a: float = 1.0, b: float = 1.0):
        self.a, self.b = a, b
        self.last: dict[Key, int] = {}
        self.counts: Counter[Key] = Counter()

    def hit(self, key: Key, now: int) -> None:
        self.last[key] = now
        self.counts[key] += 1

    def insert(self, key: Key, nbytes: int, now: int) -> None:
        self.hit(key, now)

    def score(self, key: Key, now: int) -> float:
        """Raises ZeroDivisionError at the access itself."""
        return self.a / (now - self.last[key]) + self.b * self.counts[key]

    def evict(self, now: int) -> Key:
        key = min(self.last, key=lambda key: (self.score(key, now), self.last[key]))
        del self.last[key], self.counts[key]
        return key


class Frequent(LRU):
    """Placement by frequency: only keys that a profile counted more often than the threshold are kept.

    counts: accesses in an earlier trace. If the room is not enough for all of them, it is shared by LRU.
    """

    def __init__(self, counts: Mapping[Key, int], threshold: float):
        super().__init__()
        self.counts, self.threshold = counts, threshold

    def admits(self, key: Key, nbytes: int, now: int, full: bool) -> bool:
        return self.counts.get(key, 0) > self.threshold


class ByteQueue(OrderedDict[Key, int]):
    """Keys with their bytes, from the oldest to the newest; `total` bytes."""

    total = 0

    def append(self, key: Key, nbytes: int) -> None:
        """As the newest."""
        self[key] = nbytes
        self.total += nbytes

    def take(self, key: Key) -> int:
        """Take it out, and return its bytes; 0 if it is not there."""
        nbytes = self.pop(key, 0)
        self.total -= nbytes
        return nbytes

    def oldest(self) -> tuple[Key, int]:
        """Take the oldest out."""
        key = next(iter(self))
        return key, self.take(key)


class ARC(Eviction):
    """Adaptive replacement: t1 was used once, t2 more often; b1 and b2 are the names of those that left them lately.

    target is what t1 may have: it grows when somebody is asked for whom t1 has lost, and shrinks for one of t2's.
    capacity: the bytes of the cache. The paper's names: T1, T2, B1, B2, p.
    """

    def __init__(self, capacity: int):
        self.capacity, self.target = capacity, 0.0
        self._asked: Key = None  # what is to come in, of so many bytes
        self._nbytes = 0
        self.t1, self.t2, self.b1, self.b2 = (ByteQueue() for _ in range(4))

    def hit(self, key: Key, now: int) -> None:
        self.t2.append(key, self.t1.take(key) + self.t2.take(key))

    def admits(self, key: Key, nbytes: int, now: int, full: bool) -> bool:
        self._asked, self._nbytes = key, nbytes
        b1, b2 = self.b1.total, self.b2.total
        if key in self.b1:
            self.target = min(self.capacity, self.target + nbytes * max(1.0, b2 / b1))
        elif key in self.b2:
            self.target = max(0.0, self.target - nbytes * max(1.0, b1 / b2))
        else:
            self._forget(nbytes)
        return True

    def _forget(self, nbytes: int) -> None:
        """Case IV of the paper: t1 and b1 together keep within the capacity, all four within twice that."""
        if self.t1.total + self.b1.total + nbytes > self.capacity:
            while self.b1 and self.t1.total + self.b1.total + nbytes > self.capacity:
                self.b1.oldest()
        else:
            lists = self.t1, self.t2, self.b1, self.b2
            while self.b2 and sum(each.total for each in lists) + nbytes > 2 * self.capacity:
                self.b2.oldest()

    def insert(self, key: Key, nbytes: int, now: int) -> None:
        seen = self.b1.take(key) + self.b2.take(key)
        (self.t2 if seen else self.t1).append(key, nbytes)

    def evict(self, now: int) -> Key:
        seen, t1 = self._asked in self.b1 or self._asked in self.b2, self.t1.total
        if not seen and t1 + self._nbytes > self.capacity:  # t1 is the whole cache: it leaves without a trace
            return self.t1.oldest()[0]
        if self.t1 and (not self.t2 or t1 > self.target or (self._asked in self.b2 and t1 == self.target)):
            source, ghosts = self.t1, self.b1
        else:
            source, ghosts = self.t2, self.b2
        key, nbytes = source.oldest()
        ghosts.append(key, nbytes)
        return key


POLICIES: dict[str, Callable[[Sequence[Key], int], Eviction]] = {
    "LRU": lambda keys, capacity: LRU(),
    "LFU": lambda keys, capacity: LFU(),
    "LRU-2": lambda keys, capacity: LRUK(2),
    "ARC": lambda keys, capacity: ARC(capacity),
    "blend": lambda keys, capacity: Blend(),
    "Belady": lambda keys, capacity: Belady(keys),
}
"""By name: (the trace, of which only Belady looks at the future; the capacity in bytes) -> a new policy."""

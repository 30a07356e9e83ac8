"""PyTorch's caching allocator as a model: segments from cudaMalloc, cached, split, and merged inside a segment only.

Idea      cudaMalloc and cudaFree wait for the device, so PyTorch asks for memory in segments and does not give it back.
          Sizes are rounded up to 512 bytes. Requests of up to 1 MiB come from segments of 2 MiB; larger ones below 10
          MiB from segments of 20 MiB; those from 10 MiB on from a segment of their own, rounded up to 2 MiB. The
          smallest cached block that fits is taken. What is left of it stays a block if it is large enough: 512 bytes in
          the small pool, more than 1 MiB in the large one. A freed block is merged with its neighbours, but no block
          reaches over the border of a segment. So memory in many segments cannot serve one large request, unless whole
          segments are free: these are returned, and the request is tried once more.
          `Expandable` (expandable_segments:True) reserves *addresses* for the whole device once, and maps pages of 2
          MiB, or 20 MiB in the large pool, as they are needed: one segment a pool, in which all neighbours merge.
Exact     Rounding, pools, best fit, splitting, the retry: as in c10/cuda/CUDACachingAllocator.cpp, one stream. That
          cudaMalloc fails exactly when the capacity is used up is an assumption about the driver.
Left out  Streams and events, CUDA graphs, max_split_size_mb, roundup_power2_divisions, garbage_collection_threshold.
Source    PyTorch, c10/cuda/CUDACachingAllocator.cpp (commit 001074d) and torch 2.13.0's AllocatorConfig.h.
"""

from __future__ import annotations

from typing import NamedTuple

from .allocator import UNLIMITED, FreeList, Hole, OutOfMemory, round_up, size

MIB = 1024**2


class Sizes(NamedTuple):
    """The constants, in bytes, with their names in CUDACachingAllocator.cpp."""

    unit: int = 512  # kMinBlockSize
    small: int = MIB  # kSmallSize: the largest request of the small pool
    small_segment: int = 2 * MIB  # kSmallBuffer
    large_segment: int = 20 * MIB  # kLargeBuffer
    own_segment: int = 10 * MIB  # kMinLargeAlloc: the least request with a segment of its own
    round_large: int = 2 * MIB  # kRoundLarge


PYTORCH = Sizes()


class Caching:
    """Segments, as the docstring above says. `segments`: address -> bytes; `pools`: free blocks, small ones by True."""

    def __init__(self, capacity: int = UNLIMITED, sizes: Sizes = PYTORCH):
        self.capacity, self.sizes, self.reserved = capacity, sizes, 0
        self.pools = {True: FreeList(), False: FreeList()}
        self.segments: dict[int, int] = {}
        self.used: dict[int, tuple[int, bool]] = {}
        self._next = 0  # the address of the next segment

    def allocate(self, nbytes: int) -> int:
        """The address of a block of at least nbytes bytes. Raises OutOfMemory, also if enough bytes are free."""
        nbytes = round_up(nbytes, self.sizes.unit)
        small = nbytes <= self.sizes.small
        block = self._cached(small, nbytes) or self._new(small, nbytes)
        rest = size(block) - nbytes
        given = nbytes if self._splits(small, rest) else size(block)
        address = self.pools[small].take(block, given)
        self.used[address] = given, small
        return address

    def free(self, address: int) -> None:
        """Back to its pool, merged with free neighbours of the same segment."""
        given, small = self.used.pop(address)
        self.pools[small].put(address, address + given, self.segments.keys())

    def largest(self) -> int:
        """The largest request that would be granted: a cached block, or what cudaMalloc has left for a segment."""
        rest = self.capacity - self.reserved + sum(map(size, self._releasable()))
        rest -= rest % self.sizes.round_large
        return max(self.pools[False].largest(), rest if rest >= self.sizes.own_segment else 0)

    def _cached(self, small: bool, nbytes: int) -> Hole | None:
        return self.pools[small].best(nbytes)

    def _splits(self, small: bool, rest: int) -> bool:
        """Whether what remains of a block becomes a block of its own."""
        return rest >= self.sizes.unit if small else rest > self.sizes.small

    def _new(self, small: bool, nbytes: int) -> Hole:
        """A new segment; if there is no room for it, after all segments that are wholly free were returned."""
        wanted = self._segment_bytes(small, nbytes)
        if self.reserved + wanted > self.capacity:
            self._release()
        if self.reserved + wanted > self.capacity:
            raise OutOfMemory
        start, self._next = self._next, self._next + wanted
        self.segments[start] = wanted
        self.reserved += wanted
        return self.pools[small].put(start, start + wanted, self.segments.keys())

    def _segment_bytes(self, small: bool, nbytes: int) -> int:
        if small:
            return self.sizes.small_segment
        if nbytes < self.sizes.own_segment:
            return self.sizes.large_segment
        return round_up(nbytes, self.sizes.round_large)

    def _releasable(self) -> list[Hole]:
        """Segments without a tensor in them."""
        holes = self.pools[True].holes + self.pools[False].holes
        return [hole for hole in holes if self.segments.get(hole[0]) == size(hole)]

    def _release(self) -> None:
        for hole in self._releasable():
            for pool in self.pools.values():
                if hole in pool.holes:
                    pool.holes.remove(hole)
            self.reserved -= self.segments.pop(hole[0])


class Expandable(Caching):
    """expandable_segments:True: one range of addresses a pool, in which pages are mapped when they are needed."""

    def __init__(self, capacity: int = UNLIMITED, sizes: Sizes = PYTORCH):
        super().__init__(capacity, sizes)
        self.pages = {True: sizes.small_segment, False: sizes.large_segment}
        large = round_up(UNLIMITED, sizes.large_segment)  # far away, so that nothing merges across; pages are aligned
        spaces = {True: (0, UNLIMITED), False: (large, 2 * large)}
        self.unmapped = {small: FreeList([space]) for small, space in spaces.items()}

    def largest(self) -> int:
        """What could be had at the end of the large pool, after all free pages were unmapped; or a cached block."""
        page = self.pages[False]
        rest = (self.capacity - self.reserved + sum(size(hole) for _, hole in self._inner())) // page * page
        return max(self.pools[False].largest(), rest)

    def _cached(self, small: bool, nbytes: int) -> Hole | None:
        """The best fit, where a block that could grow into unmapped pages counts as large as it could grow."""
        grows = {start: stop - start for start, stop in self.unmapped[small].holes}
        return self.pools[small].best(nbytes, lambda hole: size(hole) + grows.get(hole[1], 0))

    def _splits(self, small: bool, rest: int) -> bool:
        return rest >= self.sizes.unit

    def _new(self, small: bool, nbytes: int) -> Hole:
        """The lowest range of free and unmapped bytes that is long enough, mapped as far as is needed."""
        new = self._to_map(small, nbytes)
        if self.reserved + sum(map(size, new)) > self.capacity:
            self._release()
            new = self._to_map(small, nbytes)
        if self.reserved + sum(map(size, new)) > self.capacity:
            raise OutOfMemory
        for start, stop in new:
            self.unmapped[small].take(self._unmapped_at(small, start), stop - start)
            self.reserved += stop - start
            block = self.pools[small].put(start, stop)
        return block

    def _unmapped_at(self, small: bool, start: int) -> Hole:
        return next(hole for hole in self.unmapped[small].holes if hole[0] == start)

    def _to_map(self, small: bool, nbytes: int) -> list[Hole]:
        """Pages to map that make, with the free blocks beside them, nbytes adjacent bytes, at low addresses."""
        ranges, mapped = sorted([*self.pools[small].holes, *self.unmapped[small].holes]), set(self.pools[small].holes)
        for i in (i for i, hole in enumerate(ranges) if hole not in mapped):
            first = i - 1 if i and ranges[i - 1][1] == ranges[i][0] else i  # a free block just before it
            run, missing = [], nbytes
            for hole in ranges[first:]:
                if missing <= 0 or (run and run[-1][1] != hole[0]):
                    break
                run.append(hole if hole in mapped else self._pages(small, hole, missing))
                missing -= size(run[-1])
            if missing <= 0:
                return [hole for hole in run if hole not in mapped]
        raise OutOfMemory

    def _pages(self, small: bool, hole: Hole, nbytes: int) -> Hole:
        """As many pages of an unmapped range as nbytes bytes need."""
        return hole[0], min(hole[1], hole[0] + round_up(nbytes, self.pages[small]))

    def _inner(self) -> list[tuple[bool, Hole]]:
        """Of each free block the whole pages."""
        found = []
        for small, pool in self.pools.items():
            for start, stop in pool.holes:
                inner = round_up(start, self.pages[small]), stop - stop % self.pages[small]
                found += [(small, inner)] if inner[0] < inner[1] else []
        return found

    def _release(self) -> None:
        for small, (start, stop) in self._inner():
            pool = self.pools[small]
            block = next(hole for hole in pool.holes if hole[0] <= start and stop <= hole[1])
            pool.holes.remove(block)
            for hole in ((block[0], start), (stop, block[1])):
                if size(hole):
                    pool.put(*hole)
            self.unmapped[small].put(start, stop)
            self.reserved -= stop - start

"""Allocators without a GPU: where tensors come to lie in an address space, and how much of it is lost between them.

Idea      An allocator gets requests for so many bytes and gives each a place; places are freed in another order.
          Tensors cannot be moved, since kernels have their addresses. So free bytes end up in holes between live ones,
          and a request fails although enough bytes are free, if no hole is large enough: *external fragmentation*.
          What a tensor is given beyond its size is *internal fragmentation*.

              |aaaa|....|bb|......|cccc|....|     14 of 24 bytes are free, the largest hole has 6: a request of 8 fails

          `Heap` is one address space, first fit or best fit. segments.py has PyTorch's caching allocator, whose holes
          cannot grow beyond what one cudaMalloc returned. `Pages` gives no tensor adjacent bytes at all, but pages of
          one size: nothing is lost between them, and less than a page in the last one of each (PagedAttention).
          `replay` runs a trace of requests (traces.py) through any of them.
Exact     Pure arithmetic on integers: the same places on every machine.
Left out  Streams: on a GPU what one stream frees is not given to another at once. Time: an allocator that looks longer
          for a place is not slower here.
Source    Robson, "Bounds for some functions concerning dynamic storage allocation", J. ACM (1974), for the bound;
          Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention" (2023).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

UNLIMITED = 1 << 62

Hole = tuple[int, int]  # free bytes: the first address, and the one behind the last


class OutOfMemory(Exception):
    """No place for a request. It leaves the allocator as it was."""


class Allocator(Protocol):
    """Gives out addresses, and takes them back."""

    capacity: int
    reserved: int
    """Bytes that nobody else can have: what it took of the capacity so far and has not returned."""

    def allocate(self, nbytes: int) -> int:
        """The address of nbytes > 0 bytes. Raises OutOfMemory."""

    def free(self, address: int) -> None:
        """Take back what was allocated at this address. Raises KeyError if nothing was."""

    def largest(self) -> int:
        """The largest request that would be granted now."""


class FreeList:
    """Holes in the order of their addresses; neighbours are merged unless a border lies between them."""

    def __init__(self, holes: Iterable[Hole] = ()):
        self.holes: list[Hole] = sorted(holes)

    def put(self, start: int, stop: int, borders: Container[int] = ()) -> Hole:
        """Add a hole, and return what it has become part of."""
        i = bisect_left(self.holes, (start, stop))
        if i < len(self.holes) and self.holes[i][0] == stop and stop not in borders:
            stop = self.holes.pop(i)[1]
        if i and self.holes[i - 1][1] == start and start not in borders:
            i -= 1
            start = self.holes.pop(i)[0]
        self.holes.insert(i, (start, stop))
        return start, stop

    def take(self, hole: Hole, nbytes: int) -> int:
        """Take the first nbytes of a hole; what remains of it stays. Returns the address."""
        i = bisect_left(self.holes, hole)
        start, stop = self.holes.pop(i)
        if stop - start > nbytes:
            self.holes.insert(i, (start + nbytes, stop))
        return start

    def first(self, nbytes: int) -> Hole | None:
        """The hole at the lowest address among those that are large enough."""
        return next((hole for hole in self.holes if hole[1] - hole[0] >= nbytes), None)

    def best(self, nbytes: int, key: Callable[[Hole], Any] | None = None) -> Hole | None:
        """The smallest hole that is large enough, or the least by a key; of several the one at the lowest address."""
        return min((hole for hole in self.holes if size(hole) >= nbytes), key=key or size, default=None)

    def largest(self) -> int:
        """Bytes of the largest hole."""
        return max(map(size, self.holes), default=0)


def size(hole: Hole) -> int:
    """Bytes of a hole."""
    return hole[1] - hole[0]


class Heap:
    """One address space from 0 to `capacity`; `fit` says which hole is taken, "first" or "best".

    reserved is the highest address that was ever in use. Sizes are rounded up to a multiple of `unit`.
    """

    def __init__(self, fit: str = "first", capacity: int = UNLIMITED, unit: int = 1):
        if fit not in ("first", "best"):
            raise ValueError(f"a heap takes the first or the best fit, not {fit!r}")
        self.capacity, self.unit, self.reserved = capacity, unit, 0
        self.list, self.used = FreeList([(0, capacity)]), {}
        self.find = self.list.first if fit == "first" else self._best

    def allocate(self, nbytes: int) -> int:
        """The address of nbytes bytes in the first, or the smallest, hole that has them. Raises OutOfMemory."""
        nbytes = round_up(nbytes, self.unit)
        hole = self.find(nbytes)
        if hole is None:
            raise OutOfMemory
        address = self.list.take(hole, nbytes)
        self.used[address] = nbytes
        self.reserved = max(self.reserved, address + nbytes)
        return address

    def _best(self, nbytes: int) -> Hole | None:
        """The smallest hole, but the end of the address space only if nothing else fits."""
        return self.list.best(nbytes, lambda hole: (hole[1] == self.capacity, size(hole)))

    def free(self, address: int) -> None:
        """Take back what lies at this address, and merge it with the holes beside it."""
        self.list.put(address, address + self.used.pop(address))

    def largest(self) -> int:
        """Bytes of the largest hole."""
        return self.list.largest()


class Pages:
    """Memory in pages of one size; a tensor is given pages from anywhere, so an address stands for a list of them."""

    def __init__(self, page: int, capacity: int = UNLIMITED):
        self.page, self.capacity, self.free_pages = page, capacity, capacity // page
        self.reserved, self.used, self._next = 0, {}, 0

    def allocate(self, nbytes: int) -> int:
        """The name of as many pages as nbytes bytes need. Raises OutOfMemory."""
        pages = -(-nbytes // self.page)
        if pages > self.free_pages:
            raise OutOfMemory
        self._next += 1
        self.used[self._next] = pages
        self.free_pages -= pages
        self.reserved += pages * self.page
        return self._next

    def free(self, address: int) -> None:
        """Take the pages back."""
        pages = self.used.pop(address)
        self.free_pages += pages
        self.reserved -= pages * self.page

    def largest(self) -> int:
        """All free pages: they need not lie together."""
        return self.free_pages * self.page


def round_up(nbytes: int, unit: int) -> int:
    """The least multiple of the unit that is at least nbytes."""
    return -(-nbytes // unit) * unit


# A trace through an allocator -----------------------------------------------------------------------------------------


class Event(NamedTuple):
    """Tensor number `tensor` of nbytes bytes is made, or freed; kind: what it is (weights, checkpoints, ...)."""

    made: bool
    tensor: int
    nbytes: int
    kind: str


class Placed(NamedTuple):
    """A tensor in the address space, from event `born` to event `died`."""

    kind: str
    address: int
    nbytes: int
    born: int
    died: int


class Report(NamedTuple):
    """What became of a trace. `failed` is the event that found no place, None if all did; the next four are of then.

    live: bytes of living tensors; reserved: bytes that the allocator has; largest: the largest request that would have
    been granted; peaks: the most of live and reserved until then.
    """

    failed: Event | None
    live: int
    reserved: int
    capacity: int
    largest: int
    peak_live: int
    peak_reserved: int
    placed: tuple[Placed, ...]

    @property
    def fragmentation(self) -> float:
        """1 - live / reserved: the share of what the allocator holds in which no tensor lies."""
        return 1 - self.live / self.reserved if self.reserved else 0.0

    @property
    def free(self) -> int:
        """Bytes in which no tensor lies, of the capacity."""
        return self.capacity - self.live


def replay(trace: Sequence[Event], allocator: Allocator) -> Report:
    """Run a trace through an allocator until it ends, or a request finds no place."""
    address: dict[int, int] = {}
    born: dict[int, int] = {}
    live = peak_live = peak_reserved = 0
    placed, failed = [], None
    for time, event in enumerate(trace):
        if not event.made:
            placed.append(Placed(event.kind, address[event.tensor], event.nbytes, born.pop(event.tensor), time))
            allocator.free(address.pop(event.tensor))
            live -= event.nbytes
            continue
        try:
            address[event.tensor] = allocator.allocate(event.nbytes)
        except OutOfMemory:
            failed = event
            break
        born[event.tensor] = time
        live += event.nbytes
        peak_live, peak_reserved = max(peak_live, live), max(peak_reserved, allocator.reserved)
    of = {event.tensor: event for event in trace if event.made}
    end = len(trace) if failed is None else trace.index(failed)
    placed += [Placed(of[tensor].kind, address[tensor], of[tensor].nbytes, time, end) for tensor, time in born.items()]
    reserved, capacity, largest = allocator.reserved, allocator.capacity, allocator.largest()
    return Report(failed, live, reserved, capacity, largest, peak_live, peak_reserved, tuple(placed))


def least_capacity(trace: Sequence[Event], make: Callable[[int], Allocator], step: int = 1) -> int:
    """The least multiple of `step` bytes from which on an allocator of this capacity grants all requests of a trace.

    make: capacity -> allocator. By halving, so it supposes that more memory never hurts; for first fit that is so.
    Raises ValueError if no capacity will do.
    """
    low, high = 0, max(1, -(-replay(trace, make(UNLIMITED)).peak_reserved // step))
    if replay(trace, make(high * step)).failed:
        raise ValueError("not even the capacity that is enough without a limit will do")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if replay(trace, make(middle * step)).failed else (low, middle)
    return high * step

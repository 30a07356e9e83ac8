"""Re-sharding on recovery: which elements of a sharded state move where when the number of ranks changes.

Idea      Shards are ranges of one vector. Who has what is a partition before, and another one after; what must move is
          the overlap of each old range with each new one. A dead rank's range is held by whoever has its copy.

              10 elements, 4 ranks -> 3, rank 1 died, rank 2 has its copy
              before  0: 0-2   [1: 3-5, with 2]   2: 6-7   3: 8-9
              after   0: 0-3        1: 4-6             2: 7-9           new numbers: 2 -> 1, 3 -> 2
              moves   3 from 1 to 0, 4-5 and 6 stay with 1, 7 from 1 to 2, 8-9 stay with 2
Exact     Only shards of one kind can be cut anew like this, such as those of an optimizer's state. A part of a
          tensor-parallel layer is of use to a rank with the same place in its copy, and to no other.
"""

from __future__ import annotations

from typing import NamedTuple


def owners(n: int, ranks: int) -> list[range]:
    """Which of n elements each rank owns: contiguous, in order, the first n % ranks ranks one more."""
    least, more = divmod(n, ranks)
    starts = [rank * least + min(rank, more) for rank in range(ranks + 1)]
    return [range(starts[rank], starts[rank + 1]) for rank in range(ranks)]


class Haul(NamedTuple):
    """Elements `start` to `stop` that one rank sends and another one needs."""

    source: int
    dest: int
    start: int
    stop: int


def hauls(held: list[tuple[int, range]], wanted: list[range]) -> list[Haul]:
    """What must move so that each rank has what it wants, taken from who holds it: overlaps of ranges.

    held: (rank, elements) that cover all elements once; wanted: the elements of each rank. A haul from a rank to
    itself is a copy. Raises ValueError if nobody holds what is wanted.
    """
    moves = [
        Haul(source, dest, max(has.start, need.start), min(has.stop, need.stop))
        for dest, need in enumerate(wanted)
        for source, has in held
        if max(has.start, need.start) < min(has.stop, need.stop)
    ]
    if sum(move.stop - move.start for move in moves) != sum(map(len, wanted)):
        raise ValueError(f"elements {wanted} are wanted, and {held} do not hold each of them once")
    return moves

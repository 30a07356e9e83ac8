"""Check results that are copies of other ranks' data, and tell whose piece stands where.

An allgather, a broadcast, an all-to-all, a shift: each rank holds pieces, and each result consists of certain pieces
of certain ranks. The inputs are random, so a piece in the wrong place shows where it comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .exercise import Answer, Case, Check, Finding
from .numbers import DIGITS
from .values import unlike


class Piece(NamedTuple):
    """Piece `number` of what rank `rank` holds before the call."""

    rank: int
    number: int = 0


class Seen(NamedTuple):
    """What stands on a rank in the place of `want`; `there` is what stands in all its places, None for no piece."""

    case: Case
    answer: Answer
    rank: int
    want: Piece
    found: Piece | None
    there: list[Piece | None]


Slip = tuple[Callable[[Seen], bool], str]  # (whether it is this one, the hint)

NOTHING = (
    "Has anything arrived in that place, or is the memory as np.empty or np.zeros made it? Did the sender have the "
    "numbers itself when it sent them? Or was something added to them?"
)
PARTLY = "Some elements are right. Does a message carry all of it? Does something that arrives later overwrite a part?"
OWN = "That is the place of what the rank has itself. Is it written there, and does nothing that arrives overwrite it?"


def copies(
    places: Callable[[Case, int], Sequence[Piece]],
    name: str,
    slips: Sequence[Slip],
    otherwise: str,
    pieces: Callable[[np.ndarray], list[np.ndarray]] = lambda held: [held],
    result: Callable[[Answer, int], np.ndarray] = lambda answer, rank: answer.results[rank],
    nothing: Callable[[Seen], str] = lambda seen: "",
) -> Check:
    """The result of a rank holds the pieces places(case, rank), one after the other.

    name       what a piece is called, such as "the block of rank {rank}", or "row {number} of rank {rank}"
    slips      (predicate, hint) of known mistakes; predicate(seen) looks at the first piece that is wrong
    otherwise  the hint if another piece than the right one was found, and no slip fits
    pieces     cuts what a rank holds (the function's first argument) into pieces
    result     where a rank's result is; the returned array unless told
    nothing    the hint where no piece of anybody's stands (seen.found is None), or "" for the usual ones
    """

    def check(case: Case, answer: Answer) -> Finding | None:
        held = {
            Piece(rank, number): piece
            for rank, arguments in enumerate(case.arguments)
            for number, piece in enumerate(pieces(arguments[0]))
        }
        for rank in range(case.ranks):
            wanted = list(places(case, rank))
            ends = np.cumsum([held[want].size for want in wanted], dtype=int)
            whole = result(answer, rank)
            whole = whole.ravel() if isinstance(whole, np.ndarray) else whole
            if finding := unlike(rank, whole, (int(sum(held[want].size for want in wanted)),), held[Piece(0)].dtype):
                return finding
            for want, got in zip(wanted, stands := np.split(whole, ends[:-1])):
                if not np.array_equal(got, held[want]):
                    there = [_recognised(each, held) for each in stands]
                    return misplaced(Seen(case, answer, rank, want, _recognised(got, held), there), got, held[want])
        return None

    def misplaced(seen: Seen, got: np.ndarray, right: np.ndarray) -> Finding:
        belongs = f"where {name.format(**seen.want._asdict())} belongs."
        if seen.found is not None:
            hints = (hint for fits, hint in slips if fits(seen))
            what = f"{name.format(**seen.found._asdict())}"
            return Finding(f"rank {seen.rank} has {what} {belongs}", next(hints, otherwise))
        if right.any() and np.allclose(got, right, rtol=1e-2, atol=0):
            return Finding(f"rank {seen.rank} has nearly the same numbers {belongs}", DIGITS)
        if same := np.count_nonzero(got == right):
            return Finding(f"rank {seen.rank} has {same} of {got.size} elements right {belongs}", PARTLY)
        what = "nothing but zeros" if not got.any() else f"numbers that no rank holds ({got[0]:.6g}, ...)"
        hint = nothing(seen) or (OWN if seen.want.rank == seen.rank else NOTHING)
        return Finding(f"rank {seen.rank} has {what} {belongs}", hint)

    return check


def _recognised(got: np.ndarray, held: dict[Piece, np.ndarray]) -> Piece | None:
    """The piece that these elements are, if they are one."""
    return next((piece for piece, elements in held.items() if got.size and np.array_equal(elements, got)), None)

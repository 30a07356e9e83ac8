"""Check results that are copies of other ranks' data, and tell whose piece stands where.

An allgather, a broadcast, an all-to-all, a shift: each rank holds pieces, and each result consists of certain pieces
of certain ranks. The inputs are random, so a piece in the wrong place shows where it comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .exercise import Answer, Case, Check, Finding


class Piece(NamedTuple):
    """Piece `number` of what rank `rank` holds before the call."""

    rank: int
    number: int = 0


Slip = tuple[Callable[[Case, int, Piece, Piece], bool], str]  # (whether it is this one, the hint)

NOTHING = (
    "Nothing has arrived in that place: the memory is as np.empty or np.zeros made it, or it was sent to you before "
    "the sender had the numbers itself."
)


def copies(
    places: Callable[[Case, int], Sequence[Piece]],
    name: str,
    slips: Sequence[Slip],
    otherwise: str,
    pieces: Callable[[np.ndarray], list[np.ndarray]] = lambda held: [held],
    result: Callable[[Answer, int], np.ndarray] = lambda answer, rank: answer.results[rank],
) -> Check:
    """The result of a rank holds the pieces places(case, rank), one after the other.

    name       what a piece is called, such as "block of rank {rank}", or "row {number} of rank {rank}"
    slips      (predicate, hint) of known mistakes; predicate(case, rank, want, found) looks at the Piece that should
               be in a place on that rank, and the one found there
    otherwise  the hint if another piece than the right one was found, and no slip fits
    pieces     cuts what a rank holds (the function's first argument) into pieces
    result     where a rank's result is; the returned array unless told
    """

    def check(case: Case, answer: Answer) -> Finding | None:
        held = {
            Piece(rank, number): piece
            for rank, arguments in enumerate(case.arguments)
            for number, piece in enumerate(pieces(arguments[0]))
        }
        for rank in range(case.ranks):
            end, got = 0, result(answer, rank).ravel()
            for want in places(case, rank):
                begin, end = end, end + held[want].size
                if not np.array_equal(got[begin:end], held[want]):
                    return _wrong(case, rank, want, got[begin:end], held)
        return None

    def _wrong(case: Case, rank: int, want: Piece, got: np.ndarray, held: dict[Piece, np.ndarray]) -> Finding:
        belongs = f"where the {name.format(**want._asdict())} belongs."
        found = [piece for piece, elements in held.items() if np.array_equal(elements, got)]
        if found:
            hints = (hint for fits, hint in slips if fits(case, rank, want, found[0]))
            return Finding(f"rank {rank} has the {name.format(**found[0]._asdict())} {belongs}", next(hints, otherwise))
        strange = "nothing but zeros" if not got.any() else f"numbers that no rank holds ({got[0]:.6g}, ...)"
        return Finding(f"rank {rank} has {strange} {belongs}", NOTHING)

    return check

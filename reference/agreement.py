"""Agreement: a call that must fail on one rank fails on all of them, so that none waits for one that has left.

Idea      A rank that raises leaves the others in the next message, for ever. So before the first one the ranks exchange
          what is wrong, if anything, and a fingerprint of what must be alike; then all raise the same error, or none.
Sends     One all-gather of a fingerprint of 64 letters. The lines themselves travel only if they differ.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence


def agree(
    comm, what: str = "", lines: Iterable[object] = (), error: str = "", raises: type[Exception] = ValueError
) -> None:
    """Raise the same error on every rank if one has an `error`, or unless `lines` are alike on all of them.

    what    what must be alike, in words: "the modules"
    lines   what this rank says about it (their text counts); the message shows the first one that differs
    error   what is wrong on this rank; "" if nothing is
    raises  what to raise
    Collective.
    """
    mine = [str(line) for line in lines]
    fingerprint = hashlib.sha256(repr(mine).encode()).hexdigest()  # hash() differs from process to process
    heard = comm.allgather((error, fingerprint))
    errors = {text: rank for rank, (text, _) in reversed(list(enumerate(heard))) if text}  # each once, first rank
    if errors:
        raise raises("; ".join(f"{text} [rank {rank}]" if rank else text for text, rank in errors.items()))
    differ = [rank for rank, (_, theirs) in enumerate(heard) if theirs != heard[0][1]]
    if differ:
        where = _where(comm, mine, differ[0])
        raise raises(f"{what} must be alike on all ranks, but differ on rank(s) {differ}: {where}")


def _where(comm, mine: Sequence[str], other: int) -> str:
    """The first line in which rank `other` differs from rank 0. Collective."""
    theirs = comm.bcast(mine, root=0)
    place = next((i for i, (a, b) in enumerate(zip(mine, theirs)) if a != b), min(len(mine), len(theirs)))
    place, found = comm.bcast((place, _line(mine, place)), root=other)
    return f"rank {other} has {found} where rank 0 has {_line(theirs, place)}"


def _line(lines: Sequence[str], place: int) -> str:
    return f"'{lines[place]}'" if place < len(lines) else "nothing more"

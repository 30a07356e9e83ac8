"""Ready-made checks. A check looks at a case and an answer, and says what is wrong, if anything is.

Here are those of how an answer works: its calls, messages, bytes and time. Those of what it returns are in values.py
and numbers.py, and belong to this module's names, too. Checks run in the grader's process, on plain data that came from
the child, so nothing that a student's code patches reaches them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from .exercise import Answer, Case, Check, Finding
from .numbers import DIGITS, FEW_DIGITS, Close, Number, count, listed
from .values import (
    SHAPE,
    arrays,
    kept,
    new_array,
    own_memory,
    same_bits,
    unchanged,
)

__all__ = [
    "DIGITS",
    "FEW_DIGITS",
    "SHAPE",
    "Close",
    "arrays",
    "bytes_sent",
    "bytes_together",
    "count",
    "kept",
    "kind",
    "listed",
    "messages",
    "new_array",
    "no_later_than",
    "Number",
    "own_memory",
    "point_to_point",
    "received",
    "receivers",
    "same_bits",
    "unchanged",
]

IN_PIECES = (
    "The bytes are right, in more messages than are needed. Each costs a latency: what goes to a rank in one step can "
    "go in one message, however long it is."
)
PerRank = Callable[[Case, int], int]


def point_to_point(case: Case, answer: Answer) -> Finding | None:
    """Only upper-case point-to-point calls."""
    for rank, calls in enumerate(answer.calls):
        for name in calls:
            what = kind(name)
            if name.lower().endswith("barrier"):
                return Finding(
                    f"rank {rank} called comm.{name}.",
                    "It moves no data, and does not help: whatever must come first, the message itself is there to be "
                    "waited for.",
                )
            if what == "collective":
                return Finding(
                    f"rank {rank} called comm.{name}.",
                    f"{name} does the whole job inside the library; here you build it yourself, from messages between "
                    "two ranks (Sendrecv, or Isend with Irecv).",
                )
            if what == "object":
                return Finding(
                    f"rank {rank} called comm.{name}, with a small letter.",
                    f"comm.{name} pickles its object: more bytes, and copies. The call with a capital letter sends the "
                    "memory of the array as it is.",
                )
    return None


def receivers(neighbour: PerRank, name: str) -> Check:
    """Every rank sends to one neighbour only."""

    def check(case: Case, answer: Answer) -> Finding | None:
        partners = [{to for to, _ in sent} for sent in answer.sent]
        for rank, sent_to in enumerate(partners):
            strangers = sorted(sent_to - {neighbour(case, rank)})
            if strangers:
                to = ", ".join(map(str, strangers))
                seen = f"rank {rank} sent to rank {to}; its {name} is {neighbour(case, rank)}."
                return Finding(seen, _stranger_hint(case.ranks, partners, name))
        return None

    return check


def _stranger_hint(P: int, partners: Sequence[set[int]], name: str) -> str:
    """Recognise the usual other patterns."""
    hubs = [hub for hub in range(P) if all(partners[rank] <= {hub} for rank in range(P) if rank != hub)]
    if hubs and P == 3:  # every tree on three ranks looks like this
        return (
            f"Everything passes through rank {hubs[0]} here, and the link between the other two is idle. In a ring "
            f"each rank sends to its {name} only, in every step: then all links work."
        )
    if hubs and P > 3:
        return (
            f"Everything passes through rank {hubs[0]}: it receives {P - 1} messages while the other links are idle, "
            "and that gets worse with every rank. In the ring all links work in every step."
        )
    if all(len(to) == P - 1 for to in partners):
        return (
            "Every rank sends straight to every other. That moves the same bytes, over links that a ring does not "
            "have. Let each block travel around, from neighbour to neighbour."
        )
    if all(to == {(rank - 1) % P} for rank, to in enumerate(partners)):
        return f"Your ring turns the other way round. Send to the {name}, receive from the other side."
    return f"In a ring each rank sends to its {name} only, in every step."


def messages(
    expected: PerRank, what: str, hint: Callable[[Case, int, int], str], nbytes: PerRank | None = None
) -> Check:
    """Every rank sends expected(case, rank) messages; `what` names who does ("the ring"); hint(case, sent, want).

    nbytes(case, rank): who sends just so many bytes, in more messages, has cut them up, and is told so.
    """

    def check(case: Case, answer: Answer) -> Finding | None:
        for rank, messages in enumerate(answer.sent):
            sent, want = len(messages), expected(case, rank)
            if sent != want:
                seen = f"rank {rank} sent {count(sent, 'message')}, {what} sends {want:,}."
                cut = nbytes is not None and sent > want and in_pieces(messages, nbytes(case, rank))
                return Finding(seen, IN_PIECES if cut else hint(case, sent, want))
        return None

    return check


def in_pieces(messages: Sequence[tuple[int, int]], nbytes: int) -> bool:
    """Whether messages have just so many bytes together, and none is empty."""
    return all(size for _, size in messages) and sum(size for _, size in messages) == nbytes > 0


def received(expected: PerRank, what: str, hint: str, nbytes: PerRank | None = None) -> Check:
    """Every rank receives expected(case, rank) messages; `what` names in which way ("in a tree it receives").

    nbytes(case, rank): to whom just so many bytes came, in more messages, has got them cut up, and is told so.
    """

    def check(case: Case, answer: Answer) -> Finding | None:
        for rank in range(case.ranks):
            want, came = expected(case, rank), [(to, size) for sent in answer.sent for to, size in sent if to == rank]
            if len(came) != want:
                seen = f"rank {rank} received {count(len(came), 'message')}, {what} {want:,}."
                cut = nbytes is not None and len(came) > want and in_pieces(came, nbytes(case, rank))
                return Finding(seen, IN_PIECES if cut else hint)
        return None

    return check


def bytes_sent(expected: PerRank, what: str, slips: Sequence[tuple[PerRank, str]], otherwise: str) -> Check:
    """Every rank sends expected(case, rank) bytes; a slip is a (number of bytes, hint) of a known mistake."""

    def check(case: Case, answer: Answer) -> Finding | None:
        for rank, sent in enumerate(sum(nbytes for _, nbytes in messages) for messages in answer.sent):
            want = expected(case, rank)
            if sent != want:
                hints = (hint for slip, hint in slips if slip(case, rank) == sent)
                seen = f"rank {rank} sent {count(sent, 'byte')}, {what} sends {want:,}."
                return Finding(seen, next(hints, otherwise))
        return None

    return check


def bytes_together(
    expected: Callable[[Case], int], what: str, slips: Sequence[tuple[Callable[[Case], int], str]], otherwise: str
) -> Check:
    """All ranks together send expected(case) bytes; a slip is a (number of bytes, hint) of a known mistake."""

    def check(case: Case, answer: Answer) -> Finding | None:
        sent, want = sum(nbytes for messages in answer.sent for _, nbytes in messages), expected(case)
        if sent == want:
            return None
        hints = (hint for slip, hint in slips if slip(case) == sent)
        return Finding(f"all ranks together sent {count(sent, 'byte')}, {what} {want:,}.", next(hints, otherwise))

    return check


def no_later_than(limit: Callable[[Case], float], what: str, hint: str | Callable[[Case, Answer], str]) -> Check:
    """The last rank is through after limit(case) seconds of the virtual clock; real ranks are not timed."""

    def check(case: Case, answer: Answer) -> Finding | None:
        allowed = limit(case)
        if answer.seconds is None or answer.seconds <= allowed * (1 + Close):
            return None
        took, allowed = (f"{seconds * 1e6:.3f} us" for seconds in (answer.seconds, allowed))
        seen = f"it took {took} on the virtual cluster, {what} takes {allowed}."
        return Finding(seen, hint(case, answer) if callable(hint) else hint)

    return check


@functools.cache
def kind(call: str) -> str:
    """Whether a name of the API is a "collective", an "object" call, another "message" between two, or "other"."""
    from reference import mpi  # here: collecting the exercises should not wait for it

    collectives = mpi.API["collectives"].split()
    if call in (*collectives, *map(str.lower, collectives), *mpi.API["nonblocking collectives"].split()):
        return "collective"
    if call in mpi.API["objects"].split():
        return "object"
    return "message" if call in mpi.API["point to point"].split() else "other"

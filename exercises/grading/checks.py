"""Ready-made checks. A check looks at a case and an answer, and says what is wrong, if anything is.

Checks run in the grader's process, on data that came from the child, so nothing that a student's code patches
reaches them.
"""

from __future__ import annotations

import functools
import math
import sys
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from .exercise import Answer, Case, Check, Finding

PerRank = Callable[[Case, int], int]
Close = 1e-9  # relative: far above rounding, far below any mistake
SHAPE = "Compare with the docstring: which elements belong there, and how many are they?"


def arrays(
    shape: Callable[[Case, int], tuple[int, ...]],
    dtype: type = np.float64,
    hint: Callable[[Case, Answer, int], str] | None = None,
) -> Check:
    """Every rank returns an array of this shape and dtype; hint(case, answer, rank) is for a wrong shape."""

    def check(case: Case, answer: Answer) -> Finding | None:
        for rank, got in enumerate(answer.results):
            want = shape(case, rank)
            if got is None:
                return Finding(
                    f"rank {rank} returned None.",
                    "A function that ends without `return` gives None: return the result.",
                )
            if not isinstance(got, np.ndarray):
                return Finding(
                    f"rank {rank} returned {_short(got)}.", f"It should return one NumPy array of shape {want}."
                )
            if got.dtype != dtype:
                return Finding(
                    f"rank {rank} returned an array of {got.dtype}, not of {np.dtype(dtype)}.",
                    "Somewhere an array is made with another element type than x has: look at np.empty, np.zeros, "
                    "astype.",
                )
            if got.shape != want:
                return Finding(
                    f"rank {rank} returned an array of shape {got.shape}; it should have shape {want}.",
                    hint(case, answer, rank) if hint else SHAPE,
                )
        return None

    return check


def kept(name: str) -> Check:
    """The arguments are the same after the call.

    name    what the array, or the list of arrays, is called; where there are several arguments, a word for each
    """

    def check(case: Case, answer: Answer) -> Finding | None:
        for rank, (before, after) in enumerate(zip(case.arguments, answer.arguments)):
            for (place, was), (_, now) in zip(_arrays_in(name, before), _arrays_in(name, after)):
                if not np.array_equal(was, now):
                    where = np.flatnonzero(np.ravel(was != now))
                    on = f" on rank {rank}" * (case.ranks > 1)
                    its = place.split("[")[0]
                    return Finding(
                        f"{place}{on} was changed: {where.size} of its {was.size} elements, the first at {where[0]}.",
                        f"The caller still needs its {its}: work on a copy. (Slices of an array, so also what "
                        f"np.array_split returns, are views: who writes into one writes into {its}.)",
                    )
        return None

    return check


def own_memory(name: str) -> Check:
    """The result is no view of an argument; `name` is what the argument is called."""

    def check(case: Case, answer: Answer) -> Finding | None:
        for rank, aliased in enumerate(answer.aliased):
            if aliased:
                return Finding(
                    f"what rank {rank} returned is a view of {name}.",
                    f"Who writes into the result later changes {name}, too. Return memory of its own (.copy()), also "
                    "for one rank.",
                )
        return None

    return check


unchanged, new_array = kept("x"), own_memory("x")


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


def messages(expected: PerRank, what: str, hint: Callable[[Case, int, int], str]) -> Check:
    """Every rank sends expected(case, rank) messages; `what` names who does ("the ring"); hint(case, sent, want)."""

    def check(case: Case, answer: Answer) -> Finding | None:
        for rank, sent in enumerate(map(len, answer.sent)):
            want = expected(case, rank)
            if sent != want:
                seen = f"rank {rank} sent {count(sent, 'message')}, {what} sends {want:,}."
                return Finding(seen, hint(case, sent, want))
        return None

    return check


def received(expected: PerRank, what: str, hint: str) -> Check:
    """Every rank receives expected(case, rank) messages; `what` names in which way ("in a tree it receives")."""

    def check(case: Case, answer: Answer) -> Finding | None:
        came = Counter(to for sent in answer.sent for to, _ in sent)
        for rank in range(case.ranks):
            want = expected(case, rank)
            if came[rank] != want:
                return Finding(f"rank {rank} received {count(came[rank], 'message')}, {what} {want:,}.", hint)
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


def same_bits(case: Case, answer: Answer) -> Finding | None:
    """All ranks return the same array, to the last bit."""
    first = answer.results[0]
    for rank, got in enumerate(answer.results):
        if got.tobytes() != first.tobytes():
            where = np.flatnonzero(got != first)[0]
            return Finding(
                f"ranks 0 and {rank} differ in element {where}: {float(first[where])!r} and {float(got[where])!r}.",
                "Floating-point sums depend on the order of adding, and replicas that differ by a bit drift apart. Let "
                "every rank add the same pairs: a + b and b + a are equal, (a + b) + c and a + (b + c) are not.",
            )
    return None


def number(
    expected: Callable[..., float], slips: Sequence[tuple[Callable[..., float], str]], otherwise: str, unit: str = ""
) -> Check:
    """The function returns the number expected(*arguments); a slip is a (formula, hint) of a known mistake."""

    def check(case: Case, answer: Answer) -> Finding | None:
        (arguments,), (got,) = case.arguments, answer.results
        if got is None:
            return Finding("it returned None.", "A function that ends without `return` gives None: return the result.")
        want = expected(*arguments)
        got = math.inf if isinstance(got, int) and abs(got) > sys.float_info.max else got
        if isinstance(got, bool) or not isinstance(got, int | float):
            return Finding(f"it returned {_short(got)}.", f"Return one number{f', in {unit}' * bool(unit)}.")
        if _equal(got, want):
            return None
        hints = (hint for formula, hint in slips if _slipped(got, formula, arguments))
        ratio = f", {got / want:.4g} times what is right" if want and math.isfinite(got) else ""
        return Finding(f"it returned {got:.6g}{f' {unit}' * bool(unit)}{ratio}.", next(hints, otherwise))

    return check


def _slipped(got: float, formula: Callable[..., float], arguments: tuple) -> bool:
    """Whether a known mistake gives `got`; it may have no result for these arguments."""
    try:
        return _equal(got, formula(*arguments))
    except ArithmeticError:
        return False


def _equal(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=Close)


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


def _arrays_in(name: str, arguments: tuple) -> list[tuple[str, np.ndarray]]:
    """The (name, array) of the arrays among a call's arguments, and in lists among them. name: as in `kept`."""
    named = [*zip(name.split(), arguments)] if " " in name else [(name, value) for value in arguments]
    found = [(name, value) for name, value in named if isinstance(value, np.ndarray)]
    for name, value in named:
        if isinstance(value, list):
            found += [(f"{name}[{i}]", item) for i, item in enumerate(value) if isinstance(item, np.ndarray)]
    return found


def _short(value) -> str:
    text = repr(value)
    return f"a {type(value).__name__}: {text[:60]}{'...' * (len(text) > 60)}"


def count(number: int, noun: str) -> str:
    """A number of things in words: "1 message", "2,000 bytes"; NumPy's numbers will do, too."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

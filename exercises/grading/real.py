"""Real ranks for --mpi, in a process of their own that lives from exercise to exercise.

What real ranks return is unpickled, and unpickling runs code: an exception of the student's with a `__reduce__`, for
one. So the process that owns the job of ranks is not the grader's. It is a child with a keeper (keeper.py), and sends
plain data as records (records.py), like the child of a virtual run. Orders go the other way, pickled, one for
each case.

Before each case that process lets the ranks say hello. If they do not, MPI has failed and not the student: the Ending
is "no mpi".
"""

from __future__ import annotations

import atexit
import os
import pickle
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from reference.perf.pace import pace

from . import endings, records
from .exercise import Case
from .keeper import UNWATCHED, Kept
from .sandbox import Ending, Limits, Printed, as_a_child, told

START = 130.0  # seconds in which ranks start and import what they need, at worst; those of the limits come after
PEACE = 5.0  # seconds for the job of ranks to end by itself


class RealRanks:
    """Our side of the process that owns the job of ranks. It starts with the first order."""

    def __init__(self):
        self.kept: Kept | None = None

    def play(self, path: str, name: str, cases: list[Case], limits: Limits) -> Iterator[tuple[Any, str]]:
        """What sandbox.run yields, from real ranks. After junk or silence the next order gets a new process."""
        for case in cases:
            record, printed = self._order((path, name, case, limits.wall), START * pace() + limits.wall)
            if not isinstance(record, records.Record) or record.kind != "item":
                yield (told(record, limits) if isinstance(record, records.Record) else record), printed
                return
            yield record.value, printed
        yield Ending("done"), ""

    def _order(self, order: tuple, patience: float) -> tuple[records.Record | Ending, str]:
        """The record that answers an order, or how it went without one; and what was printed."""
        if self.kept is None:
            self._start()
        output, ending = Printed(self.printed), None
        output.next()  # that was for others
        try:
            records.write(self.orders, pickle.dumps(order))
            for record in records.receive(self.answers, time.monotonic() + patience, 1):
                return record, output.next()
        except records.Forged:
            ending = Ending("forged")
        except BrokenPipeError:
            pass
        text, how = output.next(), self.close()
        return ending or Ending(*(how if how != UNWATCHED else ("wall", None))), text

    def _start(self) -> None:
        orders, self.orders = os.pipe()
        self.answers, answers = os.pipe()
        self.printed = tempfile.TemporaryFile()  # noqa: SIM115  closed by close()
        printed = self.printed.fileno()
        self.kept = Kept(lambda: _serve(orders, answers, printed), [orders, answers, printed])
        os.close(orders)
        os.close(answers)

    def close(self) -> tuple[str, int | None]:
        """End the process and its ranks, if they are there; how it ended, UNWATCHED if it had to be made to."""
        kept, self.kept = self.kept, None
        if kept is None:
            return UNWATCHED
        os.close(self.orders)
        how = kept.how(PEACE * pace())
        kept.end()
        os.close(self.answers)
        self.printed.close()
        return how

    def forget(self) -> None:
        """In a forked child: the process is its parent's."""
        self.kept = None


RANKS = RealRanks()
play, close = RANKS.play, RANKS.close
atexit.register(close)
os.register_at_fork(after_in_child=RANKS.forget)


def _serve(orders: int, answers: int, printed: int) -> None:
    """The life of the process that owns the ranks, until there are no more orders."""
    from reference.worlds.real.holder import close_job

    as_a_child(printed)
    with os.fdopen(orders, "rb") as file:
        while True:
            try:
                order = pickle.load(file)
            except EOFError:
                close_job()
                return
            kind, value = _carry_out(*order)
            records.write(answers, _packed(kind, value, os.fstat(printed).st_size))


def _carry_out(path: str, name: str, case: Case, timeout: float) -> tuple[str, Any]:
    """Play one case: the kind and the value of the record that tells of it."""
    from reference.worlds import launch

    from . import play

    try:
        launch(_hello, case.ranks, world="mpi", timeout=timeout)
    except Exception as error:
        return "no mpi", endings.describe(error, path)
    try:
        return "item", play.play(path, name, case, "mpi", timeout)
    except BaseException as error:  # unpickling has run what it likes
        return "raised", endings.describe(error, path)


def _packed(kind: str, value: Any, printed: int) -> bytes:
    try:
        return records.pack(kind, value, printed)
    except records.AnswerTooLong as error:
        return records.pack("raised", endings.describe(error, ""), printed)


def _hello(comm) -> None:
    comm.Barrier()

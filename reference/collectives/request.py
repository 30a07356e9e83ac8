"""A collective under way, as a request: its rounds advance when the program tests it or waits for it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from .. import mpi


class RoundsRequest:
    """A collective under way: `Test()` advances it as far as it goes, `Wait()` to its end; then `result` is there.

    Most MPI libraries move data inside MPI calls only: call `Test` now and then while you compute, or nothing overlaps.
    `Wait` advances this collective alone: ranks with several under way wait for them in the same order, or with
    mpi.waitall, which advances all of them.
    """

    made_of_messages = True  # to mpi.waitall, which advances such requests before it waits for single messages

    def __init__(self, driver: Iterator[list]):
        self._driver, self.result = driver, None
        self._requests: Any  # of the round that is under way; None at the end
        self._error: Exception | None = None  # what went wrong is told again whenever the request is used
        self._active = True  # until the program has learned that it is complete
        self._advance()

    def _advance(self) -> None:
        try:
            self._requests = next(self._driver)
        except StopIteration as end:
            self._requests, self.result = None, end.value
        except Exception as error:
            self._error = error
            raise

    def Test(self) -> bool:
        """Post every round that is due; True once the collective is complete."""
        self._check()
        while self._requests is not None and self._round_done():
            self._advance()
        self._active = self._requests is not None
        return not self._active

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    def _round_done(self) -> bool:
        done = [request.Test() for request in self._requests]  # test each: real MPI moves on only what is tested
        return all(done)

    def Wait(self, status=None) -> None:
        """Carry out what is left. A collective has no status to tell."""
        self._check()
        while self._requests is not None:
            mpi.waitall(self._requests)
            self._advance()
        self._active = False

    @staticmethod
    def Waitall(requests: Sequence[RoundsRequest], statuses=None) -> None:
        """Advance all of them, each as its messages come; what mpi.waitall calls."""
        while under_way := [request for request in requests if request._requests is not None]:
            if len(under_way) == 1:
                under_way[0].Wait()
                break
            messages = [(owner, message) for owner in under_way for message in owner._requests]
            number = mpi.waitany([message for _, message in messages])
            for owner in under_way if number == mpi.UNDEFINED else [messages[number][0]]:
                owner.Test()
        for request in requests:
            request._active = False

    @staticmethod
    def Waitany(requests: Sequence[RoundsRequest], status=None) -> int:
        """Advance all in turn until one is complete, and return its index; what mpi.waitany calls.

        Those that the program knows to be complete are passed over; UNDEFINED if it knows that of all.
        """
        active = [(number, request) for number, request in enumerate(requests) if request._active]
        while active:
            for number, request in active:
                if request.Test():
                    return number
            time.sleep(0)  # on real ranks others may be waiting for this core
        return mpi.UNDEFINED

"""How a launch ends badly, and the roll call that says where every rank was when it did."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class RankStatus:
    """One line of a roll call: what one rank was doing when the launch ended.

    `state` is running, waiting, finished or failed, killed or hung (by a fault), or stopped (a real rank, by a
    signal); `call` the MPI call it is in, arguments included; `group` the communicator's name; `where` the "file:line"
    of the program that made the call.
    """

    rank: int
    state: str
    call: str = ""
    group: str = ""
    where: str = ""

    def __str__(self) -> str:
        parts = [f"rank {self.rank:>3}  {self.state:<8}"]
        if self.call:
            parts.append(self.call)
        if self.group:
            parts.append(f"in group {self.group!r}")
        if self.where:
            parts.append(f"at {self.where}")
        return "  ".join(parts).rstrip()


class LaunchError(RuntimeError):
    """A launch that did not end with a result from every rank.

    `cause` is one sentence on the likely mistake, `roll_call` one RankStatus a rank, `details` what else is known
    (tracebacks, Python stacks). The message holds all three.
    """

    def __init__(self, cause: str, roll_call: Iterable[RankStatus] = (), details: str = ""):
        self.cause, self.roll_call, self.details = cause, tuple(roll_call), details
        lines = [cause, *("  " + str(status) for status in self.roll_call)]
        super().__init__("\n".join(lines + [details] if details else lines))


class Deadlock(LaunchError):
    """No rank can go on: each waits for another, for a finished one, or polls for what nobody will send."""


class CollectiveMismatch(LaunchError):
    """The ranks of one group made different collective calls, or the same one with different arguments."""


class TypeMismatch(LaunchError):
    """A message was received as another type of element than it was sent."""


class Truncation(LaunchError):
    """A message is longer than the buffer that was posted for it."""


class UnreceivedMessages(LaunchError):
    """The program ended, but some messages were never received, or some receives never got a message."""


class RequestsLeft(LaunchError):
    """The program ended without having waited for all of its requests, or ended all of its epochs of windows."""


class BufferChanged(LaunchError):
    """The program changed a buffer while a request was still using it."""


class RankFailed(LaunchError):
    """The program raised on some ranks. `errors` maps each such rank to its exception."""

    def __init__(self, cause, roll_call=(), details="", errors: dict[int, BaseException] | None = None):
        super().__init__(cause, roll_call, details)
        self.errors = errors or {}


class ProgramAborted(LaunchError):
    """A rank has called Abort."""


class TimedOut(LaunchError):
    """The launch took longer of real time than it was given; `details` holds the ranks' Python stacks."""


class RankDied(LaunchError):
    """The process of a rank ended without an answer (os._exit, a signal, the machine's memory ran out)."""

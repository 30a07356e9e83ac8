"""What Raft's servers and clients say to each other, what a server must never forget, and how long it waits.

All of it is immutable, so that a message which arrives twice or late is the message that was sent.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple


class LogEntry(NamedTuple):
    """An entry of the replicated log.

    command  what the state machine is to do; None for an entry that does nothing, with which a leader begins its term
    client, serial  who asked, and the number of the request: one that is asked again is carried out once
    members  the servers of the cluster from this entry on, if the entry changes them
    """

    term: int
    command: Hashable = None
    client: str = ""
    serial: int = 0
    members: tuple[str, ...] | None = None


class LogSnapshot(NamedTuple):
    """The state after entry `index`, whose term was `term`: it stands for the log up to there.

    Index 0 is before the first entry. The snapshot there says who the first members are.
    """

    index: int  # type: ignore[assignment]  # a tuple has a method of this name, which nobody needs here
    term: int
    members: tuple[str, ...]
    state: Hashable


class Durable(NamedTuple):
    """What survives a crash. It is on the disk, flushed, before a message that depends on it leaves the server."""

    term: int
    vote: str | None
    snapshot: LogSnapshot
    entries: tuple[LogEntry, ...] = ()


class RequestVote(NamedTuple):
    """A candidate of `term` asks for a vote; its log ends at `last_index` with an entry of `last_term`."""

    term: int
    last_index: int
    last_term: int


class Vote(NamedTuple):
    """The answer to a candidate."""

    term: int
    granted: bool


class AppendEntries(NamedTuple):
    """The leader of `term` says what follows entry `previous`; without entries it is a heartbeat.

    commit  the last entry that the leader knows to be committed
    """

    term: int
    previous: int
    previous_term: int | None
    entries: tuple[LogEntry, ...]
    commit: int


class InstallSnapshot(NamedTuple):
    """The leader sends its snapshot, because the entries that the follower needs are gone."""

    term: int
    snapshot: LogSnapshot


class Appended(NamedTuple):
    """The answer to AppendEntries and InstallSnapshot.

    index  with success, the follower's log is the leader's up to here; otherwise, they may agree up to here, not beyond
    """

    term: int
    success: bool
    index: int  # type: ignore[assignment]  # as in LogSnapshot


class ClientRequest(NamedTuple):
    """A client's request number `serial`. A repeated one has the same number."""

    client: str
    serial: int
    command: Hashable


class ChangeMembers(NamedTuple):
    """A request to make `members` the servers of the cluster: one more or one less than now."""

    client: str
    serial: int
    members: tuple[str, ...]


class ClientReply(NamedTuple):
    """The answer to a client: a result, once the request is committed and applied, or where the leader may be."""

    serial: int
    done: bool
    result: Hashable = None
    leader: str | None = None


class RaftTiming(NamedTuple):
    """Seconds on a server's own clock, and how much is kept and sent."""

    election: float = 0.15  # a follower waits for one to two of these before it becomes a candidate
    heartbeat: float = 0.05  # between two heartbeats of a leader
    batch: int = 64  # entries in a message, at most
    keep: int = 1000  # applied entries in the log, at most; then a snapshot replaces them


StepFunction = Callable[[Hashable, LogEntry], tuple[Hashable, Hashable]]  # (state, entry) -> (state, result)

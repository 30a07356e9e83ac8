"""Raft's log: entries numbered from 1, of which a snapshot may have replaced the first ones.

Idea      An index and a term name an entry. Two logs that have an entry with the same index and term are equal up to it
          (log matching), so a follower needs to compare only one entry before it takes those that follow.

              index      1   2   3   4   5   6         snapshot (index 3): the state after 1, 2, 3
              term     [ 1   1   2 ] 2   4   4         entries: 4, 5, 6
Left out  Entries on a disk in segments: here the driver writes `Durable` as a whole.
Source    Ongaro and Ousterhout, In Search of an Understandable Consensus Algorithm (extended version), 2014, sections
          5.3 and 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .messages import LogEntry, LogSnapshot


class RaftLog:
    """A snapshot and the entries after it. `entry(i)` and `term(i)` take the index of the whole log."""

    def __init__(self, snapshot: LogSnapshot, entries: Iterable[LogEntry] = ()):
        self.snapshot, self.entries = snapshot, list(entries)
        self._find_members()

    @property
    def last_index(self) -> int:
        """The index of the last entry."""
        return self.snapshot.index + len(self.entries)

    @property
    def last_term(self) -> int:
        """The term of the last entry."""
        return self.entries[-1].term if self.entries else self.snapshot.term

    def term(self, index: int) -> int | None:
        """The term of an entry; None if it is not there, or only inside the snapshot."""
        place = index - self.snapshot.index - 1
        if place == -1:
            return self.snapshot.term
        return self.entries[place].term if 0 <= place < len(self.entries) else None

    def entry(self, index: int) -> LogEntry:
        """An entry after the snapshot."""
        return self.entries[index - self.snapshot.index - 1]

    def after(self, index: int, most: int) -> tuple[LogEntry, ...]:
        """At most so many entries after `index`, which is not before the snapshot."""
        place = index - self.snapshot.index
        return tuple(self.entries[place : place + most])

    def append(self, entry: LogEntry) -> int:
        """Add an entry and return its index."""
        self.entries.append(entry)
        if entry.members is not None:
            self._find_members()
        return self.last_index

    def merge(self, previous: int, entries: Sequence[LogEntry]) -> bool:
        """Take the leader's entries after `previous`; return whether the log has changed.

        Only an entry of another term, a conflict, and what follows it are removed. Entries beyond those of the message
        stay: the message may be old.
        """
        for index, entry in enumerate(entries, previous + 1):
            if index <= self.snapshot.index or self.term(index) == entry.term:
                continue  # committed long ago, or there already
            del self.entries[index - self.snapshot.index - 1 :]
            self.entries += entries[index - previous - 1 :]
            self._find_members()
            return True
        return False

    def compact(self, snapshot: LogSnapshot) -> None:
        """Replace the entries up to the snapshot's by it. If the log does not go on from it, nothing else is kept."""
        same = self.term(snapshot.index) == snapshot.term
        self.entries = self.entries[snapshot.index - self.snapshot.index :] if same else []
        self.snapshot = snapshot
        self._find_members()

    def members_at(self, index: int) -> tuple[str, ...]:
        """Who belongs to the cluster after entry `index`, which is not before the snapshot."""
        for entry in reversed(self.entries[: index - self.snapshot.index]):
            if entry.members is not None:
                return entry.members
        return self.snapshot.members

    def _find_members(self) -> None:
        """The newest members of the log hold, committed or not; `members_index` is the entry that says so."""
        for place in range(len(self.entries), 0, -1):
            if (members := self.entries[place - 1].members) is not None:
                self.members, self.members_index = members, self.snapshot.index + place
                return
        self.members, self.members_index = self.snapshot.members, self.snapshot.index

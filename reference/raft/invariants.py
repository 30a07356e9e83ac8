"""The five properties of Raft, checked after every step of every server.

Idea      Each property is about all that ever happened. So the checker remembers who led which term, what entry each
          (index, term) was, which entries are committed, and which state came after each. After a step only one server
          has changed, and only its new entries are looked at. A property that breaks raises at the step that broke it.

              election safety        a term has at most one leader
              leader append-only     a leader never removes or changes an entry of its log
              log matching           an index and a term name one entry, and everything before it
              leader completeness    what is committed is in the log of every leader of a later term
              state machine safety   servers that apply an entry of some index apply the same one, to the same state
Exact     Log matching by induction: of each (index, term) the checker knows the entry and the term before it.
Price     Per step, a comparison of the server's log with what it was: of pointers, as long as the log.
Source    Ongaro and Ousterhout 2014, figure 3.
"""

from __future__ import annotations

from collections.abc import Hashable

from .messages import LogEntry
from .node import LEADER, RaftNode


class SafetyViolated(AssertionError):
    """A property does not hold; the message says which, at which server, and what is wrong."""


class Invariants:
    """Remembers what happened, and checks it: call `check(node)` after each step, `forget(name)` after a crash."""

    def __init__(self):
        self.leaders: dict[int, str] = {}  # of each term
        self.known: dict[tuple[int, int], tuple[LogEntry, int | None]] = {}  # (index, term) -> entry, term before it
        self.committed: dict[int, LogEntry] = {}
        self.states: dict[int, Hashable] = {}  # after each committed entry
        self.checks = 0
        self._logs: dict[str, tuple[int, list[LogEntry]]] = {}  # first index and entries of each server, as last seen
        self._commits: dict[str, int] = {}
        self._leading: dict[str, RaftNode] = {}

    def forget(self, name: str) -> None:
        """The server has crashed: what it had in memory is gone."""
        for seen in (self._logs, self._commits, self._leading):
            seen.pop(name, None)

    def check(self, node: RaftNode) -> None:
        """Check the server that has just taken a step. Raises SafetyViolated."""
        self.checks += 1
        first, before = self._logs.get(node.name, (1, []))
        base, entries = node.log.snapshot.index + 1, node.log.entries
        if base != first or entries != before:
            kept = before[base - first :] if base >= first else []
            still_leads = self._leading.get(node.name) is node and self.leaders.get(node.current_term) == node.name
            if still_leads and entries[: len(kept)] != kept:
                self._fail("leader append-only", node, "has changed its log")
            self._match(node, kept)
            self._logs[node.name] = (base, list(entries))
        self._elections(node)
        if node.commit_index != self._commits.get(node.name, 0):
            self._commitments(node)
            self._commits[node.name] = node.commit_index

    def _match(self, node: RaftNode, kept: list[LogEntry]) -> None:
        """Look at the entries that differ from those that were there."""
        base, entries = node.log.snapshot.index, node.log.entries
        same = next(
            (i for i, (old, new) in enumerate(zip(kept, entries)) if old is not new), min(len(kept), len(entries))
        )
        for place in range(same, len(entries)):
            index, entry = base + place + 1, entries[place]
            before = node.log.term(index - 1)
            if self.known.setdefault((index, entry.term), (entry, before)) != (entry, before):
                self._fail("log matching", node, f"has another entry {index} of term {entry.term}")
        for index in range(base + same + 1, self._commits.get(node.name, 0) + 1):
            if index > node.log.last_index or self.committed.get(index) != node.log.entry(index):
                self._fail("state machine safety", node, f"lost entry {index}, which was committed")

    def _elections(self, node: RaftNode) -> None:
        if node.role != LEADER:
            self._leading.pop(node.name, None)
        elif self._leading.get(node.name) is not node or self.leaders.get(node.current_term) != node.name:
            if self.leaders.setdefault(node.current_term, node.name) != node.name:
                self._fail(
                    "election safety",
                    node,
                    f"leads term {node.current_term}, as {self.leaders[node.current_term]} does",
                )
            self._leading[node.name] = node
            for index, entry in self.committed.items():
                self._complete(node, index, entry)

    def _complete(self, leader: RaftNode, index: int, entry: LogEntry) -> None:
        if index > leader.log.snapshot.index and leader.log.term(index) != entry.term:
            self._fail("leader completeness", leader, f"leads without entry {index} of term {entry.term}")

    def _commitments(self, node: RaftNode) -> None:
        """Look at what the server has committed since it was last seen."""
        log = node.log
        for index in range(self._commits.get(node.name, 0) + 1, node.commit_index + 1):
            if index <= log.snapshot.index:
                continue
            entry = log.entry(index)
            if self.committed.setdefault(index, entry) != entry:
                self._fail("state machine safety", node, f"commits another entry {index}")
            for leader in self._leading.values():
                if leader.current_term > max(entry.term, node.current_term):
                    self._complete(leader, index, entry)
        if self.states.setdefault(node.last_applied, node.state) != node.state:
            self._fail("state machine safety", node, f"is in another state after entry {node.last_applied}")

    def _fail(self, rule: str, node: RaftNode, what: str) -> None:
        raise SafetyViolated(f"{rule}: {node.name} {what}")

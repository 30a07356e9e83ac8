"""One server of Raft, as a pure state machine: messages and timeouts go in, messages come out.

Idea      A cluster agrees on one log, entry by entry, while any majority of its servers is up. In each *term* there is
          at most one leader, because a server votes once a term and a leader needs a majority. A server votes only for
          a log that is at least as up to date as its own, so a leader has all that was ever committed. An entry is
          committed when a majority has it *and it is of the leader's own term*; then all before it are, too.
Before    S1 [1 1 2]  S2 [1 1 2]  S3 [1 1]        numbers: terms of entries; S1 leads term 2, and crashes
After     S3 cannot win, S2 can: it leads term 3, adds an empty entry, and repairs the log of S3
Sends     Per entry, one AppendEntries to each follower and one answer: 2(n - 1) messages, one round trip until it is
          committed. Idle: as many in each heartbeat. An election: 2(n - 1) messages.
Exact     Safe whatever the network does (loss, copies, order, delay) and however wrong the clocks are. Clocks matter
          for progress alone. It needs durable storage that does not lie.
Left out  Pre-vote, leadership transfer, learners, reads without a log entry (thesis, 9.6, 3.10, 4.2.1, 6.4).
Source    Ongaro and Ousterhout 2014 (extended version), figure 2. Ongaro's thesis, 2014: chapter 4 (one server more or
          less) with the correction of 2015, section 6.2 (a leader that hears no majority steps down).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from random import Random

from .log import RaftLog
from .messages import (
    Appended,
    AppendEntries,
    ChangeMembers,
    ClientReply,
    ClientRequest,
    Durable,
    InstallSnapshot,
    LogEntry,
    LogSnapshot,
    RaftTiming,
    RequestVote,
    StepFunction,
    Vote,
)

FOLLOWER, CANDIDATE, LEADER = "follower", "candidate", "leader"
DEFAULT = RaftTiming()


class RaftNode:
    """A server. Its driver calls `receive` and `tick`; before it sends what they return, it saves `durable()`.

    name     of this server; durable  what it had on its disk: of a new cluster, the snapshot of index 0
    step     (state, entry) -> (state, result): the state machine
    now      its own clock's time; it never goes back
    unsaved  whether `durable()` has changed since the driver last set this to False
    deadline when it wants `tick` to be called
    """

    def __init__(
        self, name: str, durable: Durable, step: StepFunction, now: float, random: Random, timing: RaftTiming = DEFAULT
    ):
        self.name, self.step, self.random, self.timing = name, step, random, timing
        # durable
        self.current_term, self.voted_for = durable.term, durable.vote
        self.log = RaftLog(durable.snapshot, durable.entries)
        self.unsaved = False
        # volatile
        self.role = FOLLOWER
        self.leader: str | None = None
        self.commit_index = self.last_applied = durable.snapshot.index
        self.state = durable.snapshot.state
        self.votes: set[str] = set()  # a candidate's
        self.next_index: dict[str, int] = {}  # a leader's, for each other server: what to send next,
        self.match_index: dict[str, int] = {}  # up to where its log is known to be the leader's,
        self.answered: dict[str, float] = {}  # and when it answered last
        self.outbox: list[tuple[str, object]] = []
        self.now, self.heard = now, -1e9
        self._rest()

    def durable(self) -> Durable:
        """What has to be on the disk before a message leaves."""
        return Durable(self.current_term, self.voted_for, self.log.snapshot, tuple(self.log.entries))

    def receive(self, source: str, message, now: float) -> list[tuple[str, object]]:
        """Take a message of a server or client; return (destination, message) of those to send."""
        self.now = now
        if isinstance(message, ClientRequest | ChangeMembers):
            self._asked(message)
        elif not (isinstance(message, RequestVote) and self._led()):
            if message.term > self.current_term:
                self._follow(message.term)
            HANDLERS[type(message)](self, source, message)
        return self._sent()

    def tick(self, now: float) -> list[tuple[str, object]]:
        """The deadline has come: a leader sends heartbeats, others become candidates. Return what to send."""
        self.now = now
        if now >= self.deadline:
            (self._beat if self.role == LEADER else self._stand)()
        return self._sent()

    # ------------------------------------------------------------------------------------------------ election

    def _stand(self) -> None:
        """Become a candidate, unless this server does not belong to the cluster."""
        self._rest()
        members, known = self.log.members, self.commit_index >= self.log.members_index
        if self.name not in members and (known or not members):
            return
        self._new_term(self.current_term + 1, vote=self.name)
        self.role, self.leader, self.votes = CANDIDATE, None, {self.name}
        for other in self._others():
            self._send(other, RequestVote(self.current_term, self.log.last_index, self.log.last_term))
        self._count_votes()

    def _on_request(self, source: str, request: RequestVote) -> None:
        granted = request.term == self.current_term and self.may_vote(source, request)
        if granted:
            self.voted_for, self.unsaved = source, True
            self._rest()
        self._send(source, Vote(self.current_term, granted))

    def may_vote(self, candidate: str, request: RequestVote) -> bool:
        """Whether a candidate of this term gets the vote: one vote a term, and only for a log that lacks nothing."""
        up_to_date = (request.last_term, request.last_index) >= (self.log.last_term, self.log.last_index)
        return self.voted_for in (None, candidate) and up_to_date

    def _on_vote(self, source: str, vote: Vote) -> None:
        if self.role == CANDIDATE and vote.term == self.current_term and vote.granted:
            self.votes.add(source)
            self._count_votes()

    def _count_votes(self) -> None:
        if not self.is_quorum(self.votes):
            return
        self.role, self.leader = LEADER, self.name
        self.next_index = dict.fromkeys(self._others(), self.log.last_index + 1)
        self.match_index, self.answered = {}, dict.fromkeys(self._others(), self.now)
        self._append(LogEntry(self.current_term))  # what commits the entries of earlier terms, too
        self.deadline = self.now + self.timing.heartbeat

    def is_quorum(self, names: Collection[str]) -> bool:
        """Whether these servers are a majority of the members. Two majorities have a server in common."""
        members = self.log.members
        return 2 * sum(name in members for name in names) > len(members)

    # ------------------------------------------------------------------------------------------------ replication

    def _asked(self, request: ClientRequest | ChangeMembers) -> None:
        """A client asks: the leader appends an entry, others say who leads."""
        entry = LogEntry(self.current_term, getattr(request, "command", None), request.client, request.serial)
        if isinstance(request, ChangeMembers):
            entry = entry._replace(members=tuple(sorted(request.members)))
        if self.role == LEADER and (entry.members is None or self.may_change(entry.members)):
            self._append(entry)
        else:
            self._send(request.client, ClientReply(request.serial, False, leader=self.leader))

    def may_change(self, members: tuple[str, ...]) -> bool:
        """One server more or less, the last change committed, and an entry of this term, too (2015)."""
        one = len(set(members) ^ set(self.log.members)) == 1
        own = self.log.term(self.commit_index) == self.current_term
        return one and own and self.commit_index >= self.log.members_index

    def _append(self, entry: LogEntry) -> None:
        self.log.append(entry)
        self.unsaved = True
        for other in self._others():
            self._replicate(other)
        self._advance()  # a cluster of one server needs nobody else

    def _beat(self) -> None:
        """Send heartbeats; step down if no majority has answered for as long as an election takes."""
        recent = [name for name, time in self.answered.items() if self.now - time < 2 * self.timing.election]
        if not self.is_quorum([*recent, self.name]):
            self._follow(self.current_term)
            return
        self.deadline = self.now + self.timing.heartbeat
        for other in self._others():
            self._replicate(other)

    def _replicate(self, other: str) -> None:
        """Send what the other server lacks, as far as is known: entries, or the snapshot if they are gone."""
        previous = self.next_index.setdefault(other, self.log.last_index + 1) - 1
        self.answered.setdefault(other, self.now)  # a new server has an election's time to answer
        if previous < self.log.snapshot.index:
            self._send(other, InstallSnapshot(self.current_term, self.log.snapshot))
            return
        entries, before = self.log.after(previous, self.timing.batch), self.log.term(previous)
        self._send(other, AppendEntries(self.current_term, previous, before, entries, self.commit_index))

    def _on_leader(self, source: str, message: AppendEntries | InstallSnapshot) -> None:
        if not self.accepts(source, message):
            self._send(source, Appended(self.current_term, False, 0))
        elif isinstance(message, InstallSnapshot):
            self._install(source, message.snapshot)
        else:
            self._take(source, message)

    def _take(self, source: str, message: AppendEntries) -> None:
        previous, base = message.previous, self.log.snapshot.index
        if previous >= base and self.log.term(previous) != message.previous_term:
            hint = max(base, min(previous - 1, self.log.last_index))
            self._send(source, Appended(self.current_term, False, hint))
            return
        self.unsaved |= self.log.merge(previous, message.entries)
        same = previous + len(message.entries)  # up to here the logs are equal; what follows may be another leader's
        self._commit(min(message.commit, same))
        self._send(source, Appended(self.current_term, True, same))

    def _install(self, source: str, snapshot: LogSnapshot) -> None:
        if snapshot.index > self.commit_index:
            self.log.compact(snapshot)
            self.state, self.commit_index, self.last_applied = snapshot.state, snapshot.index, snapshot.index
            self.unsaved = True
        self._send(source, Appended(self.current_term, True, snapshot.index))

    def accepts(self, source: str, message: AppendEntries | InstallSnapshot) -> bool:
        """Whether the sender leads this term; a leader of an earlier term does not lead any more."""
        if message.term < self.current_term:
            return False
        self.role, self.leader, self.heard = FOLLOWER, source, self.now
        self._rest()
        return True

    def _on_appended(self, source: str, answer: Appended) -> None:
        if self.role != LEADER or answer.term != self.current_term or source not in self.next_index:
            return  # also: a refusal of what this server sent as leader of an earlier term
        self.answered[source] = self.now
        match, following = self.match_index.get(source, 0), self.next_index[source]
        if answer.success and answer.index >= match:
            self.match_index[source], self.next_index[source] = answer.index, answer.index + 1
            self._advance()
        elif not answer.success:
            self.next_index[source] = max(match, min(following - 1, answer.index)) + 1
        news = answer.index > match if answer.success else self.next_index[source] < following
        if news and self.role == LEADER and self.next_index[source] <= self.log.last_index:
            self._replicate(source)  # go on at once

    def _advance(self) -> None:
        """Find the last entry that a majority has, and commit it if the rule allows."""
        for index in range(self.log.last_index, self.commit_index, -1):
            have = [name for name, match in self.match_index.items() if match >= index]
            if self.is_quorum([*have, self.name]) and self.may_commit(index):
                self._commit(index)
                return

    def may_commit(self, index: int) -> bool:
        """Whether a majority is enough: only for entries of this term. Others are committed by one that follows."""
        return self.log.term(index) == self.current_term

    def _commit(self, index: int) -> None:
        """Apply what is committed; the leader answers the clients. A leader that was removed steps down."""
        self.commit_index = max(self.commit_index, index)
        while self.last_applied < self.commit_index:
            self.last_applied += 1
            entry, result = self.log.entry(self.last_applied), None
            if entry.command is not None:
                self.state, result = self.step(self.state, entry)
            if self.role == LEADER and entry.client:
                self._send(entry.client, ClientReply(entry.serial, True, entry.members or result, self.name))
        if self.last_applied - self.log.snapshot.index > self.timing.keep:
            at, term = self.last_applied, self.log.term(self.last_applied) or 0
            self.log.compact(LogSnapshot(at, term, self.log.members_at(at), self.state))
            self.unsaved = True
        if self.role == LEADER and self.name not in self.log.members and self.commit_index >= self.log.members_index:
            self._follow(self.current_term)

    def _led(self) -> bool:
        """Whether there is a leader as far as this server knows: it then ignores candidates (thesis, 4.2.3)."""
        return self.role == LEADER or self.now - self.heard < self.timing.election

    def _follow(self, term: int) -> None:
        """Become a follower, in a new term or in the same."""
        if term > self.current_term:
            self._new_term(term, vote=None)
        if self.role == LEADER:
            self._rest()
        self.role, self.leader = FOLLOWER, None

    def _new_term(self, term: int, vote: str | None) -> None:
        self.current_term, self.voted_for, self.unsaved = term, vote, True

    def _rest(self) -> None:
        """Wait again, for a random time: so that seldom two servers become candidates at once."""
        self.deadline = self.now + self.timing.election * (1 + self.random.random())

    def _others(self) -> list[str]:
        return [name for name in self.log.members if name != self.name]

    def _send(self, dest: str, message) -> None:
        self.outbox.append((dest, message))

    def _sent(self) -> list[tuple[str, object]]:
        sent, self.outbox = self.outbox, []
        return sent


HANDLERS: dict[type, Callable] = {
    RequestVote: RaftNode._on_request,
    Vote: RaftNode._on_vote,
    AppendEntries: RaftNode._on_leader,
    InstallSnapshot: RaftNode._on_leader,
    Appended: RaftNode._on_appended,
}

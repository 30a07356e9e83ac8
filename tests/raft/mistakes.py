"""Servers that make mistakes which people make, and the runs that are to find them."""

from random import Random

from reference.raft import RaftNode, RaftSimulation, RaftTiming, ReadStore
from reference.raft.messages import ClientReply, ClientRequest, Durable
from reference.raft.network import storm
from reference.raft.node import LEADER
from reference.raft.store import StoreAnswer


class VotesTwice(RaftNode):
    def may_vote(self, candidate, request):
        self.voted_for = None
        return super().may_vote(candidate, request)


class VotesForAnyLog(RaftNode):
    def may_vote(self, candidate, request):
        return self.voted_for in (None, candidate)


class CommitsOldTerms(RaftNode):
    """Takes a majority as enough for entries of earlier terms, too: figure 8 of the paper."""

    def may_commit(self, index):
        return True


class ForgetsItsVote(RaftNode):
    def durable(self) -> Durable:
        return super().durable()._replace(vote=None)


class ForgetsItsTerm(RaftNode):
    def durable(self) -> Durable:
        return super().durable()._replace(term=self.log.last_term, vote=None)


class ForgetsItsLog(RaftNode):
    """Saves its log, but for the last entry."""

    def durable(self) -> Durable:
        durable = super().durable()
        return durable._replace(entries=durable.entries[:-1])


class AcceptsStaleLeaders(RaftNode):
    def accepts(self, source, message):
        return super().accepts(source, message._replace(term=self.current_term))


class TruncatesAlways(RaftNode):
    """Removes what follows the entries of a message, as if messages could not be late."""

    def _take(self, source, message):
        end = message.previous + len(message.entries)
        if self.log.term(message.previous) == message.previous_term and end < self.log.last_index:
            del self.log.entries[max(0, end - self.log.snapshot.index) :]
            self.log._find_members()
        super()._take(source, message)


class CountsRemovedMembers(RaftNode):
    def is_quorum(self, names):
        return 2 * len(names) > len(self.log.members)


class ChangesManyAtOnce(RaftNode):
    def may_change(self, members):
        return self.log.term(self.commit_index) == self.current_term and bool(members)


class ChangesTooEarly(RaftNode):
    """Changes members before an entry of its own term is committed: the mistake that was found in 2015."""

    def may_change(self, members):
        one = len(set(members) ^ set(self.log.members)) == 1
        return one and self.commit_index >= self.log.members_index


class ReadsAlone(RaftNode):
    """A leader answers reads at once, from its own state."""

    def _asked(self, request):
        if self.role == LEADER and isinstance(request, ClientRequest) and isinstance(request.command, ReadStore):
            answer = StoreAnswer(True, "", self.state.state)
            self._send(request.client, ClientReply(request.serial, True, answer))
        else:
            super()._asked(request)


def simulation(seed: int, **options) -> RaftSimulation:
    """A storm; three to five servers and up to two spares; short or long messages; snapshots often or never."""
    random = Random(seed)
    timing = RaftTiming(random.choice((0.08, 0.15)), batch=random.choice((1, 64)), keep=random.choice((4, 1000)))
    drawn = {"weather": storm(random), "spares": random.choice((0, 1, 2)), "timing": timing}
    return RaftSimulation(random.choice((3, 4, 5)), seed=seed, **(drawn | options))

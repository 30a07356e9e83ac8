"""One server: elections, replication, the commit rule, members; and the two stories of mistakes, by hand."""

import pytest

from reference.raft import ByHand, ChangeMembers, ClientRequest, JoinWorker, RaftNode, RaftTiming, SafetyViolated
from reference.raft.messages import AppendEntries, ClientReply, LogEntry, RequestVote

from .by_hand import FIVE, ask, elect, figure_8, figure_8_ends, two_changes
from .mistakes import ChangesTooEarly, CommitsOldTerms


def cluster_of(n: int, **options) -> ByHand:
    return ByHand(FIVE[:n], **options)


def messages(cluster: ByHand) -> int:
    return sum(len(waiting) for waiting in cluster.waiting.values())


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_a_majority_elects_and_less_does_not(n):
    needed = n // 2 + 1
    for votes in range(1, n + 1):
        cluster = cluster_of(n)
        elect(cluster, "S1", FIVE[1:votes])
        assert cluster.leaders() == (["S1"] if votes >= needed else [])


def test_an_election_takes_two_messages_for_each_other_server():
    cluster = cluster_of(5)
    cluster.timeout("S1")
    assert messages(cluster) == 4
    cluster.deliver("S1", *FIVE[1:])
    assert messages(cluster) == 4  # the votes


def test_an_entry_takes_two_messages_for_each_other_server_and_one_round_trip():
    cluster = cluster_of(5)
    elect(cluster, "S1", FIVE[1:])
    cluster.exchange("S1", *FIVE[1:])
    cluster.lose()
    ask(cluster, "S1", "a")
    assert messages(cluster) == 4
    cluster.deliver("S1", *FIVE[1:])
    assert messages(cluster) == 4 and cluster.nodes["S1"].commit_index == 1
    cluster.deliver("S2", "S1")
    assert cluster.nodes["S1"].commit_index == 1  # two of five
    cluster.deliver("S3", "S1")
    assert cluster.nodes["S1"].commit_index == 2  # three of five, one round trip
    (reply,) = cluster.waiting["S1", "C1"]
    assert isinstance(reply, ClientReply) and reply.done and reply.result.state.workers == ("a",)


def test_who_does_not_lead_says_who_does():
    cluster = cluster_of(3)
    elect(cluster, "S1", ["S2", "S3"])
    cluster.exchange("S1", "S2")
    ask(cluster, "S2", "a")
    assert cluster.waiting["S2", "C1"].pop() == ClientReply(1, False, leader="S1")


def test_no_vote_for_a_log_that_lacks_something():
    cluster = cluster_of(3)
    elect(cluster, "S1", ["S2"])
    cluster.exchange("S1", "S2")  # S3 has nothing
    cluster.crash("S1")
    elect(cluster, "S3", ["S2"])
    assert cluster.leaders() == []
    elect(cluster, "S2", ["S3"])
    assert cluster.leaders() == ["S2"]


def test_a_vote_is_kept_in_a_crash():
    cluster = cluster_of(3)
    cluster.timeout("S1")
    cluster.deliver("S1", "S3")
    cluster.crash("S3")
    cluster.start("S3", cluster.now)
    (answer,) = cluster.receive("S3", "S2", RequestVote(1, 0, 0), cluster.now)
    assert answer[1].term == 1 and not answer[1].granted


def test_a_candidate_is_ignored_where_a_leader_is_heard():
    cluster = cluster_of(3)
    elect(cluster, "S1", ["S2", "S3"])
    cluster.exchange("S1", "S2", "S3")
    assert cluster.receive("S2", "S3", RequestVote(99, 9, 99), cluster.now) == []
    assert cluster.nodes["S2"].current_term == 1


def test_a_leader_without_a_majority_steps_down():
    cluster = cluster_of(3)
    elect(cluster, "S1", ["S2", "S3"])
    cluster.timeout("S1")
    assert cluster.leaders() == []


def test_late_entries_do_not_remove_what_follows():
    cluster = cluster_of(3)
    entries = (LogEntry(1), LogEntry(1, client="C1", serial=1), LogEntry(1, client="C1", serial=2))
    cluster.receive("S2", "S1", AppendEntries(1, 0, 0, entries, 0), 0.0)
    cluster.receive("S2", "S1", AppendEntries(1, 0, 0, entries[:1], 0), 0.0)
    assert cluster.terms()["S2"] == [1, 1, 1]
    cluster.receive("S2", "S3", AppendEntries(2, 1, 1, (LogEntry(2),), 0), 0.0)  # a conflict does
    assert cluster.terms()["S2"] == [1, 2]


def test_commit_goes_no_further_than_what_is_known_to_be_equal():
    cluster = cluster_of(3)
    cluster.receive("S2", "S1", AppendEntries(1, 0, 0, (LogEntry(1), LogEntry(1)), 0), 0.0)
    cluster.receive("S2", "S3", AppendEntries(2, 0, 0, (), 2), 0.0)  # a heartbeat that compares nothing after entry 0
    assert cluster.nodes["S2"].commit_index == 0


def test_figure_8_is_safe_with_the_rule_and_not_without():
    cluster = figure_8()
    assert cluster.terms() == {"S1": [1, 2, 4], "S2": [1, 2, 4], "S3": [1, 2], "S4": [1], "S5": [1, 3]}
    assert cluster.nodes["S1"].commit_index < 2
    figure_8_ends(cluster)
    assert cluster.terms()["S3"] == [1, 3, 5]  # replaced, and nobody had been told that it was committed
    cluster = figure_8(CommitsOldTerms)
    assert cluster.nodes["S1"].commit_index == 2
    with pytest.raises(SafetyViolated, match="leader completeness: S5 leads without entry 2"):
        figure_8_ends(cluster)


def test_two_changes_of_members_are_safe_with_the_correction_and_not_without():
    cluster = two_changes()
    assert cluster.nodes["S2"].log.members == tuple(FIVE[:4])  # S2 has refused
    with pytest.raises(SafetyViolated, match="leader completeness: S1 leads without entry"):
        two_changes(ChangesTooEarly)


def changed(cluster: ByHand, leader: str, members: list[str], others: list[str]) -> None:
    cluster.ask(leader, ChangeMembers("admin", 1, tuple(members)))
    for _ in range(3):
        cluster.exchange(leader, *others)


def test_members_change_by_one_and_one_after_another():
    cluster = ByHand(FIVE[:3], spares=["S4", "S5"])
    elect(cluster, "S1", ["S2", "S3"])
    cluster.exchange("S1", "S2", "S3")
    leader = cluster.nodes["S1"]
    assert not leader.may_change(tuple(FIVE)) and not leader.may_change(tuple(FIVE[:3]))
    changed(cluster, "S1", FIVE[:4], ["S2", "S3", "S4"])
    assert leader.log.members == tuple(FIVE[:4]) and cluster.terms()["S4"] == [1, 1]
    cluster.ask("S1", ChangeMembers("admin", 2, tuple(FIVE)))
    assert not leader.may_change(tuple(FIVE[:4]))  # while that one is under way


def test_a_leader_that_is_removed_commits_that_and_steps_down():
    cluster = cluster_of(3)
    elect(cluster, "S1", ["S2", "S3"])
    cluster.exchange("S1", "S2", "S3")
    cluster.lose()
    cluster.ask("S1", ChangeMembers("admin", 1, ("S2", "S3")))
    cluster.exchange("S1", "S2")
    assert cluster.leaders() == ["S1"]  # it does not count itself: one of two
    cluster.exchange("S1", "S3")
    assert cluster.leaders() == []
    elect(cluster, "S2", ["S3"])
    assert cluster.leaders() == ["S2"]
    cluster.lose()
    cluster.timeout("S1")
    assert messages(cluster) == 0  # it knows that it does not belong any more


def test_a_follower_that_was_away_gets_a_snapshot():
    cluster = cluster_of(3, timing=RaftTiming(keep=2))
    elect(cluster, "S1", ["S2"])
    for serial in range(1, 8):
        cluster.ask("S1", ClientRequest("C1", serial, JoinWorker(f"w{serial}")))
        cluster.exchange("S1", "S2")
    cluster.lose()
    cluster.timeout("S1")
    cluster.start("S3", cluster.now)
    elect(cluster, "S1", ["S2", "S3"])
    for _ in range(4):
        cluster.exchange("S1", "S2", "S3")
    one, three = cluster.nodes["S1"], cluster.nodes["S3"]
    assert three.log.snapshot.index > 0 and three.last_applied >= 8
    cluster.timeout("S1")
    cluster.exchange("S1", "S2", "S3")
    assert three.state == one.state and len(one.state.state.workers) == 7
    cluster.crash("S3")
    cluster.start("S3", cluster.now)
    assert cluster.nodes["S3"].state == three.log.snapshot.state  # what the disk has


def test_nobody_stands_before_it_belongs_to_the_cluster():
    cluster = ByHand(FIVE[:3], spares=["S4"])
    cluster.timeout("S4")
    assert not messages(cluster) and cluster.nodes["S4"].role == "follower"


def test_the_node_is_unchanged_by_a_request_of_an_old_term():
    cluster = cluster_of(3)
    elect(cluster, "S1", ["S2", "S3"])
    cluster.nodes["S1"].current_term = 5
    ((dest, answer),) = cluster.receive("S1", "S2", AppendEntries(4, 0, 0, (LogEntry(4),), 0), cluster.now)
    assert dest == "S2" and not answer.success and answer.term == 5 and isinstance(cluster.nodes["S1"], RaftNode)

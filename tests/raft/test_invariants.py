"""Each of the five properties is missed when it does not hold."""

import pytest

from reference.raft import ByHand, LogEntry, SafetyViolated
from reference.raft.hosts import EMPTY
from reference.raft.messages import LogSnapshot
from reference.raft.node import LEADER

from .by_hand import elect


def led() -> ByHand:
    """Three servers with a leader, S1 of term 1, and one committed entry."""
    cluster = ByHand(["S1", "S2", "S3"])
    elect(cluster, "S1", ["S2", "S3"])
    cluster.exchange("S1", "S2", "S3")
    return cluster


def check(cluster, name):
    cluster.invariants.check(cluster.nodes[name])


def test_a_term_has_one_leader():
    cluster = led()
    cluster.nodes["S2"].role = LEADER
    with pytest.raises(SafetyViolated, match="election safety: S2 leads term 1, as S1 does"):
        check(cluster, "S2")


def test_a_leader_appends_only():
    cluster = led()
    cluster.nodes["S1"].log.entries.append(LogEntry(1))
    check(cluster, "S1")
    cluster.nodes["S1"].log.entries.pop()
    with pytest.raises(SafetyViolated, match="leader append-only: S1"):
        check(cluster, "S1")


def test_an_index_and_a_term_name_one_entry_and_what_is_before_it():
    for entry, extra in ((LogEntry(1, client="C1"), []), (LogEntry(2), [LogEntry(3)])):
        cluster = led()
        cluster.nodes["S2"].log.entries += [LogEntry(1), LogEntry(3)]
        check(cluster, "S2")
        cluster.nodes["S3"].log.entries += [entry, *extra]
        with pytest.raises(SafetyViolated, match="log matching: S3 has another entry"):
            check(cluster, "S3")


def test_a_leader_has_what_is_committed():
    cluster = led()
    cluster.crash("S1")
    node = cluster.nodes["S2"]
    node.log.entries.clear()
    node.current_term, node.role = 2, LEADER
    with pytest.raises(SafetyViolated, match="leader completeness: S2 leads without entry 1 of term 1"):
        check(cluster, "S2")


def test_so_does_a_leader_of_a_later_term_when_the_entry_is_committed_late():
    cluster = ByHand(["S1", "S2", "S3"])
    elect(cluster, "S1", ["S2", "S3"])
    cluster.deliver("S1", "S2")
    node = cluster.nodes["S3"]
    node.current_term, node.role = 2, LEADER
    check(cluster, "S3")
    with pytest.raises(SafetyViolated, match="leader completeness: S3"):
        cluster.deliver("S2", "S1")


def test_servers_apply_the_same():
    cluster = led()
    cluster.timeout("S1")
    node = cluster.nodes["S2"]
    node.log.entries[0] = LogEntry(7)
    check(cluster, "S2")  # it may have that, as long as it does not commit it
    node.commit_index = node.last_applied = 1
    with pytest.raises(SafetyViolated, match="state machine safety: S2 commits another entry 1"):
        check(cluster, "S2")


def test_and_come_to_the_same_state():
    cluster = led()
    node = cluster.nodes["S2"]
    node.commit_index = node.last_applied = 1
    node.state = "another"
    with pytest.raises(SafetyViolated, match="state machine safety: S2 is in another state after entry 1"):
        check(cluster, "S2")


def test_what_was_committed_is_not_removed():
    cluster = led()
    node = cluster.nodes["S1"]
    node.role = "follower"
    check(cluster, "S1")
    node.log.entries[0] = LogEntry(5)
    with pytest.raises(SafetyViolated, match="state machine safety: S1 lost entry 1"):
        check(cluster, "S1")


def test_after_a_crash_the_disk_is_the_beginning():
    cluster = led()
    cluster.crash("S1")
    cluster.disks["S1"] = cluster.disks["S1"]._replace(snapshot=LogSnapshot(1, 1, ("S1",), EMPTY), entries=())
    cluster.start("S1", cluster.now)
    check(cluster, "S1")

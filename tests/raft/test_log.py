"""The log, against a plain list of all entries."""

from hypothesis import given
from hypothesis import strategies as st

from reference.raft import LogEntry, LogSnapshot, RaftLog
from tests.examples import examples

START = LogSnapshot(0, 0, ("S1",), "state")
terms = st.lists(st.integers(1, 4), max_size=8).map(sorted)


def log_of(terms, snapshot=START) -> RaftLog:
    return RaftLog(snapshot, [LogEntry(term) for term in terms])


@given(terms, st.integers(0, 8), st.integers(1, 3))
def test_indices_count_from_one_and_a_snapshot_changes_nothing_after_it(terms, cut, most):
    log, cut = log_of(terms), min(cut, len(terms))
    if cut:
        log.compact(LogSnapshot(cut, terms[cut - 1], ("S1",), "later"))
    assert (log.last_index, log.last_term) == (len(terms), terms[-1] if terms else 0)
    assert [log.term(i) for i in range(cut, len(terms) + 2)] == [*([0, *terms][cut:]), None]
    assert cut == 0 or log.term(cut - 1) is None
    assert [entry.term for entry in log.after(cut, most)] == terms[cut:][:most]


@given(terms, st.data())
def test_merge_leaves_the_leaders_entries_and_removes_only_what_conflicts(mine, data):
    log, previous = log_of(mine), data.draw(st.integers(0, len(mine)))
    theirs = data.draw(st.lists(st.integers(max([1, *mine[:previous]]), 5), max_size=5).map(sorted))
    before = list(mine)
    changed = log.merge(previous, [LogEntry(term) for term in theirs])
    after = [entry.term for entry in log.entries]
    assert after[:previous] == before[:previous] and after[previous : previous + len(theirs)] == theirs
    agree = before[previous : previous + len(theirs)] == theirs
    assert changed != agree and (after == before if agree else len(after) == previous + len(theirs))


def test_a_late_message_about_what_the_snapshot_has_changes_nothing():
    log = log_of([2, 3], LogSnapshot(4, 2, ("S1",), "state"))
    assert not log.merge(1, [LogEntry(1), LogEntry(2)]) and log.last_index == 6
    assert log.merge(3, [LogEntry(2), LogEntry(2), LogEntry(4)]) and [e.term for e in log.entries] == [2, 4]


def test_a_snapshot_that_the_log_does_not_lead_to_replaces_it():
    log = log_of([1, 1, 1])
    log.compact(LogSnapshot(2, 5, ("S2",), "other"))
    assert log.entries == [] and log.last_index == 2 and log.last_term == 5 and log.members == ("S2",)


@examples(40)
@given(st.lists(st.sampled_from([None, ("A",), ("A", "B")]), max_size=6), st.integers(0, 6), st.integers(0, 6))
def test_the_newest_members_hold_and_come_back_when_their_entry_goes(members, cut, kept):
    log = RaftLog(START)
    for each in members:
        log.append(LogEntry(1, members=each))
    history = [("S1",)]
    for each in members:
        history.append(each or history[-1])
    assert log.members == history[-1]
    assert [log.members_at(i) for i in range(len(history))] == history
    kept = min(kept, len(members))
    log.merge(kept, [LogEntry(2)])  # removes what follows
    assert log.members == history[kept]
    if (cut := min(cut, kept)) > 0:
        log.compact(LogSnapshot(cut, 1, log.members_at(cut), "later"))
        assert log.members == history[kept] and log.members_at(kept) == history[kept]

"""A request that is sent twice is carried out once."""

from reference.raft import LogEntry
from reference.raft.sessions import Sessions, once


def add(state, command):
    return state + command, state + command


def test_a_repeated_request_gets_the_stored_result():
    sessions = Sessions(0)
    for serial, command, result in ((1, 5, 5), (2, 1, 6), (2, 1, 6)):
        sessions, got = once(add, sessions, LogEntry(1, command, "C1", serial))
        assert got == result
    sessions, got = once(add, sessions, LogEntry(3, 10, "C2", 1))
    assert got == 16 and sessions.state == 16
    again, got = once(add, sessions, LogEntry(4, 1, "C1", 2))
    assert got == 6 and again == sessions
    assert once(add, sessions, LogEntry(4, 5, "C1", 1)) == (sessions, None)  # older than its last

"""Client sessions: a request that is sent twice is carried out once.

Idea      A client that hears nothing asks again, perhaps another server. Its first request may have been committed all
          the same. So each client numbers its requests, and the replicated state holds, for each client, the number of
          its last request and the result. A number that is not new gets the stored result.
Exact     Each request takes effect once, for a client that has one request under way at a time. The stored results are
          part of the state, so they are in snapshots, and each server decides alike.
Left out  Sessions that expire (thesis, section 6.3): the state keeps one line for each client for ever.
Source    Ongaro, Consensus: Bridging Theory and Practice, 2014, section 6.3.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from .messages import LogEntry

Apply = Callable[[Any, Hashable], tuple[Any, Hashable]]  # (state, command) -> (state, result)


class Sessions(NamedTuple):
    """The state of the state machine, and (client, serial, result) of each client's last request."""

    state: Hashable
    last: tuple[tuple[str, int, Hashable], ...] = ()


def once(apply: Apply, sessions: Sessions, entry: LogEntry) -> tuple[Sessions, Hashable]:
    """Apply an entry unless it has been applied; return what the sessions are then, and the result."""
    for client, serial, result in sessions.last:
        if client == entry.client and entry.serial <= serial:
            return sessions, result if entry.serial == serial else None  # None: the client has long gone on
    state, result = apply(sessions.state, entry.command)
    others = tuple(each for each in sessions.last if each[0] != entry.client)
    return Sessions(state, (*others, (entry.client, entry.serial, result))), result

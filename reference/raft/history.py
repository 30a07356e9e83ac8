"""Linearizability: could one server, which does one thing at a time, have given these answers?

Idea      A history has the start, end and result of each operation of each client. It is linearizable if there is an
          order in which every operation lies between its start and its end, and the specification, a plain function,
          gives each its result. Search: the next operation in the order is one that started before any that is
          left has ended. Try each; if none fits, go back. What has been tried is (operations done, state): a pair that
          failed before fails again.

              A  |--- set 1 ---|                     the read may see 1: linearizable
              B        |- read: 1 -|                 it may see 0, too: set may come after it
              C                       |- read: 0 -|  not after B saw 1
Exact     An operation without an answer may have happened at any time after its start, or never; both are tried.
Price     Exponential in the operations that overlap, at worst; few states and few clients keep it small.
Source    Wing and Gong, Testing and Verifying Concurrent Objects, 1993; with a memory of failed states as in Lowe,
          Testing for Linearizability, 2017.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple


class Operation(NamedTuple):
    """What a client asked for, and when it was answered: `end` is infinite if it never was."""

    client: str
    command: Hashable
    start: float
    end: float = float("inf")
    result: Hashable = None


def linearization(
    history: Sequence[Operation], apply: Callable[[Any, Hashable], tuple[Any, Hashable]], state: Hashable
) -> list[Operation] | None:
    """An order that explains the history, or None if there is none.

    apply: (state, command) -> (state, result), the specification; state: the first one. Both states and commands are
    hashable.
    """
    operations = sorted(history, key=lambda each: each.start)
    answered = sum(1 << i for i, each in enumerate(operations) if each.end < float("inf"))
    failed: set[tuple[int, Hashable]] = set()
    order: list[int] = []
    trail = [(0, state, _candidates(operations, 0))]  # done so far, state, what can be next
    while trail:
        done, state, choices = trail[-1]
        if done & answered == answered:
            return [operations[i] for i in order]
        for i in choices:
            operation = operations[i]
            after, result = apply(state, operation.command)
            fits = operation.end == float("inf") or result == operation.result
            if fits and (done | 1 << i, after) not in failed:
                failed.add((done | 1 << i, after))  # if it does not fail, the search ends
                order.append(i)
                trail.append((done | 1 << i, after, _candidates(operations, done | 1 << i)))
                break
        else:
            trail.pop()
            if order:
                order.pop()
    return None


def _candidates(operations: Sequence[Operation], done: int):
    """Yield the operations that can be next: started before any other that is left has ended."""
    left = [i for i in range(len(operations)) if not done >> i & 1]
    first_end = min((operations[i].end for i in left), default=0.0)
    yield from (i for i in left if operations[i].start <= first_end)

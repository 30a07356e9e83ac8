"""Deadlocks: who waits for whom, in the circles of an order and by what synchronous sends add to them.

Idea      Leave out what actions compute, and a rank is a list of groups of calls. A group ends when the other side of
          each of its calls has been called too; follow all ranks as far as they come.
          If ranks wait for each other's actions in a circle, no way of sending helps: the order is wrong.
Sends     A synchronous send ends when the other side receives (MPI's Ssend; Send of a large message; NCCL's). Then an
          order may be right and hang all the same:

              nonblocking   the sender goes on at once: only circles hang
              grouped       what a rank sends after one action and receives before the next is one group, waited for
                            together (Megatron-LM's send_forward_recv_backward, torch's batch_isend_irecv)
              blocking      each receive just before and each send just after its action, one by one

          1F1B hangs with blocking sends from two ranks and two micro-batches on: rank 0 sends its second activation
          while rank 1 sends its first gradient, and neither is there to receive.
Left out  Receives that are called earlier than just before their action. With those, "grouped" hangs less often.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..messages import Exchange, Message, messages
from ..schedule import Action, Schedule, awaited, topological_order

SENDS = ("nonblocking", "grouped", "blocking")
MANY = 8  # ranks that a roll call names


# ------------------------------------------------------------------------------------------------- circles in an order
def stuck(schedule: Schedule) -> str | None:
    """An action that comes before what it needs on its own rank, or a circle of ranks, and what to do about it.

    None if all ranks come to their ends.
    """
    reached = [0] * schedule.ranks
    for r, k, actions, _ in topological_order(schedule):
        reached[r] = k + len(actions)
    waits = {r: _wait(schedule, r, reached) for r, order in enumerate(schedule) if reached[r] < len(order)}
    places = schedule.places
    for r, (action, need) in waits.items():
        q, j = places[need]
        if q == r and j == reached[r]:
            return f"rank {r}, place {j + 1}: {action} runs beside {need}, which it needs: take {j} out of overlapped"
        if q == r:
            before = f"{action} comes before {need}, which it needs (place {j})"
            return f"rank {r}, place {schedule.orders[r].index(action)}: {before}: put {need} first"
    return _circle(schedule, waits) if waits else None


def _circle(schedule: Schedule, waits: dict[int, tuple[Action, Action]]) -> str:
    """The ranks that wait for each other, by the action that each cannot do and what that needs."""
    places = schedule.places
    ranks = _closed({r: places[need][0] for r, (_, need) in waits.items()})
    lines = [f"ranks {_listed(ranks)} wait for each other in a circle:"]
    for r in ranks:
        action, need = waits[r]
        q, j = places[need]
        behind = f", behind {waits[q][0]}" if need != waits[q][0] else ""
        k = schedule.orders[r].index(action)  # a step may be on several ranks
        lines.append(f"  rank {r}, place {k}: {action} needs {need}, which is at place {j} of rank {q}{behind}")
    earlier, later, q = next(filter(None, (_earlier(schedule, waits, waits[r][1]) for r in ranks)))
    lines.append(f"Change one of these orders: put {_listed(earlier)} before {later} on rank {q}, for example.")
    return "\n".join(lines)


def _earlier(schedule: Schedule, waits: dict, need: Action) -> tuple[list[Action], Action, int] | None:
    """`need` and what it needs on its rank, the action before which that rank has to do them, and the rank.

    None if `need` is what that rank waits to do, or needs it; not all ranks of a circle can be so.
    """
    q, j = schedule.places[need]
    behind = waits[q][0]
    needed, todo = {need}, [need]
    while todo:
        new = {*awaited(todo.pop(), schedule)} - needed
        needed |= new
        todo += new
    if behind in needed:
        return None
    between = schedule.orders[q][schedule.orders[q].index(behind) : j + 1]
    return [action for action in between if action in needed], behind, q


def _wait(schedule: Schedule, r: int, reached: list[int]) -> tuple[Action, Action]:
    """The action that rank r cannot do, and what that needs of a rank that has not come so far."""
    k, places = reached[r], schedule.places
    two = 2 if schedule.overlapped and k in schedule.overlapped[r] else 1
    return next(
        (action, need)
        for action in schedule.orders[r][k : k + two]
        for need in awaited(action, schedule)
        if places[need][1] >= reached[places[need][0]]
    )


def _closed(waits_for: dict[int, int]) -> list[int]:
    """The ranks of a circle, in which each waits for the next and the last for the first; from the smallest on."""
    path = [min(waits_for)]
    while path[-1] not in path[:-1]:
        path.append(waits_for[path[-1]])
    ranks = path[path.index(path[-1]) : -1]
    first = ranks.index(min(ranks))
    return ranks[first:] + ranks[:first]


def _listed(things: Sequence) -> str:
    *others, last = map(str, things)
    return f"{', '.join(others)} and {last}" if others else last


# --------------------------------------------------------------------------------------------------- synchronous sends
def synchronous(schedule: Schedule, sends: str) -> str | None:
    """The roll call of the deadlock that "grouped" or "blocking" sends end in; None if all ranks come to their ends."""
    exchanges = messages(schedule)
    groups = [_groups(schedule, r, sends, own) for r, own in enumerate(exchanges)]
    reached, unanswered = [0] * schedule.ranks, [0] * schedule.ranks
    called: set[int] = set()  # tags of the messages of which one side has been called
    todo = list(range(schedule.ranks))
    while todo:
        r = todo.pop()
        while reached[r] < len(groups[r]) and not unanswered[r]:
            for message in groups[r][reached[r]]:
                if message.tag not in called:
                    called.add(message.tag)
                    unanswered[r] += 1
                else:
                    called.remove(message.tag)
                    unanswered[message.peer] -= 1
                    if not unanswered[message.peer]:
                        reached[message.peer] += 1
                        todo.append(message.peer)
            reached[r] += not unanswered[r]
    waits = {
        r: [message for message in groups[r][k] if message.tag in called]
        for r, k in enumerate(reached)
        if k < len(groups[r])
    }
    return _roll_call(schedule, sends, exchanges, waits) if waits else None


def _groups(schedule: Schedule, r: int, sends: str, exchanges: list[Exchange]) -> list[list[Message]]:
    """The calls of a rank in groups that it waits for: all between two turns, or one by one."""
    pairs = schedule.overlapped[r] if schedule.overlapped else ()
    groups: list[list[Message]] = [[]]
    for k, (receives, sent) in enumerate(exchanges):
        if k - 1 in pairs:  # its receives stand beside those of the action before, its sends follow theirs
            groups[-2] += receives
            groups[-1] += sent
        else:
            groups[-1] += receives
            groups.append(list(sent))
    if sends == "blocking":
        return [[message] for group in groups for message in group]
    return [group for group in groups if group]


def _roll_call(schedule: Schedule, sends: str, exchanges: list, waits: dict[int, list[Message]]) -> str:
    """Each rank that cannot go on (if there are many, those in the circle), what it waits for, and a next step."""
    ranks = _closed({r: calls[0].peer for r, calls in waits.items()})
    lines = [f"{schedule.name} deadlocks with {sends} sends. Roll call:"]
    for r in waits if len(waits) <= MANY else ranks:
        calls = [_in_words(message, schedule.orders[r], exchanges[r]) for message in waits[r]]
        lines.append(f"  rank {r} {', and '.join(calls)}")
    if len(waits) > MANY:
        lines.append(f"  and {len(waits) - len(ranks)} more ranks, which wait for these")
    lines.append(f"Ranks {_listed(ranks)} wait for each other, and none can do what another waits for.")
    ways = ['Let senders go on (Isend; sends="nonblocking")']
    if sends == "blocking":
        ways.append('wait for the sends and receives between two actions together (sends="grouped")')
    lines.append(", or ".join([*ways, "change the order."]))
    return "\n".join(lines)


def _in_words(message: Message, order: tuple[Action, ...], exchanges: list[Exchange]) -> str:
    for k, (receives, sent) in enumerate(exchanges):
        if message in sent:
            return f"has done {order[k]} (place {k}) and sends {message} to rank {message.peer}"
        if message in receives:
            return f"is to do {order[k]} (place {k}) and receives {message} from rank {message.peer}"
    raise KeyError(message)

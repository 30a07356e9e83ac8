"""The roll call: what every rank was doing when a launch went wrong, and one sentence on the likely cause."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ... import mpi
from ..errors import LaunchError, RankStatus
from ..spelling import amount, error_text, posted, ranks_text
from .epochs import Turn

_PACKAGE = str(Path(__file__).parents[1])


# Reports that fail ------------------------------------------------------------------------------------------------


def fault(error: BaseException, what: str) -> LaunchError:
    """The error for a mistake of our own: a launch must end, whatever happens."""
    return LaunchError(f"{what}: {error_text(error)}", details=traceback.format_exc())


def made(make: Callable[[], LaunchError | None]) -> LaunchError | None:
    """What `make` returns; if the report itself goes wrong, that is what is reported."""
    try:
        return make()
    except Exception as error:
        return fault(error, "the launch is over, and its report could not be made")


# The roll call -----------------------------------------------------------------------------------------------------


def roll_call(engine: Any) -> tuple[RankStatus, ...]:
    """One line a rank."""
    return tuple(_status(rank) for rank in engine.ranks)


def _status(rank: Any) -> RankStatus:
    if rank.state in ("finished", "failed", "killed", "hung"):
        return RankStatus(rank.index, rank.state, rank.said.partition("\n")[0])
    if rank.call is None:
        return RankStatus(rank.index, rank.state)
    name, place = rank.call.context.name, rank.call.context.rank_of[rank.index]
    group = name if place == rank.index else f"{name} (rank {place} there)"
    call = str(rank.call) if rank.state == "waiting" else f"after {rank.call}"
    pending = [told for awaited in rank.awaited if awaited.done_at is None and (told := posted(awaited)) not in call]
    if pending and rank.call.name.lower().startswith("wait"):
        call += ": " + ", ".join(pending[:3]) + (", ..." if len(pending) > 3 else "")
    return RankStatus(rank.index, rank.state, call, group, rank.call.where)


def failure(engine: Any, failed: list) -> tuple[str, tuple[RankStatus, ...], str]:
    """Cause, roll call and tracebacks when the program raised."""
    first = min(failed, key=lambda rank: (rank.clock, rank.index))
    waiting = [rank.index for rank in engine.ranks if rank.state == "waiting"]
    cause = f"the program raised on {ranks_text([rank.index for rank in failed])}: {first.said}"
    if waiting:
        cause += f" ({ranks_text(waiting)} then waited in vain)"
    return cause, roll_call(engine), "\n".join(_traceback(rank) for rank in failed[:4])


def _traceback(rank: Any) -> str:
    frames = traceback.extract_tb(rank.error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith(_PACKAGE)]
    return f"--- rank {rank.index} ---\n" + "".join(traceback.format_list(own)) + rank.said


def stack_of(rank: Any) -> str:
    """The Python stack of a rank that is running, the program's lines only."""
    frame = sys._current_frames().get(rank.thread.ident)
    frames = [f for f in traceback.extract_stack(frame) if not f.filename.startswith((_PACKAGE, sys.base_prefix))]
    return f"--- rank {rank.index} ---\n" + "".join(traceback.format_list(frames)).rstrip()


# Likely causes -----------------------------------------------------------------------------------------------------


def deadlock_cause(engine: Any) -> str:
    """One sentence on why nobody can go on: the first of the usual reasons that fits."""
    waiting = [rank for rank in engine.ranks if rank.state == "waiting"]
    found = _locked_out(engine, waiting) or _absent_from_collective(engine) or _wrong_tag(engine, waiting)
    found = found or _left_early(engine, waiting) or _all_sending(engine, waiting) or _one_source(engine, waiting)
    found = found or _all_receiving(engine, waiting)
    return f"deadlock: {found or f'{ranks_text([r.index for r in waiting])} wait for what no rank is going to do'}"


def _locked_out(engine: Any, waiting: list) -> str | None:
    """The first who waits for a lock, and who does not give it back."""
    for turn in (turn for rank in waiting for turn in rank.awaited if isinstance(turn, Turn) and turn.done_at is None):
        holder = engine.ranks[min(turn.locks.held)]
        held = turn.locks.held[holder.index]
        return (
            f"rank {turn.rank} waits in {turn.call} ({turn.call.where}), but rank {holder.index} has that lock "
            f"since {held.call} ({held.call.where}) and does not give it back: {_doing(holder)}. Is an Unlock "
            f"missing, or do ranks lock several windows or targets in different orders?"
        )
    return None


def _absent_from_collective(engine: Any) -> str | None:
    for context in engine.contexts.values():
        for call in context.calls.values():
            here = [context.group[rank] for rank in call.arrived]
            absent = [rank for rank in context.group if rank not in here]
            doing = [_doing(engine.ranks[rank]) for rank in absent]
            what = f"{doing[0]}" if len(set(doing)) == 1 else "elsewhere (below)"
            verb = "call" if len(here) > 1 else "calls"
            has = "have" if len(absent) > 1 else "has"
            return (
                f"{ranks_text(here)} {verb} {call.name} in group {context.name!r}, {ranks_text(absent)} {has} not: "
                f"{what}. A collective must be called by every rank of its group"
            )
    return None


def _doing(rank: Any) -> str:
    return {"waiting": f"waiting in {rank.call}", "finished": "returned already"}.get(rank.state, rank.state)


def _requests(ranks: list, table: dict) -> list:
    """The sends (or receives) of `table` that these ranks are waiting for."""
    awaited = {id(request) for rank in ranks for request in rank.awaited}
    return [request for requests in table.values() for request in requests if id(request) in awaited]


def _wrong_tag(engine: Any, waiting: list) -> str | None:
    for receive in _requests(waiting, engine.messages.receives):
        for send in engine.messages.sends.get((receive.context, receive.rank), []):
            if receive.peer in (send.rank, mpi.ANY_SOURCE):
                return (
                    f"rank {receive.rank} waits for a message with tag {receive.tag} from rank {send.rank}, "
                    f"but what rank {send.rank} sent to it has tag {send.tag}"
                )
    return None


def _left_early(engine: Any, waiting: list) -> str | None:
    for request in _requests(waiting, engine.messages.receives) + _requests(waiting, engine.messages.sends):
        if request.peer >= 0 and engine.ranks[request.peer].state == "finished":
            return f"rank {request.rank} waits for rank {request.peer} in {request.call}, which has returned already"
    return None


def _all_sending(engine: Any, waiting: list) -> str | None:
    sends = _requests(waiting, engine.messages.sends)
    if {send.rank for send in sends} != {rank.index for rank in waiting}:
        return None
    if any(send.call.name.lower() in ("send", "ssend") for send in sends):
        return (
            "every waiting rank is in a send to a rank that is not receiving. Send may wait until its message is "
            "received: MPI may buffer it or not, and here it waits. Use Sendrecv or Isend, or let some "
            "ranks receive first"
        )
    begun = {receive.rank for receives in engine.messages.receives.values() for receive in receives}
    if begun.isdisjoint(rank.index for rank in waiting):
        return "every waiting rank waits for a send, and none receives: was a receive forgotten, or put after the wait?"
    return (
        "every waiting rank sends to a rank that does not receive from it: the partners do not fit. To whom does each "
        "rank send, and from whom does that one receive?"
    )


def _one_source(engine: Any, waiting: list) -> str | None:
    """Ranks that all wait for one: often arguments in the wrong order."""
    receives = _requests(waiting, engine.messages.receives)
    sources = {receive.peer for receive in receives}
    if len(receives) < 2 or len(sources) != 1 or min(sources) < 0:
        return None
    return (
        f"{ranks_text(receive.rank for receive in receives)} wait for a message from rank {sources.pop()}, in "
        f"{receives[0].call.name}. Is it meant to send to each of them? Else look at the order of the arguments: it is "
        f"Recv(buf, source, tag) and Sendrecv(sendbuf, dest, sendtag, recvbuf, source, recvtag)"
    )


def _all_receiving(engine: Any, waiting: list) -> str | None:
    receives = _requests(waiting, engine.messages.receives)
    if {receive.rank for receive in receives} == {rank.index for rank in waiting}:
        return "every waiting rank is in a receive, and nobody is left to send: was a send forgotten, or put after it?"
    return None


def time_out_cause(engine: Any, running: Any, before: tuple, now: tuple, timeout: float) -> str:
    """Why a launch was not done in time: what has happened in its second half (events, polls, messages)."""
    events, polls, messages = (new - old for old, new in zip(before, now, strict=True))
    last = f"{timeout / 2:g} s"
    if messages:
        return (
            f"the ranks go on exchanging messages: {now[2]:,} in all, {messages:,} of them in the last {last} (rank "
            f"{running.index} called {running.call} last). Is there an endless loop? Else give launch a larger timeout"
        )
    if polls and not events:
        asking = [rank for rank in engine.ranks if rank.polls and rank.state not in ("finished", "failed")]
        asked = ", ".join(f"rank {rank.index} in {rank.call} {rank.polls:,} times in a row" for rank in asking[:4])
        return (
            f"in the last {last} no rank has done anything but poll in vain ({asked}{', ...' if asking[4:] else ''}), "
            f"and nothing is in flight: what they ask for will never come, unless one of these loops ends by itself. "
            f"If one is to end by a count, give launch a larger timeout"
        )
    if events or polls:
        return (
            f"the ranks go on making calls (rank {running.index} called {running.call} last), but no message was sent "
            f"in the last {last}. Is there an endless loop? Else give launch a larger timeout"
        )
    return (
        f"rank {running.index} is running and makes no MPI call that would let others run. Is there an endless loop? "
        f"If not, give launch a larger timeout"
    )


def polling_cause(me: Any) -> str:
    """Why polling ended."""
    return (
        f"deadlock: rank {me.index} polls in {me.call}, in a loop that does nothing else, nothing is in flight, and "
        f"every other rank waits, polls in such a loop or has returned: what it asks for will never come"
    )


def type_cause(send: Any, receive: Any) -> str:
    """Why a message was refused: elements."""
    return (
        f"rank {send.rank} sent {amount(send.buffer)} to rank {receive.rank}, which receives {amount(receive.buffer)} "
        f"({receive.call.where}): MPI does not convert, both sides must name the same type of element"
    )


def truncation_cause(send: Any, receive: Any) -> str:
    """Why a message was refused: length."""
    nbytes, place = send.buffer.raw.size, receive.call.where
    if receive.buffer is None:
        cure = f"say irecv({1 << nbytes.bit_length()}, source, tag), or use recv, which takes objects of any size"
        return f"rank {receive.rank}'s irecv has room for {receive.most:,} bytes, not for {nbytes:,} ({place}): {cure}"
    return (
        f"truncation: rank {send.rank} sent {amount(send.buffer)} ({nbytes} bytes) to rank "
        f"{receive.rank}, whose buffer has room for {receive.buffer.raw.size} bytes ({place})"
    )


def length_cause(send: Any, receive: Any) -> str:
    """Why a message inside one of our own collectives was refused: its ranks have arrays of different lengths."""
    return (
        f"rank {send.rank} sends {amount(send.buffer)} ({send.buffer.raw.size} bytes) in a collective in which rank "
        f"{receive.rank} expects {receive.buffer.raw.size} bytes from it ({receive.call.where}): all ranks must "
        f"call it with arrays of one length"
    )


def unreceived(engine: Any) -> str:
    """What was left lying when the program ended; empty if nothing was."""
    sends = [*(send for queue in engine.messages.sends.values() for send in queue), *engine.messages.claimed]
    lines = [
        f"rank {send.rank} sent {amount(send.buffer)} with tag {send.tag} to rank {send.peer}, which never received "
        f"it ({send.call.where})"
        for send in sends
    ]
    lines += [
        f"rank {receive.rank} posted {receive.call}, and no such message was ever sent ({receive.call.where})"
        for queue in engine.messages.receives.values()
        for receive in queue
    ]
    return "the program ended with unfinished messages: " + _some(lines) if lines else ""


def left(engine: Any) -> str:
    """Which requests were never waited for, but on revoked communicators; which epochs never ended; empty if none."""
    lines = [
        f"rank {rank.index} never waited for the request of {posted(one)} ({one.call.where})"
        for rank in engine.ranks
        for one in (its._completion for its in rank.requests if rank.index not in its._comm._context.revoked)
        if hasattr(one, "call")  # None is complete; a message to PROC_NULL has nothing to wait for
    ]
    why = "until a request has been waited for (or tested), its message may be on its way"
    if not lines:
        lines = [
            f"rank {one.rank} never ended the epoch of {one.call} ({one.call.where})"
            for window in engine.windows
            for one in window.unfinished()
        ]
        why = "until an Unlock or a Fence, its accesses may be on their way, and nobody else gets its locks"
    return f"{_some(sorted(lines))}: {why}" if lines else ""


def _some(lines: list[str]) -> str:
    """The first few lines, and how many there are besides."""
    return "; ".join(lines[:5] + ([f"and {len(lines) - 5} more"] if len(lines) > 5 else []))


def changed_cause(request: Any) -> str:
    """Why a request was refused: its buffer is not as it was."""
    return (
        f"rank {request.rank} changed the buffer of {request.call} before that was complete "
        f"({request.call.where}): MPI may read or write it at any moment until the request has been waited for, "
        f"or, for a window, until a flush or the end of the epoch"
    )

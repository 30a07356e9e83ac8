"""Calls that fail on the virtual cluster: what is pending ends with an exception, because a rank died or by Revoke.

A pending operation of a rank is one that it awaits, or whose request it holds. `fail` ends one: what was posted for it
and has met nobody is withdrawn, the exception is kept (engine.errors) until the rank looks, and a rank that waits is
woken at once, also if it waits for more than this one: else it might wait for ever for somebody who waits for it.

A receive from ANY_SOURCE whose sender may have died is not at its end: it stays posted, and only the wait for it fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heapify
from typing import Any

from ... import mpi
from ...mpi.failures import FailureError
from .completion import NO_STATUS, Bell, Completion, Request


def pending(rank: Any) -> list[Completion]:
    """The operations of a rank that are not complete, and have not failed."""
    own = [*rank.awaited, *(request._completion for request in rank.requests)]
    return [one for one in dict.fromkeys(own) if one is not None and one.done_at is None and not one.steadfast]


def context_of(rank: Any, completion: Completion) -> Any:
    """The communicator of a pending operation, as what its members share."""
    call = getattr(completion, "call", None) or rank.call
    return call.context


def needed(completion: Any) -> str:
    """A pending operation, or what a rank has called, for a report: "Recv(source=2, tag=0) (line)"."""
    call = completion.call
    return f"{call} ({call.where})"


def fail(engine: Any, time: float, rank: Any, completion: Any, error: mpi.Exception) -> None:
    """End a pending operation of `rank` at `time` with an exception, which the rank raises when it looks."""
    if hasattr(completion, "rounds"):  # a collective
        completion.error = error
        withdraw(engine, lambda request: request.waiter is completion)
        drop_events(engine, lambda event: event[4] == completion.resume)
        completion.rounds.close()
    else:
        withdraw(engine, lambda request: request is completion)
        engine.errors[completion] = error
    leave(context_of(rank, completion), rank, completion)
    rank.requests = {request: None for request in rank.requests if request._completion is not completion}
    waiter, completion.waiter = completion.waiter, None
    completion.complete(engine, time)
    wake(engine, time, waiter)


def fail_later(engine: Any, time: float, rank: Any, completion: Any, error: mpi.Exception) -> None:
    """Let whoever waits for a receive from ANY_SOURCE fail at `time`; the receive stays posted."""
    engine.errors[completion] = error
    wake(engine, time, completion.waiter)


def wake(engine: Any, time: float, waiter: Any) -> None:
    """Let a waiter go on at `time`, whatever else it waits for."""
    if isinstance(waiter, Bell):
        waiter.progress(engine, time)
    elif waiter is not None:
        for other in engine.ranks[waiter.index].awaited:
            if other.waiter is waiter:
                other.waiter = None
        waiter.missing = 0
        engine.post(time, waiter.index, waiter.resume)


def leave(context: Any, rank: Any, completion: Any) -> None:
    """Take a rank out of the collective call that it has failed in: it is not there any more."""
    number = completion.agent.context[1] if hasattr(completion, "agent") else getattr(completion, "number", None)
    call = context.calls.get(number)
    if call is not None:
        call.arrived.pop(context.rank_of[rank.index], None)
        if not call.arrived:
            del context.calls[number]


def withdraw(engine: Any, wanted: Callable[[Request], bool]) -> None:
    """Take back the messages, receives and probes that have met nobody, also those whose time has not come yet."""
    messages = engine.messages
    for table in (messages.sends, messages.receives, messages.probes):
        for waiting in table.values():
            waiting[:] = [request for request in waiting if not wanted(request)]
    drop_events(engine, lambda event: isinstance(event[5], Request) and event[5].done_at is None and wanted(event[5]))


def drop_events(engine: Any, wanted: Callable[[tuple], bool]) -> None:
    """Take events out of the queue."""
    for queue in (engine._queue, engine.polls.queue):
        kept = [event for event in queue if not wanted(event)]
        if len(kept) < len(queue):
            queue[:] = kept
            heapify(queue)


def raise_failed(engine: Any, completions: Iterable[Any]) -> None:
    """Raise what the first of a blocking call's operations has failed with, if one has; give up the others.

    A blocking call cannot leave a receive behind, so what may still be completed for a request has failed here.
    """
    completions = list(completions)
    error = next((engine.errors[one] for one in completions if one in engine.errors), None)
    if error is None:
        return
    for one in completions:
        engine.errors.pop(one, None)
    withdraw(engine, lambda request: any(request is one for one in completions))
    if error == mpi.ERR_PROC_FAILED_PENDING:
        error = FailureError(mpi.ERR_PROC_FAILED, getattr(error, "why", ""))
    raise error


def raise_open(engine: Any, completions: Iterable[Any]) -> None:
    """Raise why the wait for requests is over although none is complete."""
    raise engine.errors.pop(next(one for one in completions if one in engine.errors))


def doubtful(rank: Any, completion: Any) -> list[int]:
    """The failed ranks that may have been the sender of a receive from ANY_SOURCE, and are not acknowledged."""
    if not isinstance(completion, Request) or completion.peer != mpi.ANY_SOURCE or completion.status is not NO_STATUS:
        return []
    context = completion.call.context
    known = [dead for dead in rank.failed if dead in context.rank_of]
    return known[context.acked.get(rank.index, 0) :]


def check_sender(engine: Any, rank: Any, completion: Any) -> None:
    """mpi.Exception if a rank asks (Test, Iprobe) for what a failed rank may have been to send."""
    if not isinstance(completion, Request) or completion.done_at is not None:
        return
    if completion.peer in rank.failed:
        raise FailureError(mpi.ERR_PROC_FAILED, f"{needed(completion)}: {obituary(engine, [completion.peer])}")
    if lost := doubtful(rank, completion):
        probe = not any(request._completion is completion for request in rank.requests)
        kind = mpi.ERR_PROC_FAILED if probe else mpi.ERR_PROC_FAILED_PENDING
        raise FailureError(kind, f"{needed(completion)}: {obituary(engine, lost)}")


def obituary(engine: Any, dead: Iterable[int]) -> str:
    """ "rank 2 failed at 0.5 s": who, and when."""
    return ", ".join(f"rank {index} failed at {engine.deaths[index]:g} s" for index in dead)


def take_some_failed(requests: Any, statuses: list, errors: dict) -> None:
    """The end of Waitall where some requests have failed: take what is complete; what is not stays as it is.

    Raises ERR_IN_STATUS, and each status has the error class of its request: SUCCESS, or ERR_PENDING if it is not
    complete, as MPI has it.
    """
    first = ""
    for request, status in zip(requests, statuses, strict=False):
        completion, kind = request._completion, mpi.SUCCESS
        try:
            if completion is None or completion.done_at is not None:
                request._take(status) if completion is not None else request.Wait(status)
            else:
                error = errors.pop(completion, None)
                kind, first = (mpi.ERR_PENDING, first) if error is None else (int(error), first or str(error))
        except mpi.Exception as error:
            kind, first = error.Get_error_class(), first or str(error)
        if status is not None:
            status.error = kind
    if first:
        raise FailureError(mpi.ERR_IN_STATUS, first)


def revoke(engine: Any, context: Any, index: int, time: float, by: int) -> None:
    """A rank learns that a communicator is revoked: what it has pending there fails, and so do all calls to come."""
    rank = engine.ranks[index]
    if index in context.revoked or rank.state in ("killed", "hung"):
        return
    context.revoked.add(index)
    for view in context.views:
        if view._me is rank:
            view.bar(mpi.ERR_REVOKED)
    for one in pending(rank):
        if context_of(rank, one) is context:
            why = f"{needed(one if hasattr(one, 'call') else rank)}: revoked by rank {by} at {time:g} s"
            fail(engine, time, rank, one, FailureError(mpi.ERR_REVOKED, why))
    # what has been begun there need not be waited for any more
    rank.requests = {request: None for request in rank.requests if request._comm._context is not context}


def forget_revoked(engine: Any) -> None:
    """Take away what lies on revoked communicators: nobody can receive it any more, and that is no mistake."""
    revoked = {key for key, context in engine.contexts.items() if context.revoked}
    for table in (engine.messages.sends, engine.messages.receives) if revoked else ():
        for (key, _), waiting in table.items():
            if key in revoked:
                waiting.clear()

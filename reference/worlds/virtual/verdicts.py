"""How a launch on the virtual cluster has ended, once nothing can happen any more: which error, if any."""

from __future__ import annotations

from typing import Any

from ...mpi.failures import FailureError
from ..errors import Deadlock, LaunchError, RankDied, RankFailed, RequestsLeft, TimedOut, UnreceivedMessages
from ..spelling import ranks_text
from . import report
from .failing import forget_revoked


def verdict(engine: Any) -> LaunchError | None:
    """What went wrong, if anything."""
    if any(rank.state == "failed" for rank in engine.ranks):
        return failure(engine)
    if engine.doomed is not None:
        kind, cause = engine.doomed
        return kind(cause, report.roll_call(engine))
    if any(rank.state in ("waiting", "hung") for rank in engine.ranks):
        return Deadlock(_because_of_faults(engine) or report.deadlock_cause(engine), report.roll_call(engine))
    forget_revoked(engine)
    for kind, left in ((UnreceivedMessages, report.unreceived(engine)), (RequestsLeft, report.left(engine))):
        if left:
            return kind(left, report.roll_call(engine))
    return None


def failure(engine: Any, until: str = "") -> LaunchError:
    """The report on ranks that raised; where that is because others were killed, it says so."""
    failed = [rank for rank in engine.ranks if rank.state == "failed"]
    if engine.deaths and all(isinstance(rank.error, FailureError) for rank in failed):
        return RankDied(_killed(engine, failed) + until, report.roll_call(engine))
    cause, calls, details = report.failure(engine, failed)
    return RankFailed(cause + until, calls, details, {rank.index: rank.error for rank in failed})


def timed_out(engine: Any, running: Any, timeout: float, before: tuple, now: tuple) -> LaunchError:
    """The report on a launch whose time is over; `before` was the progress at half time."""
    if any(rank.state == "failed" for rank in engine.ranks):
        return failure(engine, f"; rank {running.index} then went on until the {timeout:g} s of this launch were over")
    if engine.doomed is not None:
        why = f"it could not have ended well: {engine.doomed[1]}"
    else:
        why = report.time_out_cause(engine, running, before, now, timeout)
    cause = f"the launch took more than {timeout:g} s of real time; {why}"
    return TimedOut(cause, report.roll_call(engine), report.stack_of(running))


def _killed(engine: Any, failed: list) -> str:
    """Who was killed, and who needed them."""
    cause = "; ".join(f"rank {index} {engine.ranks[index].said}" for index in engine.deaths)
    needed = [f"rank {rank.index} in {rank.error.why.partition(': rank ')[0]}" for rank in failed]
    more = f", ... ({len(needed)} of them)" if len(needed) > 4 else ""
    cause += f". Others needed that, and did not catch the exception: {'; '.join(needed[:4])}{more}"
    waiting = [rank.index for rank in engine.ranks if rank.state == "waiting"]
    return cause + (f"; {ranks_text(waiting)} then waited in vain" if waiting else "")


def _because_of_faults(engine: Any) -> str:
    """Which faults of the launch keep ranks waiting: hanging ranks, a network in two parts, lost messages."""
    why = engine.obstacles()
    if not why:
        return ""
    waiting = [rank.index for rank in engine.ranks if rank.state == "waiting"]
    return f"{'; '.join(why)}: {ranks_text(waiting)} cannot go on" if waiting else "; ".join(why)

"""An all-reduce that is planned once and carried out often: what a rank keeps from call to call.

Idea      A training loop reduces arrays of the same few lengths again and again. For each call one would work out what
          to post, and take fresh memory for what comes, which the system maps page by page. Both are kept with the
          communicator. benchmarks/allreduce.py measures what that is worth, in the column "anew".
Price     Memory of up to the largest array that was reduced, for as long as the communicator lives.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .. import mpi
from .algorithms import find
from .catalogue import ALLREDUCE
from .rounds import Blocks, Posts, carry_out, carry_out_in_turn, in_turn, plan


class Plan(NamedTuple):
    """What one rank has to do in all-reduces of arrays of one length, type and device.

    posts    what it has to post
    in_turn  whether that is at most one message each way at a time
    spare    memory for what comes, of calls that have ended; all plans for one type and device share it
    """

    posts: list[Posts]
    in_turn: bool
    spare: list[list]


def plan_allreduce(comm, x, algorithm: str, options: dict[str, Any]) -> Plan:
    """The plan of this rank for one-dimensional arrays like x. Raises ValueError for an unknown algorithm."""
    schedule = find(ALLREDUCE, algorithm)
    blocks = Blocks(x, schedule.blocks(comm.size, **options))
    posts = plan(schedule.rounds(comm.rank, comm.size, **options), blocks, blocks)
    return Plan(posts, in_turn(posts, len(x), len(x)), mpi.kept(comm).setdefault(("spare", x.dtype, x.device), []))


def reduce_planned(comm, plan: Plan, x, op=mpi.SUM, tag: int | None = None, blocking: bool = False) -> Iterator[list]:
    """Carry out a plan; tag: as in rounds.carry_out. blocking: whether it may wait, and not yield what to wait for."""
    scratch = plan.spare.pop() if plan.spare else []  # not the one of a call that is still under way
    if blocking and plan.in_turn:
        carry_out_in_turn(comm, plan.posts, x, x, op, tag, scratch)
    else:
        yield from carry_out(comm, plan.posts, x, x, op, tag, scratch)
    plan.spare.append(scratch)

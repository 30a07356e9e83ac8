"""Run an exercise's function on one case and report what it did, as plain data.

Every rank loads the student's file for itself, as separate processes would, so ranks do not share its globals.
"""

from __future__ import annotations

import functools
import math
import os
import sys
from collections import Counter
from types import CodeType, ModuleType
from typing import Any

from .exercise import ALPHA, BETA, Answer, Case
from .plain import decode, encode, overlap
from .records import fits

# The shape of what `play` and `play_alone` return, and of what `play` has in addition, beside "seconds"
PLAYED = {"results": [Any], "arguments": [Any], "aliased": [bool], "came": [[Any]]}
ON_RANKS = {"calls": [{str: int}], "sent": [[(int, int)]]}


def warm_up(*packages: str) -> None:
    """Import in the parent what children need, so that a fork finds it ready. Starts neither MPI nor threads."""
    import reference.worlds  # noqa: F401  here, because a chapter without a begun exercise does not need it

    if "torch" in packages and "torch" not in sys.modules:
        import torch

        torch.set_num_threads(1)  # before any operation: a parent that has used more makes its children hang


def play(path: str, name: str, case: Case, world: str, timeout: float, network=None) -> dict[str, Any]:
    """Run function `name` of `path` on all ranks of a case in `world`; raises what `launch` raises."""
    from reference.worlds import launch, networks

    virtual = world == "virtual"
    where = {"network": network or networks.uniform(ALPHA, BETA, gap=math.inf)} if virtual else {"world": world}
    run = launch(on_one_rank, case.ranks, path, name, case.arguments, case.noted, timeout=timeout, **where)
    sent: list[list] = [[] for _ in range(case.ranks)]
    for event in run.timeline:
        if event.kind == "send" and event.peer != event.rank:
            sent[event.rank].append([int(event.peer), int(event.nbytes)])
    seconds = float(run.seconds) if virtual else None
    return {**_columns(run.results), "calls": [dict(calls) for calls in run.calls], "sent": sent, "seconds": seconds}


def play_alone(path: str, name: str, case: Case) -> dict[str, Any]:
    """Run a function that takes no communicator, for each arguments of the case."""
    return _columns([on_one_rank(None, path, name, case.arguments, rank=rank) for rank in range(case.ranks)])


def on_one_rank(comm, path: str, name: str, arguments: tuple, noted: str = "", rank: int = 0) -> tuple:
    """What one rank does: one entry of each of the first lists of an Answer. stacks.py finds `rank` in this frame."""
    rank = comm.rank if comm else rank
    mine, came = arguments[rank], []
    given = Noting(comm, noted, came) if noted else comm
    result = getattr(load(path), name)(*([given] if comm else []), *mine)
    return encode(result), encode(mine), any(overlap(result, argument) for argument in mine), came


class Noting:
    """A communicator that notes the arguments of one kind of call, as the call has left them."""

    def __init__(self, comm, kind: str, came: list):
        self._comm, self._kind, self._came = comm, kind, came

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._comm, name)
        if name != self._kind:
            return call

        def noted(*arguments: Any, **named: Any) -> Any:
            result = call(*arguments, **named)
            self._came.append(encode([*arguments, *named.values()]))
            return result

        return noted


def _columns(rows: list[tuple]) -> dict[str, list]:
    """The ranks' entries, rank by rank, as lists with names."""
    return dict(zip(PLAYED, map(list, zip(*rows))))


def answer(played: Any, case: Case, distributed: bool, world: str) -> Answer:
    """What `play` sent, as an Answer. Raises ValueError if it is not what `play` sends of this case."""
    shape = PLAYED | (ON_RANKS | {"seconds": float if world == "virtual" else None} if distributed else {})
    if not fits(played, shape):
        raise ValueError("not an answer")
    seconds = played.get("seconds")
    if seconds is not None and not 0 <= seconds < math.inf:
        raise ValueError("no time")
    lists = [entries for entries in played.values() if isinstance(entries, list)]
    if any(len(entries) != case.ranks for entries in lists):
        raise ValueError("not one entry a rank")
    sent = [[tuple(message) for message in messages] for messages in played.get("sent", [])]
    if not all(0 <= to < case.ranks and nbytes >= 0 for messages in sent for to, nbytes in messages):
        raise ValueError("messages to nobody")
    arguments = list(map(decode, played["arguments"]))
    if not all(isinstance(mine, tuple) for mine in arguments):
        raise ValueError("no arguments")
    calls = [Counter(calls) for calls in played.get("calls", [])]
    came = [list(map(decode, calls)) for calls in played["came"]]
    if not all(isinstance(call, list) for calls in came for call in calls):
        raise ValueError("calls without arguments")
    return Answer(list(map(decode, played["results"])), arguments, played["aliased"], calls, sent, seconds, came)


def load(path: str) -> ModuleType:
    """Run the student's file and return it as a module of its own."""
    module = ModuleType(path.rpartition("/")[2].removesuffix(".py"))
    module.__file__ = path
    sys.modules[module.__name__] = module  # dataclasses and pickle look there
    exec(_compiled(path, os.stat(path).st_mtime_ns), module.__dict__)
    return module


@functools.cache
def _compiled(path: str, changed: int) -> CodeType:
    """The code of a file, as it was when it was last `changed`: real ranks live on from grade to grade."""
    with open(path, "rb") as file:
        return compile(file.read(), path, "exec")

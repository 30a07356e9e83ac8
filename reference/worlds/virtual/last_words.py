"""The report on a launch whose process is about to be ended, made in a process of its own: see sentry.py.

`python -m reference.worlds.virtual.last_words` reads what the sentry knows as JSON and prints the report.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ... import mpi
from ..errors import RankStatus, TimedOut
from ..outcomes import Frame, Snapshot, details, dumped_frames, program_frames, program_line
from ..spelling import ranks_text

ENGINE = str(Path(__file__).with_name("engine.py"))
CALLS = set(" ".join(mpi.API.values()).split())


def snapshot(stack: str) -> Snapshot:
    """Where a virtual rank is, from what faulthandler said of its thread."""
    frames = dumped_frames(stack)
    for outside, (file, _, name) in enumerate(frames):
        if (file, name) == (ENGINE, "_live_as"):
            frames = frames[outside:]  # without what every thread begins with
            break
    waiting = bool(frames) and frames[-1][0] == ENGINE and frames[-1][2] in ("_hand_over", "_live_as")
    return Snapshot(waiting, _call(frames) if waiting else "", "", program_frames(frames))


def _call(frames: list[Frame]) -> str:
    """The MPI call that the program is in, if its method has that name."""
    last = max((i for i, frame in enumerate(frames) if program_frames([frame])), default=-1)
    name = frames[last + 1][2]
    return name if name in CALLS else ""


def report(why: str, pid: int, ranks: int, stacks: dict[str, str], ended: list[int]) -> str:
    """The whole text: cause, roll call, and the stacks of the ranks that do not wait."""
    seen = {int(rank): snapshot(stack) for rank, stack in stacks.items()}
    running = {rank: sight for rank, sight in seen.items() if not sight.waiting}
    who = f", called by {ranks_text(running)}," if running else ""
    cause = (
        f"{why}, and cannot be ended alone: C code{who} keeps the Python interpreter, and no other line of Python "
        f"can run. So the whole process ({pid}) is ended. Is it the code of a line below that takes so long?"
    )
    roll_call = [_status(rank, seen.get(rank), rank in ended) for rank in range(ranks)]
    return f"\n{TimedOut(cause, roll_call, details({}, running))}\n"


def _status(rank: int, seen: Snapshot | None, ended: bool) -> RankStatus:
    if seen is None:
        return RankStatus(rank, "finished" if ended else "unknown")
    return RankStatus(rank, "waiting" if seen.waiting else "running", seen.call, where=program_line(seen.frames))


if __name__ == "__main__":
    print(report(**json.load(sys.stdin)))

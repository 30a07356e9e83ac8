"""What the parent sends to each real rank, what comes back, and the Run or the error that all of it makes."""

from __future__ import annotations

import re
import sysconfig
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ..perf.timeline import Event, Record
from .errors import RankFailed, RankStatus
from .run import Run
from .spelling import error_text, location, ranks_text

ESCAPED = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")
Frame = tuple[str, int, str]  # file, line, function
MACHINERY = (str(Path(__file__).parent), str(Path(__file__).parents[1] / "mpi"))
LIBRARIES = tuple({sysconfig.get_path(key) for key in ("stdlib", "purelib", "platlib")}) + (
    str(Path(__file__).parents[1] / "collectives"),
)


@dataclass
class Order:
    """One launch: `program` is pickled (program, args); it is run with the parent's import path and directory."""

    number: int
    ranks: int
    program: bytes
    path: list[str]
    directory: str


@dataclass
class Outcome:
    """What one rank reports when its launch is over.

    `value` is the pickled result or, if `failed`, the pickled exception; `story` then tells each exception of its chain
    with the program's frames. Times are seconds on the machine's clock. `communicators` counts those made
    (infinite: no other program may run on this job).
    """

    value: bytes
    failed: bool = False
    story: list[tuple[str, list[Frame]]] = field(default_factory=list)
    start: float = 0.0
    end: float = 0.0
    calls: Counter = field(default_factory=Counter)
    bytes_sent: int = 0
    messages: int = 0
    communicators: float = 0
    events: list[Event] = field(default_factory=list)


@dataclass
class Snapshot:
    """Where a rank was when somebody looked: whether in a call, which one (or the last), and the program's frames.

    `stopped`: by a signal, so that it could not go on.
    """

    waiting: bool = False
    call: str = ""
    group: str = ""
    frames: list[Frame] = field(default_factory=list)
    stopped: bool = False


def program_frames(frames: list[Frame]) -> list[Frame]:
    """The frames (outermost first) without those of the machinery around the program."""
    return [frame for frame in frames if not frame[0].startswith((*MACHINERY, "<frozen "))]


def dumped_frames(thread: str) -> list[Frame]:
    """The frames of one thread in what faulthandler wrote, outermost first."""
    frames = re.findall(r'File "(.*)", line (\d+) in (.*)', thread)
    return [(_spelled(file), int(line), _spelled(name)) for file, line, name in reversed(frames)]


def _spelled(dumped: str) -> str:
    """A name as it is: faulthandler writes letters beyond ASCII by their numbers, as in z\\xe4hlt."""
    return ESCAPED.sub(lambda found: chr(int(found[found.lastindex], 16)), dumped)


def read_dump(text: str) -> list[Frame]:
    """The program's frames in what faulthandler wrote: those of the thread in which the program runs."""
    for thread in re.split("hread 0x", text):
        frames = dumped_frames(thread)
        if any(name == "run_program" and file.startswith(MACHINERY) for file, _, name in frames):
            return program_frames(frames)
    return []


def tell_story(error: BaseException) -> list[tuple[str, list[Frame]]]:
    """The chain of exceptions that led to `error`, the first one first, each with its text and the program's frames."""
    story, seen = [], set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        frames = [(f.filename, f.lineno, f.name) for f in traceback.extract_tb(error.__traceback__)]
        story.append((error_text(error), program_frames(frames)))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return story[::-1]


def make_run(outcomes: list[Outcome], results: list) -> Run:
    """The Run of a launch in which every rank returned."""
    start = min(outcome.start for outcome in outcomes)
    events = sorted((event for outcome in outcomes for event in outcome.events), key=lambda event: event.end)
    record = Record()
    for event in events:
        record.add(event._replace(start=event.start - start, end=event.end - start))
    return Run(
        results=results,
        seconds=max(outcome.end for outcome in outcomes) - start,
        bytes_sent=[outcome.bytes_sent for outcome in outcomes],
        messages=[outcome.messages for outcome in outcomes],
        calls=[outcome.calls for outcome in outcomes],
        record=record,
        world="mpi",
    )


def roll_call(ranks: int, outcomes: dict[int, Outcome], seen: dict[int, Snapshot], dead=()) -> list[RankStatus]:
    """One line a rank: what it was doing when the launch was over."""
    return [_status(rank, outcomes.get(rank), seen.get(rank, Snapshot()), rank in dead) for rank in range(ranks)]


def _status(rank: int, outcome: Outcome | None, snapshot: Snapshot, dead: bool) -> RankStatus:
    if outcome and outcome.failed:
        said, frames = outcome.story[-1]
        return RankStatus(rank, "failed", said.splitlines()[0], where=program_line(frames))
    if outcome:
        return RankStatus(rank, "finished")
    state = "failed" if dead else "stopped" if snapshot.stopped else "waiting" if snapshot.waiting else "running"
    call = f"after {snapshot.call}" if snapshot.call and not snapshot.waiting else snapshot.call
    return RankStatus(rank, state, call, snapshot.group, program_line(snapshot.frames))


def failure(ranks: int, outcomes: dict[int, Outcome], errors: dict[int, BaseException], seen: dict[int, Snapshot]):
    """The RankFailed of a launch whose program raised on the ranks in `errors`; those in `seen` were stopped."""
    first = min(errors, key=lambda rank: outcomes[rank].end)
    cause = f"the program raised on {ranks_text(errors)}: {outcomes[first].story[-1][0]}"
    if seen:
        cause += f" ({ranks_text(seen)} did not end soon after and had to be stopped)"
    return RankFailed(cause, roll_call(ranks, outcomes, seen), details(outcomes, seen), errors)


def details(outcomes: dict[int, Outcome], seen: dict[int, Snapshot]) -> str:
    """Tracebacks of the ranks that raised and stacks of those in `seen`; ranks that tell the same are told together."""
    tales = {rank: _traceback(outcome) for rank, outcome in sorted(outcomes.items()) if outcome.failed}
    tales |= {rank: _stack(snapshot) for rank, snapshot in sorted(seen.items()) if snapshot.frames}
    told: dict[str, list[int]] = {}
    for rank, tale in tales.items():
        told.setdefault(tale, []).append(rank)
    return "\n".join(f"--- {ranks_text(ranks)}{tale}" for tale, ranks in told.items()).rstrip()


def _traceback(outcome: Outcome) -> str:
    return " ---\n" + "".join(_lines(frames) + text + "\n" for text, frames in outcome.story)


def _stack(snapshot: Snapshot) -> str:
    return (f", in {snapshot.call}" if snapshot.waiting else "") + f" ---\n{_lines(snapshot.frames)}"


def _lines(frames: list[Frame]) -> str:
    """Frames with their lines of source, looked up here: only the parent knows the cells of a notebook."""
    return "".join(traceback.StackSummary.from_list([(*frame, None) for frame in frames]).format())


def program_line(frames: list[Frame]) -> str:
    """The innermost line of the program itself, not of a library that it called."""
    own = [frame for frame in frames if not frame[0].startswith(LIBRARIES)] or frames
    return location(own[-1][:2]) if own else ""

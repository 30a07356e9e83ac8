"""A step-through of all-reduce for the page: recorded while the schedule runs, then shown step by step.

    network = networks.uniform(alpha=2e-6, beta=1e-9, gamma=0.25e-9)
    StepThrough({name: launch(record, 8, name, 4096, network=network) for name in ("ring", "binomial tree")})

Nothing here is drawn by hand. `record` is an ordinary distributed function: it carries out a schedule with the one
interpreter (rounds.py) on data that can be read like a register, for rank r contributes the single bit 2^r. So the sum
in a block *is* the list of ranks whose data have come that far (data that came twice would carry into the next bit, and
the end would not be right), and a rank only has to look at its clock and its array after each wait. `Recording` puts
the notes of all ranks together with the timeline of the launch, and `StepThrough` turns one or more recordings into one
piece of HTML that fetches nothing (widget.py; its script: step_through.js).

A step is a moment at which at least one rank has taken in a message (and added it, where that is asked for). Where all
ranks go in step, steps are rounds; in a tree with segments, or with blocks of unequal size, every moment is shown.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

from .. import mpi
from ..collectives import ALLREDUCE
from ..collectives.algorithms import find
from ..collectives.draw import BLOCK_COLOURS
from ..collectives.rounds import Blocks, carry_out, plan
from .step_sentences import Transfer, blocks_of, counts_of, example, listing, progress, tell
from .widget import escaped, widget

MOST_RANKS = 53  # one bit each, in whole numbers that JavaScript holds exactly
ROUNDING = 1e-9  # moments that differ by less than this share of the whole time differ by rounding only


# On the ranks --------------------------------------------------------------------------------------------------------


class Record(NamedTuple):
    """What one rank noted. It had `waits` things to wait for; before the first, and after each, it looked.

    seconds   its clock at each look: `waits` + 1 times, in seconds
    held      what its blocks held: bit r of held[k][b] is set if rank r's data are in block b; [waits + 1][blocks]
    came      after each wait, whose message was taken in and whether it was combined: (source, combine), or None
    sent      its messages in order: (to, lo, hi), the blocks lo, ..., hi - 1
    nbytes    of the whole array
    """

    seconds: list[float]
    held: list[list[int]]
    came: list[tuple[int, bool] | None]
    sent: list[tuple[int, int, int]]
    nbytes: int


def record(comm, algorithm: str = "ring", count: int = 4096, **options) -> Record:
    """All-reduce `count` elements of 8 bytes by the algorithm of that name, and note what happens.

    Raises ValueError for a name that is not there, for more ranks than an element has bits, and for blocks without
    elements, in which nothing could be seen.
    """
    if comm.size > MOST_RANKS:
        raise ValueError(f"{comm.size} ranks do not fit: each is one bit of a number, take {MOST_RANKS} or fewer")
    schedule = find(ALLREDUCE, algorithm)
    number = schedule.blocks(comm.size, **options)
    if count < number:
        raise ValueError(f"{count} elements leave some of the {number} blocks empty: give {number} or more")
    rounds = list(schedule.rounds(comm.rank, comm.size, **options))
    x = np.full(count, 1 << comm.rank, np.int64)
    blocks = Blocks(x, number)
    posts = plan(rounds, blocks, blocks)
    seconds, held = [], []

    def look() -> None:
        seconds.append(mpi.wtime(comm))
        held.append(x[blocks.starts].tolist())  # within a block all elements are alike

    for requests in carry_out(comm, posts, x, x):
        look()  # what came before has been combined, what comes next has been posted
        mpi.waitall(requests)
    look()
    came: list[tuple[int, bool] | None] = []
    for post in posts:
        came += [(source, add) for source, _, _, add in post.receives] or [None]
    sent = [(int(to), int(lo), int(hi)) for to, (lo, hi), *_ in rounds if to != mpi.PROC_NULL]
    return Record(seconds, held, came, sent, x.nbytes)


# All ranks together --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recording:
    """One all-reduce, as the ranks of one launch of `record` saw it.

    ranks, nbytes   P, and the bytes of the array that each rank has
    seconds         when the last rank is through
    records         the notes of each rank
    messages        all of them, in the order in which they were sent
    computes        (rank, start, end) of each addition, in seconds
    """

    ranks: int
    nbytes: int
    seconds: float
    records: list[Record]
    messages: list[Transfer]
    computes: list[tuple[int, float, float]]

    @classmethod
    def of(cls, run: Any) -> Recording:
        """The recording that a launch of `record` on the virtual cluster left.

        Raises ValueError for another program, for real ranks, if nothing takes time, and if a rank has not got
        everything in the end.
        """
        if not run.results or not all(isinstance(result, Record) for result in run.results):
            raise ValueError("this run is not a recording: make it with launch(record, ranks, algorithm, count)")
        if run.world != "virtual":
            raise ValueError("real ranks have no common clock: record on the virtual cluster, world='virtual'")
        if run.seconds == 0:
            raise ValueError("nothing takes time here: record 2 or more ranks on a network with latency or bandwidth")
        for rank, own in enumerate(run.results):
            for block, mask in enumerate(own.held[-1]):
                if mask != (1 << run.ranks) - 1:
                    whose = listing([str(member) for member in range(run.ranks) if mask >> member & 1])
                    raise ValueError(
                        f"rank {rank} ends with the data of ranks {whose} in block {block}, not of all {run.ranks}: "
                        "this schedule is no all-reduce"
                    )
        computes = [(event.rank, event.start, event.end) for event in run.timeline.of(kind="compute")]
        messages = sorted(_messages(run), key=lambda message: (message.start, message.source))
        return cls(run.ranks, run.results[0].nbytes, run.seconds, run.results, messages, computes)

    @property
    def blocks(self) -> int:
        """Into how many blocks the array is cut."""
        return len(self.records[0].held[0])

    @cached_property
    def moments(self) -> list[float]:
        """When the steps end, in seconds; the first is the start, 0."""
        moments = [0.0]
        for done in sorted(message.done for message in self.messages):
            if done - moments[-1] > self._apart:
                moments.append(done)
        return moments

    @property
    def _apart(self) -> float:
        return ROUNDING * self.seconds

    @cached_property
    def held(self) -> np.ndarray:
        """Whose data the blocks of each rank hold after each step, as bits; int64 of shape [steps + 1, P, blocks]."""
        return np.array(
            [
                [own.held[bisect_right(own.seconds, moment + self._apart) - 1] for own in self.records]
                for moment in self.moments
            ]
        )

    @property
    def contributions(self) -> np.ndarray:
        """How many ranks' data they hold, of the same shape."""
        return np.bitwise_count(self.held).astype(int)

    def step_of(self, message: Transfer) -> int:
        """The step at whose end the message has been taken in: 1, 2, ..."""
        return bisect_left(self.moments, message.done - self._apart)

    @property
    def steps(self) -> list[list[Transfer]]:
        """The messages of each step, by sender; the first step, the start, has none."""
        steps: list[list[Transfer]] = [[] for _ in self.moments]
        for message in sorted(self.messages, key=lambda message: message.source):
            steps[self.step_of(message)].append(message)
        return steps

    def sentences(self) -> list[str]:
        """What happens in each step, in words."""
        complete = (self.contributions == self.ranks).sum(axis=(1, 2)).tolist()
        last = len(self.moments) - 1
        said = [f"Start: each of the {self.ranks} ranks holds its own data and nobody else's."]
        for number, messages in enumerate(self.steps[1:], 1):
            what = f"{tell(messages, self.ranks, self.blocks)} {example(messages[0], self.blocks)}"
            said.append(f"Step {number} of {last}: {what} {progress(complete[number], self.ranks * self.blocks)}")
        return said


def _messages(run: Any) -> Iterator[Transfer]:
    """Put together what sender, receiver and timeline know of each message; a pair's messages keep their order."""
    sent, taken, events = defaultdict(list), defaultdict(list), defaultdict(list)
    for rank, own in enumerate(run.results):
        for to, lo, hi in own.sent:
            sent[rank, to].append((lo, hi))
        for done, came in zip(own.seconds[1:], own.came, strict=True):
            if came:
                taken[came[0], rank].append((came[1], done))
    for event in run.timeline.of(kind="send"):
        events[event.rank, event.peer].append(event)
    for (source, to), transfers in events.items():
        own = run.results[source]
        ends = zip(transfers, sent[source, to], taken[source, to], strict=True)
        for event, (lo, hi), (combine, done) in ends:
            look = bisect_right(own.seconds, event.start + ROUNDING * run.seconds) - 1  # the last before it left
            ranks = [own.held[look][block % len(own.held[look])].bit_count() for block in range(lo, hi)]
            counts = min(ranks), max(ranks)
            yield Transfer(source, to, event.start, event.end, event.nbytes, lo, hi, counts, combine, done)


# In the page ---------------------------------------------------------------------------------------------------------


class StepThrough:
    """One or more recorded all-reduces, to be stepped through in a page: Jupyter and the book show it.

    runs: by name, what launch(record, ...) returned, all of as many ranks and bytes. The HTML stands for itself: data,
    script and style are in it, nothing is fetched, and it is the same to the letter in every run.
    Raises ValueError if there is nothing to show, or what there is cannot be compared.
    """

    def __init__(self, runs: Mapping[str, Any]):
        if not runs:
            raise ValueError("nothing to show: give at least one recording, {name: launch(record, ...)}")
        self.recordings = {name: Recording.of(run) for name, run in runs.items()}
        kinds = {name: (each.ranks, each.nbytes) for name, each in self.recordings.items()}
        if len(set(kinds.values())) > 1:
            told = ", ".join(f"{name}: {ranks} ranks and {nbytes:,} bytes" for name, (ranks, nbytes) in kinds.items())
            raise ValueError(f"recordings side by side must be of the same ranks and bytes, got {told}")
        self.ranks, self.nbytes = next(iter(kinds.values()))

    def data(self) -> dict[str, Any]:
        """What the script gets: times in microseconds, sizes in bytes, contributions as bits."""
        runs = [_run_data(name, recording) for name, recording in self.recordings.items()]
        return {"ranks": self.ranks, "bytes": self.nbytes, "colours": BLOCK_COLOURS, "runs": runs}

    def _repr_html_(self) -> str:
        return widget(__file__, "steps", "step-through of all-reduce", self.data(), f"<p>{_fallback(self)}</p>")

    def __repr__(self) -> str:
        times = "\n".join(
            f"{name}: {len(each.moments) - 1} steps, {len(each.messages)} messages, {each.seconds * 1e6:.3f} µs"
            for name, each in self.recordings.items()
        )
        # so that a notebook stores the page anew when it has changed, and only then
        digest = sha256(self._repr_html_().encode()).hexdigest()[:8]
        return f"step-through of all-reduce, {self.nbytes:,} bytes on {self.ranks} ranks (page {digest})\n{times}"


def _fallback(shown: StepThrough) -> str:
    times = "; ".join(f"{name}: {each.seconds * 1e6:.2f} µs" for name, each in shown.recordings.items())
    text = (
        f"Here is a step-through of all-reduce on {shown.ranks} ranks, which needs JavaScript. Recorded times: {times}."
    )
    return escaped(text)


def _micro(seconds: float) -> float:
    return round(seconds * 1e6, 6)  # to the picosecond: far below what is shown, far above rounding errors


def _run_data(name: str, recording: Recording) -> dict[str, Any]:
    return {
        "name": name,
        "blocks": recording.blocks,
        "time": _micro(recording.seconds),
        "moments": [_micro(moment) for moment in recording.moments],
        "sentences": recording.sentences(),
        "held": recording.held.tolist(),
        "messages": [
            {
                "from": message.source,
                "to": message.to,
                "start": _micro(message.start),
                "end": _micro(message.end),
                "bytes": message.nbytes,
                "lo": message.lo,
                "hi": message.hi,
                "what": blocks_of(message, recording.blocks),
                "counts": counts_of(message),
                "step": recording.step_of(message),
            }
            for message in recording.messages
        ],
        "computes": [[rank, _micro(start), _micro(end)] for rank, start, end in recording.computes],
    }

"""What every stage does: wait for messages, keep the newest of each kind, answer those of its trigger, and end in turn.

A stage ends when each of those that speak to it has said that it ends, and then says so itself: no message is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ... import mpi
from .schedule import DEADLINE, TRIGGER

END, FAULTS = "end", ("silent", "slow")
SLOWER = 2  # deadlines that a job of a slow stage takes in addition
LOOK = 0.25  # ms from look to look of a virtual rank that waits for a message or a time


class DriveMessage(NamedTuple):
    """What one rank tells another. sent: when (ms); taken: when the camera saw what it rests on (ms)."""

    kind: str
    sent: float = 0.0
    taken: float = 0.0
    value: Any = None


class DriveFault(NamedTuple):
    """From `start` to `end` (ms) a stage does not answer ("silent"), or takes two deadlines longer ("slow")."""

    kind: str
    stage: str
    start: float
    end: float


class StageJob(NamedTuple):
    """A job that was done: when its trigger was sent, when it answered (ms), the picture's time, and its level."""

    released: float
    done: float
    taken: float
    level: int = 0


class DriveClock:
    """Milliseconds since all ranks were ready, `slow` times as long as real ones. Collective.

    Zero is rank 0's: the ranks of one machine read one clock, and so do virtual ones. Several machines would have to
    compare theirs first.
    """

    def __init__(self, comm, slow: float = 1.0):
        mpi.wait(comm.Ibarrier())  # leaves the core to ranks that still learn, which a Barrier does not
        self.comm, self.slow, self.zero = comm, slow, comm.bcast(mpi.wtime(comm))

    def now(self) -> float:
        """The time of the drive."""
        return (mpi.wtime(self.comm) - self.zero) * 1e3 / self.slow

    def sleep(self, ms: float) -> None:
        """Do nothing for so long. Real ranks look at messages meanwhile: MPI moves large ones only inside calls."""
        if not isinstance(self.comm, mpi.Comm):
            mpi.sleep(self.comm, max(0.0, ms) * self.slow / 1e3)
            return
        end = self.now() + ms
        mpi.poll(lambda: self.now() >= end or (self.comm.iprobe(), False)[1])


class DriveStage:
    """A stage: `work(message)` of a subclass gives its answer; the ranks of `after` get it."""

    name: str
    sources: tuple[int, ...]
    after: tuple[int, ...]

    def __init__(self, comm, clock: DriveClock, faults: list[DriveFault]):
        self.comm, self.clock, self.ended = comm, clock, 0
        self.faults = [fault for fault in faults if fault.stage == self.name]
        self.newest: dict[str, DriveMessage] = {}
        self.jobs: list[StageJob] = []
        self.skipped, self.level = 0, 0
        self.sent: list[Any] = []

    def run(self) -> dict[str, Any]:
        """Answer until all sources have ended; what there is to report."""
        while self.ended < len(self.sources):
            begun = False
            for message in arrived(self.comm):
                if self.take(message):
                    self.skipped += begun  # an older one, which nobody will answer
                    begun = True
            if begun:
                self.answer(self.newest[TRIGGER[self.name]])
        self.leave()
        mpi.waitall(self.sent)
        return {"name": self.name, "jobs": self.jobs, "skipped": self.skipped, **self.told()}

    def take(self, message: DriveMessage) -> bool:
        """Keep a message; whether it asks for an answer."""
        self.ended += message.kind == END
        self.newest[message.kind] = message
        return message.kind == TRIGGER[self.name]

    def answer(self, trigger: DriveMessage) -> None:
        """One job, unless a fault keeps the stage from it."""
        fault = next((f.kind for f in self.faults if f.start <= self.clock.now() < f.end), "")
        if fault == "silent":
            return
        answer = self.work(trigger)
        if fault == "slow":
            self.clock.sleep(SLOWER * DEADLINE[self.name])
        self.learn(self.clock.now() - trigger.sent)
        if answer is not None and self.speaks(trigger):
            now = self.clock.now()
            self.jobs.append(StageJob(trigger.sent, now, answer.taken, self.level))
            self.tell(answer._replace(sent=now))

    def tell(self, message: DriveMessage) -> None:
        """Send to all that come after, without waiting."""
        for rank in self.after:
            self.send(message, rank)

    def send(self, message: DriveMessage, rank: int) -> None:
        """Send without waiting."""
        self.sent.append(self.comm.isend(message, rank))

    def leave(self) -> None:
        """Tell the others that this stage has ended."""
        self.tell(DriveMessage(END))

    def wait(self, source: int, until: float, seen: Callable[[], bool]) -> bool:
        """Take messages of one rank until `seen()`, or until a time (ms). Whether it was seen."""

        def over() -> bool:
            while self.comm.iprobe(source=source):
                self.take(self.comm.recv(source=source))
            return seen() or self.clock.now() >= until

        if isinstance(self.comm, mpi.Comm):
            mpi.poll(over)
        else:
            while not over():
                self.clock.sleep(min(LOOK, until - self.clock.now()))
        return seen()

    def charge(self, ms: float) -> None:
        """On the virtual cluster, let the accelerator take so long; real ranks have taken their own time."""
        mpi.charge(self.comm, ms / 1e3, self.name)

    def work(self, trigger: DriveMessage) -> DriveMessage | None:
        """The answer to a message of the trigger; None if there is none."""
        raise NotImplementedError

    def speaks(self, trigger: DriveMessage) -> bool:
        """Whether the answer is told to others."""
        return True

    def learn(self, response: float) -> None:
        """What a stage does when it knows how long (ms) it took."""

    def told(self) -> dict[str, Any]:
        """What else a stage has to report."""
        return {}


def arrived(comm) -> Iterator[DriveMessage]:
    """Wait for a message, and yield it and all others that are there. A rank that waits leaves its core to others."""
    if isinstance(comm, mpi.Comm):
        mpi.poll(comm.iprobe)
    yield comm.recv()
    while comm.iprobe():
        yield comm.recv()

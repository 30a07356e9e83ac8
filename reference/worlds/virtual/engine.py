"""The engine of the virtual cluster: a discrete-event simulation that moves real data.

Every rank is a thread, and exactly one of them runs at any moment. A rank has its own clock. Posting a message costs it
nothing and never stops it: the post becomes an event in one queue. Only when a rank has to wait does it let go, and
then the queue is worked off in the order of time until an event wakes some rank, which runs on from there. Ties go in
turns: of what is posted at one time, every rank's first message comes before anybody's second; within a turn, by rank.
So nothing is ever decided before everything earlier is known: a wildcard receive takes the message that was sent first
on the clock, however the threads were scheduled, and every run is the same run.

What happens to messages is in matching.py, who waits for them in completion.py. The rest is here: whose turn it is, and
what to report when the queue is empty although ranks are still waiting. That is a deadlock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from ctypes import c_long, py_object, pythonapi
from heapq import heappop, heappush
from math import inf
from types import MappingProxyType
from typing import Any

from ... import mpi
from ...networks.network import Network
from ...perf.timeline import Record
from .. import settings
from ..errors import Deadlock, LaunchError
from ..spelling import error_text
from . import report
from .completion import Bell, Completion
from .isolation import RandomStates
from .matching import Matching
from .polling import Polls
from .rank import Rank, be_batch_work, on_one_core
from .verdicts import timed_out, verdict
from .watchdog import WATCHDOG, Guard


class Aborted(BaseException):
    """Raised inside ranks when the launch is over; not an Exception, so that programs do not catch it by accident."""


OVER = "finished", "failed"  # states of a rank whose program has ended
_one_launch = threading.Lock()  # ranks exchange the process's random generators, so one engine runs at a time
_inside = threading.local()  # .rank is set in the threads of ranks: a launch from there runs in their turn


class Engine:
    """All ranks, the queue of events, and what is waiting to be matched."""

    mortal = False  # whether ranks can fail: FaultyEngine
    deaths: Mapping[int, float] = MappingProxyType({})

    def __init__(
        self, ranks: int, network: Network, slow: dict[int, float], buffered: bool, sharing: str, overhead: float
    ):
        self.network, self.buffered, self.overhead = network, buffered, overhead
        self.ranks = [self._rank(index, slow.get(index, 1.0)) for index in range(ranks)]
        self.record = Record()
        self.error: LaunchError | None = None
        self.over = threading.Event()
        self.contexts: dict[Any, Any] = {}  # communicator id -> what its members share (communicator.Context)
        self.messages = self._matching(sharing)
        self.errors: dict[Completion, mpi.Exception] = {}  # what has failed, and is still to be raised
        self.windows: list[Any] = []  # every rank's view of each
        self.horizon = 0.0  # the latest completion known so far: up to then something is in flight
        self._queue: list = []  # events: (time, turn, rank, number, action, what that is about or None)
        self.polls = Polls(self)  # the same, of ranks that only look whether something has happened
        self.number = 0  # of events and polls so far
        self._ended = self._leaving = False  # threads that are let go from then on end
        self.doomed: tuple[type[LaunchError], str] | None = None
        self._random = RandomStates(ranks)
        self._current = 0

    def _rank(self, index: int, slow: float) -> Rank:
        return Rank(index, slow)

    def _matching(self, sharing: str) -> Matching:
        return Matching(self, sharing)

    def run(self, programs: list[Callable[[], Any]], timeout: float) -> None:
        """Run one program a rank to the end; raise what went wrong."""
        lock = nullcontext() if hasattr(_inside, "rank") else _one_launch
        with lock, self._random.kept(), settings.restored(), WATCHDOG.guard(timeout, len(self.ranks)) as guard:
            try:
                with on_one_core():
                    self._start(programs, guard)
                self._hand_over(None)
                if not guard.wait(self.over, timeout / 2):
                    before = self._progress()
                    if not guard.wait(self.over, timeout / 2):
                        running, now = self.ranks[self._current], self._progress()
                        self.abort(report.made(lambda: timed_out(self, running, timeout, before, now)))
            except BaseException as error:  # Ctrl-C, a signal handler's exception, no more threads to be had
                self.abort(LaunchError(f"interrupted by {type(error).__name__}"))
                raise
            finally:
                self._join(guard)
                self._ended = True
        if self.error is not None:
            raise self.error

    def _start(self, programs: list[Callable[[], Any]], guard: Guard) -> None:
        """Start a thread for each rank, and let it begin at time 0."""
        for rank, program in zip(self.ranks, programs, strict=True):
            rank.thread = threading.Thread(target=self._live_as, args=(rank, program), daemon=True)
            rank.thread.start()
            guard.seat(rank.index, rank.thread)
            self.post(0.0, rank.index, rank.resume)

    def _live_as(self, rank: Rank, program: Callable[[], Any]) -> None:
        """The life of a rank's thread."""
        _inside.rank = rank.index
        be_batch_work()
        rank.gate.acquire()
        try:
            if not self._leaving:
                rank.result = program()
                rank.state = "finished"
        except Aborted:
            return
        except BaseException as error:  # the program's own failure, whatever it is, is part of the report
            rank.error, rank.said, rank.state = error, error_text(error), "failed"
        if not self._leaving:
            with suppress(Aborted):
                self._hand_over(rank)

    def _hand_over(self, me: Rank | None) -> None:
        """Work off events in the order of time until one wakes a rank; let it run, and wait for one's own turn."""
        queue, polls = self._queue, self.polls.queue
        while queue or polls:
            # the earlier of the two heaps' first events; most wake nobody, such as a message that nobody waits for yet
            time, _, _, _, action, about = heappop(polls if polls and (not queue or polls[0] < queue[0]) else queue)
            try:
                awake = action(time) if about is None else action(time, about)
            except BaseException as error:  # not the program's doing, and no reason to hang
                self.abort(report.fault(error, "the virtual cluster itself failed"))
            if self.error is not None:
                raise Aborted
            if awake is not None:
                break
        else:
            return self._finish(me)
        self._current = awake.index
        if awake is me:
            return None  # nobody else comes before: this thread just goes on
        self._random.change(None if me is None else me.index, awake.index)
        awake.gate.release()  # from here on that thread runs, so this one touches nothing until its own gate opens
        if me is not None and me.state not in OVER:  # a rank that has finished or failed never runs again
            me.gate.acquire()
            if self._leaving:
                raise Aborted
        return None

    def _finish(self, me: Rank | None) -> None:
        """The queue is empty: everybody is through, or nobody will ever be."""
        self.error = self.error or report.made(lambda: verdict(self))
        self._end()
        if me is not None and me.state not in OVER:
            raise Aborted

    def lost(self) -> bool:
        """Whether the launch cannot end well any more."""
        return self.doomed is not None or any(rank.state == "failed" for rank in self.ranks)

    def doom(self, kind: type[LaunchError], cause: str) -> None:
        """The program is wrong, but let every rank go as far as it gets: then the report shows where that was."""
        if self.doomed is None:
            self.doomed = kind, cause

    def abort(self, error: LaunchError) -> None:
        """End the launch with `error`: no rank goes on."""
        if self.error is None:
            self.error = error
        self._end()

    def _end(self) -> None:
        """Let every thread go: it finds `error` set, or has nothing left to do."""
        self._leaving = True
        self.over.set()
        for rank in self.ranks:
            with suppress(RuntimeError):  # it is running, or was let go a moment ago
                rank.gate.release()

    def _progress(self) -> tuple[int, int, int]:
        """Events, questions of pollers and messages so far."""
        return self.number - self.polls.asked, self.polls.asked, sum(rank.messages for rank in self.ranks)

    def reached(self, time: float, group: Sequence[int]) -> float:
        """From when on the ranks of a group can reach each other; at once, where no fault keeps them apart."""
        return time

    def obstacles(self) -> list[str]:
        """Which faults of the launch keep ranks waiting: none."""
        return []

    def _join(self, guard: Guard) -> None:
        """See every thread off; one that does not listen gets the exception from outside."""
        for rank in self.ranks:
            if rank.thread is None or rank.thread.ident is None:
                continue  # never started
            rank.thread.join(0.05 if self.error or self.deaths else None)
            for _ in range(100):
                if not rank.thread.is_alive():
                    break
                guard.beat()
                pythonapi.PyThreadState_SetAsyncExc(c_long(rank.thread.ident), py_object(Aborted))
                rank.thread.join(0.01)

    # Calls of the running rank ---------------------------------------------------------------------------------

    def check(self, me: Rank) -> None:
        """Whether `me` may make a call: the launch may have ended while it was computing, or `me` is somebody else."""
        if self._ended:
            raise RuntimeError("the launch that this communicator belongs to has ended")
        if self.error is not None:
            raise Aborted
        if self._current != me.index or me.state != "running":
            raise RuntimeError(
                f"rank {self._current} uses the communicator of rank {me.index}, or two threads of a rank use one at "
                f"once. Is it in a global variable of a module? Ranks share those: pass it as an argument"
            )

    def post(self, time: float, rank: int, action: Callable, turn: int = 0, about: Any = None) -> None:
        """Queue action(time), or action(time, about). Ties go by turn, then by rank, then by order of posting."""
        self.number += 1
        heappush(self._queue, (time, turn, rank, self.number, action, about))

    def wait(self, me: Rank, requests: list[Completion], any_one: bool = False) -> None:
        """Stop `me` until all (or any one) of the requests, at least one, are complete; its clock then shows when."""
        if self.errors and any(request in self.errors for request in requests):
            return  # what has failed is told at once, whatever else is awaited
        start, me.awaited = me.clock, requests
        if any_one:
            Bell(self, me, requests)
            self.stop(me)
        elif me.expects(requests, start):
            self.stop(me)
        else:
            me.clock = me.latest
        self.waited(me, start)

    def waited(self, me: Rank, start: float) -> None:
        """Note that `me` has waited from `start` until now, if it has."""
        me.awaited = ()
        if me.clock > start:
            self.record.add((me.index, "wait", start, me.clock, -1, 0, me.call.context.name, me.call.name))

    def stop(self, me: Rank) -> None:
        """Let others run until an event wakes `me`."""
        me.state = "waiting"
        self._hand_over(me)
        me.state = "running"

    def act_as(self, me: Rank) -> bool:
        """Let the thread that works off events make calls of `me`; whether it may."""
        self._current, me.state = me.index, "running"
        return True

    def next_event(self) -> float:
        """When the next event is due; infinity if none is queued."""
        return self._queue[0][0] if self._queue else inf

    def poll(self, me: Rank, known: float | None = None) -> None:
        """Let everything happen that is earlier than this rank's clock (polling.py)."""
        self.polls.ask(me, known)

    def polled(self, me: Rank, success: bool) -> None:
        """Note what a poll has found; end the launch if it is clear that no poll will ever find anything."""
        if self.polls.answered(me, success):
            me.state = "waiting"
            self.doom(Deadlock, report.polling_cause(me))
            self._finish(me)

    def computed(self, me: Rank, start: float, seconds: float, reduced: int = 0, label: str = "") -> float:
        """When a computation of `me` from `start` on ends; a slow rank takes longer, a reduction gamma a byte.

        In the timeline, one that has a `label` and follows another of that label without a gap makes that one longer.
        """
        end = start + (seconds + reduced * self.network.gamma) * me.slow
        if label and self.record.lengthened(me.computation, start, end, label):
            return end
        if end > start:
            me.computation = len(self.record.fields) if label else -1
            self.record.add((me.index, "compute", start, end, -1, 0, "", label))
        return end

    def called(self, me: Rank, start: float) -> float:
        """When a rank that posts a send or a receive at `start` has done so: LogGP's overhead o later."""
        return self.computed(me, start, self.overhead, label="overhead") if self.overhead else start

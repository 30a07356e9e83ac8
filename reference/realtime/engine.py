"""The engine of the simulation: events, processors and locks. `simulate` is what one calls.

It goes from event to event: the end of a segment, of a slice or of a budget, a release, the end of a suspension. At
each, what ended is taken in first, then what was released, and then every kind of processor that is concerned chooses
anew.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from math import inf
from typing import Any

from .dispatch import Processor, SchedulingPolicy, Subjob, choose
from .locks import LockTable
from .runs import ExecutionSlice, SimulatedJob, SimulatedRun

Releases = Iterator[tuple[int, int]]  # of a task: (arrival, release), release after release


class SchedulingEngine:
    """Events in order of time, the processors of each kind, and what waits for them."""

    def __init__(
        self,
        processors: Mapping[str, int],
        policies: Mapping[str, SchedulingPolicy],
        locks: LockTable | None,
        switch: int,
        segments: Callable[[Any, Any], Any],
        accounts: Mapping[str, Any],
        triggers: Mapping[str, str],
    ):
        self.processors = {
            kind: [Processor(kind if number == 1 else f"{kind}{i}", kind) for i in range(number)]
            for kind, number in processors.items()
        }
        self.all = [processor for group in self.processors.values() for processor in group]
        self.policies, self.locks, self.switch, self.segments = policies, locks, switch, segments
        self.accounts, self.triggers = accounts, triggers
        self.waiting: dict[str, list[Subjob]] = {kind: [] for kind in self.processors}
        self.events: list[tuple[int, int, str, Any]] = []
        self.order = count()
        self.backlog: dict[str, deque[SimulatedJob]] = {}  # of each task, the jobs that are not done
        self.stopped: set[str] = set()  # tasks that release no more
        self.run, self.now = SimulatedRun(), 0
        self.touched: set[str] = set()  # kinds of processor that must choose anew
        self.number: dict[str, int] = {}
        self.tasks: dict[str, Any] = {}

    # ---------------------------------------------------------------------------------------------- time

    def carry_out(self, releases: Mapping[str, tuple[Any, Releases]], until: int, drain: bool) -> SimulatedRun:
        """Release jobs before `until`; execute until then, or until all jobs are done."""
        self.horizon = until
        for task, times in releases.values():
            self.tasks[task.name] = task
            self._next_release(task, times)
        end = inf if drain else until
        while True:
            time: float = self.events[0][0] if self.events else inf
            for processor in self.all:
                if processor.until < time:
                    time = processor.until
            if time > end or time == inf:
                break
            self._step(int(time))
        self.now = self.run.end = max(self.now, until) if drain else until
        for processor in filter(lambda each: each.subjob is not None, self.all):
            self._charge(processor)
            self._close(processor)
        stuck = {s.job.task.name for group in self.waiting.values() for s in group}
        self.run.deadlocked = tuple(sorted(stuck)) if drain else ()
        return self.run

    def _step(self, now: int) -> None:
        self.now = now
        for processor in self.all:
            if processor.until == now:
                self._boundary(processor)
        while self.events and self.events[0][0] == now:
            _, _, what, subject = heapq.heappop(self.events)
            self.run.events += 1
            if what == "release":
                task, arrival, times = subject
                if task.name not in self.stopped:
                    self.release(task, arrival)
                    self._next_release(task, times)
            elif what == "choose":
                self.touched.add(subject)
            elif not subject.job.dropped:  # the end of a suspension
                self._advance(subject)
        while self.touched:
            self._dispatch(self.touched.pop())

    def _next_release(self, task: Any, times: Releases) -> None:
        arrival, release = next(times, (0, self.horizon))
        if release < self.horizon:
            self._at(release, "release", (task, arrival, times))

    def _at(self, time: int, what: str, subject: Any) -> None:
        heapq.heappush(self.events, (time, next(self.order), what, subject))

    # ---------------------------------------------------------------------------------------------- jobs

    def release(self, task: Any, arrival: int) -> None:
        """A job of a task is released now. It begins when the task's jobs before it are done."""
        number = self.number[task.name] = self.number.get(task.name, -1) + 1
        job = SimulatedJob(task, number, arrival, self.now)
        self.run.jobs.append(job)
        queue = self.backlog.setdefault(task.name, deque())
        queue.append(job)
        if len(queue) == 1:
            self._begin(job, idle=True)

    def _begin(self, job: SimulatedJob, idle: bool) -> None:
        if account := self.accounts.get(job.task.name):
            account.begin(self.now, idle)
        parts = [Subjob(job, self.segments(job.task, node), next(self.order)) for node, _ in job.task.parts]
        job.parts = len(parts)
        for part, (_, successors) in zip(parts, job.task.parts):
            part.account = account
            part.then = [parts[place] for place in successors]
            for later in part.then:
                later.after += 1
        for part in parts:
            if not part.after:
                self._advance(part)

    def _advance(self, subjob: Subjob) -> None:
        """Go on with the next segment, or end."""
        before = subjob.kind
        subjob.index += 1
        if subjob.index == len(subjob.segments):
            return self._done(subjob)
        segment = subjob.segments[subjob.index]
        subjob.left, subjob.kind, subjob.preemptive = segment.ticks, segment.on, segment.preemptive
        if self.locks is not None and set(subjob.held) != set(segment.locks):
            self._unlock(subjob, segment.locks)
        if segment.on is None:
            self._leave(subjob)
            self._at(self.now + segment.ticks, "resume", subjob)
            return
        if segment.on != before or subjob.processor is None:
            self._leave(subjob)
            policy = self.policies[segment.on]
            subjob.key, subjob.slice = policy.key(subjob, self.now), policy.slice or 0
            self.waiting[segment.on].append(subjob)
        self.touched.add(segment.on)

    def _done(self, subjob: Subjob) -> None:
        job, task = subjob.job, subjob.job.task
        self._leave(subjob)
        if subjob.held:
            self._unlock(subjob, ())
        for later in subjob.then:
            later.after -= 1
            if not later.after:
                self._advance(later)
        job.parts -= 1
        if job.parts:
            return
        job.finish = self.now
        self._following(task.name)
        if (successor := self.triggers.get(task.name)) and successor not in self.stopped:
            self.release(self.tasks[successor], self.now)

    def _following(self, name: str) -> None:
        """The first job of a task has gone: the next one begins."""
        queue = self.backlog[name]
        queue.popleft()
        if queue:
            self._begin(queue[0], idle=False)

    def drop(self, names: set[str]) -> None:
        """Tasks release no more, and what they have not done is dropped."""
        self.stopped |= names
        for name in names:
            for job in self.backlog.pop(name, ()):
                job.dropped = True
        for kind, group in self.waiting.items():
            self.waiting[kind] = [s for s in group if not s.job.dropped]
        for processor in self.all:
            if processor.subjob is not None and processor.subjob.job.dropped:
                self._charge(processor)
                self._leave(processor.subjob)
                self.touched.add(processor.kind)

    # ---------------------------------------------------------------------------------------------- processors

    def _charge(self, processor: Processor) -> None:
        """What was executed since the last look is taken off the subjob, its slice and its budget."""
        ticks, subjob = self.now - processor.since, processor.subjob
        if ticks and subjob is not None:
            subjob.left -= ticks
            subjob.slice -= ticks
            if subjob.account is not None:
                subjob.account.budget -= ticks
            processor.since = self.now

    def _boundary(self, processor: Processor) -> None:
        """A segment, slice or budget ends now."""
        self.run.events += 1
        self._charge(processor)
        subjob = processor.subjob
        assert subjob is not None and subjob.kind is not None
        processor.pinned, processor.until = False, inf
        self.touched.add(subjob.kind)
        if not subjob.left:
            return self._advance(subjob)
        policy = self.policies[subjob.kind]
        if subjob.account is not None and not subjob.account.budget:
            subjob.account.exhausted(self, subjob)
        if policy.slice is not None and subjob.slice <= 0:
            subjob.slice = policy.slice
        subjob.key = policy.key(subjob, self.now)

    def _leave(self, subjob: Subjob) -> None:
        """A subjob no longer executes."""
        processor = subjob.processor
        if processor is not None:
            self._close(processor)
            processor.last, processor.subjob, processor.until, processor.pinned = subjob, None, inf, False
            subjob.processor = None

    def _close(self, processor: Processor) -> None:
        if self.now > processor.opened:
            subjob = processor.subjob
            assert subjob is not None
            task, number = subjob.job.task.name, subjob.job.number
            self.run.slices.append(
                ExecutionSlice(processor.name, task, number, processor.opened, self.now, subjob.held)
            )
        processor.opened = self.now

    def _unlock(self, subjob: Subjob, keep: tuple[str, ...]) -> None:
        """Locks that the next segment does not hold are free, and whoever waits for one may try again."""
        if subjob.processor is not None:
            self._close(subjob.processor)  # what follows executes with other locks
        if self.locks is not None and set(subjob.held) - set(keep):
            self.locks.release(subjob, keep)
            self.touched |= {kind for kind, group in self.waiting.items() if group}

    def _dispatch(self, kind: str) -> None:
        """Processors of a kind choose among what waits for them and what they execute and may stop."""
        group, waiting, policy = self.processors[kind], self.waiting[kind], self.policies[kind]
        movable = [processor for processor in group if not processor.pinned]
        executing = [processor.subjob for processor in movable if processor.subjob is not None]
        if policy.varies:
            for processor in movable:
                self._charge(processor)
            for subjob in waiting + executing:
                subjob.key = policy.key(subjob, self.now)
        if waiting or self.locks is not None:
            chosen = choose(waiting + executing, len(movable), self.locks)
            for subjob in executing:
                if subjob not in chosen:
                    self._preempt(subjob)
            for subjob in chosen:
                if subjob.processor is None:
                    self._start(subjob, movable)
        for processor in group:
            if processor.subjob is not None:
                self._look_again(processor, policy)
        executing = [processor.subjob for processor in movable if processor.subjob is not None]
        if waiting and (change := policy.change(self.now, waiting, executing)) is not None:
            self._at(change, "choose", kind)

    def _preempt(self, subjob: Subjob) -> None:
        self._charge(subjob.processor)
        self.run.preemptions += subjob.blocked is None
        self._leave(subjob)
        self.waiting[subjob.kind].append(subjob)

    def _start(self, subjob: Subjob, movable: list[Processor]) -> None:
        free = [processor for processor in movable if processor.subjob is None]
        processor = next((p for p in free if p.last is subjob), free[0])
        self.waiting[subjob.kind].remove(subjob)
        if subjob.job.start is None:
            subjob.job.start = self.now
        self.run.migrations += subjob.place not in (None, processor)
        if processor.last is not subjob:
            subjob.left += self.switch
        processor.subjob, processor.since, processor.opened = subjob, self.now, self.now
        subjob.processor = subjob.place = processor

    def _look_again(self, processor: Processor, policy: SchedulingPolicy) -> None:
        """When this must be looked at again, if nothing else happens."""
        subjob = processor.subjob
        assert subjob is not None
        ticks = subjob.left
        if subjob.preemptive:
            if policy.slice is not None:
                ticks = min(ticks, subjob.slice)
            if subjob.account is not None:
                ticks = min(ticks, subjob.account.budget)
        processor.pinned, processor.until = not subjob.preemptive, processor.since + ticks

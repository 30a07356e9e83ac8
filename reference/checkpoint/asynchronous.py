"""Asynchronous saving: training waits for a copy in the host's memory, and the files are written while it goes on.

Idea      A save has three parts that take very different times. Copy what this rank writes into memory that was
          allocated beforehand (CheckFreq's snapshot): as fast as memory, or PCIe. Write that copy to files and flush
          them (its persist): as slow as a drive or a store. Commit: a few small messages and one rename. Only the copy
          and the commit need the training's own time, and even the copy can be hidden behind forward and backward pass,
          because weights change in the optimizer's step only:

              rank      |save|forward, backward|wait|optimizer|forward, backward|optimizer|poll: commit|
              copy           |ccccc|
              drive                |wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww|
          There are several buffers (two: double buffering), so that a copy can be made while the last one is still
          being written. If none is free, the rank waits: a drive that is too slow must not fill the memory.
Before    a stall of snapshot + write, every interval T
After     a stall of what is left of the snapshot, if the write takes less than T; else of write - T as well, and no
          number of buffers changes that: they only delay it
Price     Host memory: `buffers` times the bytes that a rank writes, for as long as the training lasts.
Exact     What is saved is the state at `save`, to the bit, if `before_update` comes before each change of the state. A
          checkpoint that was never committed does not exist: up to `buffers` of them are lost with a crash.
Left out  A process of its own for the writer, so that it does not share Python's lock with the training.
Source    Mohan, Phanishayee and Chidambaram, "CheckFreq: Frequent, Fine-Grained DNN Checkpointing" (FAST 2021).
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .. import mpi
from ..tiers import Tier
from ..tiers.engine import Engine, Job
from ..tiers.tier import FREE
from .boxes import Box, Portion
from .files import FILES, Files
from .save import Saving


class Underway(NamedTuple):
    """A save that is not committed: the buffer that it uses, the copy, the write, and what goes into the manifest."""

    saving: Saving
    buffer: int
    copied: Job
    written: Job
    extra: dict[str, Any]
    own: Any


class AsynchronousSaver:
    """Saves that go on beside the training of this rank. All methods but `before_update` are collective.

        saver = AsynchronousSaver(comm, "run")
        for step in ...:
            forward and backward pass
            saver.before_update()          # what `save` has not copied yet may change in the next line
            optimizer.step()
            if step % 100 == 0:
                saver.save(step, portions)
        saver.drain()

    comm      used for nothing else meanwhile (comm.Dup())
    buffers   how many saves may be under way
    host      how fast this rank copies to the host's memory; drive: how fast it writes files. Both are for the virtual
              clock; real ranks take the time that they take

    stalled   seconds that the training has waited so far, by reason: "buffer", "copy", "messages", "write"
    """

    def __init__(
        self,
        comm: Any,
        folder: str | Path,
        buffers: int = 2,
        host: Tier = FREE,
        drive: Tier = FREE,
        files: Files = FILES,
    ):
        if buffers < 1:
            raise ValueError(f"a snapshot needs a buffer, and there are {buffers}")
        self.comm, self.folder, self.files, self.host, self.drive = comm, folder, files, host, drive
        self.copies, self.writer = Engine(comm, "snapshot"), Engine(comm, "writer")
        self.memory: list[dict[tuple[str, Box], Tensor]] = [{} for _ in range(buffers)]
        self.underway: deque[Underway] = deque()
        self.stalled = dict.fromkeys(("buffer", "copy", "messages", "write"), 0.0)
        self.committed: list[Path] = []

    def save(
        self, step: int, portions: Mapping[str, Portion], extra: dict[str, Any] | None = None, own: Any = None
    ) -> None:
        """Start to save this state (as save.save does); returns when a buffer is free and the copy has begun.

        Raises what an earlier write has met with: CheckpointError, on every rank.
        """
        while len(self.underway) == len(self.memory):
            self._finish("buffer")
        before = mpi.wtime(self.comm)
        saving = Saving(self.comm, self.folder, step, portions, self.files)
        self.stalled["messages"] += mpi.wtime(self.comm) - before
        free = min(set(range(len(self.memory))) - {one.buffer for one in self.underway})
        pairs = self._buffer(free, saving)
        copied = self.copies.submit(
            f"copy {step}", self.host.writing(saving.nbytes), lambda: _copy(pairs), nbytes=saving.nbytes
        )
        written = self.writer.submit(
            f"write {step}", self.drive.writing(saving.nbytes), saving.write, [copied], saving.nbytes
        )
        self.underway.append(Underway(saving, free, copied, written, copy.deepcopy(extra or {}), copy.deepcopy(own)))

    def _buffer(self, number: int, saving: Saving) -> list[tuple[Tensor, Tensor]]:
        """(buffer, source) of each part that this rank writes; the save reads the buffer from now on."""
        used, pairs = {}, []
        for name, box in ((name, box) for of in saving.of_files for name, (_, box) in of.items()):
            source = next(values for own, values in saving.portions[name].parts if own == box).detach()
            target = self.memory[number].get((name, box))
            if target is None or target.dtype != source.dtype:
                target = torch.empty(source.shape, dtype=source.dtype, pin_memory=source.is_cuda)
            used[name, box] = target
            pairs.append((target, source))
        self.memory[number] = used
        saving.portions = {
            name: portion._replace(parts=[(box, used[name, box]) for box, _ in portion.parts if (name, box) in used])
            for name, portion in saving.portions.items()
        }
        return pairs

    def before_update(self) -> None:
        """Wait until what is to be saved has been copied: call it before anything changes the state."""
        for one in self.underway:
            self.stalled["copy"] += one.copied.wait()

    def poll(self) -> bool:
        """Commit the oldest save if all ranks have written it; whether there was one. One number from each rank."""
        if not self.underway:
            return False
        self.writer.poll()
        before = mpi.wtime(self.comm)
        oldest = self.underway[0].written
        done = oldest.done if oldest.future is None else oldest.future.done()
        ready = self.comm.allreduce(int(done), op=mpi.MIN)
        self.stalled["messages"] += mpi.wtime(self.comm) - before
        if ready:
            self._finish("write")
        return bool(ready)

    def drain(self) -> None:
        """Wait for all saves, and commit them. Raises as `save` does, after the others have been committed."""
        first: Exception | None = None
        while self.underway:
            try:
                self._finish("write")
            except OSError as error:
                first = first or error
        if first:
            raise first

    def _finish(self, reason: str) -> None:
        """Wait for the oldest save and commit it."""
        oldest = self.underway.popleft()
        self.stalled[reason] += oldest.written.wait()
        before = mpi.wtime(self.comm)
        try:
            self.committed.append(oldest.saving.commit(oldest.extra, oldest.own))
        finally:
            self.stalled["messages"] += mpi.wtime(self.comm) - before


def _copy(pairs: list[tuple[Tensor, Tensor]]) -> None:
    for target, source in pairs:
        target.copy_(source)


# What it costs --------------------------------------------------------------------------------------------------------


def stall(T: float, snapshot: float, write: float, hidden: float = 0.0) -> float:
    """Seconds that training waits for each save, in the long run: for the copy, and for a drive that is too slow.

    T         seconds of work between saves
    snapshot  seconds of the copy, of which `hidden` pass before the state changes
    write     seconds of the write
    With two buffers or more. The copy needs no drive, so one write follows the other: T + stall >= write.
    """
    exposed = max(0.0, snapshot - hidden)
    return max(exposed, write - T)


def host_bytes(nbytes: int, buffers: int = 2) -> int:
    """Host memory for the snapshots of a rank that writes so many bytes."""
    return buffers * nbytes

"""The checkpoint store, a replicated state machine: which checkpoint is committed, who belongs to the job, its epoch.

Idea      The tensors of a checkpoint are written by the workers, wherever they write. What must not be in doubt is
          small: who the workers are, and which checkpoint is complete. Each change of the workers begins a new *epoch*.
          A checkpoint is committed by one command with its step, the epoch, and a checksum of every worker's shard. It
          is refused unless the epoch is the present one. So whoever was cut off, and does not know that the others have
          gone on, cannot commit (a fencing token).
Exact     A pure function of state and command, so that servers that apply the same log have the same state.
Price     One log entry a checkpoint; some 100 bytes for each worker.
Left out  The shards themselves: consensus would send each byte to every server (errata, E1-38).
Source    Ongaro and Ousterhout 2014, section 2 (replicated state machines); Burrows, The Chubby Lock Service, 2006,
          section 2.4 (sequencers: a number that makes late messages of a former owner invalid).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple


class JoinWorker(NamedTuple):
    """A worker is to belong to the job."""

    worker: str


class LeaveWorker(NamedTuple):
    """A worker is to belong no more: it is gone, or believed to be."""

    worker: str


class CommitCheckpoint(NamedTuple):
    """The checkpoint of `step` is complete: (worker, checksum) of each shard, as saved in `epoch`."""

    step: int
    epoch: int
    shards: tuple[tuple[str, str], ...]


class ReadStore(NamedTuple):
    """What is the state now?"""


class StoreState(NamedTuple):
    """The workers (sorted) of this epoch, and the newest committed checkpoint."""

    epoch: int = 0
    workers: tuple[str, ...] = ()
    checkpoint: CommitCheckpoint | None = None


class StoreAnswer(NamedTuple):
    """Whether a command was carried out, if not why, and the state after it."""

    accepted: bool
    reason: str
    state: StoreState


def apply(state: StoreState, command: Hashable) -> tuple[StoreState, StoreAnswer]:
    """The state after a command, and the answer to it. Raises TypeError if it is not a command of this module."""
    if isinstance(command, ReadStore):
        reason, after = "", state
    elif isinstance(command, JoinWorker | LeaveWorker):
        reason, after = _changed(state, command)
    elif isinstance(command, CommitCheckpoint):
        reason = _refusal(state, command)
        after = state if reason else state._replace(checkpoint=command)
    else:
        raise TypeError(f"{command!r} is not a command of the checkpoint store")
    return after, StoreAnswer(not reason, reason, after)


def _changed(state: StoreState, command: JoinWorker | LeaveWorker) -> tuple[str, StoreState]:
    """Why the workers stay as they are, if they do, and the state with those of a new epoch."""
    joins = isinstance(command, JoinWorker)
    if joins == (command.worker in state.workers):
        return f"{command.worker} {'belongs already' if joins else 'does not belong'}", state
    workers = set(state.workers) ^ {command.worker}
    return "", state._replace(epoch=state.epoch + 1, workers=tuple(sorted(workers)))


def _refusal(state: StoreState, commit: CommitCheckpoint) -> str:
    """Why a checkpoint is not committed; "" if it is."""
    if commit.epoch != state.epoch:
        return f"epoch {commit.epoch} is over, this is {state.epoch}"
    if tuple(sorted(worker for worker, _ in commit.shards)) != state.workers:
        return "the shards are not those of the workers of this epoch"
    if state.checkpoint and commit.step <= state.checkpoint.step:
        return f"step {state.checkpoint.step} is committed already"
    return ""

"""One-sided updates: a parameter server without a server.

Idea      The weights lie in memory that every rank can reach by itself (an MPI window; RDMA is the hardware for it).
          A rank gets them, computes its gradient, and adds -eta g to them. Nobody runs a server loop, nobody answers,
          and the rank whose memory it is computes gradients like the others.
Before    Send(g) ... Recv, add, Send(w) ... Recv         two partners, and the server's loop is busy with every message
After     Get_accumulate(w); Accumulate(-eta g)           one partner
Sends     As a server: 2 n per gradient, through the ports of the `owners`, which share the weights block by block.
Price     There is no order: an unbounded delay, as with the asynchronous server. It can be measured: a counter in the
          same window tells how many updates came in between. Counter and weights are not read at one moment, so it is
          exact to the updates that arrive during the read.
Exact     An Accumulate is atomic for each element (with others of the same operation and type): no addition is lost. It
          is not atomic for the vector: a rank may read a mixture of two updates. To read an element that others
          accumulate, a Get would be a race; Get_accumulate with NO_OP is the atomic read. Get, add, Put loses updates
          (count_up), unless an exclusive lock is held from the Get to the Put.
          The same run each time on the virtual cluster, which moves each transfer at one moment; not on real ranks.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from .. import mpi
from ..agreement import agree
from .arguments import trouble
from .parameter_server import Push, ServerResult

COUNTER = 8  # bytes at the beginning of each window: updates made so far (only rank 0's is used)


def train_one_sided(
    comm,
    objective,
    steps: int,
    rate: float,
    owners: int = 1,
    watch: Callable[[Tensor], None] | None = None,
) -> ServerResult:
    """Minimise the objective by SGD; every rank reads the weights and adds to them as it likes.

    The weights lie on ranks 0 to owners - 1. Rank r computes the gradients of its shares of the batches 0, ...,
    steps - 1; ranks may differ in steps. `watch` is called with what a rank has read, before each of its gradients.
    Returns the weights and this rank's own pushes. Raises ValueError on every rank for impossible arguments.
    """
    problem = trouble(steps, rate)
    if not 1 <= owners <= comm.size:
        problem = f"{owners} owners of the weights among {comm.size} ranks: take 1 to {comm.size}"
    agree(comm, "the arguments", [f"{rate=}", f"{owners=}"], problem)
    memory, w = Weights(comm, objective.start(), owners), objective.start()
    log = []
    for step in range(steps):
        seen = memory.tick(0)
        memory.read(w)
        if watch:
            watch(w)
        g, count = objective.gradient(w, step, comm.rank, comm.size)
        if count:
            memory.add(g * (-rate / count))
            log.append(Push(comm.rank, step, memory.tick(1) - seen))
    comm.Barrier()
    memory.read(w)
    memory.close()
    return ServerResult(w, log)


class Weights:
    """A vector that lies in the windows of some ranks, block by block."""

    def __init__(self, comm, w: Tensor, owners: int):
        mine = w.tensor_split(owners)[comm.rank] if comm.rank < owners else w[:0]
        self.owners, self.window = owners, mpi.win_allocate(comm, COUNTER + mine.nbytes)
        self.window.Lock_all()
        np.frombuffer(self.window.tomemory(), np.int64, 1)[:] = 0
        if len(mine):
            torch.frombuffer(self.window.tomemory(), dtype=w.dtype, offset=COUNTER).copy_(mine)
        self.window.Sync()
        comm.Barrier()

    def read(self, w: Tensor) -> None:
        """Fill w, element by element atomically."""
        for owner, block in enumerate(w.tensor_split(self.owners)):
            self.window.Get_accumulate(block, block, owner, COUNTER, mpi.NO_OP)
        self.window.Flush_all()

    def add(self, change: Tensor) -> None:
        """Add to the vector, element by element atomically; it is there when this returns."""
        for owner, block in enumerate(change.tensor_split(self.owners)):
            self.window.Accumulate(block, owner, COUNTER, mpi.SUM)
        self.window.Flush_all()

    def tick(self, number: int) -> int:
        """Add to the counter on rank 0, and return what it was."""
        before = np.empty(1, np.int64)
        self.window.Fetch_and_op(np.array([number], np.int64), before, 0, 0, mpi.SUM)
        self.window.Flush(0)
        return int(before[0])

    def close(self) -> None:
        """Give the windows up; called by all ranks."""
        self.window.Unlock_all()
        self.window.Free()


def count_up(comm, additions: int, how: str = "accumulate") -> float:
    """What a counter on rank 0 shows after every rank has added 1 to it `additions` times.

    how  "accumulate": atomic; "get and put": get it, add, put it back; "lock": the same while nobody else has access
    Raises ValueError on every rank for another `how`.
    """
    ways = "accumulate", "get and put", "lock"
    agree(comm, "the arguments", [f"{how=}"], "" if how in ways else f"how to add: {', '.join(ways)}, not {how!r}")
    window, number = mpi.win_allocate(comm, 8 if comm.rank == 0 else 0), np.zeros(1)
    if comm.rank == 0:
        window.Lock(0)
        np.frombuffer(window.tomemory(), np.float64)[:] = 0
        window.Unlock(0)
    comm.Barrier()
    for _ in range(additions):
        window.Lock(0, mpi.LOCK_EXCLUSIVE if how == "lock" else mpi.LOCK_SHARED)
        if how == "accumulate":
            window.Accumulate(np.ones(1), 0)
        else:
            window.Get(number, 0)
            window.Flush(0)
            number += 1
            window.Put(number, 0)
        window.Unlock(0)
    comm.Barrier()
    window.Lock(0, mpi.LOCK_SHARED)
    window.Get(number, 0)
    window.Unlock(0)
    window.Free()
    return float(number[0])

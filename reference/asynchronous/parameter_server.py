"""Parameter server: one rank holds the weights; workers pull them, compute a gradient, and push it.

Idea      An all-reduce is as fast as its slowest rank. A server need not wait for anybody.
          A worker's clock is the number of gradients that it has pushed. Who may go on is one number: a worker waits
          for its weights while its clock is more than `bound` ahead of the slowest worker's.
            synchronous     bound 0, and the gradients of one clock are added up (in the order of the workers, whatever
                            the order of their arrival) and divided by their samples before they are used: to the last
                            bit what one rank computes that adds in this order
            bounded(s)      stale synchronous: nothing is dropped, and nobody computes while more than s clocks ahead:
                            the fast worker waits. A gradient is then at most (2 s + 1)(workers - 1) updates late
            asynchronous    no bound: first come, first served
          What is done about late gradients is the policy's `correct` (staleness.py).
          The list of all workers' clocks is a version vector: it says which gradients a copy of the weights contains.
Sends     The server takes in (P - 1) n bytes for each round of its workers and gives out as many, where a ring sends
          2 (P - 1) / P n per rank: its port is the bottleneck. `servers` > 1 share the weights, block by block. With as
          many servers as workers on the same machines, each port carries what it carries in an all-reduce.
Exact     On the virtual cluster every run is the same run. On real ranks the order of arrival, and with it every bit of
          an asynchronous result, differs from run to run; a synchronous one does not.
Left out  Fault tolerance (a server is a single point of failure), optimizers with state at the server, keys of which a
          worker pulls some only, and backup workers, whose late gradients are dropped on purpose (Chen et al. 2016).
Source    Li et al., "Scaling Distributed Machine Learning with the Parameter Server" (2014); Dean et al., "Large Scale
          Distributed Deep Networks" (2012); Ho et al., "More Effective Distributed ML via a Stale Synchronous Parallel
          Parameter Server" (2013).
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import NamedTuple

import torch
from torch import Tensor

from .. import mpi
from ..agreement import agree
from .arguments import trouble
from .staleness import PLAIN, Correction

PULL, PUSH, LEAVE, WEIGHTS, STOP = range(1, 6)  # tags: three that a worker sends, two that a server answers


class Policy(NamedTuple):
    """When a worker may go on (bound), whether one update takes the gradients of all, and what is done to late ones."""

    bound: float = inf
    together: bool = False
    correct: Correction = PLAIN


SYNCHRONOUS = Policy(bound=0, together=True)
ASYNCHRONOUS = Policy()


def bounded(clocks: int, correct: Correction = PLAIN) -> Policy:
    """Bounded staleness: no worker computes while more than so many clocks ahead of another."""
    return Policy(clocks, correct=correct)


class Push(NamedTuple):
    """One gradient that arrived: from worker 0, 1, ..., its number there, and how many updates late it was."""

    worker: int
    clock: int
    delay: int


class ServerResult(NamedTuple):
    """The weights w [d], the same on every rank, and on a server the log of its pushes in the order of arrival."""

    w: Tensor
    log: list[Push]


def train_with_servers(
    comm,
    objective,
    steps: int,
    rate: float,
    policy: Policy = ASYNCHRONOUS,
    servers: int = 1,
    watch: Callable[[Tensor], None] | None = None,
) -> ServerResult:
    """Minimise the objective by SGD on the workers' gradients; ranks 0 to servers - 1 serve, the others work.

    Worker k of K computes the gradients of its shares of the batches 0, 1, ..., steps - 1; workers may differ in steps.
    Each push is an update by `rate` times its mean gradient; a synchronous update takes `rate` times the mean of all.
    `watch` is called with the server's weights after every update.

    Raises, on every rank, ValueError for impossible arguments, and FloatingPointError that names worker and delay
    for the first gradient that is not finite.
    """
    problem = trouble(steps, rate)
    if not 1 <= servers < comm.size:
        problem = f"{comm.size} ranks, {servers} of them servers: there must be at least 1 server and 1 worker"
    if not policy.bound >= 0 or (policy.together and policy.bound > 0):
        problem = f"the bound is a number of clocks, 0 if gradients are used together, got {policy.bound}"
    agree(comm, "the arguments", [f"{rate=}", f"{policy.bound=}", f"{policy.together=}", f"{servers=}"], problem)
    w, server = objective.start(), None
    blocks = w.tensor_split(servers)
    if comm.rank < servers:
        server = Server(blocks[comm.rank], comm.size - servers, rate, policy, watch or (lambda w: None))
        serve_workers(comm, server, servers)
    else:
        work(comm, objective, w, blocks, steps)
    failures = [failure for failure in comm.allgather(server and server.failure) if failure]
    if failures:
        raise FloatingPointError(failures[0])
    for root, block in enumerate(blocks):
        comm.Bcast(block, root)
    return ServerResult(w, server.log if server else [])


def server_bytes(P: int, n: float, servers: int = 1) -> float:
    """Bytes that each server takes in, and again gives out, while each of the other ranks pushes and pulls n bytes."""
    return (P - servers) * n / servers


# The worker ----------------------------------------------------------------------------------------------------------


def work(comm, objective, w: Tensor, blocks: tuple[Tensor, ...], steps: int) -> None:
    """Pull, compute, push, `steps` times. blocks: the views of w that the servers hold."""
    servers = len(blocks)
    me, workers = comm.rank - servers, comm.size - servers
    order = [(me + number) % servers for number in range(servers)]  # each begins with another server
    for clock in range(steps):
        if not pull(comm, blocks, order):
            break
        g, count = objective.gradient(w, clock, me, workers)
        parts = g.tensor_split(servers)
        for server in order:
            message = torch.cat([parts[server], g.new_tensor([count])])  # float32 holds a count up to 2^24 exactly
            comm.Send(message, server, PUSH)
    for server in order:
        comm.Send(w[:0], server, LEAVE)


def pull(comm, blocks: tuple[Tensor, ...], order: list[int]) -> bool:
    """Fill the blocks with the servers' weights; False if a server says that it is over."""
    answers = [comm.Irecv(block, server) for server, block in enumerate(blocks)]  # first, so that no server has to wait
    statuses = [mpi.Status() for _ in answers]
    for server in order:
        comm.Send(blocks[server][:0], server, PULL)
    mpi.waitall(answers, statuses)
    return all(status.tag == WEIGHTS for status in statuses)


# The server ----------------------------------------------------------------------------------------------------------


def serve_workers(comm, server: Server, servers: int) -> None:
    """Answer the workers until all have left."""
    message, status = server.w.new_empty(len(server.w) + 1), mpi.Status()
    while server.working:
        comm.Recv(message, mpi.ANY_SOURCE, mpi.ANY_TAG, status)
        worker = status.source - servers
        if status.tag == PULL:
            server.waiting.add(worker)
        elif status.tag == LEAVE:
            server.working.remove(worker)
        else:
            server.push(worker, message[:-1].clone(), int(message[-1]))
            mpi.compute(comm, reduced=server.w.nbytes)
        server.update_together()
        for ready in server.ready():
            comm.Send(*server.answer(ready, servers))


class Server:
    """What a server knows: its block of the weights, and of each worker its clock and what it has read."""

    def __init__(self, w: Tensor, workers: int, rate: float, policy: Policy, watch: Callable[[Tensor], None]):
        self.w, self.rate, self.policy, self.watch = w, rate, policy, watch
        self.clock = [0] * workers  # the version vector: gradients that came from each
        self.version = 0  # updates that were made
        self.working, self.waiting = set(range(workers)), set()
        self.read: list = [(0, None)] * workers  # version that each has read, and a copy if the policy needs one
        self.held: dict[int, tuple[Tensor, int]] = {}  # gradients that wait to be used together
        self.log: list[Push] = []
        self.failure: str | None = None

    def push(self, worker: int, g: Tensor, count: int) -> None:
        """Take in the gradient g of a sum over `count` samples."""
        version, old = self.read[worker]
        self.log.append(Push(worker, self.clock[worker], self.version - version))
        self.clock[worker] += 1
        if not g.isfinite().all():
            self.failure = self.failure or self._diverged()
        elif self.policy.together:
            self.held[worker] = g, count
        elif count:
            moved = None if old is None else self.w - old
            self._update(self.policy.correct.apply(g / count, self.log[-1].delay, moved))

    def update_together(self) -> None:
        """Once every worker's gradient is there: add them up in the order of the workers, and use them."""
        if self.held and self.working <= self.held.keys():
            total, samples = torch.zeros_like(self.w), 0
            for _, (g, count) in sorted(self.held.items()):
                total += g
                samples += count
            self.held.clear()
            if samples:
                self._update(total / samples)

    def _update(self, g: Tensor) -> None:
        self.w -= self.rate * g
        self.version += 1
        self.watch(self.w)

    def ready(self) -> list[int]:
        """The workers that wait and may go on."""
        slowest = min((self.clock[worker] for worker in self.working), default=0)
        return [worker for worker in sorted(self.waiting) if self.clock[worker] - slowest <= self.policy.bound]

    def answer(self, worker: int, servers: int) -> tuple[Tensor, int, int]:
        """What to send to a worker that may go on: message, rank, tag."""
        self.waiting.remove(worker)
        if self.failure:
            return self.w[:0], worker + servers, STOP
        self.read[worker] = self.version, self.w.clone() if self.policy.correct.remembers else None
        return self.w, worker + servers, WEIGHTS

    def _diverged(self) -> str:
        late = self.log[-1]
        return (
            f"gradient {late.clock} of worker {late.worker}, {late.delay} updates late, is not finite: training has "
            f"diverged. Take a smaller rate (staleness.largest_rate), bounded staleness, or damping"
        )

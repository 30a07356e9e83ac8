"""Time to accuracy with a slow rank: every method of this package, on one problem and one clock.

Idea      One of K workers takes four times as long. How long until the loss is below a target?
          The same model, data, batches and time per gradient for all. A step of a synchronous method takes the mean of
          K gradients at `rate`; where each gradient is an update of its own, it is taken at rate / K (damping, which
          divides by 1 + delay itself, excepted).
          Everybody has K workers, ranks 1 to K; rank 0 serves where there is a server, and is idle where there is none.
          The last worker is meant to be the slow one: launch(contest, K + 1, ..., faults=[Slow(K, 4.0)]).
          Measured is the loss of the server's weights, of the average after each phase, or of worker 1's own weights
          (gossip), at each update, on the virtual clock; to look takes no time there.
Price     Synchronous methods are as good per sample as one rank, and as slow per second as the slowest. Asynchronous
          ones do not wait for the slowest (bounded ones at times do), and pay in gradients that are late. A server is
          simple and knows all the delays, but its port carries everything; gossip spreads the traffic evenly, but
          nobody has the model.
Exact     On the virtual cluster two contests give the same bits. On real ranks, arrival decides, and every run differs
          (the synchronous methods, local SGD and gossip on a graph excepted: only their times do).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .. import mpi
from ..models.seeds import generator
from . import gossip, local_sgd, one_sided, parameter_server
from .local_sgd import AVERAGE, SLOWMO, Outer
from .parameter_server import ASYNCHRONOUS, SYNCHRONOUS, Policy, bounded
from .staleness import DAMPED, compensated


class Timed:
    """The same function as `objective`, whose gradients take time on the clock of their rank: `seconds`.

    With `jitter` it is exponentially distributed around `seconds`, drawn from (seed, rank, step): every method meets
    the same times. Of P such times the largest is 1 + 1/2 + ... + 1/P times the mean on average, so who waits for all
    in each step takes that much longer. (A rank that is always slow is a fault of the launch: Slow.)
    """

    def __init__(self, comm, objective, seconds: float, jitter: bool = False, seed: int = 0):
        self.comm, self.objective, self.seconds, self.jitter, self.seed = comm, objective, seconds, jitter, seed

    def start(self) -> Tensor:
        """The weights to begin with, w [d]."""
        return self.objective.start()

    def gradient(self, w: Tensor, step: int, rank: int = 0, ranks: int = 1) -> tuple[Tensor, int]:
        """The gradient g [d] of the sum over this rank's share of the batch, and the number of its samples."""
        chance = torch.rand((), generator=generator(self.seed, rank, step), dtype=torch.float64)
        mpi.compute(self.comm, self.seconds * (-float(chance.log()) if self.jitter else 1.0))
        return self.objective.gradient(w, step, rank, ranks)


class Contest(NamedTuple):
    """What a contest is about.

    seconds, jitter   of one gradient, see Timed        period, post   of local SGD
    bound             of staleness, in clocks           strength       of the compensation
    """

    objective: Any
    steps: int
    rate: float
    seconds: float
    jitter: bool = False
    period: int = 8
    post: int = 8
    bound: int = 4
    strength: float = 1.0


class Seen(NamedTuple):
    """The loss at a moment (s, on the clock of the rank that looked)."""

    seconds: float
    loss: float


Watch = Callable[[Tensor], None]


def _served(comm, s: Contest, watch: Watch, policy: Policy, share: bool = True) -> None:
    rate = s.rate / (comm.size - 1) if share else s.rate
    parameter_server.train_with_servers(comm, s.objective, s.steps, rate, policy, watch=watch)


def _local(comm, s: Contest, watch: Watch, outer: Outer = AVERAGE, post: int = 0) -> None:
    post = min(post, s.steps)
    phases = local_sgd.periodic(s.steps - post, s.period)
    local_sgd.train_local_sgd(comm, s.objective, phases, s.rate, outer=outer, synchronous=post, watch=watch)


METHODS: dict[str, Callable[[Any, Contest, Watch], object]] = {
    "all-reduce": lambda comm, s, watch: _local(comm, s, watch, post=s.steps),
    "server, synchronous": lambda comm, s, watch: _served(comm, s, watch, SYNCHRONOUS, share=False),
    "server, asynchronous": lambda comm, s, watch: _served(comm, s, watch, ASYNCHRONOUS),
    "server, bounded": lambda comm, s, watch: _served(comm, s, watch, bounded(s.bound)),
    "server, damped": lambda comm, s, watch: _served(comm, s, watch, Policy(correct=DAMPED), share=False),
    "server, compensated": lambda comm, s, watch: _served(comm, s, watch, Policy(correct=compensated(s.strength))),
    "one-sided": lambda comm, s, watch: one_sided.train_one_sided(
        comm, s.objective, s.steps, s.rate / comm.size, watch=watch
    ),
    "local SGD": _local,
    "post-local SGD": lambda comm, s, watch: _local(comm, s, watch, post=s.post),
    "SlowMo": lambda comm, s, watch: _local(comm, s, watch, SLOWMO),
    "gossip": lambda comm, s, watch: gossip.train_gossip(comm, s.objective, s.steps, s.rate, watch=watch),
    "gossip by pulling": lambda comm, s, watch: gossip.train_by_pull(comm, s.objective, s.steps, s.rate, watch=watch),
}
"""What to compare: METHODS[name](comm, setting, watch)."""


def contest(comm, name: str, setting: Contest) -> list[Seen]:
    """Train by the method of that name; what was seen, on the rank that looked (an empty list on the others).

    Raises ValueError for a name that is not there, and for fewer than 2 ranks.
    """
    if name not in METHODS or comm.size < 2:
        raise ValueError(f"2 ranks or more, and one of {', '.join(METHODS)}; got {comm.size} and {name!r}")
    seen: list[Seen] = []

    def watch(w: Tensor) -> None:
        if group.rank == 0:
            seen.append(Seen(mpi.wtime(comm), look.loss(w)))

    served, look = name.startswith("server"), setting.objective
    group = comm.Dup() if served else comm.Split(int(comm.rank > 0))
    if served or comm.rank > 0:
        timed = Timed(comm, setting.objective, setting.seconds, setting.jitter)
        METHODS[name](group, setting._replace(objective=timed), watch)
    group.Free()
    return seen


def time_to(seen: Sequence[Seen], loss: float) -> float:
    """When the loss was at or below this for the first time (s); infinity if it never was."""
    return next((moment.seconds for moment in seen if moment.loss <= loss), inf)


def steps_to(seen: Sequence[Seen], loss: float) -> float:
    """At which look, 1, 2, ..., the loss was at or below this for the first time; infinity if it never was."""
    return next((number for number, moment in enumerate(seen, 1) if moment.loss <= loss), inf)

"""Data-parallel training that survives: every rank has all of the state, so that of one survivor is enough.

Idea      Each rank has weights and optimizer state, equal after the same step. A rank that dies takes nothing with it
          but its share of one batch, which the others compute again: a batch follows from the position in the data.
          But the survivors may be a step apart. The all-reduce of step 7 may have returned on rank 0, which applied
          it, and failed on rank 1, which did not. The newest state is a good one, for its all-reduce had everybody's
          gradient. So whoever is behind takes the state of whoever is farthest.
Before    steps 6, 7, 6 on three survivors of four ranks
After     step 7 on all; the next batch is shared by three
Sends     Without failure the all-reduce alone. After one: the steps of all, and the state once to those behind.
Exact     The survivors cannot be more than a step apart: the all-reduce of step 8 needs everybody, also who is in 7.
          What is received becomes the state when all of it has arrived, and not before: a rank may die in between.
          Each sample of an applied step is counted by the very all-reduce that brings its gradient (`counts`).
Left out  Overlap with the backward pass: `reference.train --elastic` has it.
Source    The shared state is what torchelastic and Horovod Elastic keep in memory, too; they begin again with new
          communicators: Horovod, docs/elastic.rst.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .reshard import owners
from .samples import next_samples
from .shrink import survive

BETAS, EPS = (0.9, 0.999), 1e-8
Rule = Callable[[int], tuple[int, float]]  # how many ranks there are -> (global batch, learning rate)


@dataclass
class Progress:
    """What a training is after `step` steps: weights w [n], Adam's averages m and v [n], and all that goes with them.

    position  samples consumed; counts [samples]: how often each one was part of an applied gradient
    losses    mean loss of each step's batch
    """

    w: np.ndarray
    m: np.ndarray
    v: np.ndarray
    counts: np.ndarray
    position: int = 0
    step: int = 0
    losses: list[float] = field(default_factory=list)

    @classmethod
    def begin(cls, problem: Any) -> Progress:
        """Before the first step."""
        w = problem.start()
        return cls(w, np.zeros_like(w), np.zeros_like(w), np.zeros(problem.samples))

    def apply(self, gradient: np.ndarray, counts: np.ndarray, loss: float, rate: float) -> None:
        """Take the step: `gradient` [n] and `loss` are sums over the samples that `counts` tells."""
        taken = counts.sum()
        self.step += 1
        adam(self.w, self.m, self.v, gradient / taken, rate, self.step)
        self.counts += counts
        self.position += int(taken)
        self.losses.append(loss / taken)


def adam(w: np.ndarray, m: np.ndarray, v: np.ndarray, g: np.ndarray, rate: float, step: int) -> None:
    """Step 1, 2, ... of Adam with the mean gradient g, in place."""
    for average, value, beta in ((m, g, BETAS[0]), (v, g * g, BETAS[1])):
        average *= beta
        average += (1 - beta) * value
    unbiased = [average / (1 - beta**step) for average, beta in zip((m, v), BETAS)]
    w -= rate * unbiased[0] / (np.sqrt(unbiased[1]) + EPS)


def mine(indices: np.ndarray, rank: int, ranks: int) -> np.ndarray:
    """A rank's share of a batch."""
    own = owners(len(indices), ranks)[rank]
    return indices[own.start : own.stop]


def serially(problem: Any, sizes: Sequence[int], rates: Sequence[float]) -> Progress:
    """One rank alone, with these global batches and learning rates, a step each: what all others must equal."""
    state = Progress.begin(problem)
    for size, rate in zip(sizes, rates):
        taken = next_samples(problem.samples, size, state.position, problem.seed)
        gradient, loss = problem.gradient(state.w, taken)
        state.apply(gradient, np.bincount(taken, minlength=problem.samples), loss, rate)
    return state


def newest_state(comm, step: int, facts: Any, arrays: Sequence[Any]) -> tuple[Any, Sequence[Any]] | None:
    """(facts, arrays) of the rank that has taken most steps, or None on a rank that has as many.

    facts: small, pickled; arrays: NumPy's or torch's, of the same shapes on all ranks, not written to. A rank that has
    just joined says step -1. Collective; it does not begin to send if all are equal.
    """
    steps = comm.allgather(step)
    newest = max(steps)
    if min(steps) == newest:
        return None
    root = steps.index(newest)
    facts = comm.bcast(facts, root=root)
    received = list(arrays) if step == newest else [like(array) for array in arrays]
    for array in received:
        comm.Bcast(array, root=root)
    return None if step == newest else (facts, received)


def like(array: Any) -> Any:
    """Memory for as much, NumPy's or torch's."""
    return np.empty_like(array) if isinstance(array, np.ndarray) else array.new_empty(array.shape)


def catch_up(comm, state: Progress) -> None:
    """Bring this rank to the newest step of all. Collective."""
    facts = state.position, state.step, state.losses
    if found := newest_state(comm, state.step, facts, (state.w, state.m, state.v, state.counts)):
        (state.position, state.step, state.losses), arrays = found
        state.w, state.m, state.v, state.counts = arrays


def take_steps(comm, problem: Any, state: Progress, steps: int, rule: Rule) -> None:
    """Train until `steps` steps are taken; a rank that is behind catches up first. Collective."""
    catch_up(comm, state)
    while state.step < steps:
        size, rate = rule(comm.size)
        taken = mine(next_samples(problem.samples, size, state.position, problem.seed), comm.rank, comm.size)
        gradient, loss = problem.gradient(state.w, taken)
        sent = np.concatenate([gradient, np.bincount(taken, minlength=problem.samples), [loss]])
        summed = np.empty_like(sent)
        comm.Allreduce(sent, summed)
        state.apply(summed[: problem.n], summed[problem.n : -1], float(summed[-1]), rate)


def train_replicated(
    comm, problem: Any, steps: int, rule: Rule, state: Progress | None = None, fewest: int = 1
) -> tuple[Progress, Any]:
    """Train on as many ranks as live; (what came of it, the communicator of the survivors). Collective.

    rule  which global batch and learning rate so many ranks take
    state what to begin with; Progress.begin(problem) if left out
    Raises TooFew if less than `fewest` ranks are left.
    """
    state = state or Progress.begin(problem)
    _, comm = survive(comm, lambda comm: take_steps(comm, problem, state, steps, rule), fewest)
    return state, comm

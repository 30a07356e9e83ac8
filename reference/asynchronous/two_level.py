"""Local SGD on links that are not alike: gradients are summed inside a node in every step, weights are averaged between
nodes every so often.

Idea      A ring over all ranks is as slow as the slowest of its links. Inside a node links are fast, so gradients are
          summed there in every step, and the node drifts as one. Between nodes weights are averaged after each phase.
          How long a phase is follows from the link: as long as the average adds a given share to what the phase
          computes (`affordable_period`). Phases may come from a generator that times each average, so that they follow
          a link that changes (`following_periods`).
Sends     Inside: an all-reduce of n bytes a step. Between: one of n bytes a phase, of which a node's card carries
          2 (P - 1) / P n in each direction, as the ring goes through each node once.
Price     Nodes drift apart within a phase, as ranks do in local SGD. Data that differ between the ranks of a node do no
          harm, data that differ between nodes do.
Left out  Another codec for each level, momentum, more than two levels.
Source    Lin, Stich, Patel and Jaggi, "Don't Use Large Mini-Batches, Use Local SGD" (2020): hierarchical local SGD.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import ceil

import torch
from torch import Tensor

from .. import mpi
from ..agreement import agree
from ..collectives import allreduce
from .arguments import trouble
from .local_sgd import weighted_mean


def affordable_period(average: float, step: float, share: float = 0.1) -> int:
    """The shortest phase of steps of `step` seconds to which an average of `average` seconds adds at most `share`.

    Raises ValueError unless average >= 0, step > 0 and share > 0.
    """
    if not (average >= 0 and step > 0 and share > 0):
        raise ValueError(f"a step takes time and the share is above 0, got {average=}, {step=} and {share=}")
    return max(1, ceil(average / (share * step)))


def following_periods(comm, steps: int, step: float, share: float = 0.1) -> Iterator[int]:
    """Phases for train_two_level, `steps` in all: first one step, then as long as the last average asks for.

    step    seconds of a step without the average; share: what the average may add to a phase
    One max all-reduce of a number a phase, so that all ranks agree: the slowest one's seconds count.
    """
    done, length = 0, 1
    while done < steps:
        begin, length = mpi.wtime(comm), min(length, steps - done)
        yield length
        done += length
        average = comm.allreduce(mpi.wtime(comm) - begin, op=mpi.MAX) - length * step
        length = affordable_period(max(0.0, average), step, share)


def train_two_level(comm, objective, phases: Iterable[int], rate: float, node: int) -> Tensor:
    """Minimise the objective: each step with the mean gradient of this node, after each phase the mean of all weights.

    phases   steps from one average between nodes to the next, alike on all ranks; a generator is asked for the next one
             when the average after the one before is done, and may communicate
    node     ranks of a node: ranks 0 to node - 1 are the first one; the last node may have fewer

    Returns the weights w [d], the same bits on all ranks. Raises ValueError on every rank for impossible arguments.
    """
    wrong = trouble(rate=rate) or ("" if node >= 1 else f"a node has at least 1 rank, got {node=}")
    agree(comm, "the arguments", [f"{rate=}", f"{node=}"], wrong)
    inside = comm.Split(comm.rank // node, comm.rank)
    w, first = objective.start(), 0
    for length in phases:
        if length < 1:
            raise ValueError(f"a phase has at least 1 step, got {length}")
        samples = 0
        for step in range(first, first + length):
            g, count = objective.gradient(w, step, comm.rank, comm.size)
            total = torch.cat([g, g.new_tensor([count])])  # float32 holds a count up to 2^24 exactly
            allreduce(inside, total, algorithm="ring")
            if total[-1] > 0:
                w = w - rate * total[:-1] / total[-1]
            samples += count
        first += length
        (w,) = weighted_mean(comm, [w], samples)
    inside.Free()
    return w

"""Gossip: average with a neighbour or two instead of with everybody.

Idea      x <- W x, where row i of the mixing matrix W says what rank i makes of its own vector and its neighbours'. If
          rows add up to 1, a consensus stays one; if columns do, too, the mean stays what it was. Repeated, all ranks
          come to the mean.
          The distance from the mean shrinks by |lambda_2| a step, the second largest eigenvalue of a symmetric W. It
          is below 1 if the graph is connected and each rank keeps a share of its own (two that swap never agree). The
          spectral gap 1 - |lambda_2| of a ring falls as 1/P^2; of random pairs it hardly depends on P. A hypercube
          takes each of its log2 P directions in turn, and is at the mean exactly after one turn of all.
          Where ranks draw partners, both must replace their vectors by the average. If only the one who asked does
          (`pull`), the columns do not add up to 1: the ranks agree in the end, on something that is not the mean. On
          average over many runs it is, if all are equally fast, and not otherwise.
          Who meets whom is a pure function of (rank, ranks, step, seed): no message is needed to find a partner.
          D-PSGD: w_i <- (W w)_i - eta g_i(w_i). Nobody holds "the" weights; the ranks' differ by at most what a
          step moves them, divided by the gap (of a fixed symmetric W).
Sends     n bytes to each neighbour, whatever P: no rank carries the others' traffic, and a latency or two is all
          there is. A slow rank holds up its neighbours, they theirs: for pairwise exchanges, all in the end. `pull`
          waits for nobody.
Source    Boyd, Ghosh, Prabhakar and Shah, "Randomized Gossip Algorithms" (2006). Lian et al., "Can Decentralized
          Algorithms Outperform Centralized Algorithms? ..." (2017): D-PSGD. Assran, Loizou, Ballas and Rabbat,
          "Stochastic Gradient Push for Distributed Deep Learning" (2019): the exponential graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .. import mpi
from ..agreement import agree
from ..models.seeds import generator
from .arguments import trouble


class Edge(NamedTuple):
    """Send my vector to rank `to`, and let what comes from rank `source` count `weight`."""

    to: int
    source: int
    weight: float


Graph = Callable[[int, int, int], list[Edge]]
"""graph(rank, ranks, step): what rank does in step 0, 1, ...; what is left of the weights, to 1, is its own."""


# Graphs --------------------------------------------------------------------------------------------------------------


def ring(rank: int, ranks: int, step: int = 0) -> list[Edge]:
    """Both neighbours and oneself, a third each."""
    left, right = (rank - 1) % ranks, (rank + 1) % ranks
    return [Edge(left, right, 1 / 3), Edge(right, left, 1 / 3)] if ranks > 1 else []


def hypercube(rank: int, ranks: int, step: int = 0) -> list[Edge]:
    """The partner whose number differs in one bit, another bit in each step. Raises ValueError unless P is 2^k."""
    if ranks & (ranks - 1):
        raise ValueError(f"a hypercube has 2, 4, 8, ... ranks, not {ranks}: take exponential or random_pairs")
    partner = rank ^ 1 << step % _turns(ranks)
    return [Edge(partner, partner, 1 / 2)] if ranks > 1 else []


def exponential(rank: int, ranks: int, step: int = 0) -> list[Edge]:
    """To the rank 1, 2, 4, ... places on, from the one as many places back: nobody waits for an answer."""
    hop = 1 << step % _turns(ranks)
    return [Edge((rank + hop) % ranks, (rank - hop) % ranks, 1 / 2)] if ranks > 1 else []


def random_pairs(rank: int, ranks: int, step: int = 0, seed: int = 0) -> list[Edge]:
    """A partner drawn from (seed, step), alike on all ranks; with an odd number one rank has none."""
    order = torch.randperm(ranks, generator=generator(seed, step)).tolist()
    place = order.index(rank) ^ 1
    return [Edge(order[place], order[place], 1 / 2)] if place < ranks else []


def _turns(ranks: int) -> int:
    return max((ranks - 1).bit_length(), 1)


def mixing_matrix(graph: Graph, ranks: int, step: int = 0) -> np.ndarray:
    """W [P, P] of one step."""
    W = np.zeros((ranks, ranks))
    for rank in range(ranks):
        for edge in graph(rank, ranks, step):
            W[rank, edge.source] += edge.weight
        W[rank, rank] += 1 - sum(W[rank])
    return W


def contraction(W: np.ndarray) -> float:
    """|lambda_2|: by how much the distance from consensus shrinks a step, in the long run."""
    return float(np.sort(np.abs(np.linalg.eigvals(W)))[-2]) if len(W) > 1 else 0.0


# Carrying them out ---------------------------------------------------------------------------------------------------


def mix(comm, x: Tensor, edges: list[Edge]) -> None:
    """One step of averaging, in place."""
    came, tag = [torch.empty_like(x) for _ in edges], mpi.fresh_tag(comm)
    requests = [comm.Irecv(buffer, edge.source, tag) for buffer, edge in zip(came, edges)]
    mpi.waitall(requests + [comm.Isend(x, edge.to, tag) for edge in edges])
    x.mul_(1 - sum(edge.weight for edge in edges))
    for buffer, edge in zip(came, edges):
        x.add_(buffer, alpha=edge.weight)


def train_gossip(
    comm,
    objective,
    steps: int,
    rate: float,
    graph: Graph = exponential,
    watch: Callable[[Tensor], None] | None = None,
) -> Tensor:
    """Minimise the objective by D-PSGD on the graph; rank r takes its shares of the batches 0, ..., steps - 1.

    `watch` is called with this rank's weights after every step. Returns this rank's own weights w [d]; the ranks' are
    close to each other, not equal. Raises ValueError on every rank for impossible arguments.
    """
    agree(comm, "the arguments", [f"{steps=}", f"{rate=}"], trouble(steps, rate) or _refused(graph, comm.size))
    w = objective.start()
    for step in range(steps):
        g, count = objective.gradient(w, step, comm.rank, comm.size)
        mix(comm, w, graph(comm.rank, comm.size, step))
        w.sub_(g, alpha=rate / max(count, 1))
        if watch:
            watch(w)
    return w


# One-sided -----------------------------------------------------------------------------------------------------------


@contextmanager
def published(comm, x: Tensor) -> Iterator:
    """A window in which every rank's x [d] can be read by the others, as it was when last published; collective."""
    window = mpi.win_allocate(comm, x.nbytes)
    window.Lock_all()
    publish(comm, window, x)
    comm.Barrier()
    yield window
    comm.Barrier()
    window.Unlock_all()
    window.Free()


def publish(comm, window, x: Tensor) -> None:
    """Let the others read x from now on, element by element atomically."""
    window.Accumulate(x, comm.rank, 0, mpi.REPLACE)
    window.Flush(comm.rank)


def pull(window, x: Tensor, peer: int) -> None:
    """Average with what a peer has published, in place; the peer does not know, and its own vector stays."""
    other = torch.empty_like(x)
    window.Get_accumulate(other, other, peer, 0, mpi.NO_OP)
    window.Flush(peer)
    x.add_(other).div_(2)


def train_by_pull(
    comm,
    objective,
    steps: int,
    rate: float,
    watch: Callable[[Tensor], None] | None = None,
    seed: int = 0,
) -> Tensor:
    """As `train_gossip`, but each rank averages with what a random peer has published last, and nobody waits.

    The ranks' clocks may be any distance apart, and the mean is not preserved by the averaging.
    """
    agree(comm, "the arguments", [f"{rate=}"], trouble(steps, rate))
    w, random = objective.start(), np.random.default_rng([seed, comm.rank])
    with published(comm, w) as window:
        for step in range(steps):
            g, count = objective.gradient(w, step, comm.rank, comm.size)
            pull(window, w, int(random.integers(comm.size)))
            w.sub_(g, alpha=rate / max(count, 1))
            publish(comm, window, w)
            if watch:
                watch(w)
    return w


def _refused(graph: Graph, ranks: int) -> str:
    try:
        graph(0, ranks, 0)
    except ValueError as error:
        return str(error)
    return ""

"""The volume of a pipeline: bytes, seconds, and the same for tensor parallelism, which cuts within layers.

Idea      What crosses a cut is what a layer puts out, and as many bytes of gradient come back:

              n = b s h * itemsize        b sequences of s tokens, width h. Not b h: every token has its vector.

          A step of m micro-batches sends 2 (p - 1) m n bytes over all cuts, 2 (p v - 1) m n with v chunks a rank;
          a rank between others sends 2 m v n, however many layers it has.
Sends     Tensor parallelism over t ranks sums up n bytes in each layer twice forward and twice backward (twice more if
          the layer is recomputed). A ring sends 2 (t - 1) / t n for it, so a rank sends 8 (t - 1) / t n for each layer
          and micro-batch: for L layers about 4 L (t - 1) / t times what a rank of a pipeline sends. In its plain form
          nothing hides it.
          A rank gets layers that follow each other: p - 1 cuts. Dealt out in turn (layer i to rank i mod p), each of
          the L - 1 boundaries is a cut, and one micro-batch is no faster: 1/p of the ranks compute at any time.
          Scatter and gather: the t tensor-parallel ranks of a stage hold the same activation. Instead of all of it
          through a network card of its own, each sends a t-th, and the receivers put it together by an all-gather over
          the fast links within their node: n / (t slow) + (t - 1)/t n / fast seconds instead of n / slow. It is
          interleaving that needs this: v times as many messages for a v-th of the bubble. If every pass waits for its
          message, a step takes (m v + p - 1)(T/v + 2c), T = F + B of a rank's share, c seconds of a message, shortest
          near v = sqrt((p - 1) T / (2 c m)): many chunks for few micro-batches and quick messages; one, if m is large.
Price     So tensor parallelism within a machine, where links are fast, and pipelines between machines; up to the
          bubble.
Exact     Fewer layers than ranks cannot be cut: a pipeline needs layers >= stages, not the other way round.
Left out  What smaller products cost tensor parallelism; messages that travel while the next pass computes
          (interleaved.py: lead), latencies; sequence parallelism, which sends as much (chapter 6).
Source    Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM" (2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ...collectives.ring import ring_allreduce_cost
from ...networks import Link
from ..messages import messages
from ..schedule import Action, Schedule, flushed
from ..schedules.plain import one_f_one_b
from ..simulate import Costs, simulate


def boundary(b: float, s: float, h: float, itemsize: int = 2) -> float:
    """n: bytes of one message of a pipeline, an activation or its gradient."""
    return b * s * h * itemsize


def sent(schedule: Schedule, nbytes: float) -> list[float]:
    """Bytes that each rank sends in a step, with `nbytes` a message: counted in the schedule."""
    return [nbytes * sum(len(exchange.sends) for exchange in rank) for rank in messages(schedule)]


def pipeline_bytes(p: int, m: int, nbytes: float, v: int = 1) -> float:
    """Bytes that all ranks send together in a step: 2 (p v - 1) m n, if stage s is on rank s mod p."""
    return 2 * (p * v - 1) * m * nbytes if p > 1 else 0.0


def tensor_bytes(t: int, layers: int, m: int, nbytes: float, allreduces: int = 4) -> float:
    """Bytes that each of t ranks sends in a step, if each layer sums up `nbytes` so many times a micro-batch.

    allreduces: 2 forward and 2 backward; 6 if all is recomputed.
    """
    return layers * m * allreduces * 2 * (t - 1) / t * nbytes


# Seconds: one model on so many ranks, cut this way or that ------------------------------------------------------------


def pipeline_seconds(p: int, m: int, seconds: float, nbytes: float, alpha: float, beta: float) -> float:
    """A step of 1F1B: the simulator's time with equal stages, messages hidden as far as it hides them.

    seconds: forward and backward of one micro-batch through the whole model on one rank, backward twice forward.
    """
    part = seconds / (3 * p)
    return simulate(one_f_one_b(p, m), Costs(part, part, part, send=alpha + nbytes * beta)).makespan


def tensor_seconds(
    t: int, layers: int, m: int, seconds: float, nbytes: float, alpha: float, beta: float, allreduces: int = 4
) -> float:
    """A step of tensor parallelism: a t-th of the work, and ring all-reduces that all wait for."""
    one = ring_allreduce_cost(t, int(nbytes), 1, Link(alpha, beta)).seconds
    return m * (seconds / t + layers * allreduces * one)


# Which rank has which layer -------------------------------------------------------------------------------------------


def contiguous(layers: int, p: int) -> list[int]:
    """The rank of each layer: the first layers on rank 0, and so on, as equally many as can be."""
    return [layer * p // layers for layer in range(layers)]


def cyclic(layers: int, p: int) -> list[int]:
    """The rank of each layer: i mod p."""
    return [layer % p for layer in range(layers)]


def crossings(placement: Sequence[int]) -> int:
    """Boundaries between layers on different ranks."""
    return sum(a != b for a, b in pairwise(placement))


def one_at_a_time(placement: Sequence[int], m: int = 1) -> Schedule:
    """A stage for each layer, on these ranks; a micro-batch goes through all of them before the next one starts."""
    own = [[s for s, rank in enumerate(placement) if rank == r] for r in range(max(placement) + 1)]

    def passes(stages: list[int], i: int) -> list[Action]:
        return [*(Action("F", s, i) for s in stages), *(Action("B", s, i) for s in reversed(stages))]

    return flushed("one at a time", [[a for i in range(m) for a in passes(stages, i)] for stages in own])


# Scatter/gather


def send_whole(nbytes: float, slow: float) -> float:
    """Seconds of a boundary if each tensor-parallel rank sends all of it. slow: bytes/s between nodes, of each rank."""
    return nbytes / slow


def scatter_gather(nbytes: float, t: int, slow: float, fast: float) -> float:
    """Seconds if each of t ranks sends a t-th, and the receivers all-gather. fast: bytes/s within a node, of a rank."""
    return nbytes / t / slow + (t - 1) / t * nbytes / fast


def step_with_messages(p: int, m: int, v: int, share: float, message: float) -> float:
    """Seconds of a step in which every pass also waits for its message: (m v + p - 1)(T/v + 2c).

    share: T, seconds of F + B of a rank's share for one micro-batch; message: c, seconds.
    """
    return (m * v + p - 1) * (share / v + 2 * message)

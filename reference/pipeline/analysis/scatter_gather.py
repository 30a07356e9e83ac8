"""Scatter/gather: send a boundary once, not once for each tensor-parallel rank; and what interleaving gains then.

Paper     Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM" (2021).
Idea      The t tensor-parallel ranks of a stage all hold the same activation, and each would send all of it, through a
          network card of its own, to its counterpart in the next stage. So each sends a t-th, and the receivers put it
          together by an all-gather over the fast links within their node.
Before    n / slow                                    seconds of a message of n bytes
After     n / (t slow) + (t - 1)/t n / fast
Why       Interleaving sends v times as much for a v-th of the bubble. If every pass waits for its message, a step is

              (m v + p - 1) (T/v + 2c)                T = F + B of a rank's share, c seconds of a message

          It is shortest near v = sqrt((p - 1) T / (2 c m)): many chunks for few micro-batches and quick messages; one,
          if m is large. So interleaving pays less the larger the batch, and without scatter/gather it soon costs.
Left out  messages that travel while the next pass computes (interleaved.py: lead), latencies.
"""

from __future__ import annotations

from collections.abc import Iterable


def plain(nbytes: float, slow: float) -> float:
    """Seconds of a boundary if each tensor-parallel rank sends all of it. slow: bytes/s between nodes, of each rank."""
    return nbytes / slow


def scatter_gather(nbytes: float, t: int, slow: float, fast: float) -> float:
    """Seconds if each of t ranks sends a t-th, and the receivers all-gather. fast: bytes/s within a node, of a rank."""
    return nbytes / t / slow + (t - 1) / t * nbytes / fast


def step_seconds(p: int, m: int, v: int, share: float, message: float) -> float:
    """Seconds of a step in which every pass also waits for its message: (m v + p - 1)(T/v + 2c).

    share: T, seconds of F + B of a rank's share for one micro-batch; message: c, seconds.
    """
    return (m * v + p - 1) * (share / v + 2 * message)


def best_chunks(p: int, m: int, share: float, message: float, choices: Iterable[int]) -> int:
    """The v of `choices` with the shortest step."""
    return min(choices, key=lambda v: step_seconds(p, m, v, share, message))

"""Compression that adapts: to the window it may hide in, to the choice that was made for it, to the gradient.

Idea      Where the link decides, send as little as trains well; where the computation does, as much as can be hidden:
          `share_that_hides` is the largest share of the elements for which a window has room.
          Top-k has to find the k-th largest element in every step. A threshold that follows the gradient sends about k
          elements, and finds it once (`FollowingThreshold`); its wires vary in size, so the sizes travel, too.
Exact     There is one error for each gradient, whatever codec comes next (`Adaptive`). From time to time everything is
          sent in full, errors included, so that nothing is late for ever.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Generator, Tensor

from ..collectives import allreduce
from ..networks import Link
from .error_feedback import ErrorFeedback
from .reduce import allgather_cost, allgather_sum
from .select import CodecChoice, GroupLink
from .sparse import Count, densify, kept_count, largest, sparse_bytes, threshold


def share_that_hides(d: int, window: float, link: GroupLink, least: float = 0.001) -> float:
    """The largest share of d elements whose all-gather takes no longer than `window` seconds; at least `least`."""
    if link.P == 1 or window >= allgather_cost(link.P, sparse_bytes(d, d), d, Link(link.alpha, link.beta)).seconds:
        return 1.0
    low, high = 0, d  # k = low fits, k = high does not
    while high - low > 1:
        k = (low + high) // 2
        fits = allgather_cost(link.P, sparse_bytes(k, d), d, Link(link.alpha, link.beta)).seconds <= window
        low, high = (k, high) if fits else (low, k)
    return max(least, low / d)


class Adaptive:
    """Sums gradients over the ranks, each in the way chosen for it, and now and then in full.

    choice: of select.choose; may be changed between steps, on all ranks alike: the errors stay.
    full_every: one of so many steps is uncompressed, and sends the errors, too. seed: for codecs that draw.
    """

    def __init__(
        self, comm, choice: CodecChoice, sizes: Sequence[int], full_every: int = 100, seed: int = 0, device="cpu"
    ):
        self.comm, self.full_every, self.steps = comm, full_every, 0
        self.errors = [torch.zeros(d, device=device) for d in sizes]
        self.generator = Generator().manual_seed(seed + comm.rank)
        self.choice = choice

    def sum(self, gradients: Sequence[Tensor]) -> Sequence[Tensor]:
        """Sum each gradient [d] over the ranks, in place, and return them."""
        self.steps += 1
        for i, (g, candidate) in enumerate(zip(gradients, self.choice.candidates)):
            if candidate.codec is None or self.steps % self.full_every == 0:
                allreduce(self.comm, g.add_(self.errors[i]))
                self.errors[i].zero_()
            else:
                sender = ErrorFeedback(candidate.codec, len(g))
                sender.error = self.errors[i]
                allgather_sum(self.comm, sender, g, self.generator)
                self.errors[i] = sender.error
        return gradients


class FollowingThreshold:
    """A sender, as ErrorFeedback is: everything above tau, and a tau that follows, so that about k elements are sent.

    The first tau is the k-th largest element; then tau is multiplied by (sent / k)^gain after each step, without
    sorting. About k on average: single steps send a few or several times k.
    gain: small, for with error feedback many elements wait just below tau: the larger it is, the further the number
    that is sent swings from step to step.
    """

    def __init__(self, k: Count, d: int, gain: float = 0.05, device="cpu"):
        self.k, self.gain, self.tau, self.error = kept_count(k, d), gain, 0.0, torch.zeros(d, device=device)

    def nbytes(self, d: int) -> None:
        """It varies."""

    def encode(self, g: Tensor, generator: Generator | None = None) -> Tensor:
        """The wire of what is above tau in g + e; afterwards e holds the rest."""
        p = g + self.error
        tau = self.tau or float(p.abs()[largest(p, self.k)].min())
        codec = threshold(tau)
        wire = codec.encode(p)
        sent = codec.decode(wire, len(p))
        self.error = p - sent
        self.tau = tau * (max(1, int(sent.count_nonzero())) / self.k) ** self.gain
        return wire

    def decode(self, wire: Tensor, d: int) -> Tensor:
        """What the receiver has, [d] float32."""
        return densify(wire, d)

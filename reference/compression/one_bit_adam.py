"""1-bit Adam: when Adam's variance hardly changes any more, freeze it, and send the momentum in one bit an element.

Idea      Error feedback repairs a compressor in front of a linear update. Adam's is not linear: it squares g for its
          variance v, and of one-bit gradients all squares are alike, so v says nothing any more.
Before    g all-reduced in 32 bits;  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;  w -= lr m / (sqrt v + eps)
After     for some steps as before, then v stays as it is, which makes of Adam a momentum SGD with a step size of its
          own for each element, and that is linear: each rank adds its gradient to m, and m is what is compressed, with
          error feedback on the way up and on the way down (reduce.two_way_sum):
              m_r = b1 m / P + (1 - b1) g_r;   m = about the sum of the m_r;   w -= lr m / (sqrt v + eps)
          Frozen v and one-bit gradients in place of m: on a small network worse than this from three initial weights of
          four, and better from one.
          Sent is sign(m_i) ||m||_1 / n, for each of the P blocks of n elements: of all scales the nearest to m. The
          paper's keeps the length of m (DeepSpeed: ||m||_2 / sqrt(n)); with it the loss on the digits ends closer to
          Adam's. Without any scale every element moves lr / sqrt v a step for ever, however small m has become.
Sends     2 (P - 1)/P (d/8) bytes and 8 (P - 1) for scales, against 2 (P - 1)/P 4 d: 32 times less, after the warm-up
Price     A bit is + or -, never 0: an element whose gradient has always been 0 (a pixel that is always white) gets a
          share of the scale, too, and divided by sqrt v = 0 that is a huge step. So where v is 0, m stays 0 (DeepSpeed
          wants to be given masks for such parameters).
Exact     After each step all ranks hold the same m, v and w, bit by bit. A v that each rank went on averaging from its
          own gradients would be another one on each rank, and soon w, too.
Left out  How long to warm up: look at how quickly the norm of v still changes. Bias correction is not in the paper;
          here it is torch's, and for v it is frozen with v.
Source    Tang, Gan, Awan, Rajbhandari, Li, Lian, Liu, Zhang & He, "1-bit Adam: Communication efficient large-scale
          training with Adam's convergence speed" (2021).
"""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from ..collectives import allreduce
from .codec import Codec
from .reduce import TwoWay, two_way_sum
from .signs import scaled_sign


class OneBitAdam:
    """The optimizer of one rank, for one vector w [d]: m and v, and the two errors.

    warm_up: steps in full precision. codec: for the momentum afterwards, of fixed size.
    """

    def __init__(
        self,
        comm,
        d: int,
        warm_up: int,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        codec: Codec | None = None,
        device="cpu",
    ):
        self.comm, self.warm_up, self.lr, self.betas, self.eps = comm, warm_up, lr, betas, eps
        self.m, self.v, self.steps = torch.zeros(d, device=device), torch.zeros(d, device=device), 0
        self.two_way = TwoWay(codec or scaled_sign(), d, comm.rank, comm.size, device=device)

    def step(self, w: Tensor, g: Tensor, generator: Generator | None = None, **how) -> None:
        """Move w [d], in place. g [d]: this rank's part of the gradient, so that the sum over the ranks is all of it.

        how: algorithm, machine, ... of the all-reduces of the warm-up.
        """
        (b1, b2), self.steps = self.betas, self.steps + 1
        if self.steps <= self.warm_up:
            g = allreduce(self.comm, g.clone(), **how)
            self.m = b1 * self.m + (1 - b1) * g
            self.v = b2 * self.v + (1 - b2) * g**2
        else:
            m = two_way_sum(self.comm, b1 * self.m / self.comm.size + (1 - b1) * g, self.two_way, generator)
            self.m = m.masked_fill(self.v == 0, 0.0)
        m = self.m / (1 - b1**self.steps)
        v = self.v / (1 - b2 ** min(self.steps, self.warm_up))
        w -= self.lr * m / (v.sqrt() + self.eps)

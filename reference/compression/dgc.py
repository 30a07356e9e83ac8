"""Deep gradient compression: top-k with momentum that is right although most of the gradient is late.

Idea      Error feedback adds up a gradient element until it is large enough to be sent. If momentum is applied to what
          has been received, an element that was kept back for T steps enters as one lump of T gradients, and what the
          momentum would have made of them one by one is missing.
Before    send top-k of (g + e);                  u = m u + received;     w -= lr u       momentum after sparsity
After     u = m u + g;  v = v + u;  send top-k of v;                      w -= lr received  momentum correction: each
          rank has a velocity u of its own, and adds up velocities in v
          Momentum factor masking: what has been sent is done with, so v = 0 there, and also u = 0, or old velocity
          would push on in a direction that is stale.
          Clipping: each rank clips its gradient by itself, before it adds it to what waits, to 1/sqrt(P) of the global
          threshold: P independent gradients of norm c have a sum of norm sqrt(P) c.
          Warm-up: in the first epochs gradients change quickly; begin with 75 % left out and go on exponentially to
          99.9 %.
Left out  Nesterov momentum; a layer's own threshold: here one vector is one layer, or all of them together.
Source    Lin, Han, Mao, Wang & Dally, "Deep gradient compression: Reducing the communication bandwidth for distributed
          training" (2018).
Try       A MomentumCorrection takes the place of an ErrorFeedback: allgather_sum(comm, sender, g); w -= lr g
"""

from __future__ import annotations

import math

import torch
from torch import Generator, Tensor

from .codec import Codec


def local_clip(threshold: float, P: int) -> float:
    """The norm to which each of P ranks clips its part of a mean gradient that shall not exceed `threshold`."""
    return threshold / math.sqrt(P)


def clipped(g: Tensor, norm: float) -> Tensor:
    """g [d], scaled down if its norm exceeds this."""
    return g * min(1.0, norm / max(float(g.norm()), 1e-30))


def sparsity_warm_up(step: int, steps: int, first: float = 0.25, last: float = 0.001, stages: int = 5) -> float:
    """Which share of the elements is sent in this step: from `first` to `last` in even ratios, then `last`.

    Unless told, 25 %, 6.3 %, 1.6 %, 0.4 %, 0.1 %, each for a fifth of `steps` (an epoch each, in the paper).
    """
    stage = min(stages - 1, stages * step // steps) if steps else stages - 1
    return first * (last / first) ** (stage / (stages - 1))


class MomentumCorrection:
    """One rank's sender, as ErrorFeedback is: a codec, the velocity u and what has not been sent yet, v; [d] each.

    codec: top-k, or any that sends whole elements; set `sender.codec` to change it, as a warm-up does.
    momentum: m; with 0 this is error feedback. clip: the norm to which this rank's gradients are clipped
    (`local_clip`). masking: forget the velocity of what has been sent.
    """

    def __init__(
        self, codec: Codec, d: int, momentum: float = 0.9, clip: float = math.inf, masking: bool = True, device="cpu"
    ):
        self.codec, self.momentum, self.clip, self.masking = codec, momentum, clip, masking
        self.u, self.v = torch.zeros(d, device=device), torch.zeros(d, device=device)

    def nbytes(self, d: int) -> int | None:
        """The codec's."""
        return self.codec.nbytes(d)

    def encode(self, g: Tensor, generator: Generator | None = None) -> Tensor:
        """The wire of C(v) after one more gradient g [d]. A g that is refused leaves u and v as they were."""
        u = self.momentum * self.u + clipped(g, self.clip)
        v = self.v + u
        wire = self.codec.encode(v, generator)
        sent = self.codec.decode(wire, len(v))
        self.v = v - sent
        self.u = u.masked_fill(sent != 0, 0.0) if self.masking else u
        return wire

    def decode(self, wire: Tensor, d: int) -> Tensor:
        """What the receiver of this wire has, [d] float32: the codec's own decode."""
        return self.codec.decode(wire, d)

"""Error feedback: what a codec leaves out of this step's gradient is added to the next one.

Idea      p_t     = g_t + e_t
          send      C(p_t)
          e_{t+1} = p_t - C(p_t)                                  one vector of d elements more on each rank
          e_t or e_{t-1} for what is left from before this step: two ways to count, one algorithm. But C must see g + e.
          A residual e_{t+1} = e_t + g_t - C(g_t) that nobody feeds back only grows.
Price     What is late is out of date. An element that waits 1 / delta steps acts like a gradient of so many steps ago,
          and the largest stable learning rate shrinks: too large a one diverges with feedback, and not without.
Exact     The sum of all that was sent + e = sum of all gradients, whatever the codec: nothing is lost, only late.
          The error is bounded if E ||C(p) - p||^2 <= (1 - delta) ||p||^2 with delta > 0, and ||g|| <= G. With q =
          sqrt(1 - delta), ||e_{t+1}|| <= q ||p_t|| <= q (||e_t|| + G), so ||e|| <= G q / (1 - q), the sum of a
          geometric series (of root mean squares if C is random). That is at most the 2 G q / delta of Karimireddy et
          al. (2019), lemma 3.
          No more than that: the bound is on the sum of what is late. It does not say that each gradient arrives: a push
          to the left now and one to the right later cancel in e, as they should. Nor need it hold without a
          contraction: fed back to an unbiased codec with omega > 1, the error may grow without limit. Use that as it
          is, or `damped`.
Left out  Momentum (dgc.py). A learning rate that changes: then feed back the error of the update lr * g, not that of g.
Source    Seide et al., "1-Bit Stochastic Gradient Descent" (2014): the idea. Stich, Cordonnier and Jaggi, "Sparsified
          SGD with Memory" (2018) and Karimireddy et al., "Error Feedback Fixes SignSGD" (2019): why it converges.
"""

from __future__ import annotations

import math

import torch
from torch import Generator, Tensor

from .codec import Codec


class ErrorFeedback:
    """One rank's sender: a codec, and the error [d] float32 that it has made so far."""

    def __init__(self, codec: Codec, d: int, device: torch.device | str = "cpu"):
        self.codec, self.nbytes, self.error = codec, codec.nbytes, torch.zeros(d, device=device)

    def encode(self, g: Tensor, generator: Generator | None = None) -> Tensor:
        """The wire of C(g + e); afterwards e holds what is missing. A g [d] that is refused leaves e as it was."""
        p = g + self.error
        wire = self.codec.encode(p, generator)
        self.error = p.sub_(self.codec.decode(wire, len(p)))
        return wire

    def decode(self, wire: Tensor, d: int) -> Tensor:
        """What the receiver of this wire has, [d] float32: the codec's own decode."""
        return self.codec.decode(wire, d)


def residual_bound(delta: float, G: float) -> float:
    """What ||e|| (if the codec draws: its root mean square) never exceeds if each ||g|| <= G; infinite for delta <= 0.

    G q / (1 - q) with q = sqrt(1 - delta).
    """
    q = math.sqrt(max(0.0, 1 - delta))
    return G * q / (1 - q) if q < 1 else math.inf

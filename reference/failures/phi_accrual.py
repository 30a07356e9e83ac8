"""Phi accrual: not a verdict, but a number that says how surprising the silence is.

Idea      Learn how the gaps between heartbeats are distributed: their mean and standard deviation over a window. After
          t seconds of silence, phi(t) = -log10(the probability that a gap is longer than t). A silence of phi = 3
          happens once in 1,000 gaps, if gaps are normal. Who has much to lose by a false alarm waits for a larger phi.
Before    one timeout for all that depend on the detector
After     phi 1: stop giving it work    phi 3: prepare a spare    phi 8: declare it dead
Exact     phi of a normal distribution. Gaps with a longer tail exceed phi more often than once in 10^phi.
Left out  Lost messages, for which the authors' later versions add a pause that is accepted.
Source    Hayashibara, Defago, Yared and Katayama, The phi Accrual Failure Detector (SRDS 2004).
"""

from __future__ import annotations

import math
from collections import deque
from statistics import NormalDist


class PhiAccrual:
    """Suspects at a threshold of phi, with the gaps of the last `window` heartbeats.

    interval: the gap that is expected before one was seen; least: the smallest standard deviation in seconds, so that a
    very regular sender is not suspected for a hiccup; pause: seconds of silence that are accepted in addition.
    """

    def __init__(
        self, interval: float, threshold: float = 8.0, window: int = 1000, least: float = 1e-3, pause: float = 0.0
    ):
        if not (interval > 0 and threshold > 0 and window >= 2 and least > 0 and pause >= 0):
            raise ValueError(
                "interval, threshold and least above 0, window of 2 or more, pause of 0 or more: "
                f"{interval=} {threshold=} {window=} {least=} {pause=}"
            )
        self.threshold, self.least, self.pause, self.last = threshold, least, pause, 0.0
        self.gaps: deque[float] = deque(maxlen=window)
        self._sum = self._squares = 0.0
        for gap in (0.75 * interval, 1.25 * interval):  # until the first is known: a deviation of a quarter
            self._learn(gap)

    @property
    def mean(self) -> float:
        """Mean gap between heartbeats, seconds."""
        return self._sum / len(self.gaps)

    @property
    def deviation(self) -> float:
        """Standard deviation of the gaps, seconds."""
        return math.sqrt(max(self._squares / len(self.gaps) - self.mean**2, self.least**2))

    def phi(self, now: float) -> float:
        """How surprising the silence until `now` is: -log10(probability of a longer gap)."""
        surprise = (now - self.last - self.pause - self.mean) / self.deviation
        probability = 0.5 * math.erfc(surprise / math.sqrt(2))
        return -math.log10(probability) if probability > 0 else math.inf

    @property
    def deadline(self) -> float:
        """The instant at which phi reaches the threshold."""
        wait = self.mean - self.deviation * NormalDist().inv_cdf(10**-self.threshold)
        return self.last + self.pause + wait

    def arrived(self, at: float) -> None:
        """Take in a heartbeat."""
        self._learn(at - self.last)
        self.last = at

    def _learn(self, gap: float) -> None:
        if len(self.gaps) == self.gaps.maxlen:
            old = self.gaps.popleft()
            self._sum, self._squares = self._sum - old, self._squares - old**2
        self.gaps.append(gap)
        self._sum, self._squares = self._sum + gap, self._squares + gap**2

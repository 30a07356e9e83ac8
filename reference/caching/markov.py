"""Markov prefetch: read what most often followed the last access, before anybody asks for it.

Idea      Count what followed what. P(B | A) = (times that B followed A) / (times that anything followed A). After an
          access to A the most probable followers are read into a few buffers.
Before    a miss waits for its read
After     a miss that was guessed finds its bytes on the way; a wrong guess has taken the link for nothing
Exact     The counts are the maximum-likelihood estimate. In a static graph the order itself is known after one step,
          and reading by it (tiers/read_ahead.py) is right always; a chain that looks back one access cannot tell the
          forward pass from the backward pass.
Left out  Chains that look back further; forgetting old counts; when a guess arrives (replay.seconds).
Source    Joseph and Grunwald, "Prefetching using Markov predictors" (1997).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from .policies import Key


class Guesses(NamedTuple):
    """What a predictor was worth: accesses that it had guessed, guesses, accesses."""

    right: int
    made: int
    accesses: int

    @property
    def covered(self) -> float:
        """The part of the accesses that were guessed."""
        return self.right / self.accesses

    @property
    def accuracy(self) -> float:
        """The part of the guesses that were right."""
        return self.right / self.made if self.made else 0.0


class Markov:
    """Counts followers, and guesses. seen(key) after each access, guess(key, n) for what comes next."""

    def __init__(self):
        self.followers: defaultdict[Key, Counter[Key]] = defaultdict(Counter)
        self._last: Key | None = None

    def seen(self, key: Key) -> None:
        """Count an access, which followed the one before."""
        if self._last is not None:
            self.followers[self._last][key] += 1
        self._last = key

    def probability(self, key: Key, following: Key) -> float:
        """Estimated from the counts; 0 if nothing has followed yet."""
        counts = self.followers[key]
        return counts[following] / counts.total() if counts else 0.0

    def guess(self, key: Key, n: int = 1) -> list[Key]:
        """The n most frequent followers, of equals those that were seen first."""
        return [following for following, _ in self.followers[key].most_common(n)]


def guesses(keys: Sequence[Key], n: int = 1, learn: int = 0) -> Guesses:
    """Guess each access of a trace from the one before, n keys each time, learning all the while.

    learn: the first accesses, which are learnt from and not counted.
    """
    chain, right, made = Markov(), 0, 0
    for i, key in enumerate(keys):
        if i >= max(learn, 1):
            guessed = chain.guess(keys[i - 1], n)
            right, made = right + (key in guessed), made + len(guessed)
        chain.seen(key)
    return Guesses(right, made, len(keys) - max(learn, 1))


def in_order(keys: Sequence[Key], period: int) -> Guesses:
    """The same for a reader who takes the order of the last step, of `period` accesses, for that of the next."""
    right = sum(key == keys[i - period] for i, key in enumerate(keys) if i >= period)
    return Guesses(right, len(keys) - period, len(keys) - period)

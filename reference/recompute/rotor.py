"""The best schedule of a chain of unlike links within a budget of bytes: dynamic programming over links and bytes.

Idea      Links s to t - 1 are to turn d[t] into d[s]; a[s] is there, and m bytes beside it. The first thing to do is
          one of two:

              record       forward s with all it keeps; links s + 1 to t - 1 with what is left of m; backward s.
              checkpoint   forward from s to s' and keep a[s'] only; links s' to t - 1 with what is left of m; then
                           links s to s' - 1, with all of m again.

          Opt(s, t, m), the seconds of the best of these, needs such numbers of shorter pieces only. As m grows, Opt
          falls in steps, so a piece is stored as its steps: at how many bytes, to how many seconds (`Steps`). Those of
          the whole chain are the curve of memory against time, from the fewest bytes with which anything fits.
          Pieces that are alike, as those of a GPT's blocks, have the same steps and are worked out once.
Before    periodic.py and binomial.py choose by the number of links: a budget in bytes they know only in hindsight
After     the quickest of all schedules in which what is kept stays until its own backward pass ("persistent")
Price     n^2 / 2 pieces, each with at most n choices and so many steps; of n blocks that are alike some 4 n pieces
Exact     In bytes. Seconds are counted in billionths of the step. A piece has at most `points` steps: where it had
          more, some are left out, and what comes out fits, but may be slower than the best.
Left out  Schedules that drop a checkpoint and compute it again: on few chains they are quicker still (brute_force.py
          finds one); no polynomial method is known for them.
Source    Beaumont, Eyraud-Dubois, Herrmann, Joly & Shilova, "Optimal checkpointing for heterogeneous chains" (2019),
          theorem 1; their code, rotor, as ported to Colossal-AI (colossalai/auto_parallel/checkpoint @11d570f), has a
          column for each of 500 units of memory in place of the steps, and rounds every size up to units.
Try       chain = equal_links(12, internals=4); cost(chain, rotor(chain, 30))
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .chain import Chain, ChainOperation, backward, forward

POINTS = 2000  # steps of a piece at most
TICKS = 10**9  # of a step's seconds, everything once
NEVER = np.int64(2**60)


class Steps(NamedTuple):
    """Opt(s, t, m) of a piece: from bytes[k] on it takes ticks[k]; below bytes[0] nothing fits."""

    bytes: np.ndarray
    ticks: np.ndarray

    def at(self, m: np.ndarray) -> np.ndarray:
        """The ticks with m bytes, of each m."""
        k = np.searchsorted(self.bytes, m, side="right") - 1
        return np.where(k < 0, NEVER, self.ticks[k])

    @classmethod
    def best(cls, bytes_: np.ndarray, ticks: np.ndarray, points: int) -> Steps:
        """The steps of the best of all that these bytes can do in these ticks, at most so many of them."""
        order = np.lexsort((ticks, bytes_))
        bytes_, ticks = bytes_[order], ticks[order]
        lower = ticks < np.minimum(np.r_[NEVER, np.minimum.accumulate(ticks)[:-1]], NEVER)
        bytes_, ticks = bytes_[lower], ticks[lower]
        if len(bytes_) > points:
            some = np.unique(np.linspace(0, len(bytes_) - 1, points).astype(int))
            bytes_, ticks = bytes_[some], ticks[some]
        return cls(bytes_, ticks)


class ChainTable:
    """The steps of all pieces of a chain; schedules are read off it.

    peaks, seconds: the curve of the whole chain, fewest bytes first.
    """

    def __init__(self, chain: Chain, points: int = POINTS):
        self.chain, self.points = chain, points
        total = sum(link.forward + link.backward for link in chain.links) or 1.0
        self.tick = total / TICKS
        self.ahead = [round(link.forward / self.tick) for link in chain.links]
        self.back = [round(link.backward / self.tick) for link in chain.links]
        self.passes = np.cumsum([0, *self.ahead])
        self.steps: dict[tuple[int, int], Steps] = {}
        self._work_out()
        whole = self.steps[0, chain.n]
        self.peaks, self.seconds = whole.bytes, whole.ticks * self.tick

    def _work_out(self) -> None:
        n, numbers = self.chain.n, dict[tuple, int]()
        links = zip(self.chain.links, self.ahead, self.back)
        kinds = [numbers.setdefault((link[2:], ahead, back), len(numbers)) for link, ahead, back in links]
        known: dict[tuple, Steps] = {}
        for length in range(1, n + 1):
            for s in range(n + 1 - length):
                t = s + length
                like = (*kinds[s:t], self.chain.gradient_of(s), t == n)
                if like not in known:
                    known[like] = self._best(s, t)
                self.steps[s, t] = known[like]

    # What a choice takes ----------------------------------------------------------------------------------------------

    def _stays(self, t: int) -> int:
        """a[n], which stays from the moment it was made; a piece that ends before is worked on after that."""
        return self.chain.value(t) if t == self.chain.n else 0

    def _record(self, s: int) -> int:
        """What a forward pass that records leaves beside a[s]."""
        return self.chain.links[s].output + self.chain.links[s].internals

    def _alone(self, s: int, t: int) -> int:
        """The most bytes that the two passes of link s take if it is recorded first; the links behind it left out."""
        chain, link = self.chain, self.chain.links[s]
        stays = self._stays(t) if s + 1 < t else 0
        holds = link.output if link.holds_output or s + 1 == chain.n else 0
        before = chain.gradient_of(s + 1) + link.internals + holds + stays
        recording, returning = chain.peak(forward(s, "all")), chain.peak(backward(s))
        return max(chain.gradient_of(t) + recording, before + returning)

    def _on_the_way(self, s: int, t: int) -> list[int]:
        """Of each s' from s + 1 to t - 1 the most bytes while links s to s' - 1 are passed."""
        chain, most, found = self.chain, 0, []
        for j in range(s, t - 1):
            most = max(most, chain.gradient_of(t) + (chain.value(j) if j > s else 0) + chain.peak(forward(j)))
            found.append(most)
        return found

    def _recorded(self, s: int, t: int, m: np.ndarray) -> np.ndarray:
        """Ticks with m bytes if link s is recorded first."""
        ticks = np.where(m < self._alone(s, t), NEVER, self.ahead[s] + self.back[s])
        return ticks if s + 1 == t else ticks + self.steps[s + 1, t].at(m - self._record(s))

    def _checkpoint(self, s: int, split: int, t: int, most: int, m: np.ndarray) -> np.ndarray:
        """Ticks with m bytes if a[split] is kept first."""
        ticks = np.where(m < most, NEVER, self.passes[split] - self.passes[s])
        behind = self.steps[split, t].at(m - self.chain.value(split))
        return ticks + behind + self.steps[s, split].at(m - self._stays(t))

    def _best(self, s: int, t: int) -> Steps:
        """The steps of a piece: at the bytes where one of its choices has one."""
        m = np.array([self._alone(s, t)])
        if s + 1 < t:
            m = np.maximum(m, self.steps[s + 1, t].bytes + self._record(s))
        bytes_, ticks = [m], [self._recorded(s, t, m)]
        for split, most in enumerate(self._on_the_way(s, t), start=s + 1):
            behind = self.steps[split, t].bytes + self.chain.value(split)
            m = np.maximum(np.r_[behind, self.steps[s, split].bytes + self._stays(t)], most)
            bytes_.append(m)
            ticks.append(self._checkpoint(s, split, t, most, m))
        return Steps.best(np.concatenate(bytes_), np.concatenate(ticks), self.points)

    # The schedules ----------------------------------------------------------------------------------------------------

    def schedule(self, budget: int) -> list[ChainOperation]:
        """The quickest persistent schedule whose peak is at most `budget` bytes (predict.py's, a[0] not counted).

        Raises ValueError if none fits, and says how many bytes are missing.
        """
        missing = int(self.peaks[0]) - budget
        if missing > 0:
            raise ValueError(
                f"no schedule of these {self.chain.n} links fits into {budget} bytes: {missing} are missing"
            )
        return self._schedule(0, self.chain.n, budget)

    def _schedule(self, s: int, t: int, m: int) -> list[ChainOperation]:
        at = np.array([m])
        best, first = self._recorded(s, t, at)[0], s
        for split, most in enumerate(self._on_the_way(s, t), start=s + 1):
            ticks = self._checkpoint(s, split, t, most, at)[0]
            if ticks < best:
                best, first = ticks, split
        if first == s:
            rest = self._schedule(s + 1, t, m - self._record(s)) if s + 1 < t else []
            return [forward(s, "all"), *rest, backward(s)]
        go = [forward(s, "input"), *(forward(i) for i in range(s + 1, first))]
        behind = self._schedule(first, t, m - self.chain.value(first))
        return go + behind + self._schedule(s, first, m - self._stays(t))


def least_bytes(chain: Chain) -> int:
    """The fewest peak bytes of any persistent schedule of this chain."""
    return int(ChainTable(chain, points=2).peaks[0])  # the first step of a piece needs the first ones of others


def rotor(chain: Chain, budget: int, points: int = POINTS) -> list[ChainOperation]:
    """The quickest persistent schedule whose peak is at most `budget` bytes; several budgets: see ChainTable.

    Raises ValueError below least_bytes(chain), and says how many bytes are missing.
    """
    return ChainTable(chain, points).schedule(budget)

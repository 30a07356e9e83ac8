"""The best schedule of a chain of unlike links within a budget of bytes: dynamic programming over links and bytes.

Idea      Links s to t - 1 are to turn d[t] into d[s]; a[s] is there, and m bytes beside it. The first thing to do is
          one of two:

              record       forward s with all it keeps; links s + 1 to t - 1 with what is left of m; backward s.
              checkpoint   forward from s to s' and keep a[s'] only; links s' to t - 1 with what is left of m; then
                           links s to s' - 1, with all of m again.

          Opt(s, t, m), the seconds of the best of these, needs such numbers of shorter pieces only. The table has a row
          for each piece and a column for each number of bytes.
          Whether any schedule fits is the same recurrence with a maximum of bytes in place of a sum of seconds, and
          needs no table over m: `least_bytes` is exact to the byte.
Before    periodic.py and binomial.py choose by the number of links: a budget in bytes they know only in hindsight
After     the quickest of all schedules in which what is kept stays until its own backward pass ("persistent"):
          n^2 m / 2 numbers, n^3 m / 6 steps, by `slots` columns
Exact     If the unit of bytes divides all sizes. Else sizes are rounded up to units of budget / slots: what comes out
          fits, and may be slower than the best by what the rounding wastes.
Left out  Schedules that drop a checkpoint and compute it again: on few chains they are quicker still (brute_force.py
          finds one), and no polynomial method is known for them (Beaumont et al., section 4.3).
Source    Beaumont, Eyraud-Dubois, Herrmann, Joly & Shilova, "Optimal checkpointing for heterogeneous chains" (2019),
          theorem 1; their code, rotor, as ported to Colossal-AI (colossalai/auto_parallel/checkpoint @11d570f).
Try       chain = equal_links(12, internals=4); cost(chain, rotor(chain, 30))
"""

from __future__ import annotations

from functools import reduce
from math import ceil, gcd, inf

import numpy as np

from .chain import Chain, ChainOperation, backward, forward

SLOTS = 500  # as many as rotor takes unless told


class Sizes:
    """What the recurrence asks of a chain, in whole units of bytes, rounded up.

    value[i] of a[i]; gradient[i] of d[i]; record[s]: what a recorded forward pass leaves beside a[s];
    recording[s], passing[s], returning[s]: at most live above what was before, in the forward pass that records, in one
    that does not, in the backward pass; behind[s]: of the record beside d[s + 1] when the backward pass begins.
    """

    def __init__(self, chain: Chain, unit: int = 1):
        def up(nbytes: int) -> int:
            return -(-nbytes // unit)

        n, links = chain.n, chain.links
        self.n = n
        self.value = [up(chain.value(i)) for i in range(n + 1)]
        self.gradient = [up(chain.gradient_of(i)) for i in range(n + 1)]
        self.record = [up(link.output + link.internals) for link in links]
        self.behind = [
            up(link.internals + (link.output if link.holds_output or s + 1 == n else 0)) for s, link in enumerate(links)
        ]
        self.recording = [up(chain.peak(forward(s, "all"))) for s in range(n)]
        self.passing = [up(chain.peak(forward(s))) for s in range(n)]
        self.returning = [up(chain.peak(backward(s))) for s in range(n)]

    def stays(self, t: int) -> int:
        """a[n], which stays from the moment it was made; a piece that ends before is worked on after that."""
        return self.value[self.n] if t == self.n else 0

    def alone(self, s: int, t: int) -> int:
        """The most bytes that the passes of link s take if it is recorded first, the links behind it left out."""
        before = self.gradient[s + 1] + self.behind[s] + (self.stays(t) if s + 1 < t else 0)
        return max(self.gradient[t] + self.recording[s], before + self.returning[s])

    def ahead(self, s: int, t: int) -> list[int]:
        """Of each s' from s + 1 to t - 1 the most bytes on the way from s to s'."""
        most, found = 0, []
        for j in range(s, t - 1):
            most = max(most, self.gradient[t] + (self.value[j] if j > s else 0) + self.passing[j])
            found.append(most)
        return found


# Whether anything fits ------------------------------------------------------------------------------------------------


def least_bytes(chain: Chain) -> int:
    """The fewest peak bytes of any persistent schedule of this chain, exactly."""
    return _least(Sizes(chain))[0][chain.n]


def _least(sizes: Sizes) -> list[list[int]]:
    """least[s][t]: the fewest bytes with which links s to t - 1 can be turned round."""
    n = sizes.n
    least = [[0] * (n + 1) for _ in range(n)]
    for length in range(1, n + 1):
        for s in range(n + 1 - length):
            t = s + length
            best = sizes.alone(s, t)
            if length > 1:
                best = max(best, sizes.record[s] + least[s + 1][t])
            for split, most in enumerate(sizes.ahead(s, t), start=s + 1):
                best = min(best, max(most, sizes.value[split] + least[split][t], sizes.stays(t) + least[s][split]))
            least[s][t] = best
    return least


# The quickest that fits -----------------------------------------------------------------------------------------------


def rotor(chain: Chain, budget: int, slots: int = SLOTS) -> list[ChainOperation]:
    """The quickest persistent schedule whose peak is at most `budget` bytes (predict.py's, a[0] not counted).

    slots: into how many units the budget is cut, unless a unit that divides all sizes gives fewer.
    Raises ValueError below least_bytes(chain), and says how many bytes are missing.
    """
    missing = least_bytes(chain) - budget
    if missing > 0:
        raise ValueError(f"no schedule of these {chain.n} links fits into {budget} bytes: {missing} are missing")
    while True:
        unit = max(_divisor(chain), ceil(budget / slots))
        table = Table(chain, Sizes(chain, unit), budget // unit)
        if table.seconds[0][chain.n][-1] < inf:
            return table.schedule(0, chain.n, budget // unit)
        slots *= 4  # rounding up has eaten the room: finer units


def _divisor(chain: Chain) -> int:
    """The largest unit of bytes in which every size is a whole number."""
    sizes = Sizes(chain)
    every = (sizes.value, sizes.gradient, sizes.record, sizes.behind, sizes.recording, sizes.passing, sizes.returning)
    return reduce(gcd, (one for kind in every for one in kind)) or 1


class Table:
    """seconds[s][t][m]: of the best schedule of links s to t - 1 within m units; infinity if none fits."""

    def __init__(self, chain: Chain, sizes: Sizes, units: int):
        self.chain, self.sizes, self.units = chain, sizes, units
        self.passes = np.cumsum([0.0, *(link.forward for link in chain.links)])
        self.seconds = [[np.empty(0)] * (chain.n + 1) for _ in range(chain.n)]
        for length in range(1, chain.n + 1):
            for s in range(chain.n + 1 - length):
                self.seconds[s][s + length] = self._best(s, s + length)

    def _best(self, s: int, t: int) -> np.ndarray:
        """One row of the table: the least over all that can be done first."""
        best = self._recorded(s, t)
        for split, most in enumerate(self.sizes.ahead(s, t), start=s + 1):
            np.minimum(best, self._checkpoint(s, split, t, most), out=best)
        return best

    def _recorded(self, s: int, t: int) -> np.ndarray:
        link = self.chain.links[s]
        found = np.full(self.units + 1, float(link.forward + link.backward))
        if t > s + 1:
            found += self._left(s + 1, t, self.sizes.record[s])
        found[: self.sizes.alone(s, t)] = inf
        return found

    def _checkpoint(self, s: int, split: int, t: int, most: int) -> np.ndarray:
        found = self._left(split, t, self.sizes.value[split]) + self._left(s, split, self.sizes.stays(t))
        found += self.passes[split] - self.passes[s]
        found[:most] = inf
        return found

    def _left(self, s: int, t: int, taken: int) -> np.ndarray:
        """The row of a shorter piece when so many units of m are taken."""
        found = np.full(self.units + 1, inf)
        if taken <= self.units:
            found[taken:] = self.seconds[s][t][: self.units + 1 - taken]
        return found

    def schedule(self, s: int, t: int, m: int) -> list[ChainOperation]:
        """The best schedule itself: at each piece, what gave its number is found once more."""
        best = self.seconds[s][t][m]
        if self._recorded(s, t)[m] == best:
            rest = self.schedule(s + 1, t, m - self.sizes.record[s]) if t > s + 1 else []
            return [forward(s, "all"), *rest, backward(s)]
        for split, most in enumerate(self.sizes.ahead(s, t), start=s + 1):
            if self._checkpoint(s, split, t, most)[m] == best:
                break
        go = [forward(s, "input"), *(forward(i) for i in range(s + 1, split))]
        behind = self.schedule(split, t, m - self.sizes.value[split])
        return go + behind + self.schedule(s, split, m - self.sizes.stays(t))

"""Silent data corruption: an all-reduce that notices a wrong sum, and a vote that tells whose work is wrong.

Idea      A rank that dies is missed. One that computes wrongly is not: its gradient goes into everybody's sum, all
          replicas learn the same wrong thing, and comparing their weights shows nothing. Three checks, from cheap to
          dear, for the three places where a bit may turn over:

              replicas    weights differ in a bit after a step     fingerprints, and the majority is right
              sums        the sum of the sums is not the sum       each rank adds its elements up before; one number
                          of all ranks' sums                       travels with the vector and must fit afterwards
              work        a gradient is wrong before it is sent    others compute it again from the same weights and
                                                                   samples: the same bits, or somebody is wrong
Sends     replicas: 8 bytes a rank. sums: two numbers more in the vector. work: fingerprints, and `times` - 1 times the
          computation: so it is done every so many steps, and its samples are drawn.
Exact     Sums of floats fit but for rounding: a flip below the bound `slack` is not noticed, and does not matter more
          than rounding does. Fingerprints notice every flip of one bit, and miss others once in 4 billion cases. A vote
          of two knows that somebody is wrong, and not who; of three it does if one is wrong.
          Bits are the same only on like processors with like settings: a replay on others needs a tolerance.
Source    Huang and Abraham, "Algorithm-based fault tolerance for matrix operations" (1984): sums that travel along.
          Dixit et al., "Silent Data Corruptions at Scale" (2021); Hochschild et al., "Cores that don't count" (2021).
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np


class Corrupted(Exception):
    """A result is wrong, and it is not known whose fault it is; the message says which, and by how much."""


class Suspects(NamedTuple):
    """Which ranks are wrong, by vote; undecided: pieces of work without a majority."""

    wrong: list[int]
    undecided: list[int]

    def __bool__(self) -> bool:
        return bool(self.wrong or self.undecided)


def fingerprint(arrays: Sequence[np.ndarray]) -> int:
    """32 bits that tell these arrays' bits from others; every flip of one bit changes them (CRC-32)."""
    print32 = 0
    for array in arrays:
        print32 = zlib.crc32(np.ascontiguousarray(array).tobytes(), print32)
    return print32


def vote(prints: Sequence[int]) -> tuple[int | None, list[int]]:
    """(the fingerprint that more than half have, who has another one); (None, []) without such a majority."""
    print32, times = Counter(prints).most_common(1)[0]
    if 2 * times <= len(prints):
        return None, []
    return print32, [rank for rank, other in enumerate(prints) if other != print32]


def differing(comm, arrays: Sequence[np.ndarray]) -> Suspects:
    """Whose arrays differ from those of the majority, which must be the same bits on all ranks. Collective."""
    prints = comm.allgather(fingerprint(arrays))
    most, wrong = vote(prints)
    return Suspects(wrong, list(range(comm.size)) if most is None else [])


def checked_allreduce(comm, x: np.ndarray, allreduce: Callable[[Any, np.ndarray], Any]) -> np.ndarray:
    """The sum over all ranks of x [n], by `allreduce(comm, vector)`, which works in place.

    Two numbers travel along: the sum of this rank's elements, and that of their magnitudes, from which `slack` follows.
    Raises Corrupted on every rank if one's result does not add up to what the ranks had. Collective.
    """
    vector = np.concatenate([x, [x.sum(), np.abs(x).sum()]]).astype(x.dtype)
    allreduce(comm, vector)
    y, total, size = vector[:-2], float(vector[-2]), float(vector[-1])
    off, most = abs(float(y.sum(dtype=np.float64)) - total), slack(size, len(x), comm.size, x.dtype)
    found = comm.allgather((off, most))
    if bad := {rank: off for rank, (off, most) in enumerate(found) if not off <= most}:
        told = ", ".join(f"rank {rank}: {off:.2g}" for rank, off in bad.items())
        raise Corrupted(f"the sum is off by more than rounding ({most:.1g}) on {told}")
    return y


def slack(size: float, n: int, ranks: int, dtype: np.dtype) -> float:
    """By how much two orders of adding n elements of each rank may differ, whose magnitudes add up to `size`.

    Each of at most n + ranks + 2 additions is off by half a unit in the last place of at most `size`, in both orders.
    """
    return (n + ranks + 2) * float(np.finfo(dtype).eps) * size


def replay(comm, compute: Callable[[int], np.ndarray], times: int = 3) -> Suspects:
    """Let `times` ranks compute the work of each rank, and vote: who is wrong about its own or about another's work.

    compute(rank) gives that rank's work from what all ranks have, the weights and the position in the data; the same
    bits wherever it is computed. Rank r computes for r, r - 1, ... Collective.

    Raises ValueError unless 2 <= times <= P.
    """
    if not 2 <= times <= comm.size:
        raise ValueError(f"work is compared between 2 to {comm.size} ranks, got {times=}")
    of = [(comm.rank - k) % comm.size for k in range(times)]
    heard = comm.allgather({rank: fingerprint([compute(rank)]) for rank in of})
    wrong, undecided = set(), []
    for work in range(comm.size):
        by = [(work + k) % comm.size for k in range(times)]
        most, others = vote([heard[rank][work] for rank in by])
        wrong |= {by[place] for place in others}
        undecided += [work] * (most is None)
    return Suspects(sorted(wrong), undecided)

"""Sequences cut into subsequences: more and smaller units for a pipeline that has few and long sequences.

Idea      A token attends to those before it only. So a stage that has done the first tokens of a sequence can hand them
          on while it does the next ones. A unit of the schedule is a subsequence now: m sequences in n parts are m n
          units, and the bubble shrinks as if there were m n micro-batches.
          Later tokens attend to more. With l seconds a token and a seconds for each token that it looks back at, tokens
          a ... c - 1 take l (c - a) + a (c^2 - a^2) / 2, and equal lengths are unequal times: the last is slowest.
          `equal_seconds` solves the quadratic.
          The keys and values of a subsequence get gradients from all later ones. So within a sequence the last part
          goes backward first: `sequence_1f1b`. GPipe's order, last unit first, is right as it is.
Price     A pass has costs that do not depend on its length, and many parts mean many passes: `best` tries.
          Rank r of 1F1B keeps p - r sequences; here it keeps p - r + n - 1 parts: hardly more than one sequence if n is
          well above p.
          Parts of equal seconds are of unequal length, the first ones longest: they keep more than equal lengths.
Left out  Carrying it out: runtime/token_level.py does that for our GPT. Moving what is kept to the host: recompute.py
          has the price.
Source    Li et al., "TeraPipe: Token-Level Pipeline Parallelism for Training Large-Scale Language Models" (2021);
          Sun et al., "Seq1F1B: Efficient Sequence-Level Pipeline Parallelism for Large Language Model Training" (2025);
          Chen et al., "SPPO: Efficient Long-sequence LLM Training via Adaptive Sequence Pipeline Parallel Offloading"
          (2025), which balances subsequences against bubbles and moves what is kept to the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import sqrt
from typing import NamedTuple

from ...perf.transformer import flops_a_token
from ..schedule import Action, Schedule, check_sizes, flushed
from ..simulate import Costs, Times, simulate
from .cuts import parts


class Work(NamedTuple):
    """Seconds of one forward pass of a stage; backward takes twice that."""

    linear: float  # each token
    attention: float  # each pair of a token and one that it looks back at
    fixed: float = 0.0  # each pass

    def seconds(self, start: float, end: float) -> float:
        """Of tokens start ... end - 1 of a sequence."""
        return self.fixed + self.linear * (end - start) + self.attention * (end**2 - start**2) / 2


def blocks(h: int, layers: int, rate: float, fixed: float = 0.0) -> Work:
    """So many transformer layers of width h on one stage, at `rate` FLOPs per second: what a token costs by itself, and
    for each that it looks back at."""
    token = flops_a_token(h, 0)
    return Work(layers * token / rate, layers * (flops_a_token(h, 1) - token) / rate, fixed)


# Where to cut ---------------------------------------------------------------------------------------------------------


def equal_lengths(s: int, n: int, work: Work | None = None) -> tuple[int, ...]:
    """Ends of n parts of s tokens, as equally long as can be."""
    _check(s, n)
    return tuple(s * k // n for k in range(1, n + 1))


def equal_seconds(s: int, n: int, work: Work) -> tuple[int, ...]:
    """Ends of n parts of s tokens that take equally long, to the nearest token; each has one at least.

    Up to token c a stage works l c + a c^2 / 2 seconds; the end of part k is where that is k / n of the whole.
    """
    _check(s, n)
    l, a, _ = work  # noqa: E741
    ends = []
    for k in range(1, n + 1):
        done = k / n * (l * s + a * s * s / 2)
        c = 2 * done / (l + sqrt(l * l + 2 * a * done))  # of the quadratic's solution the form that allows a = 0
        ends.append(min(round(c), s - (n - k)))  # a token for each part behind; those before are longer anyway
    return tuple(ends)


def _check(s: int, n: int) -> None:
    if not 1 <= n <= s:
        raise ValueError(f"{s} tokens cannot be cut into {n} parts: take 1 to {s}")


# In which order -------------------------------------------------------------------------------------------------------


def sequence_1f1b(p: int, m: int, n: int) -> Schedule:
    """1F1B of m sequences in n parts each; unit j n + k is part k of sequence j.

    Forward in order; backward sequence by sequence, last part first. A rank begins with p - r + n - 1 forward passes:
    n so that the last stage has a whole sequence before its first backward pass, and one more for each stage behind.
    """
    check_sizes(p, m)
    check_sizes(p, n)
    backwards = [j * n + k for j in range(m) for k in reversed(range(n))]

    def order(r: int) -> Iterator[Action]:
        warmup = min(p - r + n - 2, m * n)
        yield from (Action("F", r, i) for i in range(warmup))
        for i in range(warmup, m * n):
            yield Action("F", r, i)
            yield Action("B", r, backwards[i - warmup])
        yield from (Action("B", r, i) for i in backwards[m * n - warmup :])

    return flushed("1F1B of subsequences", [order(r) for r in range(p)])


def check_parts(schedule: Schedule, n: int) -> None:
    """Raise ValueError unless each stage takes the n parts of each sequence forward in order, backward in reverse."""
    for r, actions in enumerate(schedule):
        done: dict[tuple[str, int, int], list[int]] = {}
        for kind, s, i in actions:
            if kind != "S":
                done.setdefault((kind, s, i // n), []).append(i % n)
        for (kind, s, j), order in done.items():
            if order != sorted(order, reverse=kind != "F"):
                why = (
                    "part looks back at all before it" if kind == "F" else "part waits for gradients from all behind it"
                )
                raise ValueError(
                    f"rank {r}, stage {s}, sequence {j}: {kind} of its parts in the order {order}, but a {why}"
                )


# What it takes --------------------------------------------------------------------------------------------------------


def times(
    p: int, m: int, ends: Sequence[int], work: Work, send: float = 0.0, schedule: Schedule | None = None
) -> Times:
    """m sequences, cut at `ends`, through p equal stages; by sequence_1f1b unless told. Raises ValueError unless the
    ends rise."""
    seconds = [work.seconds(*part) for part in parts(ends)]
    return simulate(schedule or sequence_1f1b(p, m, len(ends)), Costs(send=send, sizes=seconds * m))


def best(
    p: int,
    m: int,
    s: int,
    work: Work,
    cut: Callable[[int, int, Work], tuple[int, ...]] = equal_seconds,
    send: float = 0.0,
    counts: Sequence[int] = (),
) -> tuple[int, float]:
    """The number of parts with the shortest step, and its seconds; of 1, 2, 4, ... up to 128 unless told."""
    counts = counts or [2**k for k in range(8) if 2**k <= s]
    return min(((n, times(p, m, cut(s, n, work), work, send).makespan) for n in counts), key=lambda found: found[::-1])


def peak_tokens(schedule: Schedule, ends: Sequence[int]) -> list[int]:
    """The most tokens whose activations each rank keeps, for sequences cut at `ends` and one stage a rank."""
    lengths, peaks = [end - start for start, end in parts(ends)], []
    for order in schedule:
        live = peak = 0
        for kind, _, i in order:
            live += {"F": 1, "B": -1}.get(kind, 0) * lengths[i % len(lengths)]
            peak = max(peak, live)
        peaks.append(peak)
    return peaks

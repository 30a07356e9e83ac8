"""How long ranks are idle, in closed form, for each schedule; and exactly where each form holds.

Idea      A formula is a theorem about an order: it holds for some numbers p, m, v and some costs and not for others.
          Papers seldom say for which. Here each form says it: elsewhere it raises Outside, with the reason. The tests
          hold each against simulate() over random numbers and costs. formulas.py has them by the schedules' names.
Idle      makespan - m (F + B): seconds from the first start to the last end in which a rank does nothing. All ranks
          have equally much to do; only if a pair is quicker than its two passes (DualPipe) they have not, and then it
          is the rank that is idle longest. `_span` counts from a rank's own first start to its own last end instead.
1F1B      pays more for messages than GPipe. What follows a backward pass of i on rank r is the forward pass of
          i + p - r. So a path that turns there computes as long as one that stays, but it has 2k messages more for
          every k + 1 micro-batches if it runs up k ranks and down again. The longest path has 2(p - 1)c for every p
          micro-batches: a loss that more micro-batches do not make smaller.
Lead      With twice the warm-up there are 2k + 1 micro-batches to 2k messages, and time to hide them.
Letters   p ranks, m micro-batches, v chunks a rank. x: seconds of a rank's whole share of the model for one micro-batch
          (F, I, W, B; pair: F and B together), of a message (c; 0 if p = 1) and of an optimizer step (S).
"""

from __future__ import annotations

from typing import NamedTuple

from ..schedules.interleaved import groups


class NoClosedForm(ValueError):
    """Here the closed form is not exact: simulate() instead."""


class RankCosts(NamedTuple):
    """Costs of a rank's share of the model, as numbers."""

    F: float
    I: float  # noqa: E741
    W: float
    B: float
    S: float
    c: float
    pair: float


def require(holds: bool, region: str) -> None:
    """Raise Outside unless `holds`."""
    if not holds:
        raise NoClosedForm(f"the closed form is exact for {region}; simulate() elsewhere")


def naive(p: int, m: int, v: int, x: RankCosts) -> float:
    """Seconds; exact everywhere."""
    return (p - 1) * m * (x.F + x.B + 2 * x.c)


def gpipe(p: int, m: int, v: int, x: RankCosts) -> float:
    """Seconds; exact everywhere."""
    return (p - 1) * (x.F + x.B + 2 * x.c)


def one_f_one_b(p: int, m: int, v: int, x: RankCosts) -> float:
    """Seconds; exact everywhere."""
    return (p - 1) * (x.F + x.B) + zigzag(p, m) * x.c


def zigzag(p: int, m: int) -> int:
    """Messages on the longest path through 1F1B: down, (p - 1)-fold up and down as often as can be, a shorter zigzag
    through what is left of the m micro-batches, and up."""
    whole, left = divmod(m - 1, p)
    return 2 * (p - 1) * (whole + 1) + 2 * max(left - 1, 0)


def updated(p: int, m: int, v: int, x: RankCosts) -> float:
    """PipeDream and 2BW, seconds; exact for c = 0 or S = 0. (A step after a backward pass hides its message.)"""
    require(x.S == 0 or x.c == 0, "either messages or optimizer steps that take no time")
    return one_f_one_b(p, m, v, x)


def interleaved(p: int, m: int, v: int, x: RankCosts, lead: int | None = None, group: int | None = None) -> float:
    """Seconds; with lead 2 exact for c <= min(F, B)/v ((F + B)/2 if v = 1), with lead 1 for c = 0, v = 1 or groups of
    p. lead, group: as in interleaved.interleaved."""
    sizes = [len(g) for g in groups(m, group or p)]
    if lead == 1 or (lead is None and v == 1):
        require(x.c == 0 or v == 1 or set(sizes) == {p}, "lead 1 with c = 0, v = 1, or groups of p")
        return looped(p, v, sizes, x._replace(c=0.0)) + (zigzag(p, m * v) + 2 * (v - 1)) * x.c
    hidden = min(x.F, x.B) / v if v > 1 else (x.F + x.B) / 2
    require(x.c <= hidden, f"lead 2 with c <= {hidden:g} s, which it hides")
    return looped(p, v, sizes, x)


def breadth_first(p: int, m: int, v: int, x: RankCosts) -> float:
    """Seconds; exact everywhere."""
    return looped(p, v, [m], x)


def looped(p: int, v: int, sizes: list[int], x: RankCosts) -> float:
    """To fill the pipeline and to empty it; and v - 1 times what the first rank waits for the first group to come
    round, forward, and the last rank for the last group, backward."""

    def wait(group: int, seconds: float) -> float:
        return max(p * (seconds / v + x.c) - group * seconds / v, 0.0)

    return (p - 1) * ((x.F + x.B) / v + 2 * x.c) + (v - 1) * (wait(sizes[0], x.F) + wait(sizes[-1], x.B))


def zb_h1(p: int, m: int, v: int, x: RankCosts) -> float:
    """Seconds; exact where zb_h1_span is. Without messages (p - 1) max(F + I - W, F, I)."""
    return max(zb_h1_span(p, m, v, x), (p - 1) * (x.F + 3 * x.c))


def zb_h1_span(p: int, m: int, v: int, x: RankCosts) -> float:
    """Seconds; exact for m >= p, or m > p with messages, and 2c <= F, I, W."""
    require(m >= p and (m > p or x.c == 0), "m >= p, and m > p with messages")
    require(2 * x.c <= min(x.F, x.I, x.W), "2c <= F, I, W")
    return (p - 1) * max(x.F + x.I - x.W + 4 * x.c, x.I + 2 * x.c)


def zb_h2(p: int, m: int, v: int, x: RankCosts) -> float:
    """Seconds; exact where zb_h2_span is."""
    return max(zb_h2_span(p, m, v, x), (p - 1) * (x.F + x.c))


def zb_h2_span(p: int, m: int, v: int, x: RankCosts) -> float:
    """Seconds; exact for m >= 2p - 1 and 2c <= F, I, W."""
    require(m >= 2 * p - 1 and 2 * x.c <= min(x.F, x.I, x.W), "m >= 2p - 1, 2c <= F, I, W")
    return (p - 1) * max(x.F + x.I - 2 * min(x.F, x.W) + 2 * x.c, 0.0)


def zb_v(p: int, m: int, v: int, x: RankCosts) -> float:
    """Seconds; exact for c = 0, m >= 2p (m >= p if F = I = W), and no F, I, W more than twice another."""
    equal = x.F == x.I == x.W
    require(x.c == 0 and m >= (p if equal else 2 * p), "c = 0, m >= 2p (m >= p if F = I = W)")
    require(max(x.F, x.I, x.W) <= 2 * min(x.F, x.I, x.W), "no F, I, W more than twice another")
    return (p - 1) * max(x.I, x.W, 2 * x.F - x.I) / 2


def zb_v_span(p: int, m: int, v: int, x: RankCosts) -> float:
    """Seconds; exact where zb_v is, and m >= 2p."""
    require(m >= 2 * p, "m >= 2p")
    return zb_v(p, m, v, x) - (p - 1) * min(x.F, x.W, 2 * x.W - x.I) / 2


def v_half(p: int, m: int, v: int, x: RankCosts) -> float:
    """Seconds; exact for c = 0, F = I = W and m >= p."""
    require(x.c == 0 and x.F == x.I == x.W and m >= p, "c = 0, F = I = W, m >= p")
    return (3 * (p - 1) - (p > 1 and p % 2)) * x.F / 2


def v_min(p: int, m: int, v: int, x: RankCosts) -> float:
    """Seconds; exact for c = 0 and F = I = W."""
    require(x.c == 0 and x.F == x.I == x.W, "c = 0, F = I = W")
    return max(4 * (p - 1) - 1, 0) * x.F / 2


def dual_pipe(p: int, m: int, v: int, x: RankCosts) -> float:
    """Seconds; exact where `folded` is."""
    return folded(p // 2, x)


def dual_pipe_v(p: int, m: int, v: int, x: RankCosts) -> float:
    """Seconds; exact where `folded` is."""
    return folded(p, x) / 2


def folded(n: int, x: RankCosts) -> float:
    """DualPipe, n ranks to the middle; exact for c = 0 and max(F, B) <= pair <= F + B. DeepSeek's formula,
    (n - 1)(pair + B - 3W), is this for F = I >= W."""
    require(x.c == 0 and max(x.F, x.B) <= x.pair <= x.F + x.B, "c = 0 and max(F, B) <= pair <= F + B")
    h = n - 1
    return h * (max(x.I - x.W, 0.0) + x.pair - x.F - x.B) + max(2 * h * x.F, (h - 1) * x.F + h * x.I) * (h > 0)

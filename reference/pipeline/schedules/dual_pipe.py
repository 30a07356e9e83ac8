"""DualPipe: micro-batches enter at both ends, and forward passes run beside backward passes of the other direction.

Idea      The messages of expert parallelism are hidden if a forward pass of one micro-batch and a backward pass of
          another run side by side (Schedule.overlapped): one computes while the other waits for its messages. For
          that, both must be at hand on a rank at any time. So half of the micro-batches enter at rank 0 and half at the
          last; every rank has two stages of the model, and every stage lives on two ranks.
          The ranks r and p - 1 - r have the same two stages and do the same. One half of the ranks alone, with all of
          its micro-batches from one end, is DualPipeV: p ranks, 2p stages, rank r has stages r and 2p - 1 - r.
Price     Every rank keeps what p + 1 micro-batches leave in a stage (2p + 1 with DualPipeV, whose stages are half as
          large), and DualPipe keeps the weights twice.
Left out  how the two passes of a pair are cut into parts and interleaved: Costs.pair is what comes out.
Source    DeepSeek-AI, "DeepSeek-V3 Technical Report" (2024), section 3.2.1, and the repository DualPipe (2025).
          The V shape: Qi et al., "DualPipe could be better without the Dual" (2025), who cut it in half.

Letters: a rank has a near side (0), whose micro-batches come to it first, and a far side (1). q ranks lie before it on
its near side; the sides meet after n ranks; c micro-batches come from each side.
"""

from __future__ import annotations

import itertools
from collections import deque

from ..schedule import Action, Schedule, check_sizes, flushed
from .record import BOTH_ENDS, ONE_VERSION, V_SHAPE, Form, RankCosts, ScheduleRecord, even_peaks, require


def dual_pipe(p: int, m: int) -> Schedule:
    """p stages, each on two ranks; micro-batches 0 ... m/2 - 1 enter at rank 0, the others at rank p - 1.

    Raises ValueError unless p and m are even and m >= 2p.
    """
    check_sizes(p, m)
    if why := dual_pipe_refuses(p, m):
        raise ValueError(f"DualPipe for p = {p}, m = {m}: {why}")
    n, c = p // 2, m // 2
    left = [_rank(q, n, c, stages=(q, p - 1 - q), first=(0, c)) for q in range(n)]
    right = [_rank(q, n, c, stages=(q, p - 1 - q), first=(c, 0)) for q in range(n)]
    orders, overlapped = zip(*left, *reversed(right))
    return flushed("DualPipe", orders, overlapped=overlapped)


def dual_pipe_v(p: int, m: int) -> Schedule:
    """p ranks, 2p stages; all micro-batches enter at rank 0, turn at rank p - 1 and come back.

    Raises ValueError unless m >= 2p.
    """
    check_sizes(p, m)
    if why := dual_pipe_v_refuses(p, m):
        raise ValueError(f"DualPipeV for p = {p}, m = {m}: {why}")
    orders, overlapped = zip(*(_rank(q, p, m, stages=(q, 2 * p - 1 - q), first=(0, 0)) for q in range(p)))
    return flushed("DualPipeV", orders, overlapped=overlapped)


def dual_pipe_refuses(p: int, m: int) -> str:
    """Why there is no DualPipe of these sizes; "" if there is one."""
    if p % 2 or m % 2:
        return "both must be even, for half of the micro-batches comes from each end"
    return dual_pipe_v_refuses(p, m)


def dual_pipe_v_refuses(p: int, m: int) -> str:
    """Why there is no DualPipeV of these sizes; "" if there is one."""
    return f"it needs at least 2p = {2 * p} micro-batches to have pairs on every rank" if m < 2 * p else ""


def steps(q: int, n: int, c: int) -> list[str]:
    """What a rank does: "F0" with the next micro-batch of side 0, "F0B1" a pair, "W" the oldest W that is left."""
    out = n - 1 - q  # ranks between this one and the middle
    main = ["F0B1", "F1B0"] * (c - 2 * n + q + 1)
    if out == 0:
        main[:1] = ["F0", "B1"]  # F0 need not wait for the first B1, and the others wait for both
    last = ["B1", "B0"] * (q + 1)
    return [
        *["F0"] * (2 * out),  # until the first from the far side has come here
        *["F0", "F1"] * (q + 1),  # of both sides in turn, until the first gradient has
        *["I1", "W", "F1"] * out,  # in two parts: others wait for I, and W fills the time
        *main,  # steady state: a pair of each direction in turn
        *["B1", "F1B0"] * out,  # the near side has nothing to begin any more
        *last[: q + 1],  # nor the far side
        *[step.replace("B", "I") for step in last[q + 1 :]],  # in two parts again, so that gradients are soon through
        *["W", "I0"] * out,
        *["W"] * (q + 1),
    ]


def _rank(q: int, n: int, c: int, stages: tuple[int, int], first: tuple[int, int]) -> tuple[list, frozenset]:
    """A rank's order and its pairs; `stages` of the near and the far side, and the `first` micro-batch of each."""
    order, pairs, waiting = [], set(), deque()
    following = {(k, side): itertools.count(first[side]) for k in ("F", "backward") for side in (0, 1)}
    for step in steps(q, n, c):
        if step == "W":
            order.append(waiting.popleft())
        if len(step) == 4:
            pairs.add(len(order))
        for kind, side in zip(step[::2], map(int, step[1::2])):
            i = next(following["F" if kind == "F" else "backward", side])
            order.append(Action(kind, stages[side], i))
            if kind == "I":
                waiting.append(Action("W", stages[side], i))
    return order, frozenset(pairs)


def dual_pipe_idle(p: int, m: int, v: int, x: RankCosts) -> float:
    """Seconds; exact where `folded_idle` is."""
    return folded_idle(p // 2, x)


def dual_pipe_v_idle(p: int, m: int, v: int, x: RankCosts) -> float:
    """Seconds; exact where `folded_idle` is."""
    return folded_idle(p, x) / 2


def folded_idle(n: int, x: RankCosts) -> float:
    """DualPipe, n ranks to the middle; exact for c = 0 and max(F, B) <= pair <= F + B. DeepSeek's formula,
    (n - 1)(pair + B - 3W), is this for F = I >= W."""
    require(x.c == 0 and max(x.F, x.B) <= x.pair <= x.F + x.B, "c = 0 and max(F, B) <= pair <= F + B")
    h = n - 1
    return h * (max(x.I - x.W, 0.0) + x.pair - x.F - x.B) + max(2 * h * x.F, (h - 1) * x.F + h * x.I) * (h > 0)


PAIRS = "F = I, W <= I, B <= FB <= F + B"
DUAL_PIPE_IDLE = Form(dual_pipe_idle, "(p / 2 - 1)(FB + B - 3W)", PAIRS)
DUAL_PIPE = ScheduleRecord(
    name="DualPipe",
    make=dual_pipe,
    idea="micro-batches from both ends; F and B side by side",
    source="DeepSeek-AI (2024)",
    elsewhere={"dualpipe": "DualPipe"},
    placement=BOTH_ENDS,
    weights="flush",
    options=(),
    refuses=dual_pipe_refuses,
    idle=DUAL_PIPE_IDLE,
    span=DUAL_PIPE_IDLE,
    peaks=even_peaks(lambda p, m: p + 1, "p + 1"),
    versions=ONE_VERSION,
)
DUAL_PIPE_V_IDLE = Form(dual_pipe_v_idle, "(p - 1)(FB + B - 3W) / 2", PAIRS)
DUAL_PIPE_V = ScheduleRecord(
    name="DualPipeV",
    make=dual_pipe_v,
    idea="one half of DualPipe's ranks, with all stages in a V",
    source="Qi et al. (2025)",
    elsewhere={"PyTorch": "ScheduleDualPipeV", "dualpipe": "DualPipeV"},
    placement=V_SHAPE,
    weights="flush",
    options=(),
    refuses=dual_pipe_v_refuses,
    idle=DUAL_PIPE_V_IDLE,
    span=DUAL_PIPE_V_IDLE,
    peaks=even_peaks(lambda p, m: p + 0.5, "p + 1/2"),
    versions=ONE_VERSION,
)

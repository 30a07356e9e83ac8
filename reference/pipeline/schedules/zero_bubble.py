"""Zero bubble: the backward pass in two parts, the second of which fills the gaps that the first leaves.

Idea      The stage before waits for I, the gradient for the input; for W, the gradient for the weights, nobody waits
          but the optimizer. So I is done at once and W where the rank would have nothing to do (weight_gradients.py). A
          schedule is then an order of F and I, and a limit of memory.
          H1: that of 1F1B. H2: with twice the warm-up: a rank that has begun waits no more (F = I = W, m >= 2p - 1).
          V: rank r has stages r and 2p - 1 - r, so that micro-batches come back to where they entered; ranks that keep
          much of the one stage keep little of the other, and memory is even.
          V-Half, V-Min: the passes of one micro-batch at fixed distances in time, repeated for every micro-batch. The
          memory is the time between F and W, so the distances set it: the smallest there can be make V-Min.

              ZB-H1, p = 3, m = 4: W fill gaps
              rank 0  F0 F1 F2 .. .. I0 W0 F3 I1 W1 I2 W2 I3 W3
              rank 1  .. F0 F1 .. I0 F2 I1 W0 F3 I2 W1 I3 W2 W3
              rank 2  .. .. F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3

Price     ZB-H1 keeps as much as 1F1B on its first rank, on every rank; H2 nearly twice that; V-Half and V-Min about a
          half and a third, with bubbles of about a half and two thirds of 1F1B's. V sends twice as many messages.
          So it is if F, I and W take equally long and messages no time; the records have what holds for others.
          ZB-H1's (p - 1)(F + I - W) asks for m >= p and W no longer than F and I.
Source    ZB-H1, ZB-H2 and, in its arXiv version, ZB-V: Qi et al., "Zero Bubble (Almost) Pipeline Parallelism" (2023).
          V-Half, V-Min: Qi et al., "Pipeline Parallelism with Controllable Memory" (2024).

Letters: p ranks, m micro-batches, r rank.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..schedule import Schedule, check_sizes
from .record import LINE, ONE_VERSION, V_SHAPE, Form, RankCosts, ScheduleRecord, even_peaks, of_all_sizes, require
from .weight_gradients import Pass, in_gaps


def zb_h1(p: int, m: int) -> Schedule:
    """F and I as in 1F1B; W is put off, by r micro-batches on rank r: each rank keeps p, as rank 0 does in 1F1B."""
    check_sizes(p, m)
    return in_gaps("ZB-H1", in_line(m, [p - 1 - r for r in range(p)]), m, limit=p)


def zb_h1_idle(p: int, m: int, v: int, x: RankCosts) -> float:
    """Seconds; exact where zb_h1_span is. Without messages (p - 1) max(F + I - W, F, I)."""
    return max(zb_h1_span(p, m, v, x), (p - 1) * (x.F + 3 * x.c))


def zb_h1_span(p: int, m: int, v: int, x: RankCosts) -> float:
    """Seconds; exact for m >= p, or m > p with messages, and 2c <= F, I, W."""
    require(m >= p and (m > p or x.c == 0), "m >= p, and m > p with messages")
    require(2 * x.c <= min(x.F, x.I, x.W), "2c <= F, I, W")
    return (p - 1) * max(x.F + x.I - x.W + 4 * x.c, x.I + 2 * x.c)


ZB_H1 = ScheduleRecord(
    name="ZB-H1",
    make=zb_h1,
    idea="1F1B with W put off into the gaps: p activations kept on every rank",
    source="Qi et al. (2023)",
    elsewhere={"PyTorch": "ScheduleInterleavedZeroBubble"},
    placement=LINE,
    weights="flush",
    options=(),
    refuses=of_all_sizes,
    idle=Form(zb_h1_idle, "(p - 1)(F + I - W)", "m >= p, W <= F, W <= I"),
    span=Form(zb_h1_span, "(p - 1)(F + I - W)", "m >= p, W <= F"),
    peaks=even_peaks(min, "min(m, p)"),
    versions=ONE_VERSION,
)


def zb_h2(p: int, m: int) -> Schedule:
    """Twice the warm-up of ZB-H1, so that no rank waits for its first backward pass; every rank keeps 2p - 1."""
    check_sizes(p, m)
    return in_gaps("ZB-H2", in_line(m, [2 * (p - 1 - r) for r in range(p)]), m, limit=2 * p - 1)


def zb_h2_idle(p: int, m: int, v: int, x: RankCosts) -> float:
    """Seconds; exact where zb_h2_span is."""
    return max(zb_h2_span(p, m, v, x), (p - 1) * (x.F + x.c))


def zb_h2_span(p: int, m: int, v: int, x: RankCosts) -> float:
    """Seconds; exact for m >= 2p - 1 and 2c <= F, I, W."""
    require(m >= 2 * p - 1 and 2 * x.c <= min(x.F, x.I, x.W), "m >= 2p - 1, 2c <= F, I, W")
    return (p - 1) * max(x.F + x.I - 2 * min(x.F, x.W) + 2 * x.c, 0.0)


ZB_H2 = ScheduleRecord(
    name="ZB-H2",
    make=zb_h2,
    idea="twice the warm-up: no rank waits once it has begun (F = I = W, m >= 2p - 1); 2p - 1 activations kept",
    source="Qi et al. (2023)",
    elsewhere={},
    placement=LINE,
    weights="flush",
    options=(),
    refuses=of_all_sizes,
    idle=Form(zb_h2_idle, "(p - 1) F", "m >= 2p - 1, W <= F, I <= 2W"),
    span=Form(zb_h2_span, "(p - 1)(F + I - 2W)", "m >= 2p - 1, W <= F, 2W <= F + I"),
    peaks=even_peaks(lambda p, m: min(m, 2 * p - 1), "min(m, 2p - 1)"),
    versions=ONE_VERSION,
)


def in_line(m: int, warmup: Sequence[int]) -> list[list[Pass]]:
    """One stage a rank; rank r does warmup[r] forward passes, then F and I in turn."""
    return [first * [("F", r)] + m * [("F", r), ("I", r)] for r, first in enumerate(warmup)]


def zb_v(p: int, m: int) -> Schedule:
    """A rank that has begun waits no more (F = I = W, m >= 2p - 1), and keeps p micro-batches of two stages."""
    check_sizes(p, m)
    return in_gaps("ZB-V", in_v(p, m, [2 * (p - r) - 1 for r in range(p)]), m, limit=2 * p)


def zb_v_idle(p: int, m: int, v: int, x: RankCosts) -> float:
    """Seconds; exact for c = 0, m >= 2p (m >= p if F = I = W), and no F, I, W more than twice another."""
    equal = x.F == x.I == x.W
    require(x.c == 0 and m >= (p if equal else 2 * p), "c = 0, m >= 2p (m >= p if F = I = W)")
    require(max(x.F, x.I, x.W) <= 2 * min(x.F, x.I, x.W), "no F, I, W more than twice another")
    return (p - 1) * max(x.I, x.W, 2 * x.F - x.I) / 2


def zb_v_span(p: int, m: int, v: int, x: RankCosts) -> float:
    """Seconds; exact where zb_v_idle is, and m >= 2p."""
    require(m >= 2 * p, "m >= 2p")
    return zb_v_idle(p, m, v, x) - (p - 1) * min(x.F, x.W, 2 * x.W - x.I) / 2


def even_in_v(peak: Callable[[int], float], least: int, text: str) -> Form:
    """Peaks of a V whose ranks all keep peak(p); exact for m >= least p."""
    region = f"m >= {least}p" if least > 1 else "m >= p"

    def peaks(p: int, m: int, v: int) -> list[float]:
        require(m >= least * p, region)
        return [peak(p)] * p

    return Form(peaks, text, region)


ZB_V = ScheduleRecord(
    name="ZB-V",
    make=zb_v,
    idea="stages in a V: no rank waits once it has begun (F = I = W, m >= 2p - 1), with the memory of 1F1B",
    source="Qi et al. (2023)",
    elsewhere={"PyTorch": "ScheduleZBVZeroBubble", "zero-bubble": "--zero-bubble-v-schedule"},
    placement=V_SHAPE,
    weights="flush",
    options=(),
    refuses=of_all_sizes,
    idle=Form(zb_v_idle, "(p - 1) F / 2", "m >= p, F = I = W"),
    span=Form(zb_v_span, "0", "m >= 2p, F = I = W"),
    peaks=even_in_v(lambda p: p, 1, "p"),
    versions=ONE_VERSION,
)


def in_v(p: int, m: int, warmup: Sequence[int]) -> list[list[Pass]]:
    """Stages in a V; rank r does warmup[r] forward passes of its first stage. Then they come back: F of both stages in
    turn; F and I of the second, until the first of them comes back once more; from then on F and I of both."""
    orders = []
    for r, first in enumerate(warmup):
        F0, I0, F1, I1 = ((kind, stage) for stage in (r, 2 * p - 1 - r) for kind in "FI")
        orders.append(first * [F0] + r * [F1, F0] + (p - r) * [F1, I1] + m * [F0, I0, F1, I1])
    return orders


def v_half(p: int, m: int) -> Schedule:
    """Half the memory of ZB-V (p // 2 + 1 micro-batches in two stages), for half the bubble of 1F1B."""
    check_sizes(p, m)
    return in_gaps("V-Half", repeated(p, m, (1, 2, 1, 2)), m, limit=2 * (p // 2 + 1))


def v_half_idle(p: int, m: int, v: int, x: RankCosts) -> float:
    """Seconds; exact for c = 0, F = I = W and m >= p."""
    require(x.c == 0 and x.F == x.I == x.W and m >= p, "c = 0, F = I = W, m >= p")
    return (3 * (p - 1) - (p > 1 and p % 2)) * x.F / 2


V_HALF_IDLE = Form(v_half_idle, "(3(p - 1) - p mod 2) F / 2", "p > 1, m >= p, F = I = W")
V_HALF = ScheduleRecord(
    name="V-Half",
    make=v_half,
    idea="stages in a V: about half of 1F1B's memory, and half of its bubble if F = I = W",
    source="Qi et al. (2024)",
    elsewhere={},
    placement=V_SHAPE,
    weights="flush",
    options=(),
    refuses=of_all_sizes,
    idle=V_HALF_IDLE,
    span=V_HALF_IDLE,
    peaks=even_in_v(lambda p: p // 2 + 1, 2, "floor(p / 2) + 1"),
    versions=ONE_VERSION,
)


def v_min(p: int, m: int) -> Schedule:
    """A third of the memory of ZB-V ((p + 1) // 3 + 1 micro-batches in two stages), for two thirds of 1F1B's bubble."""
    check_sizes(p, m)
    turn = 1 if p % 3 else 3  # with 1, F of one stage and I of the other would fall on the same moments
    return in_gaps("V-Min", repeated(p, m, (1, 1, 1, 1), turn), m, limit=2 * ((p + 1) // 3 + 1))


def v_min_idle(p: int, m: int, v: int, x: RankCosts) -> float:
    """Seconds; exact for c = 0 and F = I = W."""
    require(x.c == 0 and x.F == x.I == x.W, "c = 0, F = I = W")
    return max(4 * (p - 1) - 1, 0) * x.F / 2


def v_min_peaks(p: int, m: int, v: int) -> list[float]:
    """Exact for m >= p, unless p is of the form 3k + 2, where the ranks differ."""
    require(p % 3 != 2 and m >= p, "m >= p, and p not of the form 3k + 2, where the ranks differ")
    return [(p + 1) // 3 + 1] * p


V_MIN_IDLE = Form(v_min_idle, "(4(p - 1) - 1) F / 2", "p > 1, F = I = W")
V_MIN = ScheduleRecord(
    name="V-Min",
    make=v_min,
    idea="stages in a V: about a third of 1F1B's memory, and two thirds of its bubble if F = I = W",
    source="Qi et al. (2024)",
    elsewhere={},
    placement=V_SHAPE,
    weights="flush",
    options=(),
    refuses=of_all_sizes,
    idle=V_MIN_IDLE,
    span=V_MIN_IDLE,
    peaks=Form(v_min_peaks, "floor((p + 1) / 3) + 1", "m >= p, p mod 3 != 2"),
    versions=ONE_VERSION,
)


def repeated(p: int, m: int, legs: tuple[int, ...], turn: int = 1, interval: int = 6) -> list[list[Pass]]:
    """Stages in a V; of each rank the order of F and I if every micro-batch takes the same way, one each `interval`.

    Its way has four legs: forward from rank 0 to p - 1 and back, backward likewise. From one rank to the next it takes
    as many units as `legs` says; to turn, `turn` on rank p - 1 and 1 on rank 0. F, I and W of two stages are 6 units.
    """
    orders, time = [[] for _ in range(p)], 0
    for n in range(4 * p):
        kind, stage = ("F", n) if n < 2 * p else ("I", 4 * p - 1 - n)
        orders[min(stage, 2 * p - 1 - stage)] += [(time + interval * i, kind, stage) for i in range(m)]
        time += legs[n // p] if n % p < p - 1 else turn if n != 2 * p - 1 else 1
    return [[(kind, stage) for _, kind, stage in sorted(order)] for order in orders]

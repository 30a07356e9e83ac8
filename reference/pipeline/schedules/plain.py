"""The plain schedules: one stage a rank, the backward pass in one piece.

Idea      GPipe: all forward passes, then all backward passes, in reverse order. 1F1B: as soon as a backward pass can be
          done, do it, so that what was kept for it can be freed. Same bubble, p instead of m micro-batches kept.
          PipeDream: 1F1B that never waits for a flush; it updates after every backward pass and pays in stale weights.

              GPipe, p = 3, m = 4, F and B equally long: F2 is the forward pass of micro-batch 2
              rank 0  F0 F1 F2 F3 .. .. .. .. B3 B2 B1 B0
              rank 1  .. F0 F1 F2 F3 .. .. B3 B2 B1 B0 ..
              rank 2  .. .. F0 F1 F2 F3 B3 B2 B1 B0 .. ..

              1F1B: as long, but rank 0 has B0 done before it begins F3
              rank 0  F0 F1 F2 .. .. B0 F3 B1 .. B2 .. B3
              rank 1  .. F0 F1 .. B0 F2 B1 F3 B2 .. B3 ..
              rank 2  .. .. F0 B0 F1 B1 F2 B2 F3 B3 .. ..

Price     (p - 1)(F + B) idle seconds, and those of messages: 2(p - 1) for GPipe. 1F1B pays more. What follows a
          backward pass of i on rank r is the forward pass of i + p - r. So a path that turns there computes as long as
          one that stays, but it has 2k messages more for every k + 1 micro-batches if it runs up k ranks and down
          again. The longest path has 2(p - 1)c for every p micro-batches: a loss that more micro-batches do not make
          smaller. (interleaved.py: with twice the warm-up there are 2k + 1 micro-batches to 2k messages, and time to
          hide them.)
Source    GPipe: Huang et al., "GPipe: Efficient Training of Giant Neural Networks using Pipeline Parallelism" (2019).
          1F1B and PipeDream: Narayanan et al., "PipeDream: Generalized Pipeline Parallelism for DNN Training" (2019);
          synchronous as PipeDream-Flush, and PipeDream-2BW: Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN
          Training" (2021).

Letters: p ranks, m micro-batches, r rank (= stage here).
"""

from __future__ import annotations

from collections.abc import Iterator

from ..schedule import Action, Schedule, check_sizes, flushed
from .record import LINE, ONE_VERSION, Form, RankCosts, ScheduleRecord, even_peaks, of_all_sizes, require


def naive(p: int, m: int = 1) -> Schedule:
    """One micro-batch after the other, each forward and backward through all stages before the next one starts."""
    check_sizes(p, m)
    return flushed("naive", [[Action(kind, r, i) for i in range(m) for kind in "FB"] for r in range(p)])


def naive_idle(p: int, m: int, v: int, x: RankCosts) -> float:
    """Seconds; exact everywhere."""
    return (p - 1) * m * (x.F + x.B + 2 * x.c)


NAIVE_IDLE = Form(naive_idle, "(p - 1) m (F + B)", "")
NAIVE = ScheduleRecord(
    name="naive",
    make=naive,
    idea="one micro-batch after the other",
    source="",
    elsewhere={},
    placement=LINE,
    weights="flush",
    options=(),
    refuses=of_all_sizes,
    idle=NAIVE_IDLE,
    span=NAIVE_IDLE,
    peaks=even_peaks(lambda p, m: 1, "1"),
    versions=ONE_VERSION,
)


def gpipe(p: int, m: int) -> Schedule:
    """All forward passes, then all backward passes, last micro-batch first."""
    check_sizes(p, m)
    orders = [
        [*(Action("F", r, i) for i in range(m)), *(Action("B", r, i) for i in reversed(range(m)))] for r in range(p)
    ]
    return flushed("GPipe", orders)


def gpipe_idle(p: int, m: int, v: int, x: RankCosts) -> float:
    """Seconds; exact everywhere."""
    return (p - 1) * (x.F + x.B + 2 * x.c)


GPIPE_IDLE = Form(gpipe_idle, "(p - 1)(F + B)", "")
GPIPE = ScheduleRecord(
    name="GPipe",
    make=gpipe,
    idea="all forward passes, then all backward passes",
    source="Huang et al. (2019)",
    elsewhere={"PyTorch": "ScheduleGPipe", "torchgpipe": "GPipe"},
    placement=LINE,
    weights="flush",
    options=(),
    refuses=of_all_sizes,
    idle=GPIPE_IDLE,
    span=GPIPE_IDLE,
    peaks=even_peaks(lambda p, m: m, "m"),
    versions=ONE_VERSION,
)


def one_f_one_b(p: int, m: int) -> Schedule:
    """p - r - 1 forward passes to fill the pipeline, then forward and backward in turn, then the backwards left."""
    check_sizes(p, m)
    return flushed("1F1B", [alternating(r, m, warmup=p - r - 1) for r in range(p)])


def alternating(stage: int, m: int, warmup: int) -> Iterator[Action]:
    """`warmup` forward passes (at most m), then one forward and one backward in turn, then the backwards left."""
    warmup = min(warmup, m)
    for i in range(warmup):  # warm-up: fill the pipeline
        yield Action("F", stage, i)
    for i in range(m - warmup):  # steady state: as much is freed as is kept anew
        yield Action("F", stage, warmup + i)
        yield Action("B", stage, i)
    for i in range(m - warmup, m):  # cool-down: empty it
        yield Action("B", stage, i)


def one_f_one_b_idle(p: int, m: int, v: int, x: RankCosts) -> float:
    """Seconds; exact everywhere."""
    return (p - 1) * (x.F + x.B) + zigzag(p, m) * x.c


def zigzag(p: int, m: int) -> int:
    """Messages on the longest path through 1F1B: down, (p - 1)-fold up and down as often as can be, a shorter zigzag
    through what is left of the m micro-batches, and up."""
    whole, left = divmod(m - 1, p)
    return 2 * (p - 1) * (whole + 1) + 2 * max(left - 1, 0)


def falling(p: int, m: int, v: int) -> list[float]:
    """Of each rank the micro-batches that it keeps at most: as many as its warm-up has, and one."""
    return [min(m, p - r) for r in range(p)]


ONE_F_ONE_B_IDLE = Form(one_f_one_b_idle, "(p - 1)(F + B)", "")
FALLING = Form(falling, "min(m, p - r)", "")
ONE_F_ONE_B = ScheduleRecord(
    name="1F1B",
    make=one_f_one_b,
    idea="a backward pass as soon as one can be done: p activations kept, not m",
    source="Narayanan et al. (2019), Narayanan et al. (2021)",
    elsewhere={
        "PyTorch": "Schedule1F1B",
        "Megatron-Core": "forward_backward_pipelining_without_interleaving",
        "DeepSpeed": "TrainSchedule",
    },
    placement=LINE,
    weights="flush",
    options=(),
    refuses=of_all_sizes,
    idle=ONE_F_ONE_B_IDLE,
    span=ONE_F_ONE_B_IDLE,
    peaks=FALLING,
    versions=ONE_VERSION,
)


def pipedream(p: int, m: int) -> Schedule:
    """1F1B with an optimizer step of the stage after each of its backward passes; m micro-batches of an endless stream.

    Micro-batch i meets, on stage s, weights that lack the last min(i, p - 1 - s) updates, and their version is kept
    until its backward pass has used it: at most p - s versions.
    """
    check_sizes(p, m)
    return Schedule("PipeDream", _updated(p, m, every=1), weights="stash")


def pipedream_2bw(p: int, m: int, batch: int | None = None) -> Schedule:
    """1F1B with an optimizer step after every `batch` micro-batches (p unless told), and two versions of the weights.

    Raises ValueError if batch < p - 1: a batch would begin before the version that it needs has been made. (The paper
    asks for batch >= p.)
    """
    check_sizes(p, m)
    batch = p if batch is None else batch
    check_sizes(p, batch)
    if batch < p - 1:
        raise ValueError(
            f"batch = {batch} is below p - 1 = {p - 1}: two versions do not suffice then, take a larger one"
        )
    return Schedule("2BW", _updated(p, m, every=batch), weights="double")


def _updated(p: int, m: int, every: int) -> tuple[tuple[Action, ...], ...]:
    """1F1B; a step follows the last backward pass of every `every` micro-batches, and of what is left in the end."""

    def order(r: int) -> Iterator[Action]:
        for action in alternating(r, m, warmup=p - r - 1):
            yield action
            if action.kind == "B" and (action.micro % every == every - 1 or action.micro == m - 1):
                yield Action("S", r, action.micro)

    return tuple(tuple(order(r)) for r in range(p))


def updated_idle(p: int, m: int, v: int, x: RankCosts) -> float:
    """PipeDream and 2BW, seconds; exact for c = 0 or S = 0. (A step after a backward pass hides its message.)

    Once in an endless stream of micro-batches, of which these are the first m.
    """
    require(x.S == 0 or x.c == 0, "either messages or optimizer steps that take no time")
    return one_f_one_b_idle(p, m, v, x)


def stashed(p: int, m: int) -> list[int]:
    """Versions of PipeDream; exact for m > 2p."""
    require(m > 2 * p, "m > 2p")
    return [p - r for r in range(p)]


def doubled(p: int, m: int) -> list[int]:
    """Versions of 2BW with batches of p; exact for m > 2p."""
    require(m > 2 * p, "m > 2p")
    return [2] * p


UPDATED_IDLE = Form(updated_idle, "(p - 1)(F + B)", "")
PIPEDREAM = ScheduleRecord(
    name="PipeDream",
    make=pipedream,
    idea="1F1B that updates after every micro-batch, without a flush: stale weights",
    source="Narayanan et al. (2019)",
    elsewhere={},
    placement=LINE,
    weights="stash",
    options=(),
    refuses=of_all_sizes,
    idle=UPDATED_IDLE,
    span=UPDATED_IDLE,
    peaks=FALLING,
    versions=Form(stashed, "p - r", "m > 2p"),
)
PIPEDREAM_2BW = ScheduleRecord(
    name="2BW",
    make=pipedream_2bw,
    idea="PipeDream with two versions of the weights: updates every p micro-batches",
    source="Narayanan et al. (2021)",
    elsewhere={},
    placement=LINE,
    weights="double",
    options=(),
    refuses=of_all_sizes,
    idle=UPDATED_IDLE,
    span=UPDATED_IDLE,
    peaks=FALLING,
    versions=Form(doubled, "2", "m > 2p"),
)

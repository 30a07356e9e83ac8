"""Level 1 of chapter 9, predict: how long a pipeline is idle, what it keeps, which claims are true, TP or PP."""

import functools
import math
import sys
from collections.abc import Sequence

from exercises.grading import Exercise, Finding, choices, inputs, numbers
from exercises.grading.returns import Returns


def share(schedule, p, m, v):
    """The idle share of all ranks' time."""
    return (p - 1) / p if schedule == "naive" else (p - 1) / (v * m + p - 1)


def only(schedule, formula):
    """A slip that somebody makes with one schedule and not with the others."""
    return lambda name, p, m, v: formula(p, m, v) if name == schedule else math.nan


def overlapped(formula):
    """A slip that somebody makes with all schedules but the naive one."""
    return lambda name, p, m, v: math.nan if name == "naive" else formula(p, m, v)


TOO_EARLY = (
    "There is too little idle time in that. A rank cannot begin micro-batch i's backward pass before the rank behind "
    "it has done its own: the first of all begins on the last rank, and reaches rank 0 p - 1 backward passes later."
)
WHAT_HAPPENS = (
    "Draw 3 ranks and 4 micro-batches, a row a rank, a forward pass one square long and a backward pass two. How many "
    "squares of a row are empty, from the first pass of all to the last, and how long is the row?"
)
SHRINKS = (
    "1F1B shrinks the bubble, one reads. Does it? The first micro-batch comes to the last rank after p - 1 forward "
    "passes; the last rank has m passes of each kind to do; after them its gradient takes p - 1 backward passes to "
    "come to rank 0. Which of these three does the order change?"
)
SHORTER = (
    "As in 1F1B the last rank waits for p - 1 passes of the others before it begins. But these are passes of stages a "
    "v-th as long. And how long is its own work, of v stages and m micro-batches?"
)
OTHER_SHARES = [
    (
        overlapped(lambda p, m, v: (p - 1) / (v * m)),
        "That is the idle time over the time of work, m passes. Asked for is its share of the whole time, in which "
        "the idle passes are counted as well.",
    ),
    (
        overlapped(lambda p, m, v: p / (v * m)),
        "p / m is a rule of thumb for very many micro-batches: over m it leaves out the idle time itself, and it "
        "has p where there are p - 1. Count both.",
    ),
    (
        overlapped(lambda p, m, v: p / (v * m + p)),
        "The first rank waits for nobody at the beginning: of p ranks, how many passes does the first micro-batch "
        "have behind it when it comes to the last one?",
    ),
    (
        overlapped(lambda p, m, v: p / (v * m + p - 1)),
        "The whole time is right. The idle time is not: how many passes does the first micro-batch have behind it "
        "when it comes to the last of p ranks?",
    ),
    (
        overlapped(lambda p, m, v: (p - 1) / (v * m + p)),
        "The idle passes are right, the whole time is too long: m passes of work, and the idle ones.",
    ),
    (only("GPipe", lambda p, m, v: 1 - 2 * m / (m + 2 * p - 2)), TOO_EARLY),
    *[
        (only(schedule, lambda p, m, v, each=each: (p - 1) / (each * m + p - 1)), TOO_EARLY)
        for schedule in ("GPipe", "1F1B")
        for each in (2, 3)
    ],
    *[
        (
            only("naive", formula),
            "Naively the next micro-batch does not start before the "
            "one before has come back. How many of the p ranks work at a time?",
        )
        for formula in (lambda p, m, v: (p - 1) / (m + p - 1), lambda p, m, v: (p - 1) / m)
    ],
    (only("naive", lambda p, m, v: 1 / p), "That is the share in which a rank works. Asked for is the other one."),
    (
        only("interleaved", lambda p, m, v: (p - 1) / (m + p - 1)),
        "That is 1F1B's. With v stages on each rank the way to the last rank is p - 1 passes of shorter stages: "
        "how long is each?",
    ),
    (
        only("interleaved", lambda p, m, v: (p - 1) / (m + p - 1) / v),
        "The idle time is a v-th of 1F1B's. So the whole time is shorter, too, and the share is not a v-th: divide "
        "the new idle time by the new whole time.",
    ),
    *[
        (
            only("interleaved", lambda p, m, v, work=work: (p * v - 1) / (work(m, v) + p * v - 1)),
            "You count it as a pipeline of p v ranks. There are p v stages, but rank 0 has the next of them as "
            "soon as the last rank is through with the one before: the last rank waits for p - 1 short passes "
            "only.",
        )
        for work in (lambda m, v: m, lambda m, v: v * m)
    ],
    (
        lambda schedule, p, m, v: 1 - share(schedule, p, m, v),
        "That is the share of time in which it works. Asked for is the rest.",
    ),
    *[
        (
            lambda schedule, p, m, v, digits=digits, unit=unit: round(unit * share(schedule, p, m, v), digits),
            "Right, but rounded or in percent: return the share itself, as it is computed.",
        )
        for digits, unit in ((1, 1), (2, 1), (3, 1), (4, 1), (0, 100), (1, 100), (2, 100), (12, 100))
    ],
    (
        overlapped(lambda p, m, v: 3 * (p - 1) / v),
        "Those are the seconds that a rank is idle, if a forward pass takes one. Divide by all its seconds.",
    ),
    (
        overlapped(lambda p, m, v: p * (p - 1) / (v * m + p - 1)),
        "The idle time of all ranks was divided by the time of one. With p ranks in both, p cancels.",
    ),
]


class Share(numbers.Number):
    """What is believed of 1F1B and of interleaving has many values, and one hint each."""

    def __call__(self, case, answer):
        finding = super().__call__(case, answer)
        ((schedule, p, m, v),), (got,) = case.arguments, answer.results
        if finding and finding.hint == WHAT_HAPPENS and schedule == "1F1B" and got < share(schedule, p, m, v):
            return finding._replace(hint=SHRINKS)
        if finding and finding.hint == WHAT_HAPPENS and schedule == "interleaved":
            return finding._replace(hint=SHORTER)
        return finding


def some_pipeline(schedule, v=1):
    """p and m by chance; for the interleaved schedule p divides m."""

    def drawn(rng):
        p = int(rng.integers(3, 17))
        m = p * int(rng.integers(2, 9)) + (int(rng.integers(1, p)) if v == 1 else 0)
        return schedule, p, m, v

    return drawn


bubble_share = Exercise(
    cases=inputs.calls(
        ("GPipe", 4, 5, 1),
        ("GPipe", 8, 32, 1),
        some_pipeline("GPipe"),
        ("1F1B", 4, 5, 1),
        some_pipeline("1F1B"),
        ("1F1B", 8, 5, 1),
        ("naive", 4, 5, 1),
        some_pipeline("naive"),
        ("interleaved", 3, 9, 2),
        some_pipeline("interleaved", 4),
        ("GPipe", 1, 7, 1),
        ("GPipe", 6, 1, 1),
        names="schedule p m v",
    ),
    checks=[Share(share, OTHER_SHARES, otherwise=WHAT_HAPPENS)],
    hints=[
        "Every rank has the same work: m forward and m backward passes. So it suffices to ask for how long the first "
        "rank to begin and the last one to end have the pipeline open, and to take the work away.",
        "GPipe and 1F1B: the last rank waits for p - 1 forward passes before it begins, works without a break, and "
        "after it the others have p - 1 backward passes to do. In units of one pass forward and backward: m and p - 1.",
        "For 8 ranks and 32 micro-batches: 7 idle out of 39. Naively: 7 ranks of 8. With v stages on a rank the p - 1 "
        "passes take a v-th each: 7 / v idle out of 32 + 7 / v.",
    ],
)


def enough(p, percent):
    """The least m for so many percent, in whole numbers."""
    return max(1, -((p - 1) * (percent - 100) // percent))


def busy_enough(share):
    """The least m, found by trying, for somebody whose share of the bubble is share(p, m) percent."""
    return lambda p, percent: enough(p, percent) + (share(p, enough(p, percent)) > percent)


IN_FLOATS = [  # right on paper, and too many where the float is a little above a whole number
    lambda p, percent: math.ceil((p - 1) * (1 - percent / 100) / (percent / 100)),
    lambda p, percent: math.ceil((p - 1) / (percent / 100) - (p - 1)),
    lambda p, percent: math.ceil((p - 1) * (1 / (percent / 100) - 1)),
    lambda p, percent: math.ceil((p - 1) / (percent / 100) * (1 - percent / 100)),
    lambda p, percent: math.ceil((1 - percent / 100) / (percent / 100) * (p - 1)),
    lambda p, percent: math.ceil((p - 1) * (100 / percent - 1)),
    lambda p, percent: math.ceil((p - 1) * (1 - 0.01 * percent) / (0.01 * percent)),
    busy_enough(lambda p, m: (p - 1) / (m + p - 1) * 100),
    busy_enough(lambda p, m: 100 * (1 - m / (m + p - 1))),
]
EXACT = [(p, percent) for p in range(2, 60) for percent in range(1, 100) if (p - 1) * (100 - percent) % percent == 0]
UNLIKE_OTHERS = [(p, c) for p, c in EXACT if enough(p, c) + 1 not in (4 * p, math.ceil(p * (100 - c) / c))]


def unlucky(formula):
    """Draws (p, percent) for which a formula in floats gives one too many, and no coarser mistake gives as many."""
    found = [(p, c) for p, c in UNLIKE_OTHERS if formula(p, c) != enough(p, c)]
    return lambda rng: found[int(rng.integers(len(found)))]


def exact(rng):
    """Draws (p, percent) for which the share is met exactly: where floats go wrong, each formula elsewhere."""
    return UNLIKE_OTHERS[int(rng.integers(len(UNLIKE_OTHERS)))]


least_micro_batches = Exercise(
    cases=inputs.calls(
        (8, 10),
        (8, 20),
        (5, 30),
        lambda rng: (int(rng.integers(3, 60)), int(rng.choice([7, 9, 11, 13, 17, 23, 31]))),
        (4, 20),
        (13, 12),
        (6, 1),
        (3, 90),
        (1, 20),
        *map(unlucky, IN_FLOATS),
        *[exact] * 20,
        names="p percent",
    ),
    checks=[
        numbers.Number(
            enough,
            slips=[
                (
                    lambda p, percent: 0 if p == 1 else math.nan,
                    "One rank has no bubble. But a step without a micro-batch does nothing: 1 is the least.",
                ),
                (
                    lambda p, percent: 4 * p,
                    "4 p is enough for 20 %, and even a little too much; for other percentages it is just a number. "
                    "Begin from the share of the bubble.",
                ),
                (
                    lambda p, percent: math.ceil((p - 1) * 100 / percent),
                    "That is with (p - 1) / m: idle time over work. The whole time has the idle passes in it, too.",
                ),
                (
                    lambda p, percent: math.ceil(p * 100 / percent),
                    "That is with p / m, a rule of thumb. Take the share itself: idle passes over all passes.",
                ),
                (
                    lambda p, percent: math.ceil(p * (100 - percent) / percent),
                    "p where p - 1 belongs: how many passes is the last rank idle at the beginning?",
                ),
                (
                    lambda p, percent: (p - 1) * (100 - percent) // percent + 1,
                    "One too many: with one fewer the share is met exactly, and at most so many percent are asked for. "
                    "If it is right on paper, blame the computer's share: its 0.2 is not exactly a fifth, so what "
                    "should come out as 12 may be a little more, and is rounded up to 13. Compute with whole numbers, "
                    "or try whether one micro-batch fewer would do.",
                ),
                (
                    lambda p, percent: (p - 1) * (100 - percent) // percent,
                    "Rounded down there are too few micro-batches: put your number into the share, and compare. (And a "
                    "step has at least one of them.)",
                ),
                (
                    lambda p, percent: (p - 1) * (100 - percent) / percent,
                    "Micro-batches are whole. Which way must it be rounded?",
                ),
                (
                    lambda p, percent: math.ceil((p - 1) * percent / (100 - percent)),
                    "That many micro-batches make it busy for so many percent. It may be idle for them.",
                ),
                (
                    lambda p, percent: math.ceil((p - 1) / percent * 100) + p - 1,
                    "The whole time is right: m + p - 1 passes. To solve for m, p - 1 goes to the other side: its "
                    "sign?",
                ),
            ],
            otherwise="The share is (p - 1) / (m + p - 1). It must be at most percent / 100: solve for m, and mind the "
            "direction in which you round.",
        )
    ],
    hints=[
        "Write down the share of the bubble for p ranks and m micro-batches. (bubble_share, above, has it.) It falls "
        "with m. When is it just small enough?",
        "(p - 1) / (m + p - 1) <= percent / 100 means 100 (p - 1) <= percent (m + p - 1).",
        "For 8 ranks and 20 %: 700 <= 20 (m + 7), so m >= 28. For 4 ranks it is 12, and 13 would be one too many.",
    ],
)


def kept(schedule, p, m, in_hand=lambda p, m, r: min(p - r, m), gpipe=lambda p, m: m, part=lambda p, m: p * m):
    """Each rank's share of the batch's activations; or what somebody gets who counts differently."""
    return [(gpipe(p, m) if schedule == "GPipe" else in_hand(p, m, r)) / part(p, m) for r in range(p)]


OTHER_ACTIVATIONS = [
    (
        {"in_hand": lambda p, m, r: min(p, m)},
        "Rank 0 is right. The last rank does the backward pass directly after the forward pass: how much does it keep, "
        "and how much those between?",
    ),
    (
        {"in_hand": lambda p, m, r: min(p - 1 - r, m)},
        "Those are the forward passes before 1F1B takes turns. But it takes turns with a forward pass first: one more "
        "is there when the first backward pass begins.",
    ),
    (
        {"in_hand": lambda p, m, r: min(p - r + 1, m)},
        "One too many on each rank: the last rank does F0 B0 F1 B1, and never keeps more than one micro-batch.",
    ),
    (
        {"in_hand": lambda p, m, r: min(r + 1, m)},
        "The wrong way round: which rank waits longest for the first gradient, the first or the last?",
    ),
    (
        {"in_hand": lambda p, m, r: p - r},
        "More micro-batches than there are cannot be kept: here m is smaller than that.",
    ),
    (
        {"in_hand": lambda p, m, r: m},
        "1F1B does not keep all micro-batches: it begins with backward passes as soon as it can, and each of them "
        "frees one.",
    ),
    ({"in_hand": lambda p, m, r: p * (p + 1) / 2}, "That is the whole cluster. Asked for is each rank."),
    (
        {"gpipe": lambda p, m: p * m},
        "That is the memory of all ranks together. (Some books compare it, M P A, with that of one rank in 1F1B, P A.) "
        "Asked for is each rank.",
    ),
    (
        {"part": lambda p, m: m},
        "A rank does not have all layers: of a micro-batch's activations, p ranks have a p-th each.",
    ),
    (
        {"part": lambda p, m: p},
        "That many micro-batches, each counted as large as the batch. How large is a micro-batch, if m of them are the "
        "batch? (More of them are smaller: that is why it helps.)",
    ),
    (
        {"gpipe": lambda p, m: min(p, m)},
        "GPipe does all its forward passes before the first backward pass: how many micro-batches are there then?",
    ),
    (
        {"gpipe": lambda p, m: 1},
        "Between GPipe's forward and backward passes nothing is freed: what a rank keeps adds up, micro-batch after "
        "micro-batch.",
    ),
    (
        {"part": lambda p, m: 1},
        "Those are micro-batches times the bytes of the whole batch. How large is what one micro-batch leaves in one "
        "stage?",
    ),
]


def of_each_rank(**change):
    """Each rank's bytes, or what somebody has who counts differently."""
    return lambda schedule, p, m, batch: [part * batch for part in kept(schedule, p, m, **change)]


def a_number_for_each_rank(case, results):
    """p numbers."""
    ((_, p, _, _),), (got,) = case.arguments, results
    if got is None:
        return Finding("it returned None.", "A function that ends without `return` gives None: return the list.")
    got = numbers.listed(got)
    if not isinstance(got, list | tuple) or len(got) != p or not all(map(_number, got)):
        return Finding(
            f"it returned {got!r:.80}.", f"Return a list of {p} numbers: the bytes of rank 0, of rank 1, ..."
        )
    return None


def the_first_rank_that_differs(case, results, right):
    """Its bytes."""
    (got,), (want,) = results, right
    rank = next(r for r in range(len(want)) if not _alike(got[r : r + 1], want[r : r + 1]))
    return f"rank {rank}: {got[rank]:.6g} bytes, {got[rank] / want[rank]:.4g} times what is right."


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < sys.float_info.max


def _alike(got: Sequence[float], want: Sequence[float], close: float = 1e-5) -> bool:
    return len(got) == len(want) and all(
        math.isclose(a, b, rel_tol=close) for a, b in zip(got, want)
    )  # whole bytes will do


activations_kept = Exercise(
    cases=inputs.calls(
        ("1F1B", 4, 8, 64 * 10**9),
        ("GPipe", 4, 8, 64 * 10**9),
        ("1F1B", 4, 16, 64 * 10**9),
        lambda rng: ("GPipe", *map(int, rng.integers(3, 30, 2)), int(rng.integers(1, 99)) * 10**8),
        lambda rng: ("1F1B", int(rng.integers(3, 9)), int(rng.integers(10, 50)), int(rng.integers(1, 99)) * 10**8),
        ("1F1B", 6, 3, 36 * 10**8),
        ("1F1B", 1, 5, 10**9),
        names="schedule p m batch",
    ),
    checks=[
        Returns(
            of_each_rank(),
            [(of_each_rank(**change), hint) for change, hint in OTHER_ACTIVATIONS]
            + [
                (
                    lambda schedule, p, m, batch: [part * p * m for part in kept(schedule, p, m)],
                    "That is the number of micro-batches. Each is how many bytes in one stage?",
                )
            ],
            otherwise="Write down rank 1's order for 3 ranks and 4 micro-batches. Behind each forward pass one "
            "micro-batch more is kept, behind each backward pass one less. What is the most, and how many bytes is one "
            "micro-batch in one stage?",
            seen=the_first_rank_that_differs,
            form=a_number_for_each_rank,
            same=_alike,
            nearly=functools.partial(_alike, close=1e-2),
        )
    ],
    hints=[
        "Two numbers for each rank: how many micro-batches are between their forward and their backward pass at the "
        "same time, and how many bytes one of them leaves in one stage.",
        "A micro-batch leaves batch / (p m) bytes in a stage. GPipe has all m in hand when it turns round. 1F1B on the "
        "last rank: F0 B0 F1 B1, one. On the rank before: F0 F1 B0 F2 B1, two.",
        "So rank r has p - r in hand, if there are as many: 4, 3, 2, 1 on four ranks. Of 64 GB in 8 micro-batches that "
        "is 8, 6, 4, 2 GB.",
    ],
)


SCHEDULES = ("GPipe", "1F1B", "interleaved", "PipeDream", "ZB-H1", "none")
LARGE = {
    "bubble": "Draw it for 4 ranks, and count: a pass forward is one square, a backward pass two.",
    "GPipe": "GPipe keeps every micro-batch until all have gone forward, and is idle for p - 1 passes of each kind.",
    "1F1B": "1F1B is GPipe's passes in another order: same bubble, same messages, fewer micro-batches in hand.",
    "interleaved": "Interleaving makes the passes shorter and the crossings between ranks more.",
    "PipeDream": "PipeDream never waits for an update, so it has no bubble in the long run; what does it pay with?",
    "ZB-H1": "ZB-H1 moves the gradients for the weights, for which nobody waits, into idle time. Who has to pay?",
    "none": "One of the five it is. Go through them: what does each change, compared with the one before it?",
}
ORDER_IS_NOT_LESS = (
    "Can any order do that? The last rank begins after p - 1 forward passes of the others, does m of each kind, and "
    "p - 1 backward passes of the others follow. Which schedule on the list changes one of these three, at the price "
    "that the statement rules out?"
)
EARLIER_IS_NOT_LESS = (
    "It begins with backward passes earlier, that is true. When does it end? The last rank is as late as in GPipe, and "
    "has as much to do."
)
LAYERS = (
    "A stage may have as many layers as you like: 48 layers on 8 ranks are 6 each. What does not work are more ranks "
    "than layers: the rule is often told the wrong way round."
)
BALANCE = (
    "The stage with twice as much to do takes twice as long for every micro-batch, in whatever order. The others wait "
    "for it: none of the five helps, and another cut between the stages does."
)
PAYS = "Its bubble is smaller. Its memory? Compare how many micro-batches are in hand on the rank that has most."
which_schedule = Exercise(
    cases=inputs.calls(()),
    checks=[
        choices.Situations(
            {
                "A": "GPipe",
                "B": "1F1B",
                "C": "none",
                "D": "none",
                "E": "interleaved",
                "F": "ZB-H1",
                "G": "PipeDream",
                "H": "PipeDream",
                "I": "none",
                "J": "interleaved",
                "K": "none",
            },
            SCHEDULES,
            why={
                ("A", "1F1B"): "1F1B has p micro-batches in hand, however many there are. If each is half as large?",
                (
                    "A",
                    "none",
                ): "If every micro-batch is in hand at the same time, these are the batch, in whatever number "
                "of pieces. Which schedule is that?",
                ("B", "interleaved"): "Its bubble is smaller than GPipe's. Asked for is one that is as large.",
                ("B", "PipeDream"): "In the long run it has no bubble at all. Asked for is one as large as GPipe's.",
                ("B", "ZB-H1"): "Its bubble is smaller than GPipe's. Asked for is one that is as large.",
                ("B", "none"): "One of the five is often praised for its bubble, and deserves it for its memory.",
                ("C", "1F1B"): EARLIER_IS_NOT_LESS,
                ("C", "interleaved"): "Its bubble is smaller. But how many stages has a rank?",
                ("C", "PipeDream"): "Its bubble is smaller. But at which weights are its gradients?",
                ("C", "ZB-H1"): "Its bubble is smaller. But in how many pieces is a backward pass?",
                ("C", "GPipe"): "Smaller than GPipe's: GPipe itself is not.",
                ("D", "1F1B"): "Its bubble is 1F1B's own.",
                ("D", "GPipe"): "It keeps all m micro-batches, and its bubble is as large as 1F1B's.",
                ("D", "interleaved"): PAYS + " Before its first backward pass rank 0 has gone forward through several "
                "of its stages.",
                ("D", "PipeDream"): PAYS + " PipeDream runs in 1F1B's order, so it is as much; and weights in several "
                "versions are added.",
                ("D", "ZB-H1"): PAYS + " A micro-batch is freed when its last part is done, and that may be later.",
                ("E", "PipeDream"): "PipeDream sends what 1F1B sends: one message at each boundary, each way.",
                ("E", "ZB-H1"): "The gradient for the weights stays where it is: ZB-H1 sends what 1F1B sends.",
                ("E", "none"): "With v stages on a rank, a micro-batch passes p v - 1 boundaries in place of p - 1.",
                ("F", "interleaved"): "How many boundaries does a micro-batch pass on its way through p v stages?",
                ("F", "PipeDream"): "Nearly all is right. The gradients: at which weights?",
                ("F", "1F1B"): "Its bubble is 1F1B's own.",
                (
                    "F",
                    "none",
                ): "In 1F1B a rank waits for gradients while it has work to do for which nobody waits. Which "
                "schedule uses that?",
                ("G", "ZB-H1"): "A step still ends before the next one begins, and its gradients are exact. Who has no "
                "steps?",
                ("G", "interleaved"): "Its bubble is a v-th of 1F1B's, and its gradients are exact. Who has no steps?",
                ("G", "1F1B"): "In steps, 1F1B flushes: no rank goes on before all have updated. Who does not wait?",
                ("G", "GPipe"): "GPipe flushes in every step: idle again each time. Who does not wait?",
                ("G", "none"): "Who updates after every backward pass need never wait. Which weights has a micro-batch "
                "seen, then?",
                (
                    "H",
                    "1F1B",
                ): "In steps all micro-batches see the same weights: an update comes when all are through. Who "
                "updates in between?",
                ("H", "ZB-H1"): "All its micro-batches see the same weights. Who updates in between?",
                (
                    "H",
                    "none",
                ): "Between a micro-batch's forward and its backward pass on rank 0 other micro-batches may "
                "update the weights. In which schedule? And with which weights must the backward pass be done?",
                **{("I", name): LAYERS for name in SCHEDULES[:-1]},
                ("J", "none"): "Rank p - 1 has stage p - 1, and which rank has stage p?",
                ("J", "PipeDream"): "Its stages are 1F1B's, one on each rank: messages go to the next rank and back.",
                ("J", "ZB-H1"): "Its stages are 1F1B's, one on each rank: messages go to the next rank and back.",
                **{("K", name): BALANCE for name in SCHEDULES[:-1]},
                ("K", "interleaved"): BALANCE + " With more and shorter stages there are more cuts to choose from; the "
                "schedule does not choose them.",
            },
            otherwise=LARGE,
            thing="statement",
        )
    ],
    hints=[
        "Make a table with a row for each schedule: bubble, micro-batches in hand on rank 0, messages, weights. Begin "
        "with GPipe, and change only what its line above changes.",
        "1F1B: the same bubble, p in hand. Interleaved: a v-th of the bubble, more than p in hand, more boundaries, "
        "and a link from the last rank to the first. ZB-H1: a third of the bubble, for nothing but code.",
        'PipeDream: no flush, so no bubble; old weights, in several versions. Four of the eleven are "none".',
    ],
)


def step(P, layers, batch, s, h, m, seconds, bandwidth):
    """(TP's bytes, PP's bytes, seconds for which TP's ranks wait for sums, seconds of PP's bubble)."""
    n = 2 * batch * s * h
    tp = 8 * layers * (P - 1) * n / P
    return tp, 2 * n, tp / bandwidth, seconds / P * (P - 1) / m


def close_to(ratio, P, m, layers):
    """A step in which TP's ranks wait `ratio` times as long as PP's bubble is."""

    def drawn(rng):
        batch, s, h = m * int(rng.integers(1, 4)), int(rng.integers(500, 5000)), int(rng.integers(1000, 9000))
        seconds = int(rng.integers(10, 300))
        tp, _, _, bubble = step(P, layers, batch, s, h, m, seconds, 1.0)
        return P, layers, batch, s, h, m, seconds, float(round(tp / (ratio * bubble), -3))

    return drawn


TP_SLIPS = [  # what the right number is multiplied by
    (
        lambda P, layers, batch, s, h, m: 1 / 2,
        "Half of what is right. Sums are made in the backward pass, too; and a ring all-reduce is a reduce-scatter and "
        "then an all-gather.",
    ),
    (
        lambda P, layers, batch, s, h, m: 1 / 4,
        "A quarter of what is right: two sums forward and two backward for each layer, and a ring all-reduce is a "
        "reduce-scatter and then an all-gather.",
    ),
    *[
        (
            lambda P, layers, batch, s, h, m, times=times: times * P / (P - 1) / 2,
            "How much does a rank send in a ring all-reduce of n bytes? Not n, nor 2 n: in each of 2 (P - 1) steps a "
            "P-th of it.",
        )
        for times in (1 / 2, 1, 2)
    ],
    (lambda P, layers, batch, s, h, m: 1 / layers, "That is one layer's. A step goes through all of them."),
    (
        lambda P, layers, batch, s, h, m: 1 / P,
        "Every rank has a part of every layer, not every P-th layer; and what is summed is whole on every rank, not a "
        "P-th of it.",
    ),
    (lambda P, layers, batch, s, h, m: 1 / m, "That is one micro-batch's. A step has the whole batch."),
    (lambda P, layers, batch, s, h, m: m, "The whole batch is counted for each micro-batch: m of them are the batch."),
    (lambda P, layers, batch, s, h, m: P, "That is what all ranks together send. Asked for is one rank."),
    (
        lambda P, layers, batch, s, h, m: 1 / s,
        "A sequence has s tokens, and each of them h numbers: s is missing. (It is missing in textbooks, too.)",
    ),
    (
        lambda P, layers, batch, s, h, m: 3 / 2,
        "Six sums a layer are made where the forward pass is computed a second time (recomputation). Here it is not.",
    ),
    *[
        (
            lambda P, layers, batch, s, h, m, per=per: 12 * h / (4 * batch * s) * per(P),
            "That is a sum of gradients, as in data parallelism. Tensor parallelism sums no gradients of weights, as "
            "each rank has its own part of them: it sums what goes from layer to layer, which grows with the tokens.",
        )
        for per in (lambda P: 1, lambda P: 1 / P, lambda P: P / (P - 1), lambda P: 1 / (P - 1))
    ],
]
PP_SLIPS = [
    (
        lambda P, layers, batch, s, h, m: 1 / 2,
        "Half of what is right. A rank in the middle has a neighbour on either side: what does it send to each?",
    ),
    (lambda P, layers, batch, s, h, m: 2, "Twice what is right: what comes in has been sent by others."),
    (lambda P, layers, batch, s, h, m: m, "The whole batch is counted for each micro-batch: m of them are the batch."),
    (lambda P, layers, batch, s, h, m: m / 2, "A micro-batch is an m-th of the batch; and what is sent backward?"),
    (lambda P, layers, batch, s, h, m: 1 / m, "That is one micro-batch's. A step has m of them."),
    (
        lambda P, layers, batch, s, h, m: 1 / 2 / m,
        "That is one micro-batch's, forward. A step has m of them, both ways.",
    ),
    *[
        (
            lambda P, layers, batch, s, h, m, times=times: times(P, layers),
            "Between the layers of one rank nothing is sent. Where a rank's layers follow each other, how many "
            "boundaries has it?",
        )
        for times in (lambda P, layers: layers / P, lambda P, layers: layers, lambda P, layers: layers / P / 2)
    ],
    *[
        (
            lambda P, layers, batch, s, h, m, times=times: times(P),
            "That is what all ranks together send. Asked for is a rank in the middle.",
        )
        for times in (lambda P: P, lambda P: P - 1, lambda P: (P - 1) / P, lambda P: (P - 1) / 2)
    ],
    (
        lambda P, layers, batch, s, h, m: 1 / s,
        "A sequence has s tokens, and each of them h numbers: s is missing. (It is missing in textbooks, too.)",
    ),
    (
        lambda P, layers, batch, s, h, m: 1 / P,
        "A pipeline cuts between layers, so what goes on to the next rank is whole, not a P-th of it.",
    ),
]
HOW_MANY_SUMS = (
    "How many bytes go from layer to layer, for the whole batch? How many all-reduces of that does a layer make, and "
    "what does a rank send in one?"
)
HOW_MANY_NEIGHBOURS = (
    "What does a rank in the middle send for a micro-batch: to the rank behind it, and to the one before?"
)
CHOICES = [  # (what somebody chooses who reckons with other times, the hint)
    (
        lambda tp, pp, wait, bubble, P, m, seconds, bandwidth: wait < bubble * m / (m + P - 1),
        "The bubble's share, (P - 1) / (m + P - 1), is of PP's own step, which has the bubble in it. How many seconds "
        "is it longer than seconds / P?",
    ),
    (
        lambda tp, pp, wait, bubble, P, m, seconds, bandwidth: wait < bubble + pp / bandwidth,
        "PP's messages travel while the ranks compute: they cost no time here.",
    ),
    (
        lambda tp, pp, wait, bubble, P, m, seconds, bandwidth: max(wait, seconds / P) < seconds / P + bubble,
        "TP's sums are not hidden behind computing: the next layer needs them, so all ranks wait.",
    ),
    (
        lambda tp, pp, wait, bubble, P, m, seconds, bandwidth: wait < bubble * P,
        "The bubble is P - 1 micro-batches long. How long does a rank compute for one, if it has a P-th of the layers?",
    ),
    (
        lambda *times: False,
        "Fewer bytes, but a bubble: how many seconds is it? And how many seconds do TP's bytes take over this link?",
    ),
    (
        lambda *times: True,
        "No bubble, but sums to wait for: how many seconds do TP's bytes take over this link, and how long is the "
        "bubble?",
    ),
]


def tp_pp_quicker(*arguments):
    """What is right."""
    tp, pp, wait, bubble = step(*arguments)
    return tp, pp, "TP" if wait < bubble else "PP"


def times(number, factor):
    """What somebody returns whose tp (number 0) or pp (1) is right but for a factor."""

    def answer(*arguments):
        right = list(tp_pp_quicker(*arguments))
        right[number] *= factor(*arguments[:6])
        return tuple(right)

    return answer


def choosing(rule):
    """What somebody returns who chooses by other times."""

    def answer(*arguments):
        tp, pp, wait, bubble = step(*arguments)
        P, *_, m, seconds, bandwidth = arguments
        return tp, pp, "TP" if rule(tp, pp, wait, bubble, P, m, seconds, bandwidth) else "PP"

    return answer


def two_numbers_and_a_name(case, results):
    """The form; and two numbers of which both are halved."""
    (got,), (tp, pp, _) = results, tp_pp_quicker(*case.arguments[0])
    if got is None:
        return Finding("it returned None.", "A function that ends without `return` gives None: return three things.")
    if not isinstance(got, tuple | list) or len(got) != 3 or not all(_number(each) for each in got[:2]):
        return Finding(f"it returned {got!r:.80}.", 'Return two numbers and a name: (tp, pp, "TP") or (tp, pp, "PP").')
    if math.isclose(got[0] * 2, tp) and math.isclose(got[1] * 2, pp):
        return Finding("both numbers are half of what is right.", "Those are numbers. How many bytes has each?")
    return None


def right_number(number, name, slips, otherwise):
    """The check of tp or of pp."""
    return Returns(
        tp_pp_quicker,
        [(times(number, factor), hint) for factor, hint in slips],
        otherwise,
        seen=lambda case, got, want: (
            f"{name} is {got[0][number]:.6g} bytes, {got[0][number] / want[0][number]:.4g} times what is right."
        ),
        form=two_numbers_and_a_name,
        same=lambda got, want: math.isclose(got[number], want[number]),
        nearly=lambda got, want: math.isclose(got[number], want[number], rel_tol=numbers.FEW_DIGITS),
    )


def a_name(case, results):
    """Who has the bytes right chooses one of the two names."""
    (got,) = results
    if got[2] in ("TP", "PP"):
        return None
    return Finding(f"the bytes are right; then comes {got[2]!r:.40}.", 'The third is "TP" or "PP".')


tp_or_pp = Exercise(
    cases=inputs.calls(
        (8, 80, 64, 4096, 8192, 32, 250, 450e9),
        (8, 80, 64, 4096, 8192, 32, 250, 25e9),
        close_to(0.3, 4, 16, 24),
        close_to(12.0, 5, 24, 10),
        close_to(0.93, 8, 8, 32),
        close_to(4.0, 8, 8, 16),
        close_to(2.0, 4, 64, 48),
        close_to(1.04, 4, 8, 4),
        names="P layers batch s h m seconds bandwidth",
    ),
    checks=[
        right_number(0, "tp", TP_SLIPS, HOW_MANY_SUMS),
        right_number(1, "pp", PP_SLIPS, HOW_MANY_NEIGHBOURS),
        Returns(
            tp_pp_quicker,
            [(choosing(rule), hint) for rule, hint in CHOICES],
            otherwise="How many seconds do TP's bytes take over this link, and how many is PP's bubble long?",
            seen=lambda case, got, want: f"the bytes are right; {got[0][2]} is the slower one.",
            form=a_name,
            same=lambda got, want: got[2] == want[2],
        ),
    ],
    hints=[
        "n = 2 batch s h bytes go from layer to layer for the whole batch, however it is cut. TP: four sums of n in "
        "each layer. PP: n to the next rank, and n, its gradient, to the one before.",
        "A ring all-reduce of n bytes sends 2 (P - 1) / P n from each rank (ring_time of chapter 1). TP's step takes "
        "seconds / P and the time of its bytes; PP's m + P - 1 times the time of a micro-batch on one rank.",
        "The example: n is 4.29 GB; TP sends 560 n and PP 2 n. At 450 GB/s TP waits for 5.3 s; PP's bubble is 6.8 s.",
    ],
)

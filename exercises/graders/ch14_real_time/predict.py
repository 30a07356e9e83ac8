"""Level 1 of chapter 14, predict: which proof holds for a set of tasks, and how often a vote or a chain fails."""

import math

from exercises.grading import Exercise, choices, inputs, numbers

# Which proof ---------------------------------------------------------------------------------------------------------

SETS = {  # (C, T) of each task
    "A": ((1, 4), (1, 5), (2, 10)),
    "B": ((2, 4), (2, 8), (4, 16)),
    "C": ((3, 6), (4, 9)),
    "D": ((2, 6), (3, 9), (4, 11)),
    "E": ((2, 5), (4, 10)),
    "F": ((2, 6), (2, 8), (3, 12)),
    "G": ((1, 2), (1, 3), (1, 7)),
    "H": ((2, 5), (2, 7), (3, 12)),
}
NAMES = ("bound", "exact", "EDF", "nobody")

which_proof = Exercise(
    cases=inputs.calls(()),
    checks=[
        choices.Situations(
            {
                "A": "bound",
                "B": "exact",
                "C": "EDF",
                "D": "nobody",
                "E": "bound",
                "F": "exact",
                "G": "exact",
                "H": "EDF",
            },
            NAMES,
            why={
                ("B", "nobody"): "The utilisation is exactly 1, so nothing is left over. Is that too much?",
                ("B", "EDF"): "Periods that divide each other cost nothing. Draw 16 ms with rate-monotonic priorities.",
                ("C", "exact"): "The second task: 4 of its own, and 3 of the first one make 7. By then the first one "
                "is there again.",
                ("D", "EDF"): "Add the three shares to three digits. What is the most that one processor can do?",
                ("E", "exact"): "The bound depends on the number of tasks. How many are there?",
                (
                    "F",
                    "EDF",
                ): "The third task: 3 of its own, and in a window of R there are ceil(R / 6) and ceil(R / 8) "
                "jobs of the others. Begin with R = 3.",
                (
                    "G",
                    "EDF",
                ): "98 % is much, and says nothing by itself. Begin with R = 1 for the third task: which jobs "
                "of the others are in a window of 3, of 4, of 5, of 6?",
                ("H", "exact"): "The third task: how many jobs of the others are in a window of 11, and what do they "
                "need together with its own 3?",
            },
            otherwise={
                "bound": "Add up C / T, and compare with the bound for so many tasks.",
                "exact": "Above the bound, R decides. Compute it for each task, and compare with the period.",
                "EDF": "With deadlines at the ends of the periods EDF needs a utilisation of at most 1. But is anybody "
                "late with rate-monotonic priorities?",
                "nobody": "If the utilisation is at most 1, EDF meets all deadlines here.",
            },
            thing="set",
        )
    ],
    hints=[
        "First the utilisation of each set. Which is above 1, and which is within the bound for two or three tasks?",
        "For the others compute R of the last task: begin with its C, and count the jobs of the others in a window of "
        "that length, until it stays the same.",
        "Two are within the bound, one is above 1. Of the five others two have a task that is late: their last one.",
    ],
)


# Late or wrong -------------------------------------------------------------------------------------------------------


def two_or_three(q):
    """That two or three of three are wrong, independently."""
    return 3 * q * q * (1 - q) + q**3


def probability(part, p, c, n):
    if part == "vote":
        return c * p + (1 - c * p) * two_or_three((1 - c) * p)
    return 1 - (1 - p) ** n if part == "chain" else min(1, n * p)


def for_part(part, formula):
    """What somebody returns who has another formula for one part."""
    return lambda asked, p, c, n: formula(p, c, n) if asked == part else math.nan


def some_case(rng):
    part = ("vote", "chain", "at worst")[int(rng.integers(3))]
    return part, float(rng.integers(1, 40)) / 100, float(rng.integers(1, 9)) / 10, int(rng.integers(2, 9))


VOTE, CHAIN, WORST = "vote", "chain", "at worst"

late_or_wrong = Exercise(
    cases=inputs.calls(
        ("vote", 0.125, 0.0, 1),
        ("vote", 0.125, 0.25, 1),
        ("chain", 0.125, 0.0, 4),
        ("at worst", 0.125, 0.0, 4),
        ("at worst", 0.3, 0.0, 4),
        ("vote", 0.25, 0.5, 1),
        ("vote", 0.5, 1.0, 2),
        ("chain", 0.01, 0.5, 6),
        ("at worst", 0.01, 0.5, 6),
        some_case,
        some_case,
        ("vote", 0.001, 0.0, 1),
        ("vote", 0.001, 0.1, 1),
        names="part p c n",
    ),
    checks=[
        numbers.Number(
            probability,
            slips=[
                (for_part(VOTE, lambda p, c, n: p), "That is one copy alone, or three that always agree."),
                (
                    for_part(VOTE, lambda p, c, n: math.nan if c == 0 else two_or_three(p)),
                    "As if the copies were independent. With probability c p they are wrong together.",
                ),
                (
                    for_part(VOTE, lambda p, c, n: 3 * p * p),
                    "3 p p counts three pairs, and a case in which all three are wrong three times. Count exactly two, "
                    "and all three.",
                ),
                (
                    for_part(VOTE, lambda p, c, n: 3 * p * p * (1 - p)),
                    "That is exactly two. If all three are wrong, the vote is wrong, too.",
                ),
                (for_part(VOTE, lambda p, c, n: p**3), "That is all three. Two that are wrong outvote the third."),
                (
                    for_part(VOTE, lambda p, c, n: math.nan if c == 0 else c * p),
                    "That is the common cause. Without it two or three can still be wrong independently.",
                ),
                (
                    for_part(VOTE, lambda p, c, n: c * p + two_or_three((1 - c) * p)),
                    "Nearly: the two ways are added as if both were possible at once. The second one needs that the "
                    "common cause did not come.",
                ),
                (
                    for_part(VOTE, lambda p, c, n: c * p + (1 - c * p) * two_or_three(p)),
                    "What is left to each copy by itself is (1 - c) p, not p.",
                ),
                (
                    for_part(VOTE, lambda p, c, n: (1 - c * p) * two_or_three((1 - c) * p)),
                    "The way with the common cause is missing: then all three are wrong.",
                ),
                (
                    for_part(VOTE, lambda p, c, n: 1 - probability("vote", p, c, n)),
                    "That is the probability that all goes well. Asked for is the other one.",
                ),
                (
                    for_part(CHAIN, lambda p, c, n: (1 - p) ** n),
                    "That is the probability that all goes well. Asked for is the other one.",
                ),
                (
                    for_part(CHAIN, lambda p, c, n: n * p),
                    "Adding counts runs in which several stages are late several times. In which part of the runs is "
                    "no "
                    "stage late?",
                ),
                (for_part(CHAIN, lambda p, c, n: p**n), "That is that all stages are late. One is enough."),
                (
                    for_part(CHAIN, lambda p, c, n: p),
                    "That is one stage. The chain is late whenever any of the n is.",
                ),
                (
                    for_part(WORST, lambda p, c, n: 1 - (1 - p) ** n),
                    "That holds for independent stages. What if they are never late in the same run?",
                ),
                (
                    for_part(WORST, lambda p, c, n: p),
                    "That is if all are late in the same runs, which is the best that can happen. What is the worst?",
                ),
                (for_part(WORST, lambda p, c, n: n * p), "No probability is above 1."),
            ],
            otherwise="Which events make it fail? Add up those that exclude each other, or take 1 minus the one "
            "in which "
            "nothing fails.",
        )
    ],
    hints=[
        "The vote fails in two ways that exclude each other: by the common cause, or without it.",
        "Independent stages are all in time with probability (1 - p)^n. Without independence: draw 100 runs, and "
        "mark the "
        "late ones of each stage, so that as many runs as possible have a mark.",
        "c p + (1 - c p) (3 q q (1 - q) + q q q), with q = (1 - c) p; 1 - (1 - p)^n; the smaller one of 1 and n p.",
    ],
)

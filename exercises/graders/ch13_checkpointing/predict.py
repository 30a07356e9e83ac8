"""Level 1 of chapter 13, predict: where the hours of a week go, and how often a job gets through without a stop."""

import math

from exercises.grading import Exercise, inputs, numbers

# The hours of a week -------------------------------------------------------------------------------------------------


def lost(week, M, R, C, T):
    return week / M * (T + C) / 2


def restarts(week, M, R, C, T):
    return week / M * R


def cycles(week, M, R, C, T):
    return (week - lost(week, M, R, C, T) - restarts(week, M, R, C, T)) / (T + C)


def checkpoints(*week):
    return cycles(*week) * week[3]


def useful(*week):
    return cycles(*week) * week[4]


PARTS = {"checkpoints": checkpoints, "lost work": lost, "restarts": restarts, "useful work": useful}


def hours(part, *week):
    return PARTS[part](*week)


def going(part, formula):
    """What somebody returns who has another formula for one part."""
    return lambda asked, *week: formula(*week) if asked == part else math.nan


def some_week(rng):
    """A week with failures every day or so."""
    part = list(PARTS)[int(rng.integers(4))]
    M, R, C, T = (float(rng.integers(*range_)) / 8 for range_ in ((80, 300), (1, 8), (1, 6), (20, 60)))
    return part, 168, M, R, C, T


WRITE, LOST, RESTART, USEFUL = PARTS

hours_of_a_week = Exercise(
    cases=inputs.calls(
        ("lost work", 168, 21, 0.75, 0.5, 4.5),
        ("restarts", 168, 21, 0.75, 0.5, 4.5),
        ("checkpoints", 168, 21, 0.75, 0.5, 4.5),
        ("useful work", 168, 21, 0.75, 0.5, 4.5),
        ("checkpoints", 168, 24, 0, 0.5, 4.4),
        ("lost work", 168, 24, 0, 0.5, 4.4),
        ("useful work", 168, 6, 1.5, 0.25, 2),
        ("restarts", 168, 6, 1.5, 0.25, 2),
        some_week,
        some_week,
        ("checkpoints", 720, 2.75, 0.125, 0.0625, 0.5),
        ("useful work", 8760, 2.75, 0.125, 0.0625, 0.5),
        names="part week M R C T",
    ),
    checks=[
        numbers.Number(
            hours,
            slips=[
                (
                    going(LOST, lambda week, M, R, C, T: week / M * T / 2),
                    "T / 2 a failure: a failure may also come during a checkpoint, and what is lost reaches back to "
                    "the last complete one. How long is a cycle?",
                ),
                (
                    going(LOST, lambda week, M, R, C, T: week / M * (T + C)),
                    "A whole cycle a failure: that is the most that can be lost. A failure comes at any moment of it.",
                ),
                (
                    going(LOST, lambda week, M, R, C, T: (T + C) / 2),
                    "That is what one failure loses. How many are there in the week?",
                ),
                (
                    going(LOST, lambda week, M, R, C, T: week / M * (T / 2 + C)),
                    "As if a failure always came behind a checkpoint that was begun. On average half of it is lost, as "
                    "of the rest of the cycle.",
                ),
                (
                    going(LOST, lambda week, M, R, C, T: week / M * ((T + C) / 2 + R)),
                    "Lost work and restarts together. In print both are called recovery time, and one of them is "
                    "forgotten then. They are different hours: asked for is one of them.",
                ),
                (
                    going(RESTART, lambda week, M, R, C, T: week / M * ((T + C) / 2 + R)),
                    "Lost work and restarts together. Work that is done anew is no part of a restart: asked for is how "
                    "long nothing is computed.",
                ),
                (
                    going(RESTART, lambda week, M, R, C, T: week / M * (T + C) / 2),
                    "That is the work that is lost. In print it is called recovery time, which it is not: a restart "
                    "comes in addition.",
                ),
                (
                    going(RESTART, lambda week, M, R, C, T: R),
                    "That is one restart. How many failures are there in the week?",
                ),
                (
                    going(RESTART, lambda week, M, R, C, T: week / (M + R) * R),
                    "As if M began behind a restart. The week has week / M failures here.",
                ),
                (
                    going(WRITE, lambda week, M, R, C, T: week / T * C),
                    "A checkpoint every T hours of the week: that is the printed answer. A cycle is longer than T, and "
                    "not all of the week consists of cycles that are completed.",
                ),
                (
                    going(WRITE, lambda week, M, R, C, T: week / (T + C) * C),
                    "As if the whole week consisted of complete cycles. Which hours are not in any of them?",
                ),
                (
                    going(WRITE, lambda week, M, R, C, T: (week - lost(week, M, R, C, T)) / (T + C) * C),
                    "Lost work is taken off the week, and restarts are not.",
                ),
                (
                    going(WRITE, lambda week, M, R, C, T: (week - restarts(week, M, R, C, T)) / (T + C) * C),
                    "Restarts are taken off the week, and lost work is not.",
                ),
                (
                    going(WRITE, lambda *week: cycles(*week)),
                    "That is how many checkpoints there are. Asked for are their hours.",
                ),
                (
                    going(USEFUL, lambda week, M, R, C, T: week / (T + C) * T),
                    "As if nothing failed. Which hours of the week are not in a complete cycle?",
                ),
                (
                    going(USEFUL, lambda week, M, R, C, T: week - week / T * C),
                    "The week without checkpoints: that is the printed answer, and no hour is lost in it. What else "
                    "takes hours?",
                ),
                (
                    going(USEFUL, lambda *week: week[0] - lost(*week) - restarts(*week)),
                    "What lost work and restarts leave of the week has checkpoints in it, too.",
                ),
                (
                    going(
                        USEFUL,
                        lambda *week: week[0] - lost(*week) - restarts(*week) - week[0] / (week[3] + week[4]) * week[3],
                    ),
                    "The checkpoints are counted as if nothing failed. Those of lost work and restarts were never "
                    "written.",
                ),
                (
                    lambda part, *week: hours(part, *week) / week[0],
                    "That is the share of the week. Asked for are its hours.",
                ),
            ],
            otherwise="Draw a week: cycles of T + C, and at each failure a cycle that was not completed, then a "
            "restart. How long is each of the four parts?",
            unit="hours",
        )
    ],
    hints=[
        "Take a week of 100 hours with two failures, T = 9 and C = 1. How much does a failure lose on average?",
        "Each failure takes (T + C) / 2 of work that has to be done again, and R. What is left is made of cycles.",
        "(week - lost - restarts) / (T + C) cycles are completed, each with T hours of work and C of a checkpoint.",
    ],
)


# A job that runs on --------------------------------------------------------------------------------------------------


def failed(p, days):
    """The probability that an accelerator fails within so many days."""
    return 1 - (1 - p) ** days


def at_most(k, n, q):
    """The probability that of n accelerators at most k fail."""
    return sum(math.comb(n, i) * q**i * (1 - q) ** (n - i) for i in range(k + 1))


def in_groups(workers, q, size=3, spare=1, workers_of_a_group=2):
    return at_most(spare, size, q) ** (workers / workers_of_a_group)


def survives(workers, p, days, form, spares):
    q = failed(p, days)
    if form == "2+1":
        return in_groups(workers, q)
    return at_most(spares, workers + spares, q)


def instead(form, formula):
    """What somebody returns who has another formula for one form, of (workers, q, spares)."""

    def answer(workers, p, days, asked, spares):
        return formula(workers, failed(p, days), spares) if asked == form else math.nan

    return answer


def some_job(rng):
    form = ("none", "2+1", "pool")[int(rng.integers(3))]
    spares = int(rng.integers(1, 6)) if form == "pool" else 0
    return 2 * int(rng.integers(100, 600)), float(rng.integers(2, 30)) / 10000, int(rng.integers(2, 9)), form, spares


NONE, TRIPLES, POOL = "none", "2+1", "pool"

keeps_running = Exercise(
    cases=inputs.calls(
        (2048, 0.0001, 1, "none", 0),
        (2048, 0.0001, 1, "2+1", 0),
        (2048, 0.0001, 1, "pool", 2),
        (600, 0.001, 7, "none", 0),
        (600, 0.001, 7, "2+1", 0),
        (600, 0.001, 7, "pool", 3),
        (2, 0.1, 3, "2+1", 0),
        (6, 0.05, 2, "pool", 1),
        some_job,
        some_job,
        (16384, 0.0005, 1, "pool", 12),
        (16384, 0.0005, 54, "2+1", 0),
        names="workers p days form spares",
    ),
    checks=[
        numbers.Number(
            survives,
            slips=[
                (
                    lambda *job: 1 - survives(*job),
                    "That is the probability that the job stops. Asked for is that it runs on.",
                ),
                (
                    lambda workers, p, days, form, spares: survives(workers, p, 1, form, spares),
                    "That is one day. An accelerator fails within several days if it does not get through all of them.",
                ),
                (
                    lambda workers, p, days, form, spares: survives(workers, p, 1, form, spares) ** days,
                    "As if everything was repaired each night. What failed on the first day is missing on the second.",
                ),
                (
                    lambda workers, p, days, form, spares: survives(workers, p * days, 1, form, spares),
                    "p times the days is a little too much: an accelerator cannot fail twice. With which probability "
                    "does it get through all days?",
                ),
                (
                    instead(NONE, lambda workers, q, spares: 1 - workers * q),
                    "Probabilities were added up, as if two could not fail on the same day. What is multiplied?",
                ),
                (
                    instead(NONE, lambda workers, q, spares: math.exp(-workers * q)),
                    "Nearly: exp(-n p) is what it tends to for many accelerators and a small p. Here p and n are "
                    "given.",
                ),
                (
                    instead(TRIPLES, lambda workers, q, spares: in_groups(workers, q, workers_of_a_group=3)),
                    "A third of the workers is how many groups of three they make. Here the workers come in pairs, and "
                    "the third one of each group comes in addition. The printed 683 groups are this mistake.",
                ),
                (
                    instead(TRIPLES, lambda workers, q, spares: in_groups(workers, q, workers_of_a_group=1)),
                    "As if each worker had two spares of which one may fail. How many pairs are there?",
                ),
                (
                    instead(TRIPLES, lambda workers, q, spares: in_groups(workers, q, size=2)),
                    "As if a pair got along with one of its two workers, without a spare. Three are on, and two have "
                    "to be left.",
                ),
                (
                    instead(TRIPLES, lambda workers, q, spares: in_groups(workers, q, spare=2)),
                    "As if one of the three was enough. A pair needs two of them.",
                ),
                (
                    instead(TRIPLES, lambda workers, q, spares: in_groups(workers, q, spare=0)),
                    "As if no spare could stand in. One of the three may fail.",
                ),
                (
                    instead(TRIPLES, lambda workers, q, spares: (1 - 3 * q * q) ** (workers / 2)),
                    "3 q^2 counts the case that all three fail three times. It is a good approximation, and no more.",
                ),
                (
                    instead(TRIPLES, lambda workers, q, spares: 1 - (1 - at_most(1, 3, q)) * workers / 2),
                    "The groups' probabilities were added up. The job runs on if all groups do: what is multiplied?",
                ),
                (
                    instead(POOL, lambda workers, q, spares: at_most(spares, workers, q)),
                    "As if spares never failed. They are on from the first day: how many accelerators may fail?",
                ),
                (
                    instead(POOL, lambda workers, q, spares: at_most(spares - 1, workers + spares, q)),
                    "One failure too few: with k spares the job runs on if exactly k fail.",
                ),
                (
                    instead(
                        POOL,
                        lambda workers, q, spares: (
                            at_most(spares, workers + spares, q) - at_most(0, workers + spares, q)
                        ),
                    ),
                    "The case that nothing fails is missing.",
                ),
                (
                    instead(POOL, lambda workers, q, spares: at_most(0, workers + spares, q)),
                    "As if no spare could stand in. So many may fail as there are spares.",
                ),
                (
                    instead(
                        POOL,
                        lambda workers, q, spares: (
                            at_most(spares, workers + spares, q) - at_most(spares - 1, workers + spares, q)
                        ),
                    ),
                    "That is the probability that exactly so many fail as there are spares. Fewer are fine, too.",
                ),
                (
                    instead(
                        POOL,
                        lambda workers, q, spares: sum(
                            q**i * (1 - q) ** (workers + spares - i) for i in range(spares + 1)
                        ),
                    ),
                    "With which probability do given ones fail, and how many choices of them are there?",
                ),
            ],
            otherwise="With which probability does one accelerator fail within these days? Then: how many of how many "
            "may fail, and how many such groups have to get through?",
        )
    ],
    hints=[
        "Two workers, p = 1/10, one day, no spares: 0.9 x 0.9. And with one spare for both?",
        "At most k of n fail: add up comb(n, i) q^i (1 - q)^(n - i) for i from 0 to k.",
        "q = 1 - (1 - p)^days. No spares: (1 - q)^n. 2+1: at most one of three fails, in each of n / 2 groups. Pool: "
        "at most k of n + k fail.",
    ],
)

"""Level 3 of chapter 14, write: response time, demand, the age of data, and what a deadline leaves to execute."""

import math
from fractions import Fraction

from exercises.grading import Exercise, Finding, inputs, numbers
from exercises.grading.numbers import short
from exercises.grading.returns import Returns, so_far


def no_time(case, results):
    """A whole number, or None."""
    (got,) = results
    if got is None or (isinstance(got, int | float) and not isinstance(got, bool) and float(got).is_integer()):
        return None
    return Finding(f"it returned {short(got)}.", "Return a whole number, or None.")


def time_seen(case, results, right):
    (got,), (want,) = results, right
    return f"it returned {got}; right is {want}."


def number(result):
    """A time as an int: NumPy's and whole floats are as good."""
    return None if result is None else int(result)


# Response time -------------------------------------------------------------------------------------------------------


def jobs(w, T, J):
    return -(-(w + J) // T)


def response(C, D, above, B, released=jobs, steps=10**6, strict=False):
    """The smallest window that is enough; or that of somebody who counts other jobs, stops early, or wants R < D."""
    R, longer = 0, C + B
    while R < longer <= D and steps:
        R, longer, steps = longer, C + B + sum(released(longer, T, J) * each for each, T, J in above), steps - 1
    return longer if longer < D or (longer == D and not strict) else None


def responding(**other):
    return lambda *given: response(*given, **other)


def some_task(rng):
    above = []
    for _ in range(int(rng.integers(1, 5))):
        T = int(rng.integers(6, 40))
        above.append((int(rng.integers(1, max(2, T // 5))), T, int(rng.integers(0, T))))
    return int(rng.integers(1, 8)), int(rng.integers(30, 90)), above, int(rng.integers(0, 6))


TASKS = [
    (2, 12, [(2, 5, 0), (1, 7, 3)], 1),
    (5, 20, [(3, 7, 0), (3, 12, 0)], 0),  # R = D
    (5, 19, [(3, 7, 0), (3, 12, 0)], 0),
    (4, 50, [(2, 6, 0), (3, 13, 0)], 5),
    (4, 60, [(2, 6, 4), (3, 13, 10)], 0),
    (3, 30, [], 2),
    (3, 4, [], 2),
    (2, 40, [(3, 5, 0), (2, 5, 0)], 0),  # no time is left
    (1, 9, [(1, 4, 3), (1, 4, 0)], 0),
    (3, 40, [(2, 8, 20)], 0),  # jitter above the period
    (6, 30, [(1, 4, 0), (1, 9, 0)], 0),
]

worst_response = Exercise(
    cases=inputs.calls(
        *TASKS,
        some_task,
        some_task,
        some_task,
        some_task,
        (800_000, 50_000_000, [(350_000, 1_000_000, 20_000), (900_001, 3_000_000, 1), (5_000_000, 20_000_000, 0)], 777),
        names="C D above B",
    ),
    checks=[
        Returns(
            response,
            [
                (
                    responding(released=lambda w, T, J: -(-w // T)),
                    "The jitter is not in the count. A job that was released late is followed by one in time: "
                    "ceil((R + J) / T) of them.",
                ),
                (
                    lambda C, D, above, B: response(C, D, above, 0),
                    "The blocking is missing: it is part of every window.",
                ),
                (
                    responding(released=lambda w, T, J: (w + J) // T),
                    "Jobs are rounded down. One that is released within the window counts whole: round up.",
                ),
                (
                    responding(released=lambda w, T, J: (w + J) // T + 1),
                    "A job that is released exactly when the window ends does not delay this task any more. How does "
                    "ceil differ from floor + 1?",
                ),
                (
                    responding(steps=1),
                    "That is one step. In the longer window there may be more jobs: go on until it does not grow.",
                ),
                (responding(steps=2), "After two steps the window may still grow. Go on until it stays the same."),
                (responding(strict=True), "A response exactly at the deadline is in time."),
                (
                    lambda C, D, above, B: (
                        response(C, 10**12 if response(C, D, above, B) is None else D, above, B)
                        if sum(Fraction(c, T) for c, T, _ in above) < 1
                        else None
                    ),
                    "That is beyond the deadline: then the answer is None.",
                ),
                (
                    lambda C, D, above, B: min(response(C, D, above, B) or D, D),
                    "A task that is late has no response time here: return None.",
                ),
                (
                    lambda C, D, above, B: C + B + sum(jobs(D, T, J) * c for c, T, J in above),
                    "That is the work in a window as long as the deadline. The task is done earlier: the smallest "
                    "window that is enough is asked for.",
                ),
            ],
            otherwise="Begin with a window of C + B. Put in what the tasks above release in it, and look again, until "
            "the window does not grow any more. Is it longer than D by then?",
            seen=time_seen,
            form=no_time,
            read=number,
            could=so_far(TASKS, lambda got, given: got == response(*given)),
        )
    ],
    endings={"cpu": "The loop does not end: once the window is longer than D, the answer is known."},
    hints=[
        "Draw the example: 1 of blocking, 2 + 1 of the tasks above, and then? When is the first one released again?",
        "R = C + B + sum of ceil((R + J) / T) C_j has R on both sides. Begin with C + B, put it in on the right, and "
        "repeat with what comes out.",
        "The window only grows. Stop when it stays the same, or is above D. -(-(R + J) // T) is ceil in whole numbers.",
    ],
)


# Demand --------------------------------------------------------------------------------------------------------------


def demand(tasks, t):
    return sum(max(0, (t - D) // T + 1) * C for C, T, D in tasks)


def horizon(tasks):
    """From there on no interval demands too much."""
    U = sum(Fraction(C, T) for C, T, _ in tasks)
    return math.floor(sum(Fraction(C, T) * max(0, T - D) for C, T, D in tasks) / (1 - U))


def early_horizon(tasks):
    """As if a deadline above its period made the limit shorter."""
    U = sum(Fraction(C, T) for C, T, _ in tasks)
    return max(0, math.floor(sum(Fraction(C, T) * (T - D) for C, T, D in tasks) / (1 - U)))


def overload(tasks, work=demand, end=horizon, strict=True):
    """The first end of a deadline with too much work; or that of somebody who counts other work, or stops early."""
    points = {t for _, T, D in tasks for t in range(D, end(tasks) + 1, T)}
    return next((t for t in sorted(points) if work(tasks, t) > t or (not strict and work(tasks, t) == t)), None)


def demanding(**other):
    return lambda tasks: overload(tasks, **other)


def some_demand(rng):
    tasks = []
    for _ in range(int(rng.integers(2, 5))):
        T = int(rng.integers(8, 30))
        tasks.append((int(rng.integers(1, T // 4 + 1)), T, int(rng.integers(3, T + 6))))
    while sum(Fraction(C, T) for C, T, _ in tasks) >= 1:
        tasks.pop()
    return (tasks,)


SETS = [
    ([(2, 5, 4), (3, 8, 6), (2, 20, 6)],),
    ([(2, 5, 4), (3, 8, 6), (2, 20, 12)],),
    ([(3, 6, 5), (2, 8, 4), (3, 15, 10)],),
    ([(3, 8, 3), (3, 9, 6), (2, 24, 24)],),
    ([(2, 6, 2), (4, 9, 6)],),  # in the beginning all is full, and not too much
    ([(4, 10, 4), (2, 7, 9), (4, 15, 30)],),
    ([(4, 10, 4), (4, 9, 13)],),
    ([(3, 7, 7), (4, 9, 9)],),
    ([(5, 9, 4)],),
    ([(2, 9, 1)],),
    ([(1, 6, 20), (5, 10, 5), (2, 7, 7)],),
    ([(3, 11, 4), (3, 13, 5), (1, 5, 13)],),  # nothing of the third is due yet
    ([(3, 7, 5), (3, 9, 5), (1, 5, 30)],),  # nor here, and it makes no limit shorter
    ([(3, 10, 20), (5, 12, 6), (3, 12, 11)],),
    ([(4, 10, 5), (4, 11, 8), (3, 17, 14)],),
    ([(3, 11, 5), (5, 13, 9), (7, 22, 21)],),
    ([(5, 15, 8), (2, 6, 5), (6, 19, 19)],),
]
HUGE = [
    (2_000_003, 10_000_019, 9_000_000),
    (4_000_000, 15_000_017, 12_000_000),
    (9_000_000, 33_000_001, 31_000_000),
    (13_000_000, 100_000_007, 60_000_000),
]


def latest(tasks):
    return max(D for _, _, D in tasks)


too_much_demand = Exercise(
    cases=inputs.calls(
        *SETS,
        some_demand,
        some_demand,
        some_demand,
        some_demand,
        some_demand,
        (HUGE,),
        ([*HUGE, (6_000_000, 90_000_000, 31_000_000)],),
        names="tasks",
    ),
    checks=[
        Returns(
            overload,
            [
                (
                    demanding(work=lambda tasks, t: sum(max(0, (t - D) // T) * C for C, T, D in tasks)),
                    "Nothing is ever too much in that. A job counts if it is due by t: within an interval of length D "
                    "there is one already, and after each T one more.",
                ),
                (
                    demanding(work=lambda tasks, t: sum(-(-t // T) * C for C, T, _ in tasks)),
                    "That is the work that is released within t. What of it is due only later need not be done by t.",
                ),
                (
                    demanding(work=lambda tasks, t: sum(((t - D) // T + 1) * C for C, T, D in tasks)),
                    "Some task has a negative number of jobs in that: one whose first deadline is far behind t has "
                    "none.",
                ),
                (
                    demanding(end=early_horizon),
                    "The limit is too short where a deadline is above its period: such a task has up to C / T t, so it "
                    "adds nothing to the limit, and takes nothing from it.",
                ),
                (
                    lambda tasks: None if overload(tasks) is None else demand(tasks, overload(tasks)),
                    "That is the demand. Asked for is the length of the interval.",
                ),
                (demanding(strict=False), "Demand that just fits is no overload: at most t is allowed."),
                (
                    demanding(end=latest),
                    "The intervals go up to the largest deadline in that. Later ones can demand too much, too, if "
                    "several jobs of one task are due in them.",
                ),
                (
                    lambda tasks: max(
                        (t for _, T, D in tasks for t in range(D, horizon(tasks) + 1, T) if demand(tasks, t) > t),
                        default=None,
                    ),
                    "That is the longest such interval that was tried. Asked for is the shortest.",
                ),
            ],
            otherwise="Count for an interval of t the jobs of each task that are released at 0, T, 2 T, ... and "
            "due by t. "
            "In which order are intervals tried, and up to which?",
            seen=time_seen,
            form=no_time,
            read=number,
            could=so_far(SETS, lambda got, given: got == overload(*given)),
        )
    ],
    endings={
        "cpu": "Too many intervals are tried. Demand jumps only where a deadline ends, and from some t on it stays "
        "below "
        "t: where does C / T max(0, T - D), summed, plus U t reach t?",
        "ZeroDivision": "U is a sum of shares: in floating point it may come out as 1. Fractions are exact.",
        "memory": "Not all these numbers are needed. Up to which t can demand be too much?",
    },
    hints=[
        "A task has floor((t - D) / T) + 1 jobs that are released and due within t; none if t is below D.",
        "Only t = D, D + T, D + 2 T, ... of some task need be tried, the smallest first.",
        "With U the sum of C / T, nothing can be wrong from t = (sum of C / T max(0, T - D)) / (1 - U) on.",
    ],
)


# The age of data -----------------------------------------------------------------------------------------------------


def newest(chain, release):
    """When the data was read that the last task's job of this release works on."""
    for T, start_at, R in reversed(chain[:-1]):
        release = start_at + (release - start_at - R) // T * T
    return release


def ages(chain, read=newest):
    (T, start_at, R), H = chain[-1], math.lcm(*(T for T, _, _ in chain))
    return [first + R + T - read(chain, first) for first in range(start_at, start_at + H, T)]


def oldest(chain):
    return max(ages(chain))


def reading(find):
    """What somebody returns who takes another job of the task before, by find(release, T, O, R)."""

    def read(chain, release):
        for task in reversed(chain[:-1]):
            release = find(release, *task)
        return release

    return lambda chain: max(ages(chain, read))


def some_chain(rng):
    tasks = []
    for _ in range(int(rng.integers(2, 5))):
        T = int(rng.choice([4, 5, 6, 10, 12, 15, 20]))
        tasks.append((T, int(rng.integers(0, T)), int(rng.integers(1, T + 1))))
    return (tasks,)


CHAINS = [
    ([(6, 3, 5), (10, 5, 2)],),
    ([(5, 1, 4), (10, 2, 7), (6, 5, 3)],),
    ([(10, 0, 4), (5, 2, 1)],),
    ([(10, 0, 4)],),
    ([(10, 0, 4), (10, 4, 3), (10, 7, 2)],),  # each as soon as the one before is done
    ([(10, 0, 4), (10, 3, 3), (10, 5, 2)],),  # each just too early
    ([(100, 0, 50), (100, 40, 30), (20, 10, 10)],),
    ([(5, 0, 2), (12, 1, 12)],),
    ([(4, 3, 4), (6, 0, 5), (10, 9, 1)],),
    ([(7, 0, 1), (5, 25, 3)],),
    ([(3, 0, 3), (20, 5, 9), (4, 2, 2)],),
]

oldest_data = Exercise(
    cases=inputs.calls(
        *CHAINS,
        some_chain,
        some_chain,
        some_chain,
        some_chain,
        ([(33_000, 1_000, 21_000), (50_000, 0, 30_000), (10_000, 500, 2_000)],),
        names="chain",
    ),
    checks=[
        numbers.Number(
            oldest,
            slips=[
                (
                    lambda chain: sum(R for _, _, R in chain),
                    "That is the sum of the response times. Each task also "
                    "waits for its next release, and an output stays for a while.",
                ),
                (
                    lambda chain: max(ages(chain)) - chain[-1][0],
                    "That is the age when the output is written. It is used until the next one replaces it.",
                ),
                (
                    lambda chain: sum(T + R for T, _, R in chain),
                    "That is the bound for any offsets. These offsets are known: follow the data of each output.",
                ),
                (
                    lambda chain: ages(chain)[0],
                    "That is one output. The next ones may rest on older data: look at all until everything repeats.",
                ),
                (lambda chain: min(ages(chain)), "That is the least. Asked for is the oldest."),
                (
                    reading(lambda t, T, start_at, R: start_at + (t - start_at) // T * T),
                    "As if a task wrote when it is released. What is read must have been written by then: R later.",
                ),
                (
                    reading(
                        lambda t, T, start_at, R: (
                            start_at
                            + ((t - start_at - R) // T if (t - start_at - R) % T else (t - start_at - R) // T - 1) * T
                        )
                    ),
                    "What is written at t can be read at t.",
                ),
                (
                    reading(lambda t, T, start_at, R: (t - R) // T * T),
                    "The offsets of the tasks before the last one are missing.",
                ),
                (
                    reading(lambda t, T, start_at, R: start_at + max(0, (t - start_at - R) // T) * T),
                    "Each task has run for ever: it was released at O - T, too, and at what came before. That job may "
                    "be the newest that has written.",
                ),
                (
                    lambda chain: max(
                        first + R + T - (newest(chain, first) + chain[0][2] * (len(chain) > 1))
                        for T, start_at, R in chain[-1:]
                        for first in range(start_at, start_at + math.lcm(*(T for T, _, _ in chain)), T)
                    ),
                    "The age counts from when the sensor was read, which is when the first task is released. When it "
                    "has written, that is R ago.",
                ),
            ],
            otherwise="Take one job of the last task, and go backwards: which job of the task before had written last "
            "when it was released? And so on, to the sensor. When is its output replaced?",
        )
    ],
    endings={"cpu": "Everything repeats after the common multiple of the periods, math.lcm: so many jobs are enough."},
    hints=[
        "Draw the example: releases of the first task at 0, 10, 20 and what it writes at 4, 14, 24; releases of the "
        "second "
        "one at 2, 7, 12, 17.",
        "The newest job of a task that has written by t was released at O + k T with the largest k for which "
        "O + k T + R <= t.",
        "k = (t - O - R) // T. From the last task's release r go through the tasks before, each time with t = its "
        "release. Then r + R + T less the first release is the age.",
    ],
)


# Room for execution --------------------------------------------------------------------------------------------------


def room(D, above, slice_ms, below, reserve, windows=None):
    """The largest own time for which a window within D is enough; or that of somebody who tries other windows."""
    blocked = slice_ms if below else 0
    ends = windows(D, above) if windows else {D, *(t for _, T in above for t in range(T, D, T))}
    return max(0, max(t - blocked - sum(-(-t // T) * C for C, T in above) for t in ends)) * (1 - reserve)


def having(**other):
    """What somebody returns who has other arguments in mind."""

    def answer(D, above, slice_ms, below, reserve):
        return room(**{"D": D, "above": above, "slice_ms": slice_ms, "below": below, "reserve": reserve, **other})

    return answer


def some_room(rng):
    above = [(int(rng.integers(1, 4)), int(rng.integers(8, 30))) for _ in range(int(rng.integers(0, 4)))]
    reserve = float(rng.choice([0.0, 0.2, 0.25]))
    return int(rng.integers(10, 60)), above, int(rng.integers(1, 11)), bool(rng.integers(2)), reserve


room_for_execution = Exercise(
    cases=inputs.calls(
        (30, [], 10, True, 0.0),
        (30, [], 10, True, 0.25),
        (10, [], 10, False, 0.2),
        (10, [], 10, True, 0.2),
        (30, [(2, 10)], 5, True, 0.0),
        (50, [(4, 12), (3, 20)], 10, False, 0.2),
        (26, [(5, 8)], 1, True, 0.0),  # the window of 24 has more room than that of 26
        (31, [(6, 10), (1, 15)], 1, False, 0.25),
        (20, [(4, 7), (5, 9)], 5, True, 0.2),  # nothing is left
        (24, [(3, 8)], 2, True, 0.0),
        (12, [(3, 40)], 10, True, 0.5),
        some_room,
        some_room,
        some_room,
        some_room,
        (1_000_000, [(2_000, 10_000), (30_000, 100_000)], 1_000, True, 0.2),
        names="D above slice_ms below reserve",
    ),
    checks=[
        numbers.Number(
            room,
            slips=[
                (
                    having(reserve=0),
                    "The reserve is missing: of the largest time it stays free.",
                ),
                (
                    lambda D, above, slice_ms, below, reserve: max(0, room(D, above, slice_ms, below, 0) - reserve * D),
                    "The reserve is a share of the largest time, not of the deadline.",
                ),
                (
                    having(slice_ms=0),
                    "The slice is missing: a task of lower priority that has just begun one keeps the device.",
                ),
                (
                    having(below=True),
                    "Without a task of lower priority nobody is in a slice that this one waits for.",
                ),
                (
                    having(above=[]),
                    "The tasks above are missing: each takes ceil(R / T) C of the window.",
                ),
                (
                    having(windows=lambda D, above: {D}),
                    "That is what the window of length D leaves. A job that is released shortly before D takes all of "
                    "its C from that window, and does not delay a task that is done before. Are there shorter windows "
                    "with more room?",
                ),
                (
                    lambda D, above, slice_ms, below, reserve: (
                        max(0, D - (slice_ms if below else 0) - sum(D // T * C for C, T in above)) * (1 - reserve)
                    ),
                    "Jobs are rounded down. One that is released within the window may take all of its C: round up.",
                ),
                (
                    lambda D, above, slice_ms, below, reserve: (
                        max(0, D - (slice_ms if below else 0) - sum(D / T * C for C, T in above)) * (1 - reserve)
                    ),
                    "D / T jobs are an average. In the worst window whole jobs are released: round up.",
                ),
                (
                    lambda D, above, slice_ms, below, reserve: (
                        max(
                            t - (slice_ms if below else 0) - sum(-(-t // T) * C for C, T in above)
                            for t in {D, *(t for _, T in above for t in range(T, D, T))}
                        )
                        * (1 - reserve)
                    ),
                    "Nobody computes for less than no time: return 0 then.",
                ),
            ],
            otherwise="For one C you can compute R. The largest C for which it is within D is asked for; then take the "
            "reserve off it.",
            unit="ms",
        )
    ],
    endings={
        "cpu": "Not each C need be tried: halve, or ask how much each window of length t leaves to the task.",
        "max()": "There is always the window of length D.",
    },
    hints=[
        "With nobody above, R is a slice and C. What may C be?",
        "R <= D means: in some window of length t <= D there is room for the slice, C, and ceil(t / T) C of each task "
        "above. How much does a window of length t leave?",
        "t - slice - sum of ceil(t / T) C, the largest for t = D and all multiples of periods below D; not below 0; "
        "times 1 - reserve.",
    ],
)

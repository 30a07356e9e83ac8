"""Level 5 of chapter 14, speed up: which level each task works at, so that all deadlines are met."""

import itertools
import math
from fractions import Fraction

from exercises.grading import Exercise, Finding, inputs
from exercises.grading.numbers import listed, short
from exercises.grading.returns import Returns, so_far

LOADS = 1000  # the periods divide it, so each share is a whole number of thousandths


def share(task, level):
    return task[1][level][0] * (LOADS // task[0])


def load(tasks, chosen):
    return sum(share(task, level) for task, level in zip(tasks, chosen))


def worth(tasks, chosen):
    return sum(task[1][level][1] for task, level in zip(tasks, chosen))


def most(tasks):
    """The largest value, or None: task by task, the best value of each load."""
    best = {0: 0}
    for task in tasks:
        found = {}
        for before, value in best.items():
            for level, (_, more) in enumerate(task[1]):
                after = before + share(task, level)
                if after <= LOADS:
                    found[after] = max(found.get(after, 0), value + more)
        best = found
    return max(best.values(), default=None)


def every(tasks, price, room=LOADS):
    """The best of all choices by price(tasks, chosen); for few tasks."""
    if math.prod(len(levels) for _, levels in tasks) > 3000:
        raise ValueError("too many choices to try them all")
    choices = itertools.product(*(range(len(levels)) for _, levels in tasks))
    allowed = [list(chosen) for chosen in choices if load(tasks, chosen) <= room]
    return max(allowed, key=lambda chosen: price(tasks, chosen), default=None)


def right_choice(tasks):
    """A choice that is worth most; of many tasks, something that says whether there is one."""
    try:
        return every(tasks, worth)
    except ValueError:
        return [] if most(tasks) is not None else None


def downwards(key):
    """Begin with what is worth most of each task, and go down a level where key(value lost, share won) is least."""

    def answer(tasks):
        chosen = [max(range(len(levels)), key=lambda i: levels[i][1]) for _, levels in tasks]
        while load(tasks, chosen) > LOADS:
            steps = []
            for place, (task, now) in enumerate(zip(tasks, chosen)):
                for level in range(len(task[1])):
                    won, lost = share(task, now) - share(task, level), task[1][now][1] - task[1][level][1]
                    if won > 0:
                        steps.append((key(lost, won), place, level))
            if not steps:
                return None
            _, place, level = min(steps)
            chosen[place] = level
        return chosen

    return answer


def liu_layland(tasks):
    """As if the bound for rate-monotonic priorities held for EDF, too."""
    n = len(tasks)
    return every(tasks, worth, n * (2 ** (1 / n) - 1) * LOADS)


def as_good(got, tasks):
    if got is None:
        return most(tasks) is None
    fine = isinstance(got, list) and len(got) == len(tasks) and most(tasks) is not None
    return fine and load(tasks, got) <= LOADS and worth(tasks, got) == most(tasks)


def no_levels(case, results):
    """A level for each task that fits together with the others, or None."""
    (got,), ((tasks,),) = listed(results), case.arguments
    if got is None:
        return None
    fine = isinstance(got, list) and len(got) == len(tasks) and all(type(level) is int for level in got)
    if not fine or any(not 0 <= level < len(levels) for level, (_, levels) in zip(got, tasks)):
        return Finding(f"it returned {short(got)}.", "Return a list with the number of a level for each task, or None.")
    if load(tasks, got) > LOADS:
        U = Fraction(load(tasks, got), LOADS)
        return Finding(
            f"{short(got)} has a utilisation of {float(U):.3f}.",
            "The shares C / T add up to more than one processor: some deadline is missed.",
        )
    return None


def seen(case, results, right):
    (got,), ((tasks,),) = results, case.arguments
    if got is None:
        return f"it returned None; there is a choice worth {most(tasks):,}."
    return f"the choice is worth {worth(tasks, got):,}; {most(tasks):,} is possible."


CARS = [
    ([(10, [(2, 4)]), (20, [(4, 3), (8, 9)]), (50, [(0, 0), (20, 6)])],),
    ([(10, [(6, 10), (3, 6)]), (20, [(10, 9), (6, 7), (2, 1)]), (50, [(20, 8), (5, 2)])],),
    ([(10, [(5, 5)]), (20, [(12, 4), (11, 2)])],),  # nothing fits
    ([(4, [(2, 3)]), (8, [(4, 5)])],),  # just fits
    ([(100, [(0, 0), (60, 60), (50, 45)]), (100, [(0, 0), (50, 45), (10, 1)])],),
    ([(100, [(51, 70), (0, 0)]), (100, [(50, 48), (0, 0)]), (100, [(50, 48), (0, 0)])],),
    ([(1000, [(300, 5), (200, 5)]), (10, [(1, 1), (8, 6)]), (5, [(2, 3), (1, 2)])],),
    ([(20, [(11, 2), (9, 8), (4, 1)]), (25, [(10, 9), (14, 11)]), (40, [(6, 3), (1, 1)])],),
    ([(8, [(1, 0)]), (10, [(2, 0), (1, 0)])],),
    ([(10, [(3, 1), (10, 5)])],),  # one task fills it
    ([(2, [(0, 0), (1, 2)]), (1, [(1, 9), (0, 0)])],),
]


def some_car(n, levels=3):
    def draw(rng):
        tasks = []
        for _ in range(n):
            T = int(rng.choice([4, 5, 8, 10, 20, 25, 40, 50, 100]))
            shares = rng.integers(0, max(2, 2 * T * 100 // (n * 100)), levels)
            tasks.append((T, [(int(C), int(C * 20 / T + rng.integers(0, 9))) for C in shares]))
        return (tasks,)

    return draw


def large(n):
    """Tasks of small shares, so that many together fill the processor."""
    return [(1000, [(k + 3 + i * 7 % 11, k * (5 + i % 4) + i % 3) for k in (0, 4, 9, 15)]) for i in range(n)]


shed_load = Exercise(
    cases=inputs.calls(
        *CARS,
        some_car(3),
        some_car(4),
        some_car(4),
        some_car(5),
        some_car(5),
        (large(80),),
        names="tasks",
    ),
    checks=[
        Returns(
            right_choice,
            [
                (lambda tasks: None, "None is for tasks that do not fit even if each takes as little as it can."),
                (
                    lambda tasks: every(tasks, lambda tasks, chosen: -load(tasks, chosen)),
                    "That is the least load. What fits and is worth more is better.",
                ),
                (
                    lambda tasks: every(tasks, load),
                    "That fills the processor as much as possible. What counts is the value.",
                ),
                (
                    liu_layland,
                    "The bound of Liu and Layland is for rate-monotonic priorities. Earliest deadline first can use "
                    "the whole processor.",
                ),
                (
                    lambda tasks: every(tasks, worth, LOADS - 1),
                    "A utilisation of exactly 1 is allowed.",
                ),
                (
                    downwards(lambda lost, won: lost / won),
                    "What costs least value for each share of the processor was given up first. The last step may free "
                    "more than is needed, and another choice would have used it.",
                ),
                (
                    downwards(lambda lost, won: lost),
                    "What costs least value was given up first, however little it frees.",
                ),
                (
                    downwards(lambda lost, won: -won),
                    "What frees most was given up first, however much it is worth.",
                ),
            ],
            otherwise="For the first tasks alone: what is the best value for each load that they can have "
            "together? How "
            "does one more task change this table?",
            seen=seen,
            form=no_levels,
            read=listed,
            accepts=as_good,
            could=so_far(CARS, lambda chosen, given: as_good(chosen, *given)),
        )
    ],
    endings={
        "cpu": "There are 4^80 choices. Two of them with the same load so far have the same future: keep the better "
        "one.",
        "memory": "Two choices with the same load so far have the same future: keep the better one only.",
    },
    hints=[
        "With H the common multiple of the periods, a level takes C H / T of H: a whole number.",
        "Note for each load the largest value that the first k tasks can have with it. Task k + 1 makes a new table "
        "from "
        "it: each load, with each of its levels.",
        "Note which level made each entry, and follow the entries back from the best one.",
    ],
)

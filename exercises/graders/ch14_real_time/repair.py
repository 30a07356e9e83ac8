"""Level 4 of chapter 14, repair: a scheduler with locks and priority inheritance."""

from exercises.grading import Exercise, Finding, inputs
from exercises.grading.numbers import short
from exercises.grading.returns import Returns, so_far


def run(tasks, inherits=True, keeps=False, late=0, waits=True, forever=False):
    """Who runs in each ms; or under somebody's scheduler, who forgets something.

    keeps: locks are given back at the end of the job; late: ms until a release counts; waits: who needs a lock that is
    taken waits; forever: who has inherited a priority keeps it.
    """
    left, rank = {name: body for name, _, body in tasks}, {task[0]: place for place, task in enumerate(tasks)}
    holders, log, own = {}, "", dict(rank)
    while any(left.values()) and len(log) < 2000:
        ready = [name for name, release, _ in tasks if release + late <= len(log) and left[name]]
        if not ready:
            log += "."
            continue
        key = own if forever else dict(rank)
        held = {name: holders.get(left[name][0], name) for name in ready}
        for name in ready if inherits else ():
            key[held[name]] = min(key[held[name]], rank[name])
        who = min((name for name in ready if held[name] == name or not waits), key=key.__getitem__)
        log += who
        lock, left[who] = left[who][0], left[who][1:]
        if lock != ".":
            holders[lock] = who
        if not left[who] or (left[who][0] != lock and not keeps):
            holders = {each: owner for each, owner in holders.items() if owner != who}
    return log


def running(**other):
    return lambda tasks: run(tasks, **other)


def no_string(case, results):
    (got,) = results
    return None if isinstance(got, str) else Finding(f"it returned {short(got)}.", "Return a string.")


def seen(case, results, right):
    (got,), (want,) = results, right
    t = next((t for t, (one, other) in enumerate(zip(got, want)) if one != other), min(len(got), len(want)))
    runs = [f'"{log[t]}"' if t < len(log) else "nobody, it has ended" for log in (got, want)]
    return f"it returned {got[:60]!r}; in millisecond {t} runs {runs[0]}, right is {runs[1]}."


SEEN = [
    ([("H", 2, ".mm"), ("M", 3, "....."), ("L", 0, ".mmmm.")],),
    ([("H", 2, ".mm."), ("L", 0, "..")],),
    ([("H", 4, "m"), ("M", 3, ".."), ("L", 0, ".m...m")],),  # given back in between
    ([("H", 3, "mm"), ("M", 3, ".."), ("L", 0, "mmmmmm")],),
    ([("H", 6, "m."), ("L", 1, "m.")],),  # nobody in between
    ([("A", 3, "m"), ("B", 2, "..n."), ("C", 1, "...."), ("D", 0, "mmmnn.")],),
    ([("A", 4, "n"), ("B", 2, "m.."), ("C", 3, "..."), ("D", 0, "mmmmnnn")],),
    ([("A", 2, "m"), ("B", 1, "mmm"), ("C", 4, ".."), ("D", 0, "mmmm..")],),
    ([("A", 5, "mn"), ("B", 3, "nn"), ("C", 4, "..."), ("D", 0, ".nnn"), ("E", 0, "mmmmmm.")],),
    ([("H", 1, "nn"), ("L", 0, "mnm")],),
    ([("H", 2, "..")],),  # alone, and nobody is there before
]


def some_jobs(rng):
    tasks = []
    for name in "ABCDE"[: int(rng.integers(3, 6))]:
        parts = (str(rng.choice([".", "m", "n"])) * int(rng.integers(1, 4)) for _ in range(int(rng.integers(1, 5))))
        tasks.append((name, int(rng.integers(0, 9)), "".join(parts)))
    return (tasks,)


who_runs = Exercise(
    cases=inputs.calls(*SEEN, *[some_jobs] * 8, names="tasks"),
    checks=[
        Returns(
            run,
            [
                (
                    running(inherits=False, keeps=True, late=1),
                    "Look at the first millisecond in which it differs: who was released by then, who waits for whom, "
                    "and is the lock still held?",
                ),
                (
                    running(inherits=False),
                    "A middle task runs while a high one waits for a low one: give the holder of the lock the priority "
                    "of the highest one who waits for it.",
                ),
                (
                    running(keeps=True),
                    "A lock is given back when its milliseconds in a row end, not when the job ends.",
                ),
                (running(late=1), "A job that is released at t may run in millisecond t. How long is the log then?"),
                (
                    running(inherits=False, keeps=True),
                    "Who waits for whom is right in part: a lock is given back too late, and a priority is missing.",
                ),
                (
                    running(inherits=False, late=1),
                    "Two of three: a release counts too late, and a priority is missing.",
                ),
                (
                    running(keeps=True, late=1),
                    "Two of three: a release counts too late, and a lock is given back too late.",
                ),
                (
                    running(waits=False),
                    "A job runs with a lock that another one holds. It has to wait.",
                ),
                (
                    running(forever=True),
                    "A priority that was inherited is lost when the lock is given back. Compute it anew in each "
                    "millisecond.",
                ),
            ],
            otherwise="In the first millisecond that differs: who is released, what is the next letter of each, who "
            "holds that lock, and which priority does the holder have?",
            seen=seen,
            form=no_string,
            could=so_far(SEEN, lambda log, given: log == run(*given)),
        )
    ],
    endings={
        "cpu": "The loop does not end. Does each job get shorter when it runs?",
        "KeyError": "The holder of a lock is not among the jobs that can run: was the lock given back too late?",
        "empty": "Nobody can run: all wait for a lock of a job that is past its section. When is it given back?",
    },
    hints=[
        "Play the first input by hand: L runs twice, then H is released and needs no lock for one millisecond. Then?",
        "The mistakes are in three lines: which jobs are released, by which priority the minimum is taken, and when a "
        "lock is given back.",
        "release <= len(log); a key for each job that starts as its rank, and is lowered to the rank of whoever "
        "waits for "
        "a lock that it holds; a lock goes back when the next letter is another one.",
    ],
)

"""Solutions of chapter 14. Each docstring says why it works; it is shown once the exercise is solved."""

import math
from fractions import Fraction

# Level 1: predict --------------------------------------------------------------------------------------------------


def which_proof():
    """Three questions, the cheapest first. Is U above 1? Then nobody can. Is it within the bound? Then all is well.
    Only in between must one compute: R of each task, until one is beyond its period or all are known.

    The bound falls with the number of tasks, so 0.8 is enough for two tasks (E) and too much for three. G uses 98 % of
    the processor and is in time; C uses 94 % and is not. So above the bound utilisation says nothing. EDF needs U <= 1
    and no more, if deadlines are periods. Follow-up: change one period of H so that rate-monotonic priorities do.
    """
    return {"A": "bound", "B": "exact", "C": "EDF", "D": "nobody", "E": "bound", "F": "exact", "G": "exact", "H": "EDF"}


def late_or_wrong(part, p, c, n):
    """The vote is lost by the common cause, or, without it, by two or three that are wrong independently. With
    p = 0.001 the second is 3e-6. A tenth of common causes adds 1e-4, and is all that counts.

    Six stages at 99 % are all in time in 94 % of the runs, if they are independent. If nothing is known, 6 % may be
    late at worst: each has its own bad percent. So a 99th percentile of a chain is not the sum of 99th percentiles, and
    nobody knows it without the joint distribution. Follow-up: which measurement would tell you c?
    """
    if part == "vote":
        q = (1 - c) * p
        return c * p + (1 - c * p) * (3 * q * q * (1 - q) + q**3)
    return 1 - (1 - p) ** n if part == "chain" else min(1, n * p)


# Level 2: fill in --------------------------------------------------------------------------------------------------


def priorities_of_kernels(tasks):
    """Whether a task bears the lowest priority depends on who is above it, and not on their order. So whoever bears it
    may have it: if there is an order at all, moving this task to its end hurts nobody. Whoever was below it waits for
    one task less, and is blocked by no more than that task's C.

    At most n (n + 1) / 2 tests replace n! orders. For kernels the order of the deadlines is not always one that works,
    as it is for tasks that can be interrupted: a kernel that runs is safe from all that come later, so a long one may
    bear a lower place than its deadline says. Follow-up: several may bear the lowest place. Which of them would you
    take, if execution times are not quite certain?
    """

    def in_time(name, above, below):
        C, _, D = tasks[name]
        blocked = max([C, *(tasks[each][0] for each in below)])
        W, longer = -1, blocked
        while W < longer <= D:
            W = longer
            longer = blocked + sum((W // tasks[each][1] + 1) * tasks[each][0] for each in above)
        return longer + C <= D

    above, below = list(tasks), []
    while above:
        for name in above:
            others = [each for each in above if each != name]
            if in_time(name, others, below):
                break
        else:
            return None
        above, below = others, [name, *below]
    return below


# Level 3: write ----------------------------------------------------------------------------------------------------


def worst_response(C, D, above, B):
    """The work in a window never falls when the window grows. So begin with a window that is too small, and make it as
    long as the work in it, until it is enough. The first one that is enough is the smallest.

    Jitter lets one more job into the window: the one that came late at its beginning, and is followed by one in time.
    Blocking counts once, however many tasks are below: it happens before the task begins. Follow-up: which utilisation
    of the tasks above makes this loop take many steps?
    """
    R, longer = 0, C + B
    while R < longer <= D:
        R = longer
        longer = C + B + sum(-(-(R + J) // T) * each for each, T, J in above)
    return longer if longer <= D else None


def too_much_demand(tasks):
    """Demand jumps where a deadline ends and nowhere else, so only these t are tried, in their order. It is at most
    U t + sum of C / T max(0, T - D): where this is t or less, nothing can be wrong any more. That is from
    sum of C / T max(0, T - D) over 1 - U on.

    As U comes near 1, this limit grows without end. In fractions U is exact; in floating point, 1 - U may come out as
    0 or below. Follow-up: QPA goes from the end backwards and skips most t. How far may it jump, if the demand of t is
    h below t?
    """
    U = sum(Fraction(C, T) for C, T, _ in tasks)
    end = sum(Fraction(C, T) * max(0, T - D) for C, T, D in tasks) / (1 - U)
    points = {t for _, T, D in tasks for t in range(D, math.floor(end) + 1, T)}
    for t in sorted(points):
        if sum(max(0, (t - D) // T + 1) * C for C, T, D in tasks) > t:
            return t
    return None


def oldest_data(chain):
    """Go backwards from each job of the last task: the newest job of the task before that had written by then, and so
    on to the sensor. Everything repeats after the common multiple of the periods, so that many jobs are enough.

    An output is oldest just before it is replaced, which adds a whole period of the last task. The sum of all T + R is
    never passed, and reached only if the offsets are as bad as they can be. Follow-up: which offsets make it least, and
    what would an operating system have to promise for them to stay so?
    """
    oldest, (T, start_at, R) = 0, chain[-1]
    for first in range(start_at, start_at + math.lcm(*(T for T, _, _ in chain)), T):
        read = first
        for period, offset, response in reversed(chain[:-1]):
            read = offset + (read - offset - response) // period * period
        oldest = max(oldest, first + R + T - read)
    return oldest


def room_for_execution(D, above, slice_ms, below, reserve):
    """R <= D says that some window of length t <= D holds everything: blocking, own time, and the tasks above. So the
    own time may be what such a window has left. It is largest just before a release of a task above, or at D itself.

    Alone, the robot's control may take 8 ms with its reserve. Beside anybody else the slice of 10 ms takes all of its
    10 ms, and no execution time is possible. So the printed rules cannot be checked: they have no execution times, and
    for one of them none exists. Follow-up: how short must slices be, so that control may take 5 ms beside another task?
    """
    blocked = slice_ms if below else 0
    windows = {D, *(t for _, T in above for t in range(T, D, T))}
    room = max(t - blocked - sum(-(-t // T) * C for C, T in above) for t in windows)
    return max(0, room) * (1 - reserve)


# Level 4: repair ---------------------------------------------------------------------------------------------------


def who_runs(tasks):
    """The priority of a holder is the highest of its own and of all who wait for it. With this one line the middle task
    waits, the low one finishes its section, and the high one waits for one section and no longer. The other two: a job
    released at t runs at t, and a lock is given back when its section ends, not when the job does.

    Nobody holds two locks here, so who waits is never waited for; with nested locks the priority must be handed on, and
    there can be deadlocks, which inheritance does not prevent. Follow-up: under a priority ceiling, which of these
    strings would change?
    """
    rank = {name: place for place, (name, _, _) in enumerate(tasks)}
    left = {name: body for name, _, body in tasks}
    holder, log = {}, ""
    while any(left.values()):
        ready = [name for name, release, _ in tasks if release <= len(log) and left[name]]
        if not ready:
            log += "."
            continue
        key = {name: rank[name] for name in ready}
        for name in reversed(ready):
            owner = holder.get(left[name][0], name)
            key[owner] = min(key[owner], rank[name])
        free = [name for name in ready if holder.get(left[name][0], name) == name]
        who = min(free, key=key.get)
        lock = left[who][0]
        if lock != ".":
            holder[lock] = who
        left[who] = left[who][1:]
        if left[who][:1] != lock:
            holder.pop(lock, None)
        log += who
    return log


# Level 5: speed up -------------------------------------------------------------------------------------------------


def shed_load(tasks):
    """With H the common multiple of the periods, a level takes C H / T of H, a whole number. So note for each whole
    load the largest value that some choice for the first tasks has, and go on task by task: the past of a load does not
    matter to the future. 80 tasks, 4 levels and 1,000 loads are 320,000 steps in place of 4^80 choices.

    It is the knapsack problem with a choice in each group. Taking what gives most for each share of the processor is
    near, and may leave room that fits nothing. A controller on a car does not solve this at every frame: it takes the
    next worse row of a table when a deadline is near, and goes back only after a while, so that it does not swing.
    Follow-up: what would you compute beforehand, and what at run time?
    """
    H = math.lcm(*(T for T, _ in tasks))
    best = {0: (0, ())}
    for T, levels in tasks:
        found = {}
        for load, (value, chosen) in best.items():
            for level, (C, worth) in enumerate(levels):
                more = load + C * H // T
                if more <= H and (more not in found or value + worth > found[more][0]):
                    found[more] = value + worth, (chosen, level)
        best = found
    if not best:
        return None
    _, chosen = max(best.values(), key=lambda each: each[0])
    levels = []
    while chosen:
        chosen, level = chosen
        levels.append(level)
    return levels[::-1]

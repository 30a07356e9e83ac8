"""Chapter 14: real-time scheduling. Replace each `raise NotImplementedError` by your answer, then run:
pytest exercises/

The chapter's page is chapters/14_real_time.ipynb. The exercises come in five levels; do them in order or not, each
stands alone. Roughly: 1 predict (5 minutes each), 2 fill in (10), 3 write (15 to 30), 4 repair (15), 5 speed up (30).

Letters: C worst-case execution time, T period, D deadline (after the release), J jitter, R response time. Times are
whole numbers, in milliseconds unless the text says otherwise. There is one processor in each exercise.

Arguments stay as they are, and what is returned is memory of its own, unless the text says otherwise.
"""

import math

import numpy as np

# Level 1: predict --------------------------------------------------------------------------------------------------


def which_proof():
    """Return for each set of tasks A to H what is true of it: a dictionary such as {"A": "bound", "B": "nobody"}.

    "bound"   Its utilisation is within the bound of Liu and Layland for so many tasks, so it meets all deadlines.
    "exact"   It is above that bound, and rate-monotonic priorities meet all deadlines nevertheless.
    "EDF"     With rate-monotonic priorities a task is late, and earliest deadline first meets all deadlines.
    "nobody"  No scheduler meets all deadlines.

    A task is written as C/T, and its deadline is its period. All are released together at 0, and a task can be
    interrupted at any time. The bound is 0.828 for two tasks and 0.780 for three.

    A  1/4, 1/5, 2/10
    B  2/4, 2/8, 4/16
    C  3/6, 4/9
    D  2/6, 3/9, 4/11
    E  2/5, 4/10
    F  2/6, 2/8, 3/12
    G  1/2, 1/3, 1/7
    H  2/5, 2/7, 3/12

    Page: chapters/14_real_time.ipynb#a-bound-and-the-truth
    """
    raise NotImplementedError


def late_or_wrong(part, p, c, n):
    """Return a probability.

    part  "vote":     that two or three of three copies of a model are wrong, so that the vote is.
          "chain":    that one or more of n stages take longer than their budget, if the stages are independent.
          "at worst": the same, if nothing is known of how the stages depend on each other: the largest probability
                      that is possible.
    p     probability that one copy is wrong, or that one stage takes longer than its budget
    c     with probability c p a common cause makes all three copies wrong. If it does not, each of them is wrong with
          probability (1 - c) p, independently of the others. Without meaning for "chain" and "at worst".
    n     stages; without meaning for "vote"

    Try it: three copies with p = 0.001 and c = 0, then c = 0.1. And six stages, each within its budget in 99 % of all
    runs: in how many percent are all of them?

    Page: chapters/14_real_time.ipynb#tails-and-votes
    """
    raise NotImplementedError


# Level 2: fill in --------------------------------------------------------------------------------------------------


def priorities_of_kernels(tasks):
    """Return an order of priorities in which each task is proved to be in time: a list of names, the highest first.

    tasks  dictionary: name to (C, T, D), with D at most T. A job is one kernel, which nobody interrupts once it runs.

    A task is proved to be in time if W + C is at most D. W, for how long it waits to begin, is the smallest solution of

        W = (longest C of the task itself and of all below it) + sum over the tasks above it of (floor(W / T_j) + 1) C_j

    Its own C is among them because of its later jobs: the job before may have held those above it up, as on the page.

    If there are several such orders, each will do. If there is none, return None. With 40 tasks there are too many
    orders to try them all. Audsley's way: if any task can bear the lowest priority, it may have it. Then look for the
    next one among the others.

    Remove the first line below and fill in the six blanks `___`.

    Page: chapters/14_real_time.ipynb#kernels-that-nobody-interrupts
    """
    raise NotImplementedError

    def in_time(name, above, below):
        C, _, D = tasks[name]
        blocked = max([C, *___])
        W, longer = -1, blocked
        while W < longer <= D:
            W = longer
            longer = blocked + sum(___ for each in above)
        return longer + C <= D

    above, below = list(tasks), []
    while above:
        for name in above:
            others = [each for each in above if each != name]
            if in_time(name, ___, ___):
                break
        else:
            return ___
        above, below = others, ___
    return below


# Level 3: write ----------------------------------------------------------------------------------------------------


def worst_response(C, D, above, B):
    """Return the worst response time of a task with a fixed priority, or None if it may be later than its deadline.

    C, D   worst-case execution time, deadline
    above  list of (C, T, J), one for each task of higher priority. Such a task arrives every T, and is released up to J
           after it has arrived: its jitter. So one job may be released late, and the next one in time.
    B      how long tasks of lower priority block this one at most

    In a window of length R that begins when all are released together, each task above is released up to
    ceil((R + J) / T) times. Return the smallest R that is enough for all of this work, the task's own and the blocking.
    A response exactly at the deadline is in time.

    Example: C = 2, D = 12, above [(2, 5, 0), (1, 7, 3)], B = 1. From 3 the window grows to 6, 9 and 9, where it stays.

    Page: chapters/14_real_time.ipynb#a-bound-and-the-truth
    """
    raise NotImplementedError


def too_much_demand(tasks):
    """Return the shortest interval in which more work is due than there is time, or None if there is none.

    tasks  list of (C, T, D), in nanoseconds. D may be below T or above it. The sum of all C / T is below 1.

    The demand of an interval of length t is the work of all jobs that are released and due within it, if all tasks are
    released at its beginning. If it is at most t for every t, earliest deadline first meets all deadlines.

    Periods may have a common multiple of years, so neither every t nor every t with a deadline can be tried. A task has
    no more demand than C / T (t + T - D), and no more than C / T t if D is above T. The sum of these grows more slowly
    than t. So from some t on nothing can be wrong.

    Example: [(2, 5, 4), (3, 8, 6), (2, 20, 6)] gives 6: within 6 there are 7 to do.

    Page: chapters/14_real_time.ipynb#deadlines-before-the-period
    """
    raise NotImplementedError


def oldest_data(chain):
    """Return how old the data is at most that the output of a chain rests on.

    chain  list of (T, O, R), from the sensor's task to the actuator's: period, offset, response time; R is 1 to T

    Each task is released at O, O + T, O + 2 T, ... and has run for ever, so at O - T and so on, too. When it is
    released it reads the newest output of the task before it; the first one reads the sensor. It writes its own output
    R later. What is written at t can be read at t.

    An output of the last task stays until the next one replaces it. Its data was read from the sensor by some job of
    the first task. Return the largest time from such a reading until the output is replaced.

    Example: [(10, 0, 4), (5, 2, 1)]. The jobs of the second task at 7 and 12 both read what was written at 4, from data
    of 0. Their outputs, of 8 and 13, are replaced at 13 and 18. At 17 it reads newer data: so the oldest is 18.

    Page: chapters/14_real_time.ipynb#from-sensor-to-brake
    """
    raise NotImplementedError


def room_for_execution(D, above, slice_ms, below, reserve):
    """Return the largest worst-case execution time with which a task is proved to answer by its deadline.

    D         deadline
    above     list of (C, T): tasks of higher priority on the same device. They interrupt this one at once.
    slice_ms  tasks of lower priority run in slices of this length, and nobody interrupts a slice
    below     whether there are tasks of lower priority on the device
    reserve   share of the largest time that stays free, such as 0.2

    The proof is R <= D, with the usual R: a slice if there is anybody below, the task's own time, and
    ceil(R / T) C for each task above. Without a reserve it allows a largest time; return what the reserve leaves of
    it, and 0 if the task may not compute at all.

    Try it: the robot's control has 10 ms, slices of 10 ms and a reserve of 20 %: alone on a device, and with a task of
    lower priority beside it.

    Page: chapters/14_real_time.ipynb#an-exercise-repaired
    """
    raise NotImplementedError


# Level 4: repair ---------------------------------------------------------------------------------------------------


def who_runs(tasks):
    """Return who runs in each millisecond under priority inheritance: a string such as "LLHHML.L".

    tasks  list of (name, release, body), the highest priority first. The name is a letter. Each task has one job. Its
           body has a letter for each millisecond of execution: "." without a lock, "m" holding lock m, and so on.

    A job takes a lock when it executes the first millisecond with it, and gives it back after the last one of them in a
    row. So ".mm." holds lock m for two milliseconds. Nobody holds two locks. A job whose next millisecond needs a lock
    that another one holds waits for it. Until the lock is given back, its holder has the priority of the highest one
    who waits for it, if that is above its own.

    In each millisecond, of the released jobs that do not wait the one with the highest priority runs. "." stands for a
    millisecond in which nobody is released. The string ends when all jobs are done.

    The scheduler below lets a middle task run while a high one waits for a low one. That is not its only mistake: there
    are three. Remove the first line and repair the rest.

    Page: chapters/14_real_time.ipynb#a-lock-turns-priorities-round
    """
    raise NotImplementedError
    rank = {name: place for place, (name, _, _) in enumerate(tasks)}
    left = {name: body for name, _, body in tasks}
    holder, log = {}, ""
    while any(left.values()):
        ready = [name for name, release, _ in tasks if release < len(log) and left[name]]
        if not ready:
            log += "."
            continue
        free = [name for name in ready if holder.get(left[name][0], name) == name]
        who = min(free, key=rank.get)
        lock = left[who][0]
        if lock != ".":
            holder[lock] = who
        left[who] = left[who][1:]
        if not left[who]:
            holder.pop(lock, None)
        log += who
    return log


# Level 5: speed up -------------------------------------------------------------------------------------------------


def shed_load(tasks):
    """Choose how well each task does its work, so that all deadlines are met and the most is achieved. Return a list.

    tasks    list of (T, levels). `levels` is a list of (C, value): a level that takes C in each period, and what it is
             worth, both whole numbers. Perception with fewer pixels, say, takes less and is worth less. Each task runs
             at one of its levels; a task that may be left out has a level (0, 0).
    returns  for each task the number of its level, 0 for its first one; None if no choice meets all deadlines

    The deadline is the period, and the scheduler is earliest deadline first, which meets all deadlines if and only if
    the sum of all C / T is at most 1. If several choices are worth most, each will do.

    There may be 80 tasks of 4 levels, so the choices cannot all be tried. The periods divide 1,000.

    Page: chapters/14_real_time.ipynb#two-schedulers
    """
    raise NotImplementedError

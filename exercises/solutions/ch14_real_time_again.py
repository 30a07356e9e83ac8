"""Second solutions of chapter 14, written differently: a grader must not ask for one way to write an answer."""

import bisect
import itertools
import math

import numpy as np

# Level 1: predict --------------------------------------------------------------------------------------------------


def which_proof():
    """By name: who is within the bound, who is above it and in time, who needs EDF; D alone needs more than there is of
    one processor."""
    return {
        **dict.fromkeys("AE", "bound"),
        **dict.fromkeys("BFG", "exact"),
        **dict.fromkeys("CH", "EDF"),
        "D": "nobody",
    }


def late_or_wrong(part, p, c, n):
    """The vote by what is right: no common cause, and at most one copy wrong. The chain by adding up, stage by stage,
    what is late for the first time there."""
    if part == "at worst":
        return sorted((1, p * n))[0]
    if part == "vote":
        right = 1 - (1 - c) * p
        return 1 - (1 - c * p) * right**2 * (3 - 2 * right)
    return sum(p * (1 - p) ** stage for stage in range(n))


# Level 2: fill in --------------------------------------------------------------------------------------------------


def priorities_of_kernels(tasks):
    """From the lowest priority up, in a list that is turned round in the end. A task above is released anew at the
    multiples of its period; the wait is over at t if all that came until t, t included, is done by then. Work only
    grows at releases, so from one of them on, what is there says when it would be over."""

    def waits(name, above, blocked):
        C, _, D = tasks[name]
        blocked = max(blocked, C)
        work = blocked + sum(tasks[each][0] for each in above)
        for release, more in sorted((t, tasks[x][0]) for x in above for t in range(tasks[x][1], D + 1, tasks[x][1])):
            if work < release:
                break
            work += more
        return work

    rest, order, blocked = set(tasks), [], 0
    for _ in tasks:
        bears = [
            name for name in sorted(rest) if waits(name, rest - {name}, blocked) + tasks[name][0] <= tasks[name][2]
        ]
        if not bears:
            return None
        rest.remove(bears[0])
        order.append(bears[0])
        blocked = max(blocked, tasks[bears[0]][0])
    return order[::-1]


# Level 3: write ----------------------------------------------------------------------------------------------------


def worst_response(C, D, above, B):
    """Without a fixed point: between two releases the work stays the same, so only the instants of releases and the
    deadline are looked at. In the first window that is long enough the work says when it is done."""
    windows = {D}.union(*(range(T - J % T, D, T) for _, T, J in above))
    for t in sorted(windows):
        work = C + B + sum((t + J + T - 1) // T * each for each, T, J in above)
        if work <= t:
            return work
    return None


def too_much_demand(tasks):
    """Up to the end of the first busy period: if anything is ever late, something is late before the processor idles
    for the first time after all are released together. The ends of deadlines come one after the other, by a step to the
    next one of each task."""
    end, longer = 0, sum(C for C, _, _ in tasks)
    while end < longer:
        end, longer = longer, sum(-(-longer // T) * C for C, T, _ in tasks)
    due = [D for _, _, D in tasks]
    work = 0
    while (t := min(due)) <= end:
        for place, (C, T, _) in enumerate(tasks):
            if due[place] == t:
                work += C
                due[place] += T
        if work > t:
            break
    return t if t <= end else None


def oldest_data(chain):
    """Forward: events are writes and reads in the order of time, over two rounds of the periods after everything has
    data. Each task has a register; at a time, writes come before reads, and those who read take over what is there."""
    H = math.lcm(*(T for T, _, _ in chain))
    start = -sum(T + R for T, _, R in chain)
    events = []
    for place, (T, begins, R) in enumerate(chain):
        for release in range(begins + (start - begins) // T * T, 2 * H, T):
            events += [(release, 1, place, release), (release + R, 0, place, release)]
    taken, register, oldest = {}, {}, 0
    for time, reads, place, release in sorted(events):
        if reads:
            taken[place, release] = register.get(place - 1) if place else time
        else:
            if place == len(chain) - 1 and register.get(place) is not None:
                oldest = max(oldest, time - register[place])
            register[place] = taken[place, release]
    return oldest


def room_for_execution(D, above, slice_ms, below, reserve):
    """By halving: the largest whole time that fits into a window, which ends with a release from above or at the
    deadline. All times are whole, so nothing lies between."""
    ends = {D}.union(*(range(T, D, T) for _, T in above))

    def late(C):
        return all(below * slice_ms + C + sum(math.ceil(t / T) * each for each, T in above) > t for t in ends)

    in_time = bisect.bisect_left(range(1, D + 1), True, key=late)
    return in_time - in_time * reserve


# Level 4: repair ---------------------------------------------------------------------------------------------------


def who_runs(tasks):
    """Without keys: the highest released job would run. If it waits, whoever holds its lock runs in its place, as it
    has its priority. Nobody holds two locks, so that one does not wait itself. Bodies are cut into sections. All jobs
    are done when the last release and all work are over; what is idle in the end is cut off."""
    parts = {name: [list(group) for _, group in itertools.groupby(body)] for name, _, body in tasks}
    held, log = {}, []
    for now in range(max(release for _, release, _ in tasks) + sum(len(body) for _, _, body in tasks)):
        ready = [name for name, release, _ in tasks if release <= now and parts[name]]
        if not ready:
            log.append(".")
            continue
        who = held.get(parts[ready[0]][0][0], ready[0])
        section = parts[who][0]
        lock = section.pop()
        if section and lock != ".":
            held[lock] = who
        if not section:
            held.pop(lock, None)
            parts[who].pop(0)
        log.append(who)
    return "".join(log).rstrip(".")


# Level 5: speed up -------------------------------------------------------------------------------------------------


def shed_load(tasks):
    """With arrays: the best value of the tasks so far for each load up to the whole processor, which is 1,000 units, as
    all periods divide 1,000. Each level shifts the array. Then the choices are read from the last task backwards."""
    best, choices = np.zeros(1001), []
    for T, levels in tasks:
        options = np.full((len(levels), 1001), -np.inf)
        for option, (C, worth) in zip(options, levels):
            load = C * (1000 // T)
            if load <= 1000:
                option[load:] = best[: 1001 - load] + worth
        choices.append(options.argmax(axis=0))
        best = options.max(axis=0)
    if best[1000] == -np.inf:
        return None
    load, chosen = 1000, []
    for (T, levels), choice in zip(reversed(tasks), reversed(choices)):
        chosen.append(int(choice[load]))
        load -= levels[chosen[-1]][0] * (1000 // T)
    return chosen[::-1]

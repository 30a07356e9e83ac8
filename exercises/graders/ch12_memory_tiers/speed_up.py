"""Level 5 of chapter 12, speed up: a chain that is reversed with a few slots and the fewest forward steps."""

import functools
import math

import numpy as np

from exercises.grading import Exercise, Finding, checks, inputs
from exercises.grading.numbers import short

DO = ("keep", "load", "free", "forward", "backward")
FORM = '"keep 3", "load 3", "free 3", "forward 3" or "backward 3"'


def fewest(n, slots):
    """Forward steps of the best order, in closed form (Griewank and Walther, 2000)."""
    r = next(r for r in range(n + 1) if math.comb(slots + r, slots) >= n)
    return r * n - math.comb(slots + r, slots + 1)


def first_ones(n, slots):
    """Forward steps with the first states kept, one directly behind the other."""
    kept = min(slots, n)
    rest = n - kept + 1  # from the last kept one to the end
    return kept - 1 + rest * (rest - 1) // 2


@functools.cache
def halves(n, slots):
    """Forward steps if the next kept state is in the middle of what is left."""
    if n <= 1:
        return 0
    if slots == 1:
        return n * (n - 1) // 2
    return n // 2 + halves(n - n // 2, slots - 1) + halves(n // 2, slots)


CHAINS = [(8, 3), (3, 2), (3, 1), (1, 1), (6, 2), (16, 2), (20, 4), (7, 9), (2, 3)]
OTHERS = [
    (
        lambda n, slots: n * (n - 1) // 2,
        "Every layer is reached from state 0 again. With another slot, a state on the way need not be computed so "
        "often.",
    ),
    (
        first_ones,
        "The first states are kept, one behind the other, and everything behind the last of them is computed from it. "
        "Spread them, and use a slot again when it is free.",
    ),
    (
        halves,
        "The next state is kept in the middle of what is left. The part behind it has a slot less than the part before "
        "it, so it should be shorter.",
    ),
]


ONCE = (
    "All states are kept on the way to the end, and no slot is used again. When what is behind a kept state is done, "
    "its "
    "slot is free: keep something in it on the way to the next layers."
)
WHICH = (
    "A chain of n with s slots: keep its first state, go j forward, reverse the rest with s - 1 slots, load, and "
    "reverse "
    "the first j with s slots. Which j makes the sum least?"
)


def actions(case, got):
    """(the order as pairs, None), or (None, what is wrong with its form)."""
    got = got.tolist() if isinstance(got, np.ndarray) else got
    if not isinstance(got, list | tuple):
        return None, Finding(f"it returned {short(got)}.", f"Return a list of strings such as {FORM}.")
    pairs = []
    for each in got:
        words = each.split() if isinstance(each, str) else []
        known = len(words) == 2 and words[0] in DO and words[1].isdigit() and int(words[1]) < case.arguments[0][0]
        if not known:
            return None, Finding(f"there is no action {each!r:.40} here.", f"An action is {FORM}, with 0 to n - 1.")
        pairs.append((words[0], int(words[1])))
    return pairs, None


def carried_out(case, answer):
    """Go through the order: the current state, and what is in the slots."""
    (n, slots), (got,) = case.arguments[0], answer.results
    order, finding = actions(case, got)
    if finding:
        return finding
    now, kept, left = 0, set(), n
    for number, (action, state) in enumerate(order):
        done = f"action {number}, {action} {state}: "
        if action in ("keep", "forward", "backward") and state != now:
            return Finding(
                f"{done}the current state is state {now}.",
                'What is kept, goes forward or goes backward is the current state. "load" makes a kept one current.',
            )
        if action in ("load", "free") and state not in kept:
            return Finding(f"{done}state {state} is in no slot.", "Only what was kept can be loaded or freed.")
        if action == "keep":
            if state in kept:
                return Finding(f"{done}it is kept already.", "One copy of a state is enough.")
            if len(kept) == slots:
                return Finding(
                    f"{done}the {checks.count(slots, 'slot')} are full, with {', '.join(map(str, sorted(kept)))}.",
                    "Free what is not needed any more before you keep another one, or keep fewer.",
                )
            kept.add(state)
        elif action == "load":
            now = state
        elif action == "free":
            kept.remove(state)
        elif action == "forward":
            now += 1
        elif state != left - 1:
            return Finding(f"{done}next is layer {left - 1}.", "Layers go backward from n - 1 to 0, each once.")
        else:
            left -= 1
    if left:
        return Finding(
            f"the layers from {left - 1} down to 0 have not gone backward.", "All n layers go backward, each once."
        )
    return None


def so_far_best(steps, n, slots):
    """Whether this way is as good as any for all inputs before this one: else it would have been found there."""
    before = CHAINS[: CHAINS.index((n, slots))] if (n, slots) in CHAINS else CHAINS
    return all(steps(*each) == fewest(*each) for each in before)


def few_steps(case, answer):
    """No forward step too many."""
    (n, slots), (got,) = case.arguments[0], answer.results
    order, _ = actions(case, got)
    made, want = sum(action == "forward" for action, _ in order), fewest(n, slots)
    if made <= want:
        return None
    hints = (hint for steps, hint in OTHERS if steps(n, slots) == made and so_far_best(steps, n, slots))
    turned = order.index(("backward", n - 1))
    once = slots > 1 and all(action != "keep" for action, _ in order[turned:])
    return Finding(
        f"there are {checks.count(made, 'forward step')}; {want:,} are enough.", next(hints, ONCE if once else WHICH)
    )


reverse_with_slots = Exercise(
    cases=inputs.calls(
        *CHAINS,
        lambda rng: (int(rng.integers(20, 60)), int(rng.integers(2, 6))),
        lambda rng: (int(rng.integers(60, 120)), int(rng.integers(2, 5))),
        (35, 1),
        (400, 6),
        names="n slots",
    ),
    checks=[carried_out, few_steps],
    endings={
        "cpu": "The same chain with the same slots comes back again and again: note its best place for the next kept "
        "state when it is worked out first. There is a closed form for the number of steps, too.",
        "RecursionError": "A call within a call for every layer is too deep. A call for every kept state is not.",
    },
    hints=[
        "One slot: state 0 stays in it, and every layer is reached from there. How many forward steps are that for 5 "
        "layers? With two slots: where do you put the second one first?",
        "steps(n, s) = least over j of j + steps(n - j, s - 1) + steps(j, s). Behind the kept state there is a slot "
        "less; before it, the slot is free again.",
        "With the smallest r for which comb(s + r, s) >= n, the steps are r n - comb(s + r, s + 1). The smallest j "
        "with "
        "j >= comb(s + r - 2, s) and n - j <= comb(s + r - 1, s - 1) is as good as any.",
    ],
)

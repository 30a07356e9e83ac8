"""Level 4 of chapter 11, repair: a search for a layout that does not search."""

import math

from exercises.grading import Case, Exercise, Finding
from exercises.grading.numbers import listed


class Costs:
    """A function of (d, t, p). It notes nothing, and refuses what is no layout of N ranks."""

    def __init__(self, N, batch, formula):
        self.N, self.batch, self.formula = N, batch, formula

    def __call__(self, d, t, p):
        whole = all(isinstance(each, int) and each >= 1 for each in (d, t, p))
        if not whole or d * t * p != self.N or self.batch % d:
            raise IndexError(f"({d}, {t}, {p}) is no layout of {self.N} ranks with a batch of {self.batch}")
        return self.formula(d, t, p)


def divisors(N):
    return [n for n in range(1, N + 1) if not N % n]


def layouts(N, batch):
    """All layouts of N ranks, of which d divides the batch."""
    return [(N // (t * p), t, p) for t in divisors(N) for p in divisors(N // t) if not batch % (N // (t * p))]


def chosen(N, batch, memory, held, seconds, among=layouts):
    """The best layout."""
    fitting = [layout for layout in among(N, batch) if held(*layout) <= memory]
    return min(fitting, key=lambda layout: seconds(*layout), default=None)


def case(N, batch, memory, held, seconds, label):
    """A case with costs by these formulas."""
    shown = f"N = {N:_}, batch = {batch:_}, memory = {memory:_}"
    return Case(f"{shown}, {label}", ((N, batch, memory, Costs(N, batch, held), Costs(N, batch, seconds)),))


def cases(rng):
    """Costs with one best layout each, of which every mistake misses some."""

    def aim(d, t, p):  # shortest at one layout
        return lambda *layout: 1 + sum(abs(math.log(a / b)) * w for a, b, w in zip(layout, (d, t, p), (1, 1.1, 1.3)))

    def share(d, t, p):
        return 960 // (t * p) + 7 * p

    yield case(16, 16, 10**6, share, aim(4, 2, 2), "all layouts fit")
    yield case(24, 24, 10**6, share, aim(4, 2, 3), "all layouts fit")
    yield case(16, 16, 300, share, aim(16, 1, 1), "few layouts fit")
    yield case(32, 32, 10**6, share, aim(2, 16, 1), "all layouts fit")
    yield case(12, 12, 10**6, share, aim(4, 3, 1), "all layouts fit")
    yield case(36, 12, 10**6, share, aim(36, 1, 1), "all layouts fit")
    yield case(16, 16, 172, share, aim(1, 1, 16), "the best one fits to the last byte")
    yield case(16, 16, 268, share, aim(4, 1, 4), "the best one fits to the last byte")
    yield case(8, 8, 100, share, aim(8, 1, 1), "nothing fits")
    yield case(1, 5, 10**6, share, aim(1, 1, 1), "one layout")
    yield case(7, 7, 10**6, share, aim(1, 7, 1), "all layouts fit")
    yield case(7, 7, 10**6, share, aim(1, 1, 7), "all layouts fit")
    for _ in range(4):
        N = int(rng.choice([48, 60, 72, 90, 64]))
        best = layouts(N, N)[int(rng.integers(len(layouts(N, N))))]
        yield case(N, N, 900, share, aim(*best), "most layouts fit")
    slow = 10**9  # seconds: every layout takes longer than any number that somebody begins with
    yield case(8, 8, 10**6, share, lambda *layout: slow * aim(2, 2, 2)(*layout), "long steps")
    yield case(16384, 2048, 10**6, share, aim(128, 8, 16), "all layouts fit")


def last_one(N, batch, memory, held, seconds):
    """What a search returns that keeps no cost: the last layout that fits."""
    return [layout for layout in layouts(N, batch) if held(*layout) <= memory][-1]


MEMORY = "It needs more memory than there is. A layout that does not fit cannot be the best one."


def found(case, answer):
    """The layout: of the right form, possible, fits, the best."""
    (N, batch, memory, held, seconds), (got,) = case.arguments[0], listed(answer.results)
    want = chosen(N, batch, memory, held, seconds)
    if got == (None if want is None else list(want)):
        return None
    if got is None:
        return Finding(
            f"it returned None, and {want} fits.",
            "None is for the case that nothing fits. Is every layout tried, and does what fits to the last byte count?",
        )
    if not isinstance(got, list) or len(got) != 3 or not all(type(each) is int for each in got):
        return Finding(f"it returned {got!r:.60}.", "Return (d, t, p), three whole numbers, or None.")
    d, t, p = got
    if min(got) < 1 or d * t * p != N:
        return Finding(
            f"it returned {tuple(got)}: {d} x {t} x {p} = {d * t * p}, and there are {N} ranks.",
            "N // (t * p) drops a remainder. Layouts of fewer ranks are none: what must t p do to N?",
        )
    if batch % d:
        return Finding(f"it returned {tuple(got)}; {d} does not divide the batch.", "Is d tested against the batch?")
    needs = held(*got)
    if needs > memory:
        return Finding(f"{tuple(got)} needs {needs:,} bytes, and there are {memory:,}.", MEMORY)
    took, least = seconds(*got), seconds(*want)
    seen = f"{tuple(got)} takes {took:.4g} s; {want} takes {least:.4g}."
    if held(*want) == memory:
        return Finding(seen, "What fills the memory to the last byte fits. Is it less than, or at most?")
    if got == list(last_one(*case.arguments[0])):
        return Finding(
            seen,
            "That is the last layout that was tried. Each one is compared with the cost that the search began with: "
            "what has to change when a better one was found?",
        )
    if want[1] not in (1, 2, 4, 8):
        return Finding(seen, "Only some tensor degrees are tried. Any divisor of N may be one.")
    return Finding(seen, "There is a quicker layout that fits. Which ones does the search try, and what does it keep?")


best_layout = Exercise(
    cases=cases,
    checks=[found],
    endings={
        "is no layout": "The cost of something was asked that is no layout: t p has to divide N, and d the batch. Test "
        "that before the cost is asked for.",
        "cpu": "Of N = 16,384 few layouts are left if only divisors are tried: t divides N, and p divides N / t.",
    },
    hints=[
        "Follow the search for N = 4 by hand, and write best and best_cost down after each layout.",
        "best_cost is read and never written. And what says that a layout fits, and that d t p is N?",
        "Try every t that divides N and every p that divides N / t; skip what does not divide the batch or does not "
        "fit; keep the cost beside the best.",
    ],
)

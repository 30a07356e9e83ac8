"""Level 5 of chapter 11, speed up: a search that evaluates few layouts."""

from exercises.grading import Case, Exercise, Finding, checks
from exercises.grading.numbers import listed

from .repair import layouts


class Asked:
    """A function of a layout. Its text tells how often it was asked, and for how many layouts."""

    def __init__(self, values):
        self.values, self.calls = values, []

    def __call__(self, layout):
        layout = tuple(layout)
        if layout not in self.values:
            raise IndexError(f"{layout} is none of the layouts")
        self.calls.append(layout)
        return self.values[layout]

    def __repr__(self):
        return f"{len(self.calls)}/{len(set(self.calls))}"


def case(rng, every, near, label):
    """Layouts with steps of 1 to 3 seconds, and bounds that are `near` times as long or more."""
    seconds = {layout: float(1 + 2 * x) for layout, x in zip(every, rng.random(len(every)))}
    bounds = {layout: took * float(near + (1 - near) * rng.random()) for layout, took in seconds.items()}
    order = [every[i] for i in rng.permutation(len(every))]
    shown = f"{checks.count(len(every), 'layout')}, bounds {label}"
    return Case(shown, ((order, Asked(bounds), Asked(seconds)),))


def as_long_as_the_best(every):
    """One layout takes 1 second, and this is the bound of all others."""
    seconds = {layout: 1.0 if layout == every[4] else 1.5 + place / 8 for place, layout in enumerate(every)}
    bounds = {layout: 0.9 if layout == every[4] else 1.0 for layout in every}
    shown = f"{checks.count(len(every), 'layout')}, bounds as long as the best step"
    return Case(shown, ((list(every), Asked(bounds), Asked(seconds)),))


def cases(rng):
    """Bounds that are close, far off, exact, or say nothing."""
    yield case(rng, layouts(64, 64), 0.7, "at least 70 %")
    yield case(rng, layouts(64, 64), 0.4, "at least 40 %")
    yield case(rng, layouts(60, 60), 0.9, "at least 90 %")
    yield case(rng, layouts(12, 12), 1.0, "exact")
    yield case(rng, layouts(12, 12), 0.1, "at least 10 %")
    yield as_long_as_the_best(layouts(12, 12))
    yield case(rng, [(2, 2, 2)], 0.5, "at least 50 %")
    yield case(rng, layouts(2, 2), 0.5, "at least 50 %")
    yield case(rng, [], 0.5, "of none")
    every = [layout for n in range(60, 95) for layout in layouts(n, n)]
    yield case(rng, every, 0.8, "at least 80 %")


def given(case):
    """(layouts, bounds, seconds) as plain data."""
    every, bound, seconds = case.arguments[0]
    return every, bound.values, seconds.values


def shortest(case, answer):
    """The best layout is returned."""
    (every, bounds, seconds), (got,) = given(case), listed(answer.results)
    want = min(every, key=seconds.get, default=None)
    if got == (None if want is None else list(want)):
        return None
    if got is None or want is None or not isinstance(got, list) or tuple(got) not in seconds:
        return Finding(f"it returned {got!r:.60}.", "Return one of the layouts, or None if there are none.")
    seen = f"{tuple(got)} takes {seconds[tuple(got)]:.4f} s; {want} takes {seconds[want]:.4f} s."
    if tuple(got) == min(every, key=bounds.get):
        return Finding(
            seen,
            "That is the layout with the lowest bound. The bound says how long a step takes at least, not how long it "
            "takes.",
        )
    return Finding(
        seen,
        "A better layout was left out. A layout may be left out if its bound is no shorter than a step that was found "
        "already, and only then.",
    )


def few(case, answer):
    """bound is asked once for each layout, seconds only where it must be."""
    every, bounds, seconds = given(case)
    (_, bound, took), best = answer.arguments[0], min(seconds.values(), default=0)
    needed = max(sum(each < best for each in bounds.values()), 1 if every else 0)
    (asked, _), (calls, different) = (tuple(map(int, each.text.split("/"))) for each in (bound, took))
    if asked > len(every):
        seen = f"bound was called {checks.count(asked, 'time')} for {checks.count(len(every), 'layout')}."
        return Finding(seen, "Keep what it returns: once for each layout is enough.")
    if calls > different:
        seen = f"seconds was called {checks.count(calls, 'time')}, for {checks.count(different, 'layout')}."
        return Finding(seen, "Some layout was simulated twice: keep its time beside it.")
    if calls > needed:
        seen = f"seconds was called for {calls} of {checks.count(len(every), 'layout')}; {needed} are enough."
        return Finding(seen, ALL if calls == len(every) else SOME)
    return None


ALL = (
    "Every layout was simulated. A layout whose bound is above the best time so far cannot win: it need not be "
    "simulated."
)
SOME = (
    "Some were simulated that could be left out, because the best time was not known yet. In which order do layouts "
    "come, so that good ones come first?"
)

few_evaluations = Exercise(
    cases=cases,
    checks=[shortest, few],
    endings={"is none of the layouts": "bound and seconds take one of the layouts, as it stands in the list."},
    hints=[
        "Suppose you have found a step of 1.5 seconds. Which layouts can you forget, without simulating them?",
        "Which layouts must every search simulate, whatever its order? Those whose bound is below the best time. In "
        "which order does one meet all of these first?",
        "In the order of their bounds. As soon as the next bound is no shorter than the best time so far, the rest "
        "can be left out.",
    ],
)

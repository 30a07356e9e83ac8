"""Level 2 of chapter 14, fill in: priorities of kernels that nobody interrupts."""

from exercises.grading import Exercise, Finding, inputs
from exercises.grading.numbers import listed, short
from exercises.grading.returns import Returns, so_far


def response(tasks, name, above, below, own=True, released=lambda W, T: W // T + 1):
    """W + C of a task, or what is above its deadline; or that of somebody with another test."""
    C, _, D = tasks[name]
    blocked = max([C if own else 0, *(tasks[each][0] for each in below)])
    W, longer = -1, blocked
    while W < longer <= D:
        W, longer = longer, blocked + sum(released(longer, tasks[each][1]) * tasks[each][0] for each in above)
    return longer + C


def late(tasks, order):
    """The first task of an order that is not proved to be in time, from the lowest one up; None if all are."""
    for place in reversed(range(len(order))):
        name = order[place]
        if response(tasks, name, order[:place], order[place + 1 :]) > tasks[name][2]:
            return name
    return None


def audsley(tasks, turned=False, see_below=True, **test):
    """An order that passes; or that of somebody with another test, or who begins at the other end."""
    above, below = list(tasks), []
    while above:
        others = {name: [each for each in above if each != name] for name in above}
        seen = below if see_below else []
        fits = (name for name in above if response(tasks, name, others[name], seen, **test) <= tasks[name][2])
        name = next(fits, None)
        if name is None:
            return None
        above, below = others[name], [*below, name] if turned else [name, *below]
    return below


def other(**how):
    return lambda tasks: audsley(tasks, **how)


def sorted_by(key):
    """As if an order of its own was the best: it, if it passes, else None."""

    def answer(tasks):
        order = sorted(tasks, key=lambda name: key(*tasks[name]))
        return None if late(tasks, order) else order

    return answer


def right(got, tasks):
    """Whether an order passes; None, if none does."""
    if got is None:
        return audsley(tasks) is None
    return isinstance(got, list) and sorted(map(str, got)) == sorted(tasks) and late(tasks, got) is None


def no_order(case, results):
    """Each name once, or None."""
    (got,), ((tasks,),) = listed(results), case.arguments
    if got is not None and (not isinstance(got, list) or sorted(map(repr, got)) != sorted(map(repr, tasks))):
        return Finding(f"it returned {short(got)}.", "Return a list with the name of each task once, or None.")
    return None


def seen(case, results, right):
    (got,), (want,), ((tasks,),) = results, right, case.arguments
    if got is None or want is None:
        return f"it returned {short(got)}; there is {'no such order' if want is None else 'an order: ' + short(want)}."
    name = late(tasks, got)
    place = got.index(name)
    R = response(tasks, name, got[:place], got[place + 1 :])
    return f"in {short(got)}, {name!r} is not proved to be in time: W + C is {R} or more, D is {tasks[name][2]}."


CASES = [
    ({"a": (2, 9, 8), "b": (3, 14, 12)},),
    ({"b": (3, 14, 12), "a": (2, 9, 5)},),
    ({"a": (4, 12, 9), "b": (2, 8, 8), "c": (2, 26, 24)},),  # neither by deadline nor by period
    ({"a": (2, 10, 6), "b": (4, 13, 11), "c": (2, 21, 10)},),
    ({"a": (2, 9, 4), "b": (6, 30, 30)},),  # there is none
    ({"a": (2, 17, 10), "b": (1, 28, 21), "c": (4, 22, 11), "d": (1, 7, 5)},),
    ({"c": (2, 7, 6), "b": (2, 7, 7), "a": (2, 5, 5)},),  # in time in the first period only
    ({"a": (2, 6, 6), "b": (4, 20, 11)},),  # a wait that ends with a release
    ({"a": (2, 13, 9), "b": (4, 30, 19), "c": (1, 24, 22), "d": (4, 20, 14)},),  # several may be the lowest
    ({"a": (3, 9, 7), "b": (3, 29, 17), "c": (2, 15, 12), "d": (1, 6, 4)},),
    ({"a": (5, 9, 9)},),  # its own C blocks it
    ({"a": (4, 9, 9)},),
    ({"a": (4, 20, 8), "b": (4, 16, 16), "c": (1, 9, 9)},),
    ({"a": (1, 15, 10), "b": (3, 8, 6), "c": (3, 17, 10), "d": (3, 26, 19)},),  # nor by what D leaves of C
]


def some_set(n):
    def draw(rng):
        tasks = {}
        for name in "abcdefgh"[:n]:
            T = int(rng.integers(6 * n, 12 * n))
            tasks[name] = int(rng.integers(1, 5)), T, int(rng.integers(T // 2, T + 1))
        return (tasks,)

    return draw


# not in the order given, so who tries all orders does not come to an end
MANY = {f"task {i}": (2, 150 + 7 * (17 * i % 40), 20 + 7 * (17 * i % 40)) for i in range(40)}

priorities_of_kernels = Exercise(
    cases=inputs.calls(*CASES, some_set(3), some_set(4), some_set(5), some_set(6), (MANY,), names="tasks"),
    checks=[
        Returns(
            audsley,
            [
                (
                    other(own=False),
                    "Is the task's own C among what blocks it? Its next job meets those whom the job before has held "
                    "up.",
                ),
                (
                    other(see_below=False),
                    "Nothing blocks the task in that. Whoever is below it may have begun just before, and runs to its "
                    "end.",
                ),
                (
                    other(released=lambda W, T: -(-W // T)),
                    "ceil(W / T) leaves out a task above that is released just when the wait ends: it goes first. That "
                    "is what floor(W / T) + 1 counts.",
                ),
                (
                    other(turned=True),
                    "The order is turned round: who is found first bears the lowest priority, and stands last.",
                ),
                (
                    sorted_by(lambda C, T, D: D),
                    "By the deadlines there is no order, and yet there is one: for kernels the shortest deadline need "
                    "not go first.",
                ),
            ],
            otherwise="Look at one task at the lowest place: who is above it, who below, and is W + C within D? If it "
            "is, it stays there, and the others are looked at with it below them.",
            seen=seen,
            form=no_order,
            read=listed,
            accepts=right,
            could=so_far(CASES, lambda order, given: right(order, *given)),
        )
    ],
    endings={
        "___": "A blank is not filled in yet: replace each ___ by an expression.",
        "cpu": "There are too many orders to try them all. Audsley needs no more than n tests for each place.",
    },
    hints=[
        "The blanks, in their order: the C of all below; the work of one task above within a wait of W; who is above "
        "the "
        "task and who below; what is returned if nobody bears this place; the order with the new one in it.",
        "tasks[each] is (C, T, D), and floor(W / T) is W // T. The others are above it, `below` is below it.",
        "(tasks[each][0] for each in below); (W // tasks[each][1] + 1) * tasks[each][0]; others, below; None; "
        "[name, *below].",
    ],
)

"""Level 5 of chapter 9, speed up: how many micro-batches, and what to do in a bubble."""

import math

from exercises.grading import Case, Exercise, Finding, checks
from reference.pipeline.simulate import UNIT, activations, simulate

from .common import never_ends, no_order, schedule, shown, words

# How many ------------------------------------------------------------------------------------------------------------


def divisors(n):
    return [m for m in range(1, n + 1) if n % m == 0]


def step(m, batch, p, fixed, slope, *_):
    """Microseconds of a step."""
    return 3 * (m + p - 1) * (fixed + batch // m * slope)


def hidden(m, batch, p, fixed, slope, alpha, beta, *_):
    return alpha + batch // m * beta <= fixed + batch // m * slope


def fits(m, batch, p, fixed, slope, alpha, beta, weights, kept, memory):
    return weights + min(m, p) * (batch // m) * kept <= memory


def best(arguments, seconds=step, link=hidden, room=fits, larger=False, counts=divisors):
    """The best m, or what somebody takes for it who has another time, another condition, or other candidates."""
    able = [m for m in counts(arguments[0]) if link(m, *arguments) and room(m, *arguments)]
    return min(able, key=lambda m: (seconds(m, *arguments), -m if larger else m), default=None)


def near_the_root(arguments):
    """The divisor that is nearest to the m of the formula, of those that will do."""
    batch, p, fixed, slope, *_ = arguments
    root = math.sqrt((p - 1) * batch * slope / fixed) if fixed else batch
    able = [m for m in divisors(batch) if hidden(m, *arguments) and fits(m, *arguments)]
    return min(able, key=lambda m: (abs(m - root), m), default=None)


def most_that_fit(arguments):
    """As many as there is room for, if each took what a micro-batch of one sample takes."""
    batch, *_, weights, kept, memory = arguments
    return max((m for m in divisors(batch) if m * kept <= memory - weights), default=None)


def in_a_step(m, batch, p, fixed, slope, alpha, beta, *_):
    """All messages of a step one after the other within it."""
    return 2 * m * (alpha + batch // m * beta) <= step(m, batch, p, fixed, slope)


OTHER_CHOICES = [
    (
        lambda a: best(a, room=lambda m, *a: a[-3] + m * (a[0] // m) * a[-2] <= a[-1]),
        "All m micro-batches are kept, as in GPipe: these are the batch, whatever m is. How many does a rank keep at a "
        "time with 1F1B?",
    ),
    (
        lambda a: best(a, room=lambda m, *a: a[-3] + (a[0] // m) * a[-2] <= a[-1]),
        "There is room for one micro-batch; the first rank keeps more at a time.",
    ),
    (
        lambda a: best(a, room=lambda m, *a: a[-3] + a[1] * (a[0] // m) * a[-2] <= a[-1]),
        "p micro-batches are kept only where there are as many.",
    ),
    (
        lambda a: best(a, room=lambda m, *a: min(m, a[1]) * (a[0] // m) * a[-2] <= a[-1]),
        "The weights need room as well, beside the activations.",
    ),
    (lambda a: best(a, room=lambda *_: True), "It does not fit: how many micro-batches are kept at a time?"),
    (
        most_that_fit,
        "The largest m for which m activations fit: but an activation of what? With twice the m each is half.",
    ),
    (
        lambda a: best(a, link=lambda *_: True),
        "The messages are not hidden: each must be there before the next forward pass of a micro-batch is through.",
    ),
    (
        lambda a: best(a, link=lambda m, *a: a[4] + (a[0] // m) * a[5] < a[2] + (a[0] // m) * a[3]),
        "A message that takes just as long as a forward pass is hidden: none may take longer.",
    ),
    (
        lambda a: best(a, room=lambda m, *a: a[-3] + min(m, a[1]) * (a[0] // m) * a[-2] < a[-1]),
        "What fills the memory to the last byte has room.",
    ),
    (
        lambda a: best(a, link=lambda m, *a: a[4] + (a[0] // m) * a[5] <= 2 * (a[2] + (a[0] // m) * a[3])),
        "Not all messages meet a backward pass: none may take longer than a forward pass, the shorter of the two.",
    ),
    (
        lambda a: best(a, counts=lambda batch: [m for m in divisors(batch) if m >= a[1]]),
        "There may be fewer micro-batches than ranks. Then some ranks are idle for long; but is the step longer?",
    ),
    (
        lambda a: best(a, link=lambda m, *a: a[4] + (a[0] // m) * a[5] <= 3 * (a[2] + (a[0] // m) * a[3])),
        "A message may take as long as a forward pass, and not as long as forward and backward together.",
    ),
    (
        lambda a: best(a, link=lambda m, *a: (a[0] // m) * a[5] <= a[2] + (a[0] // m) * a[3]),
        "The latency alpha does not count here. It is what speaks against small micro-batches: bytes and seconds both "
        "go with b, and alpha does not.",
    ),
    (
        lambda a: best(a, link=in_a_step),
        "All messages of a step together fit into it. That bounds m by bytes that do not depend on it. Ask of one "
        "message: is it through when the next pass is?",
    ),
    (
        lambda a: best(a, seconds=lambda m, batch, p, fixed, slope, *_: (m + p - 1) * (batch // m) * slope),
        "The most micro-batches that will do: the smallest bubble, and not the shortest step. Each pass costs `fixed`, "
        "however small it is.",
    ),
    (
        lambda a: best(a, seconds=lambda m, batch, p, fixed, slope, *_: m * (fixed + batch // m * slope)),
        "Without the bubble the fewest micro-batches are always best. A step is m + p - 1 passes long, not m.",
    ),
    (
        lambda a: best(a, seconds=lambda m, batch, p, fixed, slope, *_: (m + p) * (fixed + batch // m * slope)),
        "m + p passes are one too many: the first micro-batch is on the last rank after p - 1.",
    ),
    (
        lambda a: best(a, counts=lambda batch: [m for m in divisors(batch) if m >= 4 * a[1]]),
        "At least 4 p micro-batches make the bubble smaller than 20 %. That may be many too many: what do they cost?",
    ),
    (
        near_the_root,
        "The formula gives the best m if any number would do. The best of those that will do need not be the nearest.",
    ),
    (lambda a: best(a, larger=True), "Two are equally quick: the smaller m is asked for."),
    (
        lambda a: best(a, counts=lambda batch: range(1, batch + 1)),
        "It must be cut into micro-batches of equal size: m b = batch.",
    ),
    (
        lambda a: (m := best(a)) and a[0] // m,
        "That is b, the samples of a micro-batch. Asked for is m.",
    ),
]


def right_choice(case, answer):
    """The best m; if it is another one, what is wrong with that."""
    (arguments,), (got,) = case.arguments, answer.results
    want = best(arguments)
    if type(got) in (int, type(None)) and got == want:
        return None
    if isinstance(got, float) and got == want:
        return Finding(f"it returned {got!r}.", "A number of micro-batches is a whole number: // in place of /.")
    if type(got) not in (int, type(None)):
        return Finding(f"it returned {got!r:.80}.", "Return a whole number, or None.")
    earlier = before(arguments)
    hints = (
        hint
        for other, hint in OTHER_CHOICES
        if other(arguments) == got and all(other(each) == best(each) for each in earlier)
    )
    return Finding(f"it returned {got}; {verdict(got, want, arguments)}.", next(hints, OTHERWISE[got is None]))


OTHERWISE = (
    "Write down for each m that divides the batch: the time of a step, the memory of the first rank, the time of a "
    "message and that of a forward pass. Which are ruled out, and which is the quickest of the others?",
    "There is one that will do: which of the two conditions is too strict?",
)


def verdict(got, want, arguments):
    """What m leads to."""
    batch, p, fixed, slope, alpha, beta, weights, kept, memory = arguments
    right = "None, as none will do" if want is None else f"{want}, with {step(want, *arguments):,} us a step"
    if got is None:
        return f"right is {right}"
    if got < 1 or batch % got:
        return f"{batch} samples cannot be cut into {got} equal micro-batches; right is {right}"
    b = batch // got
    facts = [f"{step(got, *arguments):,} us a step"]
    if not fits(got, *arguments):
        facts.append(f"{weights + min(got, p) * b * kept:,} bytes of {memory:,}")
    if not hidden(got, *arguments):
        facts.append(f"messages of {alpha + b * beta:,} us in passes of {fixed + b * slope:,} us")
    return f"that is {', '.join(facts)}; right is {right}"


CHOICES = [  # batch, p, fixed, slope, alpha, beta, weights, kept, memory
    (30, 6, 50, 3, 5, 0, 40, 5, 72),
    (48, 6, 20, 8, 10, 10, 0, 4, 49),
    (64, 3, 21, 2, 1, 10, 10, 3, 1000),
    (60, 2, 10, 6, 0, 1, 0, 2, 36),
    (60, 2, 3, 1, 0, 0, 0, 1, 40),
    (16, 8, 50, 5, 30, 0, 40, 2, 1000),
    (16, 8, 50, 4, 30, 0, 40, 2, 80),
    (30, 2, 20, 2, 5, 5, 0, 1, 1000),
    (16, 3, 3, 5, 4, 1, 0, 1, 1000),
    (12, 1, 5, 2, 3, 1, 0, 1, 20),
    (24, 3, 2, 3, 5, 9, 0, 1, 1000),  # messages too long for any m
    (12, 2, 5, 1, 0, 0, 50, 1, 40),  # no room for the weights
    (48, 6, 20, 6, 10, 2, 0, 4, 48),  # full to the last byte
]


def before(arguments):
    """The fixed cases before this one. They were answered rightly, so whatever mistake there is, it made none there."""
    same = lambda case: case[:2] == arguments[:2] and case[2] * arguments[3] == case[3] * arguments[2]  # noqa: E731
    return CHOICES[: next((k for k, case in enumerate(CHOICES) if same(case)), len(CHOICES))]


def choices(rng):
    """Cases of choose_micro_batches: fixed ones in other units of time and memory, and some that are drawn."""
    names = "batch p fixed slope alpha beta weights kept memory".split()
    drawn = [
        rng.integers([90, 2, 5, 1, 0, 0, 0, 1, 300], [900, 9, 50, 9, 30, 5, 100, 5, 900]).tolist() for _ in range(3)
    ]
    for batch, p, *numbers in [*CHOICES, *drawn]:
        units = [int(rng.integers(2, 9))] * 4 + [int(rng.integers(2, 9))] * 3
        arguments = (batch, p, *(number * unit for number, unit in zip(numbers, units)))
        yield Case(", ".join(f"{name} = {value}" for name, value in zip(names, arguments)), (arguments,))


choose_micro_batches = Exercise(
    cases=choices,
    checks=[right_choice],
    endings={
        "ZeroDivisionError": "fixed, alpha, beta and kept may be 0. By what do you divide?",
        "ValueError": "It may be that no m will do: then there is nothing of which the least could be taken.",
    },
    hints=[
        "Which m are there at all? Those that divide the batch: few enough to try them all.",
        "For each: b = batch // m; a forward pass takes fixed + b slope, and the first rank keeps min(m, p) "
        "micro-batches of b samples.",
        "Of those with alpha + b beta <= fixed + b slope and weights + min(m, p) b kept <= memory take the least "
        "(m + p - 1) (fixed + b slope), and of equals the smallest m.",
    ],
)


# What to do in a bubble ----------------------------------------------------------------------------------------------


def sizes(*pairs):
    """Cases (p, m)."""

    def cases(rng):
        some = int(rng.integers(4, 8))
        for p, m in (*pairs, (some, some + int(rng.integers(1, 9)))):
            yield Case(f"{checks.count(p, 'rank')}, {m} micro-batches", ((p, m),))

    return cases


def right_form(case, answer):
    """p orders, each with every action once, which can be carried out."""
    ((p, m),), (got,) = case.arguments, answer.results
    if got is None:
        return Finding("it returned None.", "A function that ends without `return` gives None: return the orders.")
    if not isinstance(got, list | tuple) or len(got) != p or not all(isinstance(order, list | tuple) for order in got):
        return Finding(f"it returned {got!r:.80}.", f"Return a list of {p} orders, one for each rank.")
    for rank, order in enumerate(got):
        finding = no_order(order, f"rank {rank}", [f"{kind}{i}" for kind in "FIW" for i in range(m)])
        if finding is not None:
            missing = all(f"W{i}" in order for i in range(m)) or "never done" not in finding.seen
            return finding if missing else finding._replace(hint=LEFT_OUT)
        early = next((i for i in range(m) if order.index(f"W{i}") < order.index(f"I{i}")), None)
        if early is not None:
            return Finding(
                f"rank {rank} does {shown(order)}\n  W{early} comes before I{early}.",
                "The gradient for the weights needs what I has computed on the way: W after I.",
            )
    return never_ends(got, "As in 1F1B: leave the order of F and I as it is, and move W only.")


LEFT_OUT = "Every gradient for the weights is needed in the end. What is put off must be done before the order ends."


def in_memory(case, answer):
    """No rank keeps more than p."""
    ((p, m),), (got,) = case.arguments, answer.results
    kept = activations(schedule(got))
    rank = next((rank for rank in range(p) if kept[rank] > p), None)
    if rank is None:
        return None
    order = words(got[rank])
    seen = (
        f"rank {rank} does {shown(order, 24)}\n  it keeps {kept[rank]:g} micro-batches at a time, and {p} are allowed."
    )
    if order.index("W0") > max(order.index(f"I{i}") for i in range(m)):
        return Finding(seen, "All W come in the end, when every micro-batch is kept. A rank can put off only a few.")
    warmup = order.index("I0") - 1
    if warmup > p - 1 - rank:
        return Finding(
            seen,
            f"{warmup} forward passes come before its turns, and in 1F1B {p - 1 - rank}. More of them shorten the "
            "bubble as well (ZB-H2), for twice the memory.",
        )
    if [late_by(words(each)) for each in got] == [p - 1 - r for r in range(p)]:
        return Finding(seen, WRONG_WAY)
    return Finding(
        seen,
        f"In 1F1B rank {rank} keeps {p - rank} micro-batches, and may keep {p}: so how many W may it be behind with?",
    )


def late_by(order):
    """The most W that the rank is behind with, directly after an I has been followed by its W."""
    behind = most = 0
    for word in order:
        if word[0] == "W":
            most = max(most, behind - 1)
            behind -= 1
        behind += word[0] == "I"
    return most


WRONG_WAY = (
    "The wrong way round: the first rank keeps most already, and others wait for its gradient's way. Who has room to "
    "put W off, the first rank or the last?"
)


def in_time(case, answer):
    """3 m + p - 1 seconds."""
    ((p, m),), (got,) = case.arguments, answer.results
    took, want = simulate(schedule(got), UNIT).makespan, 3 * m + p - 1
    if took <= want:
        return None
    orders = [words(order) for order in got]
    seen = f"it takes {took:g} s; {want} s are possible, and 1F1B takes {3 * (m + p - 1)} s.\n" + "\n".join(
        f"  rank {rank}: {shown(order, 20)}" for rank, order in enumerate(orders[:4])
    )
    turns = [late_by(order) for order in orders]
    if all(late == 0 for late in turns) and p > 1:
        return Finding(
            seen,
            "Every W directly follows its I, or comes as soon as there is one: that is B in two words. When the rank "
            "has an I to do for which the rank before waits, W can come later.",
        )
    if turns == [min(p - 1 - rank, m - 1) for rank in range(p)]:
        return Finding(seen, WRONG_WAY)
    warmups = [order.index("I0") - 1 for order in orders]
    if warmups != [p - 1 - rank for rank in range(p)]:
        return Finding(
            seen,
            "The order of F and I is not 1F1B's: its warm-up is p - 1 - r forward passes on rank r. Move W only.",
        )
    return Finding(
        seen,
        "Where a rank waits for a gradient from behind while it has a W left, or does a W while the rank before waits "
        "for an I, time is lost. How many W should rank r be behind with, so that they just fill the wait in the end?",
    )


fill_the_bubble = Exercise(
    cases=sizes((3, 6), (2, 4), (4, 8), (1, 3), (3, 3), (2, 2)),
    checks=[right_form, in_memory, in_time],
    hints=[
        "Draw p = 3, m = 4 with 1F1B: F, I and W in a row of their own second each. When the last rank has done its "
        "last I, how long is it until rank 0 has done its last? Nobody has anything else to do then: unless W is left.",
        "F and I stay as they are in 1F1B. The last rank can be behind with p - 1 W all the time, the first with "
        "none; and between them?",
        "Rank r does W of micro-batch i - r directly after I of micro-batch i, if there is one; the r that are left "
        "come in the end.",
    ],
)

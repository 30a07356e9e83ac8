"""Level 5 of chapter 9, speed up: how many micro-batches, and what to do in a bubble."""

import math
from typing import NamedTuple

from exercises.grading import Case, Exercise, Finding, checks
from exercises.grading.returns import Returns
from reference.pipeline.schedules.plain import one_f_one_b
from reference.pipeline.simulate import UNIT, activations, simulate

from .common import never_ends, no_order, schedule, shown, words, written

# How many ------------------------------------------------------------------------------------------------------------


class Given(NamedTuple):
    """The arguments."""

    batch: int
    p: int
    fixed: int
    slope: int
    alpha: int
    beta: int
    weights: int
    kept: int
    memory: int


def divisors(given):
    return [m for m in range(1, given.batch + 1) if given.batch % m == 0]


def forward(given, b):
    return given.fixed + b * given.slope


def message(given, b):
    return given.alpha + b * given.beta


def step(given, m, b):
    """Microseconds of a step."""
    return 3 * (m + given.p - 1) * forward(given, b)


def needed(given, m, b):
    """Bytes on the first rank."""
    return given.weights + min(m, given.p) * b * given.kept


def best(
    given, seconds=step, longest=lambda given, m, b: forward(given, b), waits=message, bytes=needed, counts=divisors
):
    """The best m, or what somebody takes for it who has other times, other conditions, or other candidates."""
    tried = [(m, given.batch // m) for m in counts(given)]
    able = [(m, b) for m, b in tried if waits(given, b) <= longest(given, m, b) and bytes(given, m, b) <= given.memory]
    return min(able, key=lambda one: (seconds(given, *one), one[0]), default=(None, None))[0]


def taking(**other):
    """What somebody returns who has other ones."""
    return lambda *arguments: best(Given(*arguments), **other)


def root(given):
    """The best m if any number would do."""
    return math.sqrt((given.p - 1) * given.batch * given.slope / given.fixed)


OTHER_CHOICES = [
    (
        taking(bytes=lambda g, m, b: g.weights + g.batch * g.kept),
        "As if all m micro-batches were kept, as in GPipe: these are the batch, whatever m is. How many does a rank "
        "keep at a time with 1F1B?",
    ),
    (
        taking(bytes=lambda g, m, b: g.weights + b * g.kept),
        "There is room for one micro-batch; the first rank keeps more at a time.",
    ),
    (
        taking(bytes=lambda g, m, b: g.weights + g.p * b * g.kept),
        "p micro-batches are kept only where there are as many.",
    ),
    (
        taking(bytes=lambda g, m, b: needed(g, m, b) - g.weights),
        "The weights need room as well, beside the activations.",
    ),
    (taking(bytes=lambda g, m, b: 0), "It does not fit: how many micro-batches are kept at a time?"),
    (
        taking(seconds=lambda g, m, b: -m, waits=lambda g, b: 0, bytes=lambda g, m, b: g.weights + m * g.kept),
        "The largest m for which m activations fit: but an activation of what? With twice the m each is half.",
    ),
    (
        taking(waits=lambda g, b: 0),
        "The messages are not hidden: each must be there before the next forward pass of a micro-batch is through.",
    ),
    (
        taking(waits=lambda g, b: message(g, b) + 1),
        "A message that takes just as long as a forward pass is hidden: none may take longer.",
    ),
    (taking(bytes=lambda g, m, b: needed(g, m, b) + 1), "What fills the memory to the last byte has room."),
    (
        taking(longest=lambda g, m, b: 2 * forward(g, b)),
        "Not all messages meet a backward pass: none may take longer than a forward pass, the shorter of the two.",
    ),
    (
        taking(counts=lambda g: [m for m in divisors(g) if m >= g.p]),
        "There may be fewer micro-batches than ranks. Then some ranks are idle for long; but is the step longer?",
    ),
    (
        taking(longest=lambda g, m, b: 3 * forward(g, b)),
        "A message may take as long as a forward pass, and not as long as forward and backward together.",
    ),
    (
        taking(waits=lambda g, b: b * g.beta),
        "As if the latency alpha did not count. It is what speaks against small micro-batches: bytes and seconds both "
        "go with b, and alpha does not.",
    ),
    (
        taking(longest=lambda g, m, b: step(g, m, b) / 2 / m),
        "As if all messages of a step together had to fit into it. That bounds m by bytes that do not depend on it. "
        "Ask of one message: is it through when the next pass is?",
    ),
    (
        taking(seconds=lambda g, m, b: (m + g.p - 1) * b * g.slope),
        "The most micro-batches that will do: the smallest bubble, and not the shortest step. Each pass costs `fixed`, "
        "however small it is.",
    ),
    (
        taking(seconds=lambda g, m, b: m * forward(g, b)),
        "Without the bubble the fewest micro-batches are always best. A step is m + p - 1 passes long, not m.",
    ),
    (
        taking(seconds=lambda g, m, b: (m + g.p) * forward(g, b)),
        "m + p passes are one too many: the first micro-batch is on the last rank after p - 1.",
    ),
    (
        taking(counts=lambda g: [m for m in divisors(g) if m >= 4 * g.p]),
        "At least 4 p micro-batches make the bubble smaller than 20 %. That may be many too many: what do they cost?",
    ),
    (
        taking(seconds=lambda g, m, b: abs(m - root(g))),
        "The formula gives the best m if any number would do. The best of those that will do need not be the nearest.",
    ),
    (taking(seconds=lambda g, m, b: (step(g, m, b), -m)), "Two are equally quick: the smaller m is asked for."),
    (taking(counts=lambda g: range(1, g.batch + 1)), "It must be cut into micro-batches of equal size: m b = batch."),
    (
        lambda *arguments: (m := best(Given(*arguments))) and arguments[0] // m,
        "That is b, the samples of a micro-batch. Asked for is m.",
    ),
]


def whole_number(case, results):
    """m or None."""
    (arguments,), (got,) = case.arguments, results
    if isinstance(got, float) and got == best(Given(*arguments)):
        return Finding(f"it returned {got!r}.", "A number of micro-batches is a whole number: // in place of /.")
    if type(got) not in (int, type(None)):
        return Finding(f"it returned {got!r:.80}.", "Return a whole number, or None.")
    return None


def what_it_leads_to(case, results, right):
    """Seconds and bytes of the m that was chosen."""
    given, (m,), (want,) = Given(*case.arguments[0]), results, right
    right = (
        "None, as none will do"
        if want is None
        else f"{want}, with {step(given, want, given.batch // want):,} us a step"
    )
    if m is None:
        return f"it returned None; right is {right}."
    if m < 1 or given.batch % m:
        return f"it returned {m}; {given.batch} samples cannot be cut into {m} equal micro-batches; right is {right}."
    b = given.batch // m
    facts = [f"{step(given, m, b):,} us a step"]
    if needed(given, m, b) > given.memory:
        facts.append(f"{needed(given, m, b):,} bytes of {given.memory:,}")
    if message(given, b) > forward(given, b):
        facts.append(f"messages of {message(given, b):,} us in passes of {forward(given, b):,} us")
    return f"it returned {m}; that is {', '.join(facts)}; right is {right}."


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


def could(slip, *arguments):
    """Whether a mistake makes no difference in the fixed cases before this one, which were answered rightly."""
    same = lambda case: case[:2] == arguments[:2] and case[2] * arguments[3] == case[3] * arguments[2]  # noqa: E731
    before = CHOICES[: next((k for k, case in enumerate(CHOICES) if same(case)), len(CHOICES))]
    return all(slip(*case) == best(Given(*case)) for case in before)


def choices(rng):
    """Cases of choose_micro_batches: fixed ones in other units of time and memory, and some that are drawn."""
    drawn = [
        rng.integers([90, 2, 5, 1, 0, 0, 0, 1, 300], [900, 9, 50, 9, 30, 5, 100, 5, 900]).tolist() for _ in range(3)
    ]
    for batch, p, *numbers in [*CHOICES, *drawn]:
        units = [int(rng.integers(2, 9))] * 4 + [int(rng.integers(2, 9))] * 3
        arguments = (batch, p, *(number * unit for number, unit in zip(numbers, units)))
        yield Case(", ".join(f"{name} = {value}" for name, value in zip(Given._fields, arguments)), (arguments,))


choose_micro_batches = Exercise(
    cases=choices,
    checks=[
        Returns(
            taking(),
            OTHER_CHOICES,
            otherwise="Write down for each m that divides the batch: the time of a step, the memory of the first rank, "
            "the time of a message and that of a forward pass. Which are ruled out, and which is the quickest of the "
            "others? (If none is left: is one of the two conditions too strict?)",
            seen=what_it_leads_to,
            form=whole_number,
            could=could,
        )
    ],
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
    if order.index("I0") - 1 > p - 1 - rank:
        return Finding(
            seen,
            f"{order.index('I0') - 1} forward passes come before its turns, and in 1F1B {p - 1 - rank}. More of them, "
            "for twice the memory, make the whole no shorter (ZB-H2).",
        )
    if [late_by(each) for each in got] == [p - 1 - r for r in range(p)]:
        return Finding(seen, WRONG_WAY)
    puts_off = (
        f"In 1F1B rank {rank} keeps {p - rank} micro-batches, and may keep {p}: so how many W may it be behind with?"
    )
    return Finding(seen, puts_off if as_in_1f1b(got, m) else ANOTHER_ORDER)


def late_by(order):
    """The most W that the rank is behind with, directly after one of them."""
    kinds = [word[0] for word in order]
    return max(kinds[:k].count("I") - kinds[: k + 1].count("W") for k, kind in enumerate(kinds) if kind == "W")


def as_in_1f1b(orders, m):
    """Whether F and I are in 1F1B's order, on every rank."""
    right = [[word.replace("B", "I") for word in written(order)] for order in one_f_one_b(len(orders), m)]
    return [[word for word in order if word[0] != "W"] for order in orders] == right


ANOTHER_ORDER = (
    "The order of F and I is not 1F1B's, which has p - 1 - r forward passes on rank r, and then one F and one I in "
    "turn. Leave that as it is, and move W only."
)
WRONG_WAY = (
    "The wrong way round: the first rank keeps most already, and there is no rank before it that waits for its I. Who "
    "has room to put W off, the first rank or the last?"
)


def in_time(case, answer):
    """3 m + p - 1 seconds."""
    ((p, m),), (got,) = case.arguments, answer.results
    took, want = simulate(schedule(got), UNIT).makespan, 3 * m + p - 1
    if took <= want:
        return None
    whole = f"1F1B with whole backward passes takes {3 * (m + p - 1)} s"
    rows = (f"  rank {rank}: {shown(words(order), 20)}" for rank, order in enumerate(got[:4]))
    seen = "\n".join([f"it takes {took:g} s; {want} s are possible, and {whole}.", *rows])
    if not as_in_1f1b(got, m):
        return Finding(seen, ANOTHER_ORDER)
    late = [late_by(order) for order in got]
    if not any(late):
        return Finding(
            seen,
            "No I comes between an I and its W. When the rank has an I to do for which the rank before waits, W can "
            "come later.",
        )
    if late == [min(p - 1 - rank, m - 1) for rank in range(p)]:
        return Finding(seen, WRONG_WAY)
    return Finding(
        seen,
        "Where a rank waits for a gradient from behind while it has a W left, or does a W while the rank before waits "
        "for an I, time is lost. How many W should rank r be behind with, so that they just fill the wait in the end?",
    )


fill_the_bubble = Exercise(
    cases=sizes((3, 6), (2, 4), (4, 8), (1, 3), (3, 3), (2, 2), (9, 25)),
    checks=[right_form, in_memory, in_time],
    hints=[
        "Draw p = 3, m = 4 with 1F1B: F, I and W in a row of their own second each. When the last rank has done its "
        "last I, how long is it until rank 0 has done its last? Nobody has anything else to do then: unless W is left.",
        "F and I stay as they are in 1F1B. The last rank can be behind with p - 1 W all the time, the first with "
        "none; and between them?",
        "Three ranks: rank 0 does F0 F1 F2 I0 W0 F3 I1 W1 ..., rank 2 F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 ..., and in the "
        "end the two W that are left. And rank 1?",
    ],
)

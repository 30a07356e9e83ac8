"""Level 2 of chapter 12, fill in: which outputs of a block to keep."""

from exercises.grading import Exercise, Finding, inputs
from exercises.grading.numbers import listed, short
from exercises.grading.returns import Returns, so_far


def again(operators, needed, kept, whole=True):
    """The names of what is computed again; or of what is needed alone."""
    found, asked = set(), list(needed)
    while asked:
        name = asked.pop()
        if name in operators and name not in kept and name not in found:
            found.add(name)
            asked += operators[name][0] if whole else []
    return found


def size(operators, kept):
    return sum(operators[name][1] for name in kept)


def seconds(operators, needed, kept, whole=True):
    return sum(operators[name][2] for name in again(operators, needed, kept, whole))


def choices(operators):
    names = list(operators)
    return ([name for place, name in enumerate(names) if bits >> place & 1] for bits in range(2 ** len(names)))


def fewest(operators, needed, budget, price=seconds, limit=size):
    """The choice that makes a price least, within a limit."""
    allowed = (kept for kept in choices(operators) if limit(operators, kept) <= budget)
    return min(allowed, key=lambda kept: price(operators, needed, kept), default=[])


def priced(price):
    return lambda *given: fewest(*given, price=price)


def greedy(key):
    """Outputs in the order of key(operators, name), as long as they fit."""

    def choose(operators, needed, budget):
        kept = []
        for name in sorted(operators, key=lambda name: key(operators, name)):
            if size(operators, [*kept, name]) <= budget:
                kept.append(name)
        return kept

    return choose


def kept_at_first(operators, needed, kept):
    """As if only what the backward pass reads itself could be kept."""
    return seconds(operators, [name for name in needed if name not in kept], [])


def in_order(operators, needed, budget):
    """What is needed, as it comes, as long as it fits."""
    return greedy(lambda operators, name: 0)({name: operators[name] for name in needed}, needed, budget)


def only_needed(operators, needed, budget):
    """As if nothing else could be kept."""
    allowed = [kept for kept in choices(operators) if set(kept) <= set(needed) and size(operators, kept) <= budget]
    return min(allowed, key=lambda kept: seconds(operators, needed, kept))


def as_good(got, operators, needed, budget):
    fine = isinstance(got, list) and all(isinstance(name, str) for name in got)
    fits = fine and set(got) <= operators.keys() and len(set(got)) == len(got) and size(operators, got) <= budget
    given = operators, needed
    return fits and seconds(*given, got) == seconds(*given, fewest(*given, budget))


def unchanged(case, answer):
    """`needed` is as it was: else the second choice is judged with what the first one has left of it."""
    now = answer.arguments[0][1]
    if listed(now) == case.arguments[0][1]:
        return None
    return Finding(
        f"needed is {now!r:.60} after the call.",
        "The walk takes names off the list that it goes through. Give it a list of its own for each choice.",
    )


def no_choice(case, results):
    """A list of different names that fits."""
    (got,), (operators, _, budget) = listed(results), case.arguments[0]
    if not isinstance(got, list) or not all(isinstance(name, str) for name in got):
        return Finding(f"it returned {short(got)}.", "Return a list of names, perhaps an empty one.")
    if strange := [name for name in got if name not in operators]:
        return Finding(f"there is no operator {strange[0]!r}.", "Outputs have the names of their operators.")
    if len(set(got)) < len(got):
        return Finding(f"it returned {short(got)}.", "Each output is kept once, or not at all.")
    if size(operators, got) > budget:
        return Finding(
            f"those outputs have {size(operators, got):,} bytes; the budget is {budget:,}.",
            "The outputs that are kept are there together, so their bytes add up. An operator is (inputs, bytes, "
            "seconds).",
        )
    return None


def choice_seen(case, results, right):
    (operators, needed, _), (got,), (want,) = case.arguments[0], results, right
    return (
        f"keeping {got!r:.60}, {seconds(operators, needed, got):,} seconds are computed again; "
        f"{seconds(operators, needed, want):,} are possible."
    )


def some_block(rng, L=6):
    """Operators, each of which is computed from one or two that come before it."""
    operators = {}
    for place in range(L):
        before = ["x", *operators]
        picked = rng.choice(len(before), size=min(len(before), int(rng.integers(1, 3))), replace=False)
        ins = [before[int(i)] for i in sorted(picked)]
        operators["abcdefgh"[place]] = ins, int(rng.integers(1, 20)), int(rng.integers(1, 20))
    needed = [name for name in operators if rng.random() < 0.6] or ["a"]
    return operators, needed, int(rng.integers(10, 40))


CHAIN = {"a": (["x"], 4, 9), "b": (["a"], 4, 1), "c": (["b"], 4, 1), "d": (["c"], 4, 8)}
FIRST = {
    "a": (["x"], 6, 8),
    "b": (["x", "a"], 8, 6),
    "c": (["x", "b"], 12, 9),
    "d": (["b", "c"], 7, 6),
    "e": (["x", "b"], 11, 8),
}
BLOCK = {  # of a GPT: MB and microseconds
    "norm": (["x"], 50, 35),
    "qkv": (["norm"], 151, 480),
    "scores": (["qkv"], 805, 350),
    "softmax": (["scores"], 805, 540),
    "context": (["softmax", "qkv"], 50, 350),
    "sum": (["x", "context"], 50, 210),
    "up": (["sum"], 201, 675),
    "gelu": (["up"], 201, 135),
}
READ = ["norm", "qkv", "softmax", "context", "sum", "up", "gelu"]
CASES = [
    (FIRST, ["b", "c", "d", "e"], 16),
    ({"a": (["x"], 5, 10), "b": (["a"], 5, 1), "c": (["b"], 5, 3)}, ["b", "c"], 5),  # who asks for what
    (CHAIN, ["c", "b", "a", "d"], 8),
    (CHAIN, ["d"], 4),  # what is needed is kept
    (CHAIN, ["b", "c", "d"], 8),
    ({"a": (["x"], 6, 5), "b": (["a"], 9, 1), "c": (["a"], 9, 1)}, ["b", "c"], 8),  # keep what nobody reads
    ({"a": (["x"], 10, 12), "b": (["x"], 6, 8), "c": (["x"], 4, 5)}, ["a", "b", "c"], 10),  # dearest first is wrong
    ({"a": (["x"], 2, 6), "b": (["x"], 10, 20), "c": (["x"], 9, 17)}, ["a", "b", "c"], 10),  # and so is per byte
    ({"a": (["x"], 3, 100), "b": (["a"], 3, 2)}, ["b"], 2),  # no room
    ({"a": (["x"], 3, 100), "b": (["a"], 50, 2)}, ["a", "b"], 60),  # all fits
    ({"a": (["x"], 30, 2), "b": (["x"], 3, 9), "c": (["b"], 20, 15)}, ["a", "b", "c"], 33),  # bytes are no price
]

which_to_recompute = Exercise(
    cases=inputs.calls(
        *CASES,
        some_block,
        some_block,
        some_block,
        (BLOCK, READ, 500),
        names="operators needed budget",
    ),
    checks=[
        unchanged,
        Returns(
            fewest,
            [
                (
                    priced(lambda operators, needed, kept: seconds(operators, needed, kept, whole=False)),
                    "What is computed again needs its own inputs, and these may be gone, too. Ask for them, and for "
                    "theirs.",
                ),
                (
                    priced(lambda operators, needed, kept: seconds(operators, needed, kept) + size(operators, kept)),
                    "Bytes and seconds are added up: which unit has the sum? Bytes are limited by the budget; what is "
                    "made small are seconds.",
                ),
                (
                    priced(lambda operators, needed, kept: seconds(operators, operators, kept)),
                    "As if the backward pass read every output. It reads those in `needed`.",
                ),
                (
                    priced(kept_at_first),
                    "What is computed again takes an input from where it is kept: only what is not kept asks for more.",
                ),
                (
                    in_order,
                    "What is needed first was kept, as long as it fits. What comes later may take longer, or spare "
                    "others.",
                ),
                (
                    priced(lambda operators, needed, kept: len(again(operators, needed, kept))),
                    "As few operators as possible are computed again. They take different times: add up seconds.",
                ),
                (
                    lambda *given: [],
                    "Nothing is kept, so everything is computed again. Bytes only have to stay within the budget; what "
                    "is made small are the seconds of what is not kept.",
                ),
                (
                    only_needed,
                    "Only what the backward pass reads was considered. To keep another output may spare what several "
                    "are computed from.",
                ),
                (
                    greedy(lambda operators, name: -operators[name][2]),
                    "What takes longest was kept first, as long as it fits. Two smaller ones may spare more in its "
                    "room.",
                ),
                (
                    greedy(lambda operators, name: -operators[name][2] / operators[name][1]),
                    "What takes most seconds for each byte was kept first. Room may be left over, and what an operator "
                    "spares depends on what else is kept.",
                ),
            ],
            otherwise="Begin with what is needed. What of it is kept costs nothing. What is not is computed again, "
            "once, "
            "and asks for its inputs. Which seconds does that make?",
            seen=choice_seen,
            form=no_choice,
            read=lambda kept: sorted(listed(kept)),
            accepts=as_good,
            could=so_far(CASES, lambda kept, given: as_good(kept, *given)),
        ),
    ],
    endings={
        "___": "A blank is not filled in yet: replace each ___ by an expression.",
        "unhashable": "A list was asked for, not a name: operators[name] is (inputs, bytes, seconds).",
        "cpu": "The walk does not end: a name that is asked for must be taken off the list.",
    },
    hints=[
        "The blanks, in their order: the bytes of what is kept; the first names to ask for; when a name has to be "
        "computed again; for what that asks in turn; what all of this costs.",
        "operators[name] is (inputs, bytes, seconds), so operators[name][1] are bytes.",
        "A name is computed again if it is not in kept (and not in again already); then it asks for "
        "operators[name][0]. The cost is the sum of operators[name][2] over again.",
    ],
)

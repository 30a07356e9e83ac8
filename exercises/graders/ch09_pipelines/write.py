"""Level 3 of chapter 9, write: orders with rounds and with several stages, a proof, a cut, two parts, old weights."""

import bisect
import itertools
import math

import numpy as np

from exercises.grading import Case, Distributed, Exercise, Finding, checks, inputs
from exercises.grading.exercise import ALPHA, BETA
from exercises.grading.returns import Returns
from reference.pipeline.schedules.plain import gpipe, naive, one_f_one_b
from reference.pipeline.simulate import Costs, simulate

from .common import consequence, no_order, shown, words, written

# GPipe ---------------------------------------------------------------------------------------------------------------


def rounds(m, size, backward=reversed):
    """Forward and backward in rounds of `size` micro-batches; backward in GPipe's order or another."""
    groups = [range(start, min(start + size, m)) for start in range(0, m, size)]
    return [word for group in groups for word in [*(f"F{i}" for i in group), *(f"B{i}" for i in backward(list(group)))]]


def even_rounds(m, fits):
    """As few rounds as possible, of nearly the same length."""
    parts = np.array_split(np.arange(m), math.ceil(m / fits))
    return [word for part in parts for word in [*(f"F{i}" for i in part), *(f"B{i}" for i in part[::-1])]]


def short_first(m, fits):
    """What is left over comes first."""
    starts = [0, *range(m % fits or fits, m, fits), m]
    groups = [range(*both) for both in itertools.pairwise(starts)]
    return [word for group in groups for word in [*(f"F{i}" for i in group), *(f"B{i}" for i in reversed(group))]]


def as_soon_as_there_is_room(m, fits):
    """A window that slides: what has gone backward makes room for the next one."""
    first = [f"F{i}" for i in range(min(fits, m))]
    middle = [word for i in range(m - len(first)) for word in (f"B{i}", f"F{i + len(first)}")]
    return first + middle + [f"B{i}" for i in range(m - len(first), m)]


OTHER_ROUNDS = [
    (
        lambda m, fits: rounds(m, m),
        "All forward passes come first, whatever fits: then all m micro-batches are kept at a time.",
    ),
    (
        lambda m, fits: rounds(m, 1),
        "One micro-batch at a time, forward and backward: that is the naive order, in which only one stage ever works. "
        "More than one fits.",
    ),
    (
        lambda m, fits: rounds(m, math.ceil(m / fits)),
        "`fits` is how many micro-batches a round has, and not how many rounds there are.",
    ),
    (
        lambda m, fits: rounds(m, fits, list),
        "In your rounds the first micro-batch goes backward first. That takes no longer; but in GPipe the last one "
        "does, whose activations are at hand, and need not be computed anew where others' are.",
    ),
    (
        as_soon_as_there_is_room,
        "In yours the next micro-batch comes as soon as one has gone backward, as in 1F1B. But there later stages have "
        "a shorter warm-up; with the same on all of them this is slower than rounds. GPipe finishes a round first.",
    ),
    (even_rounds, "As many micro-batches as fit in each round; only the last may be shorter."),
    (short_first, "The first round is the short one. All but the last have as many micro-batches as fit."),
    (
        lambda m, fits: (
            [word for word in rounds(m, fits) if word[0] == "F"] + [word for word in rounds(m, fits) if word[0] == "B"]
        ),
        "The rounds' forward passes all come before the first backward pass, so nothing makes room for the next round.",
    ),
]


def whole_rounds(case, results):
    """Every pass is there, once."""
    ((m, fits),), (got,) = case.arguments, results
    finding = no_order(got, "it", [f"{kind}{i}" for kind in "FB" for i in range(m)])
    there = set(words(got) or ())
    if finding is not None and f"F{m}" in there:
        return finding._replace(
            hint="The last round goes past the end: it has as many micro-batches as are left, and not more."
        )
    if finding is not None and "never done" in finding.seen and m % fits and "F0" in there and f"F{m - 1}" not in there:
        return finding._replace(
            hint="What is left over when `fits` does not divide m is a round as well, a shorter one."
        )
    return finding


def on_three_stages(case, orders, right):
    """The order, and what it leads to."""
    follows = consequence(orders * 3, right * 3, what="GPipe").replace("the step", "on 3 stages it")
    return f"it is {shown(orders[0])}\n{follows}"


gpipe_order = Exercise(
    cases=inputs.calls(
        (5, 3),
        (8, 2),
        (7, 2),
        (7, 5),
        (4, 4),
        (3, 7),
        (3, 1),
        (1, 1),
        lambda rng: (int(rng.integers(9, 15)), int(rng.integers(4, 7))),
        (500, 120),
        names="m fits",
    ),
    checks=[
        Returns(
            rounds,
            OTHER_ROUNDS,
            otherwise="A round: forward passes in order, then the same micro-batches backward, last one first. Then "
            "the next round.",
            seen=on_three_stages,
            form=whole_rounds,
            read=words,
        )
    ],
    endings={"ValueError": "range() wants a step of at least 1, and a list has no negative number of elements."},
    hints=[
        "First without a limit: which forward passes, then which backward passes? range(m) and reversed(range(m)).",
        "A round begins with micro-batch 0, fits, 2 fits, ...: range(0, m, fits). Where does it end?",
        "It ends before min(start + fits, m).",
    ],
)


# Interleaved ---------------------------------------------------------------------------------------------------------


def looping(p, m, v, rank, ahead=None, size=None, up=False, last_first=False, stages=None):
    """An interleaved order, or somebody's version of it.

    ahead: the warm-up if it is another one; size: of a group; up: backward from the first stage; last_first: micro-
    batches backward in reverse order; stages: those of the rank
    """
    stages = stages or [c * p + rank for c in range(v)]
    groups = [range(start, min(start + (size or p), m)) for start in range(0, m, size or p)]
    forward = [f"{s}F{i}" for group in groups for s in stages for i in group]
    backward = [
        f"{s}B{i}"
        for group in groups
        for s in (stages if up else stages[::-1])
        for i in (reversed(group) if last_first else group)
    ]
    warmup = (v - 1) * p + 2 * (p - 1 - rank) if ahead is None else ahead
    warmup = min(max(warmup, 0), len(forward))
    turns = [word for both in zip(forward[warmup:], backward) for word in both]
    return forward[:warmup] + turns + backward[len(forward) - warmup :]


OTHER_LOOPS = [
    (
        lambda p, m, v, r: looping(p, m, v, r, ahead=m * v),
        "All your forward passes come first: that keeps all micro-batches. After the warm-up the passes take turns.",
    ),
    (
        lambda p, m, v, r: looping(p, m, v, r, ahead=(v - 1) * p + (p - 1 - r)),
        "Each of your ranks is one pass ahead of the next. That is as quick where messages take no time; asked for "
        "are two, so that a message can travel.",
    ),
    (
        lambda p, m, v, r: looping(p, m, v, r, ahead=p - 1 - r),
        "That is the warm-up of 1F1B with one stage a rank. Micro-batch 0 has to go round until it is on the last of "
        "all stages: how many passes has the last rank done by then?",
    ),
    (
        lambda p, m, v, r: looping(p, m, v, r, ahead=2 * (p - 1 - r)),
        "The warm-up lacks the passes for which micro-batch 0 goes round: the last rank has none, and it needs (v - 1) "
        "p, or it is to go backward before it has been at the last stage.",
    ),
    (
        lambda p, m, v, r: looping(p, m, v, r, ahead=v * p + 2 * (p - 1 - r)),
        "v p passes for going round are p too many: in the last of the v rounds the turns have begun.",
    ),
    (
        lambda p, m, v, r: looping(p, m, v, r, ahead=(v - 1) * p + 2 * (p - r)),
        "The warm-up is two passes too long on each rank. Ranks are numbered from 0: the last one is p - 1, and has "
        "none before its (v - 1) p.",
    ),
    (
        lambda p, m, v, r: looping(p, m, v, r, ahead=(v - 1) * p + 2 * (p - 1 - r) + 1),
        "The warm-up is one pass too long: taking turns begins with a forward pass of its own.",
    ),
    (
        lambda p, m, v, r: looping(p, m, v, r, ahead=(v - 1) * p + 2 * (p - 1 - r) - 1),
        "The first backward pass comes one forward pass too early: the warm-up of the last rank is (v - 1) p passes, "
        "and taking turns begins with one more.",
    ),
    (
        lambda p, m, v, r: looping(p, m, v, r, ahead=(v - 1) * p + 2 * r),
        "The warm-ups are the wrong way round: the first rank has to begin the most.",
    ),
    (
        lambda p, m, v, r: looping(p, m, v, r, ahead=(v - 1) * m + 2 * (p - 1 - r)),
        "It is p micro-batches that go round together, and not all m: (v - 1) p.",
    ),
    (
        lambda p, m, v, r: looping(p, m, v, r, up=True),
        "In your groups the backward passes begin with the rank's first stage. Where does a gradient come from first?",
    ),
    (
        lambda p, m, v, r: looping(p, m, v, r, last_first=True),
        "In your stages the last micro-batch of a group goes backward first. It should be the first one, as in 1F1B: "
        "that is the first to come back.",
    ),
    (
        lambda p, m, v, r: looping(p, m, v, r, size=m),
        "One group of all m micro-batches: that is breadth first. A group has p: when the last of them has left rank "
        "0, the first comes round to it again.",
    ),
    (
        lambda p, m, v, r: looping(p, m, v, r, size=1),
        "In yours a micro-batch goes through all stages of the rank before the next one begins: the rank waits while "
        "it goes round. With p micro-batches in a group there is always one to do.",
    ),
    (
        lambda p, m, v, r: looping(p, m, v, r, size=v),
        "Your groups have v micro-batches. It takes p passes to come round p ranks, so they have p.",
    ),
]


def in_a_row(p, v, rank):
    """The stages of a rank that has neighbouring ones."""
    return [rank * v + c for c in range(v)]


def orders_of_ranks(case, results):
    """Every rank has an order with every pass of its own stages in it, once."""
    p, m, v, _ = case.arguments[0]
    for rank, got in enumerate(results):
        wanted = looping(p, m, v, rank)
        there = words(got) or [""]
        if set(there) == set(looping(p, m, v, rank, stages=in_a_row(p, v, rank))) != set(wanted):
            return Finding(
                f"rank {rank} does {shown(there)}",
                f"Rank {rank} has stages {rank}, {rank + p}, ..., and not neighbouring ones: then micro-batches come "
                "round, and the bubble is short.",
            )
        finding = no_order(got, f"rank {rank}", wanted)
        if finding is not None and (v - 1) * p + 2 * (p - 1 - rank) > m * v:
            hint = "The warm-up would be longer than there are forward passes: it has m v at most."
            return finding._replace(hint=hint)
        if finding is not None:
            return finding
    return None


def what_a_rank_does(case, orders, right):
    """The first rank that is wrong, and what the pipeline does with such orders."""
    rank = next(rank for rank, order in enumerate(orders) if order != right[rank])
    follows = consequence(orders, right, "rank", "the interleaved schedule")
    return f"rank {rank} of {case.ranks} does {shown(orders[rank])}\n{follows}"


def loops(*sizes):
    """Cases (p, m, v): every rank is one call."""

    def cases(rng):
        some = int(rng.integers(3, 5))
        for p, m, v in (*sizes, (some, 3 * some, int(rng.integers(2, 4)))):
            label = f"{p} ranks, {m} micro-batches, {v} stages each"
            yield Case(label, tuple((p, m, v, rank) for rank in range(p)))

    return cases


interleaved_order = Exercise(
    cases=loops((3, 9, 2), (2, 2, 3), (4, 8, 3), (4, 4, 2), (3, 6, 1), (1, 3, 2)),
    checks=[
        Returns(
            looping,
            OTHER_LOOPS,
            otherwise="First write the list of all forward passes of the rank, and that of all backward passes, each "
            "in its order. Are these right? Then only the warm-up decides how they are mixed.",
            seen=what_a_rank_does,
            form=orders_of_ranks,
            read=words,
        )
    ],
    hints=[
        "Two lists first: all forward passes of the rank, and all backward passes. Three nested loops each: groups, "
        "stages, micro-batches.",
        "group in range(0, m, p); stages rank, rank + p, ..., backward the other way; i from group to group + p - 1.",
        "warmup = min((v - 1) p + 2 (p - 1 - rank), m v). Then as in stage_order: take from the two lists in turn.",
    ],
)


# A proof -------------------------------------------------------------------------------------------------------------


def wrong(
    rows,
    by_rank=False,
    late=True,
    own=True,
    other=True,
    twice=True,
    missing=True,
    behind=1,
    last=False,
    digits=None,
    inside=False,
):
    """The first wrong action of a drawing; or what somebody takes for it.

    by_rank   looks through the first row, then the second, ...
    late      in an earlier column, and not in the same one (late=False) or anywhere (late=None)
    own, other, twice, missing    whether this is asked
    behind    where a backward pass comes from: 1 the rank behind, -1 the rank before
    last      of a pass that is drawn twice the last place is kept
    digits    how many of a micro-batch's digits are read, counted from the first one
    inside    a pass counts as done where its name stands in that of another one
    """
    p, columns = len(rows), len(rows[0])
    drawn = [(t, r, row[t]) for r, row in enumerate(rows) for t in range(columns) if row[t]]
    place = {}
    for t, r, word in drawn:
        for name in [word[:end] for end in range(2, len(word) + 1)] if inside else [word]:
            place[r, name] = t if last else place.get((r, name), t)

    def is_wrong(t, r, word):
        kind, i = word[0], word[1:][:digits]
        needed = [(r - 1 if kind == "F" else r + behind, word)] if other else []
        needed += [(r, f"F{i}")] if kind == "B" and own else []
        limit = {True: t, False: t + 1, None: columns}[late]
        needed = [place.get(need, columns) for need in needed if 0 <= need[0] < p]
        return any(when >= limit for when in needed) or (twice and word in rows[r][:t])

    order = sorted(drawn, key=lambda each: (each[1], each[0]) if by_rank else each[:2])
    found = next(((r, t) for t, r, word in order if is_wrong(t, r, word)), None)
    if found or not missing:
        return found
    micro = {word[1:] for _, _, word in drawn}
    return next(
        ((r, columns) for r in range(p) if any((r, kind + i) not in place for kind in "FB" for i in micro)), None
    )


def told(**other):
    """What somebody finds who looks in another way."""
    return lambda rows: wrong(rows, **other)


def column_first(rows):
    """The two numbers have changed places."""
    return wrong(rows) and wrong(rows)[::-1]


def last_column(rows):
    """What is missing is looked for in the last column."""
    found = wrong(rows)
    return found and (found[0], min(found[1], len(rows[0]) - 1))


OTHER_PROOFS = [
    (column_first, "First the rank, then the column."),
    (last_column, "It is the rank. For what is missing the number of columns is asked for, one beyond the last."),
    *[
        (told(digits=digits), "Micro-batches may have several digits: all that follows the letter is the number.")
        for digits in (1, 2)
    ],
    (
        told(late=False),
        "In the same column both ranks work at the same time, and what is needed is not there yet: strictly earlier.",
    ),
    (told(inside=True), "There are F1 and F10: the one is found in the text of the other. Compare whole names."),
    (told(late=None), "It is needed, and it is there; but is it there in time? Compare the columns."),
    (told(own=False), "Does a backward pass on the last rank need anything? Its own forward pass."),
    (told(other=False), "Own passes are not enough: something has to come from another rank."),
    (
        told(last=True),
        "A pass that is drawn twice has been done since its first place. (A dictionary keeps the last one.)",
    ),
    (told(behind=-1), "Gradients go the other way: a backward pass needs that on the rank behind, r + 1."),
    (
        told(by_rank=True),
        "There is one further left, on a rank below: look through column after column, in each from rank 0 on.",
    ),
    (told(twice=False), "That pass is done a second time. What is needed is there, and it is wrong all the same."),
    (
        told(missing=False),
        "Everything is where it can be, and a pass is missing: what has been begun is to be finished on every rank.",
    ),
]


def a_place(case, results):
    """(rank, column) or None."""
    (got,) = map(checks.listed, results)
    if got is None or (isinstance(got, list) and len(got) == 2 and all(type(each) is int for each in got)):
        return None
    return Finding(f"it returned {got!r:.80}.", "Return (rank, column), or None if all is right.")


def what_was_found(case, results, right):
    """The drawing, the place that was found, and that which is right."""
    ((rows,),), (got,), (want,) = case.arguments, results, right
    return f"{picture(rows)}\n  it found {said(rows, got)}; right is {said(rows, want)}."


def picture(rows):
    """A drawing as text."""
    return "\n".join(
        f"  rank {r}:  " + " ".join(f"{word or '.':3}" for word in row).rstrip() for r, row in enumerate(rows)
    )


def said(rows, place):
    """A place in words."""
    if place is None:
        return "nothing wrong"
    r, t = place
    if t == len(rows[0]):
        return f"something missing on rank {r}, ({r}, {t})"
    word = rows[r][t] if 0 <= r < len(rows) and 0 <= t < len(rows[0]) else ""
    return f"{word or 'nothing'} on rank {r} in column {t}, ({r}, {t})"


def draw(made, forward=1, backward=1):
    """A schedule as it runs, as rows; passes that take two seconds leave one of them empty."""
    times = simulate(made, Costs(F=forward, B=backward))
    rows = [[""] * int(times.makespan) for _ in made]
    for r, order in enumerate(made):
        for action, start in zip(written(order), times.starts[r]):
            rows[r][int(start)] = action
    return rows


def lecture(p, m):
    """Each rank goes backward as soon as it has been forward."""
    columns = 2 * m + p - 1
    return [
        [*[""] * r, *(f"F{i}" for i in range(m)), *(f"B{i}" for i in range(m)), *[""] * (columns - 2 * m - r)]
        for r in range(p)
    ]


def drawings(rng):
    """Drawings with one mistake each, then others."""
    p, m = int(rng.integers(3, 5)), int(rng.integers(4, 7))
    many = draw(one_f_one_b(2, 12))
    a, b = many[1].index("F10"), many[1].index("B10")
    many[1][a], many[1][b] = "B10", "F10"
    endless, early = draw(one_f_one_b(3, 300)), draw(one_f_one_b(3, 300))
    a, b = early[2].index("F250"), early[2].index("B250")
    early[2][a], early[2][b] = "B250", "F250"
    rows = [
        ("1F1B as it runs", draw(one_f_one_b(3, 4))),
        ("rank 0 does nothing", [["", "", ""], ["F0", "B0", ""]]),
        ("a forward pass missing", [["F0", "", "B0"], ["", "B0", ""]]),
        ("what is drawn in a lecture", lecture(3, 2)),
        ("GPipe", draw(gpipe(3, 3))),
        ("a forward pass in the column of the one before", [["F0", "", "B0"], ["F0", "B0", ""]]),
        ("a backward pass in the column of the one behind", [["F0", "", "B0", ""], ["", "F0", "B0", ""]]),
        ("the last rank goes backward too early", [["", "F0", "", "B0"], ["B0", "", "F0", ""]]),
        ("a pass twice", [["F0", "F0", "", "B0"], ["", "F0", "B0", ""]]),
        ("a pass twice, later", [["F0", "", "", "B0", ""], ["", "F0", "B0", "", "F0"]]),
        ("a pass twice, and another one needs it", [["F0", "", "B0", "", "F0"], ["", "F0", "B0", "", ""]]),
        ("a backward pass missing", [["F0", "", "", ""], ["", "F0", "B0", ""]]),
        ("a micro-batch that the last rank does not do", [["F0", "F1", "", "B0"], ["", "F0", "B0", ""]]),
        ("two wrong ones", [["F0", "F1", "B0", "", "", "B1"], ["F1", "F0", "", "B0", "B1", ""]]),
        ("two wrong ones in a column", [["F0", "B0", "", ""], ["", "B0", "F0", ""]]),
        ("one rank", [["F0", "B0", "F1", "B1"]]),
        ("one rank, a pass missing", [["F0", "", ""]]),
        ("nothing drawn", [["", ""], ["", ""]]),
        ("naive, with time to spare", draw(naive(3, 2), backward=2)),
        ("more than ten micro-batches", many),
        ("micro-batch 10 before micro-batch 1", [["F10", "F1", "", "B10", "B1"], ["F1", "F10", "B10", "B1", ""]]),
        ("micro-batch 10, and a backward pass of 1", [["F10", "B1", "F1", "B10"]]),
        ("micro-batches 10 and 1, as they may run", [["F10", "F1", "B10", "B1"]]),
        ("micro-batch 1 in part", [["F10", "F1", "B10"]]),
        ("300 micro-batches", endless),
        ("300 micro-batches, and a backward pass before its forward pass", early),
        (
            "300 micro-batches, and a pass missing",
            [["" if word == "B299" else word for word in row] for row in endless],
        ),
    ]
    for _ in range(6):  # two entries of a row exchanged
        row = draw((gpipe, one_f_one_b)[int(rng.integers(2))](p, m))
        r, (a, b) = int(rng.integers(p)), rng.choice(len(row[0]), 2, replace=False)
        row[r][a], row[r][b] = row[r][b], row[r][a]
        rows.append(("two entries of a row exchanged", row))
    for label, each in rows:
        yield Case(label, ((each,),))


first_wrong_action = Exercise(
    cases=drawings,
    checks=[
        Returns(
            wrong,
            OTHER_PROOFS,
            otherwise="Mark in the drawing what each pass needs. Which is the first column in which a pass lacks "
            "something, or comes a second time?",
            seen=what_was_found,
            form=a_place,
            read=lambda got: None if got is None else tuple(got),
        )
    ],
    endings={
        "KeyError": "Something is looked up that has not been done. That is what makes an action wrong: ask first.",
        "IndexError": "An idle entry is an empty string, which has no letter: there is nothing to check. And rank 0 "
        "has no rank before it, the last one none behind.",
        "ValueError": 'An idle entry is an empty string, "", and no pass: skip it.',
    },
    hints=[
        "Go through the columns from left to right, and through the ranks in each. What do you have to know of the "
        "columns to the left? What has been done, and on which rank.",
        "Keep a set of (rank, pass) of the columns to the left, and add a column's passes only after the whole column "
        "has been looked at. Which elements must be in it for a pass to be right, and which must not?",
        "F needs (r - 1, F) unless r is 0; B needs (r, F) and (r + 1, B), the latter unless r is p - 1; neither may be "
        "in the set itself. In the end every rank must have both passes of every micro-batch that occurs.",
    ],
)


# A cut ---------------------------------------------------------------------------------------------------------------


def sums(seconds, sizes):
    """What each stage takes."""
    ends = itertools.accumulate(sizes)
    return [sum(seconds[end - size : end]) for size, end in zip(sizes, ends)]


def least(seconds, p):
    """The smallest possible time of the slowest stage: stages are filled up to a bound, which is halved in."""

    def filled(bound):
        stages, total = 1, 0
        for each in seconds:
            stages, total = (stages, total + each) if total + each <= bound else (stages + 1, each)
        return stages

    bounds = range(max(seconds), sum(seconds))
    return bounds.start + bisect.bisect_left(bounds, True, key=lambda bound: filled(bound) <= p)


def best_cut(seconds, p):
    """One of the best cuts."""
    sizes, total, bound = [0], 0, least(seconds, p)
    for k, each in enumerate(seconds):
        if sizes[-1] and (total + each > bound or len(seconds) - k == p - len(sizes)):
            sizes.append(0)
            total = 0
        sizes[-1] += 1
        total += each
    return sizes


def equal(seconds, p):
    """Equal numbers of layers."""
    return [len(part) for part in np.array_split(seconds, p)]


def until_full(seconds, p, over=False, fair=False):
    """A stage takes layers up to the mean; `over`: the one with which it is passed as well; the last one all the rest.

    fair: the mean of what is left for those that are left
    """
    sizes, k = [], 0
    for r in range(p - 1):
        share = sum(seconds[k:]) / (p - r) if fair else sum(seconds) / p
        size, total = 0, 0
        while len(seconds) - k - size > p - 1 - r:
            if size and (total >= share if over else total + seconds[k + size] > share):
                break
            total += seconds[k + size]
            size += 1
        sizes.append(size)
        k += size
    return [*sizes, len(seconds) - k]


GREEDY = (
    "Cutting by a share, a half or a mean settles each cut for good, and a layer that does not quite fit makes other "
    "stages longer. What is the best cut of the layers before, for each place of the last cut?"
)


def one_layer_each(at):
    """One layer for each stage, and all the others for that `at` one end; of two stages that may come of anything."""

    def sizes(seconds, p):
        if p < 3:
            raise ValueError("too few stages to tell")
        rest = [1] * (p - 1)
        return [*rest, len(seconds) - p + 1] if at else [len(seconds) - p + 1, *rest]

    return sizes


AS_FOR_A_SUM = (
    "All stages but one have one layer, as if every cut were as good as any other. That is so for the sum over all "
    "stages, which no cut changes. The slowest stage counts, the largest of their sums."
)
OTHER_CUTS = [
    (
        equal,
        "Your stages have equal numbers of layers. Layers differ: an embedding takes no time, and a head more than a "
        "block.",
    ),
    *[(one_layer_each(at), AS_FOR_A_SUM) for at in (0, 1)],
    *[
        (lambda seconds, p, over=over, fair=fair: until_full(seconds, p, over, fair), GREEDY)
        for over in (False, True)
        for fair in (False, True)
    ],
    (
        lambda seconds, p: best_cut(seconds, p)[::-1],
        "The other way round these sizes are as good as can be: who goes back from the last cut finds the last stage "
        "first.",
    ),
]


def a_cut(case, results):
    """p numbers of layers that make a cut."""
    ((seconds, p),), (got,) = case.arguments, results
    got = got.tolist() if isinstance(got, np.ndarray) else got
    if not isinstance(got, list | tuple) or any(type(size) is not int for size in got):
        return Finding(f"it returned {got!r:.80}.", "Return a list of p whole numbers: of each stage how many layers.")
    if len(got) != p or sum(got) != len(seconds) or min(got) < 1:
        return Finding(f"it returned {got!r:.80} for {len(seconds)} layers and {p} stages.", no_cut(got, seconds, p))
    return None


def the_slowest_stage(case, results, right):
    """What it takes, and what is possible."""
    ((seconds, p),), (got,) = case.arguments, results
    return f"{got!r:.80}: the slowest stage takes {max(sums(seconds, got))}, and {least(seconds, p)} is possible."


def no_cut(got, seconds, p):
    """The hint for numbers that are no cut."""
    if len(got) and got[-1] == len(seconds) and list(got) == sorted(got) and len(got) in (p, p + 1):
        return "These are the places where stages end. Asked for is how many layers each has: the differences."
    if sum(got) == len(seconds) and len(got) < p:
        return (
            "Fewer stages may be as fast. But there are p ranks, each of which has at least one layer: one that has "
            "more can give some away, and nothing gets slower."
        )
    if len(got) == p - 1:
        return "p stages have p - 1 cuts between them. Asked for are the p numbers of layers."
    if 0 in got:
        return (
            "A stage without layers does nothing but pass messages on. Each has at least one: where may a cut be, then?"
        )
    return "p numbers, each at least 1, which add up to the number of layers."


def layers(rng):
    """Cases of partition."""
    blocks = lambda n: rng.integers(20, 60, n).tolist()  # noqa: E731
    for seconds, p in (
        ([6, 2, 2, 2, 2, 2], 2),
        ([3, 3, 3, 3, 9, 3], 3),
        ([1, *[10] * 9, 35], 4),
        ([5, 9, 1, 1, 9, 5, 2], 3),
        ([7, 7, 7], 3),
        ([30, 1, 1], 3),
        ([6, 1, 5], 2),
        (blocks(6), 1),
        (blocks(11), 4),
        (blocks(24), 7),
        (
            [10**9 - 1, 1, 1, 10**9 - 1, 10**9 - 1, 1],
            3,
        ),  # nearly the least is not the least; and not all floats can tell
        ([1000 * each + int(rng.integers(1000)) for each in blocks(60)], 9),
        (blocks(300), 4),
    ):
        yield Case(f"seconds = {seconds!r:.100}, p = {p}", ((seconds, p),))


partition = Exercise(
    cases=layers,
    checks=[
        Returns(
            best_cut,
            OTHER_CUTS,
            otherwise="The slowest stage is to be as fast as possible: the smallest maximum there is, to the "
            "microsecond, and not the smallest of anything else.",
            seen=the_slowest_stage,
            form=a_cut,
            read=list,
            accepts=lambda got, seconds, p: max(sums(seconds, got)) == least(seconds, p),
        )
    ],
    endings={
        "cpu": "N layers in p stages can be cut in (N - 1 over p - 1) ways, billions for a hundred layers. (Or does a "
        "loop never end?) What is the best for the first i layers in r stages? There are only N p such questions: "
        "answer each once.",
        "RecursionError": "A function calls itself without end: with one stage left there is nothing to choose.",
    },
    hints=[
        "Where is the last cut? If the layers from k on make the last stage, the pipeline is as slow as the slower of "
        "that stage and the best way to cut the first k layers into p - 1 stages.",
        "best[r][i] = the least over k of max(best[r - 1][k], seconds of layers k to i - 1), with best[1][i] the sum "
        "of the first i. Note for each the k that was best, and go back from the end.",
        "Prefix sums give the seconds of layers k to i - 1 as upto[i] - upto[k]. For stage r, k is at least r - 1, so "
        "that each of the stages before has a layer.",
    ],
)


# Two parts -----------------------------------------------------------------------------------------------------------

SECOND = 2.0**-10  # of a product: about 1 ms, far more than a message


class Products:
    """multiply(comm, A, B): takes a while, and writes down which product it was: x for a gradient of an input, w."""

    def __init__(self):
        self.log = ""

    def __call__(self, comm, A, B):
        from reference import mpi  # here: collecting the exercises should not wait for it

        mpi.compute(comm, SECOND)
        product = np.asarray(A) @ np.asarray(B)
        self.log += "w" if product.shape[0] == product.shape[-1] else "x"
        return product

    def __repr__(self):
        return self.log or "multiply"


def stages(*rows):
    """Cases (P, L, b, n)."""

    def cases(rng):
        for P, L, b, n in rows:
            x, ranks = rng.standard_normal((b, n)), []
            for r in range(P):
                weights = [rng.standard_normal((n, n)) / math.sqrt(n) + 0.1 for _ in range(L)]
                xs = [x]
                for W in weights:
                    xs.append(np.maximum(xs[-1] @ W, 0))
                x = xs[-1]
                ranks.append((weights, xs, rng.standard_normal((b, n)) if r == P - 1 else None, Products()))
            yield Case(f"{checks.count(P, 'rank')} of {checks.count(L, 'layer')}, b = {b}, n = {n}", tuple(ranks))

    return cases


def backward(case, x=1, w=1, last=True, turned=False, straight=False, same=False):
    """Of each rank the gradients for its weights; or what somebody has.

    x, w      where a layer was active is seen in xs[l + 1], for either product; None: nowhere
    last      whether that is asked of a stage's last layer; "inside" a model, not of the last stage's
    turned    the transpose of each; straight: W in place of its transpose; same: the stage's dy for all its layers
    """
    gradients, dy = [None] * case.ranks, None
    for r in reversed(range(case.ranks)):
        weights, xs, given, _ = case.arguments[r]
        dy = first = given if dy is None else dy
        gradients[r] = [None] * len(weights)
        for l in reversed(range(len(weights))):  # noqa: E741
            spared = l == len(weights) - 1 and not (last if last != "inside" else r < case.ranks - 1)
            dz_x, dz_w = (
                layer * (1.0 if mask is None or spared else xs[l + mask] > 0)
                for layer, mask in ((dy, x), (first if same else dy, w))
            )
            gradients[r][l] = (xs[l].T @ dz_w).T if turned else xs[l].T @ dz_w
            dy = dz_x @ (weights[l] if straight else weights[l].T)
    return gradients


ONE_LEFT_OUT = (
    "The last layer has a np.maximum, too, and dy is the gradient behind that. Does each layer's gradient pass through "
    "it before either product?"
)
BOTH_PRODUCTS = (
    "One of a layer's two products has a gradient that has passed through np.maximum, the other one has not. Both need "
    "it."
)
OTHER_GRADIENTS = [
    (
        {"x": None, "w": None},
        "np.maximum(z, 0) lets a gradient through only where z was above 0. Where can you see that?",
    ),
    (
        {"x": 0, "w": 0},
        "Where layer l was active is seen in what it has computed, xs[l + 1], and not in its input, xs[l].",
    ),
    ({"last": "inside"}, ONE_LEFT_OUT),
    ({"last": False}, ONE_LEFT_OUT),
    ({"w": None}, BOTH_PRODUCTS),
    ({"x": None}, BOTH_PRODUCTS),
    ({"turned": True}, "The gradient for the weights is turned over: its rows belong to the layer's inputs."),
    ({"straight": True}, "On the way back the weights are transposed. (They are square here, so no shape complains.)"),
    (
        {"same": True},
        "The gradient for a layer's weights needs the gradient at that layer's own output. What has to be kept of the "
        "first part for the second, for each layer?",
    ),
]


def right_gradients(case, answer):
    """Of each rank and layer."""
    for r, got in enumerate(answer.results):
        weights = case.arguments[r][0]
        shapes = [getattr(each, "shape", None) for each in got] if isinstance(got, list | tuple) else None
        if shapes != [W.shape for W in weights]:
            what = (
                "None"
                if got is None
                else f"a {type(got).__name__} with {shapes}"
                if shapes
                else f"a {type(got).__name__}"
            )
            return Finding(
                f"rank {r} returned {what}.", "Return a list with one array for each layer, as large as its weights."
            )
        kinds = {each.dtype for each in got} - {np.dtype(np.float64)}
        if kinds:
            return Finding(f"rank {r} returned an array of {kinds.pop()}.", "All arrays here are float64.")
    right = backward(case)
    for r in reversed(range(case.ranks)):
        if same_arrays(answer.results[r], right[r]):
            continue
        if same_arrays(answer.results[r], right[r][::-1]):
            hint = "The list is the wrong way round: in the order of the forward pass."
        elif same_arrays(answer.results[r], right[r], checks.FEW_DIGITS):
            hint = checks.DIGITS
        else:
            slips = ((backward(case, **other)[r], hint) for other, hint in OTHER_GRADIENTS)
            otherwise = (
                "For each layer, from the last: dz is dy where its output is above 0; dx is dz times the transposed "
                "weights, and the next layer's dy; the gradient for the weights is the transposed input times dz."
            )
            hint = next((hint for slip, hint in slips if same_arrays(answer.results[r], slip)), otherwise)
        l = next(l for l, W in enumerate(right[r]) if not same_arrays([answer.results[r][l]], [W]))  # noqa: E741
        return Finding(f"rank {r}: the gradient for the weights of layer {l} is not right.", hint)
    return None


def same_arrays(one, other, close=1e-9):
    return all(a.shape == b.shape and np.allclose(a, b, rtol=close, atol=close) for a, b in zip(one, other))


def each_product_once(case, answer):
    """Two products a layer, and those for inputs first."""
    for r, mine in reversed(list(enumerate(answer.arguments))):
        log, L = mine[3].text.replace("multiply", ""), len(case.arguments[r][0])
        if len(log) > 2 * L:
            return Finding(
                f"rank {r} made {len(log)} products for {checks.count(L, 'layer')}.",
                "Two for each layer. The second part need not go through the layers again: what does it need of the "
                "first part, and could that have been kept?",
            )
        if len(log) < 2 * L - (r == 0):
            return Finding(
                f"rank {r} made {checks.count(len(log), 'product')} by multiply, for {checks.count(L, 'layer')}.",
                "All matrix products are made by multiply(comm, A, B): it is what takes the time.",
            )
        if "x" in log.lstrip("x"):
            return Finding(
                f"rank {r} made these products, x for an input's gradient and w for one of weights: {' '.join(log)}.",
                "The rank before waits for the last x, and so for each w before it. All x first, then send, then w.",
            )
    return None


split_backward = Distributed(
    cases=stages((3, 2, 4, 8), (2, 3, 3, 8), (4, 1, 4, 7), (1, 2, 3, 7), (2, 2, 30, 40)),
    checks=[
        checks.kept("weights xs dy multiply"),
        right_gradients,
        checks.point_to_point,
        checks.messages(
            lambda case, rank: int(rank > 0),
            "a stage",
            lambda case, sent, want: "One message to the rank before, and rank 0 has none before it.",
        ),
        checks.bytes_sent(
            lambda case, rank: 8 * case.arguments[rank][1][0].size * (rank > 0),
            "a stage",
            slips=[],
            otherwise="What the rank before waits for is the gradient for xs[0]: an array like that, and nothing else.",
        ),
        each_product_once,
        checks.no_later_than(
            lambda case: (
                (case.ranks + 1) * len(case.arguments[0][0]) * SECOND
                + (case.ranks - 1) * (ALPHA + 8 * case.arguments[0][1][0].size * BETA)
            ),
            "in two parts it",
            "The products are in the right order, and the message leaves late: it is sent as soon as the gradient for "
            "xs[0] is there, before the second part.",
        ),
    ],
    endings={
        "could not be broadcast": "What comes from the rank behind is the gradient for this rank's last x, and as "
        "large as that: [b, n].",
        "NoneType": "dy is given on the last rank only. The others receive theirs, into an array like the last x.",
        "returned already": "Every rank but 0 sends once, and every rank but the last receives once.",
        "nvalid rank": "Rank 0 sends to nobody, and the last rank receives from nobody.",
    },
    hints=[
        "Write the usual backward pass of one layer first: dz, then the gradient for its input and that for its "
        "weights. Which of the two does the next step of the loop need?",
        "One loop through the layers from the last to the first, which keeps each layer's dz; then Send; then one "
        "product for each layer.",
        "dz = dy * (xs[l + 1] > 0); dy = multiply(comm, dz, weights[l].T); later multiply(comm, xs[l].T, dz).",
    ],
    in_place=True,
)


# Old weights ---------------------------------------------------------------------------------------------------------


class Forward:
    """forward(w, i): something that depends on w."""

    def __init__(self, table):
        self.table = table

    def __call__(self, w, i):
        return np.asarray(w) * self.table[i]

    def __repr__(self):
        return "forward"


class Backward(Forward):
    """backward(w, i, left): depends on w both by itself and by what was left behind."""

    def __call__(self, w, i, left):
        return 0.5 * left + self.table[i] * np.asarray(w) - 1.0

    def __repr__(self):
        return "backward"


def trained(w, order, forward, backward, rate, which="kept", count="versions", sign=1):
    """(weights, most) of PipeDream's stage; or of somebody's version of it.

    which: the weights that are used backward; count: what is counted
    """
    stash, latest, most, waiting = {}, 0, 1, 0.0
    for action in order:
        i = int(action[1:])
        if action[0] == "F":
            stash[i] = latest, w, forward(w, i)
            continue
        version, old, left = stash.pop(i)
        left = forward(w, i) if which == "again" else left
        step = sign * rate * backward(w if which in ("again", "latest") else old, i, left)
        if which == "flush":
            waiting = waiting + step
        else:
            w = (old if which == "lost" else w) - step
        latest += 1
        alive = {version for version, *_ in stash.values()}
        numbers = {
            "versions": len(alive | {latest}),
            "late": len(alive | {latest, version}),
            "micro-batches": len(stash) + 1,
            "old": len(alive),
            "all": latest + 1,
        }
        most = max(most, numbers[count])
    return w - waiting, most


OTHER_WEIGHTS = [
    (
        {"which": "latest"},
        "It goes backward with the latest weights, and what was left behind is of older ones. That is the gradient of "
        "nothing. The version used forward must be kept (and be kept as it was: an array that is updated in place is "
        "the same array, under however many names).",
    ),
    (
        {"which": "again"},
        "The forward pass is done again with the latest weights. That is a gradient, but of another forward pass than "
        "the one whose output the later stages have used.",
    ),
    (
        {"which": "lost"},
        "The update starts from the version that was kept, so all updates since then are lost. The gradient is of old "
        "weights; it is the latest ones that it changes.",
    ),
    (
        {"which": "flush"},
        "All gradients are applied in the end: that is a flush. PipeDream updates after each backward pass.",
    ),
    ({"sign": -1}, "It goes uphill."),
]
OTHER_COUNTS = [
    (
        {"count": "all"},
        "Every version that ever was is counted. When the last micro-batch that has used it has gone backward, a "
        "version is dropped.",
    ),
    (
        {"count": "late"},
        "The version of the micro-batch that has just gone backward is still counted when the update makes a new one. "
        "It is dropped before, if nobody else needs it.",
    ),
    (
        {"count": "micro-batches"},
        "That counts micro-batches. Several may have used the same version, which is kept once: the first ones have "
        "all seen the weights of the beginning.",
    ),
    ({"count": "old"}, "The latest version is one, too, also if no micro-batch has used it yet."),
]


def weights_and_a_number(case, results):
    """The form."""
    (got,), w = results, case.arguments[0][0]
    if not isinstance(got, list | tuple) or len(got) != 2:
        what = "None" if got is None else f"a {type(got).__name__}"
        return Finding(f"it returned {what}.", "Return two things: (weights, most).")
    if (
        not isinstance(got[0], np.ndarray)
        or (got[0].shape, got[0].dtype) != (w.shape, w.dtype)
        or type(got[1]) is not int
    ):
        return Finding(
            f"it returned ({got[0]!r:.60}, {got[1]!r:.20}).", "First an array as long as w, then a whole number."
        )
    return None


def as_if(**other):
    """What somebody returns who does or counts something else."""
    return lambda *arguments: trained(*arguments, **other)


def close(one, other, within=1e-9):
    return np.allclose(one, other, rtol=within, atol=within / 1e3)


def first_wrong_weight(case, got, want):
    """Which it is, and what it should be."""
    k = int(np.argmin(np.isclose(got[0][0], want[0][0], rtol=1e-9, atol=1e-12)))
    return f"weight {k} is {got[0][0][k]:.6g}; right is {want[0][0][k]:.6g}."


def one_stage(rng):
    """Cases of weight_stash: stages of 1F1B, and an order in which one version serves several micro-batches."""
    for label, order in (
        ("stage 1 of 3", written(one_f_one_b(3, 6).orders[1])),
        ("stage 0 of 4, 3 micro-batches", written(one_f_one_b(4, 3).orders[0])),
        ("stage 0 of 3", written(one_f_one_b(3, 7).orders[0])),
        ("the last stage", written(one_f_one_b(3, 4).orders[2])),
        ("stage 0 of 2, 12 micro-batches", written(one_f_one_b(2, 12).orders[0])),
        ("GPipe's order", "F0 F1 F2 B2 B1 B0 F3 F4 B4 B3".split()),
        ("nothing to do", []),
    ):
        d, m = 5000 if label == "the last stage" else int(rng.integers(2, 5)), len(order) // 2
        tables = [rng.uniform(0.5, 1.5, (max(m, 1), d)) for _ in range(2)]
        w = rng.standard_normal(d) + 2.0
        yield Case(f"{label}: {shown(order)}", ((w, order, Forward(tables[0]), Backward(tables[1]), 0.125),))


weight_stash = Exercise(
    cases=one_stage,
    checks=[
        Returns(
            trained,
            [(as_if(**other), hint) for other, hint in OTHER_WEIGHTS],
            otherwise="Follow two micro-batches by hand: which weights does each use, and which are changed when?",
            seen=first_wrong_weight,
            form=weights_and_a_number,
            same=lambda got, want: close(got[0], want[0]),
            nearly=lambda got, want: close(got[0], want[0], checks.FEW_DIGITS),
        ),
        Returns(
            trained,
            [(as_if(**other), hint) for other, hint in OTHER_COUNTS],
            otherwise="Write down after each update which versions there are: the latest, and which micro-batch needs "
            "which?",
            seen=lambda case, got, want: (
                f"the weights are right; {got[0][1]} versions were counted, and there are {want[0][1]}."
            ),
            same=lambda got, want: got[1] == want[1],
        ),
    ],
    endings={
        "KeyError": "Something is looked up that was never kept, or has been dropped already: by what is it kept, and "
        "by what looked up?"
    },
    hints=[
        "What must be kept from a micro-batch's forward pass until its backward pass? Two things: what it left behind, "
        "and the weights that it has used.",
        "w = w - rate * gradient makes a new array; w -= rate * gradient changes the one that has been kept, too. Give "
        "each version a number, so that different ones can be counted.",
        "After each update: len({versions of the micro-batches on their way} | {the latest}). The most of these.",
    ],
)

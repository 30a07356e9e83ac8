"""Level 2 of chapter 9, fill in: the order of a stage, a simulator's inner step, an executor's messages."""

import math

from exercises.grading import Case, Exercise, Finding, checks
from exercises.grading.returns import Returns
from reference.pipeline.schedule import Action, needs
from reference.pipeline.schedules.plain import alternating, gpipe, naive, one_f_one_b
from reference.pipeline.simulate import Costs, simulate

from .common import action, consequence, no_order, schedule, shown, words, written


def stages(*sizes):
    """Cases (p, m, fits): every stage of a pipeline is one call."""

    def cases(rng):
        some = int(rng.integers(4, 9)), int(rng.integers(9, 14)), int(rng.integers(2, 4))
        for p, m, fits in (*sizes, some):
            label = f"{p} stages, {m} micro-batches, of which {fits} fit"
            yield Case(label, tuple((p, m, stage, fits) for stage in range(p)))

    return cases


def turns(p, m, stage, fits, warmup=lambda p, m, stage: p - 1 - stage, backward_first=False, room=1):
    """The order of a stage in 1F1B, or what somebody has with another warm-up.

    room: how many micro-batches must have room besides those of the warm-up
    """
    ahead = min(max(warmup(p, m, stage), 0), m, fits - room)
    order = written(list(alternating(stage, m, ahead)))
    if backward_first:
        for k in range(ahead, len(order) - ahead, 2):
            order[k : k + 2] = order[k + 1], order[k]
    return order


def ahead_of(p, m, stage, fits):
    """Forward passes before the turns."""
    return min(p - 1 - stage, m, fits - 1)


def last_first(*stage):
    """1F1B whose last backward passes come in reverse order."""
    order, ahead = turns(*stage), ahead_of(*stage)
    return order[: len(order) - ahead] + order[len(order) - ahead :][::-1]


def newest_first(p, m, stage, fits):
    """A stage that goes backward with the micro-batch that has just come forward, and does the oldest in the end."""
    ahead = ahead_of(p, m, stage, fits)
    turns = [f"{kind}{i}" for i in range(ahead, m) for kind in "FB"]
    return [f"F{i}" for i in range(ahead)] + turns + [f"B{i}" for i in range(ahead)]


def warming(warmup, **other):
    """What somebody returns who has another warm-up."""
    return lambda *stage: turns(*stage, warmup, **other)


OTHER_ORDERS = [
    (
        newest_first,
        "In its turns your stage goes backward with the micro-batch that has just come forward. That one has still to "
        "go on to the last stage. Of which micro-batch is the first gradient that comes back?",
    ),
    (
        warming(lambda p, m, stage: 2 * (p - 1 - stage)),
        "Twice as many forward passes before the turns as in 1F1B: that hides messages that take long, and keeps "
        "nearly twice as much. One for each stage behind will do.",
    ),
    (
        warming(lambda p, m, stage: p - stage),
        "One forward pass too many before the first backward pass: taking turns begins with a forward pass as well. It "
        "is no quicker, and keeps one micro-batch more. What does the last stage begin with?",
    ),
    (
        warming(lambda p, m, stage: p - 2 - stage),
        "One forward pass too few before the turns. The last stage needs none; each stage before it one more than the "
        "stage behind. Count from the end, and from 0.",
    ),
    (
        warming(lambda p, m, stage: stage),
        "The wrong way round: which stage waits longest for its first gradient, the first or the last?",
    ),
    (
        warming(lambda p, m, stage: p - 1),
        "Your stages all go forward as often as the first one does. The last stage needs not go forward at all before "
        "it takes turns: its gradient is there at once.",
    ),
    (
        warming(lambda p, m, stage: p),
        "Your stages all go forward p times first. The last stage needs not: its gradient is there at once.",
    ),
    (
        warming(lambda p, m, stage: m),
        "All your forward passes come first, as in GPipe: that keeps all m micro-batches.",
    ),
    (
        lambda p, m, stage, fits: written(gpipe(p, m).orders[stage]),
        "That is GPipe: it keeps all m micro-batches. 1F1B goes backward as soon as it can.",
    ),
    (
        warming(lambda p, m, stage: 0),
        "Your stages all take turns from the beginning. But only the last one has a gradient directly after its first "
        "forward pass; the others wait for it, and so does everybody. What can a stage do meanwhile?",
    ),
    (
        lambda *stage: turns(*stage, backward_first=True),
        "In its turns your stage goes backward first: the last stage cannot go backward before it has gone forward.",
    ),
    (
        warming(lambda p, m, stage: p - 1 - stage, room=0),
        "So many fit, and taking turns begins with a forward pass of its own: one more is kept then than in the "
        "warm-up.",
    ),
    (
        warming(lambda p, m, stage: p - 1 - stage, room=-math.inf),
        "Here not so many micro-batches fit. What is the most that a stage can begin with?",
    ),
    (
        last_first,
        "Your last backward passes come in reverse order, as in GPipe. In 1F1B the oldest micro-batch is always next: "
        "the stage behind sends its gradient first.",
    ),
]


BELOW_ZERO = (
    "The number of forward passes before the turns is below 0 here. The last stage needs none, each stage before it "
    "one more than the stage behind: count from the end, and stages from 0."
)


def orders_of_stages(case, results):
    """Every stage has an order with every pass in it, once."""
    p, m, *_ = case.arguments[0]
    for stage, got in enumerate(results):
        finding = no_order(got, f"stage {stage}", [f"{kind}{i}" for kind in "FB" for i in range(m)])
        if finding is not None:
            if "F-1" in (words(got) or ()):
                return finding._replace(hint=BELOW_ZERO)
            if f"F{m}" in (words(got) or ()) and m < p:
                few = f"There are fewer micro-batches than stages. What is the most that stage {stage} can begin with?"
                return finding._replace(hint=few)
            return finding
    return None


def what_a_stage_does(case, orders, right):
    """The first stage that is wrong, and what the pipeline does with such orders."""
    stage = next(stage for stage, order in enumerate(orders) if order != right[stage])
    p, m, _, fits = case.arguments[0]
    what = "1F1B" if fits >= min(p, m) else f"1F1B with room for {fits}"
    return f"stage {stage} of {case.ranks} does {shown(orders[stage])}\n{consequence(orders, right, what=what)}"


stage_order = Exercise(
    cases=stages((3, 6, 9), (4, 8, 9), (2, 5, 3), (4, 4, 4), (5, 3, 9), (4, 1, 1), (1, 3, 1), (4, 7, 2)),
    checks=[
        Returns(
            turns,
            OTHER_ORDERS,
            otherwise="Three pieces: forward passes alone, then one forward and one backward in turn, then the "
            "backward passes that are left; each in the order of the micro-batches. How many passes has each piece, on "
            "this stage?",
            seen=what_a_stage_does,
            form=orders_of_stages,
            read=words,
        )
    ],
    hints=[
        "Draw three stages and four micro-batches. The last stage: F0 B0 F1 B1 F2 B2 F3 B3. When is the gradient of "
        "micro-batch 0 on the stage before, and what can that do until then?",
        "The last stage does no forward pass before its turns, the one before it one, the first one p - 1; and never "
        "more than there are micro-batches.",
        "Whatever is not in the warm-up goes forward in turns: m - warmup passes. As many backward passes are done "
        "then; the rest follows. The first of the turns is a forward pass: there must be room for it, too.",
    ],
)


def orders_and_costs(rng):
    """Cases of when_it_ends: orders of all kinds, times of which no two sums are equal."""
    some = lambda p, m: [written(order) for order in one_f_one_b(p, m)]  # noqa: E731
    flipped = lambda p, m: [[*(f"F{i}" for i in reversed(range(m))), *(f"B{i}" for i in range(m))]] * p  # noqa: E731
    drawn = lambda: {"F": round(rng.uniform(0.5, 2), 3), "B": round(rng.uniform(1, 4), 3)}  # noqa: E731
    for label, orders, seconds, send in (
        ("2 ranks, 1 micro-batch", some(2, 1), {"F": 1.0, "B": 2.0}, 0.5),
        ("1F1B, 3 ranks, 4 micro-batches", some(3, 4), {"F": 1.0, "B": 2.0}, 0.0),
        ("1F1B, 3 ranks, 4 micro-batches", some(3, 4), drawn(), 0.25),
        ("1F1B, 4 ranks, 7 micro-batches", some(4, 7), drawn(), round(rng.uniform(0.1, 1), 3)),
        ("GPipe, 4 ranks, 5 micro-batches", [written(order) for order in gpipe(4, 5)], drawn(), 0.125),
        ("naive, 3 ranks, 3 micro-batches", [written(order) for order in naive(3, 3)], drawn(), 0.25),
        ("GPipe, micro-batches forward in reverse order", flipped(3, 4), drawn(), 0.5),
        ("1 rank, 3 micro-batches", some(1, 3), drawn(), 1.0),
        ("GPipe, 3 ranks, 400 micro-batches", [written(order) for order in gpipe(3, 400)], drawn(), 0.25),
    ):
        yield Case(f"{label}, seconds = {seconds}, send = {send}", ((orders, seconds, send),))


HOW_LONG = "It starts when it should. How long does an action of this kind take?"
WHAT_HAD_HAPPENED = (
    "A forward pass waits for the rank before, a backward pass for the rank behind; each also for its own rank. What "
    "had happened by then on those two?"
)
NOT_WAITED = {
    "F": "It starts when its rank is free, whether or not what it needs has come. The later of the two counts.",
    "B": "It starts when its rank is free, as if nothing else were needed. From which rank does a gradient come: the "
    "one before or the one behind?",
}


def alternatives(kind, free, needed, took, send):
    """(start, end) of an action of this kind as somebody has it, and the hint.

    needed: when what it needs from another rank ended, or None.
    """
    arrives = needed + send if needed is not None else 0.0
    start = max(free, arrives)
    yield (start + took, start), "The start comes first, then the end."
    yield (free, free + took), NOT_WAITED[kind]
    yield (
        (start, free + took),
        "It starts when it should. But what it takes counts from its start, not from the end of the one before.",
    )
    yield (
        (arrives, arrives + took),
        "It starts when what it needs has come, though its rank is still busy with the action before.",
    )
    if needed is not None:
        yield (
            (max(free, needed), max(free, needed) + took),
            "It starts when what it needs has been computed, on the other rank: the message takes `send` seconds to "
            "come.",
        )
        yield (
            (max(free, needed) + send, max(free, needed) + send + took),
            "The message travels while this rank is still busy: `send` counts from the end on the other rank, not from "
            "the moment at which this one is free.",
        )
        yield (
            (free + arrives, free + arrives + took),
            "The two times are added. It waits for both at once: which one is the later?",
        )
        yield (
            (free + send, free + send + took),
            "When has the other rank done what is needed here? Your start has nothing of it.",
        )
    else:
        yield (
            (free + send, free + send + took),
            "Nothing comes from another rank here: nothing to wait for but the action before. That is over when its "
            "seconds are: the rank goes on while its message travels.",
        )
    yield ((start, start + took + send), "`send` is not part of the action: its rank goes on meanwhile.")


def right_times(case, answer):
    """The right start and end of each action; the first in time that is wrong tells the mistake."""
    ((orders, seconds, send),), (got,) = case.arguments, map(checks.listed, answer.results)
    finding = _no_times(got, orders)
    if finding is not None:
        return finding
    made = schedule(orders)
    times = simulate(made, Costs(F=seconds["F"], B=seconds["B"], send=send))
    want = [list(zip(*both)) for both in zip(times.starts, times.ends)]
    wrong = [[k for k in range(len(order)) if not _same(got[r][k], want[r][k])] for r, order in enumerate(orders)]
    if not any(wrong):
        return None
    firsts = [(r, places[0]) for r, places in enumerate(wrong) if places]
    r, k = min(firsts, key=lambda place: min(want[place[0]][place[1]][0], got[place[0]][place[1]][0]))
    have, (start, end) = got[r][k], want[r][k]
    other = next((need for need in needs(action(orders[r][k], r), made) if need.stage != r), None)
    needed = other and times.ends[other.stage][made.orders[other.stage].index(other)]
    tried = alternatives(orders[r][k][0], times.ends[r][k - 1] if k else 0.0, needed, end - start, send)
    hints = (hint for slip, hint in tried if _same(have, slip))
    otherwise = HOW_LONG if _same(have[:1], (start,)) else WHAT_HAD_HAPPENED
    otherwise = checks.DIGITS if _same(have, (start, end), 1e-2) else otherwise
    seen = (
        f"{orders[r][k]} on rank {r} is from {have[0]:g} to {have[1]:g} s; right is {start:g} to {end:g} s. It is the "
        "first that is wrong."
    )
    return Finding(seen, next(hints, otherwise))


def _no_times(got, orders):
    """What is wrong with the form of the answer, if anything is."""
    form = "Return a list for each rank, with one pair (start, end) for each of its actions."
    if got is None:
        return Finding("it returned None.", "A function that ends without `return` gives None: return the times.")
    lengths = [len(row) if isinstance(row, list | tuple) else -1 for row in got] if type(got) in (list, tuple) else []
    if lengths != [len(order) for order in orders]:
        return Finding(f"it returned {got!r:.100}.", form)
    if not all(_pair(each) for row in got for each in row):
        return Finding(f"not all entries are pairs of numbers: {got[0]!r:.100}.", form)
    return None


def _pair(each):
    return (
        isinstance(each, list | tuple)
        and len(each) == 2
        and all(isinstance(t, int | float) and abs(t) < 1e300 for t in each)
    )


def _same(one, other, close=1e-9):
    return all(math.isclose(a, b, rel_tol=close, abs_tol=close) for a, b in zip(one, other))


WAITS_FOR_NOBODY = (
    "A round of your loop may bring nobody forward: then all wait for something that never comes. Do backward passes "
    "wait for the rank behind, r + 1? And does the last rank's wait for no other rank?"
)
when_it_ends = Exercise(
    cases=orders_and_costs,
    checks=[right_times],
    endings={
        "cpu": WAITS_FOR_NOBODY,
        "KeyError": "It looks up an end that is not there. On rank 0 a forward pass needs nobody, and a backward pass "
        "on the last rank neither: what should count there, so that the later of the two is when the rank is free? And "
        '`seconds` has letters, "F" and "B": which part of "F0" is that?',
    },
    hints=[
        "Work out the example by hand, two ranks and one micro-batch: F0 on rank 0, F0 on rank 1, B0 on rank 1, B0 on "
        "rank 0. Which two times decide when each can start?",
        "needed is a pair (rank, action). A forward pass comes from r - 1; where does a backward pass come from? The "
        "action has the same name there.",
        "start is the later of free[r] and the end of what is needed plus send; where nothing is needed from another "
        'rank, 0 in its place will do. Look at dict.get. Then the action takes seconds["F"] or seconds["B"].',
    ],
)


def pipelines(rng):
    """Cases of messages_of: stages in a row, round and round, in a V, and at random; every rank is one call."""
    mixed = lambda p, S: [*rng.permutation(p).tolist(), *rng.integers(0, p, S - p).tolist()]  # noqa: E731
    for label, home, m, parts in (
        ("stages 0, 1, 2 on ranks 0, 1, 2", [0, 1, 2], 2, "B"),
        ("stages 0 to 3 on ranks 0, 1, 0, 1", [0, 1, 0, 1], 2, "B"),
        ("stages 0 to 3 on ranks 0, 1, 1, 0", [0, 1, 1, 0], 2, "B"),
        ("stages 0, 1, 2 on ranks 0, 1, 2, backward in two parts", [0, 1, 2], 3, "IW"),
        ("stages 0 to 5 in a V, backward in two parts", [0, 1, 2, 2, 1, 0], 2, "IW"),
        ("stages 0 to 11 on ranks 0, 1, 2, 3, 0, 1, ...", [0, 1, 2, 3] * 3, 12, "B"),
        ("stages on any ranks", mixed(4, 9), 3, "B"),
        ("stages on any ranks, backward in two parts", mixed(3, 7), 2, "IW"),
        ("stages 0 and 1 on one rank", [0, 0], 2, "B"),
        ("stages 0 to 23 on ranks 0, 1, 0, 1, ..., 30 micro-batches", [0, 1] * 12, 30, "B"),
    ):
        orders = breadth_first(home, m, parts)
        yield Case(label, tuple((orders, rank) for rank in range(len(orders))))


def breadth_first(home, m, parts):
    """Orders of ranks with these stages: all forward passes, then all backward passes, in `parts`."""
    actions = [Action("F", stage, i) for stage in range(len(home)) for i in range(m)]
    actions += [Action(part, stage, i) for stage in reversed(range(len(home))) for i in range(m) for part in parts]
    return [[str(a) for a in actions if home[a.stage] == rank] for rank in range(max(home) + 1)]


def table(orders, rank):
    """The right (receive, send) of each action of a rank, from what each action needs."""
    made = schedule(orders)
    where = {a: r for r, order in enumerate(made) for a in order}
    receives, sends = {}, {}
    for a, r in where.items():
        for need in needs(a, made):
            if where[need] != r:
                receives[a], sends[need] = (str(need), where[need]), (str(need), r)
    return [(receives.get(a), sends.get(a)) for a in made.orders[rank]]


def right_messages(case, answer):
    """Each action's two messages, and that every message that is sent is received."""
    orders = case.arguments[0][0]
    form = 'Return a list with a pair for each action of the rank, such as (("0F0", 0), None).'
    for rank, got in enumerate(answer.results):
        if got is None:
            return Finding("it returned None.", "A function that ends without `return` gives None: return the table.")
        if not isinstance(got, list | tuple) or len(got) != len(orders[rank]) or not all(map(_two_messages, got)):
            return Finding(f"for rank {rank} it returned {got!r:.100}.", form)
    for rank, got in enumerate(answer.results):
        for word, have, want in zip(orders[rank], got, table(orders, rank)):
            have = tuple(tuple(each) if each else None for each in have)
            if have != want:
                return Finding(_seen(orders, rank, word, have, want), _why(orders, rank, word, have, want))
    return None


def _two_messages(pair):
    return isinstance(pair, list | tuple) and len(pair) == 2 and all(map(_message, pair))


def _message(each):
    return each is None or (
        isinstance(each, list | tuple) and len(each) == 2 and isinstance(each[0], str) and type(each[1]) is int
    )


def _seen(orders, rank, word, have, want):
    """The first side that is wrong, and what rank has which stages."""
    side = 0 if have[0] != want[0] else 1
    does = (("receives", "from"), ("sends", "to"))[side]
    told = f'{does[0]} "{have[side][0]}" {does[1]} rank {have[side][1]}' if have[side] else f"{does[0]} nothing"
    stages = [sorted({action(each, r).stage for each in order}) for r, order in enumerate(orders)]
    homes = "; ".join(f"rank {r} has {', '.join(map(str, each))}" for r, each in enumerate(stages))
    return f'rank {rank}, {("before", "after")[side]} "{word}": it {told}.\n  (Stages: {homes}.)'


def _why(orders, rank, word, have, want):
    """The hint for the first message that is wrong."""
    stage, kind, micro = action(word, rank).stage, action(word, rank).kind, action(word, rank).micro
    swapped = tuple(reversed(have)) == want and have != want
    side = 0 if have[0] != want[0] else 1
    message = have[side]
    if swapped:
        return "What is received and what is sent have changed places: (receive, send)."
    if kind == "W" and message:
        return (
            "W computes the gradient for the weights of its own stage: nobody waits for it, and all that it needs is "
            "there since I. Where does its result go along the model?"
        )
    if message and message[1] == rank:
        return "A rank does not send to itself: both stages are here. Is the stage after on another rank?"
    if kind == "I" and bool(message) != bool(want[side]):
        return "I takes the place of B for the stage before: its result goes the same way."
    if message and want[side] and message[1] == want[side][1] and side == 1 and message[0] != word:
        return (
            "The name of a message is the action that has made it, on both sides: that is how they find each other. "
            "Who has made this one?"
        )
    if message and want[side] and message[0] == want[side][0]:
        return (
            "To which rank? Not to the next number: look where the stage lives. In a V, or with stages round and "
            "round, a rank's neighbour along the model can be any."
        )
    if not message and want[side] and side == 1:
        return (
            "Here nothing is sent, and another rank waits for it. Does the condition ask for the stage to which the "
            "result goes, and not for the one from which something comes?"
        )
    if message and not want[side] and side == 1:
        end = {"F": "last", "B": "first", "I": "first"}[kind]
        if stage in (0, _stages(orders) - 1):
            return f"It is the {end} stage's: nobody comes after it. Is there such a stage, and on which rank?"
        return "The stage to which it goes is on this rank. Which two ranks does the condition compare?"
    return (
        f"Forward passes go along the model, backward passes against it. Which stage makes what {kind}{micro} of stage "
        f"{stage} needs, which one needs its result, and on which ranks are they?"
    )


def _stages(orders):
    return 1 + max(action(word, 0).stage for order in orders for word in order)


messages_of = Exercise(
    cases=pipelines,
    checks=[right_messages],
    endings={
        "KeyError": "It looks for a stage that is not there: the last stage's forward pass has none after it, and the "
        "first one's backward pass neither. Ask before you look it up; `home.get` does both."
    },
    hints=[
        "Draw stages 0, 1, 2 on ranks 0, 1, 0, with an arrow for each message of one micro-batch, forward and "
        "backward. Which actions have no arrow before them, which none after them?",
        "I's result goes to the stage before, like B's. W's result stays on its stage: 0 steps along the model. So "
        "`before` and `after` are its own stage, which is on its own rank.",
        "A message is sent if the stage `after` exists and is on another rank: the same question as for `before`, one "
        "line above. Its name is the action that has just made it.",
    ],
)

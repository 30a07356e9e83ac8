"""Level 5 of chapter 10, speed up: prefetch, what to keep after the forward pass, the schedule of an offloaded step."""

import bisect
import itertools
import weakref
from typing import NamedTuple

import numpy as np

from exercises.grading import Case, Distributed, Exercise, Finding, checks, inputs
from exercises.grading.exercise import ALPHA, BETA
from exercises.grading.numbers import listed, short
from exercises.grading.returns import Returns, so_far

from ..ch02_data_parallel.common import called, no_more_than

# Prefetch ------------------------------------------------------------------------------------------------------------


class Forward:
    """compute: a number made of a unit's weights, in some seconds. Its text tells of each call: the unit, the gathers
    that were begun, the arrays of weights that are still there, their elements, and whether its gather wrote into what
    the unit before was computing with."""

    def __init__(self, seconds, probes):
        self.seconds, self.probes = seconds, probes
        self.given, self.seen = [], []
        self.last = None  # root, addresses, and gathers begun, of the call before

    def __call__(self, comm, i, weights):
        from reference import mpi  # here: collecting the exercises should not wait for it

        if not isinstance(weights, np.ndarray):
            raise TypeError(f"the weights of unit {i} are a {type(weights).__name__}, not an array")
        if np.shape(weights) != self.probes[i].shape:
            raise ValueError(f"the weights of unit {i} have shape {np.shape(weights)}, not {self.probes[i].shape}")
        root = weights
        while isinstance(root.base, np.ndarray):
            root = root.base
        if all(one() is not root for one in self.given):
            self.given.append(weakref.ref(root))
        alive = [one() for one in self.given if one() is not None]
        begun, start = len(getattr(comm, "_came", ())), weights.ctypes.data
        clash = False
        if self.last and self.last[0]() is root:  # else its memory is another one, or was free before
            _, first, end, before = self.last
            clash = start < end and first < start + weights.nbytes and before > i
        self.last = weakref.ref(root), start, start + weights.nbytes, begun
        self.seen.append((i, begun, len(alive), sum(each.size for each in alive), int(clash)))
        mpi.compute(comm, self.seconds[i])
        return float(self.probes[i] @ weights)

    def __repr__(self):
        return " ".join("/".join(map(str, each)) for each in self.seen) or "compute"


def passes(*rows):
    """Cases (ranks, elements of each unit's shards, computing over gathering of each, limit)."""

    def cases(rng):
        for P, sizes, ratios, limit in rows:
            seconds = [ratio * gathering(P, n) if P > 1 else ALPHA for n, ratio in zip(sizes, ratios)]
            probes = [rng.standard_normal(P * n) for n in sizes]
            ranks = [([rng.standard_normal(n) for n in sizes], Forward(seconds, probes), limit) for _ in range(P)]
            shown = sizes if len(sizes) < 9 else f"{len(sizes)} of them"
            yield Case(
                f"{checks.count(P, 'rank')}, shards of {shown}, limit = {limit}", tuple(ranks), noted="Iallgather"
            )

    return cases


def gathering(P, n):
    """Seconds of an all-gather of shards of n elements."""
    return (P - 1) * (ALPHA + 8 * n * BETA)


def fastest(case):
    """Seconds, if every gather begins as soon as there is room for its unit and the gather before it is done."""
    shards, compute, limit = case.arguments[0]
    limit = min(limit, 2)  # compute does not come back earlier to begin a third
    link, done = 0.0, []
    for i, (shard, seconds) in enumerate(zip(shards, compute.seconds)):
        link = max(link, done[i - limit] if i >= limit else 0.0) + gathering(case.ranks, len(shard))
        done.append(max(link, done[-1] if done else 0.0) + seconds)
    return done[-1] if done else 0.0


def in_turn(case):
    """Seconds, if each unit is gathered only when the one before has computed."""
    shards, compute, _ = case.arguments[0]
    return sum(gathering(case.ranks, len(shard)) for shard in shards) + sum(compute.seconds)


def outputs(case, answer):
    """What compute makes of the whole weights, in order."""
    shards, compute, _ = case.arguments[0]
    want = [
        float(compute.probes[i] @ np.concatenate([arguments[0][i] for arguments in case.arguments]))
        for i in range(len(shards))
    ]
    for rank, got in enumerate(answer.results):
        got = listed(got)
        if not isinstance(got, list) or len(got) != len(want):
            return Finding(f"rank {rank} returned {short(got)}.", f"Return {len(want)} results of compute, in a list.")
        for i, (one, right) in enumerate(zip(got, want)):
            if not isinstance(one, int | float) or not abs(one - right) <= 1e-9 * (abs(right) + 1):
                return Finding(
                    f"rank {rank}: the result of unit {i} is {short(one)}; right is {right:.8g}.",
                    "compute got other weights than those of all ranks' shards, rank 0's first. Was an array used "
                    "before its gather was waited for, or while another gather wrote into it?",
                )
    return None


HELD = (
    "Weights that have computed are still held by something, a list or a name: drop them, or gather into their array. "
    "Who keeps all units has the whole model in memory in the end, and that is no stage 3."
)


def units_there(case, answer):
    """At every unit's compute: its place, the gathers begun, and the arrays that are held."""
    shards, _, limit = case.arguments[0]
    largest = max((len(shard) for shard in shards), default=0) * case.ranks
    for rank, (_, compute, _) in enumerate(answer.arguments):
        text = "" if compute.text == "compute" else compute.text
        seen = [tuple(map(int, each.split("/"))) for each in text.split()]
        if [i for i, *_ in seen] != list(range(len(shards))):
            return Finding(
                f"rank {rank} called compute for the units {', '.join(str(i) for i, *_ in seen) or 'none'}.",
                "Every unit computes once, in order.",
            )
        for i, begun, arrays, elements, clash in seen:
            if clash:
                return Finding(
                    f"rank {rank}: the gather of unit {i} wrote into the weights with which unit {i - 1} was "
                    "computing.",
                    "Here the numbers came out right by luck. An array that is gathered into belongs to MPI until its "
                    "request has been waited for: gather into another one than the one that computes.",
                )
            if begun - i > limit:
                return Finding(
                    f"rank {rank}: when unit {i} computed, the gathers of {begun} units had begun; limit = {limit}.",
                    "Units that are being gathered take room, too. How many may there be beside the one that computes?",
                )
            if arrays > limit or elements > limit * largest:
                return Finding(
                    f"rank {rank}: when unit {i} computed, {checks.count(arrays, 'array')} of whole weights with "
                    f"{elements:,} elements were there; limit = {limit}.",
                    HELD,
                )
    return None


def gathers(case, made):
    """The hint for other calls than one Iallgather a unit."""
    if "Allgather" in made:
        return "Allgather waits until all is there. Iallgather begins, and something can be computed meanwhile."
    if len(made) > len(case.arguments[0][0]):
        return "More gathers than units: each unit is gathered once in a forward pass."
    return "One Iallgather for each unit, and nothing else."


def too_slow(case, answer):
    """The hint for what took too long."""
    if any(calls["Test"] for calls in answer.calls):
        return "To ask again and again takes time, too: Wait comes back as soon as all is there."
    if answer.seconds >= in_turn(case) * (1 - 1e-9):
        return (
            "Gathers and products follow each other. Begin the next unit's gather before you compute, and wait for it "
            "only afterwards."
        )
    return (
        "Part of it overlaps. Does a gather begin behind a computing that it could hide behind? Or do two begin "
        "together, "
        "so that the first unit waits for both? Begin the next one when the one before has come, and then compute."
    )


prefetch_units = Distributed(
    cases=passes(
        (3, [4, 4, 4, 4], [1, 1, 1, 1], 2),
        (2, [6, 2, 9, 3], [0.5, 2, 0.3, 1], 2),
        (3, [5, 5, 5], [2, 0.5, 1], 1),
        (2, [40, 90, 30, 60, 20], [3, 0.2, 0.1, 1.5, 1], 3),
        (4, [3, 8], [1, 1], 5),
        (1, [4, 2, 3], [1, 1, 1], 2),
        (2, [7], [1], 2),
        (3, [300, 200, 400, 100, 100, 200], [0.7, 1.2, 0.4, 2, 0.1, 1], 2),
    ),
    checks=[
        outputs,
        called(lambda case: ["Iallgather"] * len(case.arguments[0][0]), gathers),
        no_more_than(
            lambda case: sum(map(len, case.arguments[0][0])) * case.ranks / 2,  # half of what all-reduces take
            "all-gathers of all units",
            "More numbers travel than are needed: each unit's shards, once.",
        ),
        units_there,
        checks.no_later_than(fastest, "gathered one ahead, it", too_slow),
    ],
    endings={
        "BufferChanged": "An array that is being gathered into belongs to MPI until its request has been waited for.",
        "RequestsLeft": "Iallgather only begins. Keep its request, and wait for it before the unit computes.",
        "the weights of unit": "compute needs the weights of the whole unit: all ranks' shards, in one array of P n.",
        "IndexError": "Near the end there are fewer units left than the limit: is one gathered that does not exist?",
    },
    hints=[
        "With limit = 2 draw two rows, gathers and computing. When may the gather of unit 1 begin, when that of unit "
        "2?",
        "Begin the gather of unit 0. Then for each unit: wait for its gather, begin that of the next one, compute. "
        "With "
        "limit = 1 the next one begins behind compute.",
        "Hold no weights that have computed, in no list: one array for each of two units in turn, or new ones whose "
        "names are bound anew.",
    ],
)


# What to keep --------------------------------------------------------------------------------------------------------


class Units(NamedTuple):
    """The arguments."""

    gather: list
    backward: list
    size: list
    room: int


def waits(units):
    """Seconds that the backward pass waits for each unit if it is not kept."""
    behind = [*units.backward[1:], 0]
    return [max(0, gather - hidden) for gather, hidden in zip(units.gather, behind)]


def most(values, sizes, room):
    """The choice of the largest value that fits: a list of places."""
    best = [(0, ())] * (room + 1)
    for place, (value, size) in enumerate(zip(values, sizes)):
        for left in range(room, size - 1, -1):
            with_it = best[left - size]
            if with_it[0] + value > best[left][0]:
                best[left] = with_it[0] + value, (*with_it[1], place)
    return list(best[room][1])


def saved(units, kept):
    return sum(waits(units)[unit] for unit in kept)


def right(*arguments):
    units = Units(*arguments)
    return most(waits(units), units.size, units.room)


def as_good(got, *arguments):
    """Whether a choice is allowed, fits, and saves as much as any."""
    units = Units(*arguments)
    there = isinstance(got, list) and all(type(n) is int and 0 <= n < len(units.size) for n in got)
    fits = there and len(set(got)) == len(got) and sum(units.size[n] for n in got) <= units.room
    return fits and saved(units, got) == saved(units, right(*arguments))


def greedy(key):
    """Take units in the order of key(units, unit) as long as they fit."""

    def choose(*arguments):
        units, kept, left = Units(*arguments), [], arguments[3]
        for unit in sorted(range(len(units.size)), key=lambda unit: key(units, unit)):
            if units.size[unit] <= left:
                kept.append(unit)
                left -= units.size[unit]
        return sorted(kept)

    return choose


def with_waits(values):
    """The best choice for somebody who takes other seconds for what is saved."""
    return lambda *arguments: most(values(Units(*arguments)), arguments[2], arguments[3])


def whole_gathers(units):
    return units.gather


def forward_order(units):
    """As if unit i hid behind unit i - 1."""
    return [max(0, gather - hidden) for gather, hidden in zip(units.gather, [0, *units.backward[:-1]])]


def behind_itself(units):
    return [max(0, gather - own) for gather, own in zip(units.gather, units.backward)]


def last_hidden(units):
    """As if the last unit did not wait."""
    return [*waits(units)[:-1], 0]


def no_choice(case, results):
    """A list of different units."""
    (got,), (_, _, size, room) = listed(results), case.arguments[0]
    if not isinstance(got, list) or not all(type(unit) is int for unit in got):
        return Finding(f"it returned {short(got)}.", "Return a list of the numbers of units, perhaps an empty one.")
    if strange := [unit for unit in got if not 0 <= unit < len(size)]:
        return Finding(f"there is no unit {strange[0]}.", f"Units are numbered from 0 to {len(size) - 1} here.")
    if len(set(got)) < len(got):
        return Finding(f"it returned {short(got)}.", "Each unit is kept once, or not at all.")
    if sum(size[unit] for unit in got) > room:
        return Finding(
            f"those units have {sum(size[unit] for unit in got):,} bytes, and there is room for {room:,}.",
            "All units that are kept are there at once, when the backward pass begins.",
        )
    return None


def choice_seen(case, results, want):
    """How long the backward pass waits."""
    units, (got,), (best,) = Units(*case.arguments[0]), results, want
    total = sum(waits(units))
    return (
        f"keeping {short(got)}, the backward pass waits for {total - saved(units, got):,} seconds; "
        f"{total - saved(units, best):,} are possible."
    )


def some_units(L, room, most_size=30):
    """Drawn units."""

    def drawn(rng):
        return (
            rng.integers(1, 40, L).tolist(),
            rng.integers(1, 40, L).tolist(),
            rng.integers(1, most_size, L).tolist(),
            room,
        )

    return drawn


UNITS = [
    ([10, 12, 9, 13], [3, 20, 2, 8], [4, 4, 4, 4], 8),
    ([12, 11, 9], [1, 1, 1], [6, 5, 5], 10),  # the longest wait takes the room of two
    ([7, 10], [1, 1], [5, 10], 10),  # what saves most for a byte leaves room over
    ([5, 31, 14], [9, 2, 3], [3, 10, 7], 10),
    ([8, 8], [2, 9], [5, 5], 4),
    ([20, 5, 5], [1, 9, 9], [4, 4, 4], 4),
    ([6], [3], [2], 2),
    ([6, 6, 6], [9, 9, 9], [2, 2, 2], 0),
    ([30, 22, 5, 5], [2, 40, 3, 3], [7, 7, 2, 2], 9),
]

which_to_keep = Exercise(
    cases=inputs.calls(
        *UNITS,
        some_units(9, 50),
        some_units(12, 80),
        some_units(12, 40),
        some_units(40, 150),
        some_units(1100, 60),
        names="gather backward size room",
    ),
    checks=[
        Returns(
            right,
            [
                (
                    with_waits(whole_gathers),
                    "Whole gathers are compared. Most of a gather may hide behind the unit before it in the backward "
                    "pass: keeping that unit saves the rest of it only.",
                ),
                (
                    with_waits(forward_order),
                    "The backward pass goes from the last unit to the first: unit i is gathered while unit i + 1 "
                    "computes, not unit i - 1.",
                ),
                (
                    with_waits(behind_itself),
                    "A gather cannot hide behind its own unit's computing, which needs the weights. Unit i is gathered "
                    "while unit i + 1 computes.",
                ),
                (
                    with_waits(last_hidden),
                    "The last unit waits, too: nothing computes while it is gathered again.",
                ),
                (
                    greedy(lambda units, unit: -waits(units)[unit]),
                    "The units with the longest waits were taken first, as long as they fit. Two smaller ones may save "
                    "more in the room of one.",
                ),
                (
                    greedy(lambda units, unit: -waits(units)[unit] / units.size[unit]),
                    "The units that save most for each byte were taken first, as long as they fit. Then room may be "
                    "left over in which something else would save more.",
                ),
                (
                    greedy(lambda units, unit: -unit),
                    "The last units were kept, as they are needed first. But a unit saves what it would wait for, "
                    "whenever that is.",
                ),
            ],
            otherwise="What does keeping a unit save: what is left of its gather when the unit behind it has computed? "
            "And which units together save most in the room that there is?",
            seen=choice_seen,
            form=no_choice,
            read=lambda kept: sorted(listed(kept)),
            accepts=as_good,
            could=so_far(UNITS, lambda kept, units: as_good(kept, *units)),
        )
    ],
    endings={
        "cpu": "There are too many choices to try all of them: 40 units have 2^40. Which smaller questions does the "
        "last "
        "unit leave: to keep it, or not, and the best of the others in what room is left?",
    },
    hints=[
        "First compute for each unit what keeping it saves. It is a number of seconds, and it does not depend on which "
        "others are kept.",
        "Now it is a knapsack: seconds to be saved, bytes that they cost, room. To take the best one first can be "
        "wrong; try [10, 6, 6] seconds with [6, 5, 5] bytes in room 10.",
        "best[r]: the most that the units so far save in r bytes, and which. For each unit and each r from above: "
        "without it, or with it and best[r - size].",
    ],
)


# Offload -------------------------------------------------------------------------------------------------------------

KINDS = ("backward", "down", "step", "up")


class Pieces(NamedTuple):
    """The arguments."""

    backward: list
    down: list
    step: list
    up: list
    room: int


def soonest(pieces):
    """When everything begins, with the pieces in order and each as soon as it can: a list of four times a piece."""
    starts, ends = [], []
    for i, lasts in enumerate(zip(*pieces[:4])):
        row, now = [], ends[i - pieces.room][1] if i >= pieces.room else 0
        for kind, last in enumerate(lasts):
            row.append(max(now, ends[i - 1][kind] if i else 0))
            now = row[-1] + last
        starts.append(row)
        ends.append([start + last for start, last in zip(row, lasts)])
    return starts


def makespan(pieces, starts):
    """When the last copy up ends."""
    return max((start[3] + up for start, up in zip(starts, pieces.up)), default=0)


def times(case, answer):
    """(starts, None), or (None, what is wrong with the form)."""
    (got,), pieces = listed(answer.results), Pieces(*case.arguments[0])
    form = "Return a list with four times for each piece: (backward, down, step, up)."
    if not isinstance(got, list) or len(got) != len(pieces.up):
        return None, Finding(f"it returned {short(got)}.", form)
    for place, row in enumerate(got):
        if not isinstance(row, list) or len(row) != 4 or any(isinstance(n, bool) for n in row):
            return None, Finding(f"piece {place}: {short(row)}.", form)
        if not all(isinstance(n, int | float) and 0 <= n < 1e15 for n in row):
            return None, Finding(f"piece {place}: {short(row)}.", "Times count from 0, and none is before that.")
    return got, None


def possible(case, answer):
    """Nothing begins before it can, and nothing is done twice at a time."""
    pieces = Pieces(*case.arguments[0])
    starts, finding = times(case, answer)
    if finding:
        return finding
    ends = [[s + d for s, d in zip(row, lasts)] for row, lasts in zip(starts, zip(*pieces[:4]))]
    for i, row in enumerate(starts):
        for kind in range(1, 4):
            if row[kind] < ends[i][kind - 1]:
                return Finding(
                    f"piece {i}: {KINDS[kind]} begins at {row[kind]:g}, and its {KINDS[kind - 1]} ends at "
                    f"{ends[i][kind - 1]:g}.",
                    "The four things happen one after the other for each piece.",
                )
    for kind, name in enumerate(KINDS):
        order = sorted(range(len(starts)), key=lambda i: (starts[i][kind], ends[i][kind]))
        for one, other in itertools.pairwise(order):
            if starts[other][kind] < ends[one][kind]:
                return Finding(
                    f"{name} of piece {other} begins at {starts[other][kind]:g}, and that of piece {one} ends at "
                    f"{ends[one][kind]:g}.",
                    "Of each kind one goes on at a time: the next begins when the device, the link or the processor is "
                    "free again.",
                )
        if kind == 0 and order != list(range(len(starts))):
            return Finding(
                "the backward passes are in another order.",
                "A backward pass needs the gradient of the one before: the pieces keep their order on the device.",
            )
    gone = sorted(end[1] for end in ends)
    for i in range(pieces.room, len(starts)):
        there = i + 1 - bisect.bisect_right(gone, starts[i][0])
        if there > pieces.room:
            return Finding(
                f"when the backward pass of piece {i} begins, at {starts[i][0]:g}, there are gradients of {there} "
                f"pieces on the device; room = {pieces.room}.",
                "Gradients leave the device when their copy down has ended. Until then the next backward pass waits, "
                "if there is no room.",
            )
    return None


def early_enough(case, answer):
    """The last copy up ends in time."""
    pieces = Pieces(*case.arguments[0])
    starts, _ = times(case, answer)
    got, want = makespan(pieces, starts), makespan(pieces, soonest(pieces))
    if got <= want:
        return None
    later = "Something begins later than it could: at the latest of what it needs and what must be free."
    return Finding(
        f"the last copy up ends at {got:,.6g}; it can end at {want:,}.", _what_waits(pieces, starts, got) or later
    )


def _what_waits(pieces, starts, end):
    """The hint for what waits although it need not; None if nothing is recognised."""
    if len(starts) < 2:
        return None
    ends = [[start + last for start, last in zip(row, lasts)] for row, lasts in zip(starts, zip(*pieces[:4]))]
    first, last = [min(column) for column in zip(*starts)], [max(column) for column in zip(*ends)]
    if end == sum(map(sum, pieces[:4])):
        return "Nothing overlaps in it. While a piece is copied, the device can make the next one's."
    if first[2] >= last[1] and first[3] >= last[2]:
        return (
            "Steps wait for all copies down, and copies up for all steps. All four kinds may go on at once, for "
            "different pieces."
        )
    if first[2] >= last[1]:
        return (
            "The optimizer's steps wait until all gradients have come. Each piece can be updated as soon as it is "
            "there: "
            "that is the point of the method."
        )
    if starts[0][2] > ends[0][1] and first[2] >= last[0]:
        return "The first step waits for the whole backward pass. It can begin when its own gradients have come."
    if first[3] >= last[2]:
        return (
            "The copies up wait until all steps are done. Each piece's weights can go as soon as they are new, while "
            "others are updated."
        )
    for i, row in enumerate(starts):
        free = ends[i - 1] if i else [0] * 4
        room = ends[i - pieces.room][1] if i >= pieces.room else 0
        if row[0] > max(free[0], room) and row[0] == free[1]:
            return (
                f"The backward pass of piece {i} waits for the copy down of the piece before, and there would be room "
                "for both."
            )
        if row[0] > max(free[0], room) and row[0] in {end[2] for end in ends} | {end[3] for end in ends}:
            return (
                f"The backward pass of piece {i} waits longer than for room: a place is free as soon as a copy down "
                "has "
                "ended, before the step."
            )
        for kind, other in ((1, 3), (3, 1)):
            if row[kind] > max(free[kind], ends[i][kind - 1]) and row[kind] in {end[other] for end in ends}:
                return "Copies down and copies up take turns. There is a link for each: one may go in each direction."
    return None


def some_pieces(L, room, least=1, most=40):
    """Drawn pieces."""
    return lambda rng: (*(rng.integers(least, most, L).tolist() for _ in range(4)), room)


offload_schedule = Exercise(
    cases=inputs.calls(
        ([2, 2, 2], [3, 3, 3], [4, 4, 4], [1, 1, 1], 3),
        ([5, 1, 4], [2, 6, 1], [1, 2, 3], [4, 2, 2], 3),
        ([2, 2, 2, 2], [5, 5, 5, 5], [1, 1, 1, 1], [2, 2, 2, 2], 1),
        ([1, 1, 1, 9, 1], [6, 7, 2, 1, 3], [2, 2, 8, 2, 1], [3, 1, 1, 5, 2], 2),
        ([4], [3], [2], [1], 1),
        ([1, 2], [3, 4], [5, 6], [7, 8], 5),
        some_pieces(8, 3),
        some_pieces(8, 2),
        some_pieces(8, 1),
        some_pieces(60, 4),
        some_pieces(1100, 4),
        ([], [], [], [], 2),
        names="backward down step up room",
    ),
    checks=[possible, early_enough],
    hints=[
        "Draw four rows: device, link down, host, link up. Put piece 0 in, then piece 1. What does each of its four "
        "things wait for?",
        "Everything begins at the latest of two times: when the same piece's thing before it has ended, and when the "
        "piece before it has ended the same thing.",
        "A backward pass has a third one: with room for r pieces, piece i waits for the end of the copy down of piece "
        "i - r.",
    ],
)

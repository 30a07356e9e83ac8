"""Level 3 of chapter 10, write: rows of shards, gradients in buckets, gather and free."""

import itertools
import math
import weakref
from collections import Counter

import numpy as np

from exercises.grading import Case, Distributed, Exercise, Finding, checks, inputs
from exercises.grading.exercise import BETA
from exercises.grading.numbers import listed, short
from exercises.grading.returns import Returns

from ..ch02_data_parallel.common import called, no_more_than
from ..ch06_tensor_parallel.common import alike

# Rows of shards ------------------------------------------------------------------------------------------------------


def chunk(rows, P, rank):
    """(first, rows) as torch.chunk cuts."""
    block = -(-rows // P)
    first = min(rank * block, rows)
    return first, min(block, rows - first)


def even(rows, P, rank):
    """(first, rows) as numpy.array_split cuts: sizes differ by one at most."""
    return rank * (rows // P) + min(rank, rows % P), rows // P + (rank < rows % P)


def floored(rows, P, rank):
    """Blocks of rows // P, the last rank with the rest."""
    block = rows // P
    return rank * block, rows - rank * block if rank == P - 1 else block


def size(shape):
    return math.prod(shape[1:])


def layout(shapes, P, rank, cut=chunk, gap=False, elements=size):
    """(pieces, length); or what somebody has who cuts in another way, or leaves each piece the room of rank 0's."""
    pieces, offset = [], 0
    for shape in shapes:
        first, rows = cut(shape[0], P, rank)
        pieces.append((first, rows, offset))
        offset += (cut(shape[0], P, 0)[1] if gap else rows) * elements(shape)
    longest = max(sum(cut(shape[0], P, r)[1] * elements(shape) for shape in shapes) for r in range(P))
    return pieces, longest


def beyond(rows, P, rank):
    """As chunk, but a rank without rows begins behind the end."""
    block = -(-rows // P)
    return rank * block, max(0, min(block, rows - rank * block))


def own_length(shapes, P, rank):
    """The length that the rank's own pieces have."""
    pieces, _ = layout(shapes, P, rank)
    return pieces, sum(rows * size(shape) for (_, rows, _), shape in zip(pieces, shapes))


def in_rows(shapes, P, rank):
    """Offsets are right, and the first row is counted in elements."""
    pieces, length = layout(shapes, P, rank)
    return [(first * size(shape), rows, offset) for (first, rows, offset), shape in zip(pieces, shapes)], length


def empty_at_zero(shapes, P, rank):
    """Right, but a rank without rows begins at 0."""
    pieces, length = layout(shapes, P, rank)
    return [(first * bool(rows), rows, offset) for first, rows, offset in pieces], length


def behind(shapes, P, rank):
    """Offsets are those of the ends."""
    pieces, length = layout(shapes, P, rank)
    return [(f, rows, offset + rows * size(shape)) for (f, rows, offset), shape in zip(pieces, shapes)], length


def even_length(shapes, P, rank):
    return layout(shapes, P, rank)[0], -(-sum(map(math.prod, shapes)) // P)


def elements_for_rows(shapes, P, rank):
    pieces, length = layout(shapes, P, rank)
    return [(first, rows * size(shape), offset) for (first, rows, offset), shape in zip(pieces, shapes)], length


def no_layout(case, results):
    """A pair: a list of triples of whole numbers, one for each parameter, and a whole number."""
    (got,), (shapes, _, _) = listed(results), case.arguments[0]
    form = "Return (pieces, length): a list with (first, rows, offset) for each parameter, and a number."
    if got is None or not isinstance(got, list) or len(got) != 2 or not isinstance(got[0], list):
        return Finding(f"it returned {got!r:.80}.", form)
    pieces, length = got
    if any(not isinstance(piece, list) or len(piece) != 3 for piece in pieces) or len(pieces) != len(shapes):
        return Finding(f"it returned the pieces {pieces!r:.80}.", form)
    if strange := [
        n for n in itertools.chain(length if isinstance(length, list) else [length], *pieces) if type(n) is not int
    ]:
        return Finding(f"there is {short(strange[0])} in it.", "Rows and elements are whole numbers: // in place of /.")
    return None


def layout_seen(case, results, right):
    """The first piece that is wrong, or the length."""
    (pieces, length), (want, longest) = results[0], right[0]
    for place, (piece, other) in enumerate(zip(pieces, want)):
        if piece != other:
            return f"parameter {place}: {tuple(piece)}; right is {tuple(other)}."
    return f"the length is {length:,}; right is {longest:,}."


def some_shapes(rng):
    P = int(rng.integers(3, 7))
    shapes = [
        tuple(int(n) for n in rng.integers(1, 12, int(rng.integers(1, 4)))) for _ in range(int(rng.integers(2, 6)))
    ]
    return shapes, P, int(rng.integers(0, P))


rows_of_rank = Exercise(
    cases=inputs.calls(
        ([(6, 2), (3, 4)], 3, 1),
        ([(7, 3), (4,), (9, 2, 2)], 4, 1),
        ([(7, 3), (4,), (9, 2, 2)], 4, 3),
        ([(5, 2), (3,)], 4, 2),
        ([(5, 2), (3,), (10, 2)], 4, 3),
        ([(2, 3), (1,), (8, 2)], 8, 5),
        ([(4, 3), (5,)], 1, 0),
        ([], 2, 1),
        some_shapes,
        some_shapes,
        some_shapes,
        ([(5, 2), (3,)] * 600, 4, 1),
        ([(128256, 4096), (4096,), (14336, 4096)], 1000, 993),
        names="shapes P rank",
    ),
    checks=[
        Returns(
            layout,
            [
                (
                    lambda *given: layout(*given, cut=even),
                    "That is as even as it can be. Here every block has as many rows as rank 0's, and what is missing "
                    "is missing at the end: with 5 rows on 4 ranks 2, 2, 1 and 0.",
                ),
                (
                    lambda *given: layout(*given, cut=floored),
                    "Blocks of rows // P, with the rest on the last rank. Round up: then nobody has more than rank 0.",
                ),
                (
                    lambda *given: layout(*given, cut=beyond),
                    "A rank without rows begins behind the end of the parameter. It should begin at its number of "
                    "rows, so that [first : first + rows] is an empty piece of it.",
                ),
                (
                    lambda *given: layout(*given, gap=True),
                    "Each piece has the room of a whole block, so there are gaps. The pieces lie one behind the other; "
                    "the padding is behind the last.",
                ),
                (
                    own_length,
                    "That is as long as this rank's pieces. Other ranks have more, and all buffers are equally long.",
                ),
                (
                    lambda *given: layout(*given, elements=lambda shape: 1),
                    "Offsets and length count rows. They count elements: a row has as many as the other dimensions "
                    "multiplied.",
                ),
                (
                    lambda *given: layout(*given, elements=lambda shape: shape[1] if len(shape) > 1 else 1),
                    "A row has as many elements as all other dimensions multiplied, not only the second one.",
                ),
                (
                    lambda *given: layout(*given, elements=math.prod),
                    "A row has as many elements as the other dimensions multiplied; the number of rows is not among "
                    "them.",
                ),
                (
                    empty_at_zero,
                    "A rank without rows begins at 0 in it. It begins at the parameter's number of rows: then the "
                    "ranks' pieces follow each other.",
                ),
                (
                    behind,
                    "`offset` is where a piece ends. It is where it begins: the first one at 0.",
                ),
                (
                    even_length,
                    "The length is an even share of all elements. Each parameter is cut by itself, into blocks that "
                    "are "
                    "rounded up: how much has rank 0?",
                ),
                (in_rows, "`first` counts elements. It is the number of a row."),
                (elements_for_rows, "`rows` counts elements. It is a number of rows."),
            ],
            otherwise="For each parameter: the block's rows, rounded up; where the rank's block begins; how many rows "
            "are left for it. The next piece begins behind its elements.",
            seen=layout_seen,
            form=no_layout,
            read=listed,
        )
    ],
    hints=[
        "Cut 5 rows for 4 ranks on paper, then 3 rows. Which ranks have fewer than rank 0, and which have none?",
        "block = -(-rows // P). Rank r begins at r block, but not behind the last row, and has at most block rows.",
        "A piece has rows times the product of the other dimensions as its elements. The length is the same sum for "
        "rank 0, which never has less than another rank.",
    ],
)


# Gradients in buckets ------------------------------------------------------------------------------------------------


class Backward:
    """Gradients, one after the other. Its text tells, at each call, how many reductions were done, and how many
    gradients of earlier buckets somebody still holds."""

    def __init__(self, gradients, buckets):
        self.gradients = gradients
        self.bucket = [number for number, lengths in enumerate(buckets) for _ in lengths]
        self.given, self.seen = [], []

    def __call__(self, comm):
        from reference import mpi  # here: collecting the exercises should not wait for it

        place = len(self.given)
        if place == len(self.gradients):
            raise IndexError("backward was called once more than there are parameters")
        held = sum(one() is not None and self.bucket[k] < self.bucket[place] for k, one in enumerate(self.given))
        self.seen.append((len(getattr(comm, "_came", ())), held))
        gradient = self.gradients[place].copy()
        self.given.append(weakref.ref(gradient))
        mpi.compute(comm, 8 * BETA * len(gradient))
        return gradient

    def __repr__(self):
        return " ".join(f"{reduced}/{held}" for reduced, held in self.seen) or "backward"


def backwards(*rows):
    """Cases (ranks, buckets)."""

    def cases(rng):
        for P, buckets in rows:
            lengths = [length for bucket in buckets for length in bucket]
            ranks = [
                (Backward([rng.standard_normal(n) for n in lengths], buckets), [list(bucket) for bucket in buckets])
                for _ in range(P)
            ]
            shown = buckets if len(lengths) < 9 else f"{len(buckets)}, with {sum(lengths):,} elements together"
            yield Case(f"{checks.count(P, 'rank')}, buckets {shown}", tuple(ranks), noted="Reduce_scatter_block")

    return cases


def whole(case, rank, number):
    """A rank's gradients of a bucket, one behind the other, and the padding."""
    backward, buckets = case.arguments[rank]
    start = sum(map(len, buckets[:number]))
    flat = np.concatenate([*backward.gradients[start : start + len(buckets[number])], np.zeros(0)])
    n = -(-len(flat) // case.ranks)
    return np.pad(flat, (0, n * case.ranks - len(flat)))


def part_of(case, rank, number, of=None):
    """A rank's part of a bucket's mean, or of the sum, ..."""
    flat = sum(whole(case, r, number) for r in range(case.ranks)) / case.ranks if of is None else of
    n = len(flat) // case.ranks
    return flat[rank * n : rank * n + n]


def turned(case, number):
    """The mean of a bucket whose gradients stand in reverse."""
    lengths = case.arguments[0][1][number]
    flat = summed(case, number) / case.ranks
    pieces = np.split(flat, np.cumsum(lengths))  # the last one is the padding
    return np.concatenate([*pieces[-2::-1], pieces[-1]])


def summed(case, number):
    return sum(whole(case, r, number) for r in range(case.ranks))


OTHERS = [
    (
        lambda case, rank, number: part_of(case, rank, number, summed(case, number)),
        "The gradients are added up and not divided: asked for is the mean over the ranks.",
    ),
    (
        lambda case, rank, number: part_of(case, rank, number) / case.ranks,
        "The mean was taken twice: divided by P once too often.",
    ),
    (
        lambda case, rank, number: part_of(case, rank, number, whole(case, rank, number)),
        "That is made of this rank's gradients alone.",
    ),
    (
        lambda case, rank, number: summed(case, number) / case.ranks,
        "That is the whole bucket. The rank keeps its P-th of it: this is what stage 2 saves.",
    ),
    (
        lambda case, rank, number: summed(case, number)[: sum(case.arguments[0][1][number])] / case.ranks,
        "That is the whole bucket. The rank keeps its P-th of it: this is what stage 2 saves.",
    ),
    (
        lambda case, rank, number: part_of(case, 0, number),
        "Every rank has the part of rank 0.",
    ),
    (
        lambda case, rank, number: part_of(case, rank, number, turned(case, number)),
        "The gradients of the bucket stand in it in reverse. The first one that comes is the first.",
    ),
]


def parts_of_buckets(case, answer):
    """Every rank returns its part of every bucket."""
    buckets = case.arguments[0][1]
    for rank, got in enumerate(answer.results):
        if not isinstance(got, list | tuple) or len(got) != len(buckets):
            return Finding(
                f"rank {rank} returned {short(got)}.",
                f"Return a list with one array for each bucket, {len(buckets)} here.",
            )
        for number, part in enumerate(got):
            if not isinstance(part, np.ndarray) or part.dtype != np.float64:
                return Finding(f"rank {rank}, bucket {number}: {short(part)}.", "It should be an array of float64.")
            want = part_of(case, rank, number)
            if alike(part, want):
                continue
            hints = [hint for slip, hint in OTHERS if alike(part, slip(case, rank, number))]
            if part.shape != want.shape:
                seen = f"rank {rank}, bucket {number}: an array of shape {part.shape}; it should be {want.shape}."
                hint = "Each rank has a P-th of the bucket, rounded up; the padding is behind the bucket's last one."
            else:
                wrong = int((np.abs(part - want) > 1e-9).sum() or (~np.isfinite(part)).sum())
                seen = f"rank {rank}, bucket {number}: {wrong} of {want.size} numbers are wrong."
                hint = (
                    "Elements r n to r n + n - 1 of the bucket, in the order in which its gradients came, as a mean. "
                    "Do "
                    "zeros stand behind the last one? np.empty leaves anything there."
                )
                hint = checks.DIGITS if alike(part, want, checks.FEW_DIGITS) else hint
            return Finding(seen, next(iter(hints), hint))
    return None


def reductions(case, made):
    """The hint for other calls than one Reduce_scatter_block for each bucket."""
    if "Allreduce" in made:
        return (
            "An all-reduce gives every rank the whole bucket, and sends twice as much. A rank needs its own part: "
            "Reduce_scatter_block."
        )
    if set(made) == {"Ireduce_scatter_block"}:
        return (
            "A call that only begins holds its bucket until it is waited for, and then there are whole gradients of "
            "two. "
            "Reduce_scatter_block comes back when the bucket can be dropped."
        )
    if set(made) == {"Reduce_scatter_block"} and len(made) > len(case.arguments[0][1]):
        return "More reductions than buckets. Small messages cost a latency each: a bucket collects gradients first."
    if set(made) == {"Reduce_scatter_block"}:
        return (
            "Fewer reductions than buckets. Whoever waits for more gradients has to keep them: a bucket goes as soon "
            "as "
            "it is full."
        )
    return "One Reduce_scatter_block for each bucket, and nothing else."


def in_time(case, answer):
    """Each bucket is reduced before the next gradient is made, and its gradients are gone by then."""
    for rank, (backward, _) in enumerate(answer.arguments):
        text = "" if backward.text == "backward" else backward.text
        seen = [tuple(map(int, each.split("/"))) for each in text.split()]
        bucket = case.arguments[rank][0].bucket
        if len(seen) != len(bucket):
            return Finding(
                f"rank {rank} called backward {checks.count(len(seen), 'time')}, and there are {len(bucket)} "
                "parameters.",
                "Each call gives the gradient of one parameter.",
            )
        for place, (reduced, held) in enumerate(seen):
            if reduced < bucket[place]:
                return Finding(
                    f"rank {rank}: when gradient {place} was made, of bucket {bucket[place]}, {reduced} buckets were "
                    "reduced.",
                    "A full bucket is reduced before backward is called again. Else there are whole gradients of "
                    "several buckets, in the end of all: then stage 2 saves nothing.",
                )
            if held:
                return Finding(
                    f"rank {rank}: when gradient {place} was made, {checks.count(held, 'gradient')} of earlier buckets "
                    f"{'was' if held == 1 else 'were'} still there.",
                    "Something still refers to them, and so their memory is not free: a list that goes on, or a name "
                    "that is bound anew only after the next call. `del` drops a name.",
                )
    return None


reduce_in_buckets = Distributed(
    cases=backwards(
        (2, [[4], [2, 2]]),
        (3, [[3, 4], [5], [2, 6, 1]]),
        (4, [[1], [2, 1], [9]]),
        (1, [[2, 3], [4]]),
        (5, [[7, 7], [3]]),
        (2, [[900, 100], [500], [300, 701]]),
    ),
    checks=[
        parts_of_buckets,
        called(lambda case: ["Reduce_scatter_block"] * len(case.arguments[0][1]), reductions),
        no_more_than(
            # half of what all-reduces take
            lambda case: sum(-(-sum(bucket) // case.ranks) * case.ranks for bucket in case.arguments[0][1]) / 2,
            "reduce-scatters of all buckets",
            "More numbers travel than are needed: each bucket once, with its padding.",
        ),
        in_time,
    ],
    endings={
        "broadcast": "Two arrays have different lengths. The bucket with its padding has P n elements, a part has n.",
        "count": "The arrays do not fit: the bucket with its padding has P n elements, and a part has n.",
        "Truncation": "The arrays do not fit: the bucket with its padding has P n elements, and a part has n.",
        "CollectiveMismatch": "The ranks' arrays differ in length. With the padding every bucket has P n elements.",
        "once more than there are": "backward was called too often: once for each parameter.",
    },
    hints=[
        "Take one bucket: how many times is backward called for it, and what is sent then? Do this for each bucket.",
        "An array of zeros with P n elements is the bucket; copy each gradient into its place. Then one "
        "Reduce_scatter_block into an array of n, divided by P.",
        "flat[start : start + length] = backward(comm) leaves no name behind that refers to the gradient.",
    ],
)


# Gather and free -----------------------------------------------------------------------------------------------------

FORM = '"gather 1", "free 1", "forward 1", "backward 1" or "reduce 1"'


def fewest(uses):
    """How many gathers are needed with room for one unit: one each time that the unit changes."""
    whole = [*uses, *reversed(uses)]
    return sum(1 for _ in itertools.groupby(whole))


def actions(case, got):
    """(the order as pairs, None), or (None, what is wrong with its form)."""
    got = got.tolist() if isinstance(got, np.ndarray) else got
    if not isinstance(got, list | tuple):
        return None, Finding(f"it returned {short(got)}.", f"Return a list of strings such as {FORM}.")
    pairs, units = [], {str(unit) for unit in case.arguments[0][0]}
    for each in got:
        words = each.split() if isinstance(each, str) else []
        known = len(words) == 2 and words[0] in ("gather", "free", "forward", "backward", "reduce")
        if not known or words[1] not in units:
            return None, Finding(f"there is no action {each!r:.40} here.", f"An action is {FORM}, for a unit of uses.")
        pairs.append((words[0], int(words[1])))
    return pairs, None


def carried_out(case, answer):
    """Go through the order: what is there, and what is missing."""
    (uses,), (got,) = case.arguments[0], answer.results
    order, finding = actions(case, got)
    if finding:
        return finding
    expected = [("forward", unit) for unit in uses] + [("backward", unit) for unit in reversed(uses)]
    there, place = set(), 0
    for number, (action, unit) in enumerate(order):
        done = f"action {number}, {action} {unit}: "
        if action == "gather":
            if unit in there:
                return Finding(f"{done}the unit is there already.", "What is there need not be gathered again.")
            if there:
                return Finding(
                    f"{done}unit {min(there)} is still there, and there is room for one.",
                    "Free a unit before the next is gathered. Whoever keeps every unit after its gather has the whole "
                    "model in memory in the end, which is no stage 3.",
                )
            there.add(unit)
        elif action == "free":
            if unit not in there:
                return Finding(f"{done}the unit is not there.", "Only what was gathered can be freed.")
            there.remove(unit)
        elif action in ("forward", "backward"):
            if expected[place : place + 1] != [(action, unit)]:
                want = " ".join(map(str, expected[place])) if place < len(expected) else "nothing more"
                return Finding(
                    f"{done}next is {want}.",
                    "The forward pass uses the units as `uses` says, the backward pass in reverse: every use once.",
                )
            if unit not in there:
                passed = "backward pass" if action == "backward" else "forward pass"
                return Finding(
                    f"{done}its weights are not there.",
                    f"A use in the {passed} needs the whole weights. What was freed has to be gathered again.",
                )
            place += 1
    if place < len(expected):
        return Finding(f"{' '.join(map(str, expected[place]))} is missing.", "Every use happens, forward and backward.")
    if there:
        return Finding(
            f"unit {min(there)} is left in the end.",
            "The optimizer's step needs shards alone: in the end nothing is gathered.",
        )
    return None


def reduced(case, answer):
    """Every unit is reduced once, directly after its last backward use."""
    (uses,), (got,) = case.arguments[0], answer.results
    order, _ = actions(case, got)
    last = {action: place for place, action in enumerate(order)}  # when each is done for the last time
    often = Counter(order)
    for unit in dict.fromkeys(uses):
        times, late = often["reduce", unit], last.get(("reduce", unit), 0) - last["backward", unit]
        if times > 1:
            return Finding(
                f"unit {unit} is reduced {checks.count(times, 'time')}.",
                "Its backward uses add their gradients up on the rank. Reduced after each, they would travel several "
                "times: once, when the last is there.",
            )
        if not times:
            return Finding(
                f"unit {unit} is never reduced.",
                "Its gradients must reach the shards, or its weights stay as they are.",
            )
        if late < 0:
            return Finding(
                f"unit {unit} is reduced before its last backward use.",
                "A unit that is used several times has its whole gradient only after the last of its backward uses.",
            )
        freed = order[last["backward", unit] + 1] == ("free", unit)  # which may come between
        if late > 1 + freed:
            return Finding(
                f"unit {unit} is reduced {late} actions after its last backward use.",
                "Directly after it: until then whole gradients take as much room as a gathered unit.",
            )
    return None


def few_gathers(case, answer):
    """No gather too many."""
    (uses,), (got,) = case.arguments[0], answer.results
    order, _ = actions(case, got)
    made, want = sum(action == "gather" for action, _ in order), fewest(uses)
    if made > want:
        return Finding(
            f"there are {checks.count(made, 'gather')}; {want} are enough.",
            "A unit that is used again at once need not be freed in between. Where does that happen in every step?",
        )
    return None


gather_and_free = Exercise(
    cases=inputs.calls(
        ([0, 1, 2],),
        ([0, 1],),
        ([0],),
        ([0, 1, 2, 0],),
        ([0, 1, 1, 2],),
        ([3, 1, 3, 1, 2, 2],),
        (list(range(12)),),
        lambda rng: (rng.integers(0, 5, 14).tolist(),),
        lambda rng: (rng.integers(0, 3, 9).tolist(),),
        ([*range(1100), 0],),
        ([],),
        names="uses",
    ),
    checks=[carried_out, reduced, few_gathers],
    hints=[
        "Write the uses of a whole step in one row: forward, then backward. What stands between two of them that "
        "belong to different units?",
        "Between different units: free the one, gather the other. Between equal ones: nothing.",
        "A unit is reduced behind its last backward use: find the place of that use in the row first.",
    ],
)

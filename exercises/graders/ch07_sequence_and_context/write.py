"""Level 3 of chapter 7, write: attention by blocks, who holds which tokens, a ring."""

import tracemalloc
from itertools import takewhile

import numpy as np

from exercises.grading import Case, Distributed, Exercise, Finding, checks, inputs
from exercises.grading.returns import Returns

from ..ch01_collectives.common import right
from .common import attention, causal, compared, distributed_attention, parts

FLOAT = 8  # bytes


# Attention by blocks -------------------------------------------------------------------------------------------------


class Blocks:
    """Keys and values that come in blocks, each made when it is asked for.

    Its text tells how often they were gone through, and the most bytes that Python held meanwhile.
    """

    def __init__(self, blocks):
        self.blocks, self.times, self.most = blocks, 0, 0

    def __iter__(self):
        self.times += 1
        tracemalloc.start()
        try:
            for k, v, start in self.blocks:
                yield k.copy(), v.copy(), start
            self.most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    def __repr__(self):
        return f"{self.times} {self.most}"


def some_blocks(*rows):
    """Cases (s, d, first, [(start, tokens), ...], scale of queries and keys)."""

    def cases(rng):
        for s, d, first, places, scale in rows:
            q = rng.standard_normal((s, d)) * scale
            held = [(rng.standard_normal((t, d)) * scale, rng.standard_normal((t, d)), start) for start, t in places]
            where = ", ".join(f"{start}..{start + t - 1}" for start, t in places[:4]) + ", ..." * (len(places) > 4)
            label = f"d = {d}, queries {first}..{first + s - 1}, keys {where or 'none'}" + ", large scores" * (
                scale > 1
            )
            yield Case(label, ((q, first, Blocks(held)),))

    return cases


def gathered(q, first, blocks, sees=causal):
    """The queries' positions with the keys, values and mask of all blocks together."""
    d = q.shape[1]
    k, v = (np.concatenate([np.zeros((0, d)), *(block[i] for block in blocks.blocks)]) for i in (0, 1))
    keys = np.concatenate([np.zeros(0, int), *(start + np.arange(len(k)) for k, _, start in blocks.blocks)])
    return k, v, sees(first + np.arange(len(q)), keys)


def whole(q, first, blocks):
    """What is right."""
    return attention(q, *gathered(q, first, blocks))


def masked(sees):
    """With another mask."""
    return lambda q, first, blocks: attention(q, *gathered(q, first, blocks, sees))


def scaled(scale):
    """With another factor of the scores."""
    return lambda q, first, blocks: attention(q, *gathered(q, first, blocks), scale=scale(q.shape[1]))


def each_block(q, first, blocks, local=False):
    """The attention over each block alone."""
    here = first + np.arange(len(q))
    for k, v, start in blocks.blocks:
        keys = start + np.arange(len(k))
        yield attention(q, k, v, causal(np.arange(len(q)), np.arange(len(k))) if local else causal(here, keys))


def added(combine):
    """Outputs of the blocks put together without their weights; L as it should be."""

    def formula(q, first, blocks):
        found = list(each_block(q, first, blocks))
        return (combine([o for o, _ in found]), whole(q, first, blocks).L) if found else whole(q, first, blocks)

    return formula


def local_mask(q, first, blocks):
    """Positions counted from 0 in each block."""
    found = list(each_block(q, first, blocks, local=True))
    if not found:
        return whole(q, first, blocks)
    L = np.logaddexp.reduce([each.L for each in found])
    base = np.where(np.isneginf(L), 0.0, L)
    return sum(np.exp(each.L - base)[:, None] * each.o for each in found), L


def until_the_future(q, first, blocks):
    """The blocks before the first one that no query sees."""
    seen = takewhile(lambda block: block[2] < first + len(q), blocks.blocks)
    return whole(q, first, Blocks(list(seen)))


def carried(rescale_sum, rescale_output):
    """The recurrence, with the old sum or the old output not rescaled when the maximum grows."""

    def formula(q, first, blocks):
        here, m = first + np.arange(len(q)), np.full(len(q), -np.inf)
        total, o = np.zeros(len(q)), np.zeros_like(q)
        for k, v, start in blocks.blocks:
            S = np.where(causal(here, start + np.arange(len(k))), q @ k.T / np.sqrt(q.shape[1]), -np.inf)
            new = np.maximum(m, S.max(axis=1))
            base = np.where(np.isneginf(new), 0.0, new)
            alpha, P = np.exp(m - base), np.exp(S - base[:, None])
            total = (alpha if rescale_sum else 1) * total + P.sum(axis=1)
            o = (alpha[:, None] if rescale_output else 1) * o + P @ v
            m = new
        return o / np.where(total > 0, total, 1.0)[:, None], m + np.log(total)

    return formula


def other_L(L):
    """The right output with another L."""
    return lambda q, first, blocks: (whole(q, first, blocks).o, L(q, *gathered(q, first, blocks)))


def largest(q, k, v, visible):
    """The largest score of each row."""
    S = np.where(visible, q @ k.T * q.shape[1] ** -0.5, -np.inf)
    return S.max(axis=1, initial=-np.inf)


OTHER_ATTENTION = [
    (
        added(sum),
        "The outputs of the blocks are added up, each normalised by itself: as many averages as there are blocks. What "
        "does a block count for, compared with the others? For the sum of its own exponentials.",
    ),
    (
        added(lambda outputs: sum(outputs) / len(outputs)),
        "That is the mean of the blocks' outputs. A block with large scores counts for more than one with small ones.",
    ),
    (
        added(lambda outputs: outputs[-1]),
        "Only the last block is left of all. What came before must be kept, and rescaled.",
    ),
    (
        carried(False, True),
        "The sum of the exponentials is not rescaled when the maximum grows: what was summed under the old maximum is "
        "too large by exp(old - new).",
    ),
    (
        carried(True, False),
        "The output so far is not rescaled when the maximum grows; the sum is. Both were summed under the old maximum.",
    ),
    (
        carried(False, False),
        "The maximum grows from block to block, and what was summed under the old one stays as it was. exp(S - m) of "
        "two blocks can only be added if it is the same m.",
    ),
    (
        masked(lambda queries, keys: np.ones((len(queries), len(keys)), bool)),
        "Every query sees all keys, also those behind it.",
    ),
    (
        masked(lambda queries, keys: causal(queries - 1, keys)),
        "A query does not see the key at its own position: the mask is off by one.",
    ),
    (
        masked(lambda queries, keys: causal(queries + 1, keys)),
        "A query sees the key behind it, the next token: the mask is off by one. A model that learns so looks up what "
        "it should predict.",
    ),
    (
        masked(lambda queries, keys: ~causal(queries - 1, keys)),
        "The mask is the wrong way round: queries see the future.",
    ),
    (
        local_mask,
        "The mask compares places in the block, counted from 0. Which query sees which key depends on where both stand "
        "in the sequence: first + i and start + j.",
    ),
    (
        until_the_future,
        "You stop at the first block that no query sees. Blocks come in no particular order: go on with the next.",
    ),
    (scaled(lambda d: 1.0), "The scores are not divided by sqrt(d)."),
    (scaled(lambda d: 1 / d), "The scores are divided by d. It is its root."),
    (scaled(lambda d: d**0.5), "The scores are multiplied by sqrt(d)."),
    (other_L(largest), "o is right. Your L is the largest score; the sum that was taken under it belongs to it, too."),
    (
        other_L(
            lambda q, k, v, visible: (
                attention(q, k, v, visible).L - np.where(visible.any(axis=1), largest(q, k, v, visible), 0)
            )
        ),
        "o is right. Your L is the logarithm of the sum that was taken under the maximum: what had been subtracted?",
    ),
]


def as_without_blocks(case, answer):
    """What softmax over all keys at once gives."""
    (arguments,), (got,) = case.arguments, answer.results
    if finding := parts(case, answer, arguments[0].shape[1]):
        return finding
    want = whole(*arguments)
    for row in np.flatnonzero(np.isneginf(want.L) & np.isfinite(got[1])):
        return Finding(
            f"L[{row}] is {got[1][row]:.6g}; right is -inf, for this query sees no key.",
            "Do you mask with a large negative number? Where a query sees nothing it is the largest score, and all "
            "masked keys count alike. Use -inf, and see to the rows in which all are.",
        )
    slips = [(lambda formula=formula: formula(*arguments), hint) for formula, hint in OTHER_ATTENTION]
    return compared(
        got,
        want,
        slips,
        "Take two blocks of one key each, and one query. What are m, the sum and the output after the first one? By "
        "which factor must sum and output change when the second score is larger?",
        "large" in case.label,
    )


def one_block_at_a_time(case, answer):
    """The memory does not grow with the number of blocks, and they are gone through once."""
    (q, _, blocks), ((_, _, seen),) = case.arguments[0], answer.arguments
    times, most = map(int, seen.text.split())
    if times > 1:
        return Finding(
            f"the blocks were gone through {times} times.",
            "Once is enough, if what was summed under an old maximum is rescaled; and in a ring a block that has been "
            "passed on does not come again.",
        )
    longest = max((len(k) for k, _, _ in blocks.blocks), default=0)
    (s, d), room = q.shape, 20_000
    room += 6 * FLOAT * (s * longest + 2 * longest * d + 2 * s * d)
    if most <= room:
        return None
    every = sum(len(k) for k, _, _ in blocks.blocks)
    return Finding(
        f"{most:,} bytes were held at a time. One block, its scores and the output, six times over, are {room:,}; all "
        f"keys and values are {2 * FLOAT * every * d:,} bytes, and all scores {FLOAT * every * s:,}.",
        "Something is kept of every block. Of what has come so far only m, the sum and the output are needed, and "
        "none of them grows with the number of keys.",
    )


blockwise_attention = Exercise(
    cases=some_blocks(
        (4, 4, 3, [(0, 3), (3, 3), (6, 2)], 1.0),
        (5, 3, 8, [(0, 4), (4, 4)], 1.0),
        (3, 8, 4, [(5, 3), (0, 2), (2, 3)], 1.0),  # one row sees less than the others of the block that comes first
        (4, 2, 2, [(4, 6), (0, 2), (2, 2)], 3.0),
        (3, 6, 0, [(2, 2), (0, 2)], 1.0),
        (3, 4, 2, [(0, 2), (5, 2), (2, 2)], 1.0),  # a block that nobody sees comes before one that is seen
        (4, 4, 5, [(0, 3), (3, 6)], 30.0),
        (3, 5, 2, [(8, 2), (6, 2)], 1.0),  # nobody sees anything
        (2, 5, 2, [], 1.0),
        (3, 4, 4, [(4 * i, 4) for i in range(3)], 1.0),
        (130, 8, 20, [(0, 40), (80, 70), (40, 40)], 1.0),
        (16, 8, 944, [(16 * i, 16) for i in range(60)], 1.0),  # all keys, or all scores, are more than one block
        (4, 300, 2, [(0, 2), (2, 4)], 1.0),
    ),
    checks=[as_without_blocks, one_block_at_a_time],
    hints=[
        "For one query keep three things: the largest score so far, m; the sum of exp(score - m); and the output "
        "before it is divided, the sum of exp(score - m) times v. What becomes of the last two when m grows?",
        "m_new = maximum(m, largest score of the block). alpha = exp(m - m_new). Sum and output are multiplied by "
        "alpha, and the block's parts are added. At the end o is divided by the sum, and L = m + log(sum).",
        "Masked scores are -inf. Where a row has seen nothing yet m_new is -inf, and -inf - -inf is NaN: subtract 0 "
        "there, and divide by 1. The mask is (first + i) >= (start + j).",
    ],
)


# Zigzag --------------------------------------------------------------------------------------------------------------


def chunks(rank, ranks, s):
    """Chunks rank and 2 P - 1 - rank of 2 P."""
    u = s // (2 * ranks)
    return [*range(rank * u, (rank + 1) * u), *range(s - (rank + 1) * u, s - rank * u)]


def folded(rank, ranks, s):
    """What is right."""
    if s % (2 * ranks):
        return None
    positions = chunks(rank, ranks, s)
    return positions, sum(positions) + len(positions)


def placed(positions, count=lambda positions, rank, ranks, s: sum(positions) + len(positions)):
    """Other positions, or another count of pairs; None where it should be."""

    def formula(rank, ranks, s):
        mine = positions(rank, ranks, s)
        return None if s % (2 * ranks) else (mine, count(mine, rank, ranks, s))

    return formula


def anyhow(rank, ranks, s):
    """Whatever comes out if nobody asks whether 2 P divides s."""
    positions = chunks(rank, ranks, s)
    return positions, sum(positions) + len(positions)


def cut_contiguous(rank, ranks, s):
    return list(range(rank * (s // ranks), (rank + 1) * (s // ranks)))


def cut_apart(rank, ranks, s):
    u = s // (2 * ranks)
    return [*range(rank * u, (rank + 1) * u), *range((rank + ranks) * u, (rank + ranks + 1) * u)]


OTHER_ZIGZAGS = [
    (
        placed(cut_contiguous),
        "That is the contiguous layout: the last rank's queries see almost all keys, the first one's few, and all "
        "wait for the last.",
    ),
    (
        placed(lambda rank, ranks, s: list(range(rank, s, ranks))),
        "Striped: every P-th token. It is nearly balanced, too; asked for is zigzag, two chunks in one piece each.",
    ),
    (
        placed(lambda rank, ranks, s: [p for p in range(s) if p % (2 * ranks) in (rank, 2 * ranks - 1 - rank)]),
        "You fold token by token: the ranks take turns, forwards and backwards. It is even, too; asked for is zigzag, "
        "two chunks in one piece each.",
    ),
    (
        placed(cut_apart),
        "Chunks r and r + P: rank r's both stand later than those of rank r - 1, so it has more work. The second chunk "
        "must be as far from the end as the first is from the beginning.",
    ),
    (
        placed(lambda rank, ranks, s: sorted((p for p in chunks(rank, ranks, s)), reverse=True)),
        "The right tokens, in descending order.",
    ),
    (
        placed(
            lambda rank, ranks, s: [
                *chunks(rank, ranks, s)[: s // (2 * ranks)],
                *chunks(rank, ranks, s)[: s // (2 * ranks) - 1 : -1],
            ]
        ),
        "The right tokens, the second chunk in reverse order. It is a chunk as it stands in the sequence.",
    ),
    (
        placed(
            lambda rank, ranks, s: [
                *chunks(rank, ranks, s)[s // (2 * ranks) :],
                *chunks(rank, ranks, s)[: s // (2 * ranks)],
            ]
        ),
        "The right tokens; the late chunk stands first. Positions are asked for in ascending order.",
    ),
    *[
        (
            placed(chunks, count),
            "The positions are right. A query sees the key at its own position, too: p + 1 keys.",
        )
        for count in (
            lambda positions, *_: sum(positions),
            lambda positions, *_: sum(positions) - len(positions),
        )
    ],
    (
        placed(chunks, lambda positions, *_: len(positions) * (len(positions) + 1) // 2),
        "The positions are right. You count the pairs of this rank's queries with its own keys; keys of all ranks are "
        "seen.",
    ),
    (
        placed(chunks, lambda positions, rank, ranks, s: len(positions) * s),
        "The positions are right. You count all keys; a query at position p sees p + 1 of them.",
    ),
    (
        placed(chunks, lambda positions, rank, ranks, s: s * (s + 1) // 2),
        "The positions are right. Those are the pairs of all ranks together.",
    ),
    (
        placed(chunks, lambda positions, rank, ranks, s: s * s // 2 / ranks),
        "The positions are right. s^2 / 2 is nearly the number of all pairs: count the diagonal exactly.",
    ),
    (
        lambda rank, ranks, s: None if s % ranks else anyhow(rank, ranks, s),
        "P divides s here, and 2 P does not: there are two chunks for each rank.",
    ),
    (
        anyhow,
        "2 P chunks of equal length: here s cannot be cut so, and some tokens would belong to nobody. Return None.",
    ),
]


def two_things(case, results):
    """A list of positions and a number; or None."""
    (got,) = results
    if got is None:
        want = folded(*case.arguments[0])
        return want and Finding(
            "it returned None.",
            f"{2 * case.arguments[0][1]} divides {case.arguments[0][2]}: return (positions, pairs). (A function that "
            "ends without `return` gives None, too.)",
        )
    pair = checks.listed(got)
    if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], list):
        return Finding(
            f"it returned {got!r:.100}.", "Return two things: `return positions, pairs`, a list and a number."
        )
    if not all(type(position) is int for position in pair[0]):
        return Finding(f"positions are {pair[0]!r:.100}.", "Positions are whole numbers (int).")
    if isinstance(pair[1], bool) or not isinstance(pair[1], int | float):
        return Finding(f"pairs is {pair[1]!r:.60}.", "How many pairs: one number.")
    return None


def seen_positions(case, results, right):
    """The facts."""
    (got,), (want,) = results, right
    if want is None or got is None:
        return f"it returned {_short(got)}; right is {_short(want)}."
    if got[0] != want[0]:
        return f"positions are {_short(got[0])}."
    return f"pairs is {got[1]}."


def _short(value):
    text = repr(value)
    return text if len(text) < 100 else f"{text[:100]} ..."


zigzag_positions = Exercise(
    cases=inputs.calls(
        (0, 3, 12),
        (1, 3, 12),
        (2, 3, 24),
        (1, 2, 8),
        lambda rng: (int(rng.integers(0, 5)), 5, 10 * int(rng.integers(2, 9))),
        lambda rng: (int(rng.integers(0, 8)), 8, 16 * int(rng.integers(2, 90))),
        (0, 1, 6),
        (0, 4, 8),
        (3, 4, 8),
        (0, 2, 7),
        (1, 2, 10),
        (0, 3, 3),
        (0, 1, 5),
        (5, 8, 16 * 500),
        names="rank ranks s",
    ),
    checks=[
        Returns(
            folded,
            OTHER_ZIGZAGS,
            otherwise="Draw 12 tokens for 3 ranks: six chunks of two. Chunks 0 and 5 are rank 0's. Which are rank 1's, "
            "and how many keys does each of its queries see?",
            seen=seen_positions,
            form=two_things,
            read=checks.listed,
        )
    ],
    endings={
        "ValueError": "Where 2 P does not divide s, the result is None; nothing is raised. (If you raise nothing: do "
        "two lists have other lengths than you thought?)"
    },
    hints=[
        "Draw 12 tokens for 3 ranks in six chunks. Rank 0 has the first and the last. Add up the keys that its queries "
        "see, p + 1 each; then find two chunks for rank 1 that give the same sum.",
        "Chunk r begins at r u, with u = s / 2 P. From the end chunk r is number 2 P - 1 - r.",
        "pairs is the sum of p + 1 over the positions. The condition is s % (2 * ranks).",
    ],
)


# A ring --------------------------------------------------------------------------------------------------------------


def sequences(*rows):
    """Cases (P, c, d, scale of queries and keys)."""

    def cases(rng):
        for P, c, d, scale in rows:
            label = f"{checks.count(P, 'rank')}, c = {c}, d = {d}" + ", large scores" * (scale > 1)
            held = []
            for _ in range(P):
                q, k = rng.standard_normal((2, c, d)) * scale
                held.append((q, k, rng.standard_normal((c, d))))
            yield Case(label, tuple(held))

    return cases


def every(case):
    """q, k and v of all ranks, joined, and where the tokens stand."""
    q, k, v = (np.concatenate([mine[i] for mine in case.arguments]) for i in range(3))
    return q, k, v, np.arange(len(q))


def of_ranks(sees, scale=lambda d, c: None):
    """The parts of all ranks, with this mask and factor of the scores."""

    def formula(case):
        q, k, v, where = every(case)
        c, d = case.arguments[0][0].shape
        return np.split(attention(q, k, v, sees(where, where), scale(d, c)).o, case.ranks)

    return formula


def blocks_apart(case, masked_by_place=False):
    """For each rank the attention of its queries over each block alone, own one first, as they come."""
    c, P = len(case.arguments[0][0]), case.ranks
    for rank, (q, _, _) in enumerate(case.arguments):
        here = rank * c + np.arange(c)
        found = []
        for source in ((rank - step) % P for step in range(P)):
            _, k, v = case.arguments[source]
            keys = (rank if masked_by_place else source) * c + np.arange(c)
            found.append(attention(q, k, v, causal(here, keys)))
        yield found


def united(combine):
    """Outputs of the blocks without their weights."""
    return lambda case: [combine([o for o, _ in found]) for found in blocks_apart(case)]


def merged(found):
    """Outputs of blocks with their weights."""
    L = np.logaddexp.reduce([each.L for each in found])
    base = np.where(np.isneginf(L), 0.0, L)
    return sum(np.exp(each.L - base)[:, None] * each.o for each in found)


def arriving_as(direction):
    """Blocks taken for those of rank + direction * step."""

    def formula(case):
        c, P, found = len(case.arguments[0][0]), case.ranks, []
        for rank, (q, _, _) in enumerate(case.arguments):
            states = []
            for step in range(P):
                _, k, v = case.arguments[(rank - step) % P]
                taken = (rank + direction(step)) % P
                states.append(attention(q, k, v, causal(rank * c + np.arange(c), taken * c + np.arange(c))))
            found.append(merged(states))
        return found

    return formula


def unscaled(rescale_sum, rescale_output):
    """The recurrence over the blocks as they come, with something not rescaled when the maximum grows."""

    def formula(case):
        c, P, found = len(case.arguments[0][0]), case.ranks, []
        for rank, (q, _, _) in enumerate(case.arguments):
            sources = [(rank - step) % P for step in range(P)]
            blocks = Blocks([(*case.arguments[source][1:], source * c) for source in sources])
            found.append(carried(rescale_sum, rescale_output)(q, rank * c, blocks)[0])
        return found

    return formula


OTHER_RINGS = [
    (
        united(sum),
        "The outputs of the blocks are added up, each normalised by itself. A block counts for the sum of its own "
        "exponentials, relative to those of all blocks: merge with the log-sum-exp.",
    ),
    (
        united(lambda outputs: sum(outputs) / len(outputs)),
        "That is the mean of the blocks' outputs, whatever their scores. A block counts for the sum of its own "
        "exponentials: merge with the log-sum-exp.",
    ),
    (
        united(lambda outputs: outputs[0]),
        "That is attention over the rank's own keys alone. Do the keys that come go into the result?",
    ),
    (
        of_ranks(lambda queries, keys: np.ones((len(queries),) * 2, bool)),
        "Every query sees all keys, also those behind it.",
    ),
    (
        of_ranks(lambda queries, keys: causal(queries - 1, keys)),
        "A query sees the key at its own position, too: the mask is off by one.",
    ),
    (
        of_ranks(lambda queries, keys: causal(queries + 1, keys)),
        "A query sees the token behind it: the mask is off by one.",
    ),
    (
        lambda case: [merged(found) for found in blocks_apart(case, masked_by_place=True)],
        "Every block gets the mask of the own one, the triangle. Earlier ranks' keys are visible, later ranks' not: "
        "which rank's block is it in this step?",
    ),
    (
        arriving_as(lambda step: step),
        "You take the block that comes in step t for that of rank + t. They come from the left: whose was it before?",
    ),
    (
        arriving_as(lambda step: -step - 1),
        "Your mask is one block off: in step 0 it is the own block, and not the left neighbour's.",
    ),
    (
        arriving_as(lambda step: 1 - step),
        "Your mask is one block off: after one step it is the left neighbour's block, and no longer the own one.",
    ),
    *[
        (
            unscaled(*rescaled),
            "What was summed under an old maximum stays as it was when the maximum grows. Both the sum and the output "
            "are to be multiplied by exp(old - new).",
        )
        for rescaled in ((False, False), (False, True), (True, False))
    ],
    (of_ranks(causal, lambda d, c: 1.0), "The scores are not divided by sqrt(d)."),
    (of_ranks(causal, lambda d, c: 1 / d), "The scores are divided by d. It is its root."),
    (
        of_ranks(causal, lambda d, c: c**-0.5),
        "The scores are divided by the root of the number of tokens. d is the width.",
    ),
]


def ring_bytes(tensors, hops=lambda P: P - 1):
    """Bytes of so many tensors of a rank, sent so many times."""
    return lambda case, rank: FLOAT * tensors * hops(case.ranks) * case.arguments[0][0].size


def hops(case, sent, want):
    """The hint for another number of messages."""
    if sent == 0:
        return "Nothing was sent, and no rank knows the others' keys."
    if sent == 2 * want:
        return (
            "k and v went in messages of their own. Together, in one array, a block pays one latency: np.stack([k, v])."
        )
    if sent == case.ranks:
        return "P messages: the last one brings the own block home, which nobody needs."
    return "P - 1 steps, and in each of them one message with the keys and values of one block."


ring_attention = Distributed(
    cases=sequences(
        (4, 3, 5, 1.0),
        (2, 3, 4, 1.0),
        (3, 2, 3, 1.0),
        (3, 4, 2, 30.0),
        (5, 1, 6, 1.0),
        (1, 5, 3, 1.0),
        (3, 80, 16, 1.0),
    ),
    checks=[
        checks.arrays(lambda case, rank: case.arguments[rank][0].shape, finite=False),
        checks.point_to_point,
        checks.receivers(right, "right neighbour"),
        checks.messages(lambda case, rank: case.ranks - 1, "the ring", hops),
        checks.bytes_sent(
            ring_bytes(2),
            "the ring",
            slips=[
                (ring_bytes(1), "Half of what is right: keys without their values, or the other way round."),
                (
                    ring_bytes(3),
                    "q travels, too: then each block meets its own queries again, and no others. Queries stay where "
                    "they are, and all keys come past them.",
                ),
                (
                    ring_bytes(2, lambda P: P * (P - 1)),
                    "In every step the blocks of all ranks are sent: that is an all-gather of messages that are too "
                    "long. Only the block that has just come must go on.",
                ),
                (
                    ring_bytes(2, lambda P: P * (P - 1) // 2),
                    "The messages grow: all blocks that have come so far are sent on. Only the last of them is new to "
                    "the neighbour.",
                ),
            ],
            otherwise="In each of P - 1 steps the block that came last goes on: k and v, 2 c d numbers.",
        ),
        distributed_attention(
            of_ranks(causal),
            OTHER_RINGS,
            otherwise="Take two ranks with one token each. What does rank 1 compute in step 0, and what in step 1? By "
            "which weights are the two outputs merged? And which of its two steps does rank 0 leave out?",
        ),
    ],
    hints=[
        "Draw three ranks with one token each. Write down for each step which keys a rank has, and whether its query "
        "sees all of them, some, or none.",
        "In step t rank r has the block of rank r - t (modulo P). If that is an earlier rank, all is visible; the "
        "own one is the triangle; a later one is sent on and not used.",
        "Keep o and L of what has come so far, merge each block's into them (merge_two), or hand the blocks to "
        "blockwise_attention, which goes through an iterable: a generator that yields (k, v, source * c) and does one "
        "Sendrecv between two blocks.",
    ],
)

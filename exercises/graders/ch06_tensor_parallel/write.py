"""Level 3 of chapter 6, write: heads, a cross entropy over a cut vocabulary, and the norm of a cut gradient."""

import math

import numpy as np

from exercises.grading import Case, Distributed, Exercise, Finding, checks
from exercises.grading.returns import Returns

from ..ch02_data_parallel.common import no_more_than, only_collectives
from .common import Part, all_reduces, returns

# Heads ---------------------------------------------------------------------------------------------------------------


def possible(heads, groups, ranks):
    """Whether a degree is possible."""
    return groups % ranks == 0 or (ranks % groups == 0 and heads % ranks == 0)


def sharing(heads, groups, ranks, rank, able=possible, order=None, group=None, copies=None, all_groups=False):
    """(queries, own groups, copies) of a rank, or None; or what somebody has with another rule.

    able: which degrees are possible; order(each, ranks, rank): the heads; group(head, per): of a head; copies: how many
    """
    if not able(heads, groups, ranks):
        return None
    each, per = heads // ranks, heads // groups
    queries = order(each, ranks, rank) if order else [rank * each + i for i in range(each)]
    own = sorted({group(head, rank) if group else head // per for head in queries})
    number = copies(heads, groups, ranks) if copies else max(ranks // groups, 1)
    return queries, list(range(groups)) if all_groups else own, number


def sharing_with(**other):
    """What somebody has with another rule."""
    return lambda *arguments: sharing(*arguments, **other)


IMPOSSIBLE = (
    "It is impossible, and nothing says so. A rank would have other heads than equally many, or heads of a group that "
    "another rank shares with it unequally. Which two conditions must hold?"
)
OTHER_SHARES = [
    (
        sharing_with(able=lambda heads, groups, ranks: heads % ranks == 0),
        "That the ranks divide the heads is not enough. Draw the heads with their groups: does a rank have heads of "
        "two "
        "groups, each of which another rank needs, too?",
    ),
    (
        sharing_with(able=lambda heads, groups, ranks: groups % ranks == 0),
        "More ranks than groups are possible: several ranks have copies of the same keys and values. When can they "
        "share its heads equally?",
    ),
    (
        sharing_with(able=lambda heads, groups, ranks: groups % ranks == 0 or ranks % groups == 0),
        "The ranks are a multiple of the groups, and still it is impossible. Can the heads of a group be shared "
        "equally "
        "by so many ranks?",
    ),
    (sharing_with(able=lambda heads, groups, ranks: True), IMPOSSIBLE),
    (
        sharing_with(order=lambda each, ranks, rank: list(range(rank, each * ranks, ranks))),
        "Your ranks take every P-th head. Heads of a group lie side by side: so each rank would need nearly all "
        "groups.",
    ),
    (
        sharing_with(order=lambda each, ranks, rank: list(range(each))),
        "Every rank says the same heads. Their numbers are those in the whole model: which are the first ones of this "
        "rank?",
    ),
    (
        lambda heads, groups, ranks, rank: (
            sharing(heads, groups, ranks, rank)
            and (
                sharing(heads, groups, ranks, rank)[0],
                list(range(max(groups // ranks, 1))),
                max(ranks // groups, 1),
            )
        ),
        "The groups are numbered anew on each rank. Asked for are their numbers in the whole model.",
    ),
    (
        lambda heads, groups, ranks, rank: (
            sharing(heads, groups, ranks, rank)
            and (
                sharing(heads, groups, ranks, rank)[0],
                [rank % groups] if ranks > groups else sharing(heads, groups, ranks, rank)[1],
                max(ranks // groups, 1),
            )
        ),
        "Copies of a group are on ranks side by side: the rank's heads decide which group it needs, and heads are "
        "dealt "
        "out in order.",
    ),
    (
        sharing_with(all_groups=True),
        "All groups on every rank would do, and waste memory: which of them do this rank's heads look at?",
    ),
    (
        sharing_with(copies=lambda heads, groups, ranks: 1),
        "How many ranks need the same group? Where there are fewer groups than ranks it is more than one.",
    ),
    (
        sharing_with(copies=lambda heads, groups, ranks: ranks // groups),
        "copies counts the ranks that have a group, this one included: it is at least 1.",
    ),
    (
        sharing_with(copies=lambda heads, groups, ranks: ranks if ranks > groups else 1),
        "Not all ranks have the same group: only those whose heads look at it.",
    ),
    (
        sharing_with(copies=lambda heads, groups, ranks: heads // groups),
        "That is how many heads of queries look at a group. Asked for is how many ranks have it.",
    ),
]


def three_things(case, results):
    """None, or (list, list, number)."""
    for got in results:
        if got is None:
            continue
        got = checks.listed(got)
        if not isinstance(got, list) or len(got) != 3 or not all(isinstance(each, list) for each in got[:2]):
            return Finding(
                f"it returned {got!r:.80}.", "Return two lists and a number, (queries, own, copies), or None."
            )
    return None


def what_ranks_have(case, got, want):
    """The first rank that is wrong."""
    rank = next(rank for rank, (one, other) in enumerate(zip(got, want)) if one != other)
    told = [each and f"({', '.join(map(str, each))})" for each in (got[rank], want[rank])]
    return f"rank {rank} has {told[0]}; right is {told[1]}."


def degrees(*rows):
    """Cases (heads, groups, ranks): every rank is one call."""

    def cases(rng):
        each, groups, ranks = int(rng.integers(2, 5)), int(rng.integers(2, 6)), int(rng.integers(2, 5))
        drawn = [(each * groups * ranks, groups * ranks, ranks), (each * groups * ranks, groups, groups * ranks)]
        for heads, groups, ranks in (*rows, *drawn):
            label = f"{heads} heads, {checks.count(groups, 'group')}, {checks.count(ranks, 'rank')}"
            yield Case(label, tuple((heads, groups, ranks, rank) for rank in range(ranks)))

    return cases


heads_of_rank = Exercise(
    cases=degrees(
        (12, 6, 3),
        (8, 2, 4),
        (16, 2, 8),
        (8, 2, 3),
        (12, 4, 6),  # the ranks divide the heads, and it is impossible
        (12, 4, 8),  # they are a multiple of the groups, and it is impossible
        (8, 8, 8),
        (6, 1, 3),
        (6, 1, 4),
        (5, 5, 1),
        (4, 2, 8),
        (96, 8, 16),
    ),
    checks=[
        Returns(
            sharing,
            OTHER_SHARES,
            otherwise="First the heads: heads // ranks of them, from rank * (heads // ranks) on. Then their groups. "
            "Then how many ranks have the same ones.",
            seen=what_ranks_have,
            form=three_things,
            read=lambda result: result if result is None else checks.listed(result),
        )
    ],
    endings={
        "ZeroDivisionError": "There may be more ranks than groups, or fewer, so either of them // the other may be 0. "
        "By what do you divide?",
        "ValueError": "A degree that is impossible is answered by None: return it, and raise nothing.",
    },
    hints=[
        "Draw 8 heads in 2 groups as two boxes of four, and cut the row into 2, 4 and 3 equal pieces. When does a "
        "piece "
        "begin or end inside a box, and when does it matter?",
        "It is possible if the ranks divide the groups (whole boxes), or if the groups divide the ranks and the ranks "
        "divide the heads (equal parts of one box).",
        "A rank's heads are heads // ranks, in order; head i belongs to group i // (heads // groups); copies is ranks "
        "// "
        "groups, but at least 1.",
    ],
)


# Cross entropy -------------------------------------------------------------------------------------------------------


def cut_logits(*rows):
    """Cases (vocabulary, ranks, tokens, size of the logits, how many tokens do not count)."""

    def cases(rng):
        for V, P, n, size, ignored in rows:
            own = -(-V // P)
            z = np.full((n, own * P), 1.5)  # padding: numbers that mean nothing
            z[:, :V] = size * rng.uniform(-1, 1, (n, V))
            y = rng.integers(0, V, n)
            y[rng.permutation(n)[:ignored]] = -1
            firsts = [rank * own for rank in range(P)]
            label = (
                f"a vocabulary of {V} on {checks.count(P, 'rank')}, {checks.count(n, 'token')}"
                f"{f', of which {ignored} do not count' * bool(ignored)}, logits up to {size:g}"
            )
            ranks = ((z[:, f : f + own].copy(), y.copy(), f, min(max(V - f, 0), own)) for f in firsts)
            yield Case(label, tuple(ranks))

    return cases


def everything(case, padding=False):
    """(all logits side by side, targets); without columns of padding, unless `padding`."""
    return np.concatenate([z if padding else z[:, :count] for z, _, _, count in case.arguments], 1), case.arguments[0][
        1
    ]


def log_sum(z):
    """log(sum of exp(z)) of each row; minus infinity for none."""
    m = z.max(axis=1, initial=-1e300)
    with np.errstate(divide="ignore"):
        return m + np.log(np.exp(z - m[:, None]).sum(axis=1))


def at_target(z, y):
    """The target's logit; 0 where there is none."""
    return np.where(y >= 0, z[np.arange(len(y)), y], 0.0)


def loss_of(case, rank=0, padding=False, every=False, sums=None):
    """The loss; or what somebody has: with padding, with every token, or with other logs of sums of exp."""
    z, y = everything(case)
    total = log_sum(everything(case, padding)[0]) if sums is None else sums
    return float((total - at_target(z, y))[(y >= 0) | every].sum())


def local_sums(case):
    """For each token the log of the sum of the rank that has the target."""
    y = case.arguments[0][1]
    sums = np.zeros(len(y))
    for z, _, first, count in case.arguments:
        mine = (y >= first) & (y < first + count)
        sums[mine] = log_sum(z[:, :count])[mine]
    return sums


def own_maxima(case, rank):
    """The log of the sum of powers, each rank's scaled by its own maximum, plus this rank's maximum."""
    powers = [np.exp(z[:, :c] - z[:, :c].max(1)[:, None]).sum(1) for z, _, _, c in case.arguments if c]
    z, _, _, count = case.arguments[rank]
    return np.log(sum(powers)) + z[:, :count].max(1)


def unscaled(case):
    """The log of the sum of powers, without the maximum that was taken off."""
    logits = everything(case)[0]
    return log_sum(logits) - logits.max(axis=1)


def everywhere(case):
    """The loss, if every rank looks a target up in its own columns, wherever it is, and all that is added up."""
    y = case.arguments[0][1]
    m = everything(case)[0].max(axis=1)
    found = sum(z[np.arange(len(y)), np.clip(y - first, 0, z.shape[1] - 1)] - m for z, _, first, _ in case.arguments)
    return float((unscaled(case) - found)[y >= 0].sum())


def part_of_loss(case, rank):
    """What the rank adds that has only its own targets."""
    _, y, first, count = case.arguments[rank]
    mine = (y >= first) & (y < first + count)
    return float((log_sum(everything(case)[0]) - at_target(everything(case)[0], y))[mine].sum())


def gradient_of(case, rank, total=None, minus=True, every=False, padding=False):
    """dz of a rank; or what somebody has: with another log of the sum, without the target, with every token."""
    z, y, first, count = case.arguments[rank]
    total = log_sum(everything(case)[0]) if total is None else total
    dz = np.exp(z - total[:, None])
    if not padding:
        dz[:, count:] = 0
    rows = np.flatnonzero((y >= first) & (y < first + count))
    if minus:
        dz[rows, y[rows] - first] -= 1
    return dz if every else dz * (y >= 0)[:, None]


def counted(case):
    """Tokens that count."""
    return (case.arguments[0][1] >= 0).sum()


LOCAL = (
    "The softmax divides by the sum over this rank's columns. The probabilities of the whole vocabulary add up to 1, "
    "not those of each rank: which sum is it, and how does a rank get it?"
)
PADDING = (
    "Columns of padding are in the sum. What stands there means nothing: the first `count` columns are the "
    "vocabulary's."
)
NOT_COUNTED = "Tokens whose target is -1 are in it. They do not count: neither in the loss nor in the gradient."
IS_A_SUM = "That is a mean over the tokens that count. Asked for is the sum; whoever knows all counts divides, once."
sharded_cross_entropy = Distributed(
    cases=cut_logits(
        (6, 2, 4, 1, 0),
        (7, 3, 6, 3, 0),  # padding
        (8, 4, 7, 2, 3),
        (9, 4, 5, 1, 1),  # the last rank has padding only
        (6, 2, 5, 1000, 1),
        (11, 3, 6, 40, 0),
        (5, 1, 3, 2, 1),
        (100, 3, 70, 5, 9),
    ),
    checks=[
        returns(
            Part(
                "loss",
                loss_of,
                [
                    (lambda case, rank: loss_of(case, sums=local_sums(case)), LOCAL),
                    (lambda case, rank: loss_of(case, padding=True), PADDING),
                    (lambda case, rank: loss_of(case, every=True), NOT_COUNTED),
                    (lambda case, rank: loss_of(case, every=True, sums=log_sum(everything(case)[0])), NOT_COUNTED),
                    (
                        lambda case, rank: (
                            loss_of(case) + unscaled(case)[case.arguments[0][1] < 0].sum()
                        ),  # the target's logit is left 0, scaled
                        NOT_COUNTED,
                    ),
                    (lambda case, rank: loss_of(case) / counted(case), IS_A_SUM),
                    (
                        lambda case, rank: loss_of(case) / len(case.arguments[0][1]),
                        "That is a mean. Asked for is the sum.",
                    ),
                    (
                        lambda case, rank: loss_of(case, sums=own_maxima(case, rank)),
                        "The powers on different ranks were scaled by different maxima, and then added up. The maximum "
                        "must be that of the whole vocabulary.",
                    ),
                    (
                        lambda case, rank: loss_of(case, sums=unscaled(case)),
                        "The maximum was taken off inside the sum and not put back: log(sum of exp(z - m)) is "
                        "log(sum of exp(z)) - m.",
                    ),
                    (
                        lambda case, rank: everywhere(case),
                        "Every rank adds a logit for the target. One rank has it; what must the others add?",
                    ),
                    (
                        part_of_loss,
                        "The loss of the tokens whose target this rank has, alone. All ranks should have the whole "
                        "one.",
                    ),
                    (
                        lambda case, rank: case.ranks * loss_of(case),
                        "P times what is right: every rank had the whole loss, and then it was added up.",
                    ),
                    (
                        lambda case, rank: loss_of(case) + at_target(everything(case)[0], case.arguments[0][1]).sum(),
                        "The target's logit is missing in it.",
                    ),
                ],
                "For each token that counts: log of the sum of exp over the whole vocabulary, minus the target's "
                "logit.",
            ),
            Part(
                "dz",
                gradient_of,
                [
                    (lambda case, rank: gradient_of(case, rank, log_sum(case.arguments[rank][0])), LOCAL),
                    (
                        lambda case, rank: gradient_of(
                            case, rank, log_sum(case.arguments[rank][0][:, : case.arguments[rank][3]])
                        ),
                        LOCAL,
                    ),
                    (
                        lambda case, rank: gradient_of(case, rank, minus=False),
                        "That is the softmax. At the target 1 has to be taken off, by the rank that has it.",
                    ),
                    (
                        lambda case, rank: gradient_of(case, rank, every=True),
                        "Rows of tokens whose target is -1 are to be 0: they are no part of the loss.",
                    ),
                    (
                        lambda case, rank: gradient_of(case, rank, padding=True),
                        "Columns of padding have a gradient here. They are no part of the loss: 0.",
                    ),
                    (
                        lambda case, rank: gradient_of(case, rank) / counted(case),
                        "dz is that of a mean. The loss is a sum.",
                    ),
                    (lambda case, rank: -gradient_of(case, rank), "dz has the wrong sign: it is softmax - 1 there."),
                ],
                "softmax of this rank's columns, with the sum over the whole vocabulary, minus 1 at the target.",
            ),
        ),
        only_collectives,
        no_more_than(
            lambda case: 3 * len(case.arguments[0][1]),
            "three numbers a token",
            "Do logits travel, or more numbers of each token than three? What does the loss need of the other ranks' "
            "logits: their largest, the sum of their powers, and the target's.",
        ),
    ],
    endings={
        "zero-size array": "A rank may have padding only: count is 0. What is the largest of no logits, so that it "
        "changes no maximum?",
        "out of bounds": "A target is looked up on a rank that does not have it. Which rank has target t, and at which "
        "column?",
    },
    hints=[
        "Write the loss of one token with a common maximum m taken off. Three numbers of it concern the whole "
        "vocabulary. How does each follow from what the ranks have?",
        "An all-reduce with mpi.MAX of the ranks' maxima; one of the sums of exp(z - m); one of the target's z - m, "
        "for "
        "which every rank but one adds 0. The last two can be one array.",
        "Use z[:, :count] only. The gradient is exp(z - m) / sum, minus 1 at [token, target - first] on the rank that "
        "has it, and 0 in rows of tokens with target -1.",
    ],
)


# Norm ----------------------------------------------------------------------------------------------------------------


def models(*rows):
    """Cases (ranks, [(shape, cut), ...]); a cut one has a row more on every second rank."""

    def cases(rng):
        for P, parameters in rows:
            whole = [rng.standard_normal(shape) for shape, _ in parameters]
            held = [
                [
                    rng.standard_normal((shape[0] + rank % 2, *shape[1:])) if cut else mine.copy()
                    for mine, (shape, cut) in zip(whole, parameters)
                ]
                for rank in range(P)
            ]
            cuts = [cut for _, cut in parameters]
            label = f"{checks.count(P, 'rank')}, {sum(cuts)} cut, {len(cuts) - sum(cuts)} whole"
            yield Case(label, tuple((mine, list(cuts)) for mine in held))

    return cases


def squares(case, rank, kind):
    """The sum of squares of what a rank has that is cut (True) or whole (False)."""
    gradients, cut = case.arguments[rank]
    return float(sum((g * g).sum() for g, each in zip(gradients, cut) if each == kind))


def total_of_cut(case):
    """The sum of squares of all parts of what is cut."""
    return sum(squares(case, rank, True) for rank in range(case.ranks))


def of_norms(case):
    """The norm of each rank's parts."""
    return [math.sqrt(squares(case, rank, True) + squares(case, rank, False)) for rank in range(case.ranks)]


gradient_norm = Distributed(
    cases=models(
        (2, [((3, 2), True), ((4,), False)]),
        (3, [((4,), False), ((2, 3), True), ((5,), True), ((3, 3), False)]),
        (4, [((2,), True), ((6,), False), ((6,), False)]),
        (2, [((5, 4), True)]),
        (3, [((7,), False)]),
        (1, [((2, 2), True), ((3,), False)]),
        (2, [((50, 30), True), ((1500,), False)]),
    ),
    checks=[
        returns(
            Part(
                "the norm",
                lambda case, rank: math.sqrt(total_of_cut(case) + squares(case, 0, False)),
                [
                    (
                        lambda case, rank: math.sqrt(total_of_cut(case) + case.ranks * squares(case, 0, False)),
                        "What every rank has whole counts P times: it is one parameter of the model, and its copies "
                        "are equal.",
                    ),
                    (
                        lambda case, rank: of_norms(case)[rank],
                        "That is the norm of what this rank has. Clipped by it, each rank would scale by another "
                        "factor.",
                    ),
                    (
                        lambda case, rank: sum(of_norms(case)),
                        "Norms were added up over the ranks. Which numbers can be added, so that the root of the sum "
                        "is "
                        "the norm?",
                    ),
                    (
                        lambda case, rank: (
                            sum(math.sqrt(squares(case, r, True)) for r in range(case.ranks))
                            + math.sqrt(squares(case, 0, False))
                        ),
                        "Norms were added up. Which numbers can be added, so that the root of the sum is the norm?",
                    ),
                    (
                        lambda case, rank: max(of_norms(case)),
                        "That is the largest of the ranks' norms. The whole gradient is longer than each of its parts.",
                    ),
                    (
                        lambda case, rank: total_of_cut(case) + squares(case, 0, False),
                        "That is the sum of squares: the root is missing.",
                    ),
                    (
                        lambda case, rank: math.sqrt((total_of_cut(case)) / case.ranks + squares(case, 0, False)),
                        "The squares of what is cut were averaged over the ranks. The parts are different parameters: "
                        "each counts.",
                    ),
                    (lambda case, rank: math.sqrt(total_of_cut(case)), "What is whole is missing in it."),
                    (lambda case, rank: math.sqrt(squares(case, 0, False)), "What is cut is missing in it."),
                    (
                        lambda case, rank: math.sqrt(squares(case, rank, True) + case.ranks * squares(case, 0, False)),
                        "It is the wrong way round: what is whole was added up over the ranks, and what is cut was "
                        "not.",
                    ),
                ],
                "The root of: squares of all parts of what is cut, and once the squares of what is whole.",
            )
        ),
        *all_reduces(1, lambda case: 1, "One number of each rank is enough: the squares of its parts, added up."),
    ],
    endings={
        "CollectiveMismatch": "The ranks' gradients differ in size, and need not travel. Which number describes a "
        "rank's parts?",
        "Truncation": "The ranks' gradients differ in size, and need not travel. Which number describes a rank's "
        "parts?",
    },
    hints=[
        "The model has each parameter once. Write down for two ranks which numbers are on both, and which on one.",
        "Two sums of squares on each rank: of what is cut, and of what is whole. One of them differs between the "
        "ranks.",
        "All-reduce an array with the first sum in it. Then add the second one, and take the root.",
    ],
)

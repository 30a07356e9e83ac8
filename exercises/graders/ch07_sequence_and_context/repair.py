"""Level 4 of chapter 7, repair: the mask of a block."""

import numpy as np

from exercises.grading import Exercise, Finding, inputs
from exercises.grading.numbers import short
from exercises.grading.returns import Returns


def mask(direction=-1, late=0, across=False, block=0):
    """A mask: of the block of rank + direction * step + block, whose keys seem to stand `late` tokens later."""

    def formula(rank, step, ranks, c):
        source = (rank + direction * step + block) % ranks
        sees = (rank * c + np.arange(c))[:, None] >= source * c + late + np.arange(c)
        return sees.T if across else sees

    return formula


def of_the_own_block(rank, step, ranks, c):
    return mask()(rank, 0, ranks, c)


def without_modulo(rank, step, ranks, c):
    return (rank * c + np.arange(c))[:, None] >= (rank - step) * c + np.arange(c)


def turned_and_exchanged(rank, step, ranks, c):
    return mask()((rank - step) % ranks, -step, ranks, c)


def square(case, results):
    """A bool array [c, c]."""
    ((_, _, _, c),), (got,) = case.arguments, results
    if not isinstance(got, np.ndarray):
        return Finding(f"it returned {short(got)}.", f"Return one NumPy array of bool, of shape {(c, c)}.")
    if got.dtype != bool or got.shape != (c, c):
        return Finding(
            f"it returned an array of {got.dtype} of shape {got.shape}.",
            f"Return an array of bool of shape {(c, c)}: a row for each query, a column for each key.",
        )
    return None


def first_wrong(case, results, right):
    """The facts: the first entry that is wrong, and what stands where."""
    ((rank, step, ranks, c),), (got,), (want,) = case.arguments, results, right
    i, j = map(int, np.argwhere(got != want)[0])
    source = (rank - step) % ranks
    says = "may see" if got[i, j] else "may not see"
    return (
        f"it says that query {i} {says} key {j}. In this step rank {rank} has the keys of rank {source}: the query "
        f"stands at position {rank * c + i}, the key at {source * c + j}."
    )


BOTH_WRONG = (
    "Two things at once: is a row of the result a query or a key? And does a query see the keys up to its own "
    "position, or one more? Print the mask of one rank with four tokens: which triangle is it?"
)

mask_of_block = Exercise(
    cases=inputs.calls(
        (0, 0, 1, 4),
        (1, 0, 3, 3),
        (2, 1, 3, 3),
        (1, 1, 3, 3),
        (2, 1, 4, 3),
        (0, 1, 3, 2),
        (3, 2, 4, 5),
        (1, 2, 4, 2),
        lambda rng: (int(rng.integers(0, 7)), int(rng.integers(1, 7)), 7, 4),
        lambda rng: (6, int(rng.integers(0, 7)), 7, 3),
        (0, 0, 1, 1),
        (1, 1, 2, 1),
        (5, 0, 8, 200),
        names="rank step ranks c",
    ),
    checks=[
        Returns(
            mask(),
            [
                *[(mask(direction, -1, True), BOTH_WRONG) for direction in (1, -1)],
                (
                    lambda rank, step, ranks, c: mask(across=True)(rank, step, ranks, c),
                    "Rows and columns are exchanged: entry [i, j] is about query i and key j, so queries go down and "
                    "keys go across.",
                ),
                (
                    mask(late=-1),
                    "A query sees one key too many, that of the next token, which the model is to predict. No wonder "
                    "that the loss falls fast.",
                ),
                (mask(late=1), "A query sees its own key, too: equal positions are visible."),
                (
                    mask(direction=1),
                    "In step 1 you take the block for that of the right neighbour. Blocks come from the left: whose "
                    "was it a step before?",
                ),
                (
                    of_the_own_block,
                    "That is the triangle of the own block. In later steps the block is an earlier rank's (all of it "
                    "visible) or a later rank's (nothing).",
                ),
                (
                    without_modulo,
                    "Behind rank 0 the ring goes on with the last rank, whose keys stand at the end and not before the "
                    "beginning: % ranks.",
                ),
                (
                    turned_and_exchanged,
                    "In the own block that is the right triangle. In every other block all is the wrong way round: "
                    "keys go down there, and a key is asked whether it stands behind a query.",
                ),
                (
                    lambda rank, step, ranks, c: ~mask()(rank, step, ranks, c),
                    "Everything is the wrong way round: True stands for visible, and what is True here is hidden.",
                ),
                (mask(block=-1), "In step 0 a rank has its own keys. Your mask is that of another rank's."),
                (mask(block=1), "One block too few: in step 1 it is the left neighbour's block, in step 2 the next."),
                (
                    lambda rank, step, ranks, c: np.ones((c, c), bool),
                    "Nothing is masked: queries see the future.",
                ),
            ],
            otherwise="Whose keys are there in this step, and at which positions do they stand? Then compare positions "
            "of queries (down) with positions of keys (across).",
            seen=first_wrong,
            form=square,
            same=np.array_equal,
        )
    ],
    hints=[
        "Three lines, and three questions: whose block is it? Which axis is that of the queries? May a query see its "
        "own position, and the next?",
        "Print it for one rank with four tokens: the lower triangle with its diagonal is right. Then for three ranks, "
        "step 1: rank 1 has the keys of rank 0, and sees all of them.",
        "Blocks come from the left, so in step t it is that of rank - t. Queries are a column, [:, None], and keys a "
        "row.",
    ],
)

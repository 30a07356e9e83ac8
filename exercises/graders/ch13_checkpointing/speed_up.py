"""Level 5 of chapter 13, speed up: the blocks of a lost rank, rebuilt by all ranks together."""

import numpy as np

from exercises.grading import Case, Distributed, Finding, checks
from exercises.grading.exercise import ALPHA, BETA
from exercises.grading.numbers import short


def saved(*rows):
    """Cases (ranks, bytes of a block, the lost rank)."""

    def cases(rng):
        for P, n, lost in rows:
            blocks = rng.integers(0, 256, (P, P, n), dtype=np.uint8)
            for s in range(P):
                blocks[s, s] = 0
                blocks[s, s] = np.bitwise_xor.reduce(blocks[:, s])
            ranks = [(lost, blocks[rank].copy()) for rank in range(P)]
            chance = rng.integers(0, 256, (P, n), dtype=np.uint8)
            ranks[lost] = lost, chance
            yield Case(f"{checks.count(P, 'rank')}, n = {n}, lost = {lost}", tuple(ranks))

    return cases


def held(case):
    """All ranks' blocks, with what the lost rank's memory has by chance."""
    return np.stack([blocks for _, blocks in case.arguments])


def right(case):
    """What the lost rank had."""
    lost, every = case.arguments[0][0], held(case)
    every[lost] = 0
    return np.bitwise_xor.reduce(every)


def without_parity(case):
    lost, every = case.arguments[0][0], held(case)
    every[lost] = 0
    for s in range(case.ranks):
        every[s, s] = 0
    return np.bitwise_xor.reduce(every)


def by_addition(case):
    lost, every = case.arguments[0][0], held(case)
    every[lost] = 0
    return every.sum(axis=0, dtype=np.uint8)


SLIPS = [
    (
        lambda case: np.bitwise_xor.reduce(held(case)),
        "What was in the new rank's memory by chance is in it. It has to take part without changing anything.",
    ),
    (lambda case: held(case)[case.arguments[0][0]], "That is what was in the new rank's memory by chance."),
    (
        by_addition,
        "The blocks were added. Parity is made with exclusive or, so it is undone with it: mpi.BXOR.",
    ),
    (
        without_parity,
        "The parity was left out. Without it nothing says what was in the lost blocks.",
    ),
    (lambda case: np.zeros_like(right(case)), "Nothing but zeros came back."),
]


def rebuilt(case, answer):
    """The lost blocks on the new rank, None on the others."""
    lost, want = case.arguments[0][0], right(case)
    for rank, got in enumerate(answer.results):
        if rank != lost:
            if got is not None:
                return Finding(
                    f"rank {rank} returned {short(got)}.", "Only the rank in place of the lost one needs it."
                )
            continue
        if not isinstance(got, np.ndarray):
            return Finding(f"rank {rank} returned {short(got)}.", "Return an array of P x n bytes there.")
        if got.shape != want.shape or got.dtype != want.dtype:
            seen = f"rank {rank} returned an array of {got.dtype} of shape {got.shape}; right is {want.shape} of uint8."
            return Finding(seen, checks.SHAPE)
        if (got != want).any():
            wrong = [s for s in range(case.ranks) if (got[s] != want[s]).any()]
            hints = (hint for slip, hint in SLIPS if (got == slip(case)).all())
            seen = f"rank {rank} has wrong bytes in {len(wrong)} of {case.ranks} rows, the first is row {wrong[0]}."
            return Finding(seen, next(hints, OTHERWISE))
    return None


OTHERWISE = (
    "In each row the exclusive or of all ranks' blocks is 0, parity included. So which blocks make up the lost one? "
    "And does each row end up at its place?"
)


def few_bytes(case, answer):
    """All ranks send no more than a reduce-scatter and a gather of the parts."""
    _lost, blocks = case.arguments[0]
    sent, most = sum(n for messages in answer.sent for _, n in messages), (case.ranks**2 - 1) * blocks.shape[1]
    if sent <= most or answer.seconds is None:
        return None
    seen = f"all ranks together sent {checks.count(sent, 'byte')}; {most:,} are enough."
    twice = sent >= 2 * case.ranks * (case.ranks - 1) * blocks.shape[1]
    return Finding(seen, ALL_OF_THEM if twice else TOO_MUCH)


ALL_OF_THEM = "Every rank gets all that was lost. Only one needs it."
TOO_MUCH = (
    "More travels than is needed: each rank's block of a row to whoever works on it, and each result to the new rank."
)


def fastest(case):
    return 2 * (case.ranks - 1) * (ALPHA + case.arguments[0][1].shape[1] * BETA)


def too_slow(case, answer):
    """The hint for what took too long."""
    lost, P = case.arguments[0][0], case.ranks
    rows = [sum(n for messages in answer.sent for to, n in messages if to == rank) for rank in range(P)]
    if rows[lost] >= (P - 1) * P * case.arguments[0][1].shape[1]:
        return (
            "All blocks went to the new rank, through one link, and it added them up alone. P ranks can each work on "
            "one row."
        )
    return (
        "The tree sends whole arrays of P rows, again and again, while half of the ranks wait. If each rank works on "
        "one row, the last step is to collect P rows."
    )


rebuild = Distributed(
    cases=saved(
        (4, 3000, 1),
        (3, 12, 0),
        (5, 4000, 4),
        (2, 50, 1),
        (8, 2000, 3),
        (6, 1, 2),
        (3, 40_000, 2),
    ),
    checks=[
        rebuilt,
        checks.no_later_than(fastest, "shared among all ranks, it", too_slow),
        few_bytes,
    ],
    hints=[
        "Three ranks, one of them lost. Write down its three rows as what the other two have. Who could work out which "
        "row?",
        "Let rank s work on row s: then each gets P - 1 blocks and sends P - 1. The new rank gives zeros. In the end "
        "it collects a row from each.",
        "Reduce_scatter_block(own, row, op=mpi.BXOR) with own = zeros on the new rank, then Gather(row, whole, "
        "root=lost).",
    ],
)

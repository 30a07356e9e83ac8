"""Level 2 of chapter 1, fill in: code with blanks."""

import numpy as np

from exercises.grading import Case, Distributed, checks, copies

from .common import MANY, right


def blocks_of_lengths(*rows):
    """Cases in which rank r has a block of lengths[r] elements."""

    def cases(rng):
        for lengths in rows:
            label = f"{checks.count(len(lengths), 'rank')}, blocks of {', '.join(map(str, lengths))}"
            yield Case(label, tuple((rng.standard_normal(length), list(lengths)) for length in lengths))

    return cases


def passing_on(case, sent, want):
    """The hint for a wrong number of messages in a ring of P - 1 steps that only passes blocks on."""
    if sent > want:
        return "After P - 1 steps every block has come past every rank. Which of your steps is not needed?"
    if 0 in case.arguments[0][1]:
        return "Some blocks are empty here. They are sent too, so that every rank counts the same steps."
    return "A block must come past every rank. How many steps to the right is that, from where it starts?"


def others_bytes(case, rank):
    """Every block but the right neighbour's, which comes past last and is at home there."""
    lengths = case.arguments[0][1]
    return 8 * (sum(lengths) - lengths[right(case, rank)])


def in_order_of_arrival(seen):
    """Whether every rank has its own block first, then its left neighbour's, and so on."""
    P, held = seen.case.ranks, [block for block, _ in seen.case.arguments]
    came = [np.concatenate([held[(rank - step) % P] for step in range(P)]) for rank in range(P)]
    return all(map(np.array_equal, came, seen.answer.results))


def nothing_there(seen):
    """The hint for a place into which no block came."""
    blocks = [piece.rank for piece in seen.there if piece]
    if seen.want.rank == seen.rank:
        return (
            "Your own block was overwritten. In the first step, is the own block the one that leaves or the one that "
            "arrives?"
        )
    if set(blocks) == {seen.rank, (seen.rank - 1) % seen.case.ranks}:
        return (
            "Your own block and your left neighbour's are there, and no others. Does every rank send its own block "
            "every time? Whose does its right neighbour lack in the second step?"
        )
    return ""


ring_allgather = Distributed(
    cases=blocks_of_lengths(
        (20,) * 4, (30, 30, 30), (20, 20), (5, 17, 11, 8, 14), (12, 0, 7, 7), (13,), (0, 0, 0), (MANY, 3, 2000)
    ),
    checks=[
        checks.arrays(
            lambda case, rank: (sum(case.arguments[0][1]),),
            hint=lambda case, answer, rank: f"All {case.ranks} blocks belong in it, one after the other.",
        ),
        checks.kept("block"),
        checks.point_to_point,
        checks.receivers(right, "right neighbour"),
        checks.messages(lambda case, rank: case.ranks - 1, "the ring", passing_on, others_bytes),
        copies.copies(
            lambda case, rank: [copies.Piece(owner) for owner in range(case.ranks)],
            "the block of rank {rank}",
            slips=[
                (
                    in_order_of_arrival,
                    "All blocks are there, in the order in which they came: the own one, the left neighbour's, and so "
                    "on. Where does the block of rank q belong, whenever it comes?",
                ),
                (
                    lambda seen: seen.there.count(copies.Piece((seen.rank - 1) % seen.case.ranks)) > 1,
                    "Your left neighbour has sent you the same block again: each rank sends its own every time. What "
                    "has it got by the second step that its right neighbour lacks?",
                ),
                (
                    lambda seen: abs(seen.found.rank - seen.want.rank) == 1,
                    "All blocks come, and each is put into a place next to its own. Whose block does the left "
                    "neighbour send in the first step? So which entry of `blocks` is that to you?",
                ),
            ],
            nothing=nothing_there,
            otherwise="What is received into blocks[q] must be the block of rank q. Write down for three ranks, step "
            "by step, what the left neighbour sends, and compare with where you receive it.",
        ),
        checks.bytes_sent(
            others_bytes,
            "the ring",
            slips=[],
            otherwise="In each step one block goes out, as long as its owner made it, and none goes out twice.",
        ),
    ],
    hints=[
        "Draw three ranks and follow the block of rank 0: after which step does it arrive at rank 1, after which at "
        "rank 2? What must rank 1 therefore send in the second step?",
        "What leaves in a step is what arrived in the step before; in the first step it is a rank's own block. What "
        "arrives is what the left neighbour lets go: the same rule, for rank - 1.",
        "Two blanks are neighbours, and do not depend on step. The other two are numbers of ranks that become smaller "
        "by one in each step: one starts with this rank's own, the other one before it. blocks[-1] is the last one.",
    ],
)

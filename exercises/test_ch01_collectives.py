"""Grades exercises/ch01_collectives.py. An exercise is a function of that name, tried on fresh inputs; the first check
that finds something wrong gives the hint."""

import numpy as np

from exercises.grading import Distributed, checks, inputs, sums


def length(case, block):
    """Elements in a block, when n elements are cut into one block a rank."""
    n, P = case.arguments[0][0].size, case.ranks
    return n // P + (block % P < n % P)


def elements(case):
    return case.arguments[0][0].size


def cuts(case, answer, rank):
    """The hint for a block of a wrong shape."""
    n, P, got = elements(case), case.ranks, answer.results[rank].shape
    if got == (n,):
        return "That is as long as the whole x. Each rank should return its own block of the sum only."
    if sum(np.size(result) for result in answer.results) == n:
        return f"All {n} elements are there, but the cuts between the blocks are in other places than the docstring's."
    if got == (n // P,):
        return f"{n} does not divide by {P}: n // P elements for everybody leave {n % P} over. Whose are they?"
    return f"Which of the {n} elements belong to which of the {P} blocks?"


def steps(case, sent, want):
    """The hint for a wrong number of messages in a ring of P - 1 steps."""
    if sent > want:
        return "One block moves on in each step, and P - 1 steps are enough: which of your messages is not needed?"
    if elements(case) < case.ranks:
        return "Some blocks are empty here. They are sent too, so that every rank counts the same steps."
    if sent:
        return "A block must come past every rank. How many steps does that take, if it starts somewhere?"
    return (
        "No rank can know the sum unless the others' parts are sent to it. (The inputs are new in every run, so "
        "numbers from an earlier one never fit.)"
    )


ring_reduce_scatter = Distributed(
    cases=inputs.vectors(),
    checks=[
        checks.arrays(lambda case, rank: (length(case, rank),), hint=cuts),
        checks.unchanged,
        checks.new_array,
        checks.point_to_point,
        checks.receivers(lambda case, rank: (rank + 1) % case.ranks, "right neighbour"),
        checks.messages(lambda case, rank: case.ranks - 1, "the ring", steps),
        sums.sum_over_ranks(lambda x, case: np.array_split(x, case.ranks)),
        checks.bytes_sent(
            lambda case, rank: 8 * (elements(case) - length(case, rank)),
            "the ring",
            slips=[
                (
                    lambda case, rank: 8 * elements(case) * (case.ranks - 1),
                    "You sent the whole array in every step. What does the neighbour need in this step? One block.",
                ),
                (
                    lambda case, rank: 4 * (elements(case) - length(case, rank)),
                    "Half the bytes: the blocks went out as float32, and half of the digits with them.",
                ),
                (
                    lambda case, rank: 8 * length(case, 0) * (case.ranks - 1),
                    "You sent blocks of one size, filled up at the end. Blocks are as long as np.array_split makes "
                    "them.",
                ),
            ],
            otherwise="Write down, for three ranks, which block goes out in which step: every block but the own, once.",
        ),
    ],
    hints=[
        "In each step every rank does the same two things: send a block to the right, and add its own part to the "
        "block that comes from the left. Draw three ranks with three blocks each and let the blocks travel.",
        "Work backwards. Block r must be complete at rank r after P - 1 steps to the right. So at which rank did it "
        "start? Which block does rank r therefore send first? The next one that it sends is always the one that has "
        "just arrived.",
        "Sendrecv(leaving, dest=right, recvbuf=arriving, source=left) sends and receives at once and cannot deadlock. "
        "Make `arriving` with np.empty, as long as the block that comes, then add it to your part of that block, in a "
        "copy of x.",
    ],
)

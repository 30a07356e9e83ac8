"""Level 5 of chapter 7, speed up: a ring that computes while the next block comes."""

import numpy as np

from exercises.grading import Case, Distributed, checks
from exercises.grading.exercise import ALPHA, BETA

from ..ch01_collectives.common import right
from ..ch02_data_parallel.common import Wanted, alone, weighted_sums


class Compute:
    """What a rank computes with a block: it takes some seconds, and its result depends on the rank and on the block."""

    def __init__(self, seconds, gain):
        self.seconds, self.gain = seconds, gain

    def __call__(self, comm, block):
        from reference import mpi  # here: collecting the exercises should not wait for it

        mpi.compute(comm, self.seconds)
        return self.of(block)

    def of(self, block):
        return np.sin(block) * self.gain

    def __repr__(self):
        return "a function"


def hop(n):
    """c: seconds that a block of n elements takes to the neighbour."""
    return ALPHA + 8 * n * BETA


def rings(*rows):
    """Cases (P, elements, t / c)."""

    def cases(rng):
        for P, n, ratio in rows:
            label = f"{checks.count(P, 'rank')}, n = {n}, t = {ratio:g} c"
            gains = rng.uniform(1, 2, P)
            yield Case(label, tuple((rng.standard_normal(n), Compute(ratio * hop(n), float(gain))) for gain in gains))

    return cases


def of_each_block(case, answer):
    """Each rank has the sum of what it computes with the blocks of rank 0, 1, ..."""
    for rank, (got, (_, compute)) in enumerate(zip(answer.results, case.arguments)):
        parts = {f"f(b{other})": compute.of(block) for other, (block, _) in enumerate(case.arguments)}
        yield Wanted(f"rank {rank}", rank, case, got, parts, np.ones(case.ranks))


def overlapped(case):
    """(P - 1) max(t, c) + t."""
    block, compute = case.arguments[0]
    return (case.ranks - 1) * max(compute.seconds, hop(block.size)) + compute.seconds


def late(case, answer):
    """Recognise what is not hidden."""
    block, compute = case.arguments[0]
    P, t, c = case.ranks, compute.seconds, hop(block.size)
    together = P * t + (P - 1) * c
    if answer.seconds > together * (1 + checks.Close):
        return "That is longer than all of it one after the other. Is compute called once for each block?"
    if answer.seconds > together * (1 - checks.Close):
        return (
            "That is all of the computing and all of the sending, one after the other. What must be begun before "
            "compute is called, so that it goes on meanwhile?"
        )
    return "Each step should last as long as the longer of the two, computing and sending. Which of yours lasts longer?"


overlap_the_ring = Distributed(
    cases=rings((3, 200, 1.0), (2, 300, 3.0), (4, 100, 0.5), (5, 64, 1.5), (1, 50, 1.0), (3, 1500, 2.0)),
    checks=[
        checks.arrays(lambda case, rank: case.arguments[rank][0].shape),
        checks.point_to_point,
        checks.receivers(right, "right neighbour"),
        checks.messages(
            lambda case, rank: case.ranks - 1,
            "the ring",
            lambda case, sent, want: (
                "One block is sent in each of P - 1 steps. Does the last step send what nobody needs any more, or does "
                "a block go out twice?"
            ),
            lambda case, rank: 8 * case.arguments[0][0].size * (case.ranks - 1),
        ),
        checks.bytes_sent(
            lambda case, rank: 8 * case.arguments[0][0].size * (case.ranks - 1),
            "the ring",
            slips=[],
            otherwise="Each message is one block, as long as the own one.",
        ),
        weighted_sums(
            of_each_block,
            "f(b0) is compute of the block of rank 0",
            [
                (alone, "That is the own block alone. Each block that comes must be computed with, too."),
                (
                    lambda each: alone(each) * each.case.ranks,
                    "The own block is computed with every time. Which array has come meanwhile?",
                ),
                (lambda each: 1 - alone(each), "The own block is missing: it is the first to be computed with."),
                (
                    lambda each: 1 - np.eye(each.case.ranks)[(each.rank + 1) % each.case.ranks],
                    "The block that comes last is missing: after the last message there is one more to compute with.",
                ),
            ],
            otherwise="Each block belongs into the sum once. Which block is computed with in which step, and which has "
            "come by then?",
            nothing="No sum of what compute gives for the blocks is like this. Was something computed with before it "
            "had come (wait first), or was an array used for two blocks at once?",
        ),
        checks.no_later_than(overlapped, "(P - 1) max(t, c) + t", late),
    ],
    hints=[
        "A step has two parts that do not need each other: sending the block on, receiving the next, and computing "
        "with it. compute only reads the block, and so does Isend.",
        "Begin both, Irecv and Isend, then call compute, then wait for both. After that the block that has come is the "
        "one to work on.",
        "Two arrays are enough: one that is computed with and sent, one that is received into. The last step has "
        "nothing to send: P computations, P - 1 exchanges.",
    ],
)

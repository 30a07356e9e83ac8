"""Grades exercises/ch01_collectives.py. An exercise is a function of that name, tried on fresh inputs; the first check
that finds something wrong gives the hint."""

import math
from collections import Counter

import numpy as np

from exercises.grading import Case, Distributed, Exercise, Finding, checks, choices, copies, inputs, networks, sums
from exercises.grading.exercise import ALPHA, BETA

# Level 1: predict --------------------------------------------------------------------------------------------------


def ring_seconds(P, n, alpha, beta):
    return 2 * (P - 1) * alpha + 2 * (n - n / P) * beta


def tree_seconds(P, n, alpha, beta):
    return 2 * math.ceil(math.log2(P)) * (alpha + n * beta)


def some_ring(P):
    """P ranks with P whole blocks of some thousand bytes, a latency of some us, links of some GB/s."""
    return lambda rng: (
        P,
        P * 1000 * int(rng.integers(100, 1000)),
        1e-6 * int(rng.integers(2, 20)),
        1e-12 * int(rng.integers(10, 200)),
    )


def lonely(P, n, alpha, beta):
    """One rank that sends itself all it has, twice."""
    return 2 * (alpha + n * beta) if P == 1 else math.nan


ring_time = Exercise(
    cases=inputs.calls(
        (4, 4_000_000, 1e-6, 1e-9),  # a first input that can be checked by hand
        some_ring(6),
        some_ring(3),
        (8, 350_000_000_000, 0.0, 1e-11),
        (5, 0, 2e-6, 1e-11),
        (1, 1000, 2e-6, 1e-11),
        some_ring(1000),
        names="P n alpha beta",
    ),
    checks=[
        checks.number(
            ring_seconds,
            slips=[
                (
                    lambda P, n, alpha, beta: 2 * n * beta,
                    "That is 2 n beta, the textbook's answer: every rank would send all of its n bytes twice. In "
                    "each half of the ring, is there a block that a rank never sends?",
                ),
                (
                    lambda P, n, alpha, beta: 2 * n * beta + 2 * (P - 1) * alpha,
                    "The latencies are right. The factor before n beta is not 2: that is as if n were cut into P - 1 "
                    "blocks. How many blocks are there, and how many of them does a rank send in one half?",
                ),
                (
                    lonely,
                    "With one rank there is nobody to send to: how many messages is that?",
                ),
                (
                    lambda *ring: ring_seconds(*ring) / 2,
                    "That is the time of a reduce-scatter: every rank then has one block of the sum. What is still to "
                    "be done?",
                ),
                (
                    lambda P, *rest: P * ring_seconds(P, *rest),
                    "You added up what all ranks do. They do it at the same time, each over its own link.",
                ),
                (
                    lambda P, n, alpha, beta: ring_seconds(P, P * n, alpha, beta),
                    "All n bytes in every step? A message of the ring carries one block.",
                ),
                (
                    lambda P, n, alpha, beta: 2 * P * (alpha + n / P * beta),
                    "2 P steps. A block must come past all P ranks and starts on one of them: how many hops is that?",
                ),
                (
                    lambda P, n, alpha, beta: ring_seconds(P, n, 0, beta),
                    "The bytes are right; where is alpha?",
                ),
                *[
                    (
                        lambda P, n, alpha, beta, paid=paid: ring_seconds(P, n, paid * alpha, 1 / beta),
                        "You divide by beta. It is seconds per byte, one over the bandwidth: what do so many bytes "
                        "take?",
                    )
                    for paid in (1, 0)
                ],
                *[
                    (
                        lambda P, n, alpha, beta, paid=paid: ring_seconds(P, n, 0, beta) + paid(P) * alpha,
                        "The bytes are right. A step begins when the block of the step before it has come, so the "
                        "steps' latencies add up: how many steps are there?",
                    )
                    for paid in (lambda P: 1, lambda P: 2, lambda P: P - 1, lambda P: P, lambda P: 2 * P)
                ],
                (
                    lambda P, n, alpha, beta: ring_seconds(P, n, alpha, beta / 2),
                    "The latencies are right, the bytes are half. beta is for one direction already: that a link is "
                    "receiving at the same time makes sending no quicker.",
                ),
                *[
                    (
                        lambda P, n, alpha, beta, bits=bits: ring_seconds(P, n, alpha, beta * bits),
                        "A factor of 8: bits? n is in bytes, and beta in seconds per byte.",
                    )
                    for bits in (8, 1 / 8)
                ],
                (tree_seconds, "That is a tree's time: all n bytes in each of 2 log2 P rounds. Here it is a ring."),
                (lambda *_: 6.125, "6.125 s is right for the example in the docstring. Here the arguments are others."),
            ],
            otherwise="Take it apart: how many steps follow one another, and how many bytes does a rank send in each?",
            unit="s",
        )
    ],
    hints=[
        "A ring all-reduce is a reduce-scatter and an allgather. Draw three ranks with three blocks each, and count "
        "for one of them: how many messages does it send in each half, and how long is each?",
        "In each half every rank sends P - 1 blocks, one after the other, while all others do the same. n bytes are P "
        "blocks. What does a single message cost?",
        "The time is (number of steps) times (alpha + bytes of a block times beta). With one rank the number of steps "
        "is 0.",
    ],
)


seven_seconds = Exercise(
    cases=inputs.calls(()),
    checks=[
        choices.statements(
            "BCD",
            "ABCDEF",
            why={
                "A": "A lower bound is a time that nothing can beat. Put the numbers into your ring_time, and compare "
                "what comes out with 7 s: can 7 s be one?",
                "B": "Each half of the ring moves 7 of the 8 blocks of 350 / 8 GB over each link. Work out the "
                "seconds for both halves, and then whether 7 s can be called a bound.",
                "C": "Write the time for P ranks as 2 n beta times a factor that depends on P. What is the factor for "
                "8, 16 and 1,000 ranks: does it grow or shrink, and towards what?",
                "D": "Follow one number of the sum, as follow_the_sum does: it costs at least 2 (P - 1) messages, "
                "however it is done. So how many bytes must a rank send on average, and how long does that take it?",
                "E": "How many messages does a rank send one after the other, and what do so many times 5 us add up "
                "to? Compare that with the 0.875 s that are to be explained.",
                "F": "With twice the ranks each block is half as large. And how many blocks does each rank send then? "
                "Work out the seconds for 16 ranks.",
            },
        )
    ],
    hints=[
        "Solve ring_time first and let it work for you: 8 ranks, 16 ranks, 1,000 ranks, with and without a latency of "
        "5e-6.",
        "What a rank sends in all is 2 (P - 1) / P times n. Two of the statements are about this factor, and two about "
        "who could do with less.",
        "Half of the six are right. One that is right says what nobody can beat; follow_the_sum has the proof.",
    ],
)


bus_bandwidth = Exercise(
    cases=inputs.calls(
        (4, 1_000_000_000, 0.1),  # a first input that can be checked by hand
        (8, 350_000_000_000, 6.125),
        lambda rng: (5, int(rng.integers(1, 100)) * 1_000_000, int(rng.integers(10, 99)) / 1000),
        lambda rng: (int(rng.integers(9, 99)), int(rng.integers(1, 10**9)), int(rng.integers(100, 9000)) / 1000),
        (2, 1000, 1e-4),
        (5, 0, 1e-5),
        names="P n seconds",
    ),
    checks=[
        checks.number(
            lambda P, n, seconds: 2 * (P - 1) / P * n / seconds,
            slips=[
                (
                    lambda P, n, seconds: n / seconds,
                    "That is n / seconds, what benchmarks call algorithm bandwidth: the data's size over the time. How "
                    "many bytes must a rank send to all-reduce n bytes? (If there is a // in your formula: it drops "
                    "what is behind the point.)",
                ),
                (
                    lambda P, n, seconds: 0,
                    "0, for data that took time? // drops what is behind the point: (P - 1) // P is 0 for every P.",
                ),
                (
                    lambda P, n, seconds: 2 * n / seconds,
                    "Close for many ranks. But nobody has to send all of its n bytes twice.",
                ),
                (
                    lambda P, n, seconds: (P - 1) / P * n / seconds,
                    "This factor fits an allgather or a reduce-scatter; an all-reduce is both.",
                ),
                (
                    lambda P, n, seconds: 2 * (P - 1) * n / seconds,
                    "That is what all ranks send together. Asked for is the rate of each.",
                ),
                (
                    lambda P, n, seconds: n / seconds / (2 * (P - 1) / P),
                    "The factor is on the wrong side: a rank sends more than n bytes, so is its rate larger or smaller "
                    "than n / seconds?",
                ),
                (
                    lambda P, n, seconds: 1.75 * n / seconds,
                    "The factor 1.75 belongs to 8 ranks. Here there are others.",
                ),
                (lambda P, n, seconds: 16 * (P - 1) / P * n / seconds, "Bytes per second, please, not bits."),
                (lambda P, n, seconds: 2 * (P - 1) / P * n / seconds / 1e9, "Bytes per second, please, not GB/s."),
                (lambda P, n, seconds: 2 * (P - 1) / P * n / seconds / 2**30, "Bytes per second, please, not GiB/s."),
                (
                    lambda P, n, seconds: 2 * (P - 1) / P * n * seconds,
                    "A rate is bytes divided by seconds, not multiplied.",
                ),
            ],
            otherwise="How many bytes must each rank send at least, to all-reduce n bytes? Divide that by the time.",
            unit="bytes/s",
        )
    ],
    hints=[
        "n / seconds is no fair measure: with more ranks it gets smaller although every link is as busy as before. "
        "Which number of bytes did a link really carry?",
        "The ring sends as little as possible: in each of its two halves every block but one.",
        "Bytes that each rank must send, divided by seconds. For P = 2 that is exactly n / seconds; why?",
    ],
)


def crossing(tree_messages, tree_volumes, ring_messages, ring_volumes):
    """n at which (messages alpha + volumes n beta) are equal, as a function of (P, alpha, beta)."""

    def bytes_(P, alpha, beta):
        latency = ring_messages(P) - tree_messages(P)
        return latency * alpha / ((tree_volumes(P) - ring_volumes(P)) * beta)

    return bytes_


def rounds(P):
    return math.ceil(math.log2(P))


def twice(number):
    return lambda P: 2 * number(P)


def hops(P):
    return P - 1


def share(P):
    """What a rank sends of n in one half of a ring."""
    return (P - 1) / P


def some_links(P):
    return lambda rng: (P, 1e-6 * int(rng.integers(2, 20)), 1e-12 * int(rng.integers(10, 200)))


crossover = Exercise(
    cases=inputs.calls(
        (8, 1e-6, 1e-9),  # a first input that can be checked by hand
        some_links(16),
        some_links(11),
        (2, 2e-6, 1e-11),
        (3, 2e-6, 1e-11),
        (4, 2e-6, 1e-11),
        (1000, 5e-6, 1e-11),
        (16, 0.0, 1e-11),
        names="P alpha beta",
    ),
    checks=[
        checks.number(
            crossing(rounds, rounds, hops, share),
            slips=[
                *[
                    (
                        lambda *_, size=size: size,
                        "256 KiB is a figure that is passed on without the machine it was measured on. What do alpha, "
                        "beta and P say?",
                    )
                    for size in (256 * 1024, 256_000)
                ],
                *[
                    (
                        lambda *_, size=size: size,
                        "10 MB is a rule of thumb. The crossing moves with P, alpha and beta: on 8 ranks with 5 us and "
                        "100 GB/s it is below 1 MB, on 1,000 ranks above 50 MB.",
                    )
                    for size in (10_000_000, 10 * 2**20)
                ],
                *[
                    (
                        lambda *_, size=size: size,
                        "A constant is right for one machine and one number of ranks at best. Which of P, alpha and "
                        "beta must move the crossing up, and which down?",
                    )
                    for size in (1e4, 1e5, 1e6, 1e8, 2**10, 2**13, 2**16, 2**20)
                ],
                (
                    lambda P, alpha, beta: alpha / beta,
                    "That is alpha / beta, where the latency of a single message is as long as its bytes take. How "
                    "many messages and how many bytes are in the ring, how many in the tree?",
                ),
                (
                    lambda P, alpha, beta: P * alpha / beta,
                    "That is P alpha / beta, where a ring's latencies are as long as its bytes take. And the tree?",
                ),
                (
                    crossing(rounds, lambda P: rounds(P) / P, hops, share),
                    "In your comparison a message of the tree has n / P bytes. Nothing is cut into blocks there: in "
                    "every round a message has all n bytes.",
                ),
                (
                    lambda P, alpha, beta: crossing(rounds, rounds, hops, share)(P, alpha, -beta),
                    "The size is right and the sign is not: one of the two differences is the wrong way round. Which "
                    "one starts later, and which one is steeper?",
                ),
                (
                    lambda P, alpha, beta: 0 if P > 3 else math.nan,
                    "0 says that the ring is never slower. At n = 0 only latencies are left: 2 (P - 1) of them in the "
                    "ring, and in the tree? (A crossing below 0 comes from a sign, or from too few bytes in the tree.)",
                ),
                (
                    crossing(math.log2, math.log2, hops, share),
                    "P is no power of two here, so log2 P is no whole number. Can a tree have a part of a round?",
                ),
                (
                    crossing(lambda P: P.bit_length() - 1, lambda P: P.bit_length() - 1, hops, share),
                    "So many rounds reach the largest power of two below P, not all ranks: round up.",
                ),
                (
                    crossing(rounds, rounds, twice(hops), twice(share)),
                    "The tree goes one way only in your comparison: it reduces to rank 0, and nobody else knows the "
                    "sum yet. (Or the broadcast alone.) The ring goes both.",
                ),
                (
                    crossing(twice(rounds), twice(rounds), hops, share),
                    "The ring does one half only in your comparison, the tree both.",
                ),
                (
                    crossing(rounds, rounds, hops, lambda P: 1),
                    "Your ring sends 2 n bytes a rank. It sends less: in each half every block but one.",
                ),
                (
                    crossing(rounds, lambda P: 1, hops, share),
                    "Your tree sends n bytes once each way. In every round the message has all n bytes, and the rounds "
                    "follow one another.",
                ),
                (
                    crossing(lambda P: 0, rounds, hops, share),
                    "The rounds of the tree have a latency, too.",
                ),
                (
                    crossing(lambda P: 1, rounds, hops, share),
                    "The tree pays its latency in every round, not once.",
                ),
                (
                    crossing(rounds, rounds, lambda P: P, share),
                    "How many steps has each half of the ring? A block starts on one of the P ranks.",
                ),
                (
                    crossing(rounds, rounds, hops, lambda P: 1 / P),
                    "Your ring sends one block in each half. It sends one in every step of it.",
                ),
            ],
            otherwise="Write both times as (messages) alpha + (bytes) beta, one line for each, and set them equal. "
            "At n = 0 only the latencies are left: what is it that n must make up for?",
            unit="bytes",
        )
    ],
    hints=[
        "Two straight lines over n: the tree's begins lower and is steeper. Write down where each begins and how "
        "steep it is.",
        "With L = ceil(log2 P) rounds each way, the tree takes 2 L (alpha + n beta). The ring you know from ring_time.",
        "Bring alpha to one side and n beta to the other; the factor 2 cancels. For 2 and 3 ranks both begin at the "
        "same height.",
    ],
)


NAMES = ("allgather", "allreduce", "alltoall", "barrier", "broadcast", "gather", "reduce", "reduce-scatter", "send")

which_collective = Exercise(
    cases=inputs.calls(()),
    checks=[
        choices.situations(
            {
                "A": "allreduce",
                "B": "reduce-scatter",
                "C": "allgather",
                "D": "broadcast",
                "E": "alltoall",
                "F": "reduce",
                "G": "send",
                "H": "gather",
                "I": "barrier",
            },
            NAMES,
            why={
                ("A", "reduce"): "One rank would have the sum. All ranks are about to update, so who needs it?",
                ("A", "reduce-scatter"): "Every rank would have its part of the sum. Here every rank updates all the "
                "weights: is a part enough?",
                ("A", "allgather"): "Every rank would have P gradients, P times as much as it needs: only their sum "
                "matters.",
                ("B", "allreduce"): "Every rank would have the whole sum, and throw away all but its part of it. That "
                "is twice the traffic.",
                ("B", "reduce"): "Rank 0 would have the whole sum, the others nothing.",
                ("B", "alltoall"): "Rank r would get the others' r-th parts, P pieces, and would have to add them. The "
                "adding can be done on the way.",
                ("C", "broadcast"): "A broadcast has one source. How many ranks have something new here?",
                ("C", "allreduce"): "Nothing is to be added: each part has one owner, and it is finished.",
                ("C", "gather"): "Rank 0 would have all the parts. Who computes the next step?",
                ("C", "alltoall"): "In an alltoall a rank has something different for each other one. Here everybody "
                "needs the same part from rank r.",
                ("D", "send"): "P - 1 sends from rank 0 do it, one after the other. All ranks need the same: the "
                "ranks that have it already can help.",
                ("D", "allgather"): "An allgather takes a part from every rank. Here only one has anything.",
                ("D", "allreduce"): "Adding zeros from everybody else gives the right numbers, at twice the traffic. "
                "Nothing is to be added.",
                ("E", "allgather"): "Every rank would get all tokens, those for other experts too.",
                ("E", "send"): "Every rank has something for every other one: that is P (P - 1) sends, and they have "
                "a name when all ranks make them together.",
                ("E", "broadcast"): "Everybody would get the same tokens. Here each expert gets its own.",
                ("E", "gather"): "One rank would get all tokens. Every rank has an expert.",
                ("F", "allreduce"): "Every rank would know the mean loss. Who prints it?",
                ("F", "gather"): "Rank 0 would get P losses and add them itself. Adding can be done on the way.",
                ("F", "allgather"): "Every rank would get all losses. Who prints, and does it need each of them?",
                ("G", "broadcast"): "The whole world would get one rank's activations. Which rank needs which?",
                ("G", "alltoall"): "Has every rank something for every other one? Here there are pairs: one has the "
                "activations, one waits for them.",
                ("G", "allgather"): "Every rank would get every rank's activations. How many does one need?",
                ("H", "allgather"): "Every rank would know every name. Who writes the file?",
                ("H", "reduce"): "Adding names up leaves one thing. The file needs every one of them.",
                ("H", "send"): "P - 1 sends to rank 0 do it, one by one. When every rank has a piece for the same one, "
                "that has a name of its own.",
                ("I", "broadcast"): "Rank 0 can tell the others that its own file is there. What does it know of "
                "theirs?",
                ("I", "allgather"): "The files' contents are read from the disk, not sent. Which data must travel? "
                "None: only the news that everybody is there.",
                (
                    "I",
                    "allreduce",
                ): "It would do, with a number that nobody needs: no rank leaves before all have come. "
                "What remains if the number is left out?",
            },
            otherwise={
                "allgather": "An allgather gives every rank the parts of all ranks, one after the other. Who needs all "
                "of them here?",
                "allreduce": "An allreduce gives every rank the sum over all ranks. Who needs a sum here?",
                "alltoall": "In an alltoall every rank has another piece for every other rank. Is that so here?",
                "barrier": "A barrier moves no data at all. Does nobody need any here?",
                "broadcast": "A broadcast gives everybody what one rank has. Is there one source here, and does "
                "everybody need all of it?",
                "gather": "A gather brings a piece of every rank to one, as they are. Is that who needs them here?",
                "reduce": "A reduce brings the sum to one rank. Is there a sum here, and who needs it?",
                "reduce-scatter": "A reduce-scatter adds over ranks and leaves each one part of the sum. Is anything "
                "added here, and who needs which part?",
                "send": "A send goes from one rank to one other. Who has something here, and who needs it?",
            },
        )
    ],
    hints=[
        "Ask three questions of each. Who has something? Who needs it afterwards, one rank, all, or each a part? Is "
        "anything added on the way?",
        "The names say it: all- means that every rank has the result, reduce that it is added up, scatter that each "
        "gets a part, gather that pieces are put side by side.",
        "Every name is used exactly once.",
    ],
)


def some_nodes(nodes, per_node, cards):
    """A machine of so many nodes and cards, some n, some speeds."""
    return lambda rng: (
        nodes,
        per_node,
        nodes * per_node * int(rng.integers(10**5, 10**7)),
        int(rng.integers(100, 900)) * 1e9,
        int(rng.integers(10, 99)) * 1e9,
        cards,
    )


def three_phases(inside=1.0, across=1.0):
    """The right time with a factor before each of its parts; a factor may depend on (nodes, per_node, cards)."""

    def seconds(nodes, per_node, n, link, card, cards):
        one, other = (f(nodes, per_node, cards) if callable(f) else f for f in (inside, across))
        return one * 2 * (n - n / per_node) / link + other * 2 * (n - n / nodes) / (cards * card)

    return seconds


def other_ring(ranks):
    """The factor that makes of a ring of all nodes one of ranks(nodes, per_node)."""
    return lambda N, g, cards: (1 - 1 / ranks(N, g)) / (1 - 1 / N)


def flat_ring(nodes, per_node, n, link, card, cards):
    """One ring over all ranks, as quick as what all its bytes must pass through: which is that?"""
    ranks = nodes * per_node
    return [2 * (n - n / ranks) / speed for speed in (card, cards * card, cards * card / per_node, link)]


def held_up_inside(nodes, per_node, n, link, card, cards):
    """Across the machines a rank sends no faster than inside, or than its share of the cards."""
    return three_phases()(nodes, per_node, n, link, min(card, link * per_node / cards), cards)


hierarchical_time = Exercise(
    cases=inputs.calls(
        (24, 10, 24_000_000_000, 200e9, 25e9, 4),  # a first input that can be checked by hand
        some_nodes(24, 6, 2),
        some_nodes(256, 8, 8),
        (256, 8, 25_600_000_000, 300e9, 25e9, 1),
        some_nodes(16, 4, 4),
        some_nodes(1, 8, 8),
        (16, 4, 64_000_000, 10e9, 25e9, 4),  # slow inside
        some_nodes(9, 1, 1),
        (1, 1, 1000, 300e9, 25e9, 1),
        names="nodes per_node n inside card cards",
    ),
    checks=[
        checks.number(
            three_phases(),
            slips=[
                *[
                    (
                        three_phases(inside=link, across=other_ring(ranks)),
                        "Your ring across the machines has fewer members than there are machines: `nodes` was divided "
                        "by the ranks of one. It is the number of machines already.",
                    )
                    for ranks in (lambda N, g: N / g, lambda N, g: N // g, lambda N, g: N / 8, lambda N, g: N // 8)
                    for link in (1, 1 / 2)
                ],
                (
                    three_phases(across=other_ring(lambda N, g: N * g)),
                    "Your ring across the machines has all ranks in it. The ranks that hold the same part are one on "
                    "each machine.",
                ),
                (
                    three_phases(inside=1 / 2),
                    "Inside the machine it is half of what it should be. Either one of the two phases there is "
                    "missing, or `inside` was doubled, as the figure on the box is: it is for one direction already.",
                ),
                *[
                    (
                        three_phases(across=lambda N, g, cards, whole=whole: whole(g / cards) * cards / g),
                        "You give each card a whole number of ranks, or each rank a whole number of cards. All cards "
                        "are used evenly, also where per_node does not divide by cards: 10 ranks share 4 cards, so "
                        "each has 0.4 of a card.",
                    )
                    for whole in (math.floor, math.ceil)
                ],
                (
                    held_up_inside,
                    "Here the links inside are slower than a rank's share of the cards, and that changes the phase "
                    "across, too. What goes to other machines does not pass through the links inside.",
                ),
                (
                    three_phases(inside=2),
                    "Inside the machine it is twice what it should be. Either both phases there are a whole "
                    "all-reduce, and each is only one half of it; or `inside` was halved: the argument is for one "
                    "direction already.",
                ),
                (
                    three_phases(inside=2, across=2),
                    "Twice what it should be, in all phases. Were `inside` and `card` halved? The arguments are one "
                    "direction already.",
                ),
                *[
                    (
                        lambda *machine, speed=speed: flat_ring(*machine)[speed],
                        "That is one ring over all ranks, which knows nothing of machines. Here three phases follow "
                        "each other: what does a rank still have to send after the first?",
                    )
                    for speed in range(4)
                ],
                *[
                    (
                        three_phases(inside=lambda N, g, cards: 7 / 8 / (1 - 1 / g), across=across),
                        "The factor 7 / 8 belongs to 8 ranks a machine, 255 / 256 to 256 machines. Here there are "
                        "others.",
                    )
                    for across in (1, lambda N, g, cards: 255 / 256 / (1 - 1 / N))
                ],
                (
                    three_phases(across=lambda N, g, cards: 1 / g),
                    "Every rank seems to have the whole machine's cards to itself. The machine's per_node ranks send "
                    "their parts at the same time: how much do all of them send together?",
                ),
                (
                    three_phases(across=lambda N, g, cards: cards / g),
                    "Every rank seems to have a card of its own. How many ranks share a card here?",
                ),
                (
                    three_phases(across=lambda N, g, cards: cards),
                    "Everything leaves the machine through one card, as if one leader sent for all. Here all cards "
                    "are used evenly.",
                ),
                (
                    three_phases(across=lambda N, g, cards: g),
                    "Every rank seems to send all n bytes to other machines. What does it hold after the "
                    "reduce-scatter?",
                ),
                (
                    three_phases(across=1 / 2),
                    "Across the machines it is half of what it should be. An all-reduce has two halves; and a card's "
                    "speed is for one direction already.",
                ),
                (
                    three_phases(inside=0),
                    "That is the time across the machines alone. The phases inside are quick, not free, and they come "
                    "before and after, not at the same time.",
                ),
                (
                    three_phases(across=0),
                    "That is the time inside the machines alone. Their sums must still be added up across.",
                ),
                *[
                    (
                        three_phases(inside, across),
                        "2 n bytes is what a ring of very many ranks would send. With R of them a rank sends a little "
                        "less in each half: every block but one.",
                    )
                    for inside in (1, lambda N, g, cards: 1 / (1 - 1 / g))
                    for across in (1, lambda N, g, cards: 1 / (1 - 1 / N))
                ],
                (
                    three_phases(inside=lambda N, g, cards: 1 / g),
                    "Inside the machine you sent a part of a part. The reduce-scatter begins with all n bytes.",
                ),
                (lambda *machine: 1000 * three_phases()(*machine), "Seconds, please, not milliseconds."),
            ],
            otherwise="Take the phases one by one. In each: who is in the ring, how many bytes does each member bring, "
            "and how fast can it send while all the others send, too?",
            unit="s",
        )
    ],
    hints=[
        "Half a ring over R ranks takes (R - 1) / R times the bytes that each rank brings, divided by its speed. Here "
        "there are four such halves: two inside, two across.",
        "After the reduce-scatter a rank holds n / per_node bytes. It all-reduces these with the ranks of the other "
        "machines that hold the same part: how many is that?",
        "While they do, per_node ranks share `cards` cards: each has cards * card / per_node. Does per_node remain in "
        "the time of this phase?",
    ],
)


def follow(
    P,
    messages,
    own=lambda rank: {rank},
    learn=lambda mine, theirs, sender: mine | theirs,
    done=lambda known, P: len(known) == P,
    both=False,
):
    """(first, all_) if a rank knows own(rank) at first and a message gives its receiver (or both) what learn says."""
    knows = [own(rank) for rank in range(P)]
    complete = [sum(done(known, P) for known in knows)]  # ranks that know the sum, after 0, 1, ... messages
    for sender, receiver in messages:
        mine, theirs = knows[receiver], knows[sender]
        knows[receiver] = learn(mine, theirs, sender)
        if both:
            knows[sender] = learn(theirs, mine, receiver)
        complete.append(sum(done(known, P) for known in knows))
    return tuple(next((number for number, some in enumerate(complete) if some >= least), None) for least in (1, P))


def rounds_of(P, messages):
    """(first, all_) counted in rounds: messages between different ranks go at the same time."""
    last, begun = [0] * P, [0]
    for pair in messages:
        begun.append(1 + max(last[rank] for rank in pair))
        for rank in pair:
            last[rank] = begun[-1]
    return tuple(None if number is None else begun[number] for number in follow(P, messages))


def looks_at_rank_0(P, messages):
    """(first, all_) if only rank 0 is asked when somebody knows the sum."""
    knows, first = [{rank} for rank in range(P)], None
    for number, (sender, receiver) in enumerate(messages, 1):
        knows[receiver] |= knows[sender]
        if first is None and len(knows[0]) == P:
            first = number
    return first, follow(P, messages)[1]


COUNTING = (lambda rank: 1, lambda mine, theirs, _: mine + theirs)
FOLLOWED_WRONGLY = [
    (
        lambda P, messages: follow(P, messages, *COUNTING, lambda known, P: known >= P),
        "You count numbers that have come in. What a rank knows already may come again, and then it knows nothing new: "
        "whose numbers does it know?",
    ),
    (
        lambda P, messages: follow(P, messages, *COUNTING, lambda known, P: known == P),
        "You count numbers that have come in, until there are P. What a rank knows already may come again: whose "
        "numbers does it know?",
    ),
    (
        lambda P, messages: follow(
            P, messages, lambda rank: Counter([rank]), COUNTING[1], lambda known, P: list(known.values()) == [1] * P
        ),
        "A number that comes a second time seems to be added again, and then a sum that was complete no longer is. "
        "A receiver adds only what it does not have: whose numbers does it have?",
    ),
    (
        lambda P, messages: (P - 1, 2 * (P - 1)),
        "That is P - 1 and 2 (P - 1), the least there can be. How many it really takes is for the list to say.",
    ),
    (
        lambda P, messages: follow(P, messages, learn=lambda mine, theirs, _: theirs),
        "The receiver seems to forget what it knew. It adds what comes to that.",
    ),
    (
        lambda P, messages: follow(P, messages, learn=lambda mine, theirs, sender: mine | {sender}),
        "The sender seems to pass on its own number only. It passes on all it knows by then.",
    ),
    (
        lambda P, messages: follow(P, messages, both=True),
        "Both ends of a message seem to learn from it. It goes one way: what does the sender learn?",
    ),
    (rounds_of, "You count rounds. Asked for are messages, also of those that could go at the same time."),
    (
        lambda P, messages: tuple(None if number is None else number - 1 for number in follow(P, messages)),
        "Off by one: after the first message, one message has been sent.",
    ),
    (
        lambda P, messages: (follow(P, messages)[0],) * 2,
        "When the first rank knows the sum, do the others?",
    ),
    (
        lambda P, messages: tuple(None if number is None else len(messages) for number in follow(P, messages)),
        "It is so after the last message, too. When is it so for the first time?",
    ),
    (
        looks_at_rank_0,
        "`first` is when rank 0 knows the sum. Asked for is when any rank does: which one is it here?",
    ),
]


def followed(case, answer):
    """The function returns (first, all_)."""
    ((P, messages),), (got,) = case.arguments, answer.results
    want = follow(P, messages)
    if not isinstance(got, tuple | list) or len(got) != 2:
        return Finding(f"it returned {got!r}.", "Return two values: `return first, all_`. Each is a number or None.")
    if tuple(got) == want:
        return None
    seen = f"it returned first = {got[0]!r} and all_ = {got[1]!r}."
    if P == 1:
        return Finding(seen, "The only rank knows the sum before anything is sent: after how many messages is that?")
    for mine, right, who in zip(got, want, ("any rank knows", "all ranks know")):
        if right is None and mine is not None:
            return Finding(seen, f"With these messages it never comes to pass that {who} the sum. Which value says so?")
    hints = [hint for slip, hint in FOLLOWED_WRONGLY if slip(P, messages) == tuple(got)]
    return Finding(seen, [*hints, "Write down, after every message, whose numbers each rank knows."][0])


def some_names(P, *messages):
    """These messages, with the ranks numbered by chance."""

    def draw(rng):
        names = [int(name) for name in rng.permutation(P)]
        return P, [(names[sender], names[receiver]) for sender, receiver in messages]

    return draw


def by_chance(P, number):
    return lambda rng: (P, [tuple(map(int, rng.permutation(P)[:2])) for _ in range(number)])


follow_the_sum = Exercise(
    cases=inputs.calls(
        # here every mistake of FOLLOWED_WRONGLY gives something else (found by trying lists)
        some_names(4, (1, 0), (0, 1), (2, 1), (0, 3), (2, 3), (3, 1), (1, 0), (3, 2), (0, 1)),
        some_names(4, (0, 1), (2, 3), (3, 1), (1, 3), (1, 0), (3, 2)),  # up a tree and down again
        some_names(4, (0, 1), (1, 2), (2, 3), (3, 0), (0, 1), (1, 2)),  # around a ring, twice
        some_names(4, (0, 1), (1, 0), (2, 3), (3, 2), (0, 2), (2, 0), (1, 3), (3, 1)),  # recursive doubling
        some_names(3, (1, 0), (2, 0), (0, 1)),  # all but one
        some_names(4, (0, 1), (1, 0), (0, 1), (2, 3), (3, 1)),  # first, and nobody else
        some_names(4, (0, 1), (1, 0), (2, 3), (3, 2), (0, 1)),  # never
        (1, []),
        (2, []),
        by_chance(5, 60),
        by_chance(9, 120),
        names="P messages",
    ),
    checks=[followed],
    hints=[
        "Two ranks may each know the sum of three numbers without there being six: they can be the same three. So "
        "what must be kept for every rank?",
        "Keep for every rank the set of ranks whose numbers it knows. A message makes the receiver's set larger, and "
        "no other.",
        "Look after every message, and also before the first one, how many sets have P members: at least one, or all?",
    ],
)


# Level 2: fill in --------------------------------------------------------------------------------------------------


def right(case, rank):
    return (rank + 1) % case.ranks


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
    cases=blocks_of_lengths((20,) * 4, (30, 30, 30), (20, 20), (5, 17, 11, 8, 14), (12, 0, 7, 7), (13,), (0, 0, 0)),
    checks=[
        checks.arrays(
            lambda case, rank: (sum(case.arguments[0][1]),),
            hint=lambda case, answer, rank: f"All {case.ranks} blocks belong in it, one after the other.",
        ),
        checks.kept("block"),
        checks.own_memory("block"),
        checks.point_to_point,
        checks.receivers(right, "right neighbour"),
        checks.messages(lambda case, rank: case.ranks - 1, "the ring", passing_on),
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


# Level 3: write ----------------------------------------------------------------------------------------------------


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


def cut(x, case):
    """The blocks of the ring, in one rank's x."""
    return np.array_split(x, case.ranks)


def whole(case, rank):
    """The shape of a result that is as long as x."""
    return case.arguments[0][0].shape


def message(case):
    """Seconds that one message of all of x takes."""
    return ALPHA + 8 * elements(case) * BETA


def two_halves(case, sent, want):
    """The hint for a wrong number of messages in a ring all-reduce."""
    if sent > want:
        return "P - 1 steps complete every block, and P - 1 more show it to everybody. Which of your steps is too many?"
    if elements(case) < case.ranks:
        return "Some blocks are empty here. They are sent too, so that every rank counts the same steps."
    return (
        "All ranks have something to do in all of the steps: each sends one block and receives one. Here most links "
        "are idle while something long creeps along."
    )


def lengths_from_afar(case, answer):
    """No call tells the lengths of blocks, which every rank can work out."""
    for rank, calls in enumerate(answer.calls):
        gathers = [name for name in calls if name.lower() == "allgather"]
        if gathers and any(checks.kind(name) == "message" for name in calls):
            return Finding(
                f"rank {rank} called comm.{gathers[0]}, besides messages of its own.",
                "Is that for the lengths of the blocks? Each rank can work them out from n and P, which it knows: "
                "nobody need be asked.",
            )
    return None


ring_allreduce = Distributed(
    cases=inputs.vectors(ranks=(3, 2, 5, 1)),
    checks=[
        checks.arrays(
            whole,
            hint=lambda case, answer, rank: (
                "The whole sum is wanted on every rank. A reduce-scatter leaves one block "
                "of it on each: the second half of the work is to show it to the others."
            ),
        ),
        checks.unchanged,
        checks.new_array,
        lengths_from_afar,
        checks.point_to_point,
        checks.receivers(right, "right neighbour"),
        checks.bytes_together(
            lambda case: 2 * (case.ranks - 1) * 8 * elements(case),
            "two halves of a ring send",
            slips=[
                (
                    lambda case: case.ranks * (case.ranks - 1) * 8 * elements(case),
                    "Every rank sent all of x, P - 1 times. Then all ranks add the same numbers. Let each rank "
                    "complete one block only.",
                ),
                (
                    lambda case: 2 * case.ranks * (case.ranks - 1) * 8 * elements(case),
                    "You sent the whole array in every step. Of it the neighbour needs one block.",
                ),
                (
                    lambda case: (case.ranks - 1) * 8 * elements(case),
                    "That is one half. After a reduce-scatter each rank has one complete block; an allgather shows all "
                    "blocks to everybody.",
                ),
                (
                    lambda case: (2 * (case.ranks - 1) - 1) * 8 * elements(case),
                    "That is one step less than 2 (P - 1). In the last step of the first half a block gets its last "
                    "part; in the last step of the second half it comes to the last rank.",
                ),
                (
                    lambda case: (2 * (case.ranks - 1) + 1) * 8 * elements(case),
                    "That is one step more than 2 (P - 1). Which of your steps brings nobody anything new?",
                ),
            ],
            otherwise="In each step all n elements are on their way, one block on each link, and there are 2 (P - 1) "
            "steps. Are your blocks those of np.array_split, each element in one of them?",
        ),
        checks.messages(lambda case, rank: 2 * (case.ranks - 1), "the ring", two_halves),
        sums.sum_over_ranks(
            cut,
            whole=True,
            advice={
                "mixed": "Blocks got mixed. In each step: which block does the left neighbour of rank {rank} send, and "
                "where does your code put what arrives? It must be the same block, in both halves.",
                "missing": "The part of rank {missing} is missing: this block was shown around before it was complete. "
                "Which block is complete on rank r after P - 1 steps? That one has to go out first in the second half.",
                "own": "This is its own part alone. Either nothing was added on the way, or the block went out again "
                "from a rank on which it was not complete. Where is block b complete after P - 1 steps?",
                "single": "This is one rank's part alone: nothing was added on the way. In the first half what arrives "
                "must meet your own part, not replace it.",
                "weights": "Something is added twice. In the second half the blocks that arrive are complete sums: "
                "what should become of the partial sum that stands there?",
                "misplaced": "This is another block of the sum, complete, in the wrong place. Number the blocks that "
                "arrive in the second half, for three ranks.",
            },
        ),
        checks.same_bits,
        checks.no_later_than(
            lambda case: 2 * (case.ranks - 1) * (ALPHA + 8 * length(case, 0) * BETA),
            "the ring",
            "In every step all links carry a block at the same time. Does a rank wait for one message before it begins "
            "with the next? Sendrecv does both at once.",
        ),
    ],
    hints=[
        "You have both halves: what does ring_reduce_scatter leave on each rank, and what does ring_allgather need?",
        "ring_allgather wants the lengths of all blocks. Every rank knows n and P, so it can work them out: "
        "np.array_split cuts any array of n elements the same way.",
        "In one loop: in step s rank r sends block r - s and receives block r - s - 1 (both % P), for 2 (P - 1) steps. "
        "In the first P - 1 steps what arrives is added, afterwards it replaces.",
    ],
)


def in_place(answer, rank):
    """x after the call."""
    return answer.arguments[rank][0]


def messages_to(answer, rank):
    """How many messages were sent to a rank."""
    return sum(to == rank for sent in answer.sent for to, _ in sent)


def beyond_the_last(case):
    """The hint for a broadcast that sends to a rank that does not exist."""
    if case.arguments[0][1] == 0:
        return "With 5 ranks, three rounds could reach 8: some have no partner in the last round."
    return "A number that is counted from the root must be turned back into a rank before you send to it, with % P."


def only_with_this_root(case):
    """The hint for a deadlock that root 0 did not bring about; "" for others."""
    if case.arguments[0][1] == 0:
        return ""
    return (
        "With root 0 it worked. If you count from the root, `dest` and `source` must be ranks again, each of them: "
        "number m counted from the root is which rank?"
    )


def no_partner(case):
    """The hint for a broadcast that waits for a rank that is through."""
    P = case.ranks
    if P & (P - 1) == 0:
        return ROUND_BY_ROUND
    return (
        f"With {P} ranks the last round is not full: not every rank that has x has somebody to send it to. Is there a "
        "number me + distance at all? (% P makes a rank of it, one that has x already.)"
    )


ROUND_BY_ROUND = (
    "In each round a rank sends, receives, or does nothing. List who does which, round by round: is there, for each "
    "one that sends, one that receives from it in that round?"
)


def late_tree(case, answer):
    """The hint for a broadcast that takes too long."""
    P, root = case.ranks, case.arguments[0][1]
    counts = list(map(len, answer.sent))
    if counts[root] == P - 1:
        return (
            f"The root sends all {P - 1} messages itself, one after the other, while ranks that have x long since look "
            "on. Who else could send in the second round?"
        )
    if max(counts) == 1:
        return (
            "A chain: each rank passes x on once, so only one message is on its way at any time. Who has x can send "
            "again in the next round."
        )
    return (
        "In every round all ranks that have x should send. Who has many ranks below it in the tree must get x early: "
        "serve it before one that has none."
    )


binomial_broadcast = Distributed(
    cases=inputs.arrays(
        (4, 40, 0),
        (5, 33, 0),
        (3, 20, 1),
        (5, 21, lambda rng: int(rng.integers(1, 5))),
        (8, 30, 0),
        (8, 24, lambda rng: int(rng.integers(1, 8))),
        (6, 12, 5),
        (7, 1, lambda rng: int(rng.integers(7))),
        (2, 9, 1),
        (1, 9, 0),
        (4, 0, 2),
        names="root",
    ),
    checks=[
        checks.point_to_point,
        copies.copies(
            lambda case, rank: [copies.Piece(case.arguments[0][1])],
            "the x of rank {rank}",
            slips=[
                (
                    lambda seen: seen.want.rank != 0 and seen.answer.sent[0] and not messages_to(seen.answer, 0),
                    "The tree began at rank 0, whatever the root is. Count ranks from the root: which number has "
                    "rank r then?",
                ),
                (
                    lambda seen: not messages_to(seen.answer, seen.rank),
                    "Nobody has sent anything to it. How many rounds does it take to reach all ranks, and is the root "
                    "the first to send?",
                ),
                (
                    lambda seen: seen.found.rank == seen.rank,
                    "A message came to it, and yet its x is as it was. Was it received into x itself? (`x = ...` gives "
                    "the name to another array; x[:] = ... writes into this one.)",
                ),
            ],
            otherwise="Before a rank sends x on it must have received it. Who is the first to send?",
            result=in_place,
        ),
        checks.received(
            lambda case, rank: int(rank != case.arguments[0][1]),
            "in a tree it receives",
            "Each rank needs x once, and the root has it already: P - 1 messages in all. Which of yours bring nothing "
            "new?",
        ),
        checks.no_later_than(
            lambda case: rounds(case.ranks) * message(case),
            "a tree of ceil(log2 P) rounds",
            late_tree,
        ),
    ],
    endings={
        "nvalid rank": beyond_the_last,
        "Deadlock": only_with_this_root,
        "returned already": no_partner,
        "for a message from rank": "Somebody waits there for a rank that does not send to it now. To whom does that "
        "one send instead: to a rank that is receiving, and never to itself?",
        "what no rank is going to do": ROUND_BY_ROUND,
        "is in a send to a rank that is not receiving": "A rank that sends waits until its message is received. To "
        "whom is this one sent: to itself, or to a rank that has x already? How many rounds does your loop make?",
    },
    hints=[
        "Take root 0 and 8 ranks, and write down for each round who has x before it and who receives it. Which rule "
        "gives rank r its partner in round k?",
        "In the round with distance d = 1, 2, 4, ... the ranks below d send to the rank d further on. If P is no power "
        "of two, some of those do not exist. When does rank r receive, and from whom?",
        "For another root count in a circle: me = (comm.rank - root) % comm.size takes the place of the rank in all "
        "questions; whoever is number m is rank (m + root) % comm.size.",
    ],
)


def doubling_rounds(P):
    """Messages one after the other in recursive doubling, with the fold."""
    core = 2 ** (P.bit_length() - 1)
    return core.bit_length() - 1 + 2 * (core != P)


def late_doubling(case, answer):
    """The hint for an all-reduce with more rounds than recursive doubling."""
    P, partners = case.ranks, [{to for to, _ in sent} for sent in answer.sent]
    if all(len(to) == P - 1 for to in partners):
        return (
            "Every rank sends to every other, P - 1 messages one after the other. But what you have added up already "
            "can go out as one number: whom does it help most?"
        )
    if all(to == {(rank + 1) % P} for rank, to in enumerate(partners)):
        return "That is a ring: what rank 0 knows takes P - 1 steps to its left neighbour. Send further in each round."
    if P & (P - 1) == 0 and all(answer.sent[rank] and partners[rank] == {rank - P // 2} for rank in range(P // 2, P)):
        return (
            f"{P} is a power of two, so C is {P}, and there is nothing to fold. Here the last {P // 2} ranks hand in "
            "their arrays and wait."
        )
    least, rounds = min(map(len, answer.sent)), P.bit_length() - 1
    if P & (P - 1) == 0 and least > rounds:
        return (
            f"These are too many rounds: every rank sends at least {least} messages one after the other, and log2(P) = "
            f"{rounds} are enough. Each costs a latency, also if it is short. Exchange all of x in each."
        )
    if P & (P - 1) == 0:
        return (
            "Some ranks are idle in some rounds, or wait to be told the result. In each round every rank has a "
            "partner, sends to it and receives from it at the same time, and both add."
        )
    return (
        "With a power of two it is in time. Before and after the rounds one message each is enough: have all the ranks "
        "that do not fit a partner of their own, and can each be served by that partner alone?"
    )


def lone(place, weights):
    """The hint for a rank that ends with its own part alone."""
    if place.rank >= 2 ** (place.case.ranks.bit_length() - 1):
        return f"This is its own part alone. Nobody has told rank {place.rank} the result."
    return "This is its own part alone, so nothing was added. When does your code add: had anything arrived by then?"


def no_such_partner(case):
    """The hint for an exchange with a rank that does not exist."""
    P = case.ranks
    if P & (P - 1) == 0:
        return (
            "A partner's number differs from the rank's own in one bit only, and there are log2(P) rounds. Print the "
            "partners of each. (In Python 2 ^ k is xor; the power is 2**k.)"
        )
    core = 2 ** (P.bit_length() - 1)
    return (
        f"With {P} ranks, rank ^ 2**k is no rank for some. C is {core} here, the largest power of two that is not "
        f"above {P}: only the first C exchange with rank ^ 2**k. What do the others do, before and after?"
    )


def unheard(place, weights):
    """The hint for a sum without the parts of some ranks."""
    core = 2 ** (place.case.ranks.bit_length() - 1)
    missing = [rank for rank in place.group if not weights[rank].any()]
    seen = f"The part of rank {', '.join(map(str, missing))} is missing. "
    if min(missing) >= core:
        return seen + (
            f"Ranks from C = {core} on hand in their part before the rounds, so that it travels along in all of them. "
            "When does it come in here?"
        )
    return seen + (
        "After round k a rank should know the sum of 2**(k+1) ranks: list, for each round, whose parts are in what you "
        "send."
    )


recursive_doubling = Distributed(
    cases=inputs.arrays((4, 40), (2, 21), (3, 30), (8, 70), (6, 50), (7, 60), (5, 1), (1, 12), (4, 0)),
    checks=[
        checks.arrays(whole),
        checks.unchanged,
        checks.new_array,
        checks.point_to_point,
        sums.sum_over_ranks(
            sums.in_one_piece,
            whole=True,
            advice={
                "own": lone,
                "missing": unheard,
                "single": "This is one rank's part alone: what arrives must meet what you have, not replace it.",
                "weights": "Each rank's part belongs into the sum once. Whose partner in one round has already had "
                "some of the same parts? (In round k the partner's number differs in bit k: 1, 2, 4, ...)",
            },
        ),
        checks.no_later_than(
            lambda case: doubling_rounds(case.ranks) * message(case), "recursive doubling", late_doubling
        ),
        checks.same_bits,
    ],
    endings={"nvalid rank": no_such_partner},
    hints=[
        "Take 4 ranks. Round 0 pairs 0-1 and 2-3, and each pair ends with its sum on both. Which pairs does round 1 "
        "need so that everybody knows everything?",
        "rank ^ d with d = 1, 2, 4, ... is the partner; Sendrecv exchanges what you have for what it has, into an "
        "array of its own, and then you add. Do not add before it has arrived.",
        "Any other P: with C = 2 ** (P.bit_length() - 1), rank r >= C sends to r - C first, and at the end receives "
        "the result from it. Only ranks below C carry out the rounds, and only those with r + C < P have such a guest.",
    ],
)


BEYOND = (
    "With this number of ranks some partner is beyond the last rank. rank ^ step pairs all ranks when P is a power of "
    "two, and only then. Is there a rule that works for every P? Let all ranks send equally far."
)


def late_exchange(case, answer):
    """The hint for an all-to-all that takes too long."""
    if all(set(calls) <= {"Send", "Ssend", "Recv"} for calls in answer.calls):
        return (
            "Each rank does one thing at a time: it sends, or it receives. It can do both at once, which saves half of "
            "the time at least: which call does?"
        )
    first = [sent[0][0] for sent in answer.sent if sent]
    crowded = max(first, key=first.count)
    if first.count(crowded) == case.ranks - 1:
        return (
            f"{first.count(crowded)} ranks send to rank {crowded} first. It receives one message at a time, so they "
            "queue up. In which order can everybody serve the others so that the receivers are always different?"
        )
    return (
        "In some steps a rank has no partner, or waits for one that is busy. There is an order in which all ranks send "
        "and receive in each of P - 1 steps, for any P: what if all send equally far?"
    )


def straight(case, answer):
    """Every rank sends one message to each other rank."""
    for rank, sent in enumerate(answer.sent):
        to = [to for to, _ in sent]
        others = [other for other in range(case.ranks) if other != rank]
        if sorted(to) != others:
            often = max(set(to), key=to.count)
            left_out = ", ".join(map(str, sorted(set(others) - set(to))))
            return Finding(
                f"rank {rank} sent {checks.count(to.count(often), 'message')} to rank {often}, and none to {left_out}.",
                "Passed on from neighbour to neighbour, a row comes past ranks that have no use for it: all that is "
                "sent more often than once takes time. Each row goes straight to its rank.",
            )
    return None


def nothing_sent(case, answer, rank):
    """The hint for a result of a wrong shape."""
    if any(answer.sent):
        return checks.SHAPE
    return (
        "Nothing was sent at all, so nothing in this array comes from another rank. x[q] is what this rank has for "
        "rank q; what do the others have for it?"
    )


pairwise_alltoall = Distributed(
    cases=inputs.arrays((4, (4, 20)), (5, (5, 6)), (3, (3, 10)), (2, (2, 7)), (8, (8, 3)), (1, (1, 9)), (3, (3, 0))),
    checks=[
        checks.arrays(whole, hint=nothing_sent),
        checks.unchanged,
        checks.new_array,
        checks.point_to_point,
        copies.copies(
            lambda case, rank: [copies.Piece(other, rank) for other in range(case.ranks)],
            "row {number} of rank {rank}",
            slips=[
                (
                    lambda seen: seen.found == copies.Piece(seen.rank, seen.want.rank),
                    "That is its own row, where it was: the result is what the others have for you, not what you have "
                    "for them.",
                ),
                (
                    lambda seen: seen.found.rank == seen.want.rank,
                    "The right rank has sent the wrong row. Which row of its x is meant for the rank it sends to?",
                ),
                (
                    lambda seen: seen.found.number == seen.rank,
                    "It is meant for you, and stands in another's place. From whom do you receive in this step, and "
                    "into which row of the result?",
                ),
            ],
            otherwise="Both the sender's row and the place of what arrives follow from a rank's number. Write down, "
            "for three ranks, one step: who sends which row to whom, and where does it go?",
            pieces=list,
        ),
        checks.messages(
            lambda case, rank: case.ranks - 1,
            "the pairwise exchange",
            lambda case, sent, want: (
                "One message to each other rank: the own row is copied, and nothing is passed on for others."
            ),
        ),
        straight,
        checks.bytes_sent(
            lambda case, rank: 8 * (case.ranks - 1) * case.arguments[rank][0].shape[1],
            "the pairwise exchange",
            slips=[
                (
                    lambda case, rank: 8 * (case.ranks - 1) * elements(case),
                    "You sent all of x to everybody. Rank q needs a single row of it.",
                ),
            ],
            otherwise="Each other rank gets one row, of k elements.",
        ),
        checks.no_later_than(
            lambda case: (case.ranks - 1) * (ALPHA + 8 * case.arguments[0][0].shape[1] * BETA),
            "an exchange without queues",
            late_exchange,
        ),
    ],
    endings={
        "nvalid rank": BEYOND,
        "IndexError": BEYOND,
        "not contiguous": "A column of an array does not lie in one piece in memory, so it cannot be sent as it is. A "
        "row does, and rows are what is asked for: row q of x is for rank q.",
    },
    hints=[
        "Take three ranks and P - 1 = 2 steps. In each step every rank sends one row and receives one. Who can send to "
        "whom in the first step, so that nobody receives two?",
        "If in step s all ranks send s places to the right, around the circle, all receivers are different. From where "
        "does a rank then receive in that step?",
        "Row dest goes to rank dest, and what comes from rank source is row source of the result. Sendrecv does both "
        "at once; result[source] is a view that can be received into. Do not forget the own row.",
    ],
)


# Level 4: repair ---------------------------------------------------------------------------------------------------


def waits_for_itself(case):
    """The hint for a deadlock of one rank; "" for others."""
    return (
        "With one rank, both neighbours are the rank itself: whether it sends first or receives first, it waits for "
        "its own other call."
    ) * (case.ranks == 1)


def every_rank_sends(case):
    """The hint for a deadlock of several ranks in Send: what is wrong, without the calls that repair it."""
    return (
        "Every rank waits in Send until its right neighbour receives, and the right neighbour waits in Send as well: "
        "nobody comes to the line after it. (With small messages MPI may let Send return before; it need not.)"
    ) * (case.ranks > 1)


def one_to_the_right(case, answer):
    """Every rank sends one message, to its right neighbour; one rank alone need not send any."""
    for rank, sent in enumerate(answer.sent):
        partners, neighbour = [to for to, _ in sent], right(case, rank)
        if case.ranks > 1 and partners != [neighbour]:
            return Finding(
                f"rank {rank} sent {checks.count(len(sent), 'message')}"
                + f", to rank {', '.join(map(str, sorted(set(partners))))}" * bool(sent)
                + f"; one to its right neighbour, rank {neighbour}, is enough.",
                not_one_to_the_right(case, answer),
            )
    return None


def not_one_to_the_right(case, answer):
    """Recognise what else was sent."""
    P, partners = case.ranks, [[to for to, _ in sent] for sent in answer.sent]
    if not any(partners):
        return "Nothing was sent, so nobody can have the left neighbour's block."
    if all(to == [(rank - 1) % P] for rank, to in enumerate(partners)):
        return "The blocks went to the left. From which side should they come?"
    if all(set(to) == {right(case, rank)} for rank, to in enumerate(partners)):
        laps = "a full lap less one: " * all(len(to) == P - 1 for to in partners)
        return (
            f"The blocks went on and on, {laps}rank {P - 1}'s should end on rank 0, its right neighbour. How many "
            "places is that?"
        )
    return "Who needs a rank's block? Only its right neighbour: to any other it need not be sent."


def two_turns(case):
    """Even ranks send first and odd ones receive first: two turns, for an odd number of ranks three."""
    turns = 0 if case.ranks == 1 else 2 + case.ranks % 2
    return turns * (ALPHA + elements(case) * 8 * BETA)


shift_right = Distributed(
    cases=inputs.arrays((3, 40), (4, 10), (2, 7), (5, 6), (1, 8), (3, 0)),
    checks=[
        checks.arrays(whole),
        checks.kept("block"),
        checks.own_memory("block"),
        checks.point_to_point,
        one_to_the_right,
        copies.copies(
            lambda case, rank: [copies.Piece((rank - 1) % case.ranks)],
            "the block of rank {rank}",
            slips=[
                (
                    lambda seen: seen.found.rank == seen.rank,
                    "That is its own block. What it receives should be returned, in memory of its own.",
                ),
            ],
            otherwise="Every block moves by one rank. Who is it that this rank receives from?",
        ),
        checks.no_later_than(
            two_turns,
            "with neighbours in pairs it",
            "It no longer hangs, and the messages go one after the other, along a chain: the rank at its end waits for "
            "all the others, so the time grows with P. How many of the messages could be on their way at once?",
        ),
    ],
    endings={
        "send(": "comm.send, with a small letter, pickles its object, and waits as Send does: no rank comes to the "
        "line after it. The calls with a capital letter, which send an array as it is, are the ones to repair.",
        "is in a send to a rank": every_rank_sends,
        "Deadlock": waits_for_itself,
    },
    hints=[
        "Which call does every rank stand in when it hangs? What would have to happen before that call may return, and "
        "can it happen?",
        "MPI may keep a small message in a buffer of its own, so that Send returns at once. It need not, and with "
        "large ones it does not. The repair must not depend on it: either some ranks receive first, or no rank waits "
        "in Send.",
        "Three ways: Sendrecv; or Isend, then Recv, then mpi.waitall; or even ranks send first and odd ranks receive "
        "first (what if there is only one?).",
    ],
)


def trainings(rng):
    """Losses that fall, with different rules for stopping coming to different steps, in the first case all of them.

    The mean is below the limit from step `after` on, rank 0 three steps earlier, rank 2 four, rank 1 two steps later.
    Losses are multiples of 1/64, so sums are exact.
    """
    for P, steps, after, what in (
        (3, 9, 5, ""),
        (2, 6, 1, ""),
        (4, 7, 7, ""),
        (4, 5, 6, ", never good enough"),
        (3, 8, 6, ", the mean equal to the limit one step before"),
        (1, 5, 3, ""),
        (5, 9, 6, ""),
        (2, 0, 1, ""),
    ):
        good_from = np.array([after] if P == 1 else [after - 3, after + 2, after - 4, *rng.integers(1, 9, P)][:P])
        losses = draw_losses(rng, good_from, steps, after)
        while not what and P == 3 and over_all_steps(losses.T, 0.0) in (after, after + 2, steps):
            losses = draw_losses(rng, good_from, steps, after)
        if "equal" in what:
            losses[after - 2, 1] -= losses[after - 2].sum()
        label = f"{checks.count(P, 'rank')}, {checks.count(steps, 'step')}{what}"
        yield Case(label, tuple((row, 16.0) for row in losses.T + 16))


def draw_losses(rng, good_from, steps, after):
    """How far all ranks' losses are above the limit, as an array [steps, ranks]."""
    return np.array([training(rng, good_from, step, after) for step in range(1, steps + 1)]).reshape(-1, good_from.size)


def over_all_steps(losses, limit):
    """The step that a mean over all ranks and all steps so far decides."""
    means = losses.mean(axis=0)
    below = np.cumsum(means) / np.arange(1, means.size + 1) < limit
    return int(np.argmax(below)) + 1 if below.any() else means.size


def training(rng, good_from, step, after):
    """How far each rank's loss is above the limit in one step; the mean is above it before step `after` only."""
    above = rng.integers(1, 64, good_from.size) / 64 * np.where(good_from <= step, -1, 1)
    while above.sum() >= 0 if step >= after else above.sum() <= 0:
        above[(above < 0) == (step >= after)] *= 2
    return above


def first_step(case, value, below=lambda value, limit: value < limit):
    """The first step after which value(losses of all ranks) is below the limit."""
    losses, limit = np.array([arguments[0] for arguments in case.arguments]), case.arguments[0][1]
    steps = losses.shape[1]
    return next((step for step in range(1, steps + 1) if below(value(losses[:, step - 1]), limit)), steps)


OTHER_RULES = [  # what somebody may decide on instead of the mean: (the value, the comparison, the hint)
    (np.sum, np.less, "That is the first step after which the sum is below the limit. Asked for is the mean."),
    (np.max, np.less, "That is the step after which every single loss is below the limit. The mean gets there sooner."),
    (np.min, np.less, "That is the step after which one rank's loss is below the limit. The others count as well."),
    (np.mean, np.less_equal, "Below the limit: a mean that equals it is not good enough yet."),
    (lambda losses: losses[0], np.less, "That is when rank 0's own loss is below the limit: the others have no say."),
    *[
        (
            lambda losses, size=size: losses.sum() / size,
            np.less,
            "Is the sum of the losses divided by the same number, however many ranks there are? comm.size knows how "
            "many.",
        )
        for size in (2, 3, 4, 8)
    ],
]


def right_step(case, answer):
    """All ranks return the step that the mean decides."""
    want = first_step(case, np.mean)
    if len(set(map(str, answer.results))) > 1:
        return Finding(
            f"the ranks returned {', '.join(map(str, answer.results))}: not all the same.",
            "They would train on for different numbers of steps. What is the same on all ranks after each step, so "
            "that all can decide on it?",
        )
    got = answer.results[0]
    if isinstance(got, int) and not isinstance(got, bool) and got == want:
        return None
    if got is None:
        return Finding(
            "it returned None.", "What if the loop comes to its end, because the mean was never below limit?"
        )
    seen = f"all ranks returned {got}; the mean is below the limit after step {want} of {case.arguments[0][0].size}."
    if got == over_all_steps(np.array([arguments[0] for arguments in case.arguments]), case.arguments[0][1]):
        return Finding(seen, "That is a mean over the steps so far as well. After each step its own losses count.")
    for value, below, hint in OTHER_RULES:
        if got == first_step(case, value, below):
            return Finding(seen, hint)
    if got in (want - 1, want + 1):
        return Finding(seen, "Steps are counted from 1, and the step whose losses were averaged is the one to return.")
    return Finding(seen, "On what number does the decision depend? Print the mean after each step.")


def one_mean_a_step(case, answer):
    """Each collective that is used is called once a step, until the end. For one number comm.allreduce is as good."""
    steps = first_step(case, np.mean)
    for rank, calls in enumerate(answer.calls):
        for name, count in calls.items():
            if checks.kind(name) == "collective" and (count != steps or name.lower().endswith("barrier")):
                return Finding(
                    f"rank {rank} called {name} {checks.count(count, 'time')}, in {checks.count(steps, 'step')}.",
                    too_often(name, count, steps, case.arguments[rank][0].size),
                )
    return None


def too_often(name, count, steps, all_steps):
    """The hint for a collective that was not called once a step."""
    if name.lower().endswith("barrier"):
        return (
            "A Barrier makes ranks wait for each other; it tells nobody anything. Whatever it was to cure, an "
            "Allreduce keeps all ranks together as well."
        )
    if count == 1:
        return (
            "One call for all steps means that everybody has trained to the end before they ask whether to stop. The "
            "loss after step 2 is not known yet when step 1 is judged."
        )
    if count == all_steps > steps:
        return (
            f"All {all_steps} steps were trained, although the mean was below the limit after step {steps}: nobody "
            "left the loop. When all know that it is good enough, all return."
        )
    return (
        f"One mean a step is enough, and none after the one that decides: {checks.count(steps, 'call')} in all. Each "
        "costs everybody a latency."
    )


stop_together = Distributed(
    cases=trainings,
    checks=[right_step, one_mean_a_step],
    endings={
        "arrier in group": "A barrier does not help: the ranks that have left do not come to it, either. What made "
        "them leave before the others?",
        "returned already": "A collective call must be made by all ranks or by none. One has left the loop and the "
        "others have not: what did it look at, and what do the others look at?",
        "CollectiveMismatch": "Different ranks are in different calls. A rank that leaves cannot make up for it with "
        "another call: all must come to the same decision, in the same step.",
    },
    hints=[
        "Two ranks, losses 1 and 5, limit 2. Walk through the loop line by line for both. Which line does rank 1 wait "
        "in, and where is rank 0 then?",
        "A collective call must be made by all ranks or by none. So the decision to leave the loop must come out the "
        "same on all ranks: from what is it made now, and what do all ranks know after the Allreduce?",
        "The order in each step: average first, then everybody looks at the same mean.",
    ],
)


def members_of_row(case, rank):
    """The ranks of this rank's row."""
    width = case.arguments[0][1]
    first = rank // width * width
    return range(first, min(first + width, case.ranks))


def inside_the_row(case, answer):
    """No message leaves a row."""
    for rank, sent in enumerate(answer.sent):
        outside = sorted({to for to, _ in sent} - set(members_of_row(case, rank)))
        if outside:
            row = ", ".join(map(str, members_of_row(case, rank)))
            return Finding(
                f"rank {rank} sent to rank {', '.join(map(str, outside))}; its row is {row}.",
                "Rows should not know of each other: one row's sum must not wait for another row, or send it anything.",
            )
    return None


def by_collectives(case, answer):
    """Ranks of a row use its collective calls for arrays, and no messages of their own."""
    for rank, calls in enumerate(answer.calls):
        for name in sorted(calls):
            if checks.kind(name) == "message":
                return Finding(
                    f"rank {rank} called {name}.",
                    "Messages between two ranks can do it, one by one. The library's collective calls do it in fewer "
                    "steps, and a row's group has them all: which one gives every rank the sum?",
                )
            if checks.kind(name) != "other" and name.islower():
                return Finding(
                    f"rank {rank} called {name}, with a small letter.",
                    f"{name} pickles the array: more bytes, and copies. The call with a capital letter sends the "
                    "memory of the array as it is.",
                )
    return None


def reduced_to_one(case, answer):
    """A Reduce and nothing else leaves the sum on one rank of the row."""
    for rank, calls in enumerate(answer.calls):
        used = [name for name in calls.elements() if checks.kind(name) == "collective"]
        if used == ["Reduce"] and len(members_of_row(case, rank)) > 1:
            return Finding(
                f"rank {rank} called Reduce once, and no other collective but Split.",
                "Reduce gives the sum to one rank alone, the root. The arrays of the others stay as they were; who is "
                "to have the sum here?",
            )
    return None


def everybody_alone(case, answer):
    """Groups of one rank each: no message anywhere, although collectives were called."""
    first = members_of_row(case, 0)
    silent = answer.seconds is not None and not any(answer.sent)  # what MPI's own collectives send cannot be seen
    called = all(any(checks.kind(name) == "collective" for name in calls) for calls in answer.calls)
    if len(first) == 1 or not (silent and called and elements(case)):
        return None
    return Finding(
        f"rank 0 heard nothing from the others of its row, {', '.join(map(str, first[1:]))}: no message was sent.",
        "Every rank got a colour of its own, so every group has one rank. Split takes a colour, which the ranks of a "
        "group share, and a key, which orders them.",
    )


def alone_in_the_row(place, weights):
    """The hint for a rank that ends with its own part alone."""
    if place.rank == place.group[0]:
        return "This is its own part alone: nothing of the others in its row was added. Which call adds?"
    return "This is its own part alone. Did the result of the row come to all ranks of it?"


LEFT_OUT = (
    "All ranks of a communicator must make a collective call on it. On which communicator is this call made, and which "
    "of its ranks never come to that line?"
)
sum_of_my_row = Distributed(
    cases=inputs.arrays(
        (5, 24, 2), (4, 20, 2), (6, 25, 3), (3, 12, 1), (3, 15, 4), (8, 40, 3), (1, 6, 1), (4, 0, 2), names="width"
    ),
    checks=[
        checks.arrays(whole),
        checks.unchanged,
        checks.new_array,
        by_collectives,
        reduced_to_one,
        everybody_alone,
        sums.sum_over_ranks(
            sums.in_one_piece,
            whole=True,
            members=members_of_row,
            advice={
                "everybody": "That is the sum over all ranks. A communicator has the say on who takes part in a call: "
                "on which one is yours made?",
                "strangers": "In the row of rank {rank} are {members}, and no others. Which colour do the ranks of one "
                "row share, and no other rank?",
                "own": alone_in_the_row,
                "single": "This is one rank's part alone: a copy of it, not a sum.",
                "missing": "The part of rank {missing} is missing. Which ranks got the same colour as rank {rank}?",
            },
        ),
        inside_the_row,
    ],
    endings={
        " Split in group": "Split is a collective call on the whole communicator: all its ranks must make it, also "
        "those that will be alone in their group.",
        "Invalid root": "In a group, ranks count from 0 again: rank 2 of all may be rank 0 of its row, and `root` is a "
        "rank of the group.",
        "has not": LEFT_OUT,
        "have not": LEFT_OUT,
    },
    hints=[
        "Take five ranks and width 2. Who is in the third row? Which line does that rank never come to, and who waits "
        "for it there?",
        "row.size tells of the group, comm.Allreduce asks the world. Which object's Allreduce sums over a row?",
        "A group of one rank can call Allreduce, too: it needs no branch of its own.",
    ],
)


# Level 5: speed up -------------------------------------------------------------------------------------------------


def gradients(rng):
    """Lists of arrays of many shapes."""
    for P, shapes, what in (
        (3, [(4,), (5, 3), (4,), (7,)], "4 arrays"),
        (2, [(6, 2), (9,), (2, 3, 4), (1,)], "4 arrays"),
        (4, [(2, 5), (0,), (3, 0), (8,)], "4 arrays, two of them empty"),
        (2, [(3,), (), (2, 2)], "3 arrays, one of shape ()"),
        (2, [(4, 6), (3, 5)], "2 transposed arrays"),
        (5, [(11,)], "1 array"),
        (1, [(3,), (2, 2)], "2 arrays"),
        (3, [], "no arrays"),
        (2, [(0,), (0, 2)], "2 empty arrays"),
        (2, [(2,)] * 30, "30 arrays"),
    ):
        held = [[rng.standard_normal(shape) for shape in shapes] for _ in range(P)]
        if "transposed" in what:
            held = [[array.T for array in arrays] for arrays in held]
        yield Case(f"{P} rank{'s' * (P > 1)}, {what}", tuple((arrays,) for arrays in held))


def one_allreduce(case, answer):
    """Every rank calls Allreduce once, and nothing else that takes messages."""
    for rank, calls in enumerate(answer.calls):
        by_hand = sorted(name for name in calls if checks.kind(name) == "message")
        if by_hand or "Split" in calls:
            name = (by_hand or ["Split"])[0]
            return Finding(
                f"rank {rank} called comm.{name} {checks.count(calls[name], 'time')}, and Allreduce "
                f"{checks.count(calls['Allreduce'], 'time')}.",
                "Everything that is sent besides that call pays a latency, too: all the sums should come out of it."
                if calls["Allreduce"]
                else "Here the library's own call is wanted, comm.Allreduce, once for all the arrays. It sends the "
                "messages itself, and chooses how.",
            )
        for name in sorted(set(calls) - {"Allreduce"}):
            if checks.kind(name) != "other" and name.islower():
                return Finding(
                    f"rank {rank} called comm.{name}, with a small letter.",
                    f"comm.{name} pickles its object: more bytes, and copies. Allreduce, with a capital letter, sends "
                    "the memory of an array as it is.",
                )
            if checks.kind(name) == "collective":
                hint = "Each collective call pays its latency. A single one, of Allreduce, does it all."
                return Finding(f"rank {rank} called comm.{name}.", hint)
        if calls["Allreduce"] != 1:
            arrays = len(case.arguments[rank][0])
            return Finding(
                f"rank {rank} called Allreduce {checks.count(calls['Allreduce'], 'time')}, for "
                f"{checks.count(arrays, 'array')}.",
                calls_hint(calls["Allreduce"], arrays),
            )
    return None


def calls_hint(calls, arrays):
    """The hint for another number of calls than one."""
    if calls == 0:
        return (
            "Exactly one call, always: also if there is nothing to sum, or only one rank. Then nobody has to ask why."
        )
    if calls == arrays:
        return (
            "One latency for each array. A sum over ranks does not care where an element stands: could all arrays be "
            "summed as one?"
        )
    if calls == 2:
        return (
            "Two latencies. If one call is there to agree on a length: the shapes are the same on every rank, so each "
            "can add the sizes up itself. If each is for some of the arrays: once they are flat, they are all alike."
        )
    return "Arrays of one shape together is a beginning. What do arrays of different shapes have in common in memory?"


def lists(case, answer):
    """Every rank returns a list of float64 arrays of the right shapes."""
    want = [array.shape for array in case.arguments[0][0]]
    for rank, got in enumerate(answer.results):
        if not isinstance(got, list):
            kind = "None" if got is None else f"a {type(got).__name__}"
            return Finding(f"rank {rank} returned {kind}.", "It should return a list, with an array for each array.")
        shapes = [getattr(array, "shape", None) for array in got]
        if len(got) != len(want):
            return Finding(
                f"rank {rank} returned {checks.count(len(got), 'array')} for {checks.count(len(want), 'array')}.",
                "Where is the joined array cut, and does that give one piece for each?",
            )
        if shapes != want:
            place = next(i for i, (one, other) in enumerate(zip(shapes, want)) if one != other)
            return Finding(
                f"array {place} of rank {rank} has shape {shapes[place]}, it should have {want[place]}.",
                "A piece of the joined array is flat, and as long as its array. Where does it begin, where does it "
                "end, and what gives it its shape back?",
            )
        if any(array.dtype != np.float64 for array in got):
            return Finding(
                f"rank {rank} returned arrays of another type than float64.", "Look at np.empty and np.array."
            )
    return None


def summed(case, answer):
    """Each array of the list is the sum of all ranks' arrays at that place."""
    want = [sum(arrays) for arrays in zip(*(arguments[0] for arguments in case.arguments))]
    for rank, result in enumerate(answer.results):
        for place, (got, total) in enumerate(zip(result, want)):
            wrong = ~np.isclose(got, total, rtol=1e-9, atol=1e-12)
            if wrong.any():
                return Finding(
                    f"array {place} of rank {rank}: {wrong.sum()} of {got.size} elements are wrong.",
                    values_hint(case, rank, place, got, total),
                )
    return None


def values_hint(case, rank, place, got, total):
    """Recognise what stands in the place of a sum."""
    if np.allclose(got, case.arguments[rank][0][place]):
        return "That is the rank's own array: the sum went somewhere else. Which array does Allreduce write into?"
    if np.allclose(got * case.ranks, total):
        return "Asked for is the sum over ranks, not the mean."
    if np.allclose(np.sort(got, axis=None), np.sort(total, axis=None)):
        return (
            "The right sums, in another order. A transposed array lies differently in memory: its elements must come "
            "out in the order in which they went in."
        )
    return "Does every piece begin where the one before it ends? Follow the number of the first element of each."


def no_padding(case, answer):
    """Two ranks that sum n elements send each other n elements in all, whatever the algorithm."""
    if case.ranks != 2 or answer.seconds is None:  # what MPI's own collectives send cannot be seen
        return None
    sent = sum(nbytes for messages in answer.sent for _, nbytes in messages)
    want = 2 * 8 * sum(array.size for array in case.arguments[0][0])
    if sent == want:
        return None
    return Finding(
        f"the two ranks sent {sent:,} bytes; the arrays need {want:,}.",
        "Something is sent that is no element of an array. With arrays of very different sizes that becomes expensive.",
    )


allreduce_together = Distributed(
    cases=gradients,
    checks=[one_allreduce, lists, checks.kept("arrays"), checks.own_memory("arrays"), summed, no_padding],
    endings={
        "need at least one array": "np.concatenate does not work for a list without arrays, and there may be none.",
        "zero-dimensional": "An array of shape () is a single number, and np.concatenate wants arrays of one "
        "dimension. Which call makes any array flat?",
        "inhomogeneous": "np.array makes tables, and these arrays have different shapes. Flat ones can be joined into "
        "one.",
        "cannot reshape": "A piece is not as long as its array. np.split wants the places where to cut: they follow "
        "from the sizes, and are not the sizes.",
        "only integer scalar": "Allreduce takes one array of numbers, not a list of arrays. Make one of them all.",
        "number of dimensions": "np.concatenate joins along one dimension, and these arrays have different ones. Which "
        "call makes any array flat?",
    },
    hints=[
        "What must two arrays have in common so that they can be summed in one call? Could you make one array of all?",
        "np.ravel makes any array flat, np.concatenate joins flat arrays (at least one), np.split cuts at given "
        "places, and reshape gives a piece its shape back. The places are running sums of the sizes.",
        "Or without cutting: make one new array for all, take its slices, reshaped, as the results, copy the inputs "
        "into them, and Allreduce the one array with mpi.IN_PLACE.",
    ],
)


def too_many_orders(case):
    """The hint for a search that takes too long; "" on a machine so small that everything can be tried."""
    P = len(case.arguments[0][0])
    if P <= 8:
        return ""
    return (
        f"With {P} ranks there are {float(math.factorial(P - 1) // 2):.1e} different rings: there is no time to try "
        "all orders. What does a ring that wastes no hop do, once it has entered a machine?"
    )


ring_order = Exercise(
    cases=networks.machines(
        lambda rng: networks.machine(rng, 2, 2, 2),
        lambda rng: networks.machine(rng, 3, 4),
        lambda rng: networks.machine(rng, 2, 3, 4),
        *(lambda rng, P=P: networks.ragged_machine(rng, P) for P in (1, 2, 3, 7, 12, 33)),
        lambda rng: networks.machine(rng, 5),
        lambda rng: networks.machine(rng, 2, 4, 2, 4),
    ),
    checks=[checks.kept("seconds"), networks.shortest_ring],
    endings={"cpu": too_many_orders},
    hints=[
        "Draw two machines with two ranks each. How often must a ring go from one machine to the other, at least? "
        "And with three machines?",
        "A ring that enters a machine should see all its ranks before it leaves, and the same holds for a rack of "
        "machines, and for everything inside.",
        "Start anywhere. Which of the ranks that are left should come next, so that nothing is left half done? And "
        "why is that right here, although it is not for the travelling salesman?",
    ],
)


def machines(case):
    """N, the number of machines, and g, the ranks in each."""
    per_node = case.arguments[0][1]
    return case.ranks // per_node, per_node


def between(case, answer):
    """Bytes that each rank sent to other machines."""
    _, g = machines(case)
    return [sum(nbytes for to, nbytes in sent if to // g != rank // g) for rank, sent in enumerate(answer.sent)]


SLOWER = 16  # times as slow as inside is the network between the machines


def two_levels(case):
    """Machines whose ranks have a card each."""
    from reference.worlds import networks  # here: collecting the exercises should not wait for it

    _, g = machines(case)
    return networks.two_level(g, ALPHA / SLOWER, BETA / SLOWER, ALPHA, BETA, nics=g)


def bytes_between(case, answer):
    """All ranks together send 2 (N - 1) n elements to other machines, evenly."""
    (N, g), n, sent = machines(case), elements(case), between(case, answer)
    want = 2 * (N - 1) * n * 8
    if sum(sent) != want:
        seen = f"{sum(sent):,} bytes went from machine to machine; with {N} machines {want:,} are enough."
        return Finding(seen, between_hint(case, answer, sum(sent), want))
    most = 2 * (N - 1) / N * (-(-n // g)) * 8 + 2 * 8 * N  # and an element a message, because parts may differ by one
    worst = int(np.argmax(sent))
    if sent[worst] <= most:
        return None
    seen = f"rank {worst} sent {sent[worst]:,} of the {want:,} bytes that went from machine to machine."
    if 0 in sent:
        return Finding(
            seen,
            f"The number of bytes is right, but {checks.count(sent.count(0), 'card')} of {case.ranks} "
            "sent nothing. Each rank should carry a part across.",
        )
    return Finding(
        f"{seen[:-1]}; shared evenly, a rank sends {want // case.ranks:,}.",
        "The number of bytes is right, and every card is in use, but not evenly, and all wait for the one that has "
        "most to send. Which all-reduce lets every rank send equally much, also on 3 machines?",
    )


def bytes_inside(case, answer):
    """Inside the machines all ranks together send 2 (g - 1) n elements a machine."""
    (N, g), n = machines(case), elements(case)
    sent = sum(map(sum, ([nbytes for _, nbytes in messages] for messages in answer.sent))) - sum(between(case, answer))
    want = 2 * N * (g - 1) * n * 8
    if sent <= want:
        return None
    return Finding(
        f"{sent:,} bytes were sent inside the machines; a reduce-scatter and an allgather take {want:,}.",
        "Nothing waits, but too much is sent inside. When a part goes across, who else in its machine needs to know "
        "it? After the reduce-scatter nobody: the whole is put together at the end, once.",
    )


def between_hint(case, answer, sent, want):
    """Recognise what else may go from machine to machine."""
    _, g = machines(case)
    if all(to == {right(case, rank)} for rank, to in enumerate({to for to, _ in sent} for sent in answer.sent)):
        return (
            "That is a flat ring over all ranks: it knows nothing of machines, so nearly all of x leaves every machine "
            "twice. What could be added up before it leaves?"
        )
    if sent == want * g:
        return (
            f"Every rank sent all of x across, so the same sums were made {g} times. After the reduce-scatter inside a "
            "machine each rank has one part: that is all it should take across."
        )
    N, _ = machines(case)
    if sent * 2 == want * N:
        return (
            f"Each part went whole from every machine to each of the {N - 1} others, and all of them added the same "
            "numbers. That is an allgather; between machines an all-reduce is wanted, which sends less."
        )
    return (
        "Between machines only ranks should talk that hold the same part: one rank of each machine. Which colour do "
        "they share, and which do the ranks of one machine share?"
    )


def phases(case):
    """Seconds of the three phases: rings inside, across, inside; half as much again for other ways to do them."""
    (N, g), n = machines(case), elements(case)
    part = -(-n // g)
    inside = (ALPHA + part * 8 * BETA) / SLOWER
    across = ALPHA + -(-part // N) * 8 * BETA
    return 1.5 * (2 * (g - 1) * inside + 2 * (N - 1) * across)


def parts_missing(place, weights):
    """The hint for a sum without some ranks' parts."""
    _, g = machines(place.case)
    missing = [rank for rank in place.group if not weights[rank].any()]
    others = [rank for rank in place.group if rank // g != place.rank // g]
    seen = f"The parts of {checks.count(len(missing), 'rank')} are missing: {', '.join(map(str, missing))}. "
    if missing == others:
        return seen + "Those are all the ranks of other machines. Which phase brings the machines together?"
    return seen + "Before anything goes across, what should a rank know of the others in its machine?"


def group_of_another_size(case):
    """The hint for a part that does not fit its place; "" where it may be the parts that differ by one element."""
    (N, g), n = machines(case), elements(case)
    if n % g:
        return ""
    return (
        f"All parts are equally long here, {n // g} of {n} elements. So look at the groups: print the sizes of yours. "
        f"A machine has {checks.count(g, 'rank')}, and {N} hold the same part. (Split takes the color first, then the "
        "key.) If they are right: into how many parts does your code cut x?"
    )


hierarchical_allreduce = Distributed(
    cases=inputs.arrays(
        (4, 240, 2),
        (6, 360, 3),
        (6, 371, 2),
        (8, 517, 4),
        (9, 200, 3),
        (4, 30, 1),
        (3, 50, 3),
        (1, 7, 1),
        (4, 3, 2),
        (4, 0, 2),
        names="per_node",
    ),
    network=two_levels,
    checks=[
        checks.arrays(
            whole,
            hint=lambda case, answer, rank: (
                "The whole sum is wanted on every rank: after the all-reduce across each "
                "rank has one part of it. Who has the others?"
            ),
        ),
        checks.unchanged,
        checks.new_array,
        checks.point_to_point,
        sums.sum_over_ranks(
            lambda x, case: np.array_split(x, machines(case)[1]),
            whole=True,
            advice={
                "mixed": "Different parts were added to each other. Across the machines only those ranks may meet that "
                "hold the same part: which ranks are these?",
                "missing": parts_missing,
                "own": "This is its own part alone. Whose parts meet it inside the machine, and whose across?",
                "single": "This is one rank's part alone: what arrives must be added, not replace what is there.",
                "misplaced": "This is a complete part of the sum, in the wrong place. In which order do the ranks of a "
                "machine hold the parts, and in which order are they joined?",
                "weights": "Some parts were added more than once. Inside a machine add first, and only then across.",
            },
        ),
        bytes_between,
        bytes_inside,
        checks.no_later_than(
            phases,
            "three phases of rings, with time to spare,",
            "The bytes are right, and something waits. In each phase all groups should be at work at the same time, "
            "and all ranks in each.",
        ),
    ],
    endings={"could not broadcast": group_of_another_size},
    hints=[
        "Number 2 machines of 2 ranks: 0 1 | 2 3. After a reduce-scatter in each machine, which parts do ranks 0 and 2 "
        "hold, and which ranks 1 and 3? Who must therefore talk to whom?",
        "Two groups for every rank: its machine, and the ranks with its place in all machines. Split makes them from a "
        "colour: for one of them it is rank // per_node, for the other one ...",
        "Then it is three calls: ring_reduce_scatter on the machine, ring_allreduce of what that returns on the other "
        "group, ring_allgather of what that returns on the machine, with the lengths of np.array_split(x, per_node).",
    ],
)


NEVER_REACHED = (
    "Your code looks for the way to a node that it never reached. With what width does a itself begin, before there is "
    "any link? If it is 0, every min(width, link) stays 0, and no way is ever better."
)

widest_path = Exercise(
    cases=networks.networks(
        lambda rng: networks.network(rng, networks.TRAPS, 0, 1),
        lambda rng: networks.network(rng, {(0, 1): 5, (0, 2): 20, (2, 3): 30, (3, 1): 10}, 0, 1),
        lambda rng: networks.network(rng, {(0, 1): 7}, 0, 1),
        lambda rng: networks.network(rng, {(0, 1): 9, (0, 2): 8, (2, 1): 20, (3, 4): 50}, 0, 1),
        *(lambda rng, N=N: networks.random_network(rng, N, density=0.4) for N in (6, 9, 20, 64)),
        lambda rng: networks.random_network(rng, 16, density=0.5, fastest=4),
    ),
    checks=[checks.kept("bandwidth"), networks.widest_path],
    endings={
        "cpu": "There is no time to try all paths. Of those that lead to the same node, which is the only one worth "
        "going on with? (If it is the way back from b that does not end: print it. Does it go round in a circle?)",
        "KeyError": NEVER_REACHED,
        "NoneType": NEVER_REACHED,
    },
    hints=[
        "Take two paths by hand. What number of each would you write down to tell which is the wider? How does that "
        "number change when one more link is put at the end?",
        "Dijkstra's algorithm fixes the nodes one by one, the best first. It works for every measure that cannot get "
        "better when a link is added. The measure here: the narrowest link so far; the largest comes first.",
        "In Dijkstra's algorithm replace `distance + link` by `min(width, link)` and let the largest come first "
        "(heapq has the smallest first: store the width with a minus). Remember for every node where it was reached "
        "from.",
    ],
)

"""Level 1 of chapter 1, predict: numbers to predict."""

import itertools
import math
from collections import Counter

from exercises.grading import Exercise, Finding, choices, inputs, numbers, returns

from .common import rounds


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
        numbers.Number(
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
        choices.Statements(
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
        (7, 1000, 0.003),
        names="P n seconds",
    ),
    checks=[
        numbers.Number(
            lambda P, n, seconds: 2 * (P - 1) / P * n / seconds,
            slips=[
                (
                    lambda P, n, seconds: n / seconds,
                    "That is n / seconds, what benchmarks call algorithm bandwidth: the data's size over the time. How "
                    "many bytes must a rank send to all-reduce n bytes? (If there is a // in your formula: it drops "
                    "what is behind the point.)",
                ),
                *[
                    (
                        lambda P, n, seconds, whole=whole: whole(P, n) / seconds,
                        "Nearly right: n need not divide by P, and // drops what is behind the point.",
                    )
                    for whole in (lambda P, n: 2 * (P - 1) * (n // P), lambda P, n: 2 * (P - 1) * n // P)
                ],
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
            otherwise="How many bytes must a rank send at least, on average, for n bytes? Divide that by the time.",
            unit="bytes/s",
        )
    ],
    hints=[
        "n / seconds is no fair measure: with more ranks it gets smaller although every link is as busy as before. "
        "Which number of bytes did a link really carry?",
        "The ring sends as little as possible: in each of its two halves every block but one.",
        "Bytes that a rank must send on average, divided by seconds. For P = 2 that is exactly n / seconds; why?",
    ],
)


def crossing(tree_messages, tree_volumes, ring_messages, ring_volumes):
    """n at which (messages alpha + volumes n beta) are equal, as a function of (P, alpha, beta)."""

    def bytes_(P, alpha, beta):
        latency = ring_messages(P) - tree_messages(P)
        return latency * alpha / ((tree_volumes(P) - ring_volumes(P)) * beta)

    return bytes_


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
        numbers.Number(
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
        choices.Situations(
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
        numbers.Number(
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
                    for inside, across in itertools.product(
                        (1, lambda N, g, cards: 1 / (1 - 1 / g)), (1, lambda N, g, cards: 1 / (1 - 1 / N))
                    )
                    if (inside, across) != (1, 1)
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
        lambda P, messages: tuple(len(messages) if number is None else number for number in follow(P, messages)),
        "With these messages it never comes to pass that all know the sum, or that any rank does. Which value says so?",
    ),
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
        "The sender seems to pass on too little. It passes on all that it knows by then, and goes on knowing it.",
    ),
    (
        lambda P, messages: follow(P, messages, both=True),
        "Both ends of a message seem to learn from it. It goes one way: what does the sender learn?",
    ),
    (rounds_of, "You count rounds. Asked for are messages, also of those that could go at the same time."),
    (
        lambda P, messages: (None, None) if P == 1 else follow(P, messages),
        "The only rank knows the sum before anything is sent: after how many messages is that?",
    ),
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
        lambda P, messages: follow(
            P, messages, lambda rank: {rank} & {*range(64)}, done=lambda known, P: len(known) == min(P, 64)
        ),
        "A bit for each rank: NumPy's whole numbers have 64 of them, and there are more ranks here. What becomes of "
        "the last ones?",
    ),
    (
        looks_at_rank_0,
        "`first` is when rank 0 knows the sum. Asked for is when any rank does: which one is it here?",
    ),
]


def two_values(case, results):
    """What is wrong with the form of a result that should be (first, all_)."""
    (got,) = results
    if isinstance(numbers.listed(got), list) and len(got) == 2:
        return None
    return Finding(f"it returned {got!r}.", "Return two values: `return first, all_`. Each is a number or None.")


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
        by_chance(70, 600),
        (70, [*((rank, 0) for rank in range(1, 70)), *((0, rank) for rank in range(1, 70))]),  # beyond 64 bits
        names="P messages",
    ),
    checks=[
        returns.Returns(
            follow,
            FOLLOWED_WRONGLY,
            otherwise="Write down, after every message, whose numbers each rank knows.",
            seen=lambda case, got, want: f"it returned first = {got[0][0]!r} and all_ = {got[0][1]!r}.",
            form=two_values,
            read=tuple,
        )
    ],
    hints=[
        "Two ranks may each know the sum of three numbers without there being six: they can be the same three. So "
        "what must be kept for every rank?",
        "Keep for every rank the set of ranks whose numbers it knows. A message makes the receiver's set larger, and "
        "no other.",
        "Look after every message, and also before the first one, how many sets have P members: at least one, or all?",
    ],
)

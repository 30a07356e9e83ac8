"""Level 3 of chapter 1, write: collectives to write."""

import numpy as np

from exercises.grading import Distributed, Finding, checks, copies, inputs, sums
from exercises.grading.exercise import ALPHA, BETA

from .common import MANY, elements, length, longer_than_x, message, right, rounds, whole


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


def all_but_its_own(case, rank):
    """The bytes of every block but the rank's own."""
    return 8 * (elements(case) - length(case, rank))


ring_reduce_scatter = Distributed(
    cases=inputs.vectors(),
    checks=[
        checks.arrays(lambda case, rank: (length(case, rank),), hint=cuts),
        checks.unchanged,
        checks.point_to_point,
        checks.receivers(right, "right neighbour"),
        checks.messages(lambda case, rank: case.ranks - 1, "the ring", steps, all_but_its_own),
        sums.sum_over_ranks(lambda x, case: np.array_split(x, case.ranks)),
        checks.bytes_sent(
            all_but_its_own,
            "the ring",
            slips=[
                (
                    lambda case, rank: 8 * elements(case) * (case.ranks - 1),
                    "You sent the whole array in every step. What does the neighbour need in this step? One block.",
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


def two_halves(case, sent, want):
    """The hint for a wrong number of messages in a ring all-reduce."""
    if sent > want and elements(case):
        return checks.IN_PIECES  # the number of bytes was looked at before
    if sent > want:
        return "P - 1 steps complete every block, and P - 1 more show it to everybody. Which of your steps is too many?"
    if elements(case) < case.ranks:
        return "Some blocks are empty here. They are sent too, so that every rank counts the same steps."
    return (
        "All ranks have something to do in all of the steps: each sends one block and receives one. Here most links "
        "are idle while something long creeps along."
    )


def whole_arrays(case, answer):
    """Every rank sends all of x, equally often: what blocks are for is still to come."""
    n, sizes = elements(case), {nbytes for sent in answer.sent for _, nbytes in sent}
    counts = {len(sent) for sent in answer.sent}
    if case.ranks == 1 or not n or sizes != {8 * n} or len(counts) > 1:
        return None
    (sent,) = counts
    seen = f"every rank sent all of x, {checks.count(sent, 'time')}."
    if sent == case.ranks - 1:
        return Finding(seen, "Then all ranks add the same numbers. Let each rank complete one block only.")
    if sent < case.ranks - 1:
        return Finding(
            seen,
            "So each has heard of few others. And all of x is too much for one message: let blocks travel around, one "
            "in each step.",
        )
    return Finding(seen, "You sent the whole array in every step. Of it the neighbour needs one block.")


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
        lengths_from_afar,
        checks.point_to_point,
        checks.receivers(right, "right neighbour"),
        whole_arrays,
        checks.bytes_together(
            lambda case: 2 * (case.ranks - 1) * 8 * elements(case),
            "two halves of a ring send",
            slips=[
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
                    lambda case: 2 * (case.ranks - 1) * case.ranks * 8 * length(case, 0),
                    "You sent blocks of one size, filled up at the end. Blocks are as long as np.array_split makes "
                    "them.",
                ),
                (
                    lambda case: (2 * (case.ranks - 1) + 1) * 8 * elements(case),
                    "That is one step more than 2 (P - 1). Which of your steps brings nobody anything new?",
                ),
                (
                    lambda case: 2 * case.ranks * 8 * elements(case),
                    "That is 2 P steps. In each half a block must come past all P ranks, and starts on one of them: "
                    "how many hops is that?",
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
        return "Are there too many rounds, or has a rank no partner in the last one?"
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
    if longer := longer_than_x(case, answer):
        return longer
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
        (17, 3, 4),
        (3, MANY, 1),
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
            lambda case, rank: 8 * elements(case) * (rank != case.arguments[0][1]),
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
    in_place=True,
)


def doubling_rounds(P):
    """Messages one after the other in recursive doubling, with the fold."""
    core = 2 ** (P.bit_length() - 1)
    return core.bit_length() - 1 + 2 * (core != P)


def arrays_in_doubling(case):
    """Bytes that all ranks send together."""
    core = 2 ** (case.ranks.bit_length() - 1)
    return 8 * elements(case) * (core * (core.bit_length() - 1) + 2 * (case.ranks - core))


def late_doubling(case, answer):
    """The hint for an all-reduce with more rounds than recursive doubling."""
    if longer := longer_than_x(case, answer):
        return longer
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
    if P & (P - 1) == 0 and least == rounds and all(set(calls) <= {"Send", "Ssend", "Recv"} for calls in answer.calls):
        return (
            "In a round first one partner sends and then the other, so it takes the time of two messages. Both can "
            "send and receive at once: which call does that?"
        )
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
        f"With {P} ranks some partner is no rank. C is {core} here, the largest power of two that is not above {P}: "
        "only the first C exchange with rank ^ 2**k. What do the others do, before and after, and with which of the "
        "first C?"
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
    cases=inputs.arrays(
        (4, 40), (2, 21), (3, 30), (8, 70), (6, 50), (7, 60), (5, 1), (1, 12), (4, 0), (17, 2), (4, MANY)
    ),
    checks=[
        checks.arrays(whole),
        checks.unchanged,
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
        checks.bytes_together(
            arrays_in_doubling,
            "recursive doubling sends",
            slips=[],
            otherwise="It is in time, and more is sent than C ranks exchange in log2(C) rounds and the others hand in "
            "and get back. Who sends something that nobody adds?",
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
    "Which partner is no rank? rank ^ step pairs all ranks only if P is a power of two. Let all ranks send equally "
    "far, around a circle."
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


def others_rows(case, rank):
    """The bytes of all rows but the own."""
    return 8 * (case.ranks - 1) * case.arguments[rank][0].shape[1]


pairwise_alltoall = Distributed(
    cases=inputs.arrays(
        (4, (4, 20)), (5, (5, 6)), (3, (3, 10)), (2, (2, 7)), (8, (8, 3)), (1, (1, 9)), (3, (3, 0)), (3, (3, MANY))
    ),
    checks=[
        checks.arrays(whole, hint=nothing_sent),
        checks.unchanged,
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
            others_rows,
        ),
        straight,
        checks.bytes_sent(
            others_rows,
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

"""Level 4 of chapter 1, repair: programs that hang."""

import numpy as np

from exercises.grading import Case, Distributed, Finding, checks, copies, inputs, sums

from .common import MANY, elements, message, right, whole


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
        if all(checks.in_pieces(sent, 8 * elements(case)) for sent in answer.sent):
            return checks.IN_PIECES
        if all(np.array_equal(case.arguments[rank - 1][0], got) for rank, got in enumerate(answer.results)):
            return (
                "Every rank has its left neighbour's block, for which one message is enough. What do the others bring?"
            )
        laps = "a full lap less one: " * all(len(to) == P - 1 for to in partners)
        return (
            f"The blocks went on and on, {laps}rank {P - 1}'s should end on rank 0, its right neighbour. How many "
            "places is that?"
        )
    return "Who needs a rank's block? Only its right neighbour: to any other it need not be sent."


def three_turns(case):
    """Rank r sends in turn r % 3. Even ranks first, then odd ones, takes no more: two turns, or three if P is odd."""
    turns = min(case.ranks, 3) if case.ranks > 1 else 0
    return turns * message(case)


shift_right = Distributed(
    cases=inputs.arrays((3, 40), (4, 10), (2, 7), (5, 6), (1, 8), (3, 0), (3, MANY)),
    checks=[
        checks.arrays(whole),
        checks.kept("block"),
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
        checks.bytes_sent(
            lambda case, rank: 8 * elements(case) * (case.ranks > 1),
            "one block",
            slips=[],
            otherwise="The right neighbour needs the block, and nothing else. What else is in the message?",
        ),
        checks.no_later_than(
            three_turns,
            "in at most three turns it",
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


HAIR = 2.0**-40  # what float32 does not see beside the losses, and float64 does
LONG = 1100  # steps


def trainings(rng):
    """Losses that fall, with different rules for stopping coming to different steps, in the first case all of them.

    The mean is below the limit from step `after` on, rank 0 three steps earlier, rank 2 four, rank 1 two steps later.
    Losses are multiples of 1/64, so sums are exact; where the limit is near, P is a power of two, and so are quotients.
    """
    for P, steps, after, what in (
        (3, 10, 6, ""),
        (2, 6, 1, ""),
        (4, 7, 7, ""),
        (4, 5, 6, ", never good enough"),
        (4, 8, 6, ", the mean equal to the limit one step before"),
        (2, 8, 5, ", the mean a hair below the limit"),
        (1, 5, 3, ""),
        (5, 9, 6, ""),
        (2, 0, 1, ""),
        (2, LONG, 260, ""),
    ):
        good_from = np.array([after] if P == 1 else [after - 3, after + 2, after - 4, *rng.integers(1, 9, P)][:P])
        losses = draw_losses(rng, good_from, steps, after)
        while not what and P == 3 and over_all_steps(losses.T, 0.0) in (after, after + 2, steps):
            losses = draw_losses(rng, good_from, steps, after)
        if "equal" in what:
            losses[after - 2, 1] -= losses[after - 2].sum()
        if "hair" in what:
            losses[after - 1, 1] -= losses[after - 1].sum() + HAIR
        label = f"{checks.count(P, 'rank')}, {checks.count(steps, 'step')}{what}"
        limit = 16.25 if "hair" in what else 16.0  # both exact, and one of them no whole number
        yield Case(label, tuple((row, limit) for row in losses.T + limit))


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


def divided_by(size):
    return lambda losses: losses.sum() / size


def other_rules(P):
    """What somebody may decide on instead of the mean: (the value, the comparison, the hint), the likeliest first.

    The first case has three ranks: who divides by 3 is found later, and by then the sum and the others are ruled out.
    """
    if P == 2:  # with two ranks comes a limit that is no whole number, when those who divide by another one are found
        yield lambda losses: np.floor(losses.mean()), np.less, WHOLE
    for size in (4, 8) if P == 3 else (2, 3, 4, 8):
        yield divided_by(size), np.less, DIVISOR
    yield from OTHER_RULES


WHOLE = "That is when the mean without what stands behind its point is below the limit. Does an int() or a // drop it?"
DIVISOR = "Is the sum of the losses divided by the same number, however many ranks there are? comm.size knows how many."
OTHER_RULES = [
    (
        np.sum,
        np.less,
        "That is what comes out if the sum is below the limit, or the sum divided by too small a number. Asked for is "
        "the mean.",
    ),
    (np.max, np.less, "That is the step after which every single loss is below the limit. The mean gets there sooner."),
    (np.min, np.less, "That is the step after which one rank's loss is below the limit. The others count as well."),
    (np.mean, np.less_equal, "Below the limit: a mean that equals it is not good enough yet."),
    (
        lambda losses: losses.astype(np.float32).mean(dtype=np.float64),
        np.less,
        "That is the step for losses of 7 digits. In float64 the mean is below the limit sooner: did they go through "
        "float32, or were they rounded?",
    ),
    (
        lambda losses: losses[0],
        np.less,
        "That is when rank 0's own loss is below the limit, and those of half of the ranks or more. Neither one rank "
        "nor a vote decides: asked for is the mean.",
    ),
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
    if isinstance(got, int | float) and not isinstance(got, bool) and got == want:
        return None
    if got is None:
        return Finding(
            "it returned None.", "What if the loop comes to its end, because the mean was never below limit?"
        )
    if isinstance(got, bool) or not isinstance(got, int | float):
        return Finding(f"all ranks returned {got!r}.", "Return one number: how many steps were made.")
    seen = f"all ranks returned {got}; the mean is below the limit after step {want} of {case.arguments[0][0].size}."
    for value, below, hint in other_rules(case.ranks):
        if got == first_step(case, value, below):
            return Finding(seen, hint)
    if got == over_all_steps(np.array([arguments[0] for arguments in case.arguments]), case.arguments[0][1]):
        return Finding(seen, "That is a mean over the steps so far as well. After each step its own losses count.")
    if got in (want - 1, want + 1):
        return Finding(seen, "Steps are counted from 1, and the step whose losses were averaged is the one to return.")
    return Finding(seen, "On what number does the decision depend? Print the mean after each step.")


def one_mean_a_step(case, answer):
    """Each collective that is used is called once a step, until the end. For one number comm.allreduce is as good.

    Who sends messages of their own sends as many in each step.
    """
    steps = first_step(case, np.mean)
    for rank, calls in enumerate(answer.calls):
        for name, count in calls.items():
            if name.lower().removeprefix("i").removeprefix("s") in ("send", "endrecv") and count % max(steps, 1):
                return Finding(
                    f"rank {rank} called {name} {checks.count(count, 'time')}, in {checks.count(steps, 'step')}.",
                    "Every step is like every other: what is sent in one, and not in another? All there is to tell is "
                    "the losses, step by step.",
                )
            if checks.kind(name) == "collective" and (count != steps or name.lower().endswith("barrier")):
                return Finding(
                    f"rank {rank} called {name} {checks.count(count, 'time')}, in {checks.count(steps, 'step')}.",
                    too_often(name, count, steps, case.arguments[rank][0].size, len(calls) == 1),
                )
    return None


def one_number(case, answer):
    """In a step no more is sent than if each rank sent one number to all the others, pickled if need be."""
    pickled = any(name.islower() for calls in answer.calls for name in calls if checks.kind(name) != "other")
    sent = sum(nbytes for messages in answer.sent for _, nbytes in messages)
    most = (150 if pickled else 8) * first_step(case, np.mean) * case.ranks * (case.ranks - 1)
    if sent <= most:
        return None
    return Finding(
        f"all ranks together sent {sent:,} bytes; {most:,} are enough for each loss to come to every rank.",
        "A loss is one number, of 8 bytes, and nothing else need be sent after a step. What else is in there?",
    )


def too_often(name, count, steps, all_steps, alone):
    """The hint for a collective that was not called once a step; alone: there is no other."""
    if name.lower().endswith("barrier"):
        return (
            "A Barrier makes ranks wait for each other; it tells nobody anything. Whatever it was to cure, an "
            "Allreduce keeps all ranks together as well."
        )
    if count == 1 and not alone:
        return "Once, and not in every step. All there is to tell is the losses, step by step: what is this call for?"
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
    checks=[right_step, one_mean_a_step, one_number],
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


def no_more_than_all(case, answer):
    """In a row no more is sent than if each rank sent its x to all others."""
    for rank in range(case.ranks):
        row = members_of_row(case, rank)
        sent = sum(nbytes for one in row for _, nbytes in answer.sent[one])
        most = len(row) * (len(row) - 1) * 8 * elements(case)
        if sent > most:
            return Finding(
                f"the ranks of the row of rank {rank} sent {sent:,} bytes; if each sent its x to all others, it would "
                f"be {most:,}.",
                "No element need be sent that is not one of x. What else is in the array that is summed, or is it "
                "summed more than once?",
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
        return "This is its own part alone: nothing of the others in its row was added. Which call adds, and on what?"
    return "This is its own part alone. Did the result of the row come to all ranks of it?"


LEFT_OUT = (
    "All ranks of a communicator must make a collective call on it. On which communicator is this call made, and which "
    "of its ranks never come to that line?"
)
sum_of_my_row = Distributed(
    cases=inputs.arrays(
        (5, 24, 2),
        (4, 20, 2),
        (6, 25, 3),
        (3, 12, 1),
        (3, 15, 4),
        (8, 40, 5),
        (1, 6, 1),
        (4, 0, 2),
        (3, MANY, 2),
        names="width",
    ),
    checks=[
        checks.arrays(whole),
        checks.unchanged,
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
        no_more_than_all,
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

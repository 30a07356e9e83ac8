"""Level 5 of chapter 1, speed up: what is slow."""

import math

import numpy as np

from exercises.grading import Case, Distributed, Exercise, Finding, checks, inputs, sums
from exercises.grading.exercise import ALPHA, BETA

from . import graphs
from .common import MANY, elements, right, whole


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
        (2, [(40, 30), (MANY,), (7,)], "3 arrays, one of them long"),
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
    if calls > arrays:
        return (
            "More latencies than arrays. The shapes are the same on every rank, so nobody need be asked for "
            "them; and a sum over ranks does not care where an element stands: could all arrays be summed as one?"
        )
    return "Some arrays together is a beginning. What do arrays of different shapes have in common in memory?"


def lists(case, answer):
    """Every rank returns a list of float64 arrays of the right shapes."""
    want = [array.shape for array in case.arguments[0][0]]
    for rank, got in enumerate(answer.results):
        if not isinstance(got, list | tuple):
            kind = "None" if got is None else f"a {type(got).__name__}"
            return Finding(f"rank {rank} returned {kind}.", "It should return a list, with an array for each array.")
        shapes = [np.shape(array) if isinstance(array, np.ndarray | float) else None for array in got]
        if len(got) != len(want):
            return Finding(
                f"rank {rank} returned {checks.count(len(got), 'array')} for {checks.count(len(want), 'array')}.",
                "Where is the joined array cut, and does that give one piece for each?",
            )
        if None in shapes:
            place = shapes.index(None)
            return Finding(
                f"entry {place} of rank {rank} is no array of float64: {got[place]!r:.60}.", "An array for each array."
            )
        if shapes != want:
            place = next(i for i, (one, other) in enumerate(zip(shapes, want)) if one != other)
            return Finding(
                f"array {place} of rank {rank} has shape {shapes[place]}, it should have {want[place]}.",
                "A piece of the joined array is flat, and as long as its array. Where does it begin, where does it "
                "end, and what gives it its shape back?",
            )
        if any(np.asarray(array).dtype != np.float64 for array in got):
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
                    f"array {place} of rank {rank}: {wrong.sum()} of {total.size} elements are wrong.",
                    values_hint(case, rank, place, got, total),
                )
    return None


def values_hint(case, rank, place, got, total):
    """Recognise what stands in the place of a sum."""
    if np.allclose(got, total, rtol=1e-3, atol=1e-4):
        return "float64 carries 16 digits, and these are right to a few only. Did the numbers go through float32?"
    if np.allclose(got, case.arguments[rank][0][place]):
        return "That is the rank's own array: the sum went somewhere else. Which array does Allreduce write into?"
    if np.allclose(got * case.ranks, total):
        return "Asked for is the sum over ranks, not the mean."
    if np.allclose(np.sort(got, axis=None), np.sort(total, axis=None)):
        return (
            "The right sums, in another order. Elements must come out in the order in which they went in. (A "
            "transposed array lies differently in memory.)"
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
    checks=[one_allreduce, lists, checks.kept("arrays"), summed, no_padding],
    endings={
        "need at least one array": "np.concatenate does not work for a list without arrays, and there may be none.",
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
    cases=graphs.machines(
        lambda rng: graphs.machine(rng, 2, 2, 2),
        lambda rng: graphs.machine(rng, 3, 4),
        lambda rng: graphs.machine(rng, 2, 3, 4),
        *(lambda rng, P=P: graphs.ragged_machine(rng, P) for P in (1, 2, 3, 7, 12, 33)),
        lambda rng: graphs.machine(rng, 5),
        lambda rng: graphs.machine(rng, 2, 4, 2, 4) / 1024,  # microseconds
    ),
    checks=[checks.kept("seconds"), graphs.shortest_ring],
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
    return networks.two_level(g, ALPHA / SLOWER, BETA / SLOWER, ALPHA, BETA, nics=g, gap=math.inf)


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
        "What goes across is right, but too much is sent inside. When a part goes across, who else in its machine "
        "needs to know it? After the reduce-scatter nobody: the whole is put together at the end, once.",
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
            f"That is as much as if every rank sent all of x across, and the same sums were made {g} times. After the "
            "reduce-scatter inside a machine each rank has one part: that is all it should take across."
        )
    N, _ = machines(case)
    if sent * 2 == want * N:
        return (
            f"Each part went whole from every machine to each of the {N - 1} others, and all of them added the same "
            "numbers. That is an allgather; between machines an all-reduce is wanted, which sends less."
        )
    if any(to % g != rank % g for rank, sent_to in enumerate(answer.sent) for to, _ in sent_to if to // g != rank // g):
        return (
            "Between machines only ranks should talk that hold the same part: one rank of each machine. Which colour "
            "do they share, and which do the ranks of one machine share?"
        )
    return (
        "The ranks that hold the same part talk to each other, and not in the least number of bytes. How much does a "
        "ring all-reduce of one part send among them?"
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
        (4, MANY, 2),
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


NOTHING_THERE = (
    "Which node has nothing there? On the way back it may be a: stop there. Else it was not reached, or not noted: "
    "with what width does a itself begin? If it is 0, every min(width, link) stays 0. In the search it may be a node "
    "that no way has reached yet."
)

widest_path = Exercise(
    cases=graphs.networks(
        lambda rng: graphs.network(rng, graphs.TRAPS, 0, 1),
        lambda rng: graphs.network(rng, {(0, 1): 5, (0, 2): 20, (2, 3): 30, (3, 1): 10}, 0, 1),
        lambda rng: graphs.network(rng, {(0, 1): 7}, 0, 1),
        lambda rng: graphs.network(rng, {(0, 1): 9, (0, 2): 8, (2, 1): 20, (3, 4): 50}, 0, 1),
        *(lambda rng, N=N: graphs.random_network(rng, N, density=0.4) for N in (6, 9, 20, 64)),
        lambda rng: graphs.random_network(rng, 16, density=0.5, fastest=4),
        lambda rng: graphs.network(rng, graphs.NEARLY_EQUAL, 0, 1),
    ),
    checks=[checks.kept("bandwidth"), graphs.widest_path],
    endings={
        "cpu": "There is no time to try all paths. Of those that lead to the same node, which is the only one worth "
        "going on with? (If it is the way back from b that does not end: print it. Does it go round in a circle?)",
        "IndexError": "Is a heap, or a list, empty before b is reached? Which ways to a node are put in? Also one "
        "that is narrower than the way so far may be the best to its node. (Or is there no such node? They are 0 to "
        "N - 1.)",
        "KeyError": NOTHING_THERE,
        "NoneType": NOTHING_THERE,
    },
    hints=[
        "Take two paths by hand. What number of each would you write down to tell which is the wider? How does that "
        "number change when one more link is put at the end?",
        "Dijkstra's algorithm fixes the nodes one by one, the best first. That is right for a measure that cannot get "
        "better when a link is added, if the better of two paths stays at least as good when both get the same link. "
        "The measure here: the narrowest link so far; the largest comes first.",
        "In Dijkstra's algorithm replace `distance + link` by `min(width, link)` and let the largest come first "
        "(heapq has the smallest first: store the width with a minus). Remember for every node where it was reached "
        "from.",
    ],
)

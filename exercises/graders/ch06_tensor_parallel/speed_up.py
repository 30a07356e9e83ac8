"""Level 5 of chapter 6, speed up: the degree of a machine, and a product that begins before all is there."""

from typing import NamedTuple

import numpy as np

from exercises.grading import Case, Distributed, Exercise, Finding, checks
from exercises.grading.exercise import ALPHA, BETA
from exercises.grading.returns import Returns

from .common import Part, returns

# The degree ----------------------------------------------------------------------------------------------------------


class Given(NamedTuple):
    """The arguments."""

    devices: int
    sequences: int
    heads: int
    computing: int
    allreduce: list
    cut: int
    whole: int
    memory: int


def degrees(given):
    return [P for P in range(1, given.devices + 1) if given.devices % P == 0 and given.heads % P == 0]


def one(given, P):
    """Microseconds of one sequence on P devices."""
    return given.computing / P + 4 * given.allreduce[P]


def rounds(given, P):
    """Sequences of the group that has most of them."""
    return -(-given.sequences // (given.devices // P))


def step(given, P):
    return rounds(given, P) * one(given, P)


def needed(given, P):
    """Bytes on a device."""
    return given.whole + given.cut / P


def best(given, seconds=step, bytes=needed, candidates=degrees):
    """The best degree, or what somebody takes for it who has other times, bytes or candidates."""
    able = [P for P in candidates(given) if bytes(given, P) <= given.memory]
    return min(able, key=lambda P: (seconds(given, P), P), default=None)


def taking(**other):
    """What somebody returns who has other ones."""
    return lambda *arguments: best(Given(*arguments), **other)


OTHER_DEGREES = [
    (
        taking(candidates=lambda g: [P for P in range(1, g.devices + 1) if g.devices % P == 0]),
        "The degree has to divide the heads: else some rank has a part of a head.",
    ),
    (
        taking(candidates=lambda g: [P for P in range(1, g.devices + 1) if g.heads % P == 0]),
        "Groups of so many devices leave some over: the degree has to divide the devices.",
    ),
    (taking(bytes=lambda g, P: 0), "It does not fit: which bytes does a device need with this degree?"),
    (
        taking(bytes=lambda g, P: g.cut / P),
        "What every device needs whole was forgotten: it is beside its part of what is cut.",
    ),
    (
        taking(bytes=lambda g, P: (g.cut + g.whole) / P),
        "What is whole on every device was shared as well. A larger degree does not make it less.",
    ),
    (
        taking(bytes=lambda g, P: g.cut + g.whole),
        "As if a device had all of the model. P devices share what is cut.",
    ),
    (taking(bytes=lambda g, P: needed(g, P) + 1), "What fills the memory to the last byte fits."),
    (
        taking(seconds=lambda g, P: rounds(g, P) * (g.computing / P + g.allreduce[P])),
        "One all-reduce for a layer: there are two forward and two backward.",
    ),
    (
        taking(seconds=lambda g, P: rounds(g, P) * (g.computing / P + 2 * g.allreduce[P])),
        "Two all-reduces for a layer: those are of one direction.",
    ),
    (
        taking(seconds=lambda g, P: rounds(g, P) * g.computing / P),
        "The all-reduces cost nothing in your times. Then more ranks are nearly always better; with them, when?",
    ),
    (
        taking(seconds=lambda g, P: rounds(g, P) * max(g.computing / P, 4 * g.allreduce[P])),
        "Nothing is hidden here: products and all-reduces follow each other, and their times are added.",
    ),
    (
        taking(seconds=one),
        "That degree is the quickest for one sequence. With a larger degree there are fewer groups, and each has more "
        "sequences to do.",
    ),
    (
        taking(seconds=lambda g, P: g.sequences // (g.devices // P) * one(g, P)),
        "Sequences that are left over were forgotten: some group has one more.",
    ),
    (
        taking(seconds=lambda g, P: P),  # so comes out, too, if sequences may be cut among groups
        "The smallest degree that fits. That is right where every group has equally much to do. Here sequences cannot "
        "be shared evenly, and some devices would be idle: how many whole ones has the group with the most?",
    ),
    (
        taking(seconds=lambda g, P: -P),
        "The largest degree that fits and divides. More ranks do not make a step shorter without end: the all-reduces "
        "take longer, and there are fewer groups.",
    ),
    (taking(seconds=lambda g, P: (step(g, P), -P)), "Two are equally quick: the smaller one is asked for."),
    (
        lambda *arguments: (P := best(Given(*arguments))) and arguments[0] // P,
        "That is the number of groups. Asked for is the number of devices in each.",
    ),
]


def links(inside, outside, node=8):
    """For each P the microseconds of an all-reduce in a node, or over several."""
    return lambda devices: [0, 0, *(inside if node >= P else outside * (P // node) for P in range(2, devices + 1))]


MACHINES = [  # devices, sequences, heads, computing, all-reduces, cut, whole, memory
    (64, 62, 16, 6720, links(150, 700), 160, 20, 100),
    (24, 13, 48, 2880, links(25, 40), 160, 40, 130),
    (48, 68, 8, 960, links(90, 150), 120, 40, 60),
    (16, 1, 12, 2880, links(25, 60), 80, 0, 200),
    (48, 2, 24, 5760, links(20, 90), 160, 20, 150),
    (8, 5, 16, 4800, links(100, 200), 100, 40, 150),  # two degrees are equally quick
    (16, 14, 64, 6720, links(25, 300), 160, 0, 200),
    (16, 16, 32, 1920, links(60, 300), 100, 10, 60),
    (8, 8, 8, 800, links(5, 5), 80, 20, 60),  # full to the last byte
    (8, 4, 8, 1600, links(100, 200), 100, 50, 50),  # what is whole fills it
    (1, 3, 4, 100, links(1, 1), 10, 5, 15),
    (1024, 128, 64, 96000, links(300, 700), 5000, 100, 1000),
]


def machines(rng):
    """The machines, in other units of time and memory, and some that are drawn."""
    drawn = [
        (48, int(rng.integers(2, 60)), 48, 9600, links(*rng.integers(10, 400, 2).tolist()), 200, 20, int(room))
        for room in rng.integers(40, 230, 4)
    ]
    for devices, sequences, heads, computing, network, *numbers in [*MACHINES, *drawn]:
        time, space = int(rng.integers(2, 9)), int(rng.integers(2, 9))
        allreduce = [time * seconds for seconds in network(devices)[: devices + 1]]
        arguments = (devices, sequences, heads, computing * time, allreduce, *(space * number for number in numbers))
        given = Given(*arguments)
        shown = given._replace(allreduce=[allreduce[P] for P in (1, 2, 8, 16, 32) if devices >= P])
        names = {"allreduce": "allreduce for 1, 2, 8, 16, 32"}
        label = ", ".join(f"{names.get(name, name)} = {value}" for name, value in zip(Given._fields, shown))
        yield Case(label, (arguments,))


def whole_number(case, results):
    """P or None."""
    (arguments,), (got,) = case.arguments, results
    if isinstance(got, float) and got == best(Given(*arguments)):
        return Finding(f"it returned {got!r}.", "A degree is a whole number: // in place of /.")
    if type(got) not in (int, type(None)):
        return Finding(f"it returned {got!r:.80}.", "Return a whole number, or None.")
    return None


def what_it_leads_to(case, results, right):
    """Time and bytes of the degree that was chosen."""
    given, (P,), (want,) = Given(*case.arguments[0]), results, right
    right = f"{want}, with {step(given, want):,.0f} us a step" if want else "None, as none will do"
    if P is None or not 1 <= P <= given.devices or given.devices % P or given.heads % P:
        return f"it returned {P}; right is {right}."
    facts = f"{step(given, P):,.0f} us a step, {needed(given, P):,.0f} bytes of {given.memory:,} on a device"
    return f"it returned {P}; that is {facts}; right is {right}."


tensor_degree = Exercise(
    cases=machines,
    checks=[
        Returns(
            taking(),
            OTHER_DEGREES,
            otherwise="For each degree that divides devices and heads and fits: how many sequences has the group with "
            "the most, and how long does one take? Compare the products of the two.",
            seen=what_it_leads_to,
            form=whole_number,
        )
    ],
    endings={
        "ValueError": "It may be that no degree will do: then there is nothing of which the least could be taken.",
        "IndexError": "allreduce has entries 0 to devices: no degree is larger.",
    },
    hints=[
        "Which degrees are there at all? Those that divide the heads and the devices: few enough to try them all.",
        "For each: devices // P groups; the group with the most has ceil(sequences / groups); a sequence takes "
        "computing "
        "/ P and four all-reduces.",
        "Of those with whole + cut / P <= memory take the least step, and of equals the smallest P. None if there is "
        "none.",
    ],
)


# A product that begins before all is there ---------------------------------------------------------------------------


class Product:
    """multiply(comm, X, A): X @ A, in so many of the clock's seconds a row. Its text tells the rows of each product."""

    def __init__(self, seconds):
        self.seconds, self.rows = seconds, []

    def __call__(self, comm, X, A):
        from reference import mpi  # here: collecting the exercises should not wait for it

        mpi.compute(comm, self.seconds * len(X))
        self.rows.append(len(X))
        return np.asarray(X) @ np.asarray(A)

    def __repr__(self):
        return " ".join(map(str, self.rows)) or "multiply"


def message(case):
    """Seconds of a message with a rank's tokens."""
    return ALPHA + 8 * case.arguments[0][0].size * BETA


def product(case):
    """Seconds of the product of a rank's tokens."""
    x, _, multiply = case.arguments[0]
    return multiply.seconds * len(x)


def layers(*rows):
    """Cases (ranks, n, k, own, c / t)."""

    def cases(rng):
        for P, n, k, own, ratio in rows:
            seconds = ratio * (ALPHA + 8 * n * k * BETA) / n
            ranks = [(rng.standard_normal((n, k)), rng.standard_normal((k, own)), Product(seconds)) for _ in range(P)]
            label = f"{checks.count(P, 'rank')}, n = {n}, k = {k}, own = {own}, c = {ratio:g} t"
            yield Case(label, tuple(ranks))

    return cases


def blocks(case, rank, order=None):
    """What is right, a block for each rank; or in another order."""
    A = case.arguments[rank][1]
    owners = range(case.ranks) if order is None else order(case.ranks, rank)
    return np.concatenate([case.arguments[owner][0] @ A for owner in owners])


def products_once(case, answer):
    """Every block is multiplied once, by multiply."""
    n = len(case.arguments[0][0])
    for rank, (_, _, multiply) in enumerate(answer.arguments):
        rows = [int(each) for each in multiply.text.split()] if multiply.text != "multiply" else []
        if sum(rows) != case.ranks * n:
            return Finding(
                f"multiply had {checks.count(sum(rows), 'row')} on rank {rank}; there are {case.ranks * n}.",
                "Every rank's tokens are multiplied once, and by multiply(comm, X, A): it is what takes the time.",
            )
    return None


def in_turn(case, answer):
    """The hint for what took too long."""
    P, t, c = case.ranks, message(case), product(case)
    if answer.seconds >= (P - 1) * (t + c) + 0.999 * c:
        return (
            "Message and product follow each other: (P - 1) t + P c. Begin to send and to receive, then multiply what "
            "you have, and only then wait."
        )
    return (
        "Some of the messages are hidden, and some are not. In each step three things begin together: to pass on the "
        "block that is there, to receive the next one, and to multiply."
    )


def own_first(P, rank):
    return [(rank - step) % P for step in range(P)]


gather_while_multiplying = Distributed(
    cases=layers(
        (4, 3, 5, 2, 1),
        (3, 2, 40, 3, 0.25),
        (5, 4, 6, 3, 3),
        (2, 3, 4, 5, 1),
        (1, 3, 2, 2, 1),
        (3, 60, 30, 20, 0.5),
    ),
    checks=[
        returns(
            Part(
                "the product",
                blocks,
                [
                    (
                        lambda case, rank: blocks(case, rank, own_first),
                        "The blocks are there, in another order. Those of rank 0 come first: whose tokens are in hand "
                        "after so many steps, and from which side did they come?",
                    ),
                    (
                        lambda case, rank: blocks(case, rank, lambda P, r: [(r + step) % P for step in range(P)]),
                        "The blocks are there, in another order. Those of rank 0 come first: whose tokens are in hand "
                        "after so many steps, and from which side did they come?",
                    ),
                    (
                        lambda case, rank: blocks(case, rank, lambda P, r: [r] * P),
                        "That is this rank's own block again and again: what has arrived is never multiplied.",
                    ),
                    (
                        lambda case, rank: case.arguments[rank][0] @ case.arguments[rank][1],
                        "That is the product of this rank's tokens alone.",
                    ),
                    (
                        lambda case, rank: sum(x for x, _, _ in case.arguments) @ case.arguments[rank][1],
                        "The blocks were added up. They are different tokens, one below the other.",
                    ),
                ],
                "The tokens of rank 0 times A, then those of rank 1, and so on. Was a block used before it had "
                "arrived?",
            )
        ),
        checks.point_to_point,
        checks.messages(
            lambda case, rank: case.ranks - 1,
            "a ring",
            lambda case, sent, want: (
                "Each block has to come once, so as many messages leave: P - 1. Is a block sent "
                "back to where it was already, or was one cut up?"
            ),
        ),
        checks.bytes_sent(
            lambda case, rank: (case.ranks - 1) * 8 * case.arguments[0][0].size,
            "a ring",
            slips=[],
            otherwise="One rank's tokens in each message, n k numbers: the block that came last, and no others.",
        ),
        products_once,
        checks.no_later_than(
            lambda case: (case.ranks - 1) * max(message(case), product(case)) + product(case),
            "overlapped it",
            in_turn,
        ),
    ],
    endings={
        "BufferChanged": "An array that is being sent or received belongs to MPI until its request has been waited "
        "for. "
        "Receive into another array than the one that is sent and multiplied.",
        "RequestsLeft": "Isend and Irecv only begin. Keep their requests, and wait for them before the block that "
        "comes "
        "is used: mpi.waitall(requests).",
    },
    hints=[
        "Draw three ranks in a ring. In each step every rank has one block: it passes it to the right, gets one from "
        "the "
        "left, and has something to multiply meanwhile. How many steps?",
        "Two arrays: the block in hand, and the one that comes. Isend the first, Irecv the second, multiply the first, "
        "waitall, exchange them. The last block needs no messages.",
        "In step k rank r has the block of rank (r - k) % P: its product belongs to rows owner * n to owner * n + n.",
    ],
)

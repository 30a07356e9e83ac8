"""Level 2 of chapter 11, fill in: which samples a rank of a mesh reads."""

from typing import NamedTuple

from exercises.grading import Exercise, Finding, inputs
from exercises.grading.numbers import listed
from exercises.grading.returns import Returns


class Given(NamedTuple):
    """The arguments."""

    rank: int
    d: int
    p: int
    c: int
    t: int
    batch: int
    length: int
    step: int


def along_dp(g):
    return g.rank // (g.p * g.c * g.t)


def along_cp(g):
    return g.rank // g.t % g.c


def reads(g, replica=along_dp, part=along_cp, first=lambda g: g.step * g.batch):
    """(sequences, positions), or what somebody reads who has other coordinates, or begins elsewhere."""
    begin = first(g) + replica(g) * (g.batch // g.d)
    start = part(g) * (g.length // g.c)
    return [list(range(begin, begin + g.batch // g.d)), list(range(start, start + g.length // g.c))]


def reading(**other):
    return lambda *given: reads(Given(*given), **other)


def no_lists(case, results):
    """Two lists of whole numbers."""
    (got,) = listed(results)
    fine = isinstance(got, list) and len(got) == 2 and all(isinstance(part, list) for part in got)
    if not fine:
        return Finding(f"it returned {got!r:.80}.", "Return two lists, (sequences, positions).")
    if strange := [number for part in got for number in part if type(number) is not int]:
        return Finding(f"there is {strange[0]!r} in it.", "Whole numbers: // in place of /.")
    return None


def seen(case, results, right):
    """The first list that is wrong."""
    (got,), (want,) = results, right
    for name, mine, its in zip(("sequences", "positions"), got, want, strict=True):
        if mine != its:
            return f"{name} are {ends(mine)}; right are {ends(its)}."
    return ""


def ends(numbers):
    return f"{numbers[0]} to {numbers[-1]}" if numbers else "none"


samples_of_rank = Exercise(
    cases=inputs.calls(
        (65, 3, 2, 6, 3, 9, 60, 3),
        (91, 4, 2, 4, 3, 12, 40, 1),
        (0, 4, 2, 4, 3, 12, 40, 2),
        (17, 2, 2, 3, 2, 8, 30, 0),
        (6, 8, 1, 1, 1, 32, 7, 5),
        (3, 1, 1, 4, 1, 3, 12, 1),
        (11, 1, 4, 1, 3, 5, 6, 2),
        lambda rng: (int(rng.integers(3 * 2 * 4 * 5)), 3, 2, 4, 5, 9, 24, int(rng.integers(1, 50))),
        (12345, 32, 8, 8, 8, 2048, 131072, 10**6),
        names="rank d p c t batch length step",
    ),
    checks=[
        Returns(
            reading(),
            slips=[
                (
                    reading(replica=lambda g: g.rank % g.d),
                    "The number along dp is taken as if dp was the innermost axis. Then tensor ranks of one group "
                    "read different samples, and add up activations that do not belong together.",
                ),
                (
                    reading(replica=lambda g: g.rank),
                    "Every rank reads other sequences. Ranks of one pipeline and of one tensor group share theirs: "
                    "which of the rank's four numbers says which replica it is in?",
                ),
                (
                    reading(replica=lambda g: g.rank // (g.c * g.t)),
                    "Each stage reads other sequences, so what arrives at a stage is not what it has the targets of. "
                    "dp is outside pp: how many ranks has a replica?",
                ),
                (
                    reading(replica=lambda g: g.rank // g.d),
                    "Divided by the size of the dp axis. A replica has p c t ranks: by how many does the number along "
                    "dp grow?",
                ),
                (
                    reading(replica=lambda g: g.rank // (g.p * g.t)),
                    "The context ranks are forgotten: a replica has p c t ranks.",
                ),
                (
                    reading(replica=lambda g: g.rank // (g.p * g.c)),
                    "The tensor ranks are forgotten: a replica has p c t ranks.",
                ),
                (
                    reading(first=lambda g: 0),
                    "The same sequences in every step. Step 1 goes on where step 0 has ended.",
                ),
                (
                    reading(first=lambda g: g.step * (g.batch // g.d)),
                    "A step moves on by the sequences of all replicas, not by those of one.",
                ),
                (
                    reading(first=lambda g: (g.step + 1) * g.batch),
                    "One batch too far: step 0 begins with sequence 0.",
                ),
                (
                    reading(part=lambda g: g.rank % g.c),
                    "The number along cp is taken as if cp was the innermost axis. tp is inside it: neighbours differ "
                    "along tp.",
                ),
                (
                    reading(part=lambda g: g.rank // g.t),
                    "That counts on beyond the context group: its numbers go from 0 to c - 1.",
                ),
                (
                    reading(part=lambda g: g.rank % (g.c * g.t)),
                    "That is the number among the c t ranks inside a stage. t of them in a row have the same part.",
                ),
                (
                    reading(part=lambda g: g.rank // (g.t * g.p) % g.c),
                    "As if pp was between cp and tp. How many ranks are there between two neighbours along cp?",
                ),
                (
                    reading(part=lambda g: 0),
                    "Every rank has the first part of each sequence. Along cp the parts differ.",
                ),
                (
                    reading(part=lambda g: g.c - 1 - along_cp(g)),
                    "The parts are in reverse: number 0 along cp has the first one.",
                ),
            ],
            otherwise="Write the rank as i, j, k, l with rank = ((i p + j) c + k) t + l. Which of the four choose "
            "sequences, and which choose positions?",
            seen=seen,
            form=no_lists,
            read=listed,
        )
    ],
    endings={"___": "A blank is not filled in yet: replace each ___ by an expression."},
    hints=[
        "Which of the four coordinates of a rank decide what it reads? Write the others down, and leave them out.",
        "Behind a step of one along dp come p c t ranks, and behind one along cp come t. // and % give a coordinate.",
        "replica = rank // (p * c * t), and part = rank // t % c. Each step before has had `batch` sequences.",
    ],
)

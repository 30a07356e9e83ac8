"""Level 2 of chapter 13, fill in: survivors agree, are numbered anew, and go on."""

from typing import NamedTuple

from exercises.grading import Case, Distributed, Finding, checks
from exercises.grading.numbers import listed, short

from ..ch02_data_parallel.common import communicated, no_more_than


class Given(NamedTuple):
    """All ranks' arguments."""

    P: int
    suspects: list
    m: int
    batch: int
    done: list


def given(case):
    suspects, m, batch, done = zip(*case.arguments)
    return Given(case.ranks, suspects, m[0], batch[0], done)


def agreed(g, rank):
    """Whoever anybody suspects."""
    return {each for mine in g.suspects for each in mine}


def own_view(g, rank):
    return set(g.suspects[rank])


def most_say(g, rank):
    return {each for each in range(g.P) if sum(each in mine for mine in g.suspects) > g.P / 2}


def everybody_says(g, rank):
    return set.intersection(*map(set, g.suspects))


def least(done):
    return min(done)


def goes_on(
    case,
    rank,
    out=agreed,
    step=least,
    every=False,
    copies=None,
    place=lambda new, m: new // m,
    renumber=True,
    alone=False,
):
    """(new rank, samples) of a rank, None if it is out or a spare; or what comes out with something else in its "
    "place."""
    g = given(case)
    gone = out(g, rank)
    if rank in gone:
        return None
    group = [rank] if alone else [r for r in range(g.P) if r not in gone]
    new = group.index(rank)
    number = len(group) // g.m if copies is None else copies(len(group), g)
    if new >= number * g.m:
        return None
    first = step([g.done[r] for r in (range(g.P) if every else group)]) * g.batch
    return [new if renumber else rank, list(range(first + place(new, g.m), first + g.batch, number))]


SLIPS = [
    (
        {"out": own_view},
        "Each rank acts on its own list, so they do not agree who goes on. What has to be known of the others' lists?",
    ),
    (
        {"out": everybody_says},
        "Out is whoever all ranks suspect. But a rank that is dead for one of them cannot be reached by all: one "
        "suspicion is enough.",
    ),
    (
        {"step": max},
        "They go on with the step that the furthest of them has to do. Others have not finished the one before: its "
        "samples would be left out.",
    ),
    (
        {"step": sum},
        "Finished steps were added up over the ranks. All do the same steps: which of them have all finished?",
    ),
    (
        {"every": True},
        "Ranks that are out have a say in the step. They are no longer part of it: those of the new group agree.",
    ),
    (
        {"step": lambda done: done[0]},
        "They go on with the step of the first rank. Another one may not have finished it.",
    ),
    (
        {"copies": lambda n, g: g.P // g.m},
        "As many copies of the model as before, some of which have no ranks. How many are left of the survivors?",
    ),
    (
        {"copies": lambda n, g: n / g.m},
        "A part of a copy cannot train: whole copies go on.",
    ),
    (
        {"copies": lambda n, g: n},
        "As if each rank had a copy of the model. m ranks hold one together.",
    ),
    (
        {"copies": lambda n, g: -(-n // g.m)},
        "The last copy is not complete: it lacks a part of the model. Its ranks are spares.",
    ),
    (
        {"place": lambda new, m: new},
        "The ranks of one copy read different samples. They work on the same ones: what of the rank's number says "
        "which copy it belongs to?",
    ),
    (
        {"place": lambda new, m: new % m},
        "new % m is the place inside a copy. Which copy is it?",
    ),
    (
        {"place": lambda new, m: 0},
        "All copies read the same samples.",
    ),
    (
        {"alone": True},
        "That is one group for each rank. Ranks that give the same color come together: which two colors are there?",
    ),
    ({"renumber": False}, "That is the old number. In the new group the survivors are counted without gaps."),
]


def slipped(mistake, case):
    """What all ranks have who make this mistake; nothing where it cannot be."""
    try:
        return [goes_on(case, rank, **mistake) for rank in range(case.ranks)]
    except (ValueError, TypeError, ZeroDivisionError, IndexError):
        return None


def went_on(case, answer):
    """What every rank returns."""
    for rank, got in enumerate(map(listed, answer.results)):
        if got is not None and (not isinstance(got, list) or len(got) != 2 or not isinstance(got[1], list)):
            return Finding(f"rank {rank} returned {short(got)}.", "Return (rank, samples), or None.")
    got, want = listed(answer.results), [goes_on(case, rank) for rank in range(case.ranks)]
    if got == want:
        return None
    rank = next(rank for rank in range(case.ranks) if got[rank] != want[rank])
    seen = f"rank {rank} goes on with {told(got[rank])}; right is {told(want[rank])}."
    hints = (hint for mistake, hint in SLIPS if got == slipped(mistake, case))
    return Finding(seen, next(hints, OTHERWISE))


OTHERWISE = (
    "Four things in turn: who is out for everybody? Who is in the new group? Which step has one of them not finished? "
    "How many whole copies are left, and which one is this rank in?"
)


def told(result):
    if result is None:
        return "None"
    rank, samples = result
    ends = f"{samples[0]} to {samples[-1]}, {len(samples):,} of them" if samples else "none"
    return f"rank {rank}, samples {ends}"


def calls(case, answer):
    """Survivors call Allreduce twice and Split once, others Allreduce and Split once."""
    gone = agreed(given(case), 0)
    for rank in range(case.ranks):
        made, splits = communicated(answer, rank), answer.calls[rank]["Split"]
        want = ["Allreduce"] * (1 if rank in gone else 2)
        if made != want or splits != 1:
            seen = f"rank {rank} called Split {checks.count(splits, 'time')} and {', '.join(made) or 'no collective'}."
            return Finding(
                seen,
                "All agree with one Allreduce, all split once, and the survivors agree on the step with one Allreduce "
                "more. Nothing else is needed.",
            )
    return None


def failures(*rows):
    """Cases (ranks, {rank: whom it suspects}, m, batch, steps that each rank has finished)."""

    def cases(rng):
        for P, suspects, m, batch, done in rows:
            done = [done + int(each) for each in rng.integers(0, 2, P)] if isinstance(done, int) else done
            shown = f"{checks.count(P, 'rank')}, suspects {suspects}, m = {m}, batch = {batch}"
            steps = f"done {', '.join(map(str, done))}"
            yield Case(
                f"{shown}, {steps}", tuple((list(suspects.get(rank, ())), m, batch, done[rank]) for rank in range(P))
            )

    return cases


shrink_and_go_on = Distributed(
    cases=failures(
        (6, {0: [2], 3: [2, 4]}, 1, 8, [7, 8, 8, 7, 8, 8]),
        (7, {1: [3], 5: [3]}, 2, 12, [21, 20, 20, 20, 21, 20, 20]),
        (5, {4: [0]}, 2, 6, [3, 5, 5, 5, 6]),
        (8, {2: [5], 6: [1], 7: [5]}, 3, 10, [9, 9, 9, 9, 9, 9, 9, 9]),
        (3, {rank: [1] for rank in range(3)}, 3, 4, [5, 5, 5]),
        (6, {0: [5], 1: [5], 2: [4, 5]}, 2, 9, [12, 11, 12, 12, 4, 3]),
        (1, {}, 1, 3, [2]),
        (7, {3: [6], 4: [6]}, 2, 5000, [2**40 + 3 + rank % 2 for rank in range(7)]),
    ),
    checks=[
        went_on,
        calls,
        no_more_than(
            lambda case: case.ranks + 1,
            "what has to be agreed on",
            "More numbers travel than are needed: who is out, one number for each rank, and then one step.",
        ),
    ],
    endings={
        "___": "A blank is not filled in yet: replace each ___ by an expression.",
        "must be an integer": "Whole copies alone go on: // in place of /.",
        "cannot be interpreted as an integer": "Whole copies alone go on: // in place of /.",
        "Allreduce(": "Who is out waits for nobody, and nobody waits for it: the survivors need a group of their own, "
        "in which the others are not.",
        "ZeroDivisionError": "There may be fewer survivors than one copy needs. Who returns before?",
    },
    hints=[
        "Write the lists of three ranks as rows of 0 and 1. Which operation makes of two rows the one that says who is "
        "out?",
        "Out: the largest of all 0 and 1. The step: the least one that the survivors have finished. Copies: whole "
        "ones.",
        "op=mpi.MAX, color out[comm.rank], op=mpi.MIN, copies = group.size // m, and the samples begin at group.rank "
        "// m.",
    ],
)

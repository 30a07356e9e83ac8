"""What several exercises of chapter 9 ask of an order: its form, that nothing is missing, that it can be carried out.

Orders are lists of strings, as students write them: "F0" on a rank that has one stage, "5F0" where it has several.
Times, memory and what an action needs come from reference.pipeline, the same code that trains.
"""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from exercises.grading import Finding
from reference.pipeline.schedule import Action, Schedule, needs
from reference.pipeline.simulate import Costs, Times, activations, simulate

Orders = Sequence[Sequence[str]]
NAMES = {
    "F": "forward pass",
    "B": "backward pass",
    "I": "backward pass for the input",
    "W": "backward pass for the weights",
}


def action(word: str, rank: int) -> Action:
    """ "F2" on rank 5 and "5F2" are the forward pass of stage 5 for micro-batch 2."""
    stage, kind, micro = re.fullmatch(r"(\d*)([FBIW])(\d+)", word).groups()
    return Action(kind, int(stage or rank), int(micro))


def schedule(orders: Orders) -> Schedule:
    """Written orders as what reference.pipeline reads."""
    return Schedule("yours", tuple(tuple(action(word, rank) for word in order) for rank, order in enumerate(orders)))


def written(actions: Sequence[Action], staged: bool = False) -> list[str]:
    """The order as a student writes it, without optimizer steps; with the stage in front if `staged`."""
    return [str(a) if staged else f"{a.kind}{a.micro}" for a in actions if a.kind != "S"]


def shown(order: Sequence[str], most: int = 14) -> str:
    """An order in one line, not too long."""
    return " ".join(order[:most]) + " ..." * (len(order) > most)


def words(got: object) -> list[str] | None:
    """What was returned as a list of strings; None if it is none."""
    got = got.tolist() if isinstance(got, np.ndarray) else got
    return list(got) if type(got) in (tuple, list) and all(isinstance(word, str) for word in got) else None


def no_order(got: object, who: str, wanted: Sequence[str]) -> Finding | None:
    """What is wrong with an order's form, or with what is in it: `wanted` is to be there, each once, in any order."""
    if got is None:
        return Finding(f"{who} returned None.", "A function that ends without `return` gives None: return the order.")
    order = words(got)
    if order is None:
        return Finding(f"{who} returned {got!r:.80}.", f'Return a list of strings, such as "{wanted[0]}".')
    there = Counter(order)
    strange = next((word for word in order if word not in wanted), None)
    if strange is not None:
        micro = re.fullmatch(r"\d*[FBIW](\d+)", strange)
        too_far = micro and all(int(re.search(r"\d+$", word)[0]) != int(micro[1]) for word in wanted)
        hint = (
            "Micro-batches are numbered from 0 to m - 1. Does a loop go too far?"
            if too_far
            else f'An action is written like "{wanted[0]}" here, and its letter is one of {letters(wanted)}.'
        )
        return Finding(f'{who}: {shown(order)}\n  there is no action "{strange}".', hint)
    twice = next((word for word, times in there.items() if times > 1), None)
    if twice is not None:
        return Finding(
            f'{who}: {shown(order)}\n  "{twice}" comes {there[twice]} times.',
            "Every action is done just once. Where two pieces of the order meet, which of them has it?",
        )
    missing = [word for word in wanted if word not in there]
    if missing:
        return Finding(
            f"{who}: {shown(order)}\n  never done: {shown(missing, 6)}.",
            "Every micro-batch goes forward and backward through every stage. Do the pieces of the order have as many "
            "passes as there are micro-batches, when they are added up?",
        )
    return None


def letters(wanted: Sequence[str]) -> str:
    """The kinds of these actions: "F, B"."""
    return ", ".join(dict.fromkeys(re.search("[FBIW]", word)[0] for word in wanted))


def waits(orders: Orders) -> list[tuple[int, Action, Action]]:
    """Of each rank that can never go on: (rank, its next action, what this lacks). Empty if all come to their end."""
    made = schedule(orders)
    done, place, moved = set(), [0] * made.ranks, True
    lacks = lambda a: next((need for need in needs(a, made) if need not in done), None)  # noqa: E731
    while moved:
        moved = False
        for rank, order in enumerate(made):
            while place[rank] < len(order) and lacks(order[place[rank]]) is None:
                done.add(order[place[rank]])
                place[rank] += 1
                moved = True
    left = [(rank, order[place[rank]]) for rank, order in enumerate(made) if place[rank] < len(order)]
    return [(rank, its_next, lacks(its_next)) for rank, its_next in left]


def never_ends(orders: Orders, hint: str) -> Finding | None:
    """The ranks wait for each other in a circle: who waits for what."""
    stuck = waits(orders)
    if not stuck:
        return None
    rows = [
        f"  rank {rank}: {shown(orders[rank], 8)}\n    waits with {name(its_next)} for {name(lack)}"
        for rank, its_next, lack in stuck[:4]
    ]
    return Finding("\n".join(["no rank can go on:", *rows]), hint)


def name(a: Action) -> str:
    """An action in words."""
    return f"the {NAMES[a.kind]} of micro-batch {a.micro} on stage {a.stage}"


def timed(orders: Orders, forward: float = 1.0, backward: float = 2.0, send: float = 0.0) -> Times:
    """When everything happens, if nothing waits for ever."""
    return simulate(schedule(orders), Costs(F=forward, B=backward, send=send))


def consequence(orders: Orders, right: Orders, who: str = "stage", what: str = "1F1B") -> str:
    """What orders that are not right lead to: they wait for ever, take longer, or keep more. what: the right ones."""
    stuck = waits(orders)
    if stuck:
        rank, waiting, lack = stuck[-1]
        word = str(waiting) if any(word[0].isdigit() for word in orders[rank]) else f"{waiting.kind}{waiting.micro}"
        return f"  and no {who} can go on: {who} {rank} waits with {word} for {name(lack)}."
    took, best = timed(orders).makespan, timed(right).makespan
    if took > best:
        return f"  the step takes {took:g} s, in {what} {best:g} s (a forward pass of 1 s, a backward pass of 2 s)."
    kept, least = activations(schedule(orders)), activations(schedule(right))
    more = next((rank for rank in range(len(orders)) if kept[rank] > least[rank]), None)
    if more is not None:
        return f"  {who} {more} keeps {kept[more]:g} micro-batches at a time; in {what} it is {least[more]:g}."
    return f"  which is not the order of {what}."

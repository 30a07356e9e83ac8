"""Messages: what each rank receives before and sends after its actions. Derived from the order, never written by hand.

Idea      An action needs others (schedule.needs). What it needs from another rank is a message: the activation that a
          stage puts out goes forward with F, the gradient for it comes back with B, or I if the backward pass is in
          two parts. Nothing else is sent, so whoever changes an order changes the messages with it.
          A message's tag follows from its kind, stage and micro-batch, so that both sides know it without asking, and
          messages may overtake each other.
Sends     A cut between two stages on different ranks costs one activation and one gradient for each micro-batch.
"""

from __future__ import annotations

from typing import NamedTuple

from .. import mpi
from .schedule import Action, Schedule, needs


def check_tags(S: int, m: int) -> None:
    """Raise ValueError if the messages of S stages and m micro-batches are more than MPI has tags.

    It needs no schedule, which takes long to make if there are as many.
    """
    if 2 * S * m > mpi.TAG_LIMIT:
        raise ValueError(
            f"{S:,} stages and {m:,} micro-batches need {2 * S * m:,} tags, one for each message of a step, and MPI "
            f"promises {mpi.TAG_LIMIT:,}: at most {mpi.TAG_LIMIT // (2 * S):,} micro-batches with as many stages"
        )


class Message(NamedTuple):
    """kind: "activation", what `stage` puts out for `micro`, or "gradient", the one for it (so of the same shape);
    peer: the other rank; tag: unique in the schedule."""

    kind: str
    stage: int
    micro: int
    peer: int
    tag: int

    def __str__(self) -> str:
        return f"the {self.kind} of {self.stage}F{self.micro}"


class Exchange(NamedTuple):
    """What a rank receives before an action, and what it sends after it."""

    receives: tuple[Message, ...]
    sends: tuple[Message, ...]


def messages(schedule: Schedule) -> list[list[Exchange]]:
    """Of each rank, for each of its actions in their order, what it receives before and sends after.

    Raises KeyError if an action needs another that nobody does (validate.py says which).
    """
    places, m = schedule.places, schedule.micro_batches
    receives: list[list[tuple[Message, ...]]] = [[()] * len(order) for order in schedule]
    sends: list[list[tuple[Message, ...]]] = [[()] * len(order) for order in schedule]
    for r, order in enumerate(schedule):
        for k, action in enumerate(order):
            for need in needs(action, schedule):
                q, j = places[need]
                if q != r:
                    receives[r][k] += (_made_by(need, q, m),)
                    sends[q][j] += (_made_by(need, r, m),)
    return [[*map(Exchange, *both)] for both in zip(receives, sends)]


def _made_by(action: Action, peer: int, m: int) -> Message:
    """The message that an action makes, from or to that rank."""
    kind, s, i = action
    if kind == "F":
        return Message("activation", s, i, peer, 2 * (s * m + i))
    return Message("gradient", s - 1, i, peer, 2 * ((s - 1) * m + i) + 1)  # for what the stage before has put out

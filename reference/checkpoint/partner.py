"""Partner copies: each rank's state also lies in the memory of ranks on other nodes, and comes back from there.

Idea      A checkpoint in memory is made as fast as the network carries it, and read as fast. It survives what takes
          fewer than m nodes at once, if the m copies lie on m nodes (placement.py). A save has two halves, so that
          training goes on between them, and two slots, so that a failure in between loses only the newer one:

              begin(step, state)   copy the state, start to send it; the partners receive into a new slot
              commit()             all copies have arrived on all ranks: only now is the older slot freed

Before    rank 0: own 10       rank 1: own 10       each lost with its node
After     rank 0: own 10, 1's  rank 1: own 10, 0's
Sends     m - 1 times a rank's state; to recover, each lost state once.
Price     Memory of the host: m states, and twice that while a save is under way.
Exact     The bytes of the newest step of which every rank's state is left somewhere.
Left out  Gemini's schedule, which sends small pieces in the gaps that it finds in the traffic of training.
Source    Wang et al., "GEMINI: Fast Failure Recovery in Distributed Training with In-Memory Checkpoints" (SOSP 2023).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .. import mpi
from .placement import Holders


class StateLost(LookupError):
    """Some rank's state is in no memory that is left: a slower tier must help."""


class PartnerCopies:
    """This rank's state and the states of others that it keeps for them.

    comm       used for nothing else meanwhile (comm.Dup())
    holders    for each rank, who has a copy, itself first: placement.of_ranks

    states     {step: {owner: its bytes}}, what is in this rank's memory: what `recover` needs
    """

    def __init__(self, comm, holders: Holders):
        self.comm, self.holders = comm, [tuple(held) for held in holders]
        if len(self.holders) != comm.size or any(held[0] != rank for rank, held in enumerate(self.holders)):
            raise ValueError(f"{comm.size} ranks need {comm.size} tuples of holders, each with its own rank first")
        self.states: dict[int, dict[int, np.ndarray]] = {}
        self._begun: tuple[int, dict[int, np.ndarray], list] | None = None

    def begin(self, step: int, state: np.ndarray) -> None:
        """Copy this rank's state (bytes, uint8 [n], any n) and start to send it. Collective; returns at once.

        The state may change as soon as this has returned. Raises RuntimeError if the save before is not committed.
        """
        if self._begun:
            raise RuntimeError(f"step {self._begun[0]} is under way: commit it before step {step} begins")
        lengths = self.comm.allgather(len(state))
        own = np.array(state, dtype=np.uint8)
        slot, requests = {self.comm.rank: own}, []
        for owner, held in enumerate(self.holders):
            if self.comm.rank in held[1:]:
                slot[owner] = np.empty(lengths[owner], dtype=np.uint8)
                requests.append(self.comm.Irecv(slot[owner], source=owner))
        requests += [self.comm.Isend(own, dest=holder) for holder in self.holders[self.comm.rank][1:]]
        self._begun = step, slot, requests

    def commit(self) -> None:
        """Wait until all copies are where they belong, on all ranks, and free the older ones. Collective.

        Raises RuntimeError if no save has begun.
        """
        if not self._begun:
            raise RuntimeError("no save has begun")
        step, slot, requests = self._begun
        mpi.waitall(requests)
        self.states[step] = slot  # beside the older one: somebody may not have his copies yet
        self._begun = None
        self.comm.Barrier()
        self.states = {step: slot}

    def save(self, step: int, state: np.ndarray) -> None:
        """Both halves at once. Collective."""
        self.begin(step, state)
        self.commit()


class Pick(NamedTuple):
    """What is to come from whom: the step, and (source, taker, owner) for each state that somebody wants."""

    step: int
    transfers: list[tuple[int, int, int]]


def pick(held: Sequence[Mapping[int, Sequence[int]]], wanted: Sequence[Sequence[int]], owners: int) -> Pick:
    """Choose the newest step that is whole, and for each wanted state a holder; a taker that has it is its own source.

    held      of each rank that is left: {step: owners whose state it has}
    wanted    of each rank: owners whose state it wants
    owners    how many states a step consists of
    Raises StateLost, with the missing owners of the newest step, if no step is whole.
    """
    steps = sorted({step for own in held for step in own}, reverse=True)
    missing: dict[int, list[int]] = {}
    for step in steps:
        there = {owner for own in held for owner in own.get(step, ())}
        missing[step] = sorted(set(range(owners)) - there)
        if not missing[step]:
            return Pick(step, _sources(step, held, wanted))
    gone = f"of step {steps[0]} the states of ranks {missing[steps[0]]} are" if steps else "all states are"
    raise StateLost(f"{gone} in no memory that is left: resume from the newest checkpoint on a drive")


def _sources(step: int, held: Sequence[Mapping[int, Sequence[int]]], wanted: Sequence[Sequence[int]]) -> list:
    load, found = [0] * len(held), []
    for taker, owners in enumerate(wanted):
        for owner in owners:
            have = [rank for rank, own in enumerate(held) if owner in own.get(step, ())]
            source = taker if taker in have else min(have, key=lambda rank: (load[rank], rank))
            load[source] += source != taker
            found.append((source, taker, owner))
    return found


def recover(
    comm, states: Mapping[int, Mapping[int, np.ndarray]], wanted: Sequence[int], owners: int
) -> tuple[int, dict[int, np.ndarray]]:
    """Fetch states from the memories that are left; returns the step and {owner: bytes uint8 [n]} of those wanted.

    comm      the ranks that go on: survivors, and newcomers in the place of the lost
    states    what this rank has (PartnerCopies.states); {} for a newcomer
    wanted    whose states this rank goes on with: its own number for a newcomer; more for one that takes over
    owners    how many ranks had saved
    Collective. Raises StateLost on every rank if no step is whole.
    """
    sizes = {step: {owner: len(state) for owner, state in slot.items()} for step, slot in states.items()}
    heard = comm.allgather((sizes, list(wanted)))
    step, transfers = pick([own for own, _ in heard], [want for _, want in heard], owners)
    found, requests = {}, []
    for source, taker, owner in transfers:
        if taker == comm.rank:
            if source == taker:
                found[owner] = states[step][owner].copy()
            else:
                found[owner] = np.empty(heard[source][0][step][owner], dtype=np.uint8)
                requests.append(comm.Irecv(found[owner], source=source))
        elif source == comm.rank:
            requests.append(comm.Isend(states[step][owner], dest=taker))
    mpi.waitall(requests)
    return step, found

"""Random legal programs over the whole API, and mutants of them: what no hand would write.

A program is a list of steps, the same for every rank; `play` carries it out. In each step a rank does its part of one
message, collective, split or epoch, so a rank that blocks in step i only waits for what others do up to step i, and
nobody deadlocks. What is posted in one step may be waited for in a later one. All numbers are whole, sums exact.

A step is (kind, numbers): each rank derives the rest from the numbers, its rank and the size of the communicator that
they name. The log of a rank holds what it received, and in which `role` it took part in which step. A mutant is a
program of which one rank does one step in another way (TWISTS, by role); in each, MPI is violated.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import numpy as np

from reference import mpi

from .random_steps import STEPS

DTYPES = np.float64, np.float32, np.int64, np.int32, np.uint8


class Twist(NamedTuple):
    """Rank `rank` does step `step` in the way `how`."""

    rank: int
    step: int
    how: str


TWISTS = {
    "send": ["drop", "stop", "raise", "longer", "type", "tag", "twice"],
    "send to any tag": ["drop", "stop", "longer", "type", "twice"],
    "send object": ["drop", "stop", "tag", "twice"],
    "send object to any tag": ["drop", "stop", "twice"],
    "receive": ["drop", "stop", "raise", "tag", "twice"],
    "receive any tag": ["drop", "stop", "twice"],
    "collective": ["drop", "stop", "raise", "twice"],
    "rooted": ["root"],
    "sized": ["longer", "type"],
    "uneven": ["longer"],
    "reduced": ["operation"],
    "posted": ["forget"],
    "posted buffer": ["change", "forget"],
    "epoch": ["keep", "outside", "change", "stop"],
    "fence": ["drop", "stop", "outside"],
}


def program(seed: int, steps: int = 12) -> list[tuple[str, list[int]]]:
    """Steps drawn from a seed."""
    draw = random.Random(seed)
    kinds = [kind for kind, (_, weight) in STEPS.items() for _ in range(weight)]
    return [(draw.choice(kinds), [draw.randrange(1 << 16) for _ in range(8)]) for _ in range(steps)]


def mutant(seed: int, roles: list[list[tuple[int, str]]]) -> Twist | None:
    """A twist of a program whose ranks have these roles; None if no rank has any that can be twisted."""
    draw = random.Random(seed)
    rank = draw.randrange(len(roles))
    if not roles[rank]:
        return None
    step, role = draw.choice(roles[rank])
    return Twist(rank, step, draw.choice(TWISTS[role]))


class Stop(Exception):
    """This rank returns."""


class Player:
    """One rank: its communicators and windows, what is under way, and its log."""

    def __init__(self, comm, twist: Twist | None):
        self.world, self.twist = comm, twist
        self.comms: list[Any] = [comm]
        self.window: Any = None
        self.under_way: list[tuple[Any, Any]] = []  # request, and the buffer in which something will be
        self.seen: list[Any] = []  # what came, in an order that MPI prescribes
        self.raced: list[Any] = []  # what came in an order that it does not
        self.roles: list[tuple[int, str]] = []
        self.step, self.how = 0, ""

    def play(self, steps) -> Player:
        """Carry the program out."""
        if any(kind == "window" for kind, _ in steps):
            self.window = mpi.win_allocate(self.world, 8 * (2 + self.world.size), disp_unit=8)
        try:
            for self.step, (kind, numbers) in enumerate(steps):
                mine = self.twist is not None and (self.twist.rank, self.twist.step) == (self.world.rank, self.step)
                self.how = self.twist.how if mine else ""
                comm = self.comms[numbers[0] % len(self.comms)]
                if self.how == "raise":
                    raise RuntimeError("a mutant raises")
                if self.how == "stop":
                    raise Stop
                for _ in range({"drop": 0, "twice": 2}.get(self.how, 1)):
                    if comm != mpi.COMM_NULL or kind in ("divide", "window", "work", "wait"):
                        STEPS[kind][0](self, comm, numbers[1:])
            self.wait_for_all()
            if self.window:
                self.window.Free()
        except Stop:
            self.under_way.clear()
        return self

    def role(self, role: str) -> None:
        """Note that this rank takes part in this step."""
        self.roles.append((self.step, role))

    def keep(self, request, buffer=None, results=()) -> None:
        """A request that is to be waited for later; `buffer` is watched until then, and may be changed by a twist."""
        self.role("posted" if buffer is None else "posted buffer")
        if self.how == "change" and buffer is not None:
            buffer[...] = buffer + 1
        if self.how != "forget":
            self.under_way.append((request, results))

    def wait_for_all(self) -> None:
        """Wait for everything under way, in one of three ways."""
        requests, results = [one for one, _ in self.under_way], [result for _, result in self.under_way]
        self.under_way.clear()
        way = self.step % 3
        if way == 0:
            mpi.waitall(requests)
        while way == 2 and mpi.waitany(requests) != mpi.UNDEFINED:
            pass
        for request in requests:
            while way == 1 and not request.Test():
                pass
            request.Wait()
        self.seen += [part.tolist() for result in results for part in result]

    def data(self, numbers, length: int, rank: int) -> np.ndarray:
        """What `rank` sends in this step; twisted, of another length or type."""
        dtype = DTYPES[numbers[-1] % len(DTYPES)]
        if self.how == "type":
            dtype = DTYPES[(numbers[-1] + 1) % len(DTYPES)]
        return (np.arange(length + (self.how == "longer")) + 7 * self.step + rank).astype(dtype)


def play(comm, steps, twist: Twist | None = None) -> tuple[list, list, list]:
    """Carry a program out: what came in a fixed order, what came in any order, and the roles of this rank."""
    player = Player(comm, twist).play(steps)
    return player.seen, player.raced, player.roles

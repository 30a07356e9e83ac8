"""ZeRO that survives: the optimizer's state is cut over the ranks, and each shard has a copy at a partner.

Idea      Under ZeRO stage 1 a rank has all weights, and of Adam's averages only its shard. If it dies, nobody has that
          shard. So after each step a rank sends its new shard to its right neighbour. The dead rank's shard is then
          with the neighbour, in memory, as new as the rest.

              rank        0        1        2        3
              own       shard 0  shard 1  shard 2  shard 3
              kept      shard 3  shard 0  shard 1  shard 2      1 dies: shard 1 is with 2
Before    shards 0, -, 2, 3; without copies, all ranks go back to the newest checkpoint
After     shards of thirds on three ranks, cut anew (`reshard.py`), of one and the same step
Sends     A shard more a step and rank: 2 / P of the parameters for Adam's two averages. And memory: 2 shards for 1.
Exact     All shards must be of the same step, and survivors may be a step apart. The one that is ahead cannot help the
          others, as it could in `replicated.py`: it has its own shard only. So each rank keeps its last version, too,
          and all go back to the newest step that everybody has; the next step is taken again.
          New shards replace the old ones after an agreement, on all survivors or on none: a rank that dies during
          the recovery finds the others with the old cut or with the new one, and never with both.
          If a rank and its right neighbour die at once, a shard is lost: then `fallback` brings the whole state back.
Source    Rajbhandari et al., "ZeRO" (2020); Wang et al., "GEMINI: Fast Failure Recovery in Distributed Training with
          In-Memory Checkpoints" (SOSP 2023), for copies in the memory of other machines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .replicated import Rule, adam, mine
from .reshard import hauls, owners
from .samples import next_samples
from .shrink import TooFew, settled, survive, together

HAUL_TAG, COPY_TAG = 1, 2


class Version(NamedTuple):
    """A rank's part of the state after `step` steps. Nothing of it is changed in place.

    w     [n] all weights
    own   [2, shard] Adam's m and v of this rank's shard; kept: of the left neighbour's
    """

    step: int
    position: int
    losses: tuple[float, ...]
    w: np.ndarray
    own: np.ndarray
    kept: np.ndarray


class Whole(NamedTuple):
    """The whole state, as a checkpoint has it: averages [2, n]."""

    step: int
    position: int
    losses: tuple[float, ...]
    w: np.ndarray
    averages: np.ndarray


@dataclass
class Holding:
    """What a rank has: its last two versions, the newest last, and which rank of how many it was when they were cut.

    A spare rank that joins has no version, and rank -1.
    """

    rank: int = -1
    ranks: int = 0
    versions: list[Version] = field(default_factory=list)

    def steps(self) -> list[int]:
        """Of the versions."""
        return [version.step for version in self.versions]

    def at(self, step: int) -> Version:
        """The version of that step."""
        return self.versions[self.steps().index(step)]

    def add(self, version: Version) -> None:
        """A step was taken: forget all but the last two versions."""
        self.versions = [*self.versions[-1:], version]


def begin(comm, problem: Any, whole: Whole | None = None) -> Holding:
    """This rank's part of the whole state; before the first step unless told."""
    w = problem.start()
    whole = whole or Whole(0, 0, (), w, np.zeros((2, len(w))))
    cut = owners(len(w), comm.size)
    own, left = cut[comm.rank], cut[comm.rank - 1]
    parts = [whole.averages[:, part.start : part.stop].copy() for part in (own, left)]
    return Holding(comm.rank, comm.size, [Version(*whole[:3], whole.w.copy(), *parts)])


def with_partner(comm, own: np.ndarray, left: int) -> np.ndarray:
    """The shard [2, left] of the left neighbour, to whose right this rank is; its own goes to the right. Collective."""
    kept = np.empty((2, left))
    right = (comm.rank + 1) % comm.size
    comm.Sendrecv(own, right, COPY_TAG, kept, (comm.rank - 1) % comm.size, COPY_TAG)
    return kept


def take_step(comm, problem: Any, last: Version, size: int, rate: float) -> Version:
    """The next version: gradients are reduce-scattered, shards updated, weights gathered, copies sent. Collective."""
    indices = next_samples(problem.samples, size, last.position, problem.seed)
    gradient, loss = problem.gradient(last.w, mine(indices, comm.rank, comm.size))
    cut = owners(problem.n, comm.size)
    lengths, part = [len(one) for one in cut], cut[comm.rank]
    g, total = np.empty(len(part)), np.empty(1)
    comm.Reduce_scatter(gradient, g, lengths)
    comm.Allreduce(np.array([loss]), total)
    own, w = last.own.copy(), last.w.copy()
    shard = w[part.start : part.stop].copy()
    adam(shard, own[0], own[1], g / len(indices), rate, last.step + 1)
    comm.Allgatherv(shard, [w, lengths])
    kept = with_partner(comm, own, lengths[comm.rank - 1])
    losses = (*last.losses, float(total[0]) / len(indices))
    return Version(last.step + 1, last.position + len(indices), losses, w, own, kept)


class Heard(NamedTuple):
    """What ranks tell each other before they go on: `Holding.rank`, `.ranks` and `.steps()`."""

    rank: int
    ranks: int
    steps: list[int]


def holders(heard: list[Heard], n: int) -> list[tuple[int, range]] | None:
    """(rank, elements) of who has each shard: its owner, or the owner's right neighbour; None if one is lost."""
    P = max(one.ranks for one in heard)
    number = {one.rank: now for now, one in enumerate(heard) if one.rank >= 0}
    found = [(number.get(then, number.get((then + 1) % P, -1)), part) for then, part in enumerate(owners(n, P))]
    return None if any(now < 0 for now, _ in found) else found


def recover(comm, problem: Any, held: Holding, fallback: Callable[[], Whole] | None = None) -> None:
    """Cut the state anew for these ranks, at the newest step that all of them have: on all, or on none. Collective.

    Raises TooFew on every rank if a shard is lost and there is no fallback, which reads the whole state elsewhere.
    """
    fresh = together(comm, lambda: _prepared(comm, problem, held, fallback))
    if fresh is None:
        raise TooFew("a rank died together with the partner that had the copy of its shard: load a checkpoint")
    held.rank, held.ranks, held.versions = fresh.rank, fresh.ranks, fresh.versions


def _prepared(comm, problem: Any, held: Holding, fallback: Callable[[], Whole] | None) -> Holding | None:
    """What this rank will hold; None if a shard is lost for good. Collective."""
    heard = [Heard(*one) for one in comm.allgather((held.rank, held.ranks, held.steps()))]
    if all((one.rank, one.ranks) == (now, comm.size) for now, one in enumerate(heard)):
        step = min(max(one.steps) for one in heard)
        return Holding(held.rank, held.ranks, [held.at(step)])
    held_by = holders(heard, problem.n)
    if held_by is None:
        return begin(comm, problem, fallback()) if fallback else None
    return cut_anew(comm, problem.n, held, heard, held_by)


def cut_anew(comm, n: int, held: Holding, heard: list[Heard], held_by: list[tuple[int, range]]) -> Holding:
    """The state as these ranks will have it, at the newest step that all have who have any. Collective."""
    step = min(max(one.steps) for one in heard if one.steps)
    mine_of_old = held.at(step) if held.versions else None
    root = next(now for now, one in enumerate(heard) if one.steps)
    facts = comm.bcast(mine_of_old and (mine_of_old.position, mine_of_old.losses), root=root)
    w = mine_of_old.w if mine_of_old is not None else np.empty(n)
    if any(not one.steps for one in heard):
        w = w.copy()
        comm.Bcast(w, root=root)
    wanted = owners(n, comm.size)
    own = haul(comm, held_by, wanted, lambda part: _have(held, step, n, part))
    kept = with_partner(comm, own, len(wanted[comm.rank - 1]))
    position, losses = facts
    return Holding(comm.rank, comm.size, [Version(step, position, losses, w, own, kept)])


def _have(held: Holding, step: int, n: int, part: range) -> np.ndarray:
    """The averages of these elements, which are of one old shard: this rank's own, or the one it keeps."""
    version, cut = held.at(step), owners(n, held.ranks)
    for shard, array in ((cut[held.rank], version.own), (cut[held.rank - 1], version.kept)):
        if shard.start <= part.start and part.stop <= shard.stop:
            return array[:, part.start - shard.start : part.stop - shard.start]
    raise AssertionError(f"elements {part} are in no shard that this rank has")


def haul(comm, held_by, wanted: list[range], have: Callable[[range], np.ndarray]) -> np.ndarray:
    """[2, elements] of what this rank wants, from who has it; have(elements) gives what is here. Collective."""
    own = np.empty((2, len(wanted[comm.rank])))
    first, arriving = wanted[comm.rank].start, []
    with settled(comm) as requests:
        for move in hauls(held_by, wanted):
            part = range(move.start, move.stop)
            into = own[:, move.start - first : move.stop - first]
            if move.source == move.dest == comm.rank:
                into[:] = have(part)
            elif move.source == comm.rank:
                requests.append(comm.Isend(np.ascontiguousarray(have(part)), move.dest, HAUL_TAG))
            elif move.dest == comm.rank:
                arriving.append((into, np.empty((2, len(part)))))
                requests.append(comm.Irecv(arriving[-1][1], move.source, HAUL_TAG))
    for into, array in arriving:
        into[:] = array
    return own


def take_steps(
    comm, problem: Any, held: Holding, steps: int, rule: Rule, fallback: Callable[[], Whole] | None = None
) -> None:
    """Train until `steps` steps are taken, from what these ranks hold. Collective; raises TooFew as `recover` does."""
    recover(comm, problem, held, fallback)
    while held.versions[-1].step < steps:
        held.add(take_step(comm, problem, held.versions[-1], *rule(comm.size)))


def train_sharded(
    comm, problem: Any, steps: int, rule: Rule, fallback: Callable[[], Whole] | None = None, fewest: int = 1
) -> tuple[Version, Any]:
    """Train on as many ranks as live; (this rank's last version, the communicator of the survivors). Collective.

    rule      which global batch and learning rate so many ranks take
    fallback  reads the whole state of some step, the same on all ranks, when a shard is lost
    Raises TooFew if less than `fewest` ranks are left, or a shard is lost and there is no fallback.
    """
    held = begin(comm, problem)
    _, comm = survive(comm, lambda comm: take_steps(comm, problem, held, steps, rule, fallback), fewest)
    return held.versions[-1], comm

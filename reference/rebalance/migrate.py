"""Migration: rows change owners while training goes on; old and new exist side by side until all ranks switch.

Idea      A rank sends copies of the rows that leave, and goes on working with what it has. When every copy has arrived,
          all ranks take the new rows in the same step, or none does. The vote is one all-reduce, and carries the proof
          with it: rows and a fingerprint of all new rows of all ranks must be those of all old rows.
          An optimizer's state rests from the end of one step to the end of the next backward pass. That is the window
          for its rows: a copy of something that has changed since is worthless, and its fingerprint shows it.
Before    rank 0: a b c d e f   rank 1: g h
          while e and f travel, rank 0 still has both of them, and they count there only
After     rank 0: a b c d       rank 1: e f g h
Sends     The rows that move, once; an all-gather of 64 letters to begin, an all-reduce of 40 bytes for each vote.
Exact     The bits of every row. Lost, doubled, swapped and altered rows change the fingerprint, a sum of all elements'
          bits times odd numbers that tell places apart, modulo 2^64.
Left out  A rank that dies in between: some rows have one copy only. Rows that change on the way, and are sent again.
Source    Clark et al., "Live Migration of Virtual Machines" (2005): copy while it runs, and stop only for the switch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .. import mpi
from ..agreement import agree

BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class Moving(NamedTuple):
    """A move under way: the owners after it, the new tensors, and what is still travelling."""

    owner: np.ndarray
    tensors: list[Tensor]
    requests: list
    arriving: list[tuple[Tensor, np.ndarray, Tensor]]  # (new tensor, its rows, what comes)
    leaving: list[Tensor]  # sent from here; alive until they are gone


class SharedRows:
    """This rank's rows of tensors that all ranks share: of each the rows of the units that it owns, in their order.

    comm      used for nothing else meanwhile (comm.Dup())
    owner     the rank that owns each unit, [units], the same on all ranks
    tensors   [own units, ...] each, contiguous
    Raises ValueError on every rank if owners differ between ranks, or a tensor has another number of rows.
    """

    def __init__(self, comm, owner: np.ndarray, tensors: Sequence[Tensor]):
        self.comm, self.owner, self.tensors = comm, np.asarray(owner), list(tensors)
        self.moving: Moving | None = None
        wrong = [len(tensor) for tensor in self.tensors if len(tensor) != len(self.units)]
        self._agree(self.owner, f"{len(self.units)} units, and tensors of {wrong} rows" if wrong else "")

    @property
    def units(self) -> np.ndarray:
        """The units that this rank owns, in order."""
        return np.flatnonzero(self.owner == self.comm.rank)

    def begin(self, owner: np.ndarray) -> None:
        """Start to send the rows that change owners. Collective; training goes on with `tensors` meanwhile.

        Raises ValueError on every rank if the ranks name different owners, or a move is under way.
        """
        owner = np.asarray(owner)
        busy = "a move is under way: switch first" if self.moving else ""
        strange = owner.shape != self.owner.shape or owner.min() < 0 or owner.max() >= self.comm.size
        self._agree(owner, busy or ("each unit has one owner among the ranks" if strange else ""))
        new_units = np.flatnonzero(owner == self.comm.rank)
        requests: list = []
        new, arriving, leaving = [], [], []
        for number, old in enumerate(self.tensors):
            tensor = old.new_empty((len(new_units), *old.shape[1:]))
            stays = np.intersect1d(self.units, new_units)
            tensor[_places(new_units, stays)] = old[_places(self.units, stays)]
            for peer in (rank for rank in range(self.comm.size) if rank != self.comm.rank):
                theirs = np.flatnonzero((self.owner == peer) & (owner == self.comm.rank))
                ours = np.flatnonzero((self.owner == self.comm.rank) & (owner == peer))
                if len(theirs):
                    come = old.new_empty((len(theirs), *old.shape[1:]))
                    requests.append(self.comm.Irecv(come, source=peer, tag=number))
                    arriving.append((tensor, _places(new_units, theirs), come))
                if len(ours):
                    leaving.append(old[_places(self.units, ours)])
                    requests.append(self.comm.Isend(leaving[-1], dest=peer, tag=number))
            new.append(tensor)
        self.moving = Moving(owner, new, requests, arriving, leaving)

    def arrived(self) -> bool:
        """Whether all that this rank sends and receives has arrived; it asks no other rank."""
        return self.moving is None or mpi.testall(self.moving.requests)

    def switch(self, wait: bool = True) -> bool:
        """Take the new rows if all ranks can, and tell whether they were taken. Collective.

        Without `wait` a rank whose rows have not all arrived votes no: all keep the old ones, and may ask again. If the
        new rows are not the old ones, because something was lost or because the old ones have changed since `begin`,
        all keep the old ones and the move is dropped: `moving` is None then.
        """
        moving = self.moving
        if moving is None:
            return False
        if wait:
            mpi.waitall(moving.requests)
        late = not self.arrived()
        votes = torch.zeros(5, dtype=torch.int64)
        votes[0] = late
        if not late:
            for tensor, rows, come in moving.arriving:
                tensor[rows] = come
            after = np.flatnonzero(moving.owner == self.comm.rank)
            votes[1:3] = _proof(self.units, self.tensors)
            votes[3:5] = _proof(after, moving.tensors)
        self.comm.Allreduce(mpi.IN_PLACE, votes)
        if votes[0]:
            return False
        self.moving = None
        if not torch.equal(votes[1:3], votes[3:5]):
            return False
        self.owner, self.tensors = moving.owner, moving.tensors
        return True

    def _agree(self, owner: np.ndarray, error: str) -> None:
        lines = [hashlib.sha256(np.ascontiguousarray(owner, dtype=np.int64).tobytes()).hexdigest()]
        agree(self.comm, "the owners of the units", lines, error)


def _places(units: np.ndarray, some: np.ndarray) -> np.ndarray:
    """At which rows of a tensor with these units the units `some` are."""
    return np.searchsorted(units, some)


def _proof(units: np.ndarray, tensors: Sequence[Tensor]) -> Tensor:
    """Rows, and the sum of their fingerprints: two numbers that can be added over the ranks, int64 [2]."""
    return torch.tensor([len(units), sum(fingerprint(units, tensor) for tensor in tensors) % 2**63])


def fingerprint(units: np.ndarray, tensor: Tensor) -> int:
    """A number that tells the bits of rows [units, ...]; those of the ranks' parts add up to that of all, mod 2^63."""
    bits = tensor.contiguous().view(BITS[tensor.element_size()]).reshape(len(units), -1).to(torch.int64) + 1
    width = bits.shape[1]
    places = torch.as_tensor(units)[:, None] * width + torch.arange(width)
    return int((bits * (2 * places + 1)).sum()) % 2**63

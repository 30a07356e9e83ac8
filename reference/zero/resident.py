"""Groups whose whole weights stay on every rank, as in stages 1 and 2, and the sums that are on their way to them.

Idea      Where each parameter lies together in the gathered vector (shards.py), that vector is the weights: parameters
          are views of it, and so is the shard, unless it is a master copy of another type. The optimizer then steps a
          part of the weights themselves, and the all-gather fills in the others.
Price     By rows: a shard of its own, and a gathered vector of one group at a time, which is copied out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .. import mpi
from .group import Group


class Resident(Group):
    """A group of parameters that are whole on every rank between steps; `master` is this rank's shard of them."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.take()

    def take(self) -> None:
        """Let the parameters lie where they belong, and make their values those of the shard."""
        whole = torch.empty(self.comm.size * self.n, dtype=self.dtype, device=self.device)
        own = self.sharding.pack(self.parameters, whole)[self.comm.rank * self.n :][: self.n]
        self._wholes, self._memory = [], []
        self.install(whole)
        if self.sharding.together and self.master.dtype == self.dtype:
            self.master = own
            for piece, view in zip(self.pieces, self.sharding.split(own, self.comm.rank)):
                piece.data = view
        else:
            self.master.copy_(own)
            self.hold_master()


def gather_all(groups: Sequence[Group]) -> None:
    """Make the whole weights of all groups those of the ranks' shards. Collective."""
    under_way = [(group, *group.start_gather()) for group in groups]
    mpi.waitall([request for _, _, request in under_way])
    for group, gathered, _ in under_way:
        group.install(gathered)


class Reduction:
    """A reduce-scatter under way, as a request: once it is complete, what has arrived is in the group's gradients.

    sent      memory that must stay until then, or None
    received  [n] where the sum of this rank's shard arrives; None once it has
    """

    def __init__(self, group: Group, sent: Tensor | None, received: Tensor, request: Any):
        self.group, self.sent, self.request = group, sent, request
        self.received: Tensor | None = received
        self.complete = False

    def Test(self) -> bool:
        """Whether it is complete."""
        if not self.complete and self.request.Test():
            self._arrived()
        return self.complete

    def Wait(self, status=None) -> None:
        """Return when it is complete. There is no status to tell."""
        if not self.complete:
            self.request.Wait()
            self._arrived()

    @staticmethod
    def Waitall(requests: Sequence[Reduction], statuses=None) -> None:
        """Wait for all of them; what mpi.waitall calls."""
        for request in requests:
            request.Wait()

    def _arrived(self) -> None:
        self.complete, self.sent, self.request = True, None, None  # a request keeps what it has sent
        if self.received is not None:
            self.group.add(self.received)
        self.received = None

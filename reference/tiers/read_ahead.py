"""Reading ahead: tensors of a file tier that are needed in the same order in each step are there when they are needed.

Idea      The first step tells the order. From then on, when one tensor is taken, reads of the next ones begin, and they
          go on while the rank computes with this one.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

from .blocks import TierError, pinned
from .engine import Job
from .files import FileTier

Shard = tuple[str, int, torch.dtype]  # name, elements, type


class ReadAhead:
    """Reads shards of weights in the order of the last step, `ahead` of the one that is taken.

    ahead + 1 buffers are all the memory that this takes. A shard that is not the one that was read ahead is read when
    it is taken, and so are those behind it, until the step ends.
    """

    def __init__(self, files: FileTier, ahead: int):
        self.files, self.ahead, self.error = files, ahead, ""
        self.buffers_made = 0
        self._known: list[Shard] = []  # what was taken in the last step, in order
        self._taken: list[Shard] = []
        self._coming: dict[int, tuple[Job, Tensor]] = {}  # by the place in that order
        self._free: list[Tensor] = []
        self._lent: list[Tensor] = []

    def take(self, shard: Shard) -> Tensor:
        """A shard [n], which stays what it is until the next one is taken; NaN if it cannot be read."""
        place = len(self._taken)
        self._taken.append(shard)
        self._free += self._lent
        if self._known[place : place + 1] != [shard]:
            self._forget()
        job, buffer = self._coming.pop(place) if place in self._coming else self._start(shard)
        self._lent = [buffer]
        for number, following in enumerate(self._known[place + 1 : place + 1 + self.ahead], place + 1):
            if number not in self._coming:
                self._coming[number] = self._start(following)
        _, n, dtype = shard
        with _disable_current_modes():  # these buffers are the host's
            weights = buffer[: n * dtype.itemsize].view(dtype)
            try:
                job.wait()
            except TierError as error:
                self.error = self.error or str(error.strerror)
                weights.fill_(torch.nan)
        return weights

    def end_of_step(self) -> None:
        """Remember the order, and forget what was read ahead: the step changes it."""
        self._forget()
        self._known, self._taken = self._taken, []

    def _forget(self) -> None:
        for job, buffer in self._coming.values():
            job.settle()
            self._free.append(buffer)
        self._known, self._coming = [], {}

    def _start(self, shard: Shard) -> tuple[Job, Tensor]:
        name, n, dtype = shard
        nbytes = n * dtype.itemsize
        self.buffers_made += not self._free
        with _disable_current_modes():
            buffer = self._free.pop() if self._free else pinned(nbytes, torch.uint8)
            buffer = buffer if len(buffer) >= nbytes else pinned(nbytes, torch.uint8)
            return self.files.start_read(name, buffer[:nbytes]), buffer

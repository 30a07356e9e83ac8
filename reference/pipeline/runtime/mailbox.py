"""Mail: what a rank of a pipeline receives and sends around its actions, without ever blocking a neighbour.

Idea      Never a blocking send: two neighbours may both be sending, one an activation, the other a gradient. Sends are
          begun, and their memory is kept until they are complete.
          Receives are posted some actions early, so that a message finds its memory while its receiver still computes.
          Most MPIs move a large message only when both sides have called MPI: a receive that is posted late makes the
          message wait, and one that is posted early occupies memory.
Sends     what messages.py has derived; nothing for a boundary that needs no gradients (boundaries.py).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import torch
from torch import Tensor

from ... import mpi
from ..messages import Message, messages
from ..schedule import Schedule
from .boundaries import Boundary
from .shared import raw


class P2PMailbox:
    """The messages of one rank. `place` counts the actions of its order, from 0.

    ahead     how many actions early receives are posted
    device    where what comes is put

    here      {(kind, stage, micro-batch): what has come, or was made on this rank for another stage of it}
    """

    def __init__(self, comm, schedule: Schedule, ahead: int, device: torch.device | None):
        self.comm, self.ahead, self.device = comm, ahead, device
        self.order, self.exchanges = schedule.orders[comm.rank], messages(schedule)[comm.rank]
        self._sent: deque[tuple[mpi.Request, Tensor]] = deque()

    def begin(self, boundaries: Sequence[Sequence[Boundary]]) -> None:
        """Get ready for a step; of each micro-batch what each stage hands on."""
        self.boundaries, self._posted = boundaries, 0
        self.here: dict[tuple[str, int, int], Tensor] = {}
        self._coming: dict[Message, tuple[Tensor, mpi.Request]] = {}

    def receive(self, place: int) -> None:
        """Wait for what the action in this place needs from other ranks."""
        self._post(place + self.ahead)
        for message in self.exchanges[place].receives:
            if message in self._coming:
                x, request = self._coming.pop(message)
                mpi.wait(request)
                self.here[message[:3]] = x

    def hand_on(self, place: int, result: Tensor) -> None:
        """Begin to send what the action in this place has made, or keep it for another stage of this rank."""
        if not self.exchanges[place].sends:
            kind, s, i = self.order[place]
            self.here[("activation", s, i) if kind == "F" else ("gradient", s - 1, i)] = result
        for message in self.exchanges[place].sends:
            result = result.contiguous()
            self._sent.append((self.comm.Isend(raw(result), message.peer, message.tag), result))
        while self._sent and self._sent[0][0].Test():  # free what is complete, and let MPI move the rest on
            self._sent.popleft()

    def finish(self) -> None:
        """Wait until everything has been sent."""
        while self._sent:
            mpi.wait(self._sent[0][0])
            self._sent.popleft()

    def _post(self, place: int) -> None:
        """Post the receives of all actions up to this place."""
        while self._posted <= min(place, len(self.order) - 1):
            for message in self.exchanges[self._posted].receives:
                boundary = self.boundaries[message.micro][message.stage]
                if message.kind == "activation" or boundary.requires_grad:
                    x = torch.empty(boundary.shape, dtype=boundary.dtype, device=self.device)
                    self._coming[message] = x, self.comm.Irecv(raw(x), message.peer, message.tag)
            self._posted += 1

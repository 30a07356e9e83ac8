"""ZeRO-Infinity: weights and the optimizer's state lie in files; the rank has the units that compute, and gradients.

Idea      Stage 3 leaves a rank 1/P of everything, and that may still be too much. Put it into a tier of files. Before a
          unit is gathered this rank reads its shard of the weights, and those of the next units are read ahead. After
          the backward pass the optimizer's state is read, stepped and written back shard by shard:

              read    |r0|r1|r2|..|r3|               a shard is read into one of a few buffers, stepped there, and
              step       |s0|s1|..|s2|s3|            written from there; the buffer is then free for another shard
              write         |w0   |w1   |w2   |w3   |
Before    on the rank (2 + 2 + 12) Psi / P, and units that are whole (stage 3; Adam, mixed precision)
After     on the rank 2 Psi / P gradients, and units that are whole; in the host's memory a few buffers, as large as the
          largest shard; in files 2 Psi / P weights and 12 Psi / P optimizer, and while a step is written as much again
Sends     What stage 3 sends. From files: weights for each gather; to files: only what the step has changed. A forward
          or backward pass changes no weights, so nothing is written behind it; a frozen unit is written once.
Price     A step takes at least as long as its reads and writes: nothing computes meanwhile.
Exact     The serial program's steps. A step counts on all ranks or on none (tiers/files.py). A rank that cannot read
          its weights goes on with NaN, so that no other waits for it; `step` then raises on all ranks.
Left out  Gradients in files; activations in the host's memory; layers that do not fit as a whole (tiling).
Source    Rajbhandari et al., "ZeRO-Infinity: Breaking the GPU Memory Wall for Extreme Scale Deep Learning" (2021).
Try       stage = Infinity(comm, model, torch.optim.Adam, FileTier(comm, "/nvme/run7", tier("NVMe, 4 of Gen 4")))
          stage.backward(*loss_sum(model, batch)); stage.step(clip=1.0)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils._python_dispatch import _disable_current_modes

from ..tiers.blocks import TierError, pinned
from ..tiers.engine import Engine, Job
from ..tiers.files import FileTier
from ..tiers.read_ahead import ReadAhead
from .clip import clip_global_norm
from .group import Group
from .offload import no_time
from .optimizer import MakeOptimizer, Named
from .stage3 import Stage3


class FileGroup(Group):
    """A group whose shard of the weights lies in a file, and is read when it is to be gathered."""

    def __init__(self, reader: ReadAhead, *arguments: Any, **options: Any):
        with _disable_current_modes():  # what is made here is the host's memory, not this rank's
            super().__init__(*arguments, **options)
        self.reader, self.name = reader, ""

    def own_weights(self) -> Tensor:
        """What the file has."""
        return self.reader.take((self.name, self.n, self.dtype))

    def leave(self) -> None:
        """Let go of the shard: master and pieces have no elements."""
        self.master.untyped_storage().resize_(0)
        for piece in self.pieces:
            piece.data = piece.data.new_empty(0)


class Infinity(Stage3):
    """Stage 3 with weights and optimizer state in files. Used like Stage3.

    files           where; a state that is whole there is gone on from, and its step is `stage.steps`
    step_seconds    elements -> seconds in which the host steps them, on the virtual clock
    buffers         shards of the optimizer's state that are in memory at a time: read, stepped, written
    read_ahead      shards of the weights that are read before they are needed
    options         of Stage3

    stage.host      the engine that steps, with its records
    Raises ValueError on every rank as Stage3 does. `step` raises TierError on every rank if files of one could not be
    read or written; then the last state is whole, this object is of no more use, and one can go on with a new one.
    """

    def __init__(
        self,
        comm: Any,
        module: nn.Module,
        make_optimizer: MakeOptimizer,
        files: FileTier,
        step_seconds: Callable[[int], float] = no_time,
        buffers: int = 3,
        read_ahead: int = 2,
        **options: Any,
    ):
        if buffers < 1 or read_ahead < 0:
            raise ValueError(f"1 or more buffers, and 0 or more read ahead: got {buffers=}, {read_ahead=}")
        self.files, self.step_seconds, self.host = files, step_seconds, Engine(comm, "host")
        self.reader, self.buffers = ReadAhead(files, read_ahead), buffers
        super().__init__(comm, module, make_optimizer, make_group=partial(FileGroup, self.reader), **options)
        self.rows = 1 + state_tensors(make_optimizer, self.trained[0].master.dtype)
        self._keys: list[list[str]] = [[] for _ in self.trained]  # of each group, which state lies in rows 1, 2, ...
        self.steps = 0
        self._failed = ""
        for number, group in enumerate(self._paged(self.groups)):
            group.name = f"weights{number}"
        if files.step is None:
            self._write_first()
        else:
            self._go_on()
        for group in self._paged(self.groups):
            group.leave()

    def step(self, clip: float | None = None) -> float | None:
        """A step, shard by shard; the norm that the gradient had, with `clip`. Collective.

        Raises TierError on every rank if files could not be read or written: none has taken the step, then.
        """
        if self._failed:
            raise RuntimeError(f"an earlier step has failed: {self._failed}. Go on with a new Infinity")
        if not self._has_gradients():
            raise RuntimeError("step() needs the gradients of a backward pass with sync=True, and each only once")
        if clip is not None and not clip > 0:
            raise ValueError(f"a gradient is clipped to a norm above 0, got {clip}")
        self.update_weights()
        self.reader.end_of_step()
        gradients = [group.gradient for group in self.trained if group.gradient is not None]
        norm = None if clip is None else clip_global_norm(self.comm, gradients, clip)
        error = self.reader.error or self._page()
        try:
            self.files.commit(self.steps + 1, error, None if error else self._rest())
        except TierError as error:
            self._failed = str(error.strerror or error)
            raise
        self.steps += 1
        return norm

    # Between steps ----------------------------------------------------------------------------------------------------

    def bring(self) -> None:
        """Read weights and state of all shards into memory. Raises TierError, on this rank."""
        for number, group in enumerate(self._paged(self.trained)):
            with _disable_current_modes():
                state = torch.empty(self.rows, group.n, dtype=group.master.dtype)
            self.files.start_read(f"state{number}", state).wait()
            self._install(number, group, state)

    def let_go(self, changed: bool) -> None:
        """Write what `bring` has read, if it was changed, and let go of it. Collective; raises TierError as `step`."""
        for number, group in enumerate(self._paged(self.trained)):
            keys = shaped_keys(self.optimizer, group.pieces)
            with _disable_current_modes():
                state = torch.zeros(self.rows, group.n, dtype=group.master.dtype)
            weights, *rows = [self.parts(group, row) for row in state]
            for i, piece in enumerate(group.pieces):
                weights[i].copy_(piece.detach())
                for key, row in zip(keys, rows):
                    row[i].copy_(self.optimizer.state[piece].pop(key))
            if changed:
                self._keys[number] = keys
                self.files.start_write(f"state{number}", state)
                self.files.start_write(group.name, state[0].to(group.dtype))
            group.leave()
        if changed:
            self.files.commit(self.steps, note=self._rest())

    # Shard by shard ---------------------------------------------------------------------------------------------------

    def _page(self) -> str:
        """Have all shards read, stepped and written, those of one buffer after each other; what went wrong until then.

        The last writes may still be under way.
        """
        last: list[list[Job]] = [[] for _ in range(self.buffers)]
        size = max(group.n for group in self.trained)
        with _disable_current_modes():
            rows = [pinned(self.rows * size, self.trained[0].master.dtype) for _ in last]
            shorts = [pinned(size * 8, torch.uint8) for _ in last]
        for number, group in enumerate(self._paged(self.trained)):
            slot = number % self.buffers
            state = rows[slot][: self.rows * group.n].view(self.rows, group.n)
            weights = shorts[slot][: group.n * group.dtype.itemsize].view(group.dtype)
            read = self.files.start_read(f"state{number}", state, last[slot])
            take = partial(self._step_shard, number, group, state, weights)
            stepped = self.host.submit(f"step {number}", self.step_seconds(group.n), take, [read])
            last[slot] = [
                self.files.start_write(f"state{number}", state, [stepped]),
                self.files.start_write(group.name, weights, [stepped]),
            ]
        try:
            self.host.drain()
        except TierError as error:
            return str(error.strerror)
        return ""

    def _step_shard(self, number: int, group: FileGroup, state: Tensor, weights: Tensor) -> None:
        """On the host: step this group's pieces, which lie in row 0 of state [rows, n]; the others have no gradient."""
        parts = self._install(number, group, state)
        group.set_gradients()
        self.optimizer.step()
        group.clear()
        self._keys[number] = keys = shaped_keys(self.optimizer, group.pieces)
        for i, piece in enumerate(group.pieces):
            for key, row in zip(keys, parts[1:]):
                row[i].copy_(self.optimizer.state[piece].pop(key))  # new ones, in the first step; else it lies there
        weights.copy_(state[0])
        group.leave()

    def _install(self, number: int, group: FileGroup, state: Tensor) -> list[list[Tensor]]:
        """Make the rows of a state [rows, n] the pieces and what is kept of them; the rows as views, by piece."""
        parts = [self.parts(group, row) for row in state]
        for i, piece in enumerate(group.pieces):
            piece.data = parts[0][i]
            for key, row in zip(self._keys[number], parts[1:]):
                self.optimizer.state[piece][key] = row[i]
        return parts

    @staticmethod
    def _paged(groups: list[Group]) -> list[FileGroup]:
        """They are of this kind: make_group makes no other."""
        return cast(list[FileGroup], groups)

    def parts(self, group: FileGroup, row: Tensor) -> list[Tensor]:
        """A row [n] as views, one for each piece."""
        return group.sharding.split(row, self.comm.rank)

    # The state --------------------------------------------------------------------------------------------------------

    def _rest(self) -> dict:
        """What of the optimizer's state is no vector, such as Adam's count of steps, of each piece."""
        rest = [
            [{key: _plain(value) for key, value in self.optimizer.state[piece].items()} for piece in group.pieces]
            for group in self.trained
        ]
        return {"keys": self._keys, "rest": rest}

    def _write_first(self) -> None:
        jobs = []
        for number, group in enumerate(self.trained):
            with _disable_current_modes():
                state = torch.zeros(self.rows, group.n, dtype=group.master.dtype)
                state[0] = group.master
            jobs.append(self.files.start_write(f"state{number}", state))
        for group in self._paged(self.groups):
            with _disable_current_modes():
                weights = group.master.to(group.dtype, copy=True)
            jobs.append(self.files.start_write(group.name, weights))
        self.files.commit(0, note=self._rest())

    def _go_on(self) -> None:
        self.steps, self._keys = self.files.step or 0, self.files.note["keys"]
        for group, of_pieces in zip(self.trained, self.files.note["rest"]):
            for piece, rest in zip(group.pieces, of_pieces):
                self.optimizer.state[piece] = {key: _restored(value) for key, value in rest.items()}


def shaped_keys(optimizer: Optimizer, pieces: list[nn.Parameter]) -> list[str]:
    """The names of the state that has a number for each element."""
    return sorted(
        {
            key
            for piece in pieces
            for key, value in optimizer.state[piece].items()
            if isinstance(value, Tensor) and value.shape == piece.shape and value.dim()
        }
    )


def state_tensors(make_optimizer: MakeOptimizer, dtype: torch.dtype) -> int:
    """How many numbers an optimizer keeps of each element: 2 for Adam. Tried on one element."""
    named: Named = [("weight", nn.Parameter(torch.ones(1, dtype=dtype)))]
    optimizer = make_optimizer(named)
    named[0][1].grad = torch.ones(1, dtype=dtype)
    optimizer.step()
    return len(shaped_keys(optimizer, [named[0][1]]))


def _plain(value: Any) -> Any:
    return {"tensor": value.item()} if isinstance(value, Tensor) else value


def _restored(value: Any) -> Any:
    return torch.tensor(value["tensor"]) if isinstance(value, dict) else value

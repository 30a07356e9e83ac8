"""A group: parameters that travel together, and this rank's shard of them.

Idea      Stages 1 and 2 have a group for each bucket of gradients, stage 3 one for each unit of the model. All that a
          stage does to a group is one of four moves:

              gather   the shards of all ranks become whole weights       all-gather, (P - 1) n elements from each rank
              reduce   whole gradients become shards of their sum         reduce-scatter, as many
              step     the optimizer changes the pieces of this rank's shard, which are parameters of their own
              free     whole weights, or whole gradients, are let go
Exact     The shard is what the optimizer knows. Where the weights are of 16 bits it is their master copy in float32,
          whose rounded values travel.
          `free` empties the memory of the whole weights, `gather` fills the same again: whatever the forward pass has
          kept of them for the backward pass (autograd keeps views, such as a transpose) sees what was gathered last.
          MPI cannot add bfloat16: such gradients are added in float32 unless told (`reduce_dtype`), at twice the bytes.
Source    Rajbhandari et al., "ZeRO" (2020), section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .. import mpi
from .shards import Cut, flat

SHORT = (torch.bfloat16, torch.float16)


def refill(tensor: Tensor) -> Tensor:
    """Give a tensor memory again that was freed (resized to 0), with any content; those that share it have it, too."""
    storage = tensor.untyped_storage()
    if storage.nbytes() != tensor.nbytes:  # else torch would move what is there
        storage.resize_(tensor.nbytes)
    return tensor


def hold_nothing(kind: str, *tensors: Tensor) -> None:
    """For a group whose memory nobody counts."""


class Group:
    """Parameters of one type and this rank's shard of them.

    master    [n] the shard of the weights, float32 where the weights have 16 bits; nobody else has it
    pieces    of each parameter, the part of `master` that is this rank's, a parameter itself: for the optimizer
    gradient  [n] the shard of the summed gradients; None until there is one. `set_gradients` makes it the pieces' .grad
    hold      told of what is allocated, with its kind: `Meter.hold`

    Raises ValueError if there are no parameters, or not all of one type, on one device, and trained or frozen alike.
    """

    def __init__(
        self,
        comm,
        parameters: Sequence[nn.Parameter],
        cut: Cut = flat,
        reduce_dtype: torch.dtype | None = None,
        hold: Callable[..., None] = hold_nothing,
    ):
        kinds = {(p.dtype, p.device, p.requires_grad) for p in parameters}
        if len(kinds) != 1:
            raise ValueError(f"a group has parameters of one type, device and requires_grad, got {len(kinds)} kinds")
        self.comm, self.parameters, self.hold = comm, list(parameters), hold
        ((self.dtype, self.device, self.trained),) = kinds
        self.sharding = cut([tuple(p.shape) for p in parameters], comm.size)
        wide = torch.float32 if self.dtype in SHORT else self.dtype
        self.reduce_dtype = reduce_dtype or wide
        self.master = self.sharding.shard(self.parameters, comm.rank).to(wide)
        views = self.sharding.split(self.master, comm.rank)
        self.pieces = [nn.Parameter(view, requires_grad=self.trained) for view in views]
        self._wholes: list[Tensor] = []  # the whole weights, from the first gather on
        self._memory: list[Tensor] = []  # what they are views of, or they themselves
        self.gradient: Tensor | None = None

    @property
    def n(self) -> int:
        """Elements of a shard, with padding."""
        return self.sharding.n

    def hold_master(self) -> None:
        """Tell of the shard: weights, or the optimizer's where it is a copy of another type."""
        self.hold("weights" if self.master.dtype == self.dtype else "optimizer", self.master)

    # Weights ----------------------------------------------------------------------------------------------------------

    def start_gather(self, again: bool = False) -> tuple[Tensor, Any]:
        """Begin to gather the weights: (the vector [P n] that they arrive in, a request). Collective.

        again: for the backward pass, after they were gathered for the forward pass and freed. Here that is the same.
        """
        gathered = self._room()
        own, weights = gathered[self.comm.rank * self.n :][: self.n], self.own_weights()
        if own.data_ptr() != weights.data_ptr():  # the shard may be a view of the whole
            own.copy_(weights)
        return gathered, self.comm.Iallgather(mpi.IN_PLACE, gathered)

    def _room(self) -> Tensor:
        """Memory for the gathered vector [P n]: what the whole weights are views of, where that is possible."""
        if self._memory and self.sharding.together:
            gathered = refill(self._memory[0])
        else:
            gathered = torch.empty(self.sharding.P * self.n, dtype=self.dtype, device=self.device)
        self.hold("weights", gathered)
        return gathered

    def own_weights(self) -> Tensor:
        """This rank's part of what is gathered [n]; where another tier has the master shard, what came from there."""
        return self.master

    def install(self, gathered: Tensor) -> None:
        """Make what has arrived the parameters' values."""
        if self.sharding.together:
            self._wholes = self._wholes or self.sharding.unpack(gathered)
            self._memory = [gathered]
        else:
            shapes = self.sharding.shapes
            self._wholes = self._memory = self._wholes or [gathered.new_empty(shape) for shape in shapes]
            self.sharding.copy_out(gathered, [refill(whole) for whole in self._wholes])
        self.hold("weights", *self._memory)
        for parameter, whole in zip(self.parameters, self._wholes):
            parameter.data = whole

    def gather(self) -> None:
        """Gather the weights, and make them the parameters' values. Collective."""
        gathered, request = self.start_gather()
        request.Wait()
        self.install(gathered)

    def free(self) -> None:
        """Let go of the parameters' values, but not of the shard: they have no elements until the next gather."""
        for parameter in self.parameters:
            parameter.data = parameter.data.new_empty(0)
        for tensor in self._memory:
            tensor.untyped_storage().resize_(0)
        self.hold("weights", *self._memory)

    # Gradients --------------------------------------------------------------------------------------------------------

    def start_reduce(self) -> tuple[Tensor, Tensor, Any]:
        """Begin to sum the parameters' gradients over the ranks: (what is sent, what arrives [n], a request).

        The gradients are moved: .grad is None afterwards. One that there is not counts as zeros. Keep what is sent
        until the request is complete, then `add` what has arrived. Collective.
        """
        whole, received = self._pack_gradients()
        return whole, received, self.start_sum(whole, received)

    def start_sum(self, whole: Tensor, received: Tensor | None = None) -> Any:
        """Begin to sum `whole` [P n] over the ranks, this rank's part into `received` [n]; a request. Collective.

        None: into the first n elements of `whole`, whose other elements are lost.
        """
        if received is None:
            return self.comm.Ireduce_scatter_block(mpi.IN_PLACE, whole)
        return self.comm.Ireduce_scatter_block(whole, received)

    def _pack_gradients(self) -> tuple[Tensor, Tensor]:
        """The parameters' gradients in one vector [P n], and memory for a shard of the sum [n]."""
        whole = torch.empty(self.sharding.P * self.n, dtype=self.reduce_dtype, device=self.device)
        received = torch.empty(self.n, dtype=self.reduce_dtype, device=self.device)
        gradients = [parameter.grad for parameter in self.parameters]
        self.hold("gradients", whole, received, *[gradient for gradient in gradients if gradient is not None])
        self.sharding.pack(gradients, whole)
        for parameter in self.parameters:
            parameter.grad = None
        return whole, received

    def add(self, received: Tensor) -> None:
        """Add a sum that has arrived [n] to the gradients of this shard."""
        if self.gradient is None:
            self.gradient = received.to(self.master.dtype)
            self.hold("gradients", self.gradient)
        else:
            self.gradient += received

    def reduce(self) -> None:
        """Sum the parameters' gradients over the ranks, and add this rank's part to its shard. Collective."""
        _whole, received, request = self.start_reduce()
        request.Wait()
        self.add(received)

    def set_gradients(self) -> None:
        """Let the pieces' gradients be views of the shard's."""
        if self.gradient is not None:
            for piece, part in zip(self.pieces, self.sharding.split(self.gradient, self.comm.rank)):
                piece.grad = part

    def clear(self) -> None:
        """Let go of the shard's gradients."""
        self.gradient = None
        for piece in self.pieces:
            piece.grad = None

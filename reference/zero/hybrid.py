"""Hybrid sharding (HSDP): shards inside a node, replicas across nodes.

Idea      Weights are gathered twice a step, so let them cross fast links only: cut them among the S ranks of a node,
          and keep one whole model a node. Gradients are reduce-scattered inside the node; then the ranks that have the
          same shard, one in each node, all-reduce it, an S-th of the model.
Before    shards of Psi / P, 3 Psi through the slowest link
After     shards of Psi / S; through the slowest link 2 Psi / S, in an all-reduce among P / S ranks
Sends     n = Psi / S elements a shard and R = P / S nodes: 3 (S - 1) n inside, 2 (R - 1) / R n across.
Exact     As without: the sum over all ranks, in another order. Replicas take the same steps in the same bits, because
          an all-reduce gives the same bits to all.
Source    Zhao et al., "PyTorch FSDP" (2023), section 3.2.2; a mesh of two dimensions in FSDP2. Zhang et al., "MiCS"
          (2022), has the same idea.
Try       Stage3(comm, module, torch.optim.Adam, make_group=hybrid(comm, ranks_per_node=8))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from .. import mpi
from ..data_parallel.groups import check_groups, groups
from .group import Group
from .resident import Resident


class Then:
    """A request, and what follows it: `after()` begins another request, or has nothing to wait for (None)."""

    def __init__(self, request: Any, after: Callable[[], Any]):
        self.request, self.after = request, after

    def Wait(self, status=None) -> None:
        """Return when both are complete. There is no status to tell."""
        while self.request is not None:
            self.request.Wait()
            self._go_on()

    def Test(self) -> bool:
        """Whether both are complete; begins the second one if the first is."""
        while self.request is not None and self.request.Test():
            self._go_on()
        return self.request is None

    def _go_on(self) -> None:
        self.request, self.after = self.after(), lambda: None


def nodes(comm, ranks_per_node: int) -> tuple[Any, Any]:
    """(the ranks of this rank's node, "shard"; those at its place in all nodes, "replicate"). Collective.

    Raises ValueError on every rank unless ranks_per_node divides the ranks.
    """
    if ranks_per_node < 1:
        raise ValueError(f"a node has at least 1 rank, got {ranks_per_node}")
    check_groups(comm.size, ranks_per_node, "node")
    inside, across = groups(comm, ranks_per_node, "shard")
    across.Set_name("replicate")
    return inside, across


class HybridGroup(Group):
    """A group that is cut among the ranks `inside` a node, and has replicas `across` nodes: for stage 3."""

    def __init__(self, inside, across, parameters, *arguments, **options):
        self.across = across
        super().__init__(inside, parameters, *arguments, **options)

    def start_sum(self, whole: Tensor, received: Tensor | None = None) -> Any:
        """As Group's, and then an all-reduce of what has arrived across nodes."""
        part = whole[: self.n] if received is None else received
        request = super().start_sum(whole, received)
        return Then(request, lambda: self.across.Iallreduce(mpi.IN_PLACE, part))


class HybridResident(HybridGroup, Resident):
    """The same for stages 1 and 2."""


def hybrid(comm, ranks_per_node: int, kind: Callable[..., Any] = HybridGroup) -> Callable[..., Any]:
    """What a stage takes as make_group; kind: HybridGroup, or HybridResident for stages 1 and 2. Collective."""
    inside, across = nodes(comm, ranks_per_node)

    def make_group(_comm, parameters, *arguments, **options):
        return kind(inside, across, parameters, *arguments, **options)

    return make_group

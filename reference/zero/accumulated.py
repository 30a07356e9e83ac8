"""ZeRO stage 1 behind a backward pass that somebody else runs: a pipeline's, whose micro-batches come in any order.

Idea      A pipeline adds up the gradients of its micro-batches in each parameter's .grad, and they are complete when
          the last one has passed. Then a reduce-scatter gives each rank the sum of its shard, it steps that, and an
          all-gather gives the new weights to all. No hooks: nothing goes on during the backward pass.
Before    whole weights, gradients and optimizer state of a stage on each of its P copies
After     whole weights and gradients, and 1 / P of the optimizer's state
Sends     2 (P - 1) / P n in all, as the all-reduce that it replaces, for any number of micro-batches.
Exact     Parameters that several stages hold (a tied embedding) are a group of their own: it has the same shards on all
          of them, so that sums are rounded alike and the copies stay the same.
Source    Rajbhandari et al., "ZeRO" (2020), section 5.1.
"""

from __future__ import annotations

from collections.abc import Sequence

from .optimizer import MakeOptimizer, Named, shard_optimizer
from .resident import Resident, gather_all
from .stage import Stage


class AccumulatedStage1(Stage):
    """This rank's shard of the optimizer's state, for gradients that lie in .grad.

    comm            the ranks that have the same parameters, with other data
    families        [(name, parameter)] of what is trained, in lists: each becomes a group; empty lists are left out
    make_optimizer  as for Stage1
    """

    groups: list[Resident]  # type: ignore[assignment]

    def __init__(self, comm, families: Sequence[Named], make_optimizer: MakeOptimizer):
        self.comm = comm
        self.groups = [Resident(comm, [parameter for _, parameter in family]) for family in families if family]
        self.optimizer = shard_optimizer(
            comm, make_optimizer, [one for family in families for one in family], self.groups
        )

    def sum(self) -> None:
        """Add up the ranks' .grad, each rank its shard; the parameters have none afterwards. Collective."""
        for group in self.groups:
            group.reduce()

    def update_weights(self) -> None:
        gather_all(self.groups)

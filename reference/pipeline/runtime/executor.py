"""The executor: carries out any schedule on a communicator, with torch's autograd and real messages.

Idea      A rank does the actions of its order one after the other. Before an action it waits for what comes from other
          ranks; after it, it sends what others need (mailbox.py). passes.py does F, B, I and W. Nothing here knows of
          any schedule by name.

              1F1B on two ranks, two micro-batches; x0: the activation of micro-batch 0, g0: the gradient for it
              rank 0  F0   F1   ..   B0   ..   B1
                         x0   x1   g0        g1
                         v    v    ^         ^
              rank 1  ..   F0   B0   F1   B1   ..

          When all its passes are done, a rank adds up the gradients of parameters that live in several places
          (shared.py); then S calls the optimizers. With weights "stash" or "double" S comes where it stands in the
          order, and a gradient is that of the mean over the micro-batches since the S before.
Sends     b s h numbers a boundary between two ranks for each micro-batch of b sequences of s tokens, as wide as h, and
          as many back; 16 bytes to agree on the micro-batches and 8 for the loss, in one all-reduce each.
Exact     Each micro-batch's loss is a sum over its targets, and its backward pass begins with 1 / n, n the targets of
          all micro-batches. So gradients need only be added, and micro-batches of unequal size count right.
Left out  Data parallelism over pipelines, and clipping by the norm of all gradients (chapter 11).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

import torch
from torch import Tensor, nn

from ... import mpi
from ...agreement import agree
from ...models import Data, cross_entropy_sum
from ...models.loss import targets
from ..analysis.validate import validate
from ..messages import check_tags
from ..schedule import Action, Schedule
from ..simulate import Times
from .boundaries import Boundaries, Foretold
from .mailbox import P2PMailbox
from .passes import Latest, Loss, Passes
from .shared import Shared
from .weights import Versions

Optimizers = Callable[[list[nn.Parameter]], torch.optim.Optimizer]


class Pipeline:
    """This rank's part of a pipeline.

        stages = cut(model, ends)
        pipeline = Pipeline(comm, schedule, stages)
        loss = pipeline.step(micro_batches)

    schedule     what every rank does; the same on all
    stages       all stages, of which each rank takes its own; or this rank's only: number -> module. On one device
    loss         (output of the last stage, targets) -> the SUM of the loss over the targets that count
    recompute    the stages that keep their input only, and compute the rest again; the same on all ranks
    optimizer    makes an optimizer of a list of parameters: `lambda w: torch.optim.SGD(w, lr=0.1)`. Each stage gets one
                 of its own, which S calls. None: gradients are computed and nothing is updated
    seed         for dropout
    ahead        how many actions early receives are posted, 0 or more: how much memory waits for messages
    foretold     what each stage hands on for an x of a micro-batch (boundaries.py); needed by stages that communicate

    Afterwards `pipeline.stages` are this rank's: number -> module.

    Collective. Raises ValueError on every rank for another number of ranks, for stages that are not the schedule's, and
    for a schedule that is not valid, not the same on all ranks, or of several steps with a flush.
    """

    def __init__(
        self,
        comm,
        schedule: Schedule,
        stages: Sequence[nn.Module] | Mapping[int, nn.Module],
        loss: Loss = cross_entropy_sum,
        recompute: Collection[int] = (),
        optimizer: Optimizers | None = None,
        seed: int = 0,
        ahead: int = 1,
        foretold: Foretold | None = None,
    ):
        _check(comm, schedule, recompute, ahead)
        self.comm, self.schedule, self.order = comm, schedule, schedule.orders[comm.rank]
        self.stages = _own(comm, schedule, stages)
        self.shared = Shared(comm, self.stages, schedule.weights)
        self.optimizers = _one_each(self.stages, optimizer) if optimizer else {}
        flush, with_optimizers = schedule.weights == "flush", (self.stages, self.optimizers)
        self.weights = Latest(*with_optimizers) if flush else Versions(*with_optimizers, schedule)
        self.passes = Passes(self.weights, schedule.stages - 1, loss, schedule.splits, set(recompute), seed)
        self._when: dict[Action, tuple[float, float]] = {}
        self._flush, self._turns = flush, _turns(schedule, comm.rank)
        self._boundaries = Boundaries(comm, schedule, self.stages, foretold)
        device = next((p.device for stage in self.stages.values() for p in stage.parameters()), None)
        self._mail = P2PMailbox(comm, schedule, ahead, device)

    def step(self, micro_batches: Sequence[Data], step: int = 0, count: float | None = None) -> float:
        """Carry out the schedule once; the mean loss over all targets that count, on every rank.

        micro_batches: the same on all ranks; their sizes may differ. step: its number, for dropout. count: of how many
        targets it is the mean, where other pipelines have more: then losses and gradients of all of them can be added.
        After a "flush" schedule each .grad is the gradient of that mean; with an optimizer the weights are updated.
        Raises ValueError on every rank if the micro-batches do not fit the schedule or the stages.
        """
        self._begin(micro_batches, step, count)
        for turn in self._turns:
            for place in turn:
                self._mail.receive(place)
            self._take(turn)
        self._update()
        self._mail.finish()
        return self._mean_loss()

    @property
    def seen(self) -> dict[tuple[int, int], int]:
        """(stage, micro-batch) -> how many updates of the last step the weights that it met had seen."""
        return self.weights.seen

    @property
    def peak_activations(self) -> int:
        """The most micro-batches whose activations this rank held at a time, each stage counted for itself; of the last
        step, 0 before the first."""
        return self.passes.peak

    def times(self) -> Times:
        """When each action of the last step started and ended, the first at 0. Collective; clocks must agree.

        Raises RuntimeError before the first step.
        """
        if not self._when:
            raise RuntimeError("no step has been taken yet: call step() before times()")
        when = self.comm.allgather([self._when[action] for action in self.order])
        first = min((start for rank in when for start, _ in rank), default=0.0)
        starts = [[start - first for start, _ in rank] for rank in when]
        return Times(self.schedule, starts, [[end - first for _, end in rank] for rank in when])

    # The step ---------------------------------------------------------------------------------------------------------

    def _begin(self, micro_batches: Sequence[Data], step: int, count: float | None) -> None:
        self._mail.begin(self._boundaries.agree(micro_batches))
        self._x, counts = [data.x for data in micro_batches], [targets(data) for data in micro_batches]
        self._count = sum(counts) if count is None else count
        self._seeds = _seeds(counts, self.schedule) if count is None else [1 / max(count, 1)] * len(counts)
        self._losses: list[Tensor] = []  # and not their sum: a device need not be waited for before the end
        self._when = {}
        self.passes.begin(step, [data.y for data in micro_batches])
        for stage in self.stages.values():
            stage.zero_grad()

    def _take(self, turn: tuple[int, ...]) -> None:
        """Carry out the actions in these places of the order, which is one unless two run side by side."""
        start = mpi.wtime(self.comm)
        results = [self._carry_out(self.order[place]) for place in turn]
        end = mpi.wtime(self.comm)
        for place, result in zip(turn, results):
            self._when[self.order[place]] = start, end
            if result is not None:
                self._mail.hand_on(place, result)

    def _carry_out(self, action: Action) -> Tensor | None:
        """Do it; what another stage needs of it."""
        kind, s, i = action
        if kind == "F":
            return self._forward(s, i)
        if kind in "BI":
            return self.passes.backward(s, i, self._mail.here.pop(("gradient", s, i), None))
        if kind == "W":
            return self.passes.backward_for_weights(s, i)
        return self.weights.update(s)

    def _forward(self, s: int, i: int) -> Tensor | None:
        x = self._mail.here.pop(("activation", s - 1, i)) if s else self._x[i]
        if s:
            x.requires_grad_(self._mail.boundaries[i][s - 1].requires_grad)
        y = self.passes.forward(s, i, x)
        if s < self.passes.last:
            return y
        self._losses.append(y)
        self._mail.here["gradient", s, i] = torch.full_like(y, self._seeds[i])
        return None

    def _update(self) -> None:
        """The steps that wait for all passes of the rank."""
        if self._flush:
            self.shared.add_gradients()
            for place, action in enumerate(self.order):
                if action.kind == "S":
                    self._take((place,))

    def _mean_loss(self) -> float:
        total = torch.tensor([sum(loss.item() for loss in self._losses)], dtype=torch.float64)
        mpi.wait(self.comm.Iallreduce(mpi.IN_PLACE, total))
        return total.item() / max(self._count, 1)


def _turns(schedule: Schedule, rank: int) -> list[tuple[int, ...]]:
    """The places of a rank's order, those together that run side by side; without an S that waits for all passes."""
    pairs = schedule.overlapped[rank] if schedule.overlapped else ()
    seconds = {place + 1 for place in pairs}
    return [
        (place, place + 1) if place in pairs else (place,)
        for place, action in enumerate(schedule.orders[rank])
        if place not in seconds and not (action.kind == "S" and schedule.weights == "flush")
    ]


def _seeds(counts: Sequence[int], schedule: Schedule) -> list[float]:
    """What the backward pass of each micro-batch begins with: 1 / (the targets whose mean the update is for)."""
    last = schedule.stages - 1
    updates = sorted({a.micro for order in schedule for a in order if a.kind == "S" and a.stage == last})
    flush = schedule.weights == "flush"
    batches = [0 if flush else bisect_left(updates, i) for i in range(len(counts))]
    together = [sum(n for n, other in zip(counts, batches) if other == batch) for batch in batches]
    return [1 / max(n, 1) for n in together]


def _one_each(stages: Mapping[int, nn.Module], make: Optimizers) -> dict[int, torch.optim.Optimizer]:
    """An optimizer for each stage; a parameter that two stages share belongs to the first."""
    taken, optimizers = set(), {}
    for s, stage in sorted(stages.items()):
        own = [p for p in stage.parameters() if p.requires_grad and id(p) not in taken]
        taken |= {id(p) for p in own}
        if own:
            optimizers[s] = make(own)
    return optimizers


def _check(comm, schedule: Schedule, recompute: Collection[int], ahead: int) -> None:
    """Raise ValueError on every rank if one of them has something that does not fit."""
    orders, pairs = (" ".join(map(str, order)) for order in schedule), map(sorted, schedule.overlapped)
    agree(
        comm, "the schedules", [schedule.name, schedule.weights, *orders, *(f"overlapped {places}" for places in pairs)]
    )
    validate(schedule)
    _one_step(schedule)
    agree(comm, "the arguments of Pipeline", [f"recompute={sorted(recompute)} {ahead=}"])
    if comm.size != schedule.ranks:
        raise ValueError(
            f"{schedule.name} is made for {schedule.ranks} ranks, and {comm.size} are running: start with "
            f"mpirun -n {schedule.ranks}, or make the schedule for {comm.size}"
        )
    if ahead < 0 or not set(recompute) <= set(range(schedule.stages)):
        raise ValueError(
            f"receives are posted ahead >= 0 actions early, and recompute names stages of 0 ... {schedule.stages - 1}; "
            f"got {ahead=}, recompute={sorted(recompute)}"
        )
    check_tags(schedule.stages, schedule.micro_batches)


def _one_step(schedule: Schedule) -> None:
    """Raise ValueError for a schedule that flushes more than once: its steps would all be taken at the end."""
    steps = Counter((r, a.stage) for r, order in enumerate(schedule) for a in order if a.kind == "S")
    for (r, s), n in steps.items():
        if schedule.weights == "flush" and n > 1:
            raise ValueError(
                f"{schedule.name} has {n} optimizer steps of stage {s} on rank {r}, and one step with a flush has one: "
                f"make the schedule of one step, and call step() for each of the {n}"
            )


def _own(comm, schedule: Schedule, stages: Sequence[nn.Module] | Mapping[int, nn.Module]) -> dict[int, nn.Module]:
    """This rank's stages. Raises ValueError on every rank if one of them was given too few, or others."""
    found = comm.allgather(sorted(stages) if isinstance(stages, Mapping) else len(stages))
    for rank, (given, chunks) in enumerate(zip(found, schedule.chunks)):
        if given not in (chunks, schedule.stages):
            got = f"{given} stages" if isinstance(given, int) else given
            raise ValueError(
                f"rank {rank} has to be given the stages {chunks} of {schedule.name}, and got {got}: give each rank "
                f"all {schedule.stages}, or {{s: stages[s] for s in schedule.chunks[comm.rank]}}"
            )
    return {s: stages[s] for s in schedule.chunks[comm.rank]}

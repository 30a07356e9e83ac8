"""Training on a mesh: any combination of data, tensor, pipeline and context parallelism with ZeRO.

Idea      Each technique asks for one group only. tp and cp make a rank's part of a layer (gpt.py); pp cuts the chain of
          layers into stages, and a schedule runs the micro-batches; dp deals out the batch. To a parameter a token is a
          sample, so its gradient is averaged over dp and cp together, or cut there by ZeRO.

              who                             gets
              ranks with the same dp          the same samples of a batch
              ranks with the same dp, cp      the same tokens of them
              dp x cp group of a parameter    one gradient: the sum of all, by the number of all targets
Before    models.train(model, data, optimizer, ...)
After     the same losses and weights, but for the rounding of sums
Exact     Each rank's backward pass begins with 1 / n, n the targets of the whole batch. A rank of cp may not take its
          own number of targets instead, and weigh its gradient afterwards: its keys and values also get gradients from
          the other ranks' losses, which come with the other ranks' factors.
          A tied embedding on two stages is summed over both, then averaged in a message of its own, so that both copies
          get the same bits. Dropout has one seed for a dp x cp coordinate: tensor-parallel ranks and stages draw alike
          where they hold the same, and other samples are masked otherwise.
Left out  ZeRO-2 and 3 in a pipeline: a stage's gradients add up over the micro-batches, so they would be reduced, and
          weights gathered, once for each micro-batch instead of once a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from .. import mpi
from ..collectives import allreduce_together
from ..collectives.select import known
from ..data_parallel import replicate
from ..data_parallel.accumulation import micro_batches
from ..data_parallel.average import by_type, global_count, trained_gradients
from ..data_parallel.between import Between, InTraining, straight_on
from ..models import GPT, Data, batch, drawn_from
from ..models.loss import targets
from ..pipeline.runtime.executor import Pipeline
from ..pipeline.runtime.recompute import check_recompute, recompute_stages
from ..pipeline.runtime.trainer import PipelineResult, balanced
from ..pipeline.schedule import Schedule
from ..pipeline.stages import cut
from ..recompute.policies import recompute
from ..sequence_parallel import SequenceLayout, shard
from ..tensor_parallel import whole
from ..zero.accumulated import AccumulatedStage1
from ..zero.optimizer import MakeOptimizer
from ..zero.stage2 import Stage2
from ..zero.stage3 import Stage3
from ..zero.state import full_state
from .gpt import MeshGPT
from .mesh import Axes, Mesh
from .norm import clip_global_norm, first_held, in_short


class Composition(NamedTuple):
    """How a training is shared.

    axes       with "dp", "pp", "cp" and "tp", in any order
    schedule   of the pipelines, for as many ranks as "pp" has; it says how many micro-batches there are
    zero       0: averaged gradients; 1, 2, 3: the stage of ZeRO, over dp and cp together
    clip       the largest norm of a gradient
    recompute  a policy of recompute/policies.py: "none", "full", "selective", "every:K", "sqrt"
    tokens     which tokens of a sequence the ranks of cp have; attention: how their heads meet
    form       sequence, overlap, pad: as for tensor_parallel.GPT
    """

    axes: Axes
    schedule: Schedule
    zero: int = 0
    clip: float | None = None
    recompute: str = "none"
    tokens: SequenceLayout | None = None
    attention: str = "ring"
    form: Mapping[str, bool] = {}


def refused(how: Composition) -> str:
    """Why these cannot be combined, in one line, or nothing."""
    sizes, late = how.axes.sizes, how.schedule.weights != "flush"
    copies = sizes["dp"] * sizes["cp"]
    if how.zero > 1 and sizes["pp"] > 1:
        return (
            f"ZeRO-{how.zero} in a pipeline would here reduce gradients once for each of "
            f"{how.schedule.micro_batches} micro-batches, not once a step: take ZeRO-1, or 1 stage"
        )
    if late and (copies > 1 or how.zero or how.clip):
        what = f"{copies} copies of a stage" if copies > 1 else "ZeRO" if how.zero else "the norm of all gradients"
        return (
            f"{how.schedule.name} updates while micro-batches are under way, so there is no moment for {what}: take a "
            f"schedule that flushes"
        )
    try:
        check_recompute(how.recompute, how.schedule)
    except ValueError as error:
        return str(error)
    return ""


def train_on_mesh(
    comm,
    how: Composition,
    model: GPT,
    data: Data,
    make_optimizer: MakeOptimizer,
    steps: Iterable[int],
    size: int,
    seed: int = 0,
    between: Between = straight_on,
) -> PipelineResult:
    """Train the model in place on batches of `size` samples; in the end every rank has all of it.

    make_optimizer: gets [(name, parameter)], as for ZeRO. steps: their numbers; between: what happens between them.
    Collective. Raises ValueError on every rank for a mesh of another size, and for what `refused` tells.
    """
    if why := refused(how):
        raise ValueError(why)
    mesh = Mesh(comm, how.axes)
    replicate.broadcast_parameters(comm, model)
    ends = balanced(model, data.x[: max(size // how.schedule.micro_batches, 1)], how.schedule.stages)
    part = MeshGPT(mesh["tp"], mesh["cp"], model, how.tokens, how.attention, **how.form)
    training: OnePipeline | OneStage = (
        OneStage(mesh, part, how, make_optimizer, seed)
        if how.zero > 1
        else OnePipeline(mesh, part, how, make_optimizer, seed, ends)
    )
    losses, seconds, times = [], [], []
    for number in between(training.state(losses), steps):
        mine = batch(data, size, number, seed, mesh.coordinate("dp"), mesh.size("dp"))
        mine = mine if how.tokens is None else shard(mine, how.tokens, mesh.coordinate("cp"))
        start = mpi.wtime(comm)
        losses.append(training.step(mine, number))
        seconds.append(mpi.wtime(comm) - start)
        times += training.times()
    collect(mesh, part, training.weights(), model)
    return PipelineResult(losses, seconds, times, training.peaks())


class OnePipeline:
    """A rank's stages of a pipeline, with averaged gradients or ZeRO-1; one stage is a pipeline, too."""

    def __init__(self, mesh: Mesh, part: MeshGPT, how: Composition, make_optimizer: Any, seed: int, ends: tuple):
        self.mesh, self.how, self.copies = mesh, how, mesh["dp", "cp"]
        stages, S = cut(part, ends, part.links()), how.schedule.stages
        self.late = how.schedule.weights != "flush"
        self.pipeline = Pipeline(
            mesh["pp"],
            how.schedule,
            stages,
            part.loss,
            recompute=recompute_stages(part, stages, how.schedule, how.recompute),
            optimizer=make_optimizer if self.late else None,
            seed=seed + self.copies.rank,
            foretold=part.boundaries(S),
        )
        shared = self.pipeline.shared
        self.named = {name: copies[0] for name, copies in shared.copies.items()}
        tied = [(name, w) for name, w in self.named.items() if len(shared.ranks[name]) > 1]
        self.families = [tied, [(name, w) for name, w in self.named.items() if len(shared.ranks[name]) == 1]]
        later = {name for name, _ in tied if shared.ranks[name][0] != mesh["pp"].rank}
        self.masks = first_held(mesh["tp"], self.named, later)
        self.machine = known(mesh.comm) if self.copies.size > 1 and not how.zero else None
        self.sharded = AccumulatedStage1(self.copies, self.families, make_optimizer) if how.zero else None
        if self.sharded:
            self.sharded.clip_shards = clip_of_shards(mesh, self.sharded, self.named, self.masks)
        elif not self.late:
            self.optimizer = make_optimizer(list(self.named.items()))

    def step(self, mine: Data, number: int) -> float:
        """A step on this rank's part of a batch; the mean loss over the whole batch."""
        total = None if self.late else global_count(self.copies, targets(mine))
        loss = self.pipeline.step(micro_batches(mine, self.how.schedule.micro_batches), number, total)
        if self.sharded:
            self.sharded.sum()
            self.sharded.step(self.how.clip)
        elif not self.late:
            self._sum()
            if self.how.clip:
                gradients = trained_gradients(self.named.values())
                clip_global_norm(self.mesh["pp", "tp"], gradients, list(self.masks.values()), self.how.clip)
            self.optimizer.step()
        return self.copies.allreduce(loss)

    def _sum(self) -> None:
        """Add the gradients up over the copies."""
        for family in self.families if self.copies.size > 1 else []:
            for alike in by_type(trained_gradients(w for _, w in family)):
                allreduce_together(self.copies, alike, machine=self.machine)

    def weights(self) -> dict[str, Tensor]:
        """By name, what this rank holds in the end."""
        return {name: parameter.detach() for name, parameter in self.named.items()}

    def state(self, losses: list[float]) -> InTraining:
        """What is trained here."""
        optimizers = list(self.pipeline.optimizers.values())
        if not self.late:
            optimizers = [self.sharded.optimizer if self.sharded else self.optimizer]
        return InTraining(list(self.named.items()), optimizers, losses, self.sharded)

    def times(self) -> list:
        """Of the last step."""
        return [self.pipeline.times()]

    def peaks(self) -> list[int]:
        """Micro-batches that each rank of the pipeline held at most."""
        return self.mesh["pp"].allgather(self.pipeline.peak_activations)


class OneStage:
    """A rank's part of all layers, with ZeRO-2 or 3: hooks move gradients and weights during the passes."""

    def __init__(self, mesh: Mesh, part: MeshGPT, how: Composition, make_optimizer: MakeOptimizer, seed: int):
        self.part, self.how, self.copies = part, how, mesh["dp", "cp"]
        self.seed, self.K = seed + self.copies.rank, how.schedule.micro_batches
        named = dict(part.named_parameters())
        masks = first_held(mesh["tp"], named)
        recompute(part, how.recompute)
        kind: Callable[..., Any] = Stage2 if how.zero == 2 else Stage3
        self.stage = kind(self.copies, part, make_optimizer)
        self.stage.clip_shards = clip_of_shards(mesh, self.stage, named, masks)

    def step(self, mine: Data, number: int) -> float:
        """A step on this rank's part of a batch; the mean loss over the whole batch."""
        loss = torch.zeros(())
        for k, data in enumerate(micro_batches(mine, self.K)):
            with drawn_from(self.seed, number, 0, k):
                total, count = self.part.loss_sum(data)
            seen = self.stage.backward(total, count, sync=k == self.K - 1)
            loss = loss + total.detach()
        self.stage.step(self.how.clip)
        return self.copies.allreduce(loss.item()) / seen

    def weights(self) -> dict[str, Tensor]:
        """By name, what this rank holds in the end."""
        state = full_state(self.stage)["module"]
        return {name: state[name] for name, _ in self.part.named_parameters()}

    def state(self, losses: list[float]) -> InTraining:
        """What is trained here."""
        return InTraining(list(self.part.named_parameters()), [self.stage.optimizer], losses, self.stage)

    def times(self) -> list:
        """None: nothing here has a schedule."""
        return []

    def peaks(self) -> list[int]:
        """One micro-batch at a time."""
        return [1]


def clip_of_shards(mesh: Mesh, stage: Any, named: Mapping[str, nn.Parameter], masks: Mapping[str, Tensor]) -> Callable:
    """How a stage of ZeRO clips where its shards are those of some ranks of a mesh: (comm, shards, limit) -> norm."""
    of = {id(parameter): masks[name] for name, parameter in named.items()}
    counted = []
    for group in stage.trained:
        wholes = [of[id(parameter)].expand(shape) for parameter, shape in zip(group.parameters, group.sharding.shapes)]
        counted.append(in_short(group.sharding.shard(wholes, group.comm.rank)))
    return lambda _comm, shards, limit: clip_global_norm(mesh.comm, shards, counted, limit)


def collect(mesh: Mesh, part: MeshGPT, values: Mapping[str, Tensor], model: GPT) -> None:
    """Put the ranks' weights together into the whole model on every rank. Collective.

    Raises ValueError if ranks that hold the same elements, or stages that share a parameter, have other bits.
    """
    parameters = dict(part.named_parameters())
    mine = {name: whole(mesh["tp"], parameters[name], value) for name, value in values.items()}
    serial = dict(model.named_parameters())
    filled: set[str] = set()
    for theirs in mesh["pp"].allgather(mine):
        for name, value in theirs.items():
            if name in filled and not torch.equal(serial[name], value):
                raise ValueError(f"{name} is on two stages, which hold other values")
            with torch.no_grad():
                serial[name].copy_(value)
            filled.add(name)

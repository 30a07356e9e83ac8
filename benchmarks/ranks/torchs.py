"""A rank of torch's side: steps of a training as torchtitan's Llama 3 (b5bcd76) composes it, over gloo.

    python torchs.py RANK STORE SOCKET      # jobs.py does

DTensor cuts layers over tp, with the loss parallel over the vocabulary; fully_shard over dp, sharded or replicated
(dp x 1); pipelining's 1F1B, in which weights stay whole after the forward pass. DDP where no DTensor is.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import torch
import torch.distributed as dist
from cases import CASES, CLIP, ENDS, RANKS, Case, adamw, model_and_share
from jobs import answer, timed
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_module
from torch.distributed.tensor import parallel as tp
from torch.distributed.tensor.parallel import ParallelStyle, loss_parallel
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from reference.models import cross_entropy_sum
from reference.models.loss import targets
from reference.pipeline.stages import cut, layers


def embed(stage, tokens):
    """The embedding of tokens by modules, which DTensor can cut, and not by a parameter."""
    return stage.token(tokens) + stage.position(torch.arange(tokens.shape[1]))


def whole():
    """How a module is on all ranks of tp: its parameters are DTensors, its input and output are not."""

    def enter(_module, inputs, mesh):
        return tuple(DTensor.from_local(x, mesh, [Replicate()], run_check=False) for x in inputs)

    class Whole(ParallelStyle):
        def _apply(self, module, mesh):
            return distribute_module(module, mesh, None, enter, lambda _module, y, _mesh: y.to_local())

    return Whole()


def cut_layers(stage, mesh) -> None:
    """DTensor: each layer by columns, then by rows; what is not cut is on all ranks."""
    plan: dict[str, Any] = {name: whole() for name in ("position", "norm", "blocks.*.norm1", "blocks.*.norm2")}
    plan["token"] = tp.RowwiseParallel(input_layouts=Replicate())
    plan["head"] = tp.ColwiseParallel(output_layouts=Shard(-1), use_local_output=False)
    for first, last in (("attention.qkv", "attention.out"), ("feed_forward.0", "feed_forward.2")):
        plan |= {f"blocks.*.{first}": tp.ColwiseParallel(), f"blocks.*.{last}": tp.RowwiseParallel()}
    for attention in (each for each in stage.modules() if hasattr(each, "groups")):
        attention.heads, attention.groups = attention.heads // mesh.size(), attention.groups // mesh.size()
    tp.parallelize_module(stage, mesh, {name: how for name, how in plan.items() if hasattr(stage, name.split(".")[0])})


def shard(stage, mesh, keep: bool) -> None:
    """fully_shard each block, and what is before and after them, as torchtitan does. keep: whole after the forward."""
    parts = dict(stage.named_children())
    ends = [[parts[name] for name in names if name in parts] for names in (("token", "position"), ("norm", "head"))]
    for unit in [*(stage.blocks.children() if "blocks" in parts else ()), *filter(None, ends)]:
        fully_shard(unit, mesh=mesh, reshard_after_forward=not keep)
    fully_shard(stage, mesh=mesh)


def clip(parameters, stages) -> None:
    """By the norm of the whole model, as torchtitan does: `stages` is the group of a pipeline, or None."""
    own = list(parameters)
    norm = get_total_norm([parameter.grad for parameter in own])
    norm = norm.full_tensor() if isinstance(norm, DTensor) else norm
    if stages is not None:
        dist.all_reduce(norm.square_(), group=stages)
        norm.sqrt_()
    clip_grads_with_norm_(own, CLIP, norm)


class Stepper:
    """A step of one case, in one of torch's ways of data parallelism."""

    def __init__(self, case: Case, how: str):
        self.case = case
        self.mesh = dist.init_device_mesh(
            "cpu", (case.pp, case.dp, 1, case.tp), mesh_dim_names=("pp", "dp", "one", "tp")
        )
        self.s = self.mesh["pp"].get_local_rank()
        model, self.mine = model_and_share(case, self.mesh["dp"].get_local_rank())
        self.stage = self._composed(model, how)
        self.optimizer = adamw(self.stage.parameters())
        self.count = targets(self.mine) * case.dp  # equal shares
        self.losses: list[Any] = []
        if case.pp > 1:
            own = PipelineStage(self.stage, self.s, case.pp, torch.device("cpu"), group=self.mesh["pp"].get_group())
            self.program = Schedule1F1B(own, case.micro_batches, loss_fn=self.loss, scale_grads=False)

    def _composed(self, model, how: str) -> Any:
        """This rank's stage, cut over tp, then wrapped for data parallelism."""
        case, mesh = self.case, self.mesh
        first, *others = layers(model)
        stage: Any = cut(model, ENDS[case.pp], [first._replace(run=embed), *others])[self.s]
        if case.tp > 1:
            cut_layers(stage, mesh["tp"])
        if "FSDP2" in how:
            shard(stage, mesh["dp", "one"] if "replicated" in how else mesh["dp"], keep=case.pp > 1 or case.zero < 3)
        elif how == "DDP":
            stage = torch.nn.parallel.DistributedDataParallel(stage, process_group=mesh["dp"].get_group())
        return stage

    def loss(self, logits, y):
        """Of a micro-batch, its part of the batch's mean."""
        return cross_entropy_sum(logits, y) * self.case.dp / self.count  # data parallelism divides by dp

    def passes(self) -> None:
        """Forward and backward."""
        if self.case.pp == 1:
            self.losses.append(self.loss(self.stage(self.mine.x), self.mine.y))
            self.losses[-1].backward()
        elif self.s == 0:
            self.program.step(self.mine.x, return_outputs=False)
        else:
            self.program.step(target=self.mine.y, losses=self.losses, return_outputs=False)

    def step(self) -> None:
        """Forward, backward, clipping, optimizer."""
        self.losses.clear()
        self.optimizer.zero_grad()
        with loss_parallel():
            self.passes()
        clip(self.stage.parameters(), self.mesh["pp"].get_group() if self.case.pp > 1 else None)
        self.optimizer.step()

    def mean_loss(self) -> float:
        """Of the last step, over the whole batch."""
        parts = (one.full_tensor() if isinstance(one, DTensor) else one for one in self.losses)
        total = torch.tensor(sum(one.item() for one in parts), dtype=torch.float64)
        dist.all_reduce(total)
        return total.item() / (self.case.dp * self.case.tp)


def main(rank: int, store: str, address: str) -> None:
    """Serve the parent's questions."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=RANKS)
    steppers: dict[tuple[str, str], Stepper] = {}

    def found(what: str, name: str, how: str) -> Any:
        if what == "loss":
            return steppers.pop((name, how)).mean_loss()
        if (name, how) not in steppers:
            steppers[name, how] = Stepper(CASES[name], how)
        return timed(steppers[name, how].step, dist.barrier)

    answer(address, rank, found)
    os._exit(0)  # gloo's threads


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])

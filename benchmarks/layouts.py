"""A step of training on two axes: our composition against torch's, as torchtitan composes it, over gloo.

    python benchmarks/layouts.py      # 4 ranks, about two minutes; --turns 3 for a quick look

The same four ranks, started by mpirun, train copies of one GPT with all of them, in turns: a disturbance of the machine
meets all alike, and the ratio of two times can be trusted more than either. A step is forward, backward, averaging,
clipping by the global norm, and AdamW, of the same batch; its time is that of the slowest rank, on one thread. All
start with the same weights, and their losses after the last turn have to agree. Ranks of MPI that wait yield their core
soon, as the course's own do: they may share it.

torch's way is that of torchtitan's Llama 3 (b5bcd76): DTensor cuts layers over tp, with the loss parallel over the
vocabulary; fully_shard over dp, sharded or replicated (dp x 1); pipelining's 1F1B, in which weights stay whole after
the forward pass. DDP stands beside it where no DTensor is. Of several the faster one is compared with. Sequence
parallelism is off in both: over gloo a reduce-scatter sends what an all-reduce does (benchmarks/tensor_parallel.py).

Before that, without ranks: seconds of the planner for the best layout of GPT-3 on up to 16,384 accelerators.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from data_parallel import in_turns, on_every_rank, quartiles, run_job
from tabulate import tabulate

from reference import cli
from reference.worlds.processes import SETTINGS

RANKS, LAYERS, SEQUENCES, TURNS, AIM = 4, 4, 8, 10, 1.0
CLIP, RATE = 1.0, 1e-3
ENDS = {1: (LAYERS + 2,), 2: (1 + LAYERS // 2, LAYERS + 2)}  # of stages: the embedding, the blocks, the head
PLANNED = 1024, 4096, 16384  # accelerators


class Case(NamedTuple):
    """A layout: the degrees, and the ways of torch's data parallelism ("" for none)."""

    dp: int
    pp: int
    tp: int
    zero: int = 0
    torchs: tuple[str, ...] = ("",)

    @property
    def micro_batches(self) -> int:
        """One sequence each in a pipeline; the whole share without."""
        return SEQUENCES // self.dp if self.pp > 1 else 1


CASES = {
    "DP2 x TP2": Case(2, 1, 2, torchs=("FSDP2, replicated", "FSDP2, sharded")),
    "DP2 x PP2": Case(2, 2, 1, torchs=("FSDP2, replicated", "DDP")),
    "TP2 x PP2": Case(1, 2, 2),
    "ZeRO-3 x TP2": Case(2, 1, 2, zero=3, torchs=("FSDP2",)),
}

Step = Callable[[], None]
OURS, DTENSOR = "ours", "DTensor"
last_loss: dict[str, Callable[[], float]] = {}


# On every rank --------------------------------------------------------------------------------------------------------


def model_and_share(case: Case, copy: int):
    """A GPT without the tied weight, which torch's stages cannot share, and the sequences of one of its copies."""
    from reference.models import BENCHMARK, GPT, batch, text

    return GPT(BENCHMARK._replace(tied=False, layers=LAYERS)), batch(
        text(BENCHMARK.length), SEQUENCES, 0, 0, copy, case.dp
    )


def adamw(parameters):
    """The optimizer of all of them: one kernel for all parameters, as torchtitan has it."""
    import torch

    return torch.optim.AdamW(parameters, lr=RATE, fused=True)


def ours(comm, name: str, case: Case) -> Step:
    """A step of our composition."""
    from reference.mesh import Axes, Mesh
    from reference.mesh.gpt import MeshGPT
    from reference.mesh.training import Composition, OnePipeline, OneStage
    from reference.pipeline.schedules import make

    mesh = Mesh(comm, Axes({"pp": case.pp, "dp": case.dp, "cp": 1, "tp": case.tp}))
    how = Composition(mesh.axes, make("1F1B", case.pp, case.micro_batches), case.zero, CLIP)
    model, mine = model_and_share(case, mesh.coordinate("dp"))
    part = MeshGPT(mesh["tp"], mesh["cp"], model)
    training: Any = (
        OneStage(mesh, part, how, adamw, 0) if case.zero > 1 else OnePipeline(mesh, part, how, adamw, 0, ENDS[case.pp])
    )

    losses = []

    def step() -> None:
        losses.append(training.step(mine, 0))

    last_loss[name] = lambda: losses[-1]
    return step


def embed(stage, tokens):
    """The embedding of tokens by modules, which DTensor can cut, and not by a parameter."""
    import torch

    return stage.token(tokens) + stage.position(torch.arange(tokens.shape[1]))


def whole():
    """How a module is on all ranks of tp: its parameters are DTensors, its input and output are not."""
    from torch.distributed.tensor import DTensor, Replicate, distribute_module
    from torch.distributed.tensor.parallel import ParallelStyle

    def enter(_module, inputs, mesh):
        return tuple(DTensor.from_local(x, mesh, [Replicate()], run_check=False) for x in inputs)

    class Whole(ParallelStyle):
        def _apply(self, module, mesh):
            return distribute_module(module, mesh, None, enter, lambda _module, y, _mesh: y.to_local())

    return Whole()


def cut_layers(stage, mesh) -> None:
    """DTensor: each layer by columns, then by rows; what is not cut is on all ranks."""
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor import parallel as tp

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
    from torch.distributed.fsdp import fully_shard

    parts = dict(stage.named_children())
    ends = [[parts[name] for name in names if name in parts] for names in (("token", "position"), ("norm", "head"))]
    for unit in [*(stage.blocks.children() if "blocks" in parts else ()), *filter(None, ends)]:
        fully_shard(unit, mesh=mesh, reshard_after_forward=not keep)
    fully_shard(stage, mesh=mesh)


def clip(parameters, stages) -> None:
    """By the norm of the whole model, as torchtitan does: `stages` is the group of a pipeline, or None."""
    import torch.distributed as dist
    from torch.distributed.tensor import DTensor
    from torch.nn.utils import clip_grads_with_norm_, get_total_norm

    own = list(parameters)
    norm = get_total_norm([parameter.grad for parameter in own])
    norm = norm.full_tensor() if isinstance(norm, DTensor) else norm
    if stages is not None:
        dist.all_reduce(norm.square_(), group=stages)
        norm.sqrt_()
    clip_grads_with_norm_(own, CLIP, norm)


def torchs(comm, name: str, case: Case, how: str) -> Step:
    """A step as torchtitan composes it."""
    import torch
    import torch.distributed as dist
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B
    from torch.distributed.tensor import DTensor
    from torch.distributed.tensor.parallel import loss_parallel

    from reference.models import cross_entropy_sum
    from reference.models.loss import targets
    from reference.pipeline.stages import cut, layers

    mesh = dist.init_device_mesh("cpu", (case.pp, case.dp, 1, case.tp), mesh_dim_names=("pp", "dp", "one", "tp"))
    copy, s = mesh["dp"].get_local_rank(), mesh["pp"].get_local_rank()
    model, mine = model_and_share(case, copy)
    first, *others = layers(model)
    stage: Any = cut(model, ENDS[case.pp], [first._replace(run=embed), *others])[s]
    if case.tp > 1:
        cut_layers(stage, mesh["tp"])
    if "FSDP2" in how:
        shard(stage, mesh["dp", "one"] if "replicated" in how else mesh["dp"], keep=case.pp > 1 or case.zero < 3)
    elif how == "DDP":
        stage = torch.nn.parallel.DistributedDataParallel(stage, process_group=mesh["dp"].get_group())
    optimizer, count = adamw(stage.parameters()), targets(mine) * case.dp  # equal shares

    def loss(logits, y):
        return cross_entropy_sum(logits, y) * case.dp / count  # data parallelism divides by dp

    if case.pp > 1:
        own = PipelineStage(stage, s, case.pp, torch.device("cpu"), group=mesh["pp"].get_group())
        program = Schedule1F1B(own, case.micro_batches, loss_fn=loss, scale_grads=False)
    losses: list[Any] = []

    def passes() -> None:
        if case.pp == 1:
            losses.append(loss(stage(mine.x), mine.y))
            losses[-1].backward()
        elif s == 0:
            program.step(mine.x, return_outputs=False)
        else:
            program.step(target=mine.y, losses=losses, return_outputs=False)

    def step() -> None:
        losses.clear()
        optimizer.zero_grad()
        with loss_parallel():
            passes()
        clip(stage.parameters(), mesh["pp"].get_group() if case.pp > 1 else None)
        optimizer.step()

    def tell() -> float:
        parts = (one.full_tensor() if isinstance(one, DTensor) else one for one in losses)
        return comm.allreduce(sum(one.item() for one in parts)) / (case.dp * case.tp)

    last_loss[name] = tell
    return step


def measure_all(comm, turns: int) -> dict:
    """Of each layout the times of all, and the last losses."""
    found = {}
    for name, case in CASES.items():
        steps = {OURS: ours(comm, OURS, case)}
        steps |= {how or DTENSOR: torchs(comm, how or DTENSOR, case, how) for how in case.torchs}
        times = in_turns(comm, steps, turns, f"{name}, {comm.size} ranks")
        losses = {label: tell() for label, tell in last_loss.items()}
        last_loss.clear()
        found[name] = {"times": times, "losses": losses}
        steps.clear()
        gc.collect()
    return found


# The parent -----------------------------------------------------------------------------------------------------------


def report_steps(found: dict) -> None:
    """Print the times of a step and their ratios. Raises SystemExit if the losses disagree."""
    print(f"\n{found.pop('library')}, {RANKS} ranks, one thread each: milliseconds, median (quartiles)")
    rows, ratios = [], []
    for name, one in found.items():
        times, losses = {label: np.asarray(taken) for label, taken in one["times"].items()}, one["losses"]
        if not np.allclose(list(losses.values()), losses[OURS], rtol=1e-3):
            sys.exit(f"{name}: the losses disagree after as many steps: {losses}")
        rival = min(times.keys() - {OURS}, key=lambda label: np.median(times[label]))
        ratios.append(float(np.median(times[OURS] / times[rival])))
        for label, seconds in times.items():
            ratio = "" if label == OURS else quartiles(times[OURS] / seconds, 1, 2)
            rows.append([name if label == OURS else "", label, quartiles(seconds, 1e3), ratio, f"{losses[label]:.4f}"])
    print(tabulate(rows, ["", "", "a step", f"ours / it (aim {AIM:.1f})", "loss"], disable_numparse=True))
    print(f"all of them, to the faster: {np.exp(np.mean(np.log(ratios))):.2f} (geometric mean of the ratios)")


def report_planner() -> None:
    """Print how long the planner takes to find the best layout, and how many it prices."""
    from reference.planner.architecture import architecture
    from reference.planner.cluster import cluster
    from reference.planner.search.exhaustive import exhaustive
    from reference.planner.search.space import LayoutSpace

    rows = []
    for accelerators in PLANNED:
        space = LayoutSpace(architecture("gpt-175b"), cluster("dgx-a100"), accelerators, 3 * accelerators // 16)
        start, found = time.perf_counter(), exhaustive(space)
        taken = time.perf_counter() - start
        rows.append([f"{accelerators:,}", f"{space.size():,}", f"{found.priced:,}", f"{taken:.2f}"])
    print("the best layout of GPT-3 on A100s, proved (aim: 1 second at most)")
    print(tabulate(rows, ["accelerators", "layouts", "priced", "seconds"], disable_numparse=True, stralign="right"))


def main() -> None:
    """Parent, or one of its ranks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help=argparse.SUPPRESS)
    parser.add_argument("--turns", type=cli.whole_number, default=TURNS, help="(default: %(default)s)")
    arguments = parser.parse_args()
    if arguments.out:
        return on_every_rank(arguments.out, lambda comm: measure_all(comm, arguments.turns))
    report_planner()
    os.environ |= {name: setting for name, setting in SETTINGS.items() if name.startswith("MPIR")}  # ranks share cores
    report_steps(run_job(RANKS, __file__, "--turns", str(arguments.turns)))


if __name__ == "__main__":
    main()

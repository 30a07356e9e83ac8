"""A step of ZeRO: stages 1 and 2 against DDP with ZeroRedundancyOptimizer, stage 3 against FSDP2, over gloo.

    python benchmarks/zero.py              # 2 and 4 ranks, some three minutes
    python benchmarks/zero.py --quick      # 2 ranks, few turns

The same ranks, started by mpirun, train copies of one GPT with all of them, in turns, with AdamW: a disturbance of the
machine meets all alike. A step is forward, backward and optimizer; its time is that of the slowest rank, on one thread.
DDP runs as it is by default, and with gradients as views of its buckets; the faster of the two is what we compare with.
Then each takes two steps alone, while torch's profiler notes what the allocator gives out and gets back: what a rank
holds between steps, and at the peak of the second step, activations included.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import cache, partial

import numpy as np
from data_parallel import in_turns, jobs, quartiles
from tabulate import tabulate

from reference import mpi

DDP = {"DDP + ZeRO": False, "DDP, views + ZeRO": True}
FSDP2 = "FSDP2"
OURS = ("stage 1", "stage 2", "stage 3")
ALONE = "no communication"
TURNS, AIM, SAMPLES = 20, 1.0, 1
BUCKET = 4 * 2**20  # of stage 2, which packs a bucket while its gradients are still there

Step = Callable[[], None]


# On every rank --------------------------------------------------------------------------------------------------------


@cache
def share(rank: int, ranks: int):
    """This rank's share of a batch, of SAMPLES."""
    from reference.models import BENCHMARK, batch, text

    return batch(text(BENCHMARK.length), SAMPLES * ranks, 0, rank=rank, ranks=ranks)


def parts(comm):
    """A model, the same on all ranks, and this rank's share of a batch."""
    from reference.models import BENCHMARK, GPT

    return GPT(BENCHMARK), share(comm.rank, comm.size)


def adamw(parameters):
    """The optimizer of all of them."""
    import torch

    return torch.optim.AdamW(parameters, lr=1e-3)


def ours(comm, name: str) -> Step:
    """A step of one of our stages."""
    from reference.models import loss_sum
    from reference.zero.stage1 import Stage1
    from reference.zero.stage2 import Stage2
    from reference.zero.stage3 import Stage3

    model, mine = parts(comm)
    how = {"bucket_bytes": BUCKET} if name == "stage 2" else {}
    stage = dict(zip(OURS, (Stage1, Stage2, Stage3)))[name](comm, model, adamw, **how)

    def step() -> None:
        stage.backward(*loss_sum(model, mine))
        stage.step()

    return step


def usual(comm, wrap: Callable) -> Step:
    """A step of torch's own: wrap(model) gives the module to call, and the optimizer."""
    from reference.models import loss_sum

    model, mine = parts(comm)
    module, optimizer = wrap(model)

    def step() -> None:
        optimizer.zero_grad()
        total, count = loss_sum(module, mine)
        (total / count).backward()
        optimizer.step()

    return step


def ddp(model, views: bool):
    """DistributedDataParallel, and the optimizer whose state is cut by whole parameters."""
    import torch
    from torch.distributed.optim import ZeroRedundancyOptimizer
    from torch.nn.parallel import DistributedDataParallel

    module = DistributedDataParallel(model, gradient_as_bucket_view=views)
    return module, ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=1e-3)


def fsdp2(model):
    """fully_shard of each block, and of what is left."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (mpi.world().size,))
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model, adamw(model.parameters())


def programs(comm) -> dict[str, Callable[[], Step]]:
    """What is measured: makers of steps."""
    found = {ALONE: partial(usual, comm, lambda model: (model, adamw(model.parameters())))}
    found |= {name: partial(ours, comm, name) for name in OURS}
    found |= {name: partial(usual, comm, partial(ddp, views=views)) for name, views in DDP.items()}
    return found | {FSDP2: partial(usual, comm, fsdp2)}


def memory(make: Callable[[], Step]) -> tuple[int, int]:
    """Bytes of tensors between steps, and the most in the second step."""
    from torch.profiler import ProfilerActivity, profile, record_function

    gc.collect()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step = make()
        step()
        gc.collect()
        with record_function("second step"):
            step()
        gc.collect()
    events = sorted(profiler.profiler.kineto_results.events(), key=lambda event: event.start_ns())
    begin = next(event.start_ns() for event in events if event.name() == "second step")
    given = [(event.start_ns(), event.nbytes()) for event in events if event.name() == "[memory]"]
    live = np.cumsum([nbytes for _, nbytes in given])
    return int(live[-1]), int(max(bytes_ for (when, _), bytes_ in zip(given, live) if when >= begin))


def measure_all(comm, shorten: int) -> dict:
    """The times of each, and its bytes."""
    makers = programs(comm)
    steps = {name: make() for name, make in makers.items()}
    times = in_turns(comm, steps, max(TURNS // shorten, 5), f"{comm.size} ranks")
    del steps
    held = {name: np.array(memory(make)) for name, make in makers.items()}
    for nbytes in held.values():
        comm.Allreduce(mpi.IN_PLACE, nbytes, op=mpi.MAX)
    return {"times": times, "held": {name: nbytes.tolist() for name, nbytes in held.items()}}


# The parent -----------------------------------------------------------------------------------------------------------


def report(ranks: int, found: dict) -> list[float]:
    """Print what was measured; the ratios of the times of a step."""
    times = {name: np.asarray(seconds) for name, seconds in found["times"].items()}
    print(
        f"\n{found['library']}, {ranks} ranks, one thread each: a step in milliseconds, median (quartiles); MB a rank"
    )
    best = min(DDP, key=lambda name: np.median(times[name]))
    rivals = dict(zip(OURS, (best, best, FSDP2)))
    rows, ratios = [], []
    for name, seconds in times.items():
        against = ""
        if name in rivals:
            ratios.append(float(np.median(seconds / times[rivals[name]])))
            against = f"{ratios[-1]:.2f} of {rivals[name]}"
        between, peak = (nbytes / 1e6 for nbytes in found["held"][name])
        rows.append([name, quartiles(seconds, 1e3), against, f"{between:.1f}", f"{peak:.1f}"])
    heads = ["", "step", f"ratio (aim {AIM:.1f})", "between steps", "peak"]
    print(tabulate(rows, heads, disable_numparse=True, stralign="right"))
    return ratios


def main() -> None:
    """Parent, or one of its ranks."""
    ratios = [ratio for P, found in jobs(__doc__, __file__, measure_all) for ratio in report(P, found)]
    print(f"\nall of them: {np.exp(np.mean(np.log(ratios))):.2f} (geometric mean of the ratios)")


if __name__ == "__main__":
    main()

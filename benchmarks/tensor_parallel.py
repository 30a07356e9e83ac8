"""A transformer block on several ranks: our tensor parallelism against torch's DTensor over gloo.

    python benchmarks/tensor_parallel.py              # 2 and 4 ranks, about two minutes
    python benchmarks/tensor_parallel.py --quick      # 2 ranks, few turns

The same ranks, started by mpirun, go forward and backward through one block of models.gpt, cut by us and by
parallelize_module (DTensor), in turns: a disturbance of the machine meets all alike, and the ratio of two times can be
trusted more than either. The time is that of the slowest rank, on one thread. "+ seq" cuts what is between the layers
along the tokens, "+ overlap" communicates while computing. "no messages" is our block with a communicator that sends
nothing, so that results are wrong: what the rest is for. DTensor leaves the gradients of norms as terms of a sum, which
the optimizer adds up later; we add them, and that is counted.

The bytes: those that the virtual cluster counts, by volume.py's formula; on real ranks, where MPI's own collectives
cannot be looked into, those of the form that sends its blocks itself, by formula; and of DTensor what the system's
loopback device has sent (Linux), with TCP's headers, by the formula of the collectives it calls. With sequence
parallelism that is more: over gloo a reduce-scatter sends what an all-reduce does, which is measured, too.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from data_parallel import in_turns, jobs, quartiles
from tabulate import tabulate

from reference.models import Config

SIZES = {  # name: the block, and the sequences in a batch
    "h 128, 4 x 64 tokens": (Config(length=64, width=128, heads=4), 4),
    "h 256, 4 x 128 tokens": (Config(length=128, width=256, heads=8), 4),
    "h 512, 2 x 256 tokens": (Config(length=256, width=512, heads=8), 2),
    "h 1024, 2 x 128 tokens": (Config(length=128, width=1024, heads=16), 2),
}
TURNS = 20
OURS = {
    "ours": {},
    "ours + overlap": {"overlap": True},
    "ours + seq": {"sequence": True},
    "ours + seq + overlap": {"sequence": True, "overlap": True},
}
SILENT = "no messages"
RIVALS = {"ours": "DTensor", "ours + overlap": "DTensor", "ours + seq": "DTensor + seq"}
RIVALS |= {"ours + seq + overlap": "DTensor + seq"}
AIM = 1.0
LOOPBACK = Path("/sys/class/net/lo/statistics/tx_bytes")


# On every rank ------------------------------------------------------------------------------------------------------


class Silent:
    """A communicator of so many ranks that sends nothing."""

    def __init__(self, comm):
        self.rank, self.size = comm.rank, comm.size

    def Allreduce(self, *buffers) -> None:
        """Nothing."""


def there_and_back(block: Callable, config: Config, b: int, tokens: int) -> Callable[[], None]:
    """A forward and a backward pass of [b, tokens, h]."""
    import torch

    x = torch.randn(b, tokens, config.width, requires_grad=True)
    dy = torch.randn(b, tokens, config.width)

    def run() -> None:
        x.grad = None
        block(x).backward(dy)

    return run


def ours(comm, config: Config, b: int, **how) -> Callable[[], None]:
    """Our block."""
    from reference.models import GPT
    from reference.tensor_parallel.dropout import Masks
    from reference.tensor_parallel.gpt import Block

    block = Block(comm, GPT(config._replace(layers=1)).blocks[0], Masks(comm), **how)
    return there_and_back(block, config, b, config.length // (comm.size if how.get("sequence") else 1))


def dtensor(comm, config: Config, b: int, sequence: bool) -> Callable[[], None]:
    """The serial block, cut by parallelize_module as torchtitan cuts its own."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor import parallel as tp

    from reference.models import GPT

    block = GPT(config._replace(layers=1)).blocks[0]
    block.attention.heads //= comm.size
    block.attention.groups //= comm.size
    plan: dict[str, Any] = {}
    for first, last in (("attention.qkv", "attention.out"), ("feed_forward.0", "feed_forward.2")):
        plan[first], plan[last] = tp.ColwiseParallel(), tp.RowwiseParallel()
        if sequence:
            plan[last] = tp.RowwiseParallel(output_layouts=Shard(1))
            plan[first.split(".")[0]] = tp.PrepareModuleInput(
                input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)
            )
    if sequence:
        plan |= {"norm1": tp.SequenceParallel(), "norm2": tp.SequenceParallel()}
    block = tp.parallelize_module(block, init_device_mesh("cpu", (comm.size,)), plan)
    return there_and_back(block, config, b, config.length // (comm.size if sequence else 1))


def loopback(comm, run: Callable[[], None]) -> float:
    """Bytes that this machine sends to itself meanwhile; NaN where that cannot be asked."""
    if not LOOPBACK.exists():
        return float("nan")
    run()
    comm.Barrier()
    before = int(LOOPBACK.read_text())
    comm.Barrier()
    run()
    comm.Barrier()
    return int(LOOPBACK.read_text()) - before


def scatter_by_reduce(comm) -> float:
    """What gloo sends for a reduce-scatter, by what it sends for an all-reduce of the same array."""
    import torch
    import torch.distributed as dist

    x, y = torch.zeros(comm.size * 2**18), torch.zeros(2**18)
    return loopback(comm, lambda: dist.reduce_scatter_tensor(y, x)) / loopback(comm, lambda: dist.all_reduce(x))


def counted(comm, config: Config, b: int) -> int:
    """Bytes that the ranks send themselves, with sequence and overlap; the small sums of norms are MPI's."""
    from reference import mpi
    from reference.worlds.real.counting import Counted
    from reference.worlds.real.logbook import Logbook

    logbook = Logbook(comm.rank, comm)
    run = ours(Counted.over(comm, logbook), config, b, sequence=True, overlap=True)
    before = logbook.bytes_sent
    run()
    return comm.allreduce(logbook.bytes_sent - before, mpi.SUM)


def measure_all(comm, shorten: int) -> dict:
    """Of each size the times, and the bytes on real ranks; and what gloo's reduce-scatter sends."""
    found: dict[str, Any] = {"scatter": scatter_by_reduce(comm)}
    for name, (config, b) in SIZES.items():
        programs = {SILENT: ours(Silent(comm), config, b)}
        programs |= {label: ours(comm, config, b, **how) for label, how in OURS.items()}
        rivals = {label: dtensor(comm, config, b, label.endswith("seq")) for label in dict.fromkeys(RIVALS.values())}
        times = in_turns(comm, programs | rivals, max(TURNS // shorten, 5), f"{name}, {comm.size} ranks")
        sent = {label: loopback(comm, run) for label, run in rivals.items()}
        found[name] = {"times": times, "loopback": sent, "counted": counted(comm, config, b)}
    return found


# The parent ---------------------------------------------------------------------------------------------------------


def virtual_bytes(P: int, config: Config, b: int, how: dict) -> int:
    """Bytes of all ranks of the virtual cluster."""
    from reference.worlds import launch

    return sum(launch(lambda comm: ours(comm, config, b, **how)(), P).bytes_sent)


def bytes_by_formula(P: int, one: dict, config: Config, b: int) -> str:
    """What was sent, by what volume.py says, in words."""
    from reference.tensor_parallel import volume

    def formula(sequence: bool = False, again: bool = False) -> int:
        there, back = volume.block(P, b, config.length, config, sequence, again)
        return 4 * (there + back).elements

    own = " ".join(
        f"{virtual_bytes(P, config, b, how) / formula(how.get('sequence', False), len(how) == 2):.4f}"
        for how in OURS.values()
    )
    small = 4 * sum(volume.collective("Allreduce", P, n * config.width, 2).elements for n in (1, 2))
    real = one["counted"] / (formula(True, True) - small)
    theirs = " ".join(f"{sent / formula(name.endswith('seq')):.2f}" for name, sent in one["loopback"].items())
    return f"virtual {own}; real, own messages {real:.4f}; DTensor on the loopback device {theirs}"


def report(ranks: int, found: dict) -> list[float]:
    """Print what was measured; the ratios to DTensor."""
    print(f"\n{found.pop('library')}, {ranks} ranks, one thread each: milliseconds, median (quartiles)")
    scatter, rows, compared, notes = found.pop("scatter"), [], [], []
    for name, one in found.items():
        times = {what: np.asarray(seconds) for what, seconds in one["times"].items()}
        rows.append([name, *(quartiles(seconds, 1e3) for seconds in times.values())])
        compared.append([name, *(quartiles(times[our] / times[rival], 1, 2) for our, rival in RIVALS.items())])
        notes.append(f"{name}: {bytes_by_formula(ranks, one, *SIZES[name])}")
    print(tabulate(rows, ["", *times], disable_numparse=True, stralign="right"))
    print(f"\ntimes DTensor's, with sequence parallelism DTensor's with it (aim {AIM:.1f})")
    print(tabulate(compared, ["", *RIVALS], disable_numparse=True, stralign="right"))
    print("\nbytes sent, by formula\n" + "\n".join(notes))
    print(f"gloo's reduce-scatter sends {scatter:.2f} times what its all-reduce does")
    return [
        float(np.median(np.asarray(one["times"][our]) / one["times"][RIVALS[our]]))
        for one in found.values()
        for our in ("ours", "ours + seq")
    ]


def main() -> None:
    """Parent, or one of its ranks."""
    ratios = [ratio for P, found in jobs(__doc__, __file__, measure_all) for ratio in report(P, found)]
    print(f"\nall of them, without overlap: {np.exp(np.mean(np.log(ratios))):.2f} (geometric mean of the ratios)")


if __name__ == "__main__":
    main()

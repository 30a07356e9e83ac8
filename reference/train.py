"""Data-parallel training of a small model on real data: verified against the serial program, and timed.

    mpirun -n 2 python -m reference.train                              # an MLP on handwritten digits
    mpirun -n 4 python -m reference.train --model gpt --optimizer adam --rate 3e-4 --bucket 1MiB --order ready
    mpirun -n 3 python -m reference.train --batch 100 --micro-batches 4 --json
    mpirun -n 2 python -m reference.train --compress power-sgd         # chapter 3: fewer bytes, and another result

Rank 0's model goes to all ranks; each takes its share of every batch; buckets of gradients are summed while the
backward pass goes on (`reference/data_parallel/replica.py`); each rank applies the same average. In the end the ranks
compare their weights, bit by bit, and rank 0 trains alone on the same batches to compare the losses. With --compress
the losses may differ; the ranks still must not.
Exit status: 0 if all that held, 1 if not, 2 for bad input. Later chapters add their layouts here.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable

import torch
from torch import nn
from tqdm import trange

from . import cli, mpi
from .compression import hooks, top_k
from .data_parallel import replicate
from .data_parallel.replica import Replica
from .models import CNN, GPT, MLP, Config, Data, accuracy, batch, digits, loss_sum, share, text, train
from .perf.measure import Spread, spread

MODELS: dict[str, tuple[Callable[[int], nn.Module], Callable[[bool], Data]]] = {
    "mlp": (lambda seed: MLP(seed=seed), digits),
    "cnn": (lambda seed: CNN(seed=seed), digits),
    "gpt": (lambda seed: GPT(Config(), seed), lambda train: text(Config().length, train)),
}
COMPRESSORS: dict[str, Callable[[Replica], Callable]] = {
    "none": lambda replica: replica.communicate,
    "bf16": lambda replica: hooks.short_float(torch.bfloat16),
    "top-k": lambda replica: hooks.gathered(top_k(0.01)),
    "power-sgd": lambda replica: hooks.power_sgd(replica, rank=2),
}
OPTIMIZERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}
SAME = 1e-3  # relative: by how much a loss may be off the serial one after many rounded steps


def parser() -> cli.Parser:
    """The command line."""
    p = cli.Parser(
        "python -m reference.train",
        description="Train a small model data-parallel; compare with the serial program.",
        epilog="start it on several ranks with: mpirun -n 2 python -m reference.train",
    )
    p.add_argument("--model", choices=MODELS, default="mlp", help="mlp and cnn: digits; gpt: bytes of a novel")
    p.add_argument("--steps", type=int, default=100, help="(default: 100)")
    p.add_argument("--batch", type=int, default=64, help="samples of all ranks together (default: 64)")
    p.add_argument("--micro-batches", type=int, default=1, help="parts of a rank's share, one after the other")
    p.add_argument("--optimizer", choices=OPTIMIZERS, default="sgd")
    p.add_argument("--rate", type=float, default=0.3, help="learning rate (default: 0.3)")
    p.add_argument("--bucket", type=cli.nbytes, default=25 * 2**20, help="4KiB, 1MiB, ... (default: 25MiB)")
    p.add_argument("--order", choices=("reverse", "ready"), default="reverse", help="of the gradients in the buckets")
    words = "bf16; top-k: 1 %% of each bucket, with error feedback; power-sgd: rank 2"
    p.add_argument("--compress", choices=COMPRESSORS, default="none", metavar="HOW", help=words)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    return p


def check(options: argparse.Namespace) -> None:
    """Raise BadInput for settings that make no sense."""
    for name in ("steps", "batch", "micro_batches", "bucket"):
        if getattr(options, name) < 1:
            raise cli.BadInput(f"--{name.replace('_', '-')} must be at least 1, got {getattr(options, name)}")
    if not 0 < options.rate < float("inf"):
        raise cli.BadInput(f"--rate must be above 0 and finite, got {options.rate}")


def train_parallel(comm, options: argparse.Namespace, model: nn.Module, data: Data) -> tuple[list[float], list[float]]:
    """Mean loss of the global batch, and seconds of this rank, of each step; the model is trained in place."""
    replicate.broadcast(comm, model)
    replica = Replica(comm, model, options.bucket, order=options.order)
    replica.communicate = COMPRESSORS[options.compress](replica)
    optimizer = OPTIMIZERS[options.optimizer](model.parameters(), options.rate)
    losses, seconds = [], []
    for number in trange(
        options.steps, disable=True if comm.rank or options.json else None, leave=False, desc=options.model
    ):
        mine = batch(data, options.batch, number, options.seed, comm.rank, comm.size)
        start = mpi.wtime(comm)
        loss, count = step(replica, mine, options.micro_batches)
        optimizer.step()
        seconds.append(mpi.wtime(comm) - start)
        losses.append(comm.allreduce(loss) / count)
    return losses, seconds


def step(replica: Replica, mine: Data, micro_batches: int) -> tuple[float, float]:
    """Gradients of one batch, synchronised with the last part; this rank's summed loss, and the count of all ranks."""
    summed, seen = 0.0, None
    for k in range(micro_batches):
        total, count = loss_sum(replica.module, Data(*(share(tensor, k, micro_batches) for tensor in mine)))
        seen = replica.backward(total, count, sync=k == micro_batches - 1)
        summed += total.item()
    return summed, seen


def compare(options: argparse.Namespace, build: Callable, data: Data, losses: list[float]) -> float:
    """By how much the losses are off those of the serial program on the same batches, relative, at most."""
    model = build(options.seed)
    optimizer = OPTIMIZERS[options.optimizer](model.parameters(), options.rate)
    alone = train(model, data, optimizer, options.steps, options.batch, options.seed)
    return max(abs(ours - theirs) / max(theirs, SAME) for ours, theirs in zip(losses, alone))


def run(comm, options: argparse.Namespace) -> int:
    """Train, verify, and print what came of it."""
    check(options)
    torch.set_num_threads(1)  # ranks share the cores
    build, load = MODELS[options.model]
    model, data, say = build(options.seed + comm.rank), load(True), comm.rank == 0 and not options.json
    if say:
        size = sum(p.numel() for p in model.parameters())
        print(f"{options.model}, {size:,} parameters, {comm.size} rank{'s' * (comm.size > 1)}, {cli.library()}")
        if comm.size == 1:
            print("one rank averages with nobody; for more: mpirun -n 2 python -m reference.train")
    losses, seconds = train_parallel(comm, options, model, data)
    replicate.check(comm, model)
    off = comm.bcast(compare(options, build, data, losses) if comm.rank == 0 else None, root=0)
    times = spread(seconds[1:] or seconds)
    found = {
        "ranks": comm.size,
        "compress": options.compress,
        "losses": losses,
        "accuracy": accuracy(model, load(False)),
        "off_serial": off,
        "step_seconds": times._asdict(),
    }
    if comm.rank == 0:
        print(json.dumps(found, indent=2) if options.json else as_text(found, times))
    return 0 if right(found) else 1


def right(found: dict) -> bool:
    """Whether the losses are what they should be; that all ranks hold the same weights has been checked before."""
    return found["compress"] != "none" or found["off_serial"] <= SAME


def as_text(found: dict, times: Spread) -> str:
    """What is printed in the end."""
    losses = found["losses"]
    shown = sorted({0, *(len(losses) * k // 5 - 1 for k in range(1, 6))} - {-1})
    low, median, high = (1e3 * seconds for seconds in times)
    verified = "verified" if right(found) else "NOT VERIFIED"
    return "\n".join(
        [
            *(f"step {number:4}  loss {losses[number]:.4f}" for number in shown),
            f"test accuracy {found['accuracy']:.1%}",
            f"a step takes {median:.2f} [{low:.2f} .. {high:.2f}] ms: median and quartiles",
            f"{verified}: the same bits on all ranks; losses off the serial program's by {found['off_serial']:.1e}",
        ]
    )


if __name__ == "__main__":
    sys.exit(cli.main(run, parser()))

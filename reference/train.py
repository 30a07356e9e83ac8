"""Training of a small model on real data, data-parallel or in a pipeline: verified against the serial program, timed.

    mpirun -n 2 python -m reference.train                              # an MLP on handwritten digits
    mpirun -n 4 python -m reference.train --model gpt --optimizer adam --rate 3e-4 --bucket 1MiB --order ready
    mpirun -n 3 python -m reference.train --batch 100 --micro-batches 4 --json
    mpirun -n 2 python -m reference.train --compress power-sgd         # chapter 3: fewer bytes, and another result
    mpirun -n 4 python -m reference.train --model gpt --stages 4       # chapter 9: a pipeline; see --schedule
    mpirun -n 4 python -m reference.train --stages 2 --schedule ZB-V --micro-batches 8 --timeline step.json

Rank 0's model goes to all ranks; each takes its share of every batch; buckets of gradients are summed while the
backward pass goes on (`reference/data_parallel/replica.py`); each rank applies the same average. In the end the ranks
compare their weights, bit by bit, and rank 0 trains alone on the same batches to compare the losses. With --compress
the losses may differ, and are not verified; the ranks still must not. NaN verifies nothing, even the same on all ranks.
With --stages the model is cut, and each pipeline of so many ranks takes its share of every batch (`reference/pipeline/
trainer.py`). Then a step is also simulated, with the seconds that its actions took. With PipeDream and 2BW the losses
may differ, for their gradients are late.
Exit status: 0 if all that was compared is equal, 1 if not, 2 for bad input. Later chapters add their layouts here.
"""

from __future__ import annotations

from . import cli  # first: it answers Ctrl-C while torch is imported

# isort: split
import argparse
import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import torch
from torch import nn
from tqdm import trange

from . import mpi
from .compression import hooks
from .compression.reduce import CannotEncode
from .data_parallel import replicate
from .data_parallel.accumulation import accumulate
from .data_parallel.replica import Replica
from .data_parallel.verdict import Verdict, verify
from .models import CNN, GPT, MLP, Config, Data, accuracy, batch, digits, loss_sum, text, train
from .perf.measure import Spread, spread
from .pipeline.analysis import draw
from .pipeline.messages import check_tags
from .pipeline.runtime import trainer
from .pipeline.schedule import Schedule
from .pipeline.schedules.catalogue import SCHEDULES, make, stages
from .pipeline.simulate import Times

Build = Callable[[int], nn.Module]  # seed -> a model
MODELS: dict[str, tuple[Callable[[int, int], nn.Module], Callable[[bool], Data]]] = {
    "mlp": (lambda layers, seed: MLP((64, *[32] * (layers - 1), 10), seed), digits),
    "cnn": (lambda layers, seed: CNN(seed=seed), digits),
    "gpt": (lambda layers, seed: GPT(Config(layers=layers), seed), lambda train: text(Config().length, train)),
}
OPTIMIZERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}
PIPELINE = {"schedule": "1F1B", "chunks": None, "timeline": None}  # options, and what they are if left out
DATA_PARALLEL = {"bucket": 25 * 2**20, "order": "reverse", "compress": "none"}
MOST_LAYERS = 128  # as many as the largest language models have; every rank builds all of them
COPIES = 10  # of the weights: gradients, buckets, messages, the optimizer's state, and the serial program's
KEPT = 100  # bytes that a rank keeps of a step: losses and seconds; and of each of its actions about as many


def parser() -> cli.Parser:
    """The command line."""
    p = cli.Parser(
        "python -m reference.train",
        description="Train a small model data-parallel or in a pipeline; compare with the serial program.",
        epilog="start it on several ranks with: mpirun -n 2 python -m reference.train",
    )
    p.add_argument("--model", choices=MODELS, default="mlp", help="mlp and cnn: digits; gpt: bytes of a novel")
    words = "linear ones of the mlp, blocks of the gpt (default: 2, and as many as there are stages)"
    p.add_argument("--layers", type=int, help=words)
    p.add_argument("--steps", type=int, default=100, help="(default: 100)")
    p.add_argument("--batch", type=int, default=64, help="samples of all ranks together (default: 64)")
    words = "parts of a rank's share, or a pipeline's, one after the other (default: 1; 2 for each of --stages)"
    p.add_argument("--micro-batches", type=int, help=words)
    p.add_argument("--stages", type=int, help="ranks of a pipeline, which divide the ranks")
    p.add_argument("--schedule", help=", ".join(SCHEDULES) + " (default: 1F1B)")
    p.add_argument("--chunks", type=int, help="stages that each rank has, where a schedule leaves the choice")
    p.add_argument("--timeline", metavar="FILE", help="write a step of the pipeline as JSON for ui.perfetto.dev")
    p.add_argument("--optimizer", choices=OPTIMIZERS, default="sgd")
    p.add_argument("--rate", type=float, default=0.3, help="learning rate (default: 0.3)")
    p.add_argument("--bucket", type=cli.nbytes, help="4KiB, 1MiB, ... (default: 25MiB)")
    words = "of the gradients in the buckets (default: reverse)"
    p.add_argument("--order", choices=("reverse", "ready"), help=words)
    words = f"{', '.join(hooks.CHOICES)} (default: none)"
    p.add_argument("--compress", type=cli.OneOf("codec", hooks.CHOICES), metavar="HOW", help=words)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--json", action="store_true", help="print one JSON object instead of lines; NaN becomes null")
    return p


def check_arguments(options: argparse.Namespace) -> None:
    """Fill in what was left open. Raises BadInput for settings that make no sense."""
    others, why = (
        (PIPELINE, "for pipelines: say with --stages how many ranks make one")
        if options.stages is None
        else (DATA_PARALLEL, "for data parallelism alone: leave out --stages")
    )
    if given := [f"--{name}" for name in others if getattr(options, name) is not None]:
        raise cli.BadInput(f"{' and '.join(given)} {'are' if len(given) > 1 else 'is'} {why}")
    defaults = PIPELINE | DATA_PARALLEL | {"micro_batches": 2 * (options.stages or 0) or 1}
    for name, value in defaults.items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    for name in ("stages", "chunks", "layers", "steps", "batch", "micro_batches", "bucket"):
        cli.check_range(f"--{name.replace('_', '-')}", getattr(options, name), 1)
    cli.check_range("--seed", options.seed, 0)
    cli.check_range("--layers", options.layers, 1, MOST_LAYERS, "the largest language models have as many")
    if options.layers and options.model == "cnn":
        raise cli.BadInput(f"--layers {options.layers} is for the mlp and the gpt: the cnn always has the same ones")
    least, most = torch.finfo(torch.float32).smallest_normal, torch.finfo(torch.float32).max
    if not least <= options.rate <= most:
        raise cli.BadInput(f"--rate must be from {least:.1e} to {most:.1e}, as float32 is, got {options.rate}")


def check_batch_sizes(ranks: int, options: argparse.Namespace, samples: int) -> None:
    """Raise BadInput for ranks that no pipeline takes, a batch larger than the data, and empty micro-batches."""
    try:
        trainer.check_ranks(ranks, options.stages or 1)
    except ValueError as error:
        raise cli.BadInput(str(error)) from None
    cli.check_range("--batch", options.batch, 1, samples, "the data has no more samples")
    most = math.ceil(options.batch / (ranks // (options.stages or 1)))
    whose = f"the share of {'a pipeline' if options.stages else 'a rank'} of --batch {options.batch} is {most} samples"
    cli.check_range(
        "--micro-batches", options.micro_batches, 1, most, f"{whose}, and one without a sample does nothing"
    )


def check_fits(comm, options: argparse.Namespace, schedule: Schedule | None, model: nn.Module) -> None:
    """Raise BadInput on every rank if the model, or what is kept of each step, does not fit into memory."""
    size = sum(p.numel() for p in model.parameters())
    weights = COPIES * sum(p.nbytes for p in model.parameters())
    cli.check_memory(comm, weights, f"{COPIES} copies of {size:,} parameters", lambda _: "take fewer --layers")
    step = KEPT * (1 + sum(map(len, schedule or [])))
    steps = f"--steps {options.steps:,}, of which each leaves {step:,} bytes"
    fits = "at most --steps {:,} fits".format
    cli.check_memory(comm, weights + options.steps * step, steps, lambda free: fits((free - weights) // step))


def chosen(ranks: int, options: argparse.Namespace) -> tuple[Schedule | None, Build]:
    """The schedule, None without a pipeline, and what builds the model. Raises BadInput if they cannot be."""
    p, m, v = options.stages, options.micro_batches, options.chunks
    try:
        name = SCHEDULES.canonical_name(options.schedule)
        if name == "1F1B" and v and v > 1:
            name = "interleaved 1F1B"
        if not p:
            return None, partial(MODELS[options.model][0], options.layers or 2)
        S = stages(name, p, v)
        cli.check_range(f"the stages of {p} ranks", S, 1, MOST_LAYERS, "each has a layer; take fewer --chunks")
        check_tags(S, m)
        build = partial(MODELS[options.model][0], options.layers or max(2, S))
        schedule = make(name, p, m, v)
        trainer.check_training(ranks, schedule, build(0))
    except ValueError as error:
        raise cli.BadInput(str(error)) from None
    return schedule, build


def train_parallel(comm, options: argparse.Namespace, model: nn.Module, data: Data) -> tuple[list[float], list[float]]:
    """Mean loss of the global batch, and seconds of this rank, of each step; the model is trained in place.

    Raises BadInput on every rank if a gradient cannot be encoded, for it is NaN.
    """
    replicate.broadcast_parameters(comm, model)
    replica = Replica(comm, model, options.bucket, order=options.order)
    replica.communicate = hooks.chosen(options.compress, replica)
    optimizer = make_optimizer(options, model.parameters())
    losses, seconds = [], []
    for number in progress(comm, options):
        mine = batch(data, options.batch, number, options.seed, comm.rank, comm.size)
        start = mpi.wtime(comm)
        try:
            loss, count = accumulate(replica, loss_sum, mine, options.micro_batches)
        except CannotEncode as error:
            raise cli.BadInput(f"--compress {options.compress}, step {number}: {error}; try a smaller --rate") from None
        optimizer.step()
        seconds.append(mpi.wtime(comm) - start)
        losses.append(comm.allreduce(loss) / count)
    return losses, seconds


def progress(comm, options: argparse.Namespace) -> trange:
    """The numbers of the steps, with a bar where somebody looks."""
    hidden = True if comm.rank or options.json else None
    return trange(options.steps, disable=hidden, leave=False, desc=options.model)


def make_optimizer(options: argparse.Namespace, weights) -> torch.optim.Optimizer:
    """The one that was asked for."""
    return OPTIMIZERS[options.optimizer](weights, options.rate)


def train_pipelined(
    comm, options: argparse.Namespace, schedule: Schedule, model: nn.Module, data: Data
) -> tuple[dict, Times]:
    """Losses and seconds as from train_parallel, and a step beside its simulation; the model is trained in place."""
    optimizer, steps = partial(make_optimizer, options), progress(comm, options)
    done = trainer.train_pipeline(comm, schedule, model, data, optimizer, steps, options.batch, options.seed)
    about = {"schedule": schedule.name, "stages": schedule.stages, "late": schedule.weights != "flush"}
    return {"losses": done.losses, "seconds": done.seconds} | about | done.beside(), done.typical


def serially(options: argparse.Namespace, model: nn.Module, data: Data) -> list[float]:
    """The losses of the serial program on the same batches."""
    return train(model, data, make_optimizer(options, model.parameters()), options.steps, options.batch, options.seed)


def inexact(found: dict) -> str:
    """Why the losses may differ from the serial program's, or nothing."""
    if found["late"]:
        return f"gradients are late with {found['schedule']}"
    return f"gradients are compressed by {found['compress']}" if found["compress"] != "none" else ""


def run(comm, options: argparse.Namespace) -> int:
    """Train, verify, and print what came of it."""
    check_arguments(options)
    load = MODELS[options.model][1]
    data, unseen = cli.attempt(comm, f"no data for --model {options.model}", lambda: (load(True), load(False)))
    check_batch_sizes(comm.size, options, len(data.y))
    schedule, build = chosen(comm.size, options)
    cli.check_writable(comm, "--timeline", options.timeline)
    torch.set_num_threads(1)  # ranks share the cores
    model, typical = build(options.seed + comm.rank), cast(Any, None)
    check_fits(comm, options, schedule, model)
    if comm.rank == 0 and not options.json:
        print(headline(comm, schedule, options, model), flush=True)
    found = {"model": options.model, "ranks": comm.size, "compress": options.compress, "late": False}
    if schedule:
        more, typical = train_pipelined(comm, options, schedule, model, data)
        found |= more
    else:
        found |= dict(zip(("losses", "seconds"), train_parallel(comm, options, model, data)))
    times = spread(found.pop("seconds")[1:] or [0.0])
    found |= {"accuracy": accuracy(model, unseen), "step_seconds": times._asdict()}
    serial = partial(serially, options, build(options.seed), data)
    verdict = verify(comm, model, found["losses"], serial, inexact(found))
    found |= {"verified": bool(verdict)} | verdict._asdict()
    if comm.rank == 0:
        print(cli.as_json(found) if options.json else as_text(found, times, verdict), flush=True)
    written = cli.write(comm, "--timeline", options.timeline, lambda path: draw.timeline(typical).to_perfetto(path))
    return 0 if written and not verdict.why else 1


def headline(comm, schedule: Schedule | None, options: argparse.Namespace, model: nn.Module) -> str:
    """What is trained on what."""
    size = sum(p.numel() for p in model.parameters())
    lines = [f"{options.model}, {size:,} parameters, {comm.size} rank{'s' * (comm.size > 1)}, {cli.library()}"]
    if schedule:
        p, pipelines, stages = schedule.ranks, comm.size // schedule.ranks, len(schedule.chunks[0])
        many = f"{pipelines} pipelines of " if pipelines > 1 else ""
        parts = f"{p} rank{'s' * (p > 1)} with {stages} stage{'s' * (stages > 1)}{' each' * (p > 1)}"
        lines.append(f"{many}{parts}, {schedule.micro_batches} micro-batches, {schedule.name}")
    elif comm.size == 1:
        lines.append("one rank averages with nobody; for more: mpirun -n 2 python -m reference.train")
    return "\n".join(lines)


def as_text(found: dict, times: Spread, verdict: Verdict) -> str:
    """What is printed in the end."""
    losses = found["losses"]
    shown = sorted({0, *(len(losses) * k // 5 - 1 for k in range(1, 6))} - {-1})
    low, median, high = (1e3 * seconds for seconds in times)
    return "\n".join(
        [
            *(f"step {number:4}  loss {losses[number]:.4f}" for number in shown),
            f"test accuracy {found['accuracy']:.1%}" + " of next bytes guessed right" * (found["model"] == "gpt"),
            f"a step takes {median:.2f} [{low:.2f} .. {high:.2f}] ms: median and quartiles",
            *(beside(found["measured"], found["simulated"]) if "measured" in found else []),
            str(verdict),
        ]
    )


def beside(measured: dict, simulated: dict) -> list[str]:
    """A step of the pipeline, measured and simulated."""
    return [
        f"{name:9}  a step of the pipeline {1e3 * one['makespan']:.2f} ms, bubble {one['bubble']:.1%}, "
        f"micro-batches kept {' '.join(f'{peak:g}' for peak in one['peaks'])}{more}"
        for name, one, more in (("measured", measured, ""), ("simulated", simulated, " (messages take no time)"))
    ]


if __name__ == "__main__":
    sys.exit(cli.main(run, parser()))

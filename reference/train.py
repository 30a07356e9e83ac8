"""Training of a small model on real data, in one of several layouts: verified against the serial program, and timed.

    mpirun -n 2 python -m reference.train                              # an MLP on handwritten digits
    mpirun -n 4 python -m reference.train --model gpt --optimizer adam --rate 3e-4 --bucket 1MiB --order ready
    mpirun -n 3 python -m reference.train --batch 100 --micro-batches 4 --json
    mpirun -n 2 python -m reference.train --compress power-sgd         # chapter 3: fewer bytes, and another result
    mpirun -n 4 python -m reference.train --model gpt --stages 4       # chapter 9: a pipeline; see --schedule
    mpirun -n 4 python -m reference.train --stages 2 --schedule ZB-V --micro-batches 8 --timeline step.json
    mpirun -n 4 python -m reference.train --model gpt --tensor 2       # layers shared by 2 ranks, batches by 2 groups
    mpirun -n 4 python -m reference.train --model gpt --context 4      # sequences shared by 4 ranks; see --attention
    mpirun -n 4 python -m reference.train --model gpt --zero 3 --clip 1  # chapter 10: shards; see --offload
    mpirun -n 8 python -m reference.train --model gpt --tensor 2 --stages 2 --zero 1 --recompute  # chapter 11: a mesh
    mpirun -n 2 python -m reference.train --model gpt --layers 4 --recompute every:2  # chapter 12: fewer bytes kept
    mpirun -n 4 python -m reference.train --checkpoint run --every 20  # chapter 13: then again, with --resume

Rank 0's model goes to all ranks; each takes its share of every batch; buckets of gradients are summed while the
backward pass goes on (`reference/data_parallel/replica.py`); each rank applies the same average. In the end the ranks
compare their weights, bit by bit, and rank 0 trains alone on the same batches to compare the losses. With --compress
the losses may differ, and are not verified; the ranks still must not. NaN verifies nothing, even the same on all ranks.
Other layouts are in `reference/layouts/`: --stages cuts the model between layers, --tensor within them, --context the
sequences. Groups of so many ranks then share a copy of the model, each takes its share of every batch, and all have
the whole model in the end. --zero cuts the optimizer's state, and more, among all ranks. Any of them go together:
then --data says how many groups share a batch, and --mesh which of the axes is innermost. Of a pipeline a step is also
simulated, with the seconds that its actions took.
--elastic lets ranks die (kill -9), and the others go on: from their memory, or, with --checkpoint, from the newest one.
It needs Open MPI with ULFM, and says how to get and start it.
--checkpoint saves the training as it goes, every so many steps or as often as --mtbf makes worth while. --resume goes
on from the newest checkpoint, in this layout or another one; --resume STEP from an older one, and gives up those after
it. Where there is no checkpoint --resume begins at the beginning, so that one command starts a job and starts it again.
Exit status: 0 if all that was compared is equal, 1 if not, 2 for bad input.
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

from .data_parallel.verdict import Verdict, verify
from .layouts import elastic
from .layouts.catalogue import choose, flag
from .layouts.catalogue import options as of_layouts
from .layouts.checkpoints import OPTIONS, Checkpoints
from .layouts.checkpoints import check_options as check_checkpoint_options
from .layouts.layout import OPTIMIZERS, Layout, config, make_optimizer
from .models import Config, Data, accuracy, digits, text, train
from .perf.measure import Spread, spread
from .pipeline.analysis import draw

MODELS: dict[str, Callable[[bool], Data]] = {  # and the data that each is trained on
    "mlp": digits,
    "cnn": digits,
    "gpt": lambda train: text(Config().length, train),
}
MOST_LAYERS = 128  # as many as the largest language models have; every rank builds all of them
COPIES = 10  # of the weights: gradients, buckets, messages, the optimizer's state, and the serial program's
KEPT = 100  # bytes that a rank keeps of a step: losses and seconds; and of each of its actions about as many


def parser() -> cli.Parser:
    """The command line."""
    p = cli.Parser(
        "python -m reference.train",
        description="Train a small model on several ranks, in one of several layouts; compare with the serial program.",
        epilog="start it on several ranks with: mpirun -n 2 python -m reference.train",
    )
    p.add_argument("--model", choices=MODELS, default="mlp", help="mlp and cnn: digits; gpt: bytes of a novel")
    words = "linear ones of the mlp, blocks of the gpt (default: 2, and as many as there are stages)"
    p.add_argument("--layers", type=int, help=words)
    p.add_argument("--heads", type=int, help=f"of the gpt's attention (default: {Config().heads})")
    p.add_argument("--kv-heads", type=int, help="of its keys and values, which divide --heads (default: as many)")
    p.add_argument("--steps", type=int, default=100, help="(default: 100)")
    p.add_argument("--batch", type=int, default=64, help="samples of all ranks together (default: 64)")
    words = "parts of a rank's share, or a group's, one after the other (default: 1; 2 for each of --stages)"
    p.add_argument("--micro-batches", type=int, help=words)
    p.add_argument("--optimizer", choices=OPTIMIZERS, default="sgd")
    p.add_argument("--rate", type=float, help="learning rate (default: sgd's 0.3, or 0.1 for the gpt; adam's 0.003)")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--json", action="store_true", help="print one JSON object instead of lines; NaN becomes null")
    for name, (_, how) in OPTIONS.items():
        p.add_argument(flag(name), **how)
    p.add_argument("--elastic", action="store_true", help="ranks may die, and the others go on: needs MPI with ULFM")
    headings = {layout: p.add_argument_group(layout.name) for layout, _, _ in of_layouts()}
    for layout, name, option in of_layouts():
        headings[layout].add_argument(flag(name), **option.how)
    return p


def check_arguments(options: argparse.Namespace) -> type[Layout]:
    """The layout that was asked for; what was left open is filled in. Raises BadInput for settings without sense."""
    layout = choose(options)
    for name, value in vars(options).items():
        if isinstance(value, int) and not isinstance(value, bool):
            cli.check_range(flag(name), value, 0 if name == "seed" else 1)
    if options.micro_batches is None:
        options.micro_batches = layout.default_micro_batches(options)
    cli.check_range("--layers", options.layers, 1, MOST_LAYERS, "the largest language models have as many")
    if options.layers and options.model == "cnn":
        raise cli.BadInput(f"--layers {options.layers} is for the mlp and the gpt: the cnn always has the same ones")
    check_heads(options)
    check_checkpoint_options(options)
    if options.rate is None:
        options.rate = usual_rate(options)
    least, most = torch.finfo(torch.float32).smallest_normal, torch.finfo(torch.float32).max
    if not least <= options.rate <= most:
        raise cli.BadInput(f"--rate must be from {least:.1e} to {most:.1e}, as float32 is, got {options.rate}")
    return layout


def usual_rate(options: argparse.Namespace) -> float:
    """The learning rate where none is asked for: all three models learn, and rounding does not grow into other losses.

    With SGD at 0.3 the gpt's losses jump about, and 60 to 100 steps make another loss of another order of summation.
    """
    if options.optimizer == "adam":
        return 3e-3
    return 0.1 if options.model == "gpt" else 0.3


def check_heads(options: argparse.Namespace) -> None:
    """Fill in the heads of attention. Raises BadInput for other models, and for heads that cannot be had."""
    if options.model != "gpt":
        if given := [flag(name) for name in ("heads", "kv_heads") if getattr(options, name) is not None]:
            raise cli.BadInput(f"{' and '.join(given)}: for the gpt alone; take --model gpt")
        return
    options.heads = options.heads or Config().heads
    of = config(options)
    if of.width % of.heads:
        raise cli.BadInput(f"--heads must divide the width of {of.width}, got {of.heads}")
    if of.heads % of.groups:
        raise cli.BadInput(f"--kv-heads must divide the {of.heads} heads, got {of.groups}")


def check_batch_sizes(ranks: int, options: argparse.Namespace, layout: type[Layout], samples: int) -> None:
    """Raise BadInput for ranks that no group takes, a batch larger than the data, and empty micro-batches."""
    layout.check_ranks(ranks, options)
    N = layout.ranks_of_a_group(options)
    cli.check_range("--batch", options.batch, 1, samples, "the data has no more samples")
    most = math.ceil(options.batch / (ranks // N))
    whose = f"the share of a {layout.group} of --batch {options.batch} is {most} samples"
    cli.check_range(
        "--micro-batches", options.micro_batches, 1, most, f"{whose}, and one without a sample does nothing"
    )


def check_fits(comm, options: argparse.Namespace, layout: Layout, model: nn.Module) -> None:
    """Raise BadInput on every rank if the model, or what is kept of each step, does not fit into memory."""
    size = sum(p.numel() for p in model.parameters())
    weights = COPIES * sum(p.nbytes for p in model.parameters())
    cli.check_memory(comm, weights, f"{COPIES} copies of {size:,} parameters", lambda _: "take fewer --layers")
    step = KEPT * (1 + layout.kept)
    steps = f"--steps {options.steps:,}, of which each leaves {step:,} bytes"
    fits = "at most --steps {:,} fits".format
    cli.check_memory(comm, weights + options.steps * step, steps, lambda free: fits((free - weights) // step))


def made(layout: type[Layout], ranks: int, options: argparse.Namespace) -> Layout:
    """The layout of these ranks. Raises BadInput if it cannot be."""
    try:
        return layout(ranks, options)
    except ValueError as error:
        raise cli.BadInput(str(error)) from None


def serially(options: argparse.Namespace, model: nn.Module, data: Data) -> list[float]:
    """The losses of the serial program on the same batches."""
    return train(model, data, make_optimizer(options, model.parameters()), options.steps, options.batch, options.seed)


def run(comm, options: argparse.Namespace) -> int:
    """Train, verify, and print what came of it."""
    kind, load = check_arguments(options), MODELS[options.model]
    data, unseen = cli.attempt(comm, f"no data for --model {options.model}", lambda: (load(True), load(False)))
    check_batch_sizes(comm.size, options, kind, len(data.y))
    if options.elastic:
        elastic.check(comm, kind, options)
    checkpoints = Checkpoints(comm, options) if options.checkpoint else None
    layout = made(kind, comm.size, options)
    if checkpoints:
        checkpoints.attach(layout)
    cli.check_writable(comm, "--timeline", options.timeline)
    torch.set_num_threads(1)  # ranks share the cores
    model = layout.build(options.seed + comm.rank)
    check_fits(comm, options, layout, model)
    if comm.rank == 0 and not options.json:
        begun = checkpoints.lines() if checkpoints else []
        print("\n".join([headline(comm, layout, options, model), *begun]), flush=True)
    if options.elastic:
        survived = elastic.train(comm, layout, model, data, checkpoints)
        done, comm, model, checkpoints, _ = survived
    else:
        done = layout.train(comm, model, data)
    found = {"model": options.model, "layout": layout.name, "ranks": comm.size, "compress": options.compress}
    found |= {"late": False, "losses": done.losses} | done.about
    times = spread(done.seconds[1:] or [0.0])
    found |= {"checkpoint": checkpoints.about()} if checkpoints else {}
    found |= {"accuracy": accuracy(model, unseen), "step_seconds": times._asdict()}
    serial = partial(serially, options, layout.build(options.seed), data)
    verdict = verify(comm, model, done.losses, serial, layout.inexact)
    found |= {"verified": bool(verdict)} | verdict._asdict()
    if comm.rank == 0:
        print(cli.as_json(found) if options.json else as_text(found, times, verdict), flush=True)
    written = cli.write(
        comm, "--timeline", options.timeline, lambda path: draw.timeline(cast(Any, done.times)).to_perfetto(path)
    )
    status = 0 if written and not verdict.why else 1
    return elastic.ended(survived, status) if options.elastic else status


def headline(comm, layout: Layout, options: argparse.Namespace, model: nn.Module) -> str:
    """What is trained on what."""
    size = sum(p.numel() for p in model.parameters())
    first = f"{options.model}, {size:,} parameters, {comm.size} rank{'s' * (comm.size > 1)}, {cli.library()}"
    again = [f"recomputation: {options.recompute}"] if options.recompute != "none" else []
    return "\n".join([first, *layout.lines(), *again])


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
            *([saved(found["checkpoint"])] if "checkpoint" in found else []),
            str(verdict),
        ]
    )


def saved(told: dict) -> str:
    """How often it was saved, and what that took."""
    times, many = spread(told["seconds"] or [0.0]), told["saves"]
    return f"saved {many} time{'s' * (many != 1)} in {told['folder']}; a save takes {1e3 * times.median:.1f} ms: median"


def beside(measured: dict, simulated: dict) -> list[str]:
    """A step of the pipeline, measured and simulated."""
    return [
        f"{name:9}  a step of the pipeline {1e3 * one['makespan']:.2f} ms, bubble {one['bubble']:.1%}, "
        f"micro-batches kept {' '.join(f'{peak:g}' for peak in one['peaks'])}{more}"
        for name, one, more in (("measured", measured, ""), ("simulated", simulated, " (messages take no time)"))
    ]


if __name__ == "__main__":
    sys.exit(cli.main(run, parser()))

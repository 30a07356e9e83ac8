"""The planner: the fastest layouts of a model on so many accelerators, what limits each, and how to set the first.

    python -m reference.plan --model gpt-175b --machine dgx-a100 --accelerators 1024
    python -m reference.plan --model llama3-405b --machine dgx-h100 --accelerators 16384 --global-batch 2048 --json

Every layout of data, tensor, pipeline (stages) and context parallelism, with ZeRO stage, micro-batch, chunks and
recomputation, is priced or excluded by a bound (planner/search/exhaustive.py), on the cost model of
planner/step_seconds.py and planner/bytes_held.py. A row for each choice of degrees: the fastest of those layouts
that fits.
Models and machines are data: planner/data/*.toml. --models and --machines read a file of your own in the same form.
Exit status: 0; 2 for bad input, or if nothing fits (then it says what is missing, and what would fit).
"""

from __future__ import annotations

from . import cli  # first: it answers Ctrl-C while the others are imported

# isort: split
import argparse
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from .planner.architecture import Architecture, architectures, read_architectures
from .planner.cluster import Cluster, clusters, read_clusters
from .planner.command_lines import command_lines
from .planner.predict import Prediction
from .planner.search.exhaustive import Search, exhaustive
from .planner.search.nearest import impossible, near_miss
from .planner.search.space import LayoutSpace
from .zero.sizing import size_text

MOST_RANKS = 10**6
MOST_BATCH = 10**7
TOKENS = 2**22  # of a step, unless --global-batch says otherwise


def parser() -> cli.Parser:
    """The command line."""
    p = cli.Parser("python -m reference.plan", description="The fastest layouts of a model on a machine.")
    p.add_argument("--model", default="gpt-175b", help=f"{', '.join(architectures())} (default: gpt-175b)")
    p.add_argument("--machine", default="dgx-a100", help=f"{', '.join(clusters())} (default: dgx-a100)")
    p.add_argument("--accelerators", type=int, default=1024, help="how many (default: 1024)")
    p.add_argument("--global-batch", type=int, help=f"sequences of a step (default: {TOKENS:,} tokens)")
    p.add_argument("--length", type=int, help="tokens of a sequence (default: the model's)")
    p.add_argument("--memory", type=cli.nbytes, help="of an accelerator, 60GB (default: the machine's)")
    p.add_argument("--top", type=int, default=10, help="rows, one for each choice of degrees (default: 10)")
    p.add_argument("--models", metavar="FILE", help="models of your own, like planner/data/architectures.toml")
    p.add_argument("--machines", metavar="FILE", help="machines of your own, like planner/data/clusters.toml")
    p.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    return p


def space_of(comm, options: argparse.Namespace) -> LayoutSpace:
    """What the options ask for. Raises BadInput that names the option."""
    for name, low, high in (
        ("accelerators", 1, MOST_RANKS),
        ("global_batch", 1, MOST_BATCH),
        ("length", 1, 10**8),
        ("memory", 1, cli.LARGEST),
        ("top", 1, 1000),
    ):
        cli.check_range(f"--{name.replace('_', '-')}", getattr(options, name), low, high)
    models, machines = dict(architectures()), dict(clusters())
    if options.models is not None:
        models |= cli.attempt(comm, "--models", lambda: read_architectures(Path(options.models).read_text()))
    if options.machines is not None:
        machines |= cli.attempt(comm, "--machines", lambda: read_clusters(Path(options.machines).read_text()))
    model: Architecture = named("--model", options.model, models)
    machine: Cluster = named("--machine", options.machine, machines)
    length = options.length or model.length
    batch = options.global_batch or max(1, TOKENS // length)
    node = machine.ranks_per_node
    if options.accelerators > node and options.accelerators % node:
        down = options.accelerators // node * node
        raise cli.BadInput(
            f"--accelerators {options.accelerators:,} are no whole nodes of {node}; take {down:,} or {down + node:,}"
        )
    space = LayoutSpace(model, machine, options.accelerators, batch, length, options.memory)
    if why := impossible(space):
        raise cli.BadInput(why)
    return space


def named(option: str, name: str, known: dict[str, Any]) -> Any:
    """The record of this name. Raises BadInput that lists all names."""
    if name.lower() not in known:
        raise cli.BadInput(f"{option} {name[:40]!r} is not known; there are: {', '.join(known)}")
    return known[name.lower()]


def refuse(space: LayoutSpace) -> None:
    """Raise BadInput: nothing fits, what is missing, and the nearest layouts that would fit."""
    near = near_miss(space)
    least = f"{degrees(near.least)} with ZeRO {near.least.spec.zero}, recompute {near.least.spec.recompute}"
    words = (
        f"nothing fits into {size_text(space.limit)}: the layout that needs least ({least}) needs "
        f"{size_text(near.least.held.total)}, {size_text(near.missing)} more"
    )
    if near.more:
        ranks, one = near.more
        words += f"; {ranks:,} accelerators would do: {degrees(one)}, {size_text(one.held.total)}"
    raise cli.BadInput(words)


# What is found --------------------------------------------------------------------------------------------------------


def degrees(one: Prediction) -> str:
    """ "data 8 x tensor 8 x stages 16": the axes of a layout that divide something."""
    told = {"data": one.spec.data, "tensor": one.spec.tensor, "stages": one.spec.stages, "context": one.spec.context}
    return " x ".join(f"{name} {degree}" for name, degree in told.items() if degree > 1) or "one accelerator"


def told(space: LayoutSpace, search: Search, seconds: float) -> dict[str, Any]:
    """All that was found, for JSON."""
    first = search.best[0].spec
    lines = command_lines(space.model, first, space.global_batch, space.machine.ranks_per_node, space.length)
    return {
        "model": space.model.name,
        "parameters": space.model.parameters(),
        "machine": space.machine.name,
        "accelerators": space.ranks,
        "global_batch": space.global_batch,
        "length": space.length,
        "memory": space.limit,
        "layouts": space.size(),
        "priced": search.priced,
        "search_seconds": seconds,
        "best": [_one(each) for each in search.best],
        "commands": {line.framework: {"command": str(line), "notes": list(line.notes)} for line in lines},
    }


def _one(one: Prediction) -> dict[str, Any]:
    fields = "data tensor stages context zero micro_batch chunks recompute".split()
    return {
        "layout": {name: getattr(one.spec, name) for name in fields},
        "seconds": one.seconds.total,
        "terms": one.seconds._asdict(),
        "bytes": one.held.total,
        "kinds": one.held._asdict(),
        "mfu": one.mfu,
        "tokens_per_second": one.tokens_per_second,
        "limit": one.limit,
    }


def lines(space: LayoutSpace, search: Search, seconds: float) -> list[str]:
    """The table, what the first consists of, and its command lines."""
    first = search.best[0]
    terms = [
        f"  {name:<12} {x:8.3f} s  {x / first.seconds.total:6.1%}" for name, x in first.seconds._asdict().items() if x
    ]
    kinds = [f"  {name:<12} {size_text(x):>10}" for name, x in first.held._asdict().items() if x]
    commands = command_lines(space.model, first.spec, space.global_batch, space.machine.ranks_per_node, space.length)
    text = [
        f"{space.model.name} ({space.model.parameters() / 1e9:,.1f}B) on {space.ranks:,} accelerators of "
        f"{space.machine.name}, {size_text(space.limit)} each",
        f"a step: {space.global_batch:,} sequences of {space.length:,} tokens",
        f"{space.size():,} layouts, {search.priced:,} of them priced, the others excluded, in {seconds:.2f} s",
        "",
        *table(search.best),
        "",
        f"the first: {degrees(first)}; a step of {first.seconds.total:.2f} s is",
        *terms,
        f"and {size_text(first.held.total)} on the rank that holds most are",
        *kinds,
    ]
    for command in commands:
        text += ["", f"{command.framework}:", *("  " + line for line in command.lines())]
        text += [f"  note: {note}" for note in command.notes]
    return text


def table(best: list[Prediction]) -> list[str]:
    """A row for each layout. b: sequences of a micro-batch; v: chunks a rank."""
    head = "data  tensor  stages  context  ZeRO    b    v  recompute     seconds      memory    MFU  limit"
    rows = []
    for one in best:
        s = one.spec
        rows.append(
            f"{s.data:4}  {s.tensor:6}  {s.stages:6}  {s.context:7}  {s.zero:4}  {s.micro_batch:3}  {s.chunks:3}  "
            f"{s.recompute:<10}  {one.seconds.total:9.3f}  {size_text(one.held.total):>10}  {one.mfu:5.1%}  {one.limit}"
        )
    return [head, *rows]


def run(comm, options: argparse.Namespace) -> int:
    """The program on one rank of `comm`; its exit status."""
    space = space_of(comm, options)
    if comm.rank == 0:
        start = perf_counter()
        search = exhaustive(space, options.top)
        seconds = perf_counter() - start
        if not search.best:
            refuse(space)
        found = cli.as_json(told(space, search, seconds)) if options.json else "\n".join(lines(space, search, seconds))
        print(found, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(cli.main(run, parser()))

"""A step of pipeline training: our executor against torch.distributed.pipelining over gloo, and what schedules cost.

    python benchmarks/pipeline.py              # 4 ranks, about three minutes
    python benchmarks/pipeline.py --quick      # few turns

The same ranks, started by mpirun, hold the stages of one model for both and carry out the same schedule in turns: a
disturbance of the machine meets both, and the ratio of two times can be trusted more than either. A step is forward and
backward for all micro-batches; its time is that of the slowest rank, on one thread. Before that, without ranks: how
long the validator, the simulator and the scheduler take, and how many lines a schedule takes to write.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from data_parallel import in_turns, on_every_rank, quartiles, run_job
from tabulate import tabulate

from reference import cli

RANKS, MICRO_BATCHES, TURNS = 4, 8, 20
TORCH = {  # our name: torch's
    "GPipe": "GPipe",
    "1F1B": "1F1B",
    "interleaved 1F1B": "Interleaved1F1B",
    "ZB-H1": "InterleavedZeroBubble",
    "ZB-V": "ZBVZeroBubble",
    "DualPipeV": "DualPipeV",
}
AIM = 1.0
LARGE = 64, 512  # p, m for the validator and the simulator; at most a second each
FOUND = 8, 32  # p, m for the scheduler; a few seconds
ZERO_BUBBLE_LINES = 4230  # of the schedulers in the zero-bubble project


# On every rank ------------------------------------------------------------------------------------------------------


def model_and_micro_batches():
    """A GPT without the tied weight, which torch's stages cannot share, and one sequence a micro-batch."""
    from reference.models import BENCHMARK, GPT, Data, batch, text

    whole = batch(text(BENCHMARK.length), MICRO_BATCHES, 0)
    return GPT(BENCHMARK._replace(tied=False)), [Data(*pair) for pair in zip(*(each.split(1) for each in whole))]


def ends(stages: int) -> list[int]:
    """Where stages of as equal size as can be end: the embedding, 8 blocks, the head."""
    return [1 + 8 * (s + 1) // stages for s in range(stages - 1)] + [10]


def own_stages(schedule, rank: int) -> dict:
    """The stages of a rank, of a model of their own."""
    from reference.pipeline.stages import cut

    model, _ = model_and_micro_batches()
    stages = cut(model, ends(schedule.stages))
    return {s: stages[s] for s in schedule.chunks[rank]}


def ours(comm, schedule) -> Callable[[], None]:
    """A step of our executor."""
    from reference.pipeline.runtime.executor import Pipeline

    stages = own_stages(schedule, comm.rank)
    pipeline, (_, micro_batches) = Pipeline(comm, schedule, stages), model_and_micro_batches()

    def step() -> None:
        clear(stages)
        pipeline.step(micro_batches)

    return step


def torchs(comm, schedule, name: str) -> Callable[[], None]:
    """A step of torch's schedule of that name."""
    import torch
    from torch.distributed.pipelining import PipelineStage
    from torch.distributed.pipelining.schedules import PipelineScheduleSingle, get_schedule_class

    from reference.models import cross_entropy_sum
    from reference.models.loss import targets

    stages = own_stages(schedule, comm.rank)
    own = [PipelineStage(stage, s, schedule.stages, torch.device("cpu")) for s, stage in stages.items()]
    _, micro_batches = model_and_micro_batches()
    count = sum(map(targets, micro_batches))
    x, y = (torch.cat(each) for each in zip(*micro_batches))
    found = get_schedule_class(name)
    program = found(
        own[0] if issubclass(found, PipelineScheduleSingle) else own,
        MICRO_BATCHES,
        loss_fn=lambda logits, y: cross_entropy_sum(logits, y) / count,
        scale_grads=False,
    )
    inputs, target = [x] if 0 in stages else [], y if schedule.stages - 1 in stages else None

    def step() -> None:
        clear(stages)
        program.step(*inputs, target=target, losses=[], return_outputs=False)

    return step


def clear(stages: dict) -> None:
    """Forget the gradients of the step before."""
    for stage in stages.values():
        stage.zero_grad()


def measure_all(comm, turns: int) -> dict:
    """Of each schedule the times of both."""
    from reference.pipeline.schedules import make

    found = {}
    for name, theirs in TORCH.items():
        schedule = make(name, RANKS, MICRO_BATCHES)
        both = {"ours": ours(comm, schedule), "torch": torchs(comm, schedule, theirs)}
        found[name] = in_turns(comm, both, turns, f"{name}, {RANKS} ranks")
    return found


# The parent ---------------------------------------------------------------------------------------------------------


def report_steps(found: dict) -> None:
    """Print the times of a step and their ratios."""
    print(f"\n{found.pop('library')}, {RANKS} ranks, m = {MICRO_BATCHES}: milliseconds, median (quartiles)")
    rows, ratios = [], []
    for name, one in found.items():
        mine, theirs = np.asarray(one["ours"]), np.asarray(one["torch"])
        ratios.append(np.median(mine) / np.median(theirs))
        rows.append([name, quartiles(mine, 1e3), quartiles(theirs, 1e3), f"{ratios[-1]:.2f}"])
    print(tabulate(rows, ["", "ours", "torch", "ratio"], disable_numparse=True, stralign="right"))
    print(f"all of them: {np.exp(np.mean(np.log(ratios))):.2f} (geometric mean of the ratios, aim {AIM:.1f})")


def seconds(function: Callable, *arguments) -> float:
    """How long it takes, the quicker of two times."""
    taken = []
    for _ in range(2):
        start = time.perf_counter()
        function(*arguments)
        taken.append(time.perf_counter() - start)
    return min(taken)


def report_analysis() -> None:
    """Print how long it takes to check, time and find schedules."""
    from reference.pipeline.analysis.validate import validate
    from reference.pipeline.schedules import make
    from reference.pipeline.schedules.search import find_schedule
    from reference.pipeline.simulate import UNIT, simulate

    rows = []
    for name in ("1F1B", "interleaved 1F1B", "ZB-H1", "ZB-V"):
        schedule = make(name, *LARGE)
        actions = sum(map(len, schedule.orders))
        rows.append([name, f"{actions:,}", f"{seconds(validate, schedule):.2f}", f"{seconds(simulate, schedule):.2f}"])
    print(f"\np = {LARGE[0]}, m = {LARGE[1]}: seconds (at most 1)")
    print(tabulate(rows, ["", "actions", "validate", "simulate"], disable_numparse=True, stralign="right"))
    p, m = FOUND
    print(f"scheduler at p = {p}, m = {m}: {seconds(find_schedule, p, m, UNIT, p):.1f} s")


def report_lines() -> None:
    """Print how many lines each schedule takes: its function, and those that it calls."""
    from reference.pipeline.schedules import SCHEDULES

    rows, counted = [], set()
    for name, record in SCHEDULES.items():
        own = called(record.make)
        rows.append([name, sum(lines(each) for each in own), ", ".join(sorted({module(each) for each in own}))])
        counted |= own
    print("\nlines of code of each schedule, without blank lines, comments, docstrings, and schedule.py")
    print(tabulate(rows, ["", "lines", "modules"], stralign="left"))
    files = {inspect.getsourcefile(each) for each in counted}
    whole = sum(len(Path(file).read_text().splitlines()) for file in files)
    print(
        f"all of them together: {sum(map(lines, counted))}; their files with every line counted: {whole}; the files of "
        f"the zero-bubble project's own schedulers: {ZERO_BUBBLE_LINES:,}"
    )


def called(function: Callable) -> set[Callable]:
    """The function, and those that make schedules and that it calls, directly or not."""
    found, todo = set(), [function]
    while todo:
        one = todo.pop()
        if one in found or not makes_schedules(one):
            continue
        found.add(one)
        names = {node.id for node in ast.walk(ast.parse(inspect.getsource(one))) if isinstance(node, ast.Name)}
        todo += [one.__globals__[name] for name in names & one.__globals__.keys()]
    return found


def makes_schedules(thing: object) -> bool:
    """Whether it is a function of reference/pipeline, and not of what all of it stands on."""
    if not inspect.isfunction(thing) or not thing.__module__.startswith("reference.pipeline"):
        return False
    return module(thing) not in ("schedule", "simulate")


def module(function: Callable) -> str:
    """Where it is defined, shortly."""
    return function.__module__.rpartition(".")[2]


def lines(function: Callable) -> int:
    """Lines of code of a function."""
    tree = ast.parse(inspect.getsource(function))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return len({node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt | ast.expr)})


def main() -> None:
    """Parent, or one of its ranks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few turns")
    parser.add_argument("--out", help=argparse.SUPPRESS)
    parser.add_argument("--turns", type=cli.whole_number, default=TURNS, help="(default: %(default)s)")
    arguments = parser.parse_args()
    if arguments.out:
        return on_every_rank(arguments.out, lambda comm: measure_all(comm, arguments.turns))
    report_lines()
    report_analysis()
    report_steps(run_job(RANKS, __file__, "--turns", str(5 if arguments.quick else arguments.turns)))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    main()

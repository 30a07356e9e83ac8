"""How fast the virtual cluster is: messages a second, bytes of memory a message, and a training step on 32 ranks.

    python benchmarks/worlds.py                     # this checkout
    python benchmarks/worlds.py --against FOLDER    # beside another one, made with `git worktree add FOLDER COMMIT`

Prints each figure as the median of some runs with its quartiles, in CPU seconds and in real ones, beside the aim; with
--against how many times as quick this checkout is, in CPU seconds. Each run is a process of its own, and the two
checkouts take turns, so that a machine which is busy is so for both. Timeline and counters are on.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from reference.collectives.evaluate import evaluate
from reference.collectives.ring import ring_allreduce, ring_allreduce_rounds
from reference.worlds import launch, networks

ROOT = Path(__file__).resolve().parent.parent


def neighbours(comm, steps):
    """Every rank sends 8 bytes to the right and receives from the left, `steps` times."""
    outgoing, incoming = np.zeros(1), np.zeros(1)
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for _ in range(steps):
        comm.Sendrecv(outgoing, right, 0, incoming, left, 0)


def messages(ranks: int, number: int = 12_800) -> int:
    """Let so many messages be sent; return how many it were."""
    return sum(launch(neighbours, ranks, number // ranks).messages)


def ring(ranks: int) -> int:
    """A ring all-reduce of 8 numbers a block; return the messages."""
    return sum(launch(lambda comm: ring_allreduce(comm, np.ones(8 * comm.size))[0], ranks, timeout=600).messages)


def bytes_a_message(messages: int) -> float:
    """Memory that a launch of that many messages still holds when it has ended, a message."""
    tracemalloc.start()
    run = launch(neighbours, 8, messages // 8)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held / sum(run.messages)


def train(comm, steps):
    """A small network; each gradient is summed by a blocking collective from a hook inside backward."""
    import torch

    from reference import mpi

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(lambda p: comm.Allreduce(mpi.IN_PLACE, p.grad))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    generator = torch.Generator().manual_seed(comm.rank)
    for _ in range(steps):
        x = torch.randn(8, 64, generator=generator)
        optimizer.zero_grad()
        (model(x).square().mean() / comm.size).backward()
        optimizer.step()
    return float(sum(parameter.detach().double().sum() for parameter in model.parameters()))


def train_steps(ranks: int, steps: int) -> int:
    """Some steps of training; every rank must end with the same weights."""
    results = launch(train, ranks, steps, timeout=300).results
    if results != results[:1] * ranks:
        raise SystemExit("NOT VERIFIED: the ranks' weights differ")
    return steps


def evaluate_ring(ranks: int) -> int:
    """Time a ring all-reduce for all ranks at once."""
    evaluate(ring_allreduce_rounds, ranks, 10**7, 4, networks.uniform(5e-6, 2e-11))
    return 1


class Case(NamedTuple):
    """Something to do, which returns how many of `unit` it did; `aim` is what it is to reach.

    `first` is done before the clock starts: what is imported at the first launch is no part of it.
    """

    name: str
    unit: str
    do: Callable[[], float]
    repeat: int
    aim: str = ""
    first: Callable[[], object] = lambda: launch(neighbours, 2, 1)


CASES = [
    Case("neighbours, 2 ranks", "message", lambda: messages(2), 5),
    Case("neighbours, 64 ranks", "message", lambda: messages(64), 5, "2 times 5f970d4"),
    Case("neighbours, 512 ranks", "message", lambda: messages(512), 3),
    Case("ring all-reduce, 128 ranks", "message", lambda: ring(128), 3, "2 times 5f970d4"),
    Case("training on 32 ranks", "step", lambda: train_steps(32, 10), 3, "", lambda: train_steps(2, 1)),
    Case("evaluate a ring, 10,000 ranks", "ring", lambda: evaluate_ring(10_000), 3, "4 times 5f970d4"),
]


def run_one(number: int) -> None:
    """The program of one process: CPU seconds and real ones for a case, a unit."""
    case = CASES[number]
    case.first()
    cpu, real = time.process_time(), time.perf_counter()
    done = case.do()
    print(json.dumps([(time.process_time() - cpu) / done, (time.perf_counter() - real) / done]))


def measured(case: int, folder: Path) -> list[float]:
    """The seconds that run_one prints, with the package of a checkout."""
    command = [sys.executable, __file__, "--case", str(case)]
    ended = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(folder)}, capture_output=True, text=True)
    if ended.returncode:
        raise SystemExit(f"{CASES[case].name}, with {folder}:\n{ended.stderr[-2000:]}")
    return json.loads(ended.stdout.splitlines()[-1])


def in_turns(case: int, folders: list[Path]) -> np.ndarray:
    """Seconds a unit, [repeat, folder, CPU or real]."""
    return np.array([[measured(case, folder) for folder in folders] for _ in range(CASES[case].repeat)])


def shown(seconds: np.ndarray) -> str:
    """Median and quartiles, in microseconds or seconds."""
    low, median, high = np.quantile(seconds, [0.25, 0.5, 0.75])
    factor, unit = (1e6, "us") if median < 1e-2 else (1.0, "s")
    return f"{median * factor:.3g} ({low * factor:.3g} .. {high * factor:.3g}) {unit}"


def main() -> None:
    """Run all cases and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="another checkout to compare with")
    parser.add_argument("--case", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case is not None:
        return run_one(arguments.case)
    if arguments.against and not (arguments.against / "reference").is_dir():
        parser.error(f"--against {arguments.against}: there is no package `reference` in it")
    from tabulate import tabulate
    from tqdm import tqdm

    folders = [ROOT, *([arguments.against.resolve()] if arguments.against else [])]
    rows = []
    for number, case in enumerate(tqdm(CASES, leave=False)):
        seconds = in_turns(number, folders)
        ratios = np.quantile(seconds[:, -1, 0] / seconds[:, 0, 0], [0.25, 0.5, 0.75])
        times = "{1:.2f} ({0:.2f} .. {2:.2f})".format(*ratios) if arguments.against else ""
        rows.append([case.name, case.unit, shown(seconds[:, 0, 0]), shown(seconds[:, 0, 1]), times, case.aim])
    heads = ["", "for each", "CPU time", "real time", "times as quick", "aim"]
    print(tabulate(rows, heads, disable_numparse=True, stralign="right"))
    for number in (8_000, 64_000):
        print(f"bytes held a message, {number:,} messages: {bytes_a_message(number):.1f} (aim: constant)")


if __name__ == "__main__":
    main()

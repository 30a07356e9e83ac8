"""A step of data-parallel training: our Replica against torch's DistributedDataParallel over gloo.

    python benchmarks/data_parallel.py              # 2 and 4 ranks, about two minutes
    python benchmarks/data_parallel.py --quick      # 2 ranks, few turns

The same ranks, started by mpirun, train copies of one model with both, and alone, in turns: a disturbance of the
machine meets all alike, and the ratio of two times can be trusted more than either. A step is forward, backward,
synchronisation and optimizer; its time is that of the slowest rank, on one thread. DDP runs as it is by default, and
with gradients as views of its buckets; the faster of the two is what we compare with.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate
from tqdm import tqdm

from reference import cli, mpi

ROOT = Path(__file__).resolve().parent.parent
OURS, ALONE, SENDING = "Replica", "no communication", "all-reduce alone"
DDP = {"DDP": {}, "DDP, views": {"gradient_as_bucket_view": True}}
MODELS = {"GPT": 1, "CNN": 32}  # samples a rank
TURNS = {"GPT": 25, "CNN": 150}
AIM = 1.0


# On every rank ------------------------------------------------------------------------------------------------------


def model_and_batch(name: str, comm):
    """A model, the same on all ranks, and this rank's share of a batch."""
    from reference.models import BENCHMARK, CNN, GPT, batch, digits, text

    model, data = (GPT(BENCHMARK), text(BENCHMARK.length)) if name == "GPT" else (CNN((32, 64)), digits())
    return model, batch(data, MODELS[name] * comm.size, 0, rank=comm.rank, ranks=comm.size)


def stepper(name: str, comm, wrap: Callable) -> Callable[[], None]:
    """A training step; wrap(model) gives the module to call, and the function (total, count) that goes backward."""
    import torch

    from reference.models import loss_sum

    model, mine = model_and_batch(name, comm)
    module, backward = wrap(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)

    def step() -> None:
        optimizer.zero_grad()
        backward(*loss_sum(module, mine))
        optimizer.step()

    return step


def programs(name: str, comm) -> tuple[dict[str, Callable[[], None]], int]:
    """What is measured, and the bytes of the gradient."""
    from torch.nn.parallel import DistributedDataParallel

    from reference.data_parallel.replica import Replica

    def mean(total, count) -> None:
        (total / count).backward()

    replicas = []

    def ours(model):
        replicas.append(Replica(comm, model))
        return model, replicas[0].backward

    def send() -> None:
        (replica,) = replicas
        buckets = enumerate(replica.buckets)
        mpi.waitall([replica.communicate(comm, index, bucket.flat) for index, bucket in buckets])

    found = {ALONE: stepper(name, comm, lambda model: (model, mean)), OURS: stepper(name, comm, ours)}
    for label, how in DDP.items():
        found[label] = stepper(name, comm, lambda model, how=how: (DistributedDataParallel(model, **how), mean))
    return found | {SENDING: send}, sum(bucket.flat.nbytes for bucket in replicas[0].buckets)


def in_turns(comm, measured: dict[str, Callable[[], None]], turns: int, title: str) -> dict[str, list[float]]:
    """Seconds of the slowest rank in each turn, by name; a turn before them is for warming up."""
    own = np.zeros((turns + 1, len(measured)))
    for times in tqdm(own, disable=comm.rank > 0, leave=False, desc=title):
        for number, program in enumerate(measured.values()):
            comm.Barrier()
            start = mpi.wtime(comm)
            program()
            times[number] = mpi.wtime(comm) - start
    slowest = np.empty_like(own)
    comm.Allreduce(own, slowest, op=mpi.MAX)
    return {name: slowest[1:, number].tolist() for number, name in enumerate(measured)}


def bytes_of_a_step(name: str, comm) -> int:
    """Most bytes that a rank sends in a step, counted at its communicator; and the count's, which MPI itself sends."""
    from reference.data_parallel.replica import Replica
    from reference.worlds.real.counting import Counted
    from reference.worlds.real.logbook import Logbook

    logbook = Logbook(comm.rank, comm)
    counting = Counted.over(comm, logbook)

    def wrap(model):
        return model, Replica(counting, model).backward

    step = stepper(name, comm, wrap)
    before = logbook.bytes_sent
    step()
    return comm.allreduce(logbook.bytes_sent - before, mpi.MAX) + 8


def on_every_rank(out: str, measure: Callable[[Any], dict]) -> None:
    """The program of one rank: measure(comm), with torch.distributed running too; rank 0 writes what was found."""
    import torch
    import torch.distributed as dist

    comm = mpi.world()
    torch.set_num_threads(1)
    try:
        dist.init_process_group("gloo", init_method=f"file://{out}.store", rank=comm.rank, world_size=comm.size)
        found = measure(comm)
        dist.destroy_process_group()
    except BaseException:
        comm.Abort(1)
        raise
    if comm.rank == 0:
        Path(out).write_text(cli.as_json(found | {"library": cli.library()}))


def measure_all(comm, shorten: int) -> dict:
    """Of each model the gradient's bytes, the bytes that a rank sends, and the times."""
    found = {}
    for name in MODELS:
        measured, nbytes = programs(name, comm)
        times = in_turns(comm, measured, max(TURNS[name] // shorten, 5), f"{name}, {comm.size} ranks")
        found[name] = {"nbytes": nbytes, "sent": bytes_of_a_step(name, comm), "times": times}
    return found


# The parent ---------------------------------------------------------------------------------------------------------


def run_job(ranks: int, program: str, *arguments: str) -> dict:
    """What `program` --out FILE writes on so many ranks; fails if that takes more than 10 minutes."""
    mpirun = shutil.which("mpirun", path=str(Path(sys.executable).parent)) or shutil.which("mpirun")
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/found.json"
        own = [sys.executable, program, "--out", out, *arguments]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        subprocess.run([mpirun, "-n", str(ranks), *own], env=environment, check=True, timeout=600)
        return json.loads(Path(out).read_text())


def quartiles(values, scale: float = 1.0, digits: int = 1) -> str:
    """A median with the quartiles around it."""
    low, median, high = np.quantile(np.asarray(values) * scale, [0.25, 0.5, 0.75])
    return f"{median:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def hidden_share(times: dict[str, np.ndarray]) -> str:
    """How much of the all-reduce the backward pass hides. It says nothing where waiting for each other takes longer."""
    if np.median(times[SENDING]) < 0.02 * np.median(times[ALONE]):
        return "an all-reduce too short to tell"
    return quartiles(1 - (times[OURS] - times[ALONE]) / times[SENDING], 100, 0) + " % of the all-reduce"


def report(ranks: int, found: dict) -> list[float]:
    """Print what was measured; the ratios to the faster DDP."""
    print(f"\n{found.pop('library')}, {ranks} ranks, one thread each: milliseconds, median (quartiles)")
    rows, ratios, notes = [], [], []
    for name, one in found.items():
        times = {what: np.asarray(seconds) for what, seconds in one["times"].items()}
        rows.append([name, *(quartiles(seconds, 1e3) for seconds in times.values())])
        best = min(DDP, key=lambda label: np.median(times[label]))
        ratios.append(float(np.median(times[OURS] / times[best])))
        least = 2 * (ranks - 1) / ranks * one["nbytes"]
        notes.append(
            f"{name}: {ratios[-1]:.2f} times the step of {best} (aim {AIM:.1f}); a rank sends at most {one['sent']:,} "
            f"bytes, {one['sent'] / least:.4f} of the lower bound; hidden: {hidden_share(times)}"
        )
    print(tabulate(rows, ["", *times], disable_numparse=True, stralign="right"))
    print("\n".join(notes))
    return ratios


def jobs(about: str, program: str, measure: Callable[[Any, int], dict]) -> Iterator[tuple[int, dict]]:
    """(ranks, what measure(comm, shorten) found) for each number of ranks that the command line asks for.

    about, program: the benchmark's docstring and file. The ranks are started with that file, too: in them this measures
    and ends the program.
    """
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--ranks", type=cli.rank_count, nargs="+", default=[2, 4])
    parser.add_argument("--quick", action="store_true", help="2 ranks, few turns")
    parser.add_argument("--out", help=argparse.SUPPRESS)
    parser.add_argument("--shorten", type=int, default=1, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.out:
        on_every_rank(arguments.out, lambda comm: measure(comm, arguments.shorten))
        sys.exit()
    for P in [2] if arguments.quick else arguments.ranks:
        yield P, run_job(P, program, "--shorten", "4" if arguments.quick else "1")


def main() -> None:
    """Parent, or one of its ranks."""
    ratios = [ratio for P, found in jobs(__doc__, __file__, measure_all) for ratio in report(P, found)]
    print(f"\nall of them: {np.exp(np.mean(np.log(ratios))):.2f} (geometric mean of the ratios)")


if __name__ == "__main__":
    main()

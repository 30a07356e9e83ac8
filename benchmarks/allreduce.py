"""All-reduce side by side: our algorithms and the automatic choice, the MPI library's own, and torch's gloo.

    python benchmarks/allreduce.py              # 8 ranks, 4 B to 64 MiB of float32, MPICH and, if it is there, Open MPI
    python benchmarks/allreduce.py --quick      # a few sizes

One job a library; inside it everything is measured in turns, so that a disturbance meets all alike. Prints the medians
and the geometric means of their ratios, the share of the copy bound, and how far the fitted formulas are off; then the
time it takes to evaluate every schedule for 10,000 ranks at once. Leaves a table (allreduce.csv) and a plot
(allreduce.png) in build/bench/. `make bench` installs Open MPI in .openmpi, beside the MPICH of the environment.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from tabulate import tabulate
from tqdm import tqdm

from reference import cli, mpi
from reference.collectives import ALLREDUCE, allreduce, choose, cost
from reference.collectives.evaluate import evaluate
from reference.collectives.rounds import Blocks, execute
from reference.collectives.select import Choice, known
from reference.networks import Link, uniform
from reference.perf.measure import measure
from reference.recovery import openmpi
from reference.ring_allreduce import in_bytes

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build/bench"
SIZES = [4 * 4**k for k in range(13)]  # 4 B to 64 MiB
LARGE = 64 * 2**10  # bytes: from here on bandwidth counts
SECONDS_A_SIZE = 6.0
AIMS = {"MPICH": (0.9, 2.0), "Open MPI": (1.1, 2.5), "gloo": (0.6, 0.2)}  # geometric mean from 64 KiB on, and below


# On every rank ---------------------------------------------------------------------------------------------------


def measure_all(comm, sizes: list[int]) -> dict:
    """Medians in seconds by size and name, what the choice was, and the fit's residuals."""
    machine = known(comm)
    medians, choices, cpu = {}, {}, {}
    for nbytes in tqdm(sizes, disable=comm.rank > 0, leave=False, desc=cli.library()):
        x = np.zeros(nbytes // 4, np.float32)
        y = np.empty_like(x)
        programs = {"library": lambda x=x, y=y: comm.Allreduce(x, y), "auto": lambda x=x: allreduce(comm, x)}
        for name, record in ALLREDUCE.items():
            own = record.some_options(comm.size)
            programs[name] = lambda x=x, name=name, own=own: allreduce(comm, x, algorithm=name, **own)
        chosen = choose(comm.size, x.size, 4, machine)
        programs["anew"] = lambda x=x, chosen=chosen: unplanned(comm, x, chosen)
        programs["copy"] = copier(comm, nbytes)
        once = sum(spread.median for spread in measure(comm, list(programs.values()), 1))
        repeat = int(np.clip(SECONDS_A_SIZE / once, 5, 100))
        times = measure(comm, list(programs.values()), repeat)
        cpu[nbytes] = {name: cpu_seconds(comm, programs[name], repeat) for name in ("library", "auto")}
        medians[nbytes] = {name: spread.median for name, spread in zip(programs, times, strict=True)}
        choices[nbytes] = chosen.algorithm
    return {
        "library": cli.library(),
        "medians": medians,
        "choices": choices,
        "cpu": cpu,
        "error": machine.error(),
        "residuals": machine.residuals(),
    }


def cpu_seconds(comm, program, repeat: int) -> float:
    """CPU seconds of a call, of all ranks together; ranks that wait for a message spend them, too."""
    start = time.process_time()
    for _ in range(repeat):
        program()
    return comm.allreduce(time.process_time() - start) / repeat


def unplanned(comm, x, chosen: Choice) -> None:
    """The all-reduce that was chosen, with nothing kept from the call before."""
    record = ALLREDUCE[chosen.algorithm]
    rounds = record.rounds(comm.rank, comm.size, **chosen.options)
    execute(comm, rounds, Blocks(x, record.blocks(comm.size, **chosen.options)))


def copier(comm, nbytes: int):
    """A function that copies what a rank has to send, 2 (P - 1) / P n bytes, while all the others do."""
    moved = int(cost.lower_bound("allreduce", comm.size, nbytes, Link(0.0, 1.0)).bandwidth)
    a, b = np.zeros(moved, np.uint8), np.ones(moved, np.uint8)

    def copy() -> None:
        np.copyto(a, b)
        comm.Barrier()  # until all have: cores may be fewer than ranks

    return copy


def as_rank(arguments: argparse.Namespace) -> None:
    """The program of one rank: measure, and let rank 0 write what was found."""
    comm = mpi.world()
    try:
        found = measure_all(comm, arguments.sizes)
    except BaseException:
        comm.Abort(1)
        raise
    if comm.rank == 0:
        Path(arguments.out).write_text(cli.as_json(found))


# gloo, in processes of its own: MPI's waiting would take the cores away from its threads ---------------------------


def gloo_rank(rank: int, ranks: int, sizes: list[int], store: str, out: str) -> None:
    """The program of one of gloo's ranks: the same way of measuring, with gloo's own barrier."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks)
    medians = {}
    for nbytes in sizes:
        x, own = torch.zeros(nbytes // 4), []
        for _ in range(31 if nbytes < 2**22 else 6):
            dist.barrier()
            start = time.perf_counter()
            dist.all_reduce(x)
            own.append(time.perf_counter() - start)
        slowest = torch.tensor(own[1:], dtype=torch.float64)
        dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
        medians[nbytes] = slowest.median().item()
    if rank == 0:
        Path(out).write_text(json.dumps(medians))
    dist.destroy_process_group()


def run_gloo(ranks: int, sizes: list[int]) -> dict[int, float]:
    """Seconds by size of torch's all-reduce over gloo."""
    import torch.multiprocessing as processes

    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/found.json"
        processes.start_processes(gloo_rank, (ranks, sizes, f"{folder}/store", out), nprocs=ranks, start_method="fork")
        return {int(size): seconds for size, seconds in json.loads(Path(out).read_text()).items()}


# The parent ------------------------------------------------------------------------------------------------------


def jobs() -> dict[str, tuple[list[str], dict[str, str]]]:
    """The MPI libraries there are: the command that starts ranks, and its environment."""
    ours = shutil.which("mpirun", path=str(Path(sys.executable).parent)) or shutil.which("mpirun")
    found = {"MPICH": ([ours], {})}
    if openmpi.installed():
        found["Open MPI"] = ([str(openmpi.MPIRUN)], openmpi.SETTINGS)
    return found


def run_job(name: str, ranks: int, sizes: list[int]) -> dict:
    """Measure under one library; fails if that takes more than 15 minutes."""
    command, settings = jobs()[name]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "found.json"
        own = [sys.executable, __file__, "--out", str(out), "--sizes", *map(str, sizes)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **settings}
        subprocess.run([*command, "-n", str(ranks), *own], env=environment, check=True, timeout=900)
        found = json.loads(out.read_text())
    return found | {"medians": {int(size): row for size, row in found["medians"].items()}}


def geometric_mean(ratios: list[float]) -> float:
    """The mean of ratios that does not care which of the two is on top."""
    return float(np.exp(np.mean(np.log(ratios)))) if ratios else float("nan")


def report(name: str, ranks: int, found: dict) -> None:
    """Print what was measured under one library."""
    names = list(next(iter(found["medians"].values())))
    print(f"\n{found['library']}, {ranks} ranks, float32: median of the slowest rank, microseconds")
    rows = [
        [in_bytes(size), *(f"{row[each] * 1e6:.0f}" for each in names), found["choices"][str(size)]]
        for size, row in found["medians"].items()
    ]
    print(tabulate(rows, ["", *names, "the choice"], stralign="right", disable_numparse=True))
    for other, column in ((name, "library"), ("gloo", "gloo")):
        ratios = {size: row["auto"] / row[column] for size, row in found["medians"].items()}
        large = geometric_mean([ratio for size, ratio in ratios.items() if size >= LARGE])
        small = geometric_mean([ratio for size, ratio in ratios.items() if size < LARGE])
        aim = AIMS[other]
        print(f"the choice over {other}: {large:.2f} from 64 KiB on (aim {aim[0]}), {small:.2f} below (aim {aim[1]})")
        print(f"  by size: {', '.join(f'{in_bytes(size)} {ratio:.2f}' for size, ratio in ratios.items())}")
    best = {size: min((row[each], each) for each in ALLREDUCE) for size, row in found["medians"].items()}
    behind = {size: row["auto"] / best[size][0] for size, row in found["medians"].items()}
    worst = max(behind, key=behind.__getitem__)
    print(
        f"the choice over the best algorithm that was measured: at most {behind[worst]:.2f}, at {in_bytes(worst)}, "
        f"where {best[worst][1]} was best (aim 1.1)"
    )
    own_cpu, library_cpu = (np.array([row[name] for row in found["cpu"].values()]) for name in ("auto", "library"))
    anew = geometric_mean([row["anew"] / row["auto"] for row in found["medians"].values()])
    print(f"the choice with nothing kept from the call before it, over the choice: {anew:.2f}")
    print(f"CPU seconds of all ranks, the choice over the library: {geometric_mean(list(own_cpu / library_cpu)):.2f}")
    shares = [
        f"{in_bytes(size)} {row['copy'] / row['auto']:.0%}" for size, row in found["medians"].items() if size >= 2**20
    ]
    print(f"share of the copy bound (all ranks copy 2 (P - 1) / P n bytes): {', '.join(shares)}")
    own, common = found["error"]
    print(f"the fit is off by {own:.0%} on average with a line for each algorithm, by {common:.0%} with one for all")


def write(found: dict[str, dict]) -> None:
    """The table and the plot."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    RESULTS.mkdir(parents=True, exist_ok=True)
    with (RESULTS / "allreduce.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["library", "bytes", "what", "seconds"])
        for one in found.values():
            table.writerows(
                [one["library"], size, what, seconds]
                for size, row in one["medians"].items()
                for what, seconds in row.items()
            )
    fig, axes = plt.subplots(1, len(found), figsize=(6 * len(found) + 2, 5), layout="constrained", squeeze=False)
    first = {"library": ("black", "-"), "auto": ("#D55E00", "-"), "gloo": ("#CC79A7", "-"), "copy": ("gray", ":")}
    colours = ["#0072B2", "#E69F00", "#009E73", "#56B4E9", "#000000", "#999999"]
    rest = {name: (colours[k % 6], "--" if k < 6 else "-.") for k, name in enumerate(ALLREDUCE)}
    for ax, one in zip(axes[0], found.values(), strict=True):
        for what, (colour, line) in (rest | first).items():
            if what in next(iter(one["medians"].values())):
                label = "the library's own" if what == "library" else what
                times = [row[what] for row in one["medians"].values()]
                ax.loglog(list(one["medians"]), times, line, color=colour, lw=2.6 if what in first else 1, label=label)
        ax.set(title=one["library"], xlabel="bytes", ylabel="seconds")
    fig.legend(*axes[0][0].get_legend_handles_labels(), loc="outside right center", fontsize="small")
    fig.savefig(RESULTS / "allreduce.png", dpi=130)
    print(f"\nwritten: {RESULTS.relative_to(ROOT)}/allreduce.csv and allreduce.png")


def evaluate_many(P: int = 10_000) -> None:
    """Print how long it takes to time each schedule for so many ranks at once, and what that says."""
    rows = []
    for name, algorithm in tqdm(ALLREDUCE.items(), leave=False, desc=f"{P:,} ranks at once"):
        own = algorithm.some_options(P)
        start = time.perf_counter()
        found = evaluate(algorithm.rounds, P, 25 * 10**6, 4, uniform(5e-6, 2e-11), algorithm.blocks(P, **own), **own)
        rows.append([name, f"{time.perf_counter() - start:.2f}", f"{found.seconds * 1e3:.2f}"])
    print(f"\n{P:,} ranks at once, 100 MB, alpha 5 us, 50 GB/s")
    print(tabulate(rows, ["", "seconds to evaluate", "simulated ms"], disable_numparse=True, stralign="right"))


def main() -> None:
    """Parent, or one of its ranks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=cli.rank_count, default=8)
    parser.add_argument("--quick", action="store_true", help="a few sizes only")
    parser.add_argument("--out", help=argparse.SUPPRESS)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.out:
        return as_rank(arguments)
    sizes = SIZES[::4] if arguments.quick else SIZES
    found = {name: run_job(name, arguments.ranks, sizes) for name in jobs()}
    gloo = run_gloo(arguments.ranks, sizes)
    for name, one in found.items():
        for size, row in one["medians"].items():
            row["gloo"] = gloo[size]
        report(name, arguments.ranks, one)
    if "Open MPI" not in found:
        print("\nOpen MPI is not there; `make bench` installs it beside the environment's MPICH")
    write(found)
    evaluate_many()


if __name__ == "__main__":
    main()

"""A step of training on two axes: our composition against torch's, as torchtitan composes it, over gloo.

    python benchmarks/layouts.py      # 4 ranks, about two minutes; --turns 3 for a quick look

Each side has a job of its own (ranks/ours.py, started by mpirun; ranks/torchs.py, four processes), and trains copies of
one GPT in all layouts. The jobs take turns: while one takes a step, the ranks of the other wait in a blocking read, and
a disturbance of the machine meets both alike, so that the ratio of two times can be trusted more than either. A step is
forward, backward, averaging, clipping by the global norm, and AdamW, of the same batch; its time is that of the slowest
rank, on one thread. All start with the same weights, and their losses after the last turn have to agree. Beside it
stand the seconds that the four ranks compute, with all their threads: on 2 cores a step takes half of that at least.

Of several ways of torch the faster one is compared with. Sequence parallelism is off in both: over gloo a
reduce-scatter sends what an all-reduce does (benchmarks/tensor_parallel.py).

Jobs of their own are what makes the ratios mean something. With both sides in the same four processes (2 cores,
2026-11-23, three turns) torch's step took about as long as in its own job, and ours 2.8 to 13 times as long (0.4 to
0.7 s became 1.1 to 6 s), so the ratios told of that arrangement only. Part of it is time of the kernel in our main
thread; which part of the arrangement causes it is not known. In jobs of their own our step took 0.6 to 0.9 of torch's
where a layer is cut, and as long as DDP's in a pipeline without that. What cost most on our side was the norm of the
gradients in float64, ten times the time of one in float32 (mesh/norm.py).

Before that, without ranks: seconds of the planner for the best layout of GPT-3 on up to 16,384 accelerators.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from data_parallel import ROOT, quartiles
from ranks.cases import CASES, RANKS
from ranks.jobs import Job
from tabulate import tabulate
from tqdm import tqdm

from reference import cli
from reference.worlds.processes import SETTINGS, mpirun_command

PROGRAMS = Path(__file__).resolve().parent / "ranks"
TURNS, AIM, WARM = 10, 1.0, 2  # turns that are not counted
PLANNED = 1024, 4096, 16384  # accelerators
OURS, DTENSOR = "ours", "DTensor"


class Sides:
    """Both jobs. `ask` asks the ranks of one program: ours, or a way of torch's."""

    def __init__(self, store: str):
        environment = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        python = [sys.executable, "-W", "ignore"]
        theirs = [[*python, str(PROGRAMS / "torchs.py"), str(rank), store] for rank in range(RANKS)]
        self.torch = Job(RANKS, theirs, environment | {"TORCH_LOGS": "-all"})
        ours = mpirun_command(RANKS, *python, str(PROGRAMS / "ours.py"))
        self.ours = Job(RANKS, [ours], SETTINGS | environment)

    def ask(self, what: str, name: str, label: str) -> np.ndarray:
        """What each rank of that program of a case answers."""
        job = self.ours if label == OURS else self.torch
        return np.array(job.ask(what, name, label.replace(DTENSOR, "")))

    def end(self) -> None:
        """Let all ranks end."""
        self.ours.end()
        self.torch.end()


def measure(sides: Sides, name: str, turns: int) -> dict:
    """Of each program of a case, by turns, the seconds of the slowest rank, and those that all ranks compute."""
    labels = [OURS, *(how or DTENSOR for how in CASES[name].torchs)]
    taken, computed = ({label: np.empty(WARM + turns) for label in labels} for _ in range(2))
    for turn in tqdm(range(WARM + turns), leave=False, desc=f"{name}, {RANKS} ranks"):
        for label in labels:
            own = sides.ask("step", name, label)
            taken[label][turn], computed[label][turn] = own[:, 0].max(), own[:, 1].sum()
    return {
        "times": {label: seconds[WARM:] for label, seconds in taken.items()},
        "computed": {label: seconds[WARM:] for label, seconds in computed.items()},
        "losses": {label: float(sides.ask("loss", name, label)[0]) for label in labels},
    }


def report_steps(found: dict) -> None:
    """Print the times of a step and their ratios. Raises SystemExit if the losses disagree."""
    print(f"\n{cli.library()}, gloo, {RANKS} ranks, one thread each: milliseconds, median (quartiles)")
    rows, ratios = [], []
    for name, one in found.items():
        times, losses = one["times"], one["losses"]
        if not np.allclose(list(losses.values()), losses[OURS], rtol=1e-3):
            sys.exit(f"{name}: the losses disagree after as many steps: {losses}")
        rival = min(times.keys() - {OURS}, key=lambda label: np.median(times[label]))
        ratios.append(float(np.median(times[OURS] / times[rival])))
        for label, seconds in times.items():
            ratio = "" if label == OURS else quartiles(times[OURS] / seconds, 1, 2)
            figures = quartiles(seconds, 1e3), quartiles(one["computed"][label], 1e3, 0), ratio, f"{losses[label]:.4f}"
            rows.append([name if label == OURS else "", label, *figures])
    heads = ["", "", "a step", "ranks compute", f"ours / it (aim {AIM:.1f})", "loss"]
    print(tabulate(rows, heads, disable_numparse=True))
    print(f"all of them, to the faster: {np.exp(np.mean(np.log(ratios))):.2f} (geometric mean of the ratios)")


def report_planner() -> None:
    """Print how long the planner takes to find the best layout, and how many it prices."""
    from reference.planner.architecture import architecture
    from reference.planner.cluster import cluster
    from reference.planner.search.exhaustive import exhaustive
    from reference.planner.search.space import LayoutSpace

    rows = []
    for accelerators in PLANNED:
        space = LayoutSpace(architecture("gpt-175b"), cluster("dgx-a100"), accelerators, 3 * accelerators // 16)
        start, found = time.perf_counter(), exhaustive(space)
        taken = time.perf_counter() - start
        rows.append([f"{accelerators:,}", f"{space.size():,}", f"{found.priced:,}", f"{taken:.2f}"])
    print("the best layout of GPT-3 on A100s, proved (aim: 1 second at most)")
    print(tabulate(rows, ["accelerators", "layouts", "priced", "seconds"], disable_numparse=True, stralign="right"))


def main() -> None:
    """The parent of both jobs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=cli.whole_number, default=TURNS, help="(default: %(default)s)")
    turns, load = parser.parse_args().turns, os.getloadavg()[0]
    report_planner()
    with tempfile.TemporaryDirectory() as folder:
        sides = Sides(f"{folder}/store")
        found = {name: measure(sides, name, turns) for name in CASES}
        sides.end()
    report_steps(found)
    print(f"load of the machine before: {load:.1f}, with {os.cpu_count()} cores")


if __name__ == "__main__":
    main()

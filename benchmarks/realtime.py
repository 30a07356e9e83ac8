"""Real-time scheduling: analyses a second, the simulator against SimSo, and what each test accepts over the load.

    python benchmarks/realtime.py                      # about two minutes
    python benchmarks/realtime.py --quick              # fewer sets
    python benchmarks/realtime.py --picture found.png  # draws the acceptance ratios, too

Analyses: 1,000 sets of 50 tasks, with each test. Simulator: the same sets in both programs, one processor, until
the same tick; jobs are counted, so what a program calls an event does not matter. SimSo is installed into a folder that
is thrown away (tests/realtime/simso_responses.py says why). Acceptance: the share of random sets with a load that a
test proves to be in time; periods over two orders of magnitude on one processor, over one on four.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from tabulate import tabulate

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from reference.realtime import PeriodicTask, demand, fixed_priority, simulate  # noqa: E402
from reference.realtime.global_tests import bcl, gfb, global_fixed_priority  # noqa: E402
from reference.realtime.partition import first_fit_decreasing  # noqa: E402
from reference.realtime.random_sets import task_set  # noqa: E402
from reference.realtime.utilisation import hyperbolic, liu_layland  # noqa: E402
from tests.realtime.simso_responses import NEEDS, simso_run  # noqa: E402

Tasks = Sequence[PeriodicTask]
ONE: dict[str, Callable[[Tasks], object]] = {
    "Liu and Layland": liu_layland,
    "hyperbolic": hyperbolic,
    "response times": fixed_priority,
    "QPA (EDF)": demand.qpa,
}
FOUR: dict[str, Callable[[Tasks], object]] = {
    "GFB (EDF)": lambda tasks: gfb(tasks, 4),
    "BCL (EDF)": lambda tasks: bcl(tasks, 4),
    "response times (global)": lambda tasks: global_fixed_priority(tasks, 4),
    "first fit (EDF)": lambda tasks: first_fit_decreasing(tasks, 4) is not None,
}


def analyses(sets: int) -> None:
    """Seconds for `sets` sets of 50 tasks at a load of 0.8."""
    drawn = [task_set(50, 0.8, Random(seed)) for seed in range(sets)]
    rows = []
    for name, test in (ONE | {"processor demand": demand.processor_demand}).items():
        began = time.perf_counter()
        proved = sum(bool(test(tasks)) for tasks in drawn)
        seconds = time.perf_counter() - began
        rows.append((name, seconds, sets / seconds, proved / sets))
    print(f"{sets} sets of 50 tasks, U = 0.8, periods from 1,000 to 100,000 ticks")
    print(tabulate(rows, headers=("test", "seconds", "sets a second", "proved"), floatfmt=(None, ".2f", ",.0f", ".3f")))


def simulators(repeats: int) -> None:
    """Jobs a second of both programs, in turns, the median."""
    rows = []
    for policy, n in (("fp", 5), ("fp", 50), ("edf", 5), ("edf", 50)):
        tasks, until = task_set(n, 0.8, Random(n)), 2_000_000
        seconds: dict[str, list[float]] = {"ours": [], "SimSo": []}
        _ours(policy, tasks, until // 4)  # warm
        _simso(policy, tasks, until // 4)
        for _ in range(repeats):
            for name, program in (("ours", _ours), ("SimSo", _simso)):
                gc.collect()
                began = time.perf_counter()
                jobs = program(policy, tasks, until)
                seconds[name].append((time.perf_counter() - began) / jobs)
        ours, theirs = (1 / statistics.median(seconds[name]) for name in seconds)
        rows.append((policy, n, ours, theirs, ours / theirs))
    print("\njobs simulated a second, one processor, U = 0.8")
    heads = ("policy", "tasks", "ours", "SimSo", "ratio")
    print(tabulate(rows, headers=heads, floatfmt=(None, None, ",.0f", ",.0f", ".1f")))


def _ours(policy: str, tasks: list[PeriodicTask], until: int) -> int:
    return len(simulate(tasks, policy, until=until, drain=False).jobs)


def _simso(policy: str, tasks: list[PeriodicTask], until: int) -> int:
    model = simso_run(policy, 1, tasks, until)
    return sum(len(task.jobs) for task in model.results.tasks.values())


def acceptance(sets: int, picture: str | None) -> None:
    """The share of sets that each test proves, over the load of each processor."""
    loads = [0.05 * step for step in range(6, 21)]
    found: dict[str, list[float]] = {}
    for tests, processors, n in ((ONE, 1, 10), (FOUR, 4, 12)):
        rows = []
        for load in loads:
            drawn = [_drawn(n, load * processors, seed, processors) for seed in range(sets)]
            shares = [sum(bool(test(tasks)) for tasks in drawn) / sets for test in tests.values()]
            rows.append((f"{load:.2f}", *shares))
            for name, share in zip(tests, shares):
                found.setdefault(name, []).append(share)
        print(f"\nshare of {sets} sets of {n} tasks that a test proves; {processors} processor{'s' * (processors > 1)}")
        print(tabulate(rows, headers=("load", *tests), floatfmt=".2f"))
    if picture:
        _draw(loads, found, picture)


def _drawn(n: int, total: float, seed: int, processors: int) -> list[PeriodicTask]:
    """A set whose load is not above what was asked for by rounding: 0.999 of it."""
    periods = (1_000, 100_000) if processors == 1 else (1_000, 10_000)
    return task_set(n, 0.999 * total, Random(f"{n} {total:.3f} {seed}"), periods=periods, processors=processors)


def _draw(loads: list[float], found: dict[str, list[float]], picture: str) -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
    for place, (tests, title) in enumerate(((ONE, "one processor"), (FOUR, "four processors"))):
        for name, mark in zip(tests, "osv^"):
            axes[place].plot(loads, found[name], marker=mark, label=name)
        axes[place].set(xlabel="load of each processor", title=title)
        axes[place].legend()
    axes[0].set_ylabel("share of sets that the test proves")
    plt.savefig(picture, dpi=150)


def main() -> None:
    """Everything; SimSo in a process that finds it in a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer sets")
    parser.add_argument("--picture", help="where to draw the acceptance ratios")
    parser.add_argument("--simso", help=argparse.SUPPRESS)  # the folder, for the process that simulates
    asked = parser.parse_args()
    if asked.simso:
        sys.path.insert(0, asked.simso)
        return simulators(1 if asked.quick else 5)
    analyses(100 if asked.quick else 1000)
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-build-isolation"]
        subprocess.run([*pip, "--no-deps", "--target", folder, *NEEDS], check=True)
        again = [sys.executable, __file__, "--simso", folder, *(["--quick"] if asked.quick else [])]
        sys.stdout.flush()
        subprocess.run(again, check=True)
    acceptance(30 if asked.quick else 300, asked.picture)


if __name__ == "__main__":
    main()

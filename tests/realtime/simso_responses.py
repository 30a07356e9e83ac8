"""SimSo's simulations, recorded: the response time of every job of random sets, on one processor and on two.

    python -m tests.realtime.simso_responses            # record anew; the first time, or for another version
    python -m tests.realtime.simso_responses --check    # simulate again, and compare with what is recorded

test_simso.py compares our simulation with the record. SimSo needs SimPy 2, and this course has SimPy 4 under nearly the
same name, so it cannot be a dependency: this program installs both into a folder that is thrown away.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from random import Random

from reference.realtime import PeriodicTask
from reference.realtime.random_sets import task_set

NEEDS = ("SimPy==2.3.1", "simso==0.8.5")
RECORD = Path(__file__).parent / "data" / "simso.json"
SCHEDULERS = {("fp", 1): "RM_mono", ("edf", 1): "EDF_mono", ("fp", 2): "FP", ("edf", 2): "EDF"}  # SimSo's names
UNTIL = 4000  # ticks


def cases() -> list[tuple[str, int, list[PeriodicTask]]]:
    """(policy, processors, tasks), without equal keys: two programs may order those differently, and both be right."""
    found = []
    for policy, processors in SCHEDULERS:
        for seed in range(16):
            rng = Random(f"{policy} {processors} {seed}")
            load = rng.uniform(0.5, 0.85) * processors
            tasks = task_set(4 + 2 * processors, load, rng, periods=(97, 700), processors=processors)
            due = [task.period * k for task in tasks for k in range(1, UNTIL // task.period + 1)]
            if len({task.period for task in tasks}) == len(tasks) and (policy == "fp" or len(set(due)) == len(due)):
                found.append((policy, processors, tasks))
    return found


def simso_run(policy: str, processors: int, tasks: list[PeriodicTask], until: int):
    """Simulate a set with SimSo, a tick a millisecond of one cycle; return its model."""
    warnings.simplefilter("ignore")  # written for Python 2.7
    from simso.configuration import Configuration
    from simso.core import Model

    setting = Configuration()
    setting.cycles_per_ms, setting.duration, setting.etm = 1, until, "wcet"
    for place, task in enumerate(tasks):
        setting.add_task(
            name=task.name, identifier=place + 1, period=task.period, activation_date=task.offset,
            wcet=task.execution, deadline=task.deadline, data={"priority": -place},
        )  # fmt: skip
    for place in range(processors):
        setting.add_processor(name=f"cpu{place}", identifier=place + 1)
    setting.scheduler_info.clas = f"simso.schedulers.{SCHEDULERS[policy, processors]}"
    setting.check_all()
    model = Model(setting)
    with contextlib.redirect_stdout(io.StringIO()):  # its global EDF prints each choice
        model.run_model()
    return model


def responses() -> list[dict[str, list[int]]]:
    """Of each case the response times of each task's jobs that were done."""
    found = []
    for policy, processors, tasks in cases():
        model = simso_run(policy, processors, tasks, UNTIL)
        rows = {task.name: [job.response_time for job in model.results.tasks[task].jobs] for task in model.task_list}
        found.append({name: [int(R) for R in row if R is not None] for name, row in rows.items()})
    return found


def record() -> list[dict[str, list[int]]]:
    """Install SimSo into a folder, simulate there in a process of its own, and return what it found."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-build-isolation"]
        subprocess.run([*pip, "--no-deps", "--target", folder, *NEEDS], check=True)
        path = os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])
        command = [sys.executable, "-m", __spec__.name, "--inside"]
        done = subprocess.run(
            command, env=os.environ | {"PYTHONPATH": path}, check=True, capture_output=True, text=True
        )
    return json.loads(done.stdout)


def main() -> int:
    """A simulation inside the folder, a check, or a new record."""
    if "--inside" in sys.argv:
        print(json.dumps(responses()))
        return 0
    found = record()
    if "--check" in sys.argv:
        same = found == json.loads(RECORD.read_text())
        print("as recorded" if same else "not as recorded")
        return int(not same)
    RECORD.write_text(json.dumps(found, separators=(",", ":")) + "\n")
    print(f"{RECORD}: {RECORD.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())

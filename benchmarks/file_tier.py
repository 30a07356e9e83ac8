"""The file tier against dd: bandwidth of writing and of reading one file, with the same flags and the same blocks.

    python benchmarks/file_tier.py                   # 256 MiB in the folder for temporary files, about a minute
    python benchmarks/file_tier.py --folder /nvme    # another drive
    python benchmarks/file_tier.py --mib 64 --turns 5

Both write from memory and flush to the drive, in turns, each first in every second turn; the ratio of two times of one
turn says more than either. Direct: oflag=direct or iflag=direct. Buffered: conv=fsync; reads are of a file that was
dropped from the page cache. The tier does more than dd: checksums, a head, and a new file that is flushed and renamed
and whose name is flushed, too, where dd overwrites the old one. Buffered writes are where that shows.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tabulate import tabulate
from tqdm import tqdm

from reference.tiers.blocks import MIB, Blocks, Format, pinned

AIM = 0.9
CHUNK = 4 * MIB


def drop(path: Path) -> None:
    """Let the kernel forget what it has cached of a file."""
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)


def dd(source: object, target: object, count: int, *flags: str) -> None:
    """One dd with blocks of a chunk."""
    command = ["dd", f"if={source}", f"of={target}", f"bs={CHUNK}", f"count={count}", *flags]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


def programs(folder: Path, nbytes: int) -> dict[str, tuple[Callable, Callable, Callable]]:
    """Of each row: what is done before, ours, and dd's."""
    tensor, ours, theirs, count = pinned(nbytes // 4).normal_(), folder / "ours", folder / "dd", nbytes // CHUNK
    tensor.numpy().tofile(source := Path("/dev/shm") / f"file_tier_{os.getpid()}")  # dd, too, writes from memory
    found = {}
    for kind, direct in (("direct", True), ("buffered", False)):
        blocks = Blocks(Format(chunk=CHUNK, direct=direct))
        out = ["oflag=direct", "conv=fsync"] if direct else ["conv=fsync"]
        into = ["iflag=direct"] if direct else []

        def forget() -> None:
            for path in (ours, theirs):
                drop(path)

        found[f"write, {kind}"] = (
            lambda: None,
            lambda blocks=blocks: blocks.write(ours, tensor),
            lambda out=out: dd(source, theirs, count, *out),
        )
        found[f"read, {kind}"] = (
            forget,
            lambda blocks=blocks: blocks.read(ours, tensor),
            lambda into=into: dd(theirs, "/dev/null", count, *into),
        )
    return found


def in_turns(before: Callable, ours: Callable, theirs: Callable, turns: int, title: str) -> np.ndarray:
    """Seconds [turns, 2] of both, after a turn for warming up."""
    seconds = np.zeros((turns + 1, 2))
    for turn, row in enumerate(tqdm(seconds, leave=False, desc=title, disable=None)):
        for number in (0, 1) if turn % 2 else (1, 0):
            before()
            start = time.perf_counter()
            (ours, theirs)[number]()
            row[number] = time.perf_counter() - start
    return seconds[1:]


def quartiles(values: np.ndarray, digits: int = 2) -> str:
    """A median with the quartiles around it."""
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
    return f"{median:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", help="on the drive that is to be measured")
    parser.add_argument("--mib", type=int, default=256, help="size of the file")
    parser.add_argument("--turns", type=int, default=15)
    chosen = parser.parse_args()
    if chosen.mib < 4 or chosen.mib % 4 or chosen.turns < 1:
        parser.error("--mib is a multiple of 4, and --turns at least 1")
    rows = []
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        nbytes = chosen.mib * MIB
        own_start = time.perf_counter()
        subprocess.run(["dd", "if=/dev/null", "of=/dev/null"], check=True, stderr=subprocess.DEVNULL)
        start_of_a_process = time.perf_counter() - own_start
        for name, (before, ours, theirs) in programs(Path(folder), nbytes).items():
            seconds = in_turns(before, ours, theirs, chosen.turns, name)
            seconds[:, 1] -= start_of_a_process
            rates = nbytes / seconds / 1e9
            ratio = rates[:, 0] / rates[:, 1]
            verdict = "met" if np.median(ratio) >= AIM else "not met"
            rows.append([name, quartiles(rates[:, 0]), quartiles(rates[:, 1]), quartiles(ratio), verdict])
    (Path("/dev/shm") / f"file_tier_{os.getpid()}").unlink()
    print(f"{chosen.mib} MiB in chunks of 4 MiB, median (quartiles) of {chosen.turns} turns; aim: {AIM} of dd")
    print(tabulate(rows, ["", "tier GB/s", "dd GB/s", "ratio", "aim"], disable_numparse=True))


if __name__ == "__main__":
    main()

"""The file tier against dd: bandwidth of writing and of reading one file, with the same flags and the same blocks.

    python benchmarks/file_tier.py                   # 256 MiB in the folder for temporary files, about a minute
    python benchmarks/file_tier.py --folder /nvme    # another drive
    python benchmarks/file_tier.py --mib 64 --turns 5
    python benchmarks/file_tier.py --ways            # io_uring, threads, buffered and dd, all in the same turns
    python benchmarks/file_tier.py --controls        # buffered only: what each part costs, or saves

Both write from memory and flush to the drive, in turns, each turn in another order; the ratio of two times of one
turn says more than either. Direct, by threads and by io_uring where it is: oflag=direct or iflag=direct. Buffered:
conv=fsync; reads are of a file that was dropped from the page cache. The tier does more than dd: checksums, a head, and
a new file that is flushed and renamed and whose name is flushed, too, where dd empties the old one and writes into it.
It begins to flush each chunk at once, where dd waits for the last. The controls leave out one of these each, on the
tier's side, and give dd a new file, too.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
from tabulate import tabulate
from tqdm import tqdm

from reference.tiers import blocks as chunks
from reference.tiers.blocks import MIB, Blocks, Format, pinned
from reference.tiers.uring import why_not

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


def ways() -> list[Blocks]:
    """Every way that there is here."""
    chosen = [(False, None), (True, False)] + [(True, True)] * (not why_not())
    return [Blocks(Format(chunk=CHUNK, direct=direct, uring=uring)) for direct, uring in chosen]


def compared(folder: Path, nbytes: int, turns: int) -> list[list[str]]:
    """Every way, and dd with direct I/O, in the same turns: GB/s, and those over the threads' in the same turn.

    All read the same file: where on the drive it lies makes a difference, too.
    """
    tensor, count, flags = pinned(nbytes // 4).normal_(), nbytes // CHUNK, ("oflag=direct", "conv=fsync")
    tensor.numpy().tofile(source := Path("/dev/shm") / f"file_tier_{os.getpid()}")
    writes = {one.way: partial(one.write, folder / one.way, tensor) for one in ways()}
    reads = {one.way: partial(one.read, folder / "direct", tensor) for one in ways()}
    writes["dd, direct"] = partial(dd, source, folder / "dd", count, *flags)
    reads["dd, direct"] = partial(dd, folder / "direct", "/dev/null", count, "iflag=direct")

    def forget() -> None:
        for path in folder.iterdir():
            drop(path)

    found = [
        nbytes / 1e9 / in_turns(before, list(programs.values()), turns, "ways")
        for before, programs in ((lambda: None, writes), (forget, reads))
    ]
    source.unlink()
    direct = list(writes).index("direct")
    rows = [[name] for name in writes]
    for rates in found:
        for row, own in zip(rows, rates.T):
            row += [quartiles(own), quartiles(own / rates[:, direct])]
    return rows


def programs(folder: Path, nbytes: int) -> dict[str, tuple[Callable, Callable, Callable]]:
    """Of each row: what is done before, ours, and dd's."""
    tensor, ours, theirs, count = pinned(nbytes // 4).normal_(), folder / "ours", folder / "dd", nbytes // CHUNK
    tensor.numpy().tofile(source := Path("/dev/shm") / f"file_tier_{os.getpid()}")  # dd, too, writes from memory
    found = {}
    for blocks in ways():
        direct = blocks.format.direct
        out = ["oflag=direct", "conv=fsync"] if direct else ["conv=fsync"]
        into = ["iflag=direct"] if direct else []

        def forget() -> None:
            for path in (ours, theirs):
                drop(path)

        found[f"write, {blocks.way}"] = (
            lambda: None,
            lambda blocks=blocks: blocks.write(ours, tensor),
            lambda out=out: dd(source, theirs, count, *out),
        )
        found[f"read, {blocks.way}"] = (
            forget,
            lambda blocks=blocks: blocks.read(ours, tensor),
            lambda into=into: dd(theirs, "/dev/null", count, *into),
        )
    return found


def in_turns(before: Callable, programs: Sequence[Callable], turns: int, title: str) -> np.ndarray:
    """Seconds [turns, programs], after a turn for warming up; each turn in another order."""
    seconds = np.zeros((turns + 1, len(programs)))
    for turn, row in enumerate(tqdm(seconds, leave=False, desc=title, disable=None)):
        for number in np.random.default_rng(turn).permutation(len(programs)):
            before()
            start = time.perf_counter()
            programs[number]()
            row[number] = time.perf_counter() - start
    return seconds[1:]


def controls(folder: Path, nbytes: int, turns: int) -> list[list[str]]:
    """Buffered writes and reads with one part left out each: name, seconds, dd's seconds over them in the same turn."""
    tensor, blocks, count = pinned(nbytes // 4).normal_(), Blocks(Format(chunk=CHUNK)), nbytes // CHUNK
    tensor.numpy().tofile(source := Path("/dev/shm") / f"file_tier_{os.getpid()}")
    parts: dict[str, Callable] = {
        "tier": nullcontext,
        "tier, no checksums": lambda: patch.object(chunks, "crc32", lambda data: 0),
        "tier, flushed at the end": lambda: patch.object(chunks, "begin_to_flush", lambda *_: None),
    }

    def tier(path: Path, move: Callable, part: Callable) -> None:
        with part():
            move(path, tensor)

    def write_all(new: bool) -> dict[str, Callable]:
        suffix = ", to a new file" if new else ", over an old file"
        found = {f"write: {name}{suffix}": partial(tier, folder / name, blocks.write, parts[name]) for name in parts}
        return {f"write: dd{suffix}": lambda: dd(source, folder / "dd", count, "conv=fsync")} | found

    def delete() -> None:
        for name in ("dd", *parts):
            (folder / name).unlink(missing_ok=True)

    def forget() -> None:
        for name in ("dd", *parts):
            drop(folder / name)

    reads = {"read: dd": lambda: dd(folder / "dd", "/dev/null", count)}
    reads |= {f"read: {name}": partial(tier, folder / name, blocks.read, parts[name]) for name in list(parts)[:2]}
    rows = []
    for before, programs in ((delete, write_all(True)), (lambda: None, write_all(False)), (forget, reads)):
        seconds = in_turns(before, list(programs.values()), turns, "controls")
        for name, own in zip(programs, seconds.T):
            rows.append([name, quartiles(own, 3), quartiles(seconds[:, 0] / own)])
    source.unlink()
    return rows


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
    parser.add_argument("--controls", action="store_true", help="leave out one part each, instead")
    parser.add_argument("--ways", action="store_true", help="all ways in the same turns, instead")
    chosen = parser.parse_args()
    if chosen.mib < 4 or chosen.mib % 4 or chosen.turns < 1:
        parser.error("--mib is a multiple of 4, and --turns at least 1")
    rows, nbytes = [], chosen.mib * MIB
    if chosen.controls:
        with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
            rows = controls(Path(folder), nbytes, chosen.turns)
        print(f"{chosen.mib} MiB in chunks of 4 MiB, buffered, median (quartiles) of {chosen.turns} turns")
        print(tabulate(rows, ["", "seconds", "dd's over these"], disable_numparse=True))
        return
    if chosen.ways:
        with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
            rows = compared(Path(folder), nbytes, chosen.turns)
        print(f"{chosen.mib} MiB in chunks of 4 MiB, 2 under way, median (quartiles) of {chosen.turns} turns")
        heads = ["", "write GB/s", "over the threads", "read GB/s", "over the threads"]
        print(tabulate(rows, heads, disable_numparse=True))
        return
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        own_start = time.perf_counter()
        subprocess.run(["dd", "if=/dev/null", "of=/dev/null"], check=True, stderr=subprocess.DEVNULL)
        start_of_a_process = time.perf_counter() - own_start
        for name, (before, ours, theirs) in programs(Path(folder), nbytes).items():
            seconds = in_turns(before, (ours, theirs), chosen.turns, name)
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

"""Checkpoints of a sharded state: save, load and reshard, against torch.distributed.checkpoint (DCP) and dd.

    python benchmarks/checkpoint.py                  # 1 GiB over 4 ranks, in memory and on the drive, three minutes
    python benchmarks/checkpoint.py --quick          # 256 MiB, few turns
    python benchmarks/checkpoint.py --folder /nvme   # another drive

The same ranks, started by mpirun, save the same tensors, cut by rows, with all of them, in turns: a disturbance of the
machine meets all alike. The time is that of the slowest rank, from a barrier to the next. All flush their files. DCP
runs as it is by default (torch.save and a pickle), and in its safetensors format. dd: each rank's bytes, by one process
each, from and to memory. In memory: a folder in /dev/shm, where nothing has to reach a drive, so that what the programs
do themselves is all there is. "No checksums" is ours with every checksum 0, computed from nothing, and "by zlib" ours
without ISA-L: beside them stands what checksums cost, in the same turn. On the drive what was saved is dropped from the
page cache before each load. Then 3 ranks load what 4 have saved. Last a rank is killed: seconds until its state is
back, from a partner's memory and from files (recovery.py).

What a load of 1 GiB takes (2 cores, 2026-11-23, medians of 8 turns in memory and 14 from the drive, in random order):

    seconds                                       memory, by 4   by 3   drive, by 4   by 3
    checksums by zlib                                     0.39   0.43          0.82   1.06
    by ISA-L (tiers/checksum.py)                          0.17   0.18          0.78   0.77
    and first the file of which a rank wants most         0.16   0.19          0.65   0.83
    and waiting ranks leave the core: ours                0.16   0.14          0.62   0.74
    DCP, safetensors                                      0.28   0.20          0.66   0.79

From the drive runs differ by more than programs do: in another one of 8 turns ours took 0.60 and 0.60 s, without
checksums 0.63 and 0.54, DCP's safetensors 0.57 and 0.52. So it is not checksums that are left.

Direct I/O does not help on this drive. 4 processes that read 256 MiB each took 0.48 s through the cache, where the
kernel reads 8 MiB ahead, 0.45 s from mapped files, and 1.0, 0.89 and 0.90 s directly by 1, 2 and 4 threads each.

The stall of an asynchronous save is what the training itself waits for, with nothing to hide it: ours until the state
may change, and the commit when the files are written; DCP's the call of async_save. The aim is for its default, a
stager that is made anew each time. Beside it stands one that is kept from save to save, and its memory with it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import numpy as np
import recovery
from data_parallel import on_every_rank, quartiles, run_job
from ranks.cache import forget
from tabulate import tabulate

from reference import mpi

MIB = 2**20
AIM, STALL_AIM = 1.0, 0.5
MEMORY = "/dev/shm"
OURS, BARE, ZLIB = "ours", "no checksums", "by zlib"
DCP, SAFETENSORS, DD = "DCP", "DCP, safetensors", "dd"
KEPT = "DCP, kept stager"
ROWS, COLUMNS = 1200, 3495  # of a tensor of 16 MiB, that 4 and 3 ranks share evenly


# On every rank --------------------------------------------------------------------------------------------------------


class Programs:
    """What this rank saves and loads; every method is called on all ranks."""

    def __init__(self, comm, folder: Path, mib: int):
        import torch
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor import DTensor, Shard

        from reference.checkpoint import at

        self.comm, self.folder = comm, folder
        n, shape = ROWS // comm.size, (ROWS, COLUMNS)
        draw = torch.Generator().manual_seed(comm.rank)
        own = {f"layers.{k}.weight": torch.rand(n, COLUMNS, generator=draw) for k in range(mib // 16)}
        mesh = init_device_mesh("cpu", (comm.size,))
        self.portions = {name: at(part, shape, (n * comm.rank, 0)) for name, part in own.items()}
        self.state = {name: DTensor.from_local(part, mesh, [Shard(0)], run_check=False) for name, part in own.items()}
        self.nbytes = sum(part.nbytes for part in own.values())
        self.source = Path(MEMORY) / f"checkpoint_{os.getppid()}_{comm.rank}"

    def save(self) -> dict[str, Callable[[], object]]:
        """What saves."""
        import torch.distributed.checkpoint as dcp
        from torch.distributed.checkpoint import FileSystemWriter, HuggingFaceStorageWriter

        from reference.checkpoint import save

        self.source.write_bytes(os.urandom(MIB) * (self.nbytes // MIB))
        return {
            OURS: lambda: save(self.comm, self.folder / OURS, 1, self.portions),
            BARE: with_checksum(nothing, lambda: save(self.comm, self.folder / BARE, 1, self.portions)),
            ZLIB: with_checksum(zlib.crc32, lambda: save(self.comm, self.folder / ZLIB, 1, self.portions)),
            DCP: lambda: dcp.save(self.state, storage_writer=FileSystemWriter(self.folder / DCP)),
            SAFETENSORS: lambda: dcp.save(
                self.state,
                storage_writer=HuggingFaceStorageWriter(str(self.folder / SAFETENSORS), save_distributed=True),
            ),
            DD: lambda: dd(self.source, self.folder / f"dd{self.comm.rank}", "conv=fsync"),
        }

    def begin(self) -> dict[str, Callable[[], tuple[Callable, Callable]]]:
        """What begins to save; it returns what waits for the files, and what the training still has to do then."""
        import torch.distributed.checkpoint as dcp
        from torch.distributed.checkpoint import FileSystemWriter
        from torch.distributed.checkpoint.staging import DefaultStager, StagingOptions

        from reference.checkpoint.asynchronous import AsynchronousSaver

        saver = AsynchronousSaver(self.comm, self.folder / OURS)
        stager = DefaultStager(StagingOptions(False, False, False, False))  # what needs no accelerator

        def ours() -> tuple[Callable, Callable]:
            saver.save(1, self.portions)
            saver.before_update()
            return saver.underway[-1].written.wait, saver.drain

        def theirs(name: str, **how: object) -> tuple[Callable, Callable]:
            future = dcp.async_save(self.state, storage_writer=FileSystemWriter(self.folder / name), **how)
            return future.result, lambda: None

        return {OURS: ours, DCP: lambda: theirs(DCP), KEPT: lambda: theirs(KEPT, async_stager=stager)}

    def load(self) -> dict[str, Callable[[], object]]:
        """What loads what was saved."""
        import torch.distributed.checkpoint as dcp
        from torch.distributed.checkpoint import FileSystemReader, HuggingFaceStorageReader

        from reference.checkpoint import load

        found = {
            OURS: lambda: load(self.comm, self.folder / OURS, self.portions),
            BARE: with_checksum(nothing, lambda: load(self.comm, self.folder / BARE, self.portions)),
            ZLIB: with_checksum(zlib.crc32, lambda: load(self.comm, self.folder / ZLIB, self.portions)),
            DCP: lambda: dcp.load(self.state, storage_reader=FileSystemReader(self.folder / DCP)),
            SAFETENSORS: lambda: dcp.load(
                self.state, storage_reader=HuggingFaceStorageReader(str(self.folder / SAFETENSORS))
            ),
        }
        if self.comm.size == 3:
            return found
        return found | {DD: lambda: dd(self.folder / f"dd{self.comm.rank}", "/dev/null")}


def nothing(*_: object) -> int:
    """No checksum."""
    return 0


def with_checksum(crc32: Callable[..., int], program: Callable[[], object]) -> Callable[[], object]:
    """The program with another checksum."""
    from reference.checkpoint import load, save

    modules = [sys.modules[one.__module__] for one in (load, save)]

    def run() -> None:
        with ExitStack() as patches:
            for module in modules:
                patches.enter_context(patch.object(module, "crc32", crc32))
            program()

    return run


def dd(source: object, target: object, *flags: str) -> None:
    """One dd with blocks of 4 MiB."""
    command = ["dd", f"if={source}", f"of={target}", "bs=4M", *flags]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


def in_turns(
    comm, programs: dict[str, Callable], before: Callable[[str], object], turns: int
) -> dict[str, list[float]]:
    """Seconds of each turn, by name, after a turn for warming up; rank 0 does something before each."""
    found = {name: [] for name in programs}
    for turn in range(turns + 1):
        for name in np.roll(list(programs), turn):
            if comm.rank == 0:
                before(name)
            comm.Barrier()
            start = mpi.wtime(comm)
            programs[name]()
            comm.Barrier()
            found[name].append(comm.allreduce(mpi.wtime(comm) - start, mpi.MAX))
    return {name: seconds[1:] for name, seconds in found.items()}


def stalls(comm, programs: dict[str, Callable], before: Callable[[str], object], turns: int) -> dict[str, list[float]]:
    """Seconds of each turn for which the slowest rank's training waits, by name, after a turn for warming up."""
    found = {name: [] for name in programs}
    for turn in range(turns + 1):
        for name in np.roll(list(programs), turn):
            if comm.rank == 0:
                before(name)
            comm.Barrier()
            start = mpi.wtime(comm)
            written, rest = programs[name]()
            began = mpi.wtime(comm) - start
            written()
            comm.Barrier()
            start = mpi.wtime(comm)
            rest()
            found[name].append(comm.allreduce(began + mpi.wtime(comm) - start, mpi.MAX))
    return {name: seconds[1:] for name, seconds in found.items()}


def measure(comm, folder: Path, mib: int, turns: int) -> dict:
    """4 ranks save and load; 3 load what is there."""
    programs = Programs(comm, folder, mib)
    found = {}
    if comm.size == 4:

        def remove(name: str) -> None:
            shutil.rmtree(folder / name, ignore_errors=True)
            for path in folder.glob("dd*") if name == DD else ():
                path.unlink()

        found["save"] = in_turns(comm, programs.save(), remove, turns)
        programs.source.unlink()
        found["stall of an asynchronous save"] = stalls(comm, programs.begin(), remove, turns)
    on_drive = folder.parent != Path(MEMORY)
    title = "load" if comm.size == 4 else "load by 3 ranks"
    found[title] = in_turns(comm, programs.load(), lambda _: on_drive and forget(folder), turns)
    return found


HEADS = (OURS, BARE, ZLIB, DCP, SAFETENSORS, KEPT, DD)

# The parent -----------------------------------------------------------------------------------------------------------


def rows(where: str, found: dict[str, dict[str, list[float]]]) -> list[list[str]]:
    """Of each thing that was measured: the seconds, and ours over the faster DCP of the same turn."""
    rows = []
    for what, times in found.items():
        seconds = {name: np.asarray(one) for name, one in times.items()}
        rivals = [name for name in (DCP, SAFETENSORS) if name in seconds]
        best = min(rivals, key=lambda name: np.median(seconds[name]))
        ratio = seconds[OURS] / seconds[best]
        columns = [quartiles(seconds[name], 1, 2) if name in seconds else "" for name in HEADS]
        aim = STALL_AIM if KEPT in seconds else AIM
        verdict = f"{aim}: " + ("met" if np.median(ratio) <= aim else "not met")
        rows.append([f"{what}, {where}", *columns, f"{quartiles(ratio, 1, 2)} of {best}", verdict])
    return rows


def main() -> None:
    """Parent, or one of its ranks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="on the drive that is to be measured")
    parser.add_argument("--quick", action="store_true", help="256 MiB, few turns")
    for hidden in ("--out", "--mib", "--turns"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.out:
        folder = Path(chosen.folder)
        on_every_rank(chosen.out, lambda comm: measure(comm, folder, int(chosen.mib), int(chosen.turns)))
        sys.exit()
    mib = 256 if chosen.quick else 1024
    table, library = [], ""
    for where, base, turns in (("in memory", MEMORY, 5), ("on the drive", chosen.folder, 2)):
        with tempfile.TemporaryDirectory(dir=base) as folder:
            how = ["--folder", folder, "--mib", str(mib), "--turns", str(2 if chosen.quick else turns)]
            for ranks in (4, 3):
                found = run_job(ranks, __file__, *how)
                library = found.pop("library")
                table += rows(where, found)
    print(f"{library}, {mib} MiB of 4 ranks, seconds, median (quartiles)")
    heads = ["", *HEADS, "ratio", "aim"]
    print(tabulate(table, heads, disable_numparse=True, stralign="right"))
    recovery.report(chosen.folder, mib, 2 if chosen.quick else 4)


if __name__ == "__main__":
    main()

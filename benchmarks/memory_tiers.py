"""A store with tiers: its files against the drive, and how much of offloading is hidden behind a training step.

    python benchmarks/memory_tiers.py                  # a minute, in the folder for temporary files
    python benchmarks/memory_tiers.py --folder /nvme   # another drive
    python benchmarks/memory_tiers.py --quick

Files: eight tensors go down through a TieredStore, and come up again; dd moves as many bytes with the same flags
(file_tier.py), in turns. ZeRO-Infinity is designed to come close to what the drive can do; the aim is 0.9 of dd.
The store does more: checksums, a file for each tensor, and memory that is new for each tensor that comes up. It asks
for that, and for the buffers between, in large pages; the rows without these are the control.

Hidden: a step of a GPT that keeps everything, and one that offloads what does not fit into half of it, in turns. Its
copies alone would take some seconds; the share of them that the longer step does not show was hidden. Copies need a
core beside the one that computes, and memory bandwidth of the same memory here, which an accelerator has to itself.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch
from file_tier import AIM, CHUNK, dd, drop, in_turns, quartiles
from tabulate import tabulate

from reference import mpi
from reference.models import GPT, Config, batch, loss_sum, text
from reference.tiers import FolderStorage, HostStorage, OffloadedActivations, StoreTier, TieredStore, huge_pages
from reference.tiers.blocks import MIB, pinned

TENSORS = 8
CONFIG = Config(vocabulary=256, length=128, width=256, heads=4, layers=6)


def files(folder: Path, mib: int, turns: int, pages: str = "") -> list[list[str]]:
    """Rows: our GB/s, dd's, and their ratio, down and up; their names end in `pages`."""
    comm, nbytes = mpi.world(), mib * MIB // TENSORS
    below = FolderStorage(folder / "ours")
    flags = (["oflag=direct"], ["iflag=direct"]) if below.direct else (["conv=fsync"], [])
    memory, theirs = Path("/dev/shm") / f"memory_tiers_{mib}", folder / "dd"
    tensors = [pinned(nbytes // 4).normal_() for _ in range(TENSORS)]
    np.concatenate([tensor.numpy() for tensor in tensors]).tofile(memory)
    store = TieredStore(comm, None, [StoreTier(below)])

    def begin() -> None:
        for number, tensor in enumerate(tensors):
            if str(number) in store:
                store.drop(str(number))
            store.put(str(number), tensor)

    def down() -> None:
        for number in range(TENSORS):
            store.start_down(str(number), stay=False)
        store.drain()

    def up() -> None:
        for number in range(TENSORS):
            for following in range(number, min(number + 2, TENSORS)):
                store.start_up(str(following))
            with store.use(str(number)):
                pass
            store.start_down(str(number), stay=False)  # nothing has changed: it is only let go

    def forget() -> None:
        for path in (*below.folder.iterdir(), theirs):
            drop(path)

    count = mib * MIB // CHUNK
    rows = []
    for name, before, programs in (
        ("down", begin, (down, lambda: dd(memory, theirs, count, *flags[0]))),
        ("up", forget, (up, lambda: dd(theirs, "/dev/null", count, *flags[1]))),
    ):
        seconds = in_turns(before, programs, turns, name)
        rates = mib * MIB / seconds / 1e9
        ratio = rates[:, 0] / rates[:, 1]
        verdict = "met" if np.median(ratio) >= AIM else "not met"
        way = "direct" if below.direct else "buffered"
        rows.append(
            [f"{name}, {way}{pages}", quartiles(rates[:, 0]), quartiles(rates[:, 1]), quartiles(ratio), verdict]
        )
    memory.unlink()
    return rows


def small_pages():
    """The control: nothing asks for large pages."""
    return patch.object(huge_pages, "MADVISE", None)


def hidden(folder: Path, turns: int) -> list[list[str]]:
    """Rows: seconds of a step that keeps everything, of one that offloads, of its copies alone; the hidden share."""
    torch.set_num_threads(1)
    comm, rows = mpi.world(), []
    model, data = GPT(CONFIG), text(CONFIG.length)
    share = batch(data, 8, 0)

    def step(saved: OffloadedActivations | None) -> None:
        with saved or torch.enable_grad():
            loss, _ = loss_sum(model, share)
        loss.backward()
        model.zero_grad()

    probe = OffloadedActivations(TieredStore(comm, None, []), model.parameters())
    step(probe)
    for name, storage in (("host", HostStorage()), ("files", FolderStorage(folder / "saved"))):
        saved = OffloadedActivations(TieredStore(comm, probe.nbytes // 2, [StoreTier(storage)]), model.parameters())
        step(saved)
        seconds = in_turns(lambda: None, (lambda: step(None), lambda saved=saved: step(saved)), turns, name)
        copies = alone(saved, turns, lambda saved=saved: step(saved))
        extra = np.maximum(seconds[:, 1] - seconds[:, 0], 0)
        share_hidden = 1 - extra / copies
        cells = [quartiles(seconds[:, 0], 3), quartiles(seconds[:, 1], 3), f"{copies:.3f}", quartiles(share_hidden)]
        rows.append([f"{name}, half of {probe.nbytes / 1e6:.0f} MB", *cells])
    return rows


def alone(saved: OffloadedActivations, turns: int, step: Callable[[], None]) -> float:
    """Seconds that the copies of one step take by themselves: the same sizes, in both directions, one by one."""
    store = saved.store
    before = len(store.writes[0].records), len(store.reads[0].records)
    step()
    down = [record.nbytes for record in store.writes[0].records[before[0] :]]
    up = [record.nbytes for record in store.reads[0].records[before[1] :]]
    storage, memory = store.below[0].storage, torch.zeros(max(down + up), dtype=torch.uint8)
    for nbytes in set(up):
        storage.write(f"alone, {nbytes}", memory[:nbytes])

    def copies() -> None:
        for number, nbytes in enumerate(down):
            storage.write(f"alone {number}", memory[:nbytes])
        for nbytes in up:
            storage.read(f"alone, {nbytes}", memory[:nbytes])

    seconds = float(np.median(in_turns(lambda: None, (copies,), turns, "alone")))
    for name in [f"alone {number}" for number in range(len(down))] + [f"alone, {nbytes}" for nbytes in set(up)]:
        storage.delete(name)
    return seconds


def table(title: str, rows: Sequence[Sequence[str]], heads: Sequence[str]) -> None:
    """Print one."""
    print(title)
    print(tabulate(rows, heads, disable_numparse=True))


def main() -> None:
    """Measure, and print two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", help="on the drive that is to be measured")
    parser.add_argument("--mib", type=int, default=256, help="bytes that go down and up")
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="64 MiB, 3 turns")
    chosen = parser.parse_args()
    mib, turns = (64, 3) if chosen.quick else (chosen.mib, chosen.turns)
    if mib % (TENSORS * CHUNK // MIB) or mib < 1 or turns < 1:
        parser.error(f"--mib is a multiple of {TENSORS * CHUNK // MIB}, and --turns at least 1")
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        heads = ["", "store GB/s", "dd GB/s", "ratio", "aim"]
        rows = files(Path(folder), mib, turns)
        with small_pages():
            rows += files(Path(folder), mib, turns, ", small pages")
        table(f"{TENSORS} tensors, {mib} MiB together; aim: {AIM} of dd", rows, heads)
        heads = ["", "keeps all, s", "offloads, s", "copies alone, s", "hidden share"]
        table("a training step, one thread", hidden(Path(folder), turns), heads)


if __name__ == "__main__":
    main()

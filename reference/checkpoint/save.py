"""Sharded save: each rank writes what it holds, the manifest comes last, a crash at any instant leaves the old state.

Idea      Nobody has the whole state, and nobody needs it: the ranks tell each other which boxes of which tensors they
          hold, and each writes its own. What several hold, copies of data parallelism, is written by one of them; boxes
          are dealt out so that all write about as many bytes. Then, in this order, and no other:

              each rank   write rank00000.safetensors, fsync it, fsync the folder
              all         tell rank 0 what was written, with checksums
              rank 0      write manifest.json.partial, fsync it, rename it to manifest.json, fsync the folder
          The rename is the commit. Before it the newest checkpoint is the one before; after it, this one.
Before    rank 0 gathers the state and calls torch.save: P times the bytes on one rank's way, and in its memory
After     each rank writes a P-th
Sends     An all-gather of names and boxes, a gather of checksums; no tensor.
Exact     A rank whose part of a tensor is several boxes writes several files, for a name is in a file once.
          If a rank cannot write, all raise, what was written is deleted, and the checkpoint before is whole.
          `begin`, `write` and `commit` can be called by themselves: only `write` takes long, and it sends nothing.
Left out  Ranks that share no file system: then each node's files have to be gathered, or a store has to be named.
          Plans that are kept from save to save, as torch has them: layouts rarely change.
Source    Rojas et al., "A Study of Checkpointing in Large Scale Training of Deep Neural Networks" (2020); the order of
          writes: Pillai et al., "All File Systems Are Not Created Equal" (2014), section 2.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from ..agreement import agree
from ..tiers.checksum import crc32
from .boxes import Box, Portion, as_bytes, in_words, missing
from .files import FILES, FULL, Files
from .head import NAMES, in_order, make_head, nbytes
from .manifest import (
    CHUNK,
    MANIFEST,
    CheckpointError,
    Manifest,
    Stored,
    StoredFile,
    StoredTensor,
    committed,
    folder_of,
    newest,
    step_of,
)

Described = dict[str, tuple[tuple[int, ...], str, list[Box]]]  # what a rank holds: name -> shape, type, boxes


def save(
    comm: Any,
    folder: str | Path,
    step: int,
    portions: Mapping[str, Portion],
    extra: dict[str, Any] | None = None,
    own: Any = None,
    files: Files = FILES,
) -> Path:
    """Save a state that the ranks hold together; the folder of the checkpoint, in `folder`. Collective.

        save(comm, "run", 100, {"w": at(shard, (64, 8), (16 * comm.rank, 0))}, {"rate": 0.1}, {"seed": comm.rank})

    portions  what this rank holds, by the tensors' names; no name is on all ranks, unless it is
    extra     what is the same for all ranks and not a tensor (JSON): rank 0's counts
    own       what this rank has for itself (JSON)
    files     what writes

    Raises CheckpointError on every rank if one cannot write: the drive is full, or fails. Raises ValueError on every
    rank if tensors of one name differ in shape or type, or if nobody holds some elements.
    """
    saving = Saving(comm, folder, step, portions, files)
    saving.write()
    return saving.commit(extra, own)


class Saving:
    """A save under way. To make one is collective, and so is `commit`; `write` is each rank's own affair.

    path      the folder of the checkpoint
    nbytes    that this rank writes, without heads
    """

    def __init__(self, comm: Any, folder: str | Path, step: int, portions: Mapping[str, Portion], files: Files = FILES):
        self.comm, self.step, self.files, self.portions = comm, step, files, portions
        self.error = ""
        described, error = {}, ""
        try:
            described = describe(portions)
        except ValueError as found:
            error = str(found)
        agree(comm, error=error)
        every = comm.allgather(described)
        agree(comm, error=_mismatch(every))
        self.of_files = dealt_out(every)[comm.rank]
        self.shapes = {name: (shape, dtype) for one in every for name, (shape, dtype, _) in one.items()}
        self.nbytes = sum(nbytes(dtype, box.shape) for of in self.of_files for dtype, box in of.values())
        self.path, self.id = self._make_folder(Path(folder))
        self.written: dict[str, tuple[StoredFile, dict[str, Stored]]] = {}

    def _make_folder(self, folder: Path) -> tuple[Path, str]:
        """Rank 0 makes the folder of this save; its path and its id. Collective."""
        error, found = "", None
        if self.comm.rank == 0:
            try:
                last = newest(folder, self.step, self.files)
                path = folder / folder_of(self.step, (step_of(last.name) or (0, 0))[1] + 1 if last else 0)
                self.files.remove_folder(path)  # what is left of a save that was not committed
                self.files.make_folder(path)
                found = path, secrets.token_hex(8)
            except OSError as failed:
                error = f"the folder {folder} cannot be made: {failed.strerror}"
        agree(self.comm, error=error, raises=CheckpointError)
        return self.comm.bcast(found, root=0)

    def write(self) -> None:
        """Write this rank's files, and have them on the drive. Sends nothing; `commit` tells of what went wrong."""
        for number, tensors in enumerate(self.of_files):
            file = f"rank{self.comm.rank:05}{f'-{number}' * (number > 0)}.safetensors"
            try:
                self._write_file(file, tensors)
            except OSError as error:
                self.error = self._why_not(self.path / file, error)
                return
        try:
            self.files.sync_folder(self.path)
        except OSError as error:
            self.error = self._why_not(self.path, error)

    def _write_file(self, file: str, tensors: dict[str, tuple[str, Box]]) -> None:
        head, begins = make_head(tensors, {"checkpoint": self.id, "step": str(self.step)})
        crcs: dict[str, list[int]] = {name: [] for name in tensors}

        def pieces() -> Iterator[memoryview | bytes]:
            yield head
            for name in in_order(tensors):
                for piece in chunks(self._values(name, tensors[name][1])):
                    crcs[name].append(crc32(piece))
                    yield piece

        self.files.write(self.path / file, pieces())
        size = len(head) + sum(nbytes(dtype, box.shape) for dtype, box in tensors.values())
        stored = {name: Stored(box, file, begins[name], tuple(crcs[name])) for name, (_, box) in tensors.items()}
        self.written[file] = StoredFile(size, len(head), crc32(head)), stored

    def _values(self, name: str, box: Box) -> Tensor:
        return next(values for own, values in self.portions[name].parts if own == box)

    def commit(self, extra: dict[str, Any] | None = None, own: Any = None) -> Path:
        """Make it a checkpoint, if all ranks have written; its folder. Collective. Raises as `save` does."""
        try:
            agree(self.comm, error=self.error, raises=CheckpointError)
        except CheckpointError:
            self._clean_up()
            raise
        every, error = self.comm.gather((self.written, own), root=0), ""
        if self.comm.rank == 0:
            try:
                self._write_manifest(every, extra or {})
            except OSError as failed:
                error = self._why_not(self.path / MANIFEST, failed)
            except (TypeError, ValueError) as failed:
                error = f"what is in `extra` and `own` has to be told in JSON: {failed}"
        try:
            agree(self.comm, error=error, raises=CheckpointError)
        except CheckpointError:
            self._clean_up()
            raise
        return self.path

    def _write_manifest(self, every: list, extra: dict[str, Any]) -> None:
        """Rank 0's: the commit."""
        parts: dict[str, list[Stored]] = defaultdict(list)
        found: dict[str, StoredFile] = {}
        for written, _ in every:
            for file, (about, stored) in written.items():
                found[file] = about
                for name, part in stored.items():
                    parts[name].append(part)
        tensors = {
            name: StoredTensor(tuple(shape), dtype, tuple(parts[name])) for name, (shape, dtype) in self.shapes.items()
        }
        manifest = Manifest(self.step, self.id, self.comm.size, tensors, found, extra, [own for _, own in every])
        partial = self.path / (MANIFEST + ".partial")
        self.files.write(partial, [manifest.to_json().encode()])
        self.files.rename(partial, self.path / MANIFEST)
        self.files.sync_folder(self.path)

    def _clean_up(self) -> None:
        """Delete what was written. Collective."""
        self.comm.Barrier()
        if self.comm.rank == 0:
            self.files.remove_folder(self.path)

    def _why_not(self, path: Path, error: OSError) -> str:
        older = committed(self.path.parent, self.files)
        whole = f"The checkpoint {older[-1].name} is whole" if older else "There is no checkpoint before it"
        said = f"{path} cannot be written: {error.strerror or error}. {whole}"
        if error.errno not in FULL:
            return said
        free = self.files.free(self.path.parent)
        return f"{said}. This rank has {self.nbytes:,} bytes to write, and {free:,} are free: delete what is old"


def chunks(tensor: Tensor) -> Iterator[memoryview]:
    """The bytes of a tensor, those of one checksum at a time."""
    content = as_bytes(tensor.detach().cpu().contiguous())
    for first in range(0, len(content), CHUNK):
        yield content[first : first + CHUNK].data


# Who writes what ------------------------------------------------------------------------------------------------------


def describe(portions: Mapping[str, Portion]) -> Described:
    """What a rank holds, without the values. Raises ValueError for parts that are not what they say."""
    found: Described = {}
    for name, (shape, parts) in portions.items():
        dtypes = {values.dtype for _, values in parts}
        if len(dtypes) > 1 or not dtypes <= set(NAMES):
            raise ValueError(f"the parts of {name} have one type that safetensors knows, got {dtypes}")
        for box, values in parts:
            if tuple(values.shape) != box.shape or not all(
                a >= 0 and n > 0 and a + n <= size for a, n, size in zip(*box, shape)
            ):
                raise ValueError(f"{list(values.shape)} of {name} are not {in_words(box)} of {list(shape)}")
        if parts:
            found[name] = tuple(shape), NAMES[dtypes.pop()], [box for box, _ in parts]
    return found


def _mismatch(every: list[Described]) -> str:
    """Why these cannot be one state, or nothing."""
    found: dict[str, tuple] = {}
    boxes: dict[str, list[Box]] = defaultdict(list)
    for rank, one in enumerate(every):
        for name, (shape, dtype, own) in one.items():
            first = found.setdefault(name, (shape, dtype))
            if first != (shape, dtype):
                return f"{name} has {list(shape)} of {dtype} on rank {rank}, and {list(first[0])} of {first[1]} before"
            boxes[name] += own
    for name, (shape, _) in found.items():
        if hole := missing(shape, boxes[name]):
            return f"no rank holds {in_words(hole)} of {name}, which has the shape {list(shape)}"
    return ""


def dealt_out(every: list[Described]) -> list[list[dict[str, tuple[str, Box]]]]:
    """Of each rank, what it writes: file by file, name -> type and box. A name is in a file once.

    The largest boxes are dealt out first, each to the rank that holds it and has least so far.
    """
    holders: dict[tuple[str, Box], list[int]] = defaultdict(list)
    types: dict[str, str] = {}
    for rank, one in enumerate(every):
        for name, (_, dtype, boxes) in one.items():
            types[name] = dtype
            for box in boxes:
                holders[name, box].append(rank)
    load = [0] * len(every)
    found: list[list[dict]] = [[] for _ in every]
    size = {key: nbytes(types[key[0]], key[1].shape) for key in holders}
    for name, box in sorted(holders, key=lambda key: (len(holders[key]) > 1, -size[key], key)):
        rank = min(holders[name, box], key=lambda r: (load[r], r))
        load[rank] += size[name, box]
        files = found[rank]
        free = next((one for one in files if name not in one), None)
        if free is None:
            files.append(free := {})
        free[name] = types[name], box
    return found

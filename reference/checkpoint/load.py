"""Sharded load into any other layout: each rank reads the bytes that overlap with what it wants, and no others.

Idea      The manifest says which box of a tensor lies where. A rank intersects each box that it wants with each that
          was saved, and reads the bytes of the intersection. It makes no difference how many ranks have saved it, and
          which of their tensors were cut in which dimension. Ranks read at the same time, each for itself.

              saved by 4     |  0  |  1  |  2  |  3  |     rows of w
              wanted by 3    |   0   |   1   |   2   |     rank 1 reads the end of file 1 and the beginning of file 2
Before    everybody reads everything, and keeps a part; or rank 0 reads it, and scatters
After     each reads its part, rounded to the chunks that have a checksum
Exact     Bits are read as they were written: a tensor of another type or shape is refused, not converted.
          Every chunk that is read is checked. What is wrong is told on every rank, with the file's name, before anybody
          goes on; the tensors that were to be filled may have been, in part.
Price     A part that lies across rows (columns of a matrix that was saved whole) is read from its first to its last
          element. Copies of data parallelism read the same bytes, once each.
Left out  Direct I/O and several threads a rank: on the drive where this was measured, the kernel's reading ahead of one
          thread is faster than either (benchmarks/checkpoint.py).
Source    torch.distributed.checkpoint does so (create_read_items_for_chunk_list in planner_helpers.py, PyTorch 2.13).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from .. import mpi
from ..agreement import agree
from ..tiers.checksum import crc32
from .boxes import Box, Portion, as_bytes, in_words, missing
from .files import FILES, Files, Read
from .head import NAMES, nbytes, parse_head
from .manifest import CheckpointError, Manifest, Stored, instead, newest, read_manifest, step_of


class Loaded(NamedTuple):
    """What came with the tensors: the step, what all ranks have alike, and what each rank had for itself.

    own[r] is of rank r of the ranks that have saved, which may have been more or fewer.
    nbytes: that this rank has read, without heads.
    """

    step: int
    extra: dict[str, Any]
    own: list[Any]
    nbytes: int


class Wanted(NamedTuple):
    """A range of bytes to read: of a stored part, the box that is wanted of it, and where its values go."""

    stored: Stored
    box: Box
    into: Tensor


def load(
    comm: Any, folder: str | Path, portions: Mapping[str, Portion], step: int | None = None, files: Files = FILES
) -> Loaded:
    """Fill the portions' tensors from the newest checkpoint in `folder`, or from that of a step. Collective.

        load(comm, "run", {"w": at(shard, (64, 8), (16 * comm.rank, 0))})

    Raises CheckpointError on every rank if there is none, if it lacks what is wanted, or if a file of it is missing,
    cut off, damaged, or another checkpoint's; it says which, and what to do.
    """
    manifest, path = open_checkpoint(comm, folder, step, files)
    error, count = "", 0
    try:
        count = fill(path, manifest, portions, files)
    except CheckpointError as found:
        error = str(found)
    if isinstance(comm, mpi.Comm):
        mpi.wait(comm.Ibarrier())  # leaves the core to ranks that still read, which MPI's own waiting does not
    agree(comm, error=error, raises=CheckpointError)
    return Loaded(manifest.step, manifest.extra, manifest.own, count)


def open_checkpoint(
    comm: Any, folder: str | Path, step: int | None = None, files: Files = FILES
) -> tuple[Manifest, Path]:
    """The manifest of the newest checkpoint, or of a step's, and its folder: rank 0 reads it. Collective.

    Raises CheckpointError on every rank.
    """
    text, path, error = "", None, ""
    if comm.rank == 0:
        try:
            path = newest(folder, step, files)
            if path is None:
                raise CheckpointError(f"there is no checkpoint {f'of step {step} ' * (step is not None)}in {folder}")
            text = read_manifest(path, files).to_json()
        except OSError as found:
            error = found.strerror or str(found)
    agree(comm, error=error, raises=CheckpointError)
    text, path = comm.bcast((text, path), root=0)
    return Manifest.from_json(text), path


def fill(path: Path, manifest: Manifest, portions: Mapping[str, Portion], files: Files = FILES) -> int:
    """Read these portions; how many bytes were read. Sends nothing. Raises CheckpointError."""
    wanted: dict[str, list[tuple[str, Wanted]]] = defaultdict(list)
    for name, portion in portions.items():
        for one in overlaps(path, manifest, name, portion):
            wanted[one.stored.file].append((name, one))
    count, scratch = 0, np.empty(manifest.chunk, np.uint8)
    for file, ranges in sorted(wanted.items(), key=most_first):
        try:
            check_file(path, manifest, file, files)
            with files.reading(path / file) as read:
                for name, one in sorted(ranges, key=lambda pair: pair[1].stored.begin):
                    count += _read(manifest, name, one, read, scratch)
        except FileNotFoundError:
            raise _damaged(path, file, "is missing", files) from None
        except CheckpointError:
            raise
        except OSError as error:
            raise _damaged(path, file, f"cannot be read: {error.strerror}", files) from error
        except ValueError as error:
            raise _damaged(path, file, str(error), files) from None
    return count


def most_first(wanted: tuple[str, list[tuple[str, Wanted]]]) -> tuple[int, str]:
    """The order of files: first those of which a rank wants the most.

    Of a file that two ranks need, one in part, that one then finds what the other has had the kernel read.
    """
    file, ranges = wanted
    return -sum(one.into.nbytes for _, one in ranges), file


def overlaps(path: Path, manifest: Manifest, name: str, portion: Portion) -> list[Wanted]:
    """What of the stored parts of a tensor a portion wants. Raises CheckpointError if it is not there."""
    stored = manifest.tensors.get(name)
    if stored is None:
        if not portion.parts:
            return []
        raise CheckpointError(f"{path} has no {name}: was it saved by another model, or with another optimizer?")
    found = []
    for box, values in portion.parts:
        if stored.shape != tuple(portion.shape) or stored.dtype != NAMES.get(values.dtype):
            raise CheckpointError(
                f"{name} is {list(portion.shape)} of {values.dtype}, and in {path} {list(stored.shape)} of "
                f"{stored.dtype}: it was saved by another model",
            )
        left = []
        for part in stored.parts:
            if both := box.overlap(part.box):
                found.append(Wanted(part, both, values[both.within(box)]))
                left.append(Box(tuple(a - b for a, b in zip(both.offset, box.offset)), both.shape))
        if hole := missing(box.shape, left):
            raise CheckpointError(f"{in_words(hole)} of a part of {name} is in no file of {path}")
    return found


# Bytes ----------------------------------------------------------------------------------------------------------------


def check_file(path: Path, manifest: Manifest, file: str, files: Files = FILES) -> None:
    """Raise CheckpointError unless a file has the length and the head that were written."""
    about, size = manifest.files[file], files.size(path / file)
    if size != about.nbytes:
        what = "was cut off" if size < about.nbytes else "is another one"
        raise _damaged(path, file, f"has {size:,} bytes where {about.nbytes:,} were written: it {what}", files)
    head = np.empty(about.head, np.uint8)
    with files.reading(path / file) as read:
        read(0, head)
    if crc32(head.data) == about.crc:
        return
    try:
        whose = parse_head(head[8:].tobytes())[1].get("checkpoint")
    except ValueError:
        whose = None
    if whose not in (None, manifest.id):
        raise _damaged(path, file, f"belongs to another checkpoint ({whose}, not {manifest.id})", files)
    raise _damaged(path, file, "is damaged: its head is not the one that was written", files)


def _read(manifest: Manifest, name: str, wanted: Wanted, read: Read, scratch: np.ndarray) -> int:
    """Read the box that is wanted of a stored part into its place; how many bytes that took."""
    stored, box, into = wanted
    hull, itemsize = box.hull(stored.box), into.element_size()
    first, after = hull.start * itemsize, hull.stop * itemsize
    whole = nbytes(manifest.tensors[name].dtype, stored.box.shape)
    if len(hull) == box.size and into.is_contiguous() and into.device.type == "cpu":
        return read_checked(stored, manifest.chunk, whole, first, after, as_bytes(into), read, scratch)
    buffer = torch.empty(len(hull), dtype=into.dtype)
    count = read_checked(stored, manifest.chunk, whole, first, after, as_bytes(buffer), read, scratch)
    strides = [prod(stored.box.shape[d + 1 :]) for d in range(len(stored.box.shape))]
    into.copy_(buffer.as_strided(box.shape, strides))
    return count


def read_checked(
    stored: Stored,
    chunk: int,
    whole: int,
    first: int,
    after: int,
    into: np.ndarray,
    read: Read,
    scratch: np.ndarray,
) -> int:
    """Read bytes first to after - 1 of a stored part of `whole` bytes, and check the chunks that they are in.

    scratch: memory for a chunk of which a part is wanted. Returns how many bytes were read: whole chunks. Raises
    ValueError, with the place, for a chunk that is damaged.
    """
    count = 0
    for number in range(first // chunk, -(-after // chunk)):
        begin, end = number * chunk, min((number + 1) * chunk, whole)
        inside = first <= begin and end <= after
        piece = into[begin - first : end - first] if inside else scratch[: end - begin]
        read(stored.begin + begin, piece)
        count += end - begin
        if crc32(piece.data) != stored.crcs[number]:
            at = stored.begin + begin
            raise ValueError(f"is damaged: bytes {at:,} to {at + end - begin - 1:,} are not those that were written")
        if not inside:
            low, high = max(begin, first), min(end, after)
            into[low - first : high - first] = piece[low - begin : high - begin]
    return count


def _damaged(path: Path, file: str, what: str, files: Files) -> CheckpointError:
    return CheckpointError(f"{path / file} {what}. {instead(path, files)}")


def at_step(folder: str | Path, files: Files = FILES) -> int | None:
    """The step of the newest checkpoint in a folder, or None."""
    path = newest(folder, None, files)
    return None if path is None else (step_of(path.name) or (None,))[0]

"""One tensor in one file: chunks with a checksum each, direct or buffered; a file is whole, or it is not there.

Idea      Direct I/O (O_DIRECT) moves bytes between a drive and the program's own memory, without the kernel's copy in
          between. It wants file offsets, lengths and addresses that are multiples of a block. So chunks pass through a
          few aligned buffers, however large the tensor is; a tensor that is aligned itself (`pinned`) passes them by.
          Each chunk has a CRC-32 in the file's head, and is checked when it is read.

              | head: magic, bytes, chunk, CRCs | chunk 0 | chunk 1 | ... | last chunk, filled up |    all in 4 KiB

          A file is written under another name, flushed to the drive (fsync) and renamed, which is atomic: whoever dies
          in between leaves the old file as it was.
          Buffered writes end in the kernel's memory, and would reach the drive only with fsync. So the kernel is asked
          to begin with each chunk as soon as it has it (flush.py), and fsync finds less left to do.
          Buffered reads want their order: one thread reads, so that the kernel reads ahead, and others check.
Price     One pass over the data for the checksum, and one for the copy; both go on while other chunks are on their way
          (`workers` at a time). Each fsync waits for the drive.
          Where the kernel and a library have io_uring, one thread keeps as many requests under way (uring.py).
Left out  GPUDirect Storage.
Source    open(2), section O_DIRECT; fsync(2); rename(2).
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from queue import SimpleQueue

import numpy as np
from torch import Tensor

from .buffers import BLOCK as BLOCK
from .buffers import aligned, as_bytes, rounded
from .buffers import pinned as pinned
from .checksum import crc32
from .flush import begin_to_flush, flush_folder
from .format import MIB as MIB
from .format import Format, way_of
from .uring import Requests

MAGIC = b"ERCTIER1"
HEAD = struct.Struct("<8sQQQI")  # magic, bytes of the tensor, bytes of a chunk, chunks, CRC of the CRCs
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
O_DIRECT = getattr(os, "O_DIRECT", 0)  # Linux; elsewhere everything is buffered


class TierError(OSError):
    """A file of the tier could not be written, or is not what was written."""


class Blocks:
    """Reads and writes files, with at most `workers` buffers of one chunk each, which are all the memory that it takes.

    pwrite: os.pwrite, or a function that takes its place (file descriptor, bytes, offset) -> bytes written: for tests
    of a drive that fails. `way` is how chunks move (way_of).
    Raises ValueError for a chunk that is not a positive multiple of 4,096 bytes.
    """

    def __init__(self, format: Format = Format(), pwrite: Callable = os.pwrite):  # noqa: B008, a constant
        if format.chunk < BLOCK or format.chunk % BLOCK or format.workers < 1:
            raise ValueError(
                f"a chunk is a positive multiple of {BLOCK} bytes, and at least 1 is under way: got {format}"
            )
        self.format, self.pwrite = format, pwrite
        self.way = way_of(format)
        self._requests = Requests(format.workers, format.chunk)
        self._pool = ThreadPoolExecutor(format.workers, thread_name_prefix="chunks")
        self._readers = ThreadPoolExecutor(format.workers if format.direct else 1, thread_name_prefix="readers")
        self._buffers: SimpleQueue[np.ndarray | None] = SimpleQueue()  # None: one that has not been made yet
        for _ in range(format.workers):
            self._buffers.put(None)
        self.buffers_made = 0

    def write(self, path: Path, tensor: Tensor) -> int:
        """Write a tensor; the file appears under its name when it is whole. Bytes that were written, with the head.

        Raises TierError, and leaves what the file was, if the drive is full or fails.
        """
        data, partial = as_bytes(tensor), path.with_name(path.name + ".partial")
        chunks = self._chunks(len(data))
        try:
            with self._opened(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as file:
                first = self._first(len(chunks))
                crcs = self._write_chunks(file, first, data, len(chunks))
                self._write_head(file, len(data), crcs)
                if self.format.fsync:
                    os.fsync(file)
            os.replace(partial, path)
            if self.format.fsync:
                flush_folder(path.parent)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise TierError(error.errno, self._why_not(path, len(data), error)) from error
        return first + rounded(len(data))

    def read(self, path: Path, tensor: Tensor) -> int:
        """Read a file into a tensor of as many bytes, and check all its chunks. Bytes that were read, with the head.

        Raises TierError if the file is missing, short, of another size, or has other bytes than were written.
        """
        data = as_bytes(tensor)
        chunks = self._chunks(len(data))
        first = self._first(len(chunks))
        try:
            with self._opened(path, os.O_RDONLY) as file:
                self._check_length(path, os.fstat(file).st_size, first + rounded(len(data)))
                crcs = self._checked_head(path, file, first, len(data), len(chunks))
                self._read_chunks(path, file, first, data, crcs)
        except TierError:
            raise
        except OSError as error:
            raise TierError(error.errno, f"{path.name} in {path.parent} cannot be read: {error.strerror}") from error
        return first + rounded(len(data))

    # Chunks ---------------------------------------------------------------------------------------------------------

    def _chunks(self, nbytes: int) -> range:
        return range(0, nbytes, self.format.chunk)

    def _first(self, chunks: int) -> int:
        """Where chunk 0 begins: behind the head."""
        return rounded(HEAD.size + 4 * chunks)

    def _each(self, work: Callable[[int], int], chunks: int) -> list[int]:
        """work(k) for all chunks, some at a time; their results. Raises the error of the first chunk that has one."""
        if chunks < 2:
            return [work(k) for k in range(chunks)]
        futures = [self._pool.submit(work, k) for k in range(chunks)]
        errors = [error for future in futures if (error := future.exception())]
        if errors:
            raise errors[0]
        return [future.result() for future in futures]

    def _write_chunks(self, file: int, first: int, data: np.ndarray, chunks: int) -> list[int]:
        """Write all chunks; their CRCs. A `pwrite` of a test's own writes each of them."""
        if self.way != "io_uring" or self.pwrite is not os.pwrite:
            return self._each(lambda k: self._write_chunk(file, first, data, k), chunks)
        crcs, errors = self._requests.write(file, first, data, partial(self._put, file))
        for k in sorted(errors):
            raise _of_chunk(errors[k], k, k * self.format.chunk, min((k + 1) * self.format.chunk, len(data)))
        return crcs

    def _read_chunks(self, path: Path, file: int, first: int, data: np.ndarray, crcs: list[int]) -> None:
        """Read all chunks into their places, and check them."""
        if self.way != "io_uring":
            read = [self._readers.submit(self._read_chunk, path, file, first, data, k) for k in range(len(crcs))]
            self._each(lambda k: self._check_chunk(path, read[k].result(), k, crcs[k]), len(crcs))
            return
        errors = self._requests.read(
            file,
            first,
            data,
            partial(self._get, path, file),
            lambda k, piece: self._check_chunk(path, piece, k, crcs[k]),
        )
        for k in sorted(errors):
            raise errors[k]

    def _write_chunk(self, file: int, first: int, data: np.ndarray, k: int) -> int:
        """Write chunk k; its CRC."""
        begin = k * self.format.chunk
        piece = data[begin : begin + self.format.chunk]
        crc = crc32(piece.data)
        try:
            with self._as_blocks(piece) as (block, ours):
                if not ours:
                    block[: len(piece)] = piece
                    block[len(piece) :] = 0
                self._put(file, block, first + begin)
            if self.format.fsync and not self.format.direct:
                begin_to_flush(file, first + begin, len(piece))
        except OSError as error:
            raise _of_chunk(error, k, begin, begin + len(piece)) from error
        return crc

    def _read_chunk(self, path: Path, file: int, first: int, data: np.ndarray, k: int) -> np.ndarray:
        """Read chunk k into its place; what is there now."""
        begin = k * self.format.chunk
        piece = data[begin : begin + self.format.chunk]
        with self._as_blocks(piece) as (block, ours):
            self._get(path, file, block, first + begin)
            if not ours:
                piece[:] = block[: len(piece)]
        return piece

    def _check_chunk(self, path: Path, piece: np.ndarray, k: int, crc: int) -> int:
        if (found := crc32(piece.data)) != crc:
            begin = k * self.format.chunk
            raise TierError(
                errno.EIO,
                f"{path.name} in {path.parent} is damaged: chunk {k} (bytes {begin:,} to {begin + len(piece):,}) has "
                f"the checksum {found:08x} where {crc:08x} was written. Go back to a checkpoint, and test the drive",
            )
        return found

    @contextmanager
    def _as_blocks(self, piece: np.ndarray) -> Iterator[tuple[np.ndarray, bool]]:
        """(memory of whole blocks, whether it is the piece itself); else one of the buffers, filled up to a block."""
        if len(piece) % BLOCK == 0 and (not self.format.direct or piece.ctypes.data % BLOCK == 0):
            yield piece, True
            return
        buffer = self._buffers.get()
        if buffer is None:
            buffer = aligned(self.format.chunk)
            self.buffers_made += 1
        try:
            yield buffer[: rounded(len(piece))], False
        finally:
            self._buffers.put(buffer)

    # Bytes ----------------------------------------------------------------------------------------------------------

    @contextmanager
    def _opened(self, path: Path, flags: int) -> Iterator[int]:
        direct = O_DIRECT if self.format.direct else 0
        try:
            file = os.open(path, flags | direct, 0o644)
        except OSError as error:
            if direct and error.errno == errno.EINVAL:
                error = OSError(error.errno, "the file system has no direct I/O; use direct=False")
            raise error
        try:
            yield file
        finally:
            os.close(file)

    def _put(self, file: int, block: np.ndarray, offset: int) -> None:
        view = block.data
        while view:
            written = self.pwrite(file, view, offset)
            view, offset = view[written:], offset + written

    def _get(self, path: Path, file: int, block: np.ndarray, offset: int) -> None:
        view = block.data
        while view:
            got = os.preadv(file, [view], offset)
            if not got:
                raise TierError(errno.EIO, f"{path.name} in {path.parent} ends at byte {offset:,}, while it is read")
            view, offset = view[got:], offset + got

    def _write_head(self, file: int, nbytes: int, crcs: list[int]) -> None:
        table = np.array(crcs, "<u4").tobytes()
        head = HEAD.pack(MAGIC, nbytes, self.format.chunk, len(crcs), crc32(table)) + table
        block = aligned(self._first(len(crcs)))
        block[: len(head)] = np.frombuffer(head, np.uint8)
        try:
            self._put(file, block, 0)
        except OSError as error:
            raise OSError(error.errno, f"the head of {len(block):,} bytes: {error.strerror}") from error

    def _checked_head(self, path: Path, file: int, first: int, nbytes: int, chunks: int) -> list[int]:
        """The CRCs of the chunks. Raises TierError unless the head is whole and of a tensor of so many bytes."""
        block = aligned(first)
        self._get(path, file, block, 0)
        magic, has, chunk, count, crc = HEAD.unpack(block[: HEAD.size].tobytes())
        table = block[HEAD.size : HEAD.size + 4 * chunks].tobytes()
        wanted = (MAGIC, nbytes, self.format.chunk, chunks)
        if (magic, has, chunk, count) != wanted or crc32(table) != crc:
            raise TierError(
                errno.EIO,
                f"the head of {path.name} in {path.parent} is not that of {nbytes:,} bytes in chunks of "
                f"{self.format.chunk:,}: it tells of {has:,} bytes in chunks of {chunk:,}. "
                f"Was it written by another program, or with another layout?",
            )
        return np.frombuffer(table, "<u4").tolist()

    def _check_length(self, path: Path, has: int, wanted: int) -> None:
        if has != wanted:
            raise TierError(
                errno.EIO,
                f"{path.name} in {path.parent} has {has:,} bytes where {wanted:,} are wanted: it was cut off, or is of "
                f"another tensor. Go back to a checkpoint",
            )

    def _why_not(self, path: Path, nbytes: int, error: OSError) -> str:
        said = f"{path.name} in {path.parent} cannot be written: {error.strerror}"
        if error.errno not in FULL:
            return said
        drive = os.statvfs(path.parent)
        return (
            f"{said}. The tensor has {nbytes:,} bytes; {drive.f_bavail * drive.f_frsize:,} are free on the drive. "
            f"What was there before is whole. Free {nbytes:,} bytes, or choose another folder"
        )


def _of_chunk(error: OSError, k: int, begin: int, end: int) -> OSError:
    return OSError(error.errno, f"chunk {k} (bytes {begin:,} to {end:,}): {error.strerror}")
